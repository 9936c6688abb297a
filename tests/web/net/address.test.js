import assert from "node:assert/strict";
import { test } from "node:test";
import { decode, encode, fitGrid, fitRun, plainView } from "../../../src/rnnlens/page/web/net/address.js";
import { grid } from "../sample.js";

const AWKWARD = [
  "we stand in solidarity", "`` we stand , '' she said .", "a&b=c#d?e%f+g", "100% + 50%", "", " two  spaces ",
  "\u0634\u0643\u0631\u0627 \u202e!", "emoji \u{1f600}", "tab\tand\nline", "<b onload=x>", "__proto__", "a/b:c,d;e@f", '"quotes" \'single\'',
];

test("a plain view is an empty address", () => {
  assert.equal(encode(plainView()), "");
  assert.deepEqual(decode(""), { view: plainView(), problems: [] });
  assert.deepEqual(decode("#"), { view: plainView(), problems: [] });
});

test("what the page would show anyway is left out", () => {
  const view = { ...plainView(), run: "news", text: "hello", semantic: "output" };
  assert.equal(encode(view, { run: "news", text: "hello", semantic: "output" }), "");
  assert.equal(encode(view, { run: "brown", text: "hello", semantic: "output" }), "run=news");
});

for (const text of AWKWARD) {
  test(`text comes back as it was: ${JSON.stringify(text)}`, () => {
    const hash = encode({ ...plainView(), text });
    assert.equal(decode(`#${hash}`).view.text, text);
    assert.match(hash, /^text=[\x21-\x7e]*$/, "an address is one printable word");
  });
}

test("addresses are short and can be read", () => {
  const view = { ...plainView(), text: "`` we stand , she said", density: "compact", kinds: ["x", "c1@-1", "h1<"], bars: 5 };
  assert.equal(encode(view), "text=%60%60+we+stand+,+she+said&density=compact&kinds=x,c1@-1,h1%3C&bars=5");
});

test("a whole view comes back as it was", () => {
  const view = {
    run: "a/b c", text: "we {stand|stood}", beside: "b", semantic: "output+2", palette: "my own", density: "compact",
    kinds: ["x", "c1@-1", "odd,id", "encoder.cell"], naming: "symbols", bars: 1, head: 3, page: "corpus",
    find: "l2 expects {a, b} > .4 and word = \"50% & so\"", map: "odd,id",
    pins: [
      { column: "c1", row: 7, run: null, text: null, semantic: null },
      { column: "odd,id", row: 0, run: null, text: null, semantic: "input" },
      { column: "c1@-1", row: 3, run: "runs/x@2:1, y", text: "other / text, with & all : that", semantic: "output-1" },
      { column: "h1<", row: 3, run: "b", text: "", semantic: null },
    ],
    focus: { column: "encoder.cell:2", row: 11 }, follow: { labels: ["are", ",", "a b"], against: ["is"] }, turns: true, memories: null, asked: "b & c",
    edits: ["l2@4=0", "c1[0,5-9]@2*0.5", "h1<@3+1:a & b=c, d+e", "l2@1=@2:we ran / 50% & more"],
    tab: "written", reading: "path", stand_in: "left_out", contrast: { labels: ["have", ","], against: ["has"] }, alike: "divergence", folded: true,
    view: "bare", seed: 7,
  };
  assert.deepEqual(decode(encode(view)), { view, problems: [] });
});

test("what cells of memories show is a number that there is, or a word that they are asked by", () => {
  assert.equal(encode({ ...plainView(), memories: "half_life" }), "memories=half_life");
  assert.equal(encode({ ...plainView(), memories: "norm", asked: "b" }), "asked=b");
  assert.equal(decode("#memories=rank").view.memories, "rank");
  assert.equal(decode("#asked=%3F").view.asked, "?");
  for (const wrong of ["#memories=length", "#asked="]) assert.match(decode(wrong).problems[0], /which means nothing here/);
});

test("an edit is written as everywhere, and a plus is understood however it is typed", () => {
  assert.equal(encode({ ...plainView(), edits: ["l2@4=0", "l2@5+1:said"] }), "edit=l2@4=0&edit=l2@5%2B1:said");
  assert.deepEqual(decode("edit=l2@5+said").view.edits, ["l2@5+said"]);
  for (const wrong of ["l2", "l2@0=0", "@3=0", "l2@3"]) assert.equal(decode(`edit=${wrong}`).problems.length, 1, wrong);
});

test("labels that are followed are said shortly; nothing stands against nothing", () => {
  const follow = { labels: ["are", "were"], against: ["is", "was"] };
  assert.equal(encode({ ...plainView(), follow, turns: true }), "follow=are,were&against=is,was&turns=1");
  assert.equal(decode("against=is").view.follow, null);
  assert.deepEqual(decode("follow=").problems.length, 1);
  for (const wrong of ["turns=yes", "tab=shut", "reading=tea", "stand_in=tea", "alike=me", "folded=0"]) assert.deepEqual(decode(wrong).problems.length, 1, wrong);
});

test("pins of the view's own text and semantic do not repeat them", () => {
  const pins = [{ column: "c1", row: 7, run: "news", text: "we", semantic: "output" }];
  const view = { ...plainView(), run: "news", text: "we", semantic: "output", pins };
  assert.equal(encode(view, { run: "news" }), "text=we&semantic=output&pin=c1:8");
  assert.equal(encode({ ...view, run: "brown" }, { run: "brown" }), "text=we&semantic=output&pin=c1:8@news");
});

