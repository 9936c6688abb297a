// Drawing a grid. Python decides every number and colour; here it is only drawn.

/**
 * @typedef {{label: string, probability: number, colour: string}} Bar
 * @typedef {{probability: number, rank: number}} Next
 * @typedef {{rectangle: string, group: string, share: number, entropy: number, bars: Bar[],
 *   next?: Next}} State
 * @typedef {{text: string, label: string, unknown: boolean, group: string, colour: string}} Word
 * @typedef {{title: string, example: string, groups: Record<string, string>, words: Word[],
 *   states: Record<string, State[]>}} Grid
 */

const SVG = "http://www.w3.org/2000/svg";
const ROW = 17, BAR = 13, WIDTH = 360, LONGEST = 220;

/**
 * An SVG element with attributes and children. Text never becomes markup.
 * @param {string} name
 * @param {Record<string, string | number>} attributes
 * @param {(Node | string)[]} children
 */
export function svg(name, attributes, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  made.append(...children);
  return made;
}

/**
 * A cell of the table.
 * @param {string} kind
 * @param {(Node | string)[]} children
 */
function cell(kind, ...children) {
  const made = document.createElement("td");
  made.className = kind;
  made.append(...children);
  return made;
}

/** @param {number} p */
export function percent(p) {
  return p >= 0.0995 ? `${Math.round(p * 100)}%` : p >= 0.001 ? `${(p * 100).toFixed(1)}%` : "<0.1%";
}

/** @param {State} state */
export function describe(state) {
  const bars = state.bars.map((bar) => `${bar.label} ${percent(bar.probability)}`).join(", ");
  return `${state.group.toLowerCase()} ${percent(state.share)}: ${bars}`;
}

/** @param {State} state */
function bars(state) {
  const drawn = state.bars.flatMap((bar, k) => {
    const length = Math.max(2, bar.probability * LONGEST);
    return [
      svg("rect", { x: 0, y: k * ROW, width: length, height: BAR, rx: 3, fill: bar.colour, opacity: 0.75 }),
      svg("text", { x: length + 7, y: k * ROW + 11 }, bar.label,
        svg("tspan", { class: "value", dx: 7 }, percent(bar.probability))),
    ];
  });
  const height = state.bars.length * ROW;
  return svg("svg", { width: WIDTH, height, role: "img", "aria-label": describe(state) }, ...drawn);
}

/** @param {State} state @param {Word | undefined} came */
function next(state, came) {
  if (!state.next || !came) return cell("next");
  const word = document.createElement("b");
  word.textContent = came.text;
  return cell("next", word, ` ${percent(state.next.probability)}, rank ${state.next.rank}`);
}

/** @param {Word} word */
function shown(word) {
  const underline = svg("svg", {}, svg("rect", { width: "100%", height: 3, fill: word.colour }));
  const made = cell("word", word.text, underline);
  if (word.unknown) {
    const note = document.createElement("small");
    note.textContent = "unknown word";
    made.append(note);
  }
  return made;
}

/**
 * One row for each word.
 * @param {Grid} grid
 */
export function rows(grid) {
  return grid.words.map((word, t) => {
    const state = grid.states.y[t];
    const height = state.bars.length * ROW - 4;
    const rectangle = svg("svg", { width: 24, height },
      svg("rect", { width: 24, height, rx: 4, fill: state.rectangle, stroke: "#8884" }));
    const row = document.createElement("tr");
    row.append(cell("number", String(t + 1)), shown(word), cell("rectangle", rectangle),
      cell("bars", bars(state)), next(state, grid.words[t + 1]));
    return row;
  });
}

/**
 * What the colours mean.
 * @param {Grid} grid
 */
export function legend(grid) {
  return Object.entries(grid.groups).map(([group, colour]) => {
    const item = document.createElement("li");
    item.append(svg("svg", {}, svg("rect", { width: 13, height: 13, rx: 3, fill: colour })), group.toLowerCase());
    return item;
  });
}
