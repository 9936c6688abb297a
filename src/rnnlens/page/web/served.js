// The page as its server sends it.

import { CorpusPage } from "./corpus/corpuspage.js";
import { server } from "./net/source.js";
import { Page } from "./page.js";

const page = new Page(document.body, server, null, CorpusPage);
document.getElementById("opening")?.remove();
page.begin();
