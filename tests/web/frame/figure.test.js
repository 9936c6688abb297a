import assert from "node:assert/strict";
import { test } from "node:test";

import { commandOf } from "../../../src/rnnlens/page/web/frame/figure.js";

const grid = /** @type {any} */ ({ run: "news", semantic: "output", semantics: ["output", "input"], palette: "coarse",
  palettes: ["coarse"], columns: [{ id: "x", shown: true }, { id: "f1", shown: false }, { id: "h1", shown: true }] });
const asked = { text: "it 's here", kinds: ["x", "h1"], rows: "", bars: 3, key: true, semantic: "output", palette: "coarse" };

test("what is usual is not said", () => {
  assert.equal(commandOf(grid, asked), "rnnlens show news 'it '\\''s here' -o figure.pdf");
});

test("everything that is chosen is", () => {
  const command = commandOf({ ...grid, semantic: "input" }, { ...asked, text: "here", semantic: "input", rows: "7-8", kinds: ["layer1"],
    bars: 2, density: "compact", symbols: true, width: 3.3, labels: ["are", "were"], against: ["is"], pins: ["h1:7"], key: false, beside: "gru" });
  assert.equal(command, "rnnlens show news here --beside gru --semantic input --rows 7-8 --kinds layer1 --bars 2 --density compact "
    + "--follow are,were --against is --width 3.3 --pins h1:7 --symbols --no-key -o figure.pdf");
});

test("so is what the cells of memories show", () => {
  assert.match(commandOf(grid, { ...asked, memories: "half_life" }), / --memories half_life -o /);
  assert.match(commandOf(grid, { ...asked, asked: "a b" }), / --asked 'a b' -o /);
});
