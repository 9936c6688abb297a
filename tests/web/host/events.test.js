import assert from "node:assert/strict";
import { test } from "node:test";
import { canScroll, ownKey } from "../../../src/rnnlens/page/web/host/events.js";

/** A key press, as "Ctrl+Alt+x". @param {string} pressed */
function press(pressed, defaultPrevented = false) {
  const parts = pressed.split("+"), has = (/** @type {string} */ name) => parts.includes(name);
  const wide = has("AltGr"); // Windows says Ctrl and Alt of it too
  return { key: parts.at(-1) ?? "", ctrlKey: has("Ctrl") || wide, metaKey: has("Cmd"), altKey: has("Alt") || wide,
    defaultPrevented, getModifierState: (/** @type {string} */ name) => name === "AltGraph" && wide };
}

test("what types, moves and clears is the widget's own", () => {
  for (const key of ["d", "D", "Shift+Enter", "Delete", "Backspace", "ArrowDown", "Escape", "Tab", "AltGr+@", "Process"]) {
    assert.ok(ownKey(press(key), true), key);
    assert.ok(ownKey(press(key), false), key);
  }
});

test("what edits is, in a field", () => {
  for (const key of ["Ctrl+z", "Ctrl+a", "Ctrl+V", "Cmd+z", "Cmd+Backspace", "Ctrl+ArrowLeft", "Ctrl+Home"]) {
    assert.ok(ownKey(press(key), true), key);
    assert.ok(!ownKey(press(key), false), key);
  }
});

test("other commands are the notebook's", () => {
  for (const key of ["Ctrl+s", "Cmd+s", "Ctrl+P", "Ctrl+Enter", "Cmd+Enter", "F1", "F12", "Alt+ArrowUp", "Ctrl+Alt+z"]) {
    assert.ok(!ownKey(press(key), true), key);
    assert.ok(!ownKey(press(key), false), key);
  }
});

test("what the widget has used is its own, but for running the cell", () => {
  assert.ok(ownKey(press("Ctrl+Home", true), false));
  assert.ok(!ownKey(press("Ctrl+Enter", true), true));
});

test("it scrolls while anything is left, in the direction that is asked for", () => {
  assert.ok(canScroll({ at: 0, seen: 100, whole: 300 }, 40));
  assert.ok(!canScroll({ at: 0, seen: 100, whole: 300 }, -40));
  assert.ok(canScroll({ at: 200, seen: 100, whole: 300 }, -40));
  assert.ok(!canScroll({ at: 199.5, seen: 100, whole: 300 }, 40), "sizes are rounded");
  assert.ok(!canScroll({ at: 50, seen: 100, whole: 300 }, 0));
  assert.ok(!canScroll({ at: 0, seen: 100, whole: 100 }, 40));
});
