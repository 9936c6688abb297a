// What the server is asked and answers, and what a saved page and a notebook's view begin with.
// Written by `python scripts/page_types.py` from the questions and answers in ask/ and search/, and
// page/saved_page.py: change those, not this.

/** -1e+300 to 1e+300 */
export type Amount = number;

/** at least 0 */
export type Bits = number;

/** like ^#[0-9a-f]{6}$ */
export type Colour = string;

/** -1.001 to 1.001 */
export type Correlation = number;

/** at least 0 */
export type Count = number;

/** 0 to 1 */
export type DivergenceBits = number;

/** -3.5e+38 to 3.5e+38 */
export type FollowedNumber = number;

/** -3.5e+38 to 3.5e+38 */
export type Logits = number;

/** -3.5e+38 to 3.5e+38 */
export type Nats = number;

/** more than 0 */
export type Perplexity = number;

/** 0 to 1 */
export type Probability = number;

/** 1: the most probable; at least 1 */
export type Rank = number;

/** more than 0 */
export type Ratio = number;

/** 0: none, 1: all; -3.5e+38 to 3.5e+38 */
export type Share = number;

/** at least 0 */
export type Size = number;

/** -2,000 to 2,000 */
export type Steps = number;

/** The evaluation of a run. */
export interface Accuracy {
  run: string;
  title: string;
  follows: boolean;
  /** what the rounding of weights costs a published file; null: it is none */
  rounding: string | null;
  /** whether the model predicts numbers */
  numbers: boolean;
  /** the model's; null: it predicts nothing of this */
  own: Perplexity | null;
  unigram: Perplexity | null;
  /** by semantic */
  unigrams: Record<string, Perplexity>;
  semantics: Record<string, Score[]>;
  /** of answers that are labels; else null */
  accuracy: Probability | null;
  macro_f1: Probability | null;
  confusion: Confusion | null;
  /** of the test split; 0: not said */
  sentences: Count;
  /** of the model's own numbers, by 95% */
  intervals: Record<string, Ends>;
  /** without the sentences that occur in training */
  unseen: Unseen | null;
  /** the checkpoints of its training that were kept, in order; else none */
  training: TrainingPoint[];
}

/** A measure of a probe, of the model itself, and of the labels' frequencies in training. */
export interface Against {
  probe: Amount;
  /** null: the model predicts another label */
  model: Amount | null;
  constant: Amount;
}

/** States that are about as confident. */
export interface Bin {
  /** the least of the bin */
  start: Probability;
  /** on average */
  confidence: Probability;
  accuracy: Probability;
  /** of the accuracy, by 95% */
  low: Probability | null;
  high: Probability | null;
  states: Count;
}

/** What edits have changed in a state. */
export interface Change {
  /** between what it says and what it said before */
  bits: DivergenceBits;
  /** the most probable label before */
  before: [string, Probability];
  /** the probability of that label now */
  now: Probability;
}

/** A kind as it is drawn. */
export interface Column {
  id: string;
  /** its id */
  kind: string;
  /** such as l; empty: a submodule's output, called by its path */
  letter: string;
  /** of the module, where it has several that are recurrent */
  part: string;
  /** whether its layer reads backwards */
  reverse: boolean;
  /** timesteps before that of its row */
  back: Count;
  /** 0: before the first; that of the prediction is the last */
  layer: Count;
  name: string;
  symbol: string;
  equation: string;
  /** the kinds it is computed from, so many timesteps back */
  sources: [string, Steps][];
  /** whether it is, unless somebody chooses */
  shown: boolean;
  /** whether its probe tells no more than how frequent labels are */
  silent: boolean;
  /** null: not measured */
  perplexity: Perplexity | null;
  /** of its perplexity; null: not told */
  interval: Ends | null;
  /** how much of what its probe reads the model uses; null: not measured */
  used: Share | null;
  /** of what is used; null: not told */
  used_interval: Ends | null;
  /** what is used, in a word that the interval supports; else empty */
  called: string;
  /** where its probabilities are off by more than ten points, and surely */
  off: Off[];
}

/** How often each true label (rows) got each answer (columns). */
export interface Confusion {
  labels: string[];
  counts: Count[][];
}

/** A text that the model is to go on with by itself. */
export interface ContinueQuestion {
  /** null: the first; at most 200 characters */
  run?: string | null;
  /** null: the run's first; at most 200 characters */
  semantic?: string | null;
  /** null: the run's first; at most 200 characters */
  palette?: string | null;
  /** what is changed on the way, such as l2@4=0; l2@2:4=0 in the second text alone; at most 64 */
  edits?: string[];
  /** whether edits that cannot be made are left out */
  lenient?: boolean;
  /** another run that reads the text, too; at most 200 characters */
  beside?: string | null;
  /** how many to go on with; 1 to 200 */
  words?: number;
  /** how many to draw beside the likeliest words; 0 to 20 */
  samples?: number;
  /** what is drawn: the same samples for the same seed; 0 to 4.2949673e+09 */
  seed?: number;
  /** at most 20,000 characters */
  text: string;
}

/** How the model goes on after a text, each word read before the next is asked for. */
export interface Continued {
  /** the likeliest words, without the edits */
  before: string[];
  /** and with them */
  after: string[];
  /** drawn, with the edits */
  samples: string[][];
  /** and without them */
  samples_before: string[][];
  /** the label of unknown words, which is left out; null: none is */
  left_out: string | null;
}

/** What a probe in closed form says of true labels, and of random ones of word types. */
export interface Control {
  accuracy: Probability;
  control: Probability;
  /** the first less the second */
  selectivity: Amount;
  /** of the selectivity, by 95% */
  low: Amount | null;
  high: Amount | null;
  states: Count;
  sentences: Count;
  types: Count;
}

