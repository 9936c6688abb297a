import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { plainView } from "../../src/rnnlens/view/page/web/address.js";
import { axisEnd, baselines, drawAccuracy, lead, ticks } from "../../src/rnnlens/view/page/web/accuracy.js";
import { drawBars, drawHeader, drawRing, drawRow, drawState, drawWord } from "../../src/rnnlens/view/page/web/draw.js";
import { drawTop } from "../../src/rnnlens/view/page/web/detail.js";
import { estimate, fitted, layOut, placeAt, shownColumns } from "../../src/rnnlens/view/page/web/layout.js";
import { shape, toText } from "../../src/rnnlens/view/page/web/markup.js";
import { drawSheet } from "../../src/rnnlens/view/page/web/sheet.js";
import { hold } from "../../src/rnnlens/view/page/web/types.js";
import { grid, IDS } from "./sample.js";

const ROOM = { width: 1040, height: 700 };
const compact = { ...plainView(), density: "compact" };
const laidOut = (held, view = plainView(), room = ROOM) => layOut(held, view, room, estimate);

/** Every shape with a tag, and with a class where one is given. */
function all(drawn, tag, kind) {
  const inside = drawn.children.filter((child) => typeof child !== "string").flatMap((child) => all(child, tag, kind));
  const fits = drawn.tag === tag && (!kind || drawn.attributes.class === kind);
  return fits ? [drawn, ...inside] : inside;
}

const texts = (drawn) => all(drawn, "text").map((one) => one.children.filter((child) => typeof child === "string").join(""));

test("the golden grid: rectangles, bars and labels are what Python decided", () => {
  const given = JSON.parse(readFileSync(new URL("../view/golden/grid.json", import.meta.url), "utf8"));
  const held = hold(given, null);
  for (const bars of [1, 3, 5]) {
    const layout = laidOut(held, { ...plainView(), kinds: "all", bars });
    assert.equal(layout.slots.length, given.columns.length);
    given.rows.forEach((states, row) => {
      const drawn = all(drawRow(held, row, layout, () => ""), "g", "state");
      assert.equal(drawn.length, states.length);
      states.forEach((state, k) => {
        assert.equal(all(drawn[k], "rect", "mark")[0].attributes.fill, state.colour);
        const room = all(drawn[k], "svg")[0].attributes.width;
        const made = all(drawn[k], "rect", "bar");
        const top = state.top.slice(0, bars);
        assert.equal(made.length, top.length);
        top.forEach(([label, p], n) => {
          assert.ok(Math.abs(made[n].attributes.width - Math.max(1.5, p * room)) < 0.01);
          assert.equal(made[n].attributes.fill, given.groups[given.labels[label]]);
        });
        assert.deepEqual(texts(drawn[k]), top.map(([label]) => fitted(label, (room - 3) / 0.8, 10.5, estimate)));
      });
    });
  }
});

test("columns stand side by side, layers apart, and fill the room there is", () => {
  const held = hold(grid(), null), layout = laidOut(held);
  assert.deepEqual(layout.slots.map((slot) => slot.column.id), IDS.filter((id) => !/^[fiog]1$/.test(id)));
  layout.slots.slice(1).forEach((slot, k) => {
    const before = layout.slots[k], apart = slot.x - before.x - before.width;
    assert.equal(apart, slot.column.layer === before.column.layer ? 0 : 11);
  });
  assert.deepEqual(layout.groups.map((group) => group.name), ["input", "layer 1", "model"]);
  assert.ok(layout.words + layout.width <= ROOM.width);
  assert.ok(layout.words + layout.width > ROOM.width - 14);
});

test("seventeen kinds and sixty words fit one screen when compact", () => {
  const held = hold(grid(Array(60).fill("government").join(" ")), null);
  held.columns = [...held.columns.slice(0, 10), ...held.columns.slice(1, 10).map((column) => ({ ...column, layer: 2, id: `${column.id}b` })), held.columns[10]];
  const layout = laidOut(held, { ...compact, kinds: "all" }, { width: 1030, height: 660 });
  assert.equal(layout.slots.length, 20);
  assert.ok(layout.words + layout.width <= 1030);
  assert.ok(layout.header + 60 * layout.row <= 660);
  assert.ok(layout.row >= 9);
});

test("compact rows are low where there are few words, too, and as high as can be read where there are many", () => {
  const rows = (count) => laidOut(hold(grid(Array(count).fill("a").join(" ")), null), compact).row;
  assert.deepEqual([rows(1), rows(10), rows(1000)], [16, 16, 11]);
});

test("many columns in a narrow window keep a width that can be read", () => {
  const layout = laidOut(hold(grid(), null), { ...plainView(), kinds: "all" }, { width: 380, height: 500 });
  assert.equal(layout.slots[0].width, 66);
  assert.ok(layout.words < 120);
});

