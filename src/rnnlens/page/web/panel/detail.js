// The panel's account of one state.

import {
  columnName, groupName, semanticHelp, lastLayer, ordinal, percent, perplexity, probability, readHelp, usedWords, visible,
  wantedName, wordAfter,
} from "../base/format.js";
import { columnsAt, isGap, readingAt } from "../base/lines.js";
import { bdi, html, shape, toDom } from "../base/markup.js";
import { tail } from "../base/text.js";
import { changeOf } from "../grid/changed.js";
import { colourOf, drawLabel } from "../grid/bars.js";
import { textStyle } from "../grid/draw.js";
import { amountOn, drawAxis, numberWords } from "../grid/scale.js";

const ROOMY = 250; // a panel whose labels can be larger
const UNREAD = "No word was read into this state yet: it is what the network starts from. What a probe makes of it means "
  + "nothing, so nothing is drawn.";
const GAP = "No word here", GAPS = "The other text has a word in this line, and this one has none that stands beside it.";
const USED = "how much the model's own prediction moves along what the kind's probe reads, over the most that a push of equal size can do";
const PATH = 14; // the size of a path that stands for a symbol

/**
 * A symbol with its layer above and its timestep below, as in an equation; of a submodule's output, the end of its
 * path.
 * @param {Column} column @param {number} row @param {number} last @param {number} room @param {Measure} measure
 */
export function symbol(column, row, last, room, measure) {
  if (!column.letter) {
    const name = visible(column.name);
    return html("span", { class: "path", title: name }, tail(name, room, PATH, measure));
  }
  const inside = column.layer > 0 && column.layer < last;
  const raised = html("span", { class: "raised" }, inside ? String(column.layer) : "");
  const lowered = html("span", { class: "lowered" }, String(row - column.back + 1));
  return html("span", { class: "symbol" }, html("i", {}, visible(column.symbol)),
    html("span", { class: "indices" }, raised, lowered));
}

/**
 * A button that takes a pin away.
 * @param {Column} column @param {Pin} pin
 * @param {{onRemove: (pin: Pin) => void}} how
 */
export function remover(column, pin, how) {
  const name = `${visible(column.name)} of word ${pin.row + 1 - column.back}`;
  return html("button", { type: "button", class: "plain", "aria-label": `remove the pin of ${name}`,
    click: () => how.onRemove(pin) }, "×");
}

/**
 * The most probable labels with their probabilities.
 * @param {Held} grid @param {State} state @param {number} width @param {Measure} measure
 */
export function drawTop(grid, state, width, measure) {
  if (grid.scale) {
    const { shapes, height } = drawAxis(grid, grid.scale, state, width, measure);
    return shape("svg", { width, height, role: "img", "aria-label": numberWords(state, grid.scale), ...textStyle() }, ...shapes);
  }
  const size = width < ROOMY ? 12 : 13, pitch = Math.round(size * 1.42);
  const look = { width, size, pitch, values: true, measure };
  const rows = state.top.flatMap(([name, p], k) =>
    drawLabel(name, p, colourOf(grid, name), k * pitch, look, state.wanted?.[0] === name ? 700 : 400));
  const said = state.top.map(([name, p]) => `${visible(name)} ${percent(p)}`).join(", ");
  const height = state.top.length * pitch + 4;
  return shape("svg", { width, height, role: "img", "aria-label": said, ...textStyle() }, ...rows);
}

/** @param {string} term @param {(Node | string)[]} told */
function fact(term, ...told) {
  return [html("dt", {}, term), html("dd", {}, ...told)];
}