/** What is known of a corpus. */
export interface Corpus {
  run: string;
  /** the name of its file or folder */
  source: string;
  splits: string[];
  /** that its states were asked for */
  semantic: string;
  /** 0 to 4.61168602e+18 */
  words: number;
  /** 0 to 4.61168602e+18 */
  sentences: number;
  /** of which strips and pictures are made */
  kinds: string[];
  /** and their colours */
  groups: Record<string, string>;
  /** what colours fade by, as when the index was made */
  rule: "excess" | "paper";
  examples: Example[];
  /** of questions */
  grammar: string;
  /** the kinds whose states are on a map */
  maps: string[];
  /** whether its words have parts of speech */
  tagged: boolean;
  /** whether it tells which label came */
  follows: boolean;
  /** kinds that `differs from` compares */
  pairs: [string, string][];
}

/** What is known of a run's corpus. */
export interface CorpusQuestion {
  /** null: the first; at most 200 characters */
  run?: string | null;
}

/** How many of the words with some properties a question is about. */
export interface CountLine {
  keys: (string | null)[];
  /** 0 to 4.61168602e+18 */
  count: number;
  /** with these properties; 0 to 4.61168602e+18 */
  words: number;
  /** 0 to 1 */
  share: number;
  /** its 95% interval by resampling sentences; null: these are too few; 0 to 1 */
  low: number | null;
  /** 0 to 1 */
  high: number | null;
  /** which leads to its words; empty: there is none */
  question: string;
}

/** The answer to a question that counts. */
export interface Counts {
  /** of what is counted by */
  names: string[];
  lines: CountLine[];
}

/** Words by the entropy of the prediction, across, and the surprisal of what came, up. */
export interface Density {
  /** of a square, in bits; more than 0 */
  width: number;
  /** 0 to 4.61168602e+18 */
  columns: number;
  /** the last may hold whatever is above; 0 to 4.61168602e+18 */
  rows: number;
  cells: DensityCell[];
}

/** A square of a density. */
export interface DensityCell {
  /** 0 to 4.61168602e+18 */
  x: number;
  /** 0 to 4.61168602e+18 */
  y: number;
  /** 0 to 4.61168602e+18 */
  words: number;
  /** which leads to its words; empty: there is none */
  question: string;
}

/** How many bits a label costs that is told with the help of states. */
export interface Description {
  bits: Bits;
  low: Bits | null;
  high: Bits | null;
  /** by the frequencies alone */
  unigram: Bits;
  /** where all labels are as probable */
  uniform: Bits;
  compression: Ratio;
  states: Count;
  sentences: Count;
}

/** States to compare, two by two; a state that names no text or semantic has the question's. */
export interface DivergenceQuestion {
  /** null: the first; at most 200 characters */
  run?: string | null;
  /** null: the run's first; at most 200 characters */
  semantic?: string | null;
  /** at most 64 */
  pairs: Pair[];
  /** at most 20,000 characters */
  text?: string;
}

/** Jensen-Shannon divergence of each pair. */
export interface Divergences {
  bits: DivergenceBits[];
}

/** Between which numbers the true one lies, by 95%, if sentences are resampled. */
export interface Ends {
  low: Amount;
  high: Amount;
}

/** A question to begin with. */
export interface Example {
  question: string;
  means: string;
}

/** A figure, and how large it is in print. */
export interface Figure {
  ending: "svg" | "pdf" | "png";
  /** inches; more than 0 */
  width: number;
  /** inches; more than 0 */
  height: number;
  /** of the smallest text, in points; more than 0 */
  type: number;
  /** the file: an SVG as it is, others in base64 */
  data: string;
}

/** A part of a text's grid to be drawn for print; names and numbers as `rnnlens show` takes
them. */
export interface FigureQuestion {
  /** null: the first; at most 200 characters */
  run?: string | null;
  /** null: the run's first; at most 200 characters */
  semantic?: string | null;
  /** null: the run's first; at most 200 characters */
  palette?: string | null;
  /** what is changed on the way, such as l2@4=0; l2@2:4=0 in the second text alone; at most 64 */
  edits?: string[];
  /** whether edits that cannot be made are left out */
  lenient?: boolean;
  /** another run that reads the text, too; at most 200 characters */
  beside?: string | null;
  /** such as 7-8 or 1,4-; empty: all; at most 2,000 characters */
  rows?: string;
  /** columns or layers; null: the usual; at most 2,000 */
  kinds?: string[] | null;
  /** 1 to 20 */
  bars?: number;
  /** head columns with symbols only */
  symbols?: boolean;
  /** of the attention's heads, which is told; 0: their mean; 0 to 1,000,000 */
  head?: number;
  /** inches; null: as it comes; 1 to 100 */
  width?: number | null;
  /** to follow; at most 64 */
  labels?: string[];
  /** at most 64 */
  against?: string[];
  /** such as l2:8; at most 2,000 */
  pins?: string[];
  /** what cells of memories that are matrices show; null: what the probe says */
  memories?: "norm" | "rank" | "half_life" | null;
  /** or what they would answer if this word came next; at most 200 characters */
  asked?: string | null;
  /** whether colours and marks are explained below */
  key?: boolean;
  /** at most 20,000 characters */
  text: string;
  density?: "bars" | "compact";
  ending?: "svg" | "pdf" | "png";
}

/** The words whose states say what is asked for, or how many they are. */
export interface FindQuestion {
  /** null: the first; at most 200 characters */
  run?: string | null;
  /** answers before this one are at hand; 0 to 1,000,000 */
  first?: number;
  /** answers at most; 1 to 200 */
  limit?: number;
  /** at most 10,000 characters */
  question: string;
}

/** Labels to follow, and those they stand against. */
export interface Follow {
  labels: string[];
  against: string[];
}

