// The page as its server sends it.

import { server } from "./net/source.js";
import { Page } from "./page.js";

const page = new Page(document.body, server);
document.getElementById("opening")?.remove();
page.begin();