/** @param {Held} grid @param {Column[]} columns of its run @param {Column} column @param {State} state */
function facts(grid, columns, column, state) {
  const own = columns.find((one) => one.letter === "y");
  const list = html("dl", {});
  if (state.wanted) {
    const [name, p, rank] = state.wanted;
    list.append(...fact(wantedName(grid.semantic, column), bdi(visible(name))),
      ...fact("probability, rank", `${probability(p)}, ${ordinal(rank)}`));
  } else if (grid.follows && /^(in|out)put/.test(grid.semantic)) list.append(...fact(wantedName(grid.semantic, column), html("span", { class: "soft" }, "nothing yet")));
  const { scale } = grid;
  if (state.number && scale) {
    const [mean, low, high] = state.number.map((value) => amountOn(value, scale));
    list.append(...fact("mean", mean), ...fact("80% between", `${low} and ${high}`));
  }
  list.append(...fact("entropy", `${state.entropy.toFixed(1)} bits`), ...(state.number
    ? fact("median", `${visible(state.group)}; tells ${percent(state.share)}`)
    : fact(grid.several || grid.alone ? "likeliest" : "dominant group", `${groupName(state.group)}, ${percent(state.share)}`)));
  if (column.perplexity !== null) {
    // The model itself is asked about the next word: only there are the two comparable.
    const beside = grid.semantic === "output" && own && own !== column ? own.perplexity : null;
    const told = beside === null ? "" : ` (model ${perplexity(beside)})`;
    list.append(...fact("kind's perplexity", perplexity(column.perplexity) + told));
  }
  return list;
}

/**
 * Everything about the state in view.
 * @param {Held} grid @param {Place} place @param {number} width @param {Measure} measure
 * @returns {Node[]}
 */
export function drawDetail(grid, place, width, measure) {
  const index = grid.columns.findIndex((column) => column.id === place.column);
  const columns = columnsAt(grid, place.row), column = columns[index], state = grid.rows[place.row]?.[index];
  if (!column || !state) return [];
  const last = lastLayer(grid.columns);
  const name = columnName(column, last), changed = changeOf(grid, place.row, { column, index }).said;
  if (isGap(grid, place.row)) return [html("h2", {}, GAP), html("p", {}, GAPS)];
  const told = state.unread ? [html("p", {}, UNREAD)]
    : [toDom(drawTop(grid, state, width, measure)), facts(grid, columns, column, state),
      ...(column.used === null ? [] : [html("p", { class: "used", title: USED }, `Readable here, ${usedWords(column.used)}: ${column.used.toFixed(2)}`)])];
  return [
    html("h2", {}, symbol(column, readingAt(grid, place.row).row ?? 0, last, width, measure)),
    html("p", { class: "name" }, `${column.letter ? name[0].toUpperCase() + name.slice(1) : name}, after `,
      html("b", {}, bdi(wordAfter(grid, column, place.row)))),
    html("p", { class: "equation" }, visible(column.equation)),
    ...(changed ? [html("p", { class: "change" }, changed[0].toUpperCase() + changed.slice(1))] : []),
    ...told,
  ];
}

/** What the panel says before a state is pointed at. @param {Held | null} grid */
export function drawHint(grid) {
  const keys = [["arrows", "move"], ["Enter", "pins"], ["t", "goes to the largest turn"], ["e", "edits: what if it were another"], ["w", "who wrote it"], ["Escape", "clears"]];
  const asked = grid ? semanticHelp(grid.semantic, grid.follows, grid.numbers, grid.answer !== null) : semanticHelp("output");
  const plain = `${asked} The bars are its answer, the longer the more probable; the rectangle takes the colour of the `
    + "group that leads, and fades where groups are mixed.";
  const step = grid?.words[0]?.value != null ? "number" : "word";
  const read = `Each row is a ${step} the network reads, each column a part of the network. `
    + (grid && (grid.scale || grid.several || grid.alone) ? readHelp(grid) : plain);
  const list = html("dl", { class: "keys" });
  for (const [key, does] of keys) list.append(html("dt", {}, html("kbd", {}, key)), html("dd", {}, does));
  const look = "Point at a state to see what feeds it and what it feeds. Click to pin it, and compare it with others. "
    + "Click a label to follow it through every state. Write {is|are} into the text to hold two side by side.";
  const bare = "This run has no probes, so only the model's own prediction is drawn. To see every state: ";
  const only = grid && !grid.semantics.length ? [html("p", {}, bare, html("code", {}, "rnnlens fit"))] : [];
  return [html("h2", {}, "How to read it"), html("p", {}, read), html("p", {}, look), ...only, list];
}