/** Labels to follow through some rows of a text's grid, and those that stand against them. */
export interface FollowQuestion {
  /** null: the first; at most 200 characters */
  run?: string | null;
  /** null: the run's first; at most 200 characters */
  semantic?: string | null;
  /** null: the run's first; at most 200 characters */
  palette?: string | null;
  /** what is changed on the way, such as l2@4=0; l2@2:4=0 in the second text alone; at most 64 */
  edits?: string[];
  /** whether edits that cannot be made are left out */
  lenient?: boolean;
  /** another run that reads the text, too; at most 200 characters */
  beside?: string | null;
  /** row to begin with; 0 to 1,000,000 */
  first?: number;
  /** rows to answer with at most; null: all; 1 to 200 */
  limit?: number | null;
  /** whose states are wanted, as a grid's question has them; null: all; at most 5,000 */
  columns?: string[] | null;
  /** at most 64 */
  labels: string[];
  /** at most 64 */
  against?: string[];
  /** at most 20,000 characters */
  text: string;
}

/** Labels that are followed through a grid: a number for every state. */
export interface Followed {
  /** a number for each column; null: of a state that was not wanted */
  rows: ((FollowedNumber | null)[])[];
  labels: string[];
  against: string[];
  /** rows[0] is this row of the grid */
  from: Count;
}

/** Some answers to a question. */
export interface FoundSlice {
  question: string;
  /** that it is asked of: all, or those that something follows where it is about that; 0 to 4.61168602e+18 */
  words: number;
  /** words that it is about; 0 to 4.61168602e+18 */
  total: number;
  /** the 95% interval of their share by resampling sentences; null: these are too few; 0 to 1 */
  low: number | null;
  /** 0 to 1 */
  high: number | null;
  /** whether there are further answers */
  more: boolean;
  /** that it names */
  kinds: string[];
  /** of these, whose dominant group it asks about */
  groups: string[];
  hits: Hit[];
  /** of a question that counts, which has no hits */
  counts: Counts | null;
  /** null: it is a question */
  wrong: Wrong | null;
}

/** The encodings of a text: all of its words and columns, and the rows that were asked for. */
export interface Grid {
  /** rows[0] is this row of the grid */
  from: Count;
  format: "rnnlens-grid";
  version: 1;
  run: string;
  title: string;
  text: string;
  /** whether labels are the words that follow */
  follows: boolean;
  /** where a whole text has one label, how the model's answer follows from y: what it says last, or the mean; null: labels are of words */
  answer: "last" | "mean" | null;
  semantic: string;
  semantics: string[];
  palette: string;
  palettes: string[];
  /** colours fade by what exceeds the groups' base rates, or by the paper's rule */
  rule: "excess" | "paper";
  groups: Record<string, Colour>;
  columns: Column[];
  /** which columns feed which; K@-1 without a column is K one row up, K@+1 down */
  edges: [string, string][];
  /** whether the model itself predicts numbers */
  numbers: boolean;
  /** of the labels, where they are bins of numbers */
  scale: Scale | null;
  /** whether each label holds or not by itself */
  several: boolean;
  /** whether every label is a group of its own */
  alone: boolean;
  /** whether there is a network, which reads other texts, and with edits */
  reads: boolean;
  words: Word[];
  /** words of the text beyond the most that are drawn */
  left_out: Count;
  /** the group of every label that a state names */
  labels: Record<string, string>;
  /** labels that stand for many words, such as UNK, and what these are */
  placeholders: Record<string, string>;
  /** a state for each column; null: it was not wanted */
  rows: ((State | null)[])[];
  /** what was changed while it was read, such as l2@4=0 */
  edits: string[];
  /** why edits that were asked for are left out */
  dropped: string[];
  /** where there are edits, what they change in each state of the rows; of two readings, how far each state of the second's lines lies from the first's; null where there is no state, or none that was wanted; else none */
  changes: ((Change | null)[])[];
  /** of two readings, in rows where texts part: how probable each state finds the next word of the first and of the second; null: there is none or it is unknown, or the state is not asked about the next word */
  then: (([Probability | null, Probability | null] | null)[])[];
  /** the two readings that are compared; else none */
  sides: Side[];
  /** what each of the words is, where two are compared */
  lines: Line[];
  /** what of the two is not compared */
  notes: string[];
  /** of each reading that is shown, where its text is a source and a target; else none */
  pairs: SourceAndTarget[];
}

/** A text, and the rows of its grid that whoever asks already has.

The answer's rows begin at the first that is missing there or differs, and are `limit` at most.
Where there is a limit, words beyond the most that are read are left out; without one they are
refused. States of columns that are not among `columns` are null, and are not computed; of a
pair, source and target, all are. `columns` are names as `rnnlens show --kinds` takes them; one
that the run does not have names none. */
export interface GridQuestion {
  /** null: the first; at most 200 characters */
  run?: string | null;
  /** null: the run's first; at most 200 characters */
  semantic?: string | null;
  /** null: the run's first; at most 200 characters */
  palette?: string | null;
  /** what is changed on the way, such as l2@4=0; l2@2:4=0 in the second text alone; at most 64 */
  edits?: string[];
  /** whether edits that cannot be made are left out */
  lenient?: boolean;
  /** another run that reads the text, too; at most 200 characters */
  beside?: string | null;
  /** the text whose grid's first rows are at hand; at most 20,000 characters */
  previous?: string;
  /** how many of them; 0 to 1,000,000 */
  have?: number;
  /** rows to answer with at most; null: all; 1 to 200 */
  limit?: number | null;
  /** those of the grid whose rows are at hand; at most 64 */
  previous_edits?: string[];
  /** whose states are wanted; null: all; at most 5,000 */
  columns?: string[] | null;
  /** at most 20,000 characters */
  text: string;
}

