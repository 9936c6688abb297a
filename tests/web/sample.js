// A small grid by hand: an LSTM layer with its gates, three words.

const GATES = ["f1", "i1", "o1", "g1"];
const SOURCES = {
  ...Object.fromEntries(GATES.map((gate) => [gate, [["x", 0], ["h1", 1]]])),
  l1: [["f1", 0], ["c1", 1]], s1: [["i1", 0], ["g1", 0]], c1: [["l1", 0], ["s1", 0]],
  h1: [["o1", 0], ["c1", 0]], y: [["h1", 0]],
};
const PREVIOUS = { id: "c1@-1", kind: "c1", back: 1, name: "previous cell" };

export function column(id, more = {}) {
  const letter = id[0];
  return { id, kind: id, letter, part: "", reverse: false, back: 0, layer: { x: 0, y: 2 }[id] ?? 1, name: `kind ${letter}`,
    symbol: letter, equation: `${letter} = …`, sources: SOURCES[more.kind ?? id] ?? [], shown: !GATES.includes(id),
    perplexity: 10, ...more };
}

const COLUMNS = ["x", ...GATES].map((id) => column(id))
  .concat(column("c1", PREVIOUS), ["l1", "s1", "c1", "h1", "y"].map((id) => column(id)));
export const IDS = COLUMNS.map(({ id }) => id);

export function state(top, more = {}) {
  return { colour: "#c9b1e0", group: "VERB", share: 0.78, rival: null, entropy: 4.1, top, wanted: null, unread: false, outside: null, number: null, ...more };
}

export function grid(text = "we said so") {
  const words = text.split(" ").filter(Boolean);
  const columns = COLUMNS.map((one) => ({ ...one }));
  return {
    format: "rnnlens-grid", version: 1, run: "tiny", title: "tiny · LSTM 4 × 1", text, follows: true, numbers: false, scale: null, several: false, alone: false,
    answer: null,
    semantic: "output", semantics: ["output", "input"], palette: "coarse", palettes: ["coarse"],
    groups: { NOUN: "#009e73", VERB: "#cc79a7", OTHER: "#f0e442" }, columns, edges: [],
    words: words.map((word) => ({ text: word, label: word, unknown: false, group: "NOUN", value: null, picture: [], piece: /** @type {const} */ ("") })),
    left_out: 0, labels: { said: "VERB", we: "NOUN", so: "OTHER" }, placeholders: {}, from: 0,
    edits: [], dropped: [], changes: [], then: [], sides: [], lines: [], notes: [], pairs: [],
    rows: words.map((_, row) => columns.map((_, k) => state([["said", 0.5], ["we", 0.25], ["so", (row * 11 + k) / 1000]]))),
  };
}

/** Two texts side by side: "we {said|ran} so {|now}", which differ from the second word on. */
export function pair() {
  const lines = [["first", 0, ["said", "ran"]], ["second", 0, ["said", "ran"]], ["first", 1], ["second", 1], ["first", 2], ["second", 2], ["first", null], ["second", 3]]
    .map(([side, row, then = null]) => ({ side, row, then }));
  lines.splice(0, 0, { side: "both", row: 0, then: null }); // "oh", which both begin with
  for (const line of lines.slice(1)) if (line.row !== null) line.row += 1;
  const texts = ["oh we said so", "oh we ran so now"], sides = texts.map((text) => ({ run: "tiny", title: "tiny · LSTM 4 × 1", text, columns: [] }));
  const single = grid("oh we we said ran so so now");
  const words = lines.map(({ side, row }) => (row === null ? "" : texts[side === "second" ? 1 : 0].split(" ")[row]));
  const gap = state([], { unread: true }), { columns } = single;
  return { ...single, text: "oh we {said|ran} so {|now}", sides, lines,
    words: words.map((text) => ({ text, label: text, unknown: false, group: "NOUN" })),
    rows: lines.map(({ row }, k) => columns.map(() => (row === null ? gap : state([["said", 0.5], ["we", k / 100]])))),
    then: lines.map(({ then }) => (then ? columns.map(({ back }) => (back ? null : [0.25, null])) : [])),
    changes: lines.map(({ side }, k) => (side === "second" && k < 8 ? columns.map(() => ({ bits: k / 10, before: ["said", 0.5], now: 0.25 })) : [])) };
}

/** A source of three words, which x and c1 read, and a target of two, which the network has written. */
export function sourceAndTarget() {
  const given = grid("ka ku ki a u"), columns = ["x", "c1"];
  const rows = given.rows.map((states, row) => states.map((one, k) => (columns.includes(IDS[k]) === row < 3 && !given.columns[k].back ? one : null)));
  const links = [[[2, 0.9], [1, 0.1], [0, 0]], [[0, 0.7], [2, 0.2], [1, 0.1]]];
  return { ...given, text: "ka ku ki", rows, pairs: [{ source: 3, columns, generated: true, attention: "scores", links }],
    columns: given.columns.map((one) => ({ ...one, shown: one.shown && !one.back })) };
}
