import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { describe, nameOf, outsideReason } from "../../../src/rnnlens/page/web/base/format.js";
import { hold } from "../../../src/rnnlens/page/web/base/held.js";
import { estimate } from "../../../src/rnnlens/page/web/base/text.js";
import { drawArrow, drawHeader, drawRing, drawRow, drawState, drawWord } from "../../../src/rnnlens/page/web/grid/draw.js";
import { drawBars, LABEL, PITCH, round, TINT, TRACK } from "../../../src/rnnlens/page/web/grid/bars.js";
import { layOut } from "../../../src/rnnlens/page/web/grid/layout.js";
import { plainView } from "../../../src/rnnlens/page/web/net/address.js";
import { all, compact, laidOut, texts } from "../drawing.js";
import { grid } from "../sample.js";

test("the golden grid: rectangles, bars and labels are what Python decided", () => {
  const given = JSON.parse(readFileSync(new URL("../../golden/grid.json", import.meta.url), "utf8"));
  const held = hold(given, null);
  for (const bars of [1, 3, 5]) {
    const layout = laidOut(held, { ...plainView(), kinds: "all", bars });
    assert.equal(layout.slots.length, given.columns.length);
    given.rows.forEach((states, row) => {
      const drawn = all(drawRow(held, row, layout, () => ""), "g", "state");
      assert.equal(drawn.length, states.length);
      states.forEach((state, k) => {
        if (state.unread) {
          assert.equal(all(drawn[k], "path", "hatch").length, 1);
          assert.deepEqual(texts(drawn[k]).slice(0, 1), ["nothing"]);
          return;
        }
        assert.equal(all(drawn[k], "rect", "mark")[0].attributes.fill, state.colour);
        const room = all(drawn[k], "svg")[0].attributes.width;
        const made = all(drawn[k], "rect", "bar");
        const top = state.top.slice(0, bars);
        assert.equal(made.length, top.length);
        top.forEach(([label, p], n) => {
          assert.ok(Math.abs(made[n].attributes.width - Math.max(1, Math.sqrt(p) * room)) < 0.01);
          assert.equal(made[n].attributes.fill, given.groups[given.labels[label]]);
        });
        assert.deepEqual(all(drawn[k], "rect", "track").map((one) => one.attributes.width), top.map(() => room));
        const said = all(drawn[k], "text").filter((one) => "data-label" in one.attributes);
        assert.deepEqual(said.map((one) => one.attributes["data-label"]), top.map(([label]) => label)); // the true one, whatever it is called
        said.forEach((one, n) => {
          const called = [nameOf(top[n][0], held), top[n][0]], shown = one.children[0];
          assert.ok(called.includes(shown) || (called[0] === null && called[1].startsWith(shown.replace("…", ""))), shown);
        });
      });
    });
  }
});

test("a state that its probe has not seen the like of is hatched, says so, and has no colour or bar", () => {
  const held = hold(grid(), null), layout = laidOut(held), outside = { ...held.rows[0][0], outside: [0.02, 0.7, 1.6] };
  const drawn = drawState(held, outside, layout.slots[0], layout);
  assert.equal(all(drawn, "rect", "mark")[0].attributes.fill, "none");
  assert.equal(all(drawn, "path", "hatch").length, 1);
  assert.equal(all(drawn, "rect", "bar").length, 0);
  assert.match(texts(drawn).join(" "), /^outside/);
  assert.equal(describe(held, outside, "cell state", "we", 3), "cell state, after we: outside what the probe has seen");
  assert.match(outsideReason(outside.outside), /nearer to the middle .* is 0.0200; at least 99.9% of held-out states have 0.700 to 1.60/);
});

test("labels lie inside their column, clipped by an svg of their own", () => {
  const held = hold(grid(), null), layout = laidOut(held), slot = layout.slots[3];
  const inner = all(drawState(held, held.rows[0][slot.index], slot, layout), "svg")[0].attributes;
  assert.ok(inner.x + inner.width < slot.width);
  assert.equal(inner.height, layout.state);
});

test("a label that is a little too long is drawn narrower, a longer one is cut, and neither leaves its room", () => {
  const held = hold(grid(), null), width = 50, room = width - 6;
  const look = { width, size: LABEL, pitch: PITCH, values: false, measure: estimate };
  const state = { ...held.rows[0][0], top: [["we", 0.5], ["announce", 0.2], ["representatives", 0.1]] };
  const wide = (text) => estimate(text, 10.5);
  assert.ok(wide("announce") > room && wide("announce") <= room / 0.76);
  const [short, longer, cut] = drawBars(held, state, 3, look).filter((one) => one.tag === "text");
  assert.equal(short.attributes.textLength, undefined);
  assert.deepEqual([longer.children[0], longer.attributes.textLength], ["announce", room]);
  assert.match(cut.children[0], /^repres.*…$/);
  assert.equal(cut.children[1].children[0], "representatives 10%"); // whole, for those who point at it
  assert.ok(wide(cut.children[0]) <= room / 0.76);
});

