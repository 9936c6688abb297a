// A small grid by hand: an LSTM layer with its gates, three words.

const GATES = ["f1", "i1", "o1", "g1"];
export const IDS = ["x", ...GATES, "c1@-1", "l1", "s1", "c1", "h1", "y"];
export const EDGES = [
  ...GATES.flatMap((gate) => [["x", gate], ["h1@-1", gate]]),
  ["f1", "l1"], ["c1@-1", "l1"], ["i1", "s1"], ["g1", "s1"], ["l1", "c1"], ["s1", "c1"],
  ["o1", "h1"], ["c1", "h1"], ["h1", "y"],
];

function column(id) {
  const back = id.endsWith("@-1") ? 1 : 0, kind = id.replace("@-1", "");
  return { id, kind, back, layer: { x: 0, y: 2 }[id] ?? 1, name: back ? "previous cell" : `kind ${kind[0]}`, symbol: kind[0],
    equation: `${kind[0]} = …`, shown: !GATES.includes(id), perplexity: 10 };
}

export function state(top, more = {}) {
  return { colour: "#c9b1e0", group: "VERB", share: 0.78, entropy: 4.1, top, wanted: null, ...more };
}

export function grid(text = "we said so") {
  const words = text.split(" ").filter(Boolean);
  const columns = IDS.map(column);
  return {
    format: "rnnlens-grid", version: 1, run: "tiny", title: "tiny · LSTM 4 × 1", text,
    semantic: "output", semantics: ["output", "input"], palette: "coarse", palettes: ["coarse"],
    groups: { NOUN: "#009e73", VERB: "#cc79a7", OTHER: "#f0e442" }, columns, edges: EDGES,
    words: words.map((word) => ({ text: word, label: word, unknown: false, group: "NOUN" })),
    labels: { said: "VERB", we: "NOUN", so: "OTHER" }, from: 0,
    rows: words.map((_, row) => columns.map((_, k) => state([["said", 0.5], ["we", 0.25], ["so", (row * 11 + k) / 1000]]))),
  };
}
