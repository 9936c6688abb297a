import assert from "node:assert/strict";
import { test } from "node:test";
import { Steps } from "../../../src/rnnlens/page/web/net/steps.js";
import { plainView } from "../../../src/rnnlens/page/web/net/address.js";

/** Steps of views that differ in their text, and the texts that were gone to. */
function made() {
  const gone = [], steps = new Steps(false, { go: (view) => gone.push(view.text), changed: () => {} });
  const view = (text) => ({ ...plainView(), text });
  steps.arrived(view("a"), "#a");
  return { gone, steps, write: (text, step = true) => steps.write(view(text), `#${text}`, step) };
}

test("where the browser keeps no history a list does, and ends are ends", () => {
  const { gone, steps, write } = made();
  assert.deepEqual([steps.canUndo(), steps.canRedo()], [false, false]);
  for (const text of ["b", "c"]) write(text);
  for (const by of [-1, -1, -1, 1, 1, 1]) steps.go(by);
  assert.deepEqual(gone, ["b", "a", "b", "c"]);
  assert.deepEqual([steps.canUndo(), steps.canRedo()], [true, false]);
});

test("what is done after going back takes the place of what was to come", () => {
  const { gone, steps, write } = made();
  for (const text of ["b", "c"]) write(text);
  steps.go(-1);
  write("d");
  assert.equal(steps.canRedo(), false);
  steps.go(-1);
  steps.go(1);
  assert.deepEqual(gone, ["b", "b", "d"]);
});

test("what is no step of its own stays with the one it was done after, and is written before the next", () => {
  const { gone, steps, write } = made();
  write("b");
  write("b, selected", false);
  write("c");
  steps.go(-1);
  assert.deepEqual(gone, ["b, selected"]);
  write("c", true);
  write("c", true); // the same again is none
  steps.go(-1);
  assert.deepEqual(gone, ["b, selected", "b, selected"]);
});

test("a browser that refuses addresses leaves the list, which knows where it was", () => {
  const refuse = () => { throw new DOMException("no", "SecurityError"); };
  Object.assign(globalThis, { history: { state: null, pushState: refuse, replaceState: refuse }, location: { pathname: "/", search: "" } });
  const gone = [], steps = new Steps(true, { go: (view) => gone.push(view.text), changed: () => {} });
  steps.arrived({ ...plainView(), text: "a" }, "");
  steps.write({ ...plainView(), text: "b" }, "#b", true);
  assert.ok(steps.canUndo());
  steps.go(-1);
  assert.deepEqual(gone, ["a"]);
});
