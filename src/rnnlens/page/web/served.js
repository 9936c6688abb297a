// The page as its server sends it.

import { CorpusPage } from "./corpus/corpuspage.js";
import { html } from "./base/markup.js";
import { server } from "./net/source.js";
import { Page } from "./page.js";

const page = new Page(document.body, server, null, CorpusPage);
// A page of its own, which only a server has: of the run that is shown.
const toLab = html("a", { class: "plain tolab", href: "lab", title: "Minimal pairs: which sentences the model prefers, and where in it", click: () => {
  toLab.href = `lab?${new URLSearchParams({ run: page.run().id })}`;
} }, "laboratory");
page.pages?.toAccuracy.before(toLab);
document.getElementById("opening")?.remove();
page.begin();