test("a value stands beside its label where columns are wide, and never on it", () => {
  const held = hold(grid(), null), state = { ...held.rows[0][0], top: [["we", 0.123], ["representatives", 0.061], ["so", 0.004]] };
  const look = { width: 86, size: 13, pitch: 19, values: true, measure: estimate };
  const drawn = drawBars(held, state, 3, look), values = (made) => made.filter((one) => one.attributes.class === "value").map((one) => one.children[0]);
  assert.deepEqual(values(drawn), ["12%", "6.1%", "0.4%"]);
  assert.deepEqual(values(drawBars(held, state, 3, { ...look, short: true })), ["12", "6", "<1"]);
  drawn.filter((one) => one.attributes.class === "said").forEach((one, k) => {
    const value = estimate(["12%", "6.1%", "0.4%"][k], 13 * 0.88), { textLength, x } = one.attributes;
    assert.ok(x + (textLength ?? estimate(one.children[0], 13)) + value < look.width - 3);
  });
});

test("2% can be seen, and every label stands on its own bar alone", () => {
  const held = hold(grid(), null), look = { width: 60, size: LABEL, pitch: PITCH, values: false, measure: estimate };
  const drawn = drawBars(held, { ...held.rows[0][0], top: [["said", 0.5], ["we", 0.02], ["so", 0]] }, 3, look);
  const bars = drawn.filter((one) => one.attributes.class === "bar").map((one) => one.attributes);
  assert.deepEqual(bars.map(({ width }) => round(width)), [42.43, 8.49, 1]);
  drawn.filter((one) => one.attributes.class === "said").forEach(({ attributes: { y } }, k) => {
    const { y: top, height } = bars[k];
    assert.ok(y - LABEL * 0.74 > top && y + LABEL * 0.22 < top + height); // from the top of an l to the foot of a p
  });
});

