// A model, its probes and its colours: data and look-ups, no text in them, as rnnlens/reading/subject.py has them.

import { TEXTS } from "../base/rules.js";
import { repr } from "./python.js";
import { Comparison } from "./difference.js";
import { Network } from "./network.js";
import { Palette } from "./palette.js";
import { Probes } from "./probes.js";
import { RecordedStates, RecordedText } from "./recorded.js";
import { refusal } from "./refusals.js";
import { Rows } from "./rows.js";
import { Session } from "./session.js";
import { Text } from "./text.js";

export class Subject {
  /** @param {Manifest} manifest @param {Machine} machine */
  constructor(manifest, machine) {
    this.manifest = manifest;
    this.machine = machine;
    this.name = manifest.name;
    this.title = manifest.title;
    this.kinds = manifest.kinds;
    this.semantics = manifest.run.semantics;
    const { recorded } = manifest.text;
    this.text = recorded ? new RecordedText(manifest.text, recorded) : new Text(manifest.text);
    this.network = /** @type {Network} */ (recorded ? new RecordedStates(manifest.network, machine)
      : new Network(manifest.network, manifest.kinds, this.text, machine)); // whatever asks more of it is refused before
    this.probes = manifest.probes && new Probes(manifest.probes, machine);
    this.session = new Session(this.network, manifest.kinds);
    /** @type {Record<string, Record<string, Palette>>} */
    this.palettes = mapped(manifest.palettes, (some) => withPapersRule(mapped(some, (one) => new Palette(one, machine))));
    this.rows = new Rows(this.session, this.probes, manifest.semantics, this.palettes,
      (semantic) => this.answers(semantic), manifest.predicts, machine);
    const counts = Object.keys(manifest.semantics).map((one) => this.answers(one)).map(({ names, several }) => names.length * (several ? 2 : 1));
    this.comparison = new Comparison(Math.max(...counts), machine);
  }

  /** What the states are asked for under a semantic. @param {string} semantic */
  answers(semantic) {
    return this.manifest.answers[this.manifest.semantics[semantic].palettes] ?? this.text.labels;
  }

  /** @param {string} semantic */
  palettesFor(semantic) {
    return this.palettes[this.manifest.semantics[semantic].palettes];
  }

  /** The columns of a grid. @param {string} semantic */
  columnsFor(semantic) {
    return this.manifest.semantics[semantic].columns;
  }

  /** How many words after the one just read the label stands. @param {string} semantic */
  offset(semantic) {
    return this.manifest.semantics[semantic].offset;
  }

  /** The semantic that is asked for, or the first. @param {string | null} semantic */
  checkedSemantic(semantic) {
    const chosen = semantic || this.semantics[0] || "output";
    if (Object.hasOwn(this.manifest.semantics, chosen)) return chosen;
    throw refusal("no_semantic", { run: this.name, semantic: repr(chosen), known: this.semantics.join(", ") || "none" });
  }

  /** The palette that is asked for; colours of another semantic are none here. @param {string | null} palette @param {string} semantic */
  checkedPalette(palette, semantic) {
    const palettes = this.palettesFor(semantic), names = Object.keys(palettes);
    if (palette && !Object.values(this.palettes).some((some) => Object.hasOwn(some, palette))) {
      throw refusal("no_palette", { run: this.name, palette: repr(palette), known: names.join(", ") });
    }
    return palette && Object.hasOwn(palettes, palette) ? palette : names[0];
  }
}

/** Palettes, and behind them those that fade by the paper's rule, where they do not already. @param {Record<string, Palette>} palettes */
function withPapersRule(palettes) {
  const others = Object.entries(palettes).filter(([, palette]) => palette.base);
  return { ...palettes, ...Object.fromEntries(others.map(([name, palette]) => [name + TEXTS.paper_rule, palette.byPapersRule()])) };
}

/** @template A, B @param {Record<string, A>} values @param {(value: A) => B} by @returns {Record<string, B>} */
function mapped(values, by) {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, by(value)]));
}