/** A word that a question is about, in its sentence; `hit["l2"]` is what `l2` says there. */
export interface Hit {
  /** its number in the index; 0 to 4.61168602e+18 */
  sentence: number;
  /** of the word in it, from 0, as in a grid; 0 to 4.61168602e+18 */
  position: number;
  /** of the sentence */
  words: string[];
  /** the sentence, to be given to a lens */
  text: string;
  /** the word that came, as the model knows it */
  next: string | null;
  /** what opens the lens there, behind the address of its page */
  link: string;
  /** the part of the corpus that it is of */
  split: string;
  /** the part of speech, where the corpus has any */
  tag: string | null;
  /** of the word that came, in bits; at least 0 */
  surprisal: number | null;
  /** by the kinds that the question names */
  says: Said[];
  /** of every kind, where the page asks */
  strip: [string, number, string][];
}

/** A text that can be asked about. */
export interface KeptText {
  /** what it is asked by */
  text: string;
  /** it begins with these */
  words: string;
}

/** How often two kinds expect different things. */
export interface KindPair {
  kind: string;
  other: string;
  /** of words at which dominant groups differ */
  groups: MeasuredShare;
  /** of words at which each leads by the margin, too; null: the index does not tell */
  clear: MeasuredShare | null;
  /** of words at which most probable labels differ */
  labels: MeasuredShare;
  /** which leads to its words; empty: there is none */
  question: string;
  /** which leads to its words; empty: there is none */
  clear_question: string;
  /** which leads to its words; empty: there is none */
  label_question: string;
}

/** Which kinds disagree how often. */
export interface KindPairs {
  kinds: string[];
  /** kinds beyond the most that are drawn; 0 to 4.61168602e+18 */
  left_out: number;
  /** of the corpus; 0 to 4.61168602e+18 */
  words: number;
  /** 0 to 4.61168602e+18 */
  sentences: number;
  /** by which a group that leads clearly does; 0 to 1 */
  margin: number;
  pairs: KindPair[];
}

/** Labels that begin as is asked, and names that are no labels. */
export interface Labels {
  /** an equal one first, the others in the run's own order */
  begins: string[];
  /** where none begins so, those that are spelled most like it */
  nearest: string[];
  /** those of the names that are no labels */
  absent: string[];
}

/** The beginning of a label, and whole ones that may be none. */
export interface LabelsQuestion {
  /** null: the first; at most 200 characters */
  run?: string | null;
  /** null: the run's first; at most 200 characters */
  semantic?: string | null;
  /** how labels are to begin; at most 200 characters */
  begins?: string;
  /** labels, to hear which of them there are not; at most 64 */
  names?: string[];
}

/** A line of two readings that are compared. */
export interface Line {
  /** whose; both: all is the same */
  side: "both" | "first" | "second";
  /** of its text; null: no word stands here */
  row: Count | null;
  /** where two texts part: the word that comes next in each; empty: the end */
  then: [string, string] | null;
}

/** A kind's states by their first two principal components, as counts in small rectangles. */
export interface Map {
  kind: string;
  /** why there is none; empty: there is */
  missing: string;
  /** of the variance, along each component */
  shares: [number, number];
  /** the lower left one */
  corner: [number, number];
  /** of a rectangle */
  sides: [number, number];
  /** and as many rows; 0 to 4.61168602e+18 */
  columns: number;
  /** column, row from below, states, the group that most of them expect and its share */
  cells: [number, number, number, string, number][];
}

/** Where a state is on its kind's map. */
export interface MapPlace {
  kind: string;
  /** along the first component; -1e+31 to 1e+31 */
  x: number;
  /** along the second; -1e+31 to 1e+31 */
  y: number;
}

/** The map of a kind's states, as numbers. */
export interface MapQuestion {
  /** null: the first; at most 200 characters */
  run?: string | null;
  /** at most 200 characters */
  kind: string;
}

/** A share of words, and its 95% interval by resampling sentences. */
export interface MeasuredShare {
  /** 0 to 1 */
  share: number;
  /** null: the sentences are too few; 0 to 1 */
  low: number | null;
  /** 0 to 1 */
  high: number | null;
}

/** Memories in some rows of a text's grid; without `columns`, all that are matrices. */
export interface MemoriesQuestion {
  /** null: the first; at most 200 characters */
  run?: string | null;
  /** null: the run's first; at most 200 characters */
  semantic?: string | null;
  /** null: the run's first; at most 200 characters */
  palette?: string | null;
  /** what is changed on the way, such as l2@4=0; l2@2:4=0 in the second text alone; at most 64 */
  edits?: string[];
  /** whether edits that cannot be made are left out */
  lenient?: boolean;
  /** another run that reads the text, too; at most 200 characters */
  beside?: string | null;
  /** row to begin with; 0 to 1,000,000 */
  first?: number;
  /** rows to answer with at most; null: all; 1 to 200 */
  limit?: number | null;
  /** whose states are wanted, as a grid's question has them; null: all; at most 5,000 */
  columns?: string[] | null;
  /** that comes next, by whose question they are asked; at most 200 characters */
  word?: string | null;
  /** at most 20,000 characters */
  text: string;
}

/** What memories are in rows of a grid. */
export interface MemoriesTold {
  columns: string[];
  /** of each column; null: there is none in this row */
  rows: ((MemoryTold | null)[])[];
  /** rows[0] is this row of the grid */
  from: Count;
}

/** What a memory would answer if a word came next. */
export interface MemoryAnswer {
  word: string;
  /** the kind whose probe says what the answer tells */
  read: string;
  /** the most probable */
  labels: [string, Probability][];
  /** how often the word came in training; null: not counted */
  seen: Count | null;
  /** of the other places, how many ask for the same first label */
  agree: Count;
  /** other places of the text that were tried */
  contexts: Count;
}

