import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import {
  editParts, editsAt, editsOf, editText, editWords, isEditable, push, targetOf, ways, withEdit,
  withOtherSide,
} from "../../../src/rnnlens/page/web/base/edits.js";
import { hold } from "../../../src/rnnlens/page/web/base/held.js";
import { Edit } from "../../../src/rnnlens/page/web/engine/why/edit.js";
import { column, grid } from "../sample.js";

const held = hold(grid("we said so"), null);
const CASES = JSON.parse(readFileSync(new URL("../../golden/edits.json", import.meta.url), "utf-8"));
// Two texts, we {said|ran} so: the first word is of both.
const compared = { ...held, sides: [{ run: "tiny", title: "", text: "we said so", columns: [] }, { run: "tiny", title: "", text: "we ran so", columns: [] }],
  words: ["we", "said", "ran", "so", "so"].map((text) => ({ ...held.words[0], text })),
  lines: [["both", 0], ["first", 1], ["second", 1], ["first", 2], ["second", 2]].map(([side, row]) => ({ side, row, then: null })) };
const pin = (columnId, row, more = {}) => ({ column: columnId, row, run: "tiny", text: "we said so", semantic: "output", ...more });

test("an edit is taken apart and put together again", () => {
  for (const text of ["l2@4=0", "c1[0,5-9]@2*0.5", "h1<@3+1:a@2=b", "l2@1=@2:we ran", "l2@1-0.5:-"]) {
    assert.equal(editText(editParts(text)), text);
  }
  assert.deepEqual(editParts("h1<@2:3+1:a@2=b"), { kind: "h1<", units: "", side: "second", row: 2, what: "+1:a@2=b" });
  for (const wrong of ["", "l2", "l2@0=0", "@3=0", "l2@3", "l2@x=0", "l2@3=", "l2@3?0"]) assert.equal(editParts(wrong), null, wrong);
});

for (const { text, refused, edit, ...means } of CASES) {
  test(`edit ${text.slice(0, 40)} is read as Python reads it`, () => {
    if (refused) assert.throws(() => Edit.parse(text), { message: refused });
    if (refused) return;
    const { kind, step, side, units, set, scale, label, strength, swap, ...read } = Edit.parse(text);
    const given = { kind, row: step + 1, side, units, set, scale, label: read.push ?? read.away, strength, swap: swap && [swap.step, swap.text] };
    assert.equal(String(Edit.parse(text)), edit);
    for (const [name, value] of Object.entries(means)) assert.deepEqual(given[name], value, name);
    assert.equal(String(Edit.parse(edit)), edit);
  });
}

test("of two readings, a state is edited in the one that its line is of", () => {
  const at = (row) => { const { kind, row: step, side } = targetOf(compared, { column: "c1", row }); return editText({ kind, units: "", side, row: step, what: "=0" }); };
  assert.deepEqual([0, 1, 2, 4].map(at), ["c1@1=0", "c1@1:2=0", "c1@2:2=0", "c1@2:3=0"]);
  const gap = { ...compared, lines: compared.lines.map((line, k) => (k === 2 ? { ...line, row: null } : line)) };
  assert.equal(targetOf(gap, { column: "c1", row: 2 }), null);
  const edits = ["c1@1=0", "c1@2:2*0.5", "c1@1:3=0", "c1@9=0"], known = { ...compared, edits };
  assert.deepEqual(editsAt(edits, { kind: "c1", row: 1, side: "first" }), []);
  assert.deepEqual(editsAt(edits, { kind: "c1", row: 1, side: "second" }), ["c1@2:2*0.5"]);
  assert.deepEqual(editsOf(known, "first"), ["c1@1=0", "c1@3=0"]);
  assert.deepEqual(editsOf(known, "second"), ["c1@1=0", "c1@2*0.5"]);
  assert.deepEqual(editsOf(known, "both"), editsOf(known, "first"));
  assert.deepEqual(edits.map(withOtherSide), ["c1@1=0", "c1@1:2*0.5", "c1@2:3=0", "c1@9=0"]);
  assert.equal(editWords(compared, "c1@2:2=0"), "c1 after ran of the second: zero");
  const pinned = [pin("c1", 0), pin("c1", 1, { text: "we ran so" }), pin("c1", 1)];
  assert.deepEqual(ways(compared, { column: "c1", row: 2 }, pinned).map(({ what }) => what), ["=0", "*0.5", "=freeze", "=@1:we said so", "=@2:we said so"]);
});

test("the prediction is not changed, a submodule's output is; a cell of the row before is changed there", () => {
  assert.ok(!isEditable(column("y")) && isEditable(column("x", { letter: "" })) && isEditable(column("c1")));
  assert.equal(targetOf(held, { column: "y", row: 1 }), null);
  assert.equal(targetOf(held, { column: "c1@-1", row: 0 }), null);
  const { kind, row } = targetOf(held, { column: "c1@-1", row: 2 });
  assert.deepEqual([kind, row], ["c1", 1]);
});

test("a second edit of a state takes the first one's place, but not that of some of its units", () => {
  const zero = { kind: "c1", units: "", side: "both", row: 1, what: "=0" };
  assert.deepEqual(withEdit(["c1@2*0.5", "l1@2=0", "c1[3]@2=1"], zero), ["l1@2=0", "c1[3]@2=1", "c1@2=0"]);
  assert.deepEqual(withEdit(["c1@2=0"], { ...zero, side: "second" }), ["c1@2=0", "c1@2:2=0"]);
  assert.deepEqual(editsAt(["c1@2=0", "c1[3]@2=1", "c1@3=0"], { kind: "c1", row: 1, side: "both" }), ["c1@2=0", "c1[3]@2=1"]);
});

test("a state can become zero, half, frozen where there is a word before, and a pinned one of its kind", () => {
  const names = (place, pins = []) => ways(held, place, pins).map(({ what }) => what);
  assert.deepEqual(names({ column: "c1", row: 0 }), ["=0", "*0.5"]);
  assert.deepEqual(names({ column: "c1", row: 1 }), ["=0", "*0.5", "=freeze"]);
  const pins = [pin("c1", 0), pin("c1", 1), pin("l1", 0), pin("c1@-1", 1), pin("c1", 1, { text: "they ran" }), pin("c1", 0, { run: "other" })];
  assert.deepEqual(names({ column: "c1", row: 1 }, pins).slice(3), ["=@1", "=@1", "=@2:they ran"]);
  const back = { ...held, columns: held.columns.map((one) => ({ ...one, reverse: true })) };
  assert.deepEqual(ways(back, { column: "c1", row: 2 }, []).map(({ name }) => name), ["zero", "half"]);
  assert.deepEqual(names({ column: "y", row: 1 }), []);
});

test("edits are told in words", () => {
  const told = (text) => editWords(held, text);
  assert.equal(told("c1@2=0"), "c1 after said: zero");
  assert.equal(told("c1@2*0.5"), "c1 after said: half");
  assert.equal(told("c1@2*2"), "c1 after said: times 2");
  assert.equal(told("c1@2=freeze"), "c1 after said: as one word before");
  assert.equal(told(`c1@2${push(true, "so")}`), "c1 after said: towards so");
  assert.equal(told("c1@2-0.5:so"), "c1 after said: away from so, 0.5");
  assert.equal(told("c1@2+1e-05:so"), "c1 after said: towards so, 1e-05");
  assert.equal(told("c1@2=@1"), "c1 after said: that after we");
  assert.equal(told("c1@2=@1:they ran"), "c1 after said: that of word 1 of “they ran”");
  assert.equal(told("c1[0-3]@9=1.5"), "c1[0-3] after word 9: 1.5");
});