test("text can be read on the bars of every group, on light and dark", () => {
  const style = readFileSync(new URL("../../../src/rnnlens/page/web/style.css", import.meta.url), "utf8");
  const themes = (/** @type {RegExp} */ at) => at.exec(style).slice(1, 3).map((one) => (one.length === 4 ? one.replace(/\w/g, "$&$&") : one));
  const ground = themes(/--ground: light-dark\((#\w+), (#\w+)\)/), ink = themes(/--ink: light-dark\((#\w+), (#\w+)\)/);
  const mild = themes(/\.value, \.named\) \{ fill: light-dark\((#\w+), (#\w+)\)/);
  const channels = (colour) => [1, 3, 5].map((k) => parseInt(colour.slice(k, k + 2), 16));
  const light = (rgb) => rgb.map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, k) => sum + c * [0.2126, 0.7152, 0.0722][k], 0);
  const contrast = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
  const over = (colour, share, below) => channels(colour).map((c, k) => share * c + (1 - share) * below[k]);
  const tints = [TINT, Number(/\.bar\[fill-opacity\] \{ fill-opacity: ([\d.]+)/.exec(style)[1])];
  for (const theme of [0, 1]) {
    const track = over(ink[theme], TRACK, channels(ground[theme]));
    for (const group of [...Object.values(grid().groups), "#0072b2", "#d55e00", "#56b4e9", "#e8c93c", "#9a9aa3", "#62656f", "#7b561e", "#5544a1", "#282c42"]) {
      const bar = over(group, tints[theme], track);
      assert.ok(contrast(channels(ink[theme]), bar) >= 4.5, `label on ${group}, theme ${theme}`);
      assert.ok(contrast(channels(mild[theme]), bar) >= 4.5, `number on ${group}, theme ${theme}: ${contrast(channels(mild[theme]), bar)}`);
    }
    assert.ok(contrast(channels(mild[theme]), track) >= 4.5);
  }
});

test("punctuation is called by its name, placeholders by what they stand for, and words as they are", () => {
  const held = hold({ ...grid(), placeholders: { UNK: "rare word" } }, null);
  const look = { width: 200, size: LABEL, pitch: PITCH, values: false, measure: estimate };
  const state = { ...held.rows[0][0], top: [[",", 0.5], ["UNK", 0.2], ["NUM", 0.1], ["constructor", 0.01]] };
  const drawn = drawBars(held, state, 4, look).filter((one) => one.tag === "text");
  assert.deepEqual(drawn.map((one) => one.children[0]), ["comma", "rare word", "NUM", "constructor"]); // NUM is a word of this run
  assert.deepEqual(drawn.map((one) => one.attributes["data-label"]), [",", "UNK", "NUM", "constructor"]);
  assert.deepEqual(drawn.map((one) => one.attributes["font-style"]), ["italic", "italic", undefined, undefined]);
  assert.deepEqual(drawn.slice(0, 2).map((one) => one.children[1].children[0]), ["comma (,) 50%", "rare word (UNK) 20%"]);
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

test("pieces of one word are joined by a bracket, and marks are set apart", () => {
  const given = grid();
  ["first", "last", "mark"].forEach((piece, k) => given.words[k] && (given.words[k].piece = piece));
  const held = hold(given, null), layout = laidOut(held), brackets = (row) => all(drawWord(held, row, layout), "path").map((one) => one.attributes.d);
  const [first] = brackets(0), [last] = brackets(1);
  assert.match(first, new RegExp(`V${layout.row}$`)); // down to the next row
  assert.match(last, /M[\d.]+ 0V/); // from the row before
  given.words[0].piece = "mark";
  const marked = drawWord(hold(given, null), 0, layout);
  assert.deepEqual(all(marked, "path"), []);
  assert.ok(all(marked, "text").some((one) => one.attributes["font-style"] === "italic"));
  given.words[0].piece = "";
  assert.deepEqual(all(drawWord(hold(given, null), 0, layout), "path"), []);
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

test("submodules are headed by the end of their path, once", () => {
  const given = grid();
  [1, 2, 3].forEach((k) => Object.assign(given.columns[k], { letter: "", name: `backbone.encoder.layers.${k}`,
    symbol: `backbone.encoder.layers.${k}`, shown: true }));
  const heads = (view, room) => texts(drawHeader(laidOut(hold(given, null), { ...plainView(), ...view }, room)))
    .filter((text) => /[1-3]$/.test(text) && text !== "layer 1");
  const narrow = { width: 820, height: 700 };
  for (const naming of ["both", "names", "symbols"]) {
    assert.deepEqual(heads({ naming }, narrow), ["…layers.1", "…layers.2", "…layers.3"], naming);
  }
  assert.deepEqual(heads({ density: "compact" }, { width: 300, height: 700 }), ["…1", "…2", "…3"]);
});

test("rings of neighbours do not touch", () => {
  const layout = laidOut(hold(grid(), null));
  const [a, b] = [2, 3].map((k) => drawRing(layout.slots[k], layout, "fed").attributes);
  assert.ok(Number(a.x) + Number(a.width) < Number(b.x));
});

test("an arrow from the row above goes through the gaps between states, past rows of the other text", () => {
  const layout = laidOut(hold(grid(), null)), at = (id) => layout.slots.find(({ column }) => column.id === id);
  const gap = layout.row - layout.state, ways = [1, 2].map((rows) => {
    const { d } = drawArrow(at("c1"), at("l1"), rows * layout.row, layout).children[0].attributes;
    const [x, y] = d.match(/^M([\d.-]+) ([\d.-]+)/).slice(1).map(Number);
    return { x, y, turns: [...d.matchAll(/([VH])([\d.-]+)/g)].map(([, way, to]) => [way, Number(to)]) };
  });
  const [near, far] = ways, inside = (slot, x) => x > slot.x && x < slot.x + layout.mark;
  assert.ok(inside(at("c1"), near.x) && near.y > layout.state - layout.row);
  assert.deepEqual(near.turns.map(([way]) => way).join(""), "VHV");
  assert.equal(near.turns[0][1], round(-gap / 2)); // between the two rows
  assert.ok(inside(at("l1"), near.turns[1][1]));
  assert.deepEqual(far.turns.map(([way]) => way).join(""), "VHVHV");
  assert.equal(far.turns[0][1], round(-gap / 2 - layout.row));
  assert.ok(far.turns[1][1] < at("l1").x && !layout.slots.some((slot) => far.turns[1][1] > slot.x && far.turns[1][1] < slot.x + slot.width - gap)); // down between columns
});

test("an arrow passes what stands under a state where texts part", () => {
  const layout = laidOut(hold(grid(), null)), at = (id) => layout.slots.find(({ column }) => column.id === id), split = 16;
  const { d } = drawArrow(at("c1"), at("l1"), layout.row + split, layout, split).children[0].attributes;
  const [left, first, across] = d.match(/^M([\d.-]+) [\d.-]+H([\d.-]+)V([\d.-]+)/).slice(1).map(Number);
  assert.ok(first < left && left < at("c1").x); // down on the left of the numbers, not through them
  assert.equal(across, round(-(layout.row - layout.state) / 2)); // and across under them
});