/** A memory: how large it is, how long it lasts, and what it answers to a word. */
export interface MemoryQuestion {
  /** null: the first; at most 200 characters */
  run?: string | null;
  /** null: the run's first; at most 200 characters */
  semantic?: string | null;
  /** null: the run's first; at most 200 characters */
  palette?: string | null;
  /** what is changed on the way, such as l2@4=0; l2@2:4=0 in the second text alone; at most 64 */
  edits?: string[];
  /** whether edits that cannot be made are left out */
  lenient?: boolean;
  /** another run that reads the text, too; at most 200 characters */
  beside?: string | null;
  /** that comes next, by whose question it is asked; at most 200 characters */
  word?: string | null;
  /** at most 20,000 characters */
  text: string;
  /** at most 200 characters */
  column: string;
  /** 0 to 1,000,000 */
  row: number;
}

/** What a memory is without a probe: numbers of each head, of a vector of the whole. */
export interface MemoryTold {
  /** of each head */
  norm: Size[];
  /** of each head; none: it is no matrix */
  rank: Size[];
  /** of ten heads or units at most the shortest, the median and the longest, of more their first tenth, median and last tenth; null within: infinite */
  half_life: (Size | null)[] | null;
  /** heads or units that each have a half-life */
  lasting: Count;
  /** what it answers to the word; null: none was given */
  asked: MemoryAnswer | null;
}

/** A state of the corpus that is like another. */
export interface Near {
  /** its number in the index; 0 to 4.61168602e+18 */
  sentence: number;
  /** of the word in it, from 0, as in a grid; 0 to 4.61168602e+18 */
  position: number;
  /** of the sentence */
  words: string[];
  /** the sentence, to be given to a lens */
  text: string;
  /** the word that came, as the model knows it */
  next: string | null;
  /** what opens the lens there, behind the address of its page */
  link: string;
  /** 1 less the cosine, or bits; 0 is the same; 0 to 2 */
  distance: number;
}

/** What a view in a notebook begins with. */
export interface NotebookView {
  grid: Grid;
  /** whether it has a field for texts */
  typing: boolean;
  examples: string[];
}

/** Where probabilities are not what they say. */
export interface Off {
  /** from which on, a tenth wide */
  start: Probability;
  /** how often the label was right */
  accuracy: Probability;
  /** that were counted */
  states: Count;
}

/** Two states to compare. */
export interface Pair {
  a: PairEnd;
  b: PairEnd;
}

/** One of two states to compare: a column and a row of a text's grid. */
export interface PairEnd {
  /** null: the question's; at most 20,000 characters */
  text?: string | null;
  /** null: the question's; at most 200 characters */
  semantic?: string | null;
  /** what is changed on the way, such as l2@4=0; at most 64 */
  edits?: string[];
  /** at most 200 characters */
  column: string;
  /** 0 to 1,000,000 */
  row: number;
}

/** A picture of the whole corpus: the field of its name, or why it is missing. */
export interface Picture {
  name: "disagreement" | "turns" | "surprise" | "reach" | "tags";
  /** why there is none; empty: there is */
  missing: string;
  disagreement: KindPairs | null;
  turns: TurnEdges | null;
  surprise: Density | null;
  reach: Reach | null;
  tags: Tags | null;
}

/** A picture of the whole corpus, as numbers. */
export interface PictureQuestion {
  /** null: the first; at most 200 characters */
  run?: string | null;
  name: "disagreement" | "turns" | "surprise" | "reach" | "tags";
}

/** A state that is kept in view; null: of the view's own run, text or semantic. */
export interface Pin {
  column: string;
  row: Count;
  run: string | null;
  text: string | null;
  semantic: string | null;
}

/** A state of a grid. */
export interface Place {
  column: string;
  row: Count;
}

/** Where a state of a text is on the map of its kind. */
export interface PlaceQuestion {
  /** null: the first; at most 200 characters */
  run?: string | null;
  /** null: the run's first; at most 200 characters */
  semantic?: string | null;
  /** null: the run's first; at most 200 characters */
  palette?: string | null;
  /** what is changed on the way, such as l2@4=0; l2@2:4=0 in the second text alone; at most 64 */
  edits?: string[];
  /** whether edits that cannot be made are left out */
  lenient?: boolean;
  /** another run that reads the text, too; at most 200 characters */
  beside?: string | null;
  /** at most 20,000 characters */
  text: string;
  /** at most 200 characters */
  column: string;
  /** 0 to 1,000,000 */
  row: number;
}

/** What is wrong and what to do, in one line. */
export interface Problem {
  error: string;
}

/** A run to be published, and the text that its page reads first. */
export interface PublishQuestion {
  /** null: the first; at most 200 characters */
  run?: string | null;
  /** at most 20,000 characters */
  text: string;
}

/** How far back and forward each kind reaches. */
export interface Reach {
  cells: ReachCell[];
}

/** How much a kind tells of one of the labels around. */
export interface ReachCell {
  kind: string;
  /** after the word just read; of a language model, 1 is the next; -2,000 to 2,000 */
  steps: number;
  /** of the bits that frequencies leave open; 0 to 1 */
  told: number | null;
  perplexity: number | null;
  /** more than 0 */
  unigram: number;
  /** which leads to its words; empty: there is none */
  question: string;
}

/** A run that can be asked for. */
export interface RunSummary {
  id: string;
  title: string;
  /** how many there are */
  labels: Count;
  semantics: string[];
  palettes: string[];
  examples: string[];
  /** whether it has any */
  probes: boolean;
  /** by semantic, the runs that can be compared with it */
  comparable: Record<string, string[]>;
  /** whether it has an index of one */
  corpus: boolean;
  /** whether there is a network: else texts are those recorded */
  reads: boolean;
  /** null: no checkpoints were kept */
  training: Training | null;
}