test("presets choose columns", () => {
  const held = hold(grid(), null), ids = (kinds) => shownColumns(held, kinds).map((column) => column.id);
  assert.deepEqual(ids("all"), IDS);
  assert.deepEqual(ids("outputs"), ["x", "h1", "y"]);
  assert.deepEqual(ids(["y", "x"]), ["x", "y"]);
  assert.deepEqual(ids([]), []);
});

test("the state at a position: gaps belong to the nearest, and outside there is none", () => {
  const layout = laidOut(hold(grid(), null)), at = (x, y) => placeAt(layout, layout.words + x, y, 3);
  for (const { x, width, column } of layout.slots) {
    for (const row of [0, 2]) assert.deepEqual(at(x + width / 2, row * layout.row + 5), { column: column.id, row });
  }
  assert.equal(at(1, 5).column, "x");
  assert.equal(at(layout.width, layout.row - 2).row, 1);
  assert.deepEqual([at(-1, 5), at(layout.width + 20, 5), at(20, 3 * layout.row), at(20, -20)], [null, null, null, null]);
});

test("text is cut to its width, whole characters at a time", () => {
  assert.equal(fitted("government", 100, 10, estimate), "government");
  assert.equal(fitted("government", 34, 10, estimate), "gover…");
  assert.equal(fitted("\u{1f600}\u{1f600}\u{1f600}\u{1f600}", 17, 10, estimate), "\u{1f600}\u{1f600}…");
  assert.equal(fitted("abc", 1, 10, estimate), "…");
});

test("labels lie inside their column, clipped by an svg of their own", () => {
  const held = hold(grid(), null), layout = laidOut(held), slot = layout.slots[3];
  const inner = all(drawState(held, held.rows[0][slot.index], slot, layout), "svg")[0].attributes;
  assert.ok(inner.x + inner.width < slot.width);
  assert.equal(inner.height, layout.state);
});

test("a label that is a little too long is drawn narrower, a longer one is cut, and neither leaves its room", () => {
  const held = hold(grid(), null), layout = laidOut(held), width = 49, room = width - 3;
  const state = { ...held.rows[0][0], top: [["we", 0.5], ["announce", 0.2], ["representatives", 0.1]] };
  const wide = (text) => estimate(text, 10.5);
  assert.ok(wide("announce") > room && wide("announce") <= room / 0.8);
  const [short, longer, cut] = drawBars(held, state, width, layout).filter((one) => one.tag === "text");
  assert.equal(short.attributes.textLength, undefined);
  assert.deepEqual([longer.children[0], longer.attributes.textLength], ["announce", room]);
  assert.match(cut.children[0], /^repres.*…$/);
  assert.ok(wide(cut.children[0]) <= room / 0.8);
});

test("compact states are rectangles alone", () => {
  const held = hold(grid(), null), layout = laidOut(held, compact);
  const drawn = drawState(held, held.rows[0][0], layout.slots[0], layout);
  assert.equal(drawn.children.length, 1);
  assert.equal(all(drawn, "rect", "mark")[0].attributes.fill, "#c9b1e0");
});

test("rows on their way are empty, and states say who they are", () => {
  const held = hold({ ...grid(), rows: grid().rows.slice(0, 1) }, null), layout = laidOut(held);
  const states = all(drawRow(held, 0, layout, (k) => `id${k}`), "g", "state");
  assert.equal(states[1].attributes["aria-label"], "previous cell, layer 1, after the start: verb 78%; said 50%, we 25%, so 0.5%");
  assert.equal(states[1].attributes.id, "id1");
  assert.equal(all(drawRow(held, 2, layout, () => ""), "g", "state").length, 0);
});

test("a word is underlined in its group's colour; unknown ones are marked", () => {
  const given = grid();
  given.words[1] = { text: "zyzzyva", label: "UNK", unknown: true, group: "VERB" };
  const held = hold(given, null), layout = laidOut(held);
  assert.deepEqual(texts(drawWord(held, 0, layout)), ["1", "we"]);
  assert.equal(all(drawWord(held, 0, layout), "rect")[0].attributes.fill, "#009e73");
  assert.deepEqual(texts(drawWord(held, 1, layout)), ["2", "zyzzyva", "?"]);
});

test("headings: both, names alone, symbols alone, and slanted where columns are narrow", () => {
  const held = hold(grid(), null);
  const heads = (view) => texts(drawHeader(laidOut(held, { ...plainView(), ...view })));
  assert.ok(heads({}).includes("kind l") && heads({}).includes("l"));
  assert.ok(!heads({ naming: "symbols" }).includes("kind l"));
  assert.ok(!heads({ naming: "names" }).includes("l"));
  const narrow = layOut(held, { ...compact, naming: "names" }, { width: 300, height: 500 }, estimate);
  assert.ok(narrow.slanted && all(drawHeader(narrow), "text").some((one) => /^rotate/.test(String(one.attributes.transform))));
});

