// What a published file says of its lens: written by rnnlens/page/publish/pack.py.

import type { Accuracy, Column, RunSummary } from "../base/schema.d.ts";
import type { Answers, TextJson } from "./text.js";

/** A tensor by its number. */
export type Numbered = number;

export interface Layout {
  sort: "int8" | "fp16" | "fp32" | "uint8" | "uint32";
  shape: number[];
  at: number; // bytes into the blob
  unit?: number; // what half precision numbers are multiplied with
  scales?: number; // bytes into the blob, of those that whole numbers are multiplied with
  block?: number; // numbers of a row that have a scale together
}

export interface Kind {
  id: string;
  name: string;
  symbol: string;
  equation: string;
  sources: { kind: string; back: number }[];
  layer: number;
  letter: string;
  part: string;
  reverse: boolean;
  range: [number | null, number | null]; // the least and the largest that its numbers can be
  gate: boolean; // whether views leave it out unless asked for
  output: boolean; // whether it is what its layer gives to those above
  memory: Memory | null; // how it is carried, by ids
}

/** An additive memory: memory = decay * memory before + write; kept is the first term. */
export interface Memory {
  decay: string;
  write: string;
  kept: string;
  erased: string; // what is taken out of it where it is written anew; empty: nothing is
}

export interface LayerJson {
  cell: string; // one of CELLS or of RECURRENCES
  sizes?: Record<string, number[]>; // of kinds of a linear memory, the shape of a state
  ids: Record<string, string>; // its kinds by letter
  carried: string[]; // the letters that the next timestep needs
  output: string; // the letter of what it gives to those above
  read: string; // the letter of what is read of its memory, where its output is made of that; empty: it is the output
  memories: Record<string, Memory>; // its additive memories by letter
  below: string[]; // the kinds that are its input, side by side
  reverse: boolean;
  weights: { w_x: Numbered; w_h: Numbered; w_p?: Numbered; b_x?: Numbered; b_h?: Numbered } & Record<string, Numbered>;
}

export interface NetworkJson {
  embedding: Numbered | null; // null: the numbers of a timestep are read as they are
  layers: LayerJson[];
  tops: string[]; // the kinds that the prediction is made of, side by side
  maps: { weight: Numbered; bias: Numbered | null }[]; // from these to the prediction, one by one
  whole: boolean; // whether the prediction is one for a whole text
  recorded?: { kinds: Record<string, Numbered>; own: Numbered | null }; // states that are looked up: nothing is computed
  causal: boolean; // whether Python knows that a state depends on nothing after it
}

export interface QuestionsJson {
  heads: number;
  keys: number;
  values: number;
  keys_last: boolean; // whether the memory lies as values by keys
  weight: Numbered; // a row for each key of each head, a column for each question
}

export interface ProbeJson {
  mean: Numbered;
  scale: Numbered;
  map: Numbered;
  bias: Numbered;
  label_bias: Numbered | null; // what comes to that for this kind
  questions?: QuestionsJson; // to a memory that is a matrix, whose answers are what is read
}

export interface StackJson {
  labels: Numbered | null; // of shared probes
  common: Numbered | null; // what all kinds have in common for each label
  kinds: ProbeJson[];
  limits: [low: number, high: number][] | null; // of each kind, the sizes of states like those of the fit
  widths?: number[][] | null; // of each kind, and of y, what intervals of numbers are widened by; older files have none
}

export interface ProbesJson {
  family: "linear" | "shared";
  kinds: string[];
  stacks: Record<string, StackJson>;
  spreads: Record<string, { deviation: Numbered; packed: Numbered } | null>; // null: too large for a file
}

export interface SemanticJson {
  of_model: boolean; // whether it asks for labels of the model itself
  asks: string; // the targets that it is about
  shift: number; // words after its own that the label stands
  offset: number; // words after the one just read that the label stands
  palettes: string; // their key
  columns: Column[];
  edges: [string, string][];
}

export interface PaletteJson {
  groups: string[];
  colours: string[];
  group_of: Numbered;
  base: { frequent: number[]; bits: number } | null;
}

export interface Manifest {
  format: "rnnlens-lens";
  version: number;
  precision: "int8" | "fp16";
  name: string;
  title: string;
  run: RunSummary;
  accuracy: Accuracy | null;
  text: TextJson;
  answer: "last" | "mean" | null;
  predicts: boolean;
  kinds: Kind[];
  network: NetworkJson;
  probes: ProbesJson | null;
  semantics: Record<string, SemanticJson>;
  palettes: Record<string, Record<string, PaletteJson>>;
  answers: Record<string, Answers>;
  tensors: Layout[];
}