/** Every run that is served. */
export interface Runs {
  runs: RunSummary[];
}

/** What a state says: its most probable label, and its dominant group. */
export interface Said {
  kind: string;
  label: string;
  /** 0 to 1 */
  probability: number;
  group: string;
  /** 0 to 1 */
  share: number;
  /** where the page asks */
  colour: string;
}

/** What a saved page holds: a whole grid, how it is seen, and divergences that are known. */
export interface SavedPage {
  grid: Grid;
  view: View;
  /** between two states, each a column and a row */
  bits: [string, Count, string, Count, DivergenceBits][];
}

/** An axis of numbers, cut into bins that are labels. */
export interface Scale {
  /** of the bins, from the least number of training up */
  edges: Amount[];
  /** of the bins, in order */
  names: string[];
  /** whether intervals were widened to hold what they say of held-out numbers */
  calibrated: boolean;
}

/** How well the states of a kind predict, on the test split; null: not measured. */
export interface Score {
  kind: string;
  perplexity: Perplexity | null;
  /** of its perplexity to the model's own */
  ratio: Ratio | null;
  accuracy: Probability | null;
  /** from the model's own prediction, in bits */
  kl: Bits | null;
  calibration: Probability | null;
  used: Use | null;
  /** of numbers: the mean absolute error */
  error: Against | null;
  /** of sets of labels: the average precision */
  precision: Against | null;
  /** that were measured on; 0: an older version does not say */
  sentences: Count;
  /** by 95%, of each number */
  intervals: Record<string, Ends>;
  /** by kind: how often its perplexity is lower, if resampled */
  below: Record<string, Probability>;
  /** of all labels, and by their frequency */
  reliability: Record<string, Bin[]>;
  control: Control | null;
  description: Description | null;
  temperature: Temperature | null;
}

/** One of two readings that are compared. */
export interface Side {
  run: string;
  title: string;
  text: string;
  /** as this run has them; none: the grid's */
  columns: Column[];
}

/** The nearest states, the nearest first. */
export interface Similar {
  kind: string;
  by: "cosine" | "divergence";
  near: Near[];
}

/** States of the corpus that are like one of a text. */
export interface SimilarQuestion {
  /** null: the first; at most 200 characters */
  run?: string | null;
  /** null: the run's first; at most 200 characters */
  semantic?: string | null;
  /** null: the run's first; at most 200 characters */
  palette?: string | null;
  /** what is changed on the way, such as l2@4=0; l2@2:4=0 in the second text alone; at most 64 */
  edits?: string[];
  /** whether edits that cannot be made are left out */
  lenient?: boolean;
  /** another run that reads the text, too; at most 200 characters */
  beside?: string | null;
  /** how many; 1 to 200 */
  count?: number;
  /** of states, or predictions */
  by?: "cosine" | "divergence";
  /** at most 20,000 characters */
  text: string;
  /** at most 200 characters */
  column: string;
  /** 0 to 1,000,000 */
  row: number;
}

/** A text that is a source and a target, one after the other. */
export interface SourceAndTarget {
  /** words of the source, which are the first rows */
  source: Count;
  /** that have states in those rows; others in the rest */
  columns: string[];
  /** whether the model has written the target itself */
  generated: boolean;
  /** the part that computes it; empty: there is none */
  attention: string;
  /** of each row of the target, rows of the source and their weights, largest first */
  links: [Count, Probability][][];
  /** where the attention has several heads, the links of each; `links` are of their mean */
  heads: [Count, Probability][][][];
}

/** The encoding of one state. */
export interface State {
  colour: Colour;
  /** that dominates */
  group: string;
  /** how much colour it has, by the palette's rule */
  share: Probability;
  /** a group whose share is less than .05 smaller */
  rival: string | null;
  entropy: Bits;
  /** the most probable labels first */
  top: [string, Probability][];
  /** what really came */
  wanted: [string, Probability, Rank] | null;
  /** whether no word was read into it yet: what it says is void */
  unread: boolean;
  /** where it is unlike the states that its probe was fitted on, its size, the root mean square of its standardised units, and the range of at least 99.9% of held-out states */
  outside: [Size, Size, Size] | null;
  /** where labels are bins, the mean, of y the model's own number, and the interval that holds 80% */
  number: [Amount, Amount, Amount] | null;
}

/** Answers as comma-separated values. */
export interface Table {
  csv: string;
  /** 0 to 4.61168602e+18 */
  rows: number;
  /** whether there are more than a table may hold */
  left_out: boolean;
}

/** The words whose states say what is asked for, as a table to be saved. */
export interface TableQuestion {
  /** null: the first; at most 200 characters */
  run?: string | null;
  /** at most 10,000 characters */
  question: string;
}

/** At how many of the words of a part of speech two kinds disagree. */
export interface TagCount {
  tag: string;
  /** 0 to 4.61168602e+18 */
  words: number;
  /** 0 to 4.61168602e+18 */
  count: number;
  /** the 95% interval of the share; null: sentences are too few; 0 to 1 */
  low: number | null;
  /** 0 to 1 */
  high: number | null;
  /** which leads to its words; empty: there is none */
  question: string;
}

/** Disagreement of two kinds by part of speech. */
export interface TagPair {
  kind: string;
  other: string;
  tags: TagCount[];
}

/** Disagreement of the memories of each layer by part of speech. */
export interface Tags {
  pairs: TagPair[];
}

/** What logits are best divided by, found on validation data. */
export interface Temperature {
  value: Ratio;
  /** on test states, with it */
  perplexity: Perplexity;
  /** there, with it */
  calibration: Probability;
  states: Count;
}