test("rings of neighbours do not touch", () => {
  const layout = laidOut(hold(grid(), null));
  const [a, b] = [2, 3].map((k) => drawRing(layout.slots[k], layout, "fed").attributes);
  assert.ok(Number(a.x) + Number(a.width) < Number(b.x));
});

test("the panel draws twenty bars and makes bold what really came", () => {
  const top = Array.from({ length: 20 }, (_, k) => [`w${k}`, 0.2 / (k + 1)]);
  const held = hold(grid(), null), state = { ...held.rows[0][0], top, wanted: ["w3", 0.05, 4] };
  const drawn = drawTop(held, state, 208, estimate);
  assert.equal(all(drawn, "rect", "bar").length, 20);
  const bold = all(drawn, "text").filter((one) => one.attributes["font-weight"] === 700);
  assert.deepEqual(bold.map((one) => one.children[0]), ["w3"]);
});

test("a saved sheet holds every row and escapes what it says", () => {
  const given = grid("we <script>alert(1)</script> \"so\" & \u0007");
  const { drawing, width, height } = drawSheet(hold(given, null), plainView(), estimate);
  const text = toText(drawing);
  assert.ok(!text.includes("<script"));
  assert.ok(text.includes("&lt;script&gt;"));
  assert.ok(text.includes("\u2407") && !text.includes("\u0007"));
  assert.equal(all(drawing, "g", "state").length, given.words.length * 7);
  assert.ok(height > given.words.length * 40 && width > 7 * 70);
  assert.ok(texts(drawing).includes("white = undecided"));
});

test("shapes become text, attributes escaped", () => {
  assert.equal(toText(shape("text", { x: 1, "aria-label": '"<&>' }, "a<b")), '<text x="1" aria-label="&quot;&lt;&amp;&gt;">a&lt;b</text>');
  assert.equal(toText(shape("g")), "<g/>");
});

test("accuracy: bars are as long as perplexities, and those past the axis are cut and say so", () => {
  const scores = [{ kind: "x", perplexity: 200 }, { kind: "l1", perplexity: 5000 }].map((one) => ({ ...one, ratio: 2, accuracy: 0.1, kl: 1, calibration: 0.01 }));
  const lines = [["the model itself", 97], ["unigram", 676]];
  const end = axisEnd(scores, [97, 676]);
  assert.equal(end, 676 * 1.08);
  const drawn = drawAccuracy(scores, lines, (kind) => ({ name: kind, symbol: kind, layer: "" }), 900);
  const bars = all(drawn, "rect", "score").map((bar) => bar.attributes.width);
  assert.ok(Math.abs(bars[0] - (200 / end) * (900 - 190 - 64)) < 0.1);
  assert.ok(Math.abs(bars[1] - (900 - 190 - 64)) < 0.1);
  assert.ok(texts(drawn).includes("5,000 (cut)"));
  const limits = all(drawn, "line", "limit");
  assert.deepEqual(limits.map((line) => line.attributes["data-name"]), ["the model itself", "unigram"]);
  assert.ok(Math.abs(limits[0].attributes.x1 - (190 + (97 / end) * (900 - 190 - 64))) < 0.1);
});

test("each semantic has its own baseline, and the model itself is compared on the next word alone", () => {
  const found = { own: 97, unigram: 676.1, unigrams: { output: 676.1, input: 741.6 } };
  assert.deepEqual(baselines(found, "output"), [["the model itself", 97], ["unigram", 676.1]]);
  assert.deepEqual(baselines(found, "input"), [["unigram", 741.6]]);
  assert.deepEqual(baselines(found, "constructor"), [["unigram", 676.1]]);
  assert.deepEqual(baselines({ own: 97, unigram: 676.1 }, "input"), [["unigram", 676.1]]);
  assert.equal(lead(baselines(found, "output")), "Perplexity of the model itself 97, of the unigram baseline 676");
  assert.equal(lead(baselines(found, "input")), "Perplexity of the unigram baseline 742");
});

test("a baseline far beyond every bar is said to be beyond", () => {
  const scores = [{ kind: "x", perplexity: 1.5, ratio: null, accuracy: 1, kl: null, calibration: 0 }];
  const drawn = drawAccuracy(scores, [["unigram", 676]], (kind) => ({ name: kind, symbol: "", layer: "" }), 900);
  assert.ok(texts(drawn).includes("unigram 676 →"));
});

test("an axis has a few round values", () => {
  assert.deepEqual(ticks(730), [0, 200, 400, 600]);
  assert.deepEqual(ticks(2), [0, 0.5, 1, 1.5, 2]);
});