test("presets of kinds have names, and no kind at all is a choice", () => {
  for (const kinds of ["all", "outputs", []]) assert.deepEqual(decode(encode({ ...plainView(), kinds })).view.kinds, kinds);
});

test("half a surrogate pair is replaced, not thrown at", () => {
  assert.equal(decode(encode({ ...plainView(), text: "a\ud800b" })).view.text, "a\ufffdb");
});

for (const [hash, told] of [
  ["density=huge", "density=huge"], ["bars=9", "bars=9"], ["pin=nowhere", "pin=nowhere"], ["pin=c1:0", "pin=c1:0"],
  ["at=c1", "at=c1"], ["colour=red", "colour=red"], ["naming=loud", "naming=loud"], ["page=2", "page=2"], ["semantic=", "semantic="],
]) {
  test(`what a link cannot mean is said, and the rest works: ${hash}`, () => {
    const { view, problems } = decode(`${hash}&text=kept`);
    assert.equal(view.text, "kept");
    assert.deepEqual(problems, [`the link says ${told}, which means nothing here`]);
  });
}

test("a link cut in the middle of a character is read as far as it goes", () => {
  assert.equal(decode("text=caf%C3").view.text, "caf%C3");
});

test("a run, semantic or palette that is not served is said and left out", () => {
  const asked = { ...plainView(), run: "brown", semantic: "output+9", palette: "neon", text: "kept" };
  const { view, problems } = fitRun(asked, { runs: [{ id: "news" }], semantics: ["output"], palettes: ["coarse"] });
  assert.deepEqual([view.run, view.semantic, view.palette, view.text], [null, null, null, "kept"]);
  assert.deepEqual(problems, ["the link names run brown, which is not served here",
    "the link asks about output+9, for which this run has no probes", "the link names colours neon, which this run does not have"]);
});

test("a run beside itself is said and left out", () => {
  const runs = [{ id: "news" }, { id: "brown" }], has = { runs, semantics: [], palettes: [] };
  const fitted = (/** @type {string | null} */ run, /** @type {string} */ beside) => fitRun({ ...plainView(), run, beside }, has);
  for (const run of ["news", null]) { // the first is shown where none is named
    const { view, problems } = fitted(run, "news");
    assert.deepEqual([view.beside, problems], [null, ["the link has run news beside itself, which is the same"]]);
  }
  assert.deepEqual([fitted("brown", "news").view.beside, fitted("brown", "news").problems], ["news", []]);
});

test("a pin of a run that is not served is said and left out", () => {
  const pins = ["news", "gone", null].map((run) => ({ column: "c1", row: 0, run, text: null, semantic: null }));
  const { view, problems } = fitRun({ ...plainView(), pins }, { runs: [{ id: "news" }], semantics: [], palettes: [] });
  assert.deepEqual(view.pins.map((pin) => pin.run), ["news", null]);
  assert.deepEqual(problems, ["the link pins a state of run gone, which is not served here"]);
});

test("kinds and rows that a grid has not are said once and left out", () => {
  const asked = { ...plainView(), kinds: ["x", "q9"], focus: { column: "c1", row: 50 },
    pins: [["q9", 0, null], ["c1", 1, null], ["c1", 40, null], ["c1", 40, "another text"]]
      .map(([column, row, text]) => ({ column, row, run: null, text, semantic: null })) };
  const { view, problems } = fitGrid(asked, grid());
  assert.deepEqual(problems, ["the link names part q9, which this run does not have",
    "the link selects word 51, but the text is shorter", "the link pins word 41, but the text is shorter"]);
  assert.deepEqual(view.kinds, ["x"]);
  assert.equal(view.focus, null);
  assert.deepEqual(view.pins.map((pin) => pin.row), [1, 40]);
});

test("pins that the run cannot answer are said once and left out", () => {
  const pin = { column: "c1", row: 0, run: null, text: null, semantic: null };
  const foreign = { ...pin, run: "other", column: "of another", semantic: "its own" };
  assert.deepEqual(fitGrid({ ...plainView(), pins: [foreign] }, grid()).view.pins, [foreign]);
  const pins = [{ ...pin, semantic: "zz" }, { ...pin, semantic: "zz", text: "else" }, { ...pin, semantic: "input" },
    { ...pin, text: "x".repeat(20_001) }];
  const { view, problems } = fitGrid({ ...plainView(), pins }, grid());
  assert.deepEqual(view.pins, [pins[2]]);
  assert.deepEqual(problems, ["the link asks about zz, for which this run has no probes",
    "the link pins a word of a text whose 20,001 characters are too many; give at most 20,000"]);
  const bare = { ...grid(), semantics: [] };
  assert.deepEqual(fitGrid({ ...plainView(), pins: [{ ...pin, semantic: "output" }] }, bare).problems, []);
});

test("a notice quotes no more than 80 characters", () => {
  const long = "k".repeat(50_000), short = `${"k".repeat(79)}…`;
  assert.deepEqual(decode(long).problems, [`the link says ${short}, which means nothing here`]);
  assert.deepEqual(fitRun({ ...plainView(), run: long }, { runs: [], semantics: [], palettes: [] }).problems,
    [`the link names run ${short}, which is not served here`]);
  assert.deepEqual(fitGrid({ ...plainView(), focus: { column: long, row: 0 } }, grid()).problems,
    [`the link names part ${short}, which this run does not have`]);
});

test("a link whose kinds are all unknown shows the usual ones", () => {
  assert.equal(fitGrid({ ...plainView(), kinds: ["q9"] }, grid()).view.kinds, null);
  assert.deepEqual(fitGrid({ ...plainView(), kinds: [] }, grid()).view.kinds, []);
});