/** Some of the texts that there are. */
export interface Texts {
  /** how many there are */
  total: Count;
  /** how many of them are what was looked for */
  found: Count;
  /** the first of these */
  texts: KeptText[];
}

/** Which texts there are. */
export interface TextsQuestion {
  /** null: the first; at most 200 characters */
  run?: string | null;
  /** words, of which each begins one of the text; #12: that one; at most 200 characters */
  find?: string;
  /** how many of those that are found to leave out; 0 to 1,000,000 */
  first?: number;
}

/** Where in a training a run stands whose checkpoints were kept. */
export interface Training {
  /** the id of the run that the training ended with */
  of: string;
  /** after which these weights were */
  epoch: Count;
  /** the model's own; null: not measured */
  perplexity: Perplexity | null;
}

/** Perplexities after an epoch; null: not measured. */
export interface TrainingPoint {
  run: string;
  epoch: Count;
  /** the model's */
  own: Perplexity | null;
  /** by kind */
  semantics: Record<string, Record<string, Perplexity | null>>;
}

/** How far apart the predictions at the ends of an edge are. */
export interface TurnEdge {
  kind: string;
  /** such as c2@-1, a step before */
  other: string;
  /** what the other is to the kind */
  sort: "feeds" | "step" | "beside";
  /** on average; 0 to 1 */
  bits: number;
  /** words at which it is more than `far` bits; 0 to 4.61168602e+18 */
  far: number;
  /** that have both; 0 to 4.61168602e+18 */
  words: number;
  /** which leads to its words; empty: there is none */
  question: string;
}

/** Where along the network the prediction turns. */
export interface TurnEdges {
  /** 0 to 1 */
  far: number;
  /** edges beyond the most that are ranked; 0 to 4.61168602e+18 */
  left_out: number;
  /** the largest first */
  edges: TurnEdge[];
}

/** How far the states of a row lie from others; null where there is nothing to compare with. */
export interface TurnRow {
  /** between the ends of each edge */
  edges: (DivergenceBits | null)[];
  /** of each column from the row above */
  above: (DivergenceBits | null)[];
  /** of the word that came next, by y */
  surprisal: Bits | null;
}

/** How far every state of a grid lies from those that feed it and from the row above, in bits. */
export interface Turns {
  rows: TurnRow[];
  /** rows[0] is this row of the grid */
  from: Count;
}

/** Rows of a text's grid whose turns are wanted. */
export interface TurnsQuestion {
  /** null: the first; at most 200 characters */
  run?: string | null;
  /** null: the run's first; at most 200 characters */
  semantic?: string | null;
  /** null: the run's first; at most 200 characters */
  palette?: string | null;
  /** what is changed on the way, such as l2@4=0; l2@2:4=0 in the second text alone; at most 64 */
  edits?: string[];
  /** whether edits that cannot be made are left out */
  lenient?: boolean;
  /** another run that reads the text, too; at most 200 characters */
  beside?: string | null;
  /** row to begin with; 0 to 1,000,000 */
  first?: number;
  /** rows to answer with at most; null: all; 1 to 200 */
  limit?: number | null;
  /** whose states are wanted, as a grid's question has them; null: all; at most 5,000 */
  columns?: string[] | null;
  /** at most 20,000 characters */
  text: string;
}

/** What the model is worth on the sentences that do not occur in training. */
export interface Unseen {
  sentences: Count;
  pairs: Count;
  perplexity: Perplexity | null;
  accuracy: Probability | null;
  intervals: Record<string, Ends>;
}

/** How much of what a kind's probe reads the model uses; null: not measured. */
export interface Use {
  /** read / gradient */
  used: Share;
  /** of a push towards a label, on its log-probability */
  read: Nats;
  /** of a push of equal size along the gradient */
  gradient: Nats | null;
  /** in a random direction */
  random: Nats;
  /** towards another label */
  shuffled: Nats | null;
  /** how far the push moves each of the next predictions */
  later: Bits | null;
  /** how far one in a random direction does */
  later_random: Bits | null;
  /** of changes where states are interchanged between texts */
  interchange: Correlation | null;
  interchange_shuffled: Correlation | null;
  /** how far an interchange moves the prediction */
  moved: Bits | null;
  /** and each of the next ones */
  moved_later: Bits | null;
  /** what each prediction loses where labels are erased */
  erased: Nats | null;
  /** and where as many random directions are */
  erased_random: Nats | null;
  /** 0: an older version's, which does not say */
  sentences: Count;
  /** null: an older version's push */
  deviations: Amount | null;
  /** directions that were erased */
  rank: Count;
  /** in a word, where the interval supports one; else empty */
  called: string;
  /** by 95%, of each number */
  intervals: Record<string, Ends>;
}

/** Everything that is chosen on the page; null: what is usual. */
export interface View {
  run: string | null;
  text: string | null;
  /** another run that reads the text, too */
  beside: string | null;
  semantic: string | null;
  palette: string | null;
  density: "bars" | "compact";
  /** columns, as rnnlens show takes them */
  kinds: "all" | "outputs" | string[] | null;
  naming: "both" | "names" | "symbols";
  /** 1 to 5 */
  bars: number;
  /** of the attention's heads; 0: their mean */
  head: Count;
  pins: Pin[];
  /** the state that is selected */
  focus: Place | null;
  follow: Follow | null;
  /** whether it is shown where predictions turn */
  turns: boolean;
  /** what cells of memories that are matrices show; null: what the probe says */
  memories: "norm" | "rank" | "half_life" | null;
  /** the word that these memories are asked by; null: what memories says */
  asked: string | null;
  /** what is changed while the text is read, such as l2@4=0 */
  edits: string[];
  page: "grid" | "accuracy" | "corpus";
  /** what the corpus is asked; null: the first example */
  find: string | null;
  /** whose states are on the corpus page's map; null: the usual */
  map: string | null;
  /** of the samples of how the model goes on; null: that is not shown; at least 0 */
  seed: number | null;
  /** what the panel tells of the state */
  tab: "says" | "changed" | "written" | "alike";
  /** how it is told which words wrote it */
  reading: "stored" | "path" | "without" | "gates";
  /** what is read in a word's place for that; null: the usual */
  stand_in: "tag" | "model" | "unknown" | "left_out" | null;
  /** labels that this is told of; null: the likeliest */
  contrast: Follow | null;
  /** what makes states similar */
  alike: "cosine" | "divergence";
  /** whether the panel is folded away */
  folded: boolean;
  /** bare: the text and its grid alone */
  view: "full" | "bare";
}

/** A word of the text and what the network takes it for. */
export interface Word {
  text: string;
  label: string;
  unknown: boolean;
  /** of the word as a label; null: words are no labels here */
  group: string | null;
  /** what is read at its step; null: it is a word */
  value: Amount | null;
  /** the numbers read at its step, from 0 to 1 over the sequence; none: see value */
  picture: Probability[];
  /** which piece of a word it is; a mark stands for no word; empty: it is a whole one */
  piece: "" | "first" | "inner" | "last" | "mark";
}

/** Which words have made a state say `labels` rather than those `against` them. */
export interface Written {
  labels: string[];
  against: string[];
  /** how far the labels are ahead */
  difference: Logits;
  /** what goes where something else is read in the word's place: the mean over draws */
  without: (Logits | null)[];
  /** what is read in a word's place: tag, model, unknown or left_out; empty: `instead` */
  stand_in: string;
  /** the one word that is read in a word's place; empty: none is */
  instead: string;
  /** the stand-ins that there are for this text */
  offered: string[];
  /** words that are drawn for each; 0: none is */
  draws: Count;
  /** these words, for each; none: none is */
  drawn: string[][];
  /** of the 95% interval of `without`; null: nothing is drawn */
  low: (Logits | null)[] | null;
  /** of the same interval */
  high: (Logits | null)[] | null;
  /** the deviation of a single draw from `without` */
  spread: (Logits | null)[] | null;
  /** the exact split of the memory */
  stored: (Logits | null)[] | null;
  /** which with all of `stored` makes the difference */
  stored_rest: Logits;
  /** down to the words, with gates held */
  path: (Logits | null)[] | null;
  /** which with all of `path` makes the difference */
  path_rest: Logits;
  /** why a reading is missing; empty: none is */
  note: string;
  /** what of `without` runs through gates */
  gates: (Logits | null)[] | null;
}

/** A state, and the labels whose difference is to be told by the words. */
export interface WrittenQuestion {
  /** null: the first; at most 200 characters */
  run?: string | null;
  /** null: the run's first; at most 200 characters */
  semantic?: string | null;
  /** null: the run's first; at most 200 characters */
  palette?: string | null;
  /** what is changed on the way, such as l2@4=0; l2@2:4=0 in the second text alone; at most 64 */
  edits?: string[];
  /** whether edits that cannot be made are left out */
  lenient?: boolean;
  /** another run that reads the text, too; at most 200 characters */
  beside?: string | null;
  /** none: the most probable; at most 64 */
  labels?: string[];
  /** none: the most probable other; at most 64 */
  against?: string[];
  /** what is read in a word's place: tag, model, unknown or left_out; null: the usual; at most 200 characters */
  stand_in?: string | null;
  /** a word that is read in a word's place; null: stand_in; at most 200 characters */
  instead?: string | null;
  /** how many words are drawn for each, where they are drawn; 8 to 100 */
  draws?: number;
  /** what is drawn: the same words for the same seed; 0 to 4.2949673e+09 */
  seed?: number;
  /** at most 20,000 characters */
  text: string;
  /** at most 200 characters */
  column: string;
  /** 0 to 1,000,000 */
  row: number;
}

/** Why a question cannot be answered. */
export interface Wrong {
  error: string;
  /** of the character that is wrong, from 0; 0 to 4.61168602e+18 */
  place: number;
}

/** What is got from a path, by a query. */
export interface Gets {
  "api/runs": { asked: Record<string, never>; answer: Runs };
  "api/accuracy": { asked: { run?: string }; answer: Accuracy };
}

/** What is posted to a path. */
export interface Posts {
  "api/grid": { asked: GridQuestion; answer: Grid };
  "api/follow": { asked: FollowQuestion; answer: Followed };
  "api/labels": { asked: LabelsQuestion; answer: Labels };
  "api/texts": { asked: TextsQuestion; answer: Texts };
  "api/turns": { asked: TurnsQuestion; answer: Turns };
  "api/divergence": { asked: DivergenceQuestion; answer: Divergences };
  "api/written": { asked: WrittenQuestion; answer: Written };
  "api/memory": { asked: MemoryQuestion; answer: MemoryTold };
  "api/memories": { asked: MemoriesQuestion; answer: MemoriesTold };
  "api/continue": { asked: ContinueQuestion; answer: Continued };
  "api/figure": { asked: FigureQuestion; answer: Figure };
  "api/corpus": { asked: CorpusQuestion; answer: Corpus };
  "api/find": { asked: FindQuestion; answer: FoundSlice };
  "api/table": { asked: TableQuestion; answer: Table };
  "api/picture": { asked: PictureQuestion; answer: Picture };
  "api/map": { asked: MapQuestion; answer: Map };
  "api/place": { asked: PlaceQuestion; answer: MapPlace };
  "api/similar": { asked: SimilarQuestion; answer: Similar };
}
