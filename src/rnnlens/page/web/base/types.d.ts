// Types that several modules name, imported here once for all of them.

declare global {
  /** What a published file was written with: its script begins with it. */
  const VOUCHED: import("../net/vouched.js").Vouched;
  type Encoding = import("../engine/encoding.js").Encoding;
  type Outcome = import("../engine/encoding.js").Outcome;
  type Machine = import("../engine/machine.js").Machine;
  type Kind = import("../engine/manifest.d.ts").Kind;
  type Manifest = import("../engine/manifest.d.ts").Manifest;
  type Pause = import("../engine/network.js").Pause;
  type Palette = import("../engine/palette.js").Palette;
  type Reading = import("../engine/reading.js").Reading;
  type Subject = import("../engine/subject.js").Subject;
  type Answers = import("../engine/text.js").Answers;
  type Matrix = import("../engine/unpack.js").Matrix;
  type Edit = import("../engine/why/edit.js").Edit;
  type GridView = import("../grid/gridview.js").GridView;
  type Layout = import("../grid/layout.js").Layout;
  type Slot = import("../grid/layout.js").Slot;
  type Over = import("../grid/over.js").Over;
  type Kept = import("../panel/pins.js").Kept;
  type Divergence = import("./divergence.js").Divergence;
  type Scale = import("./follow.js").Scale;
  type Held = import("./held.js").Held;
  type Shape = import("./markup.js").Shape;
  type Accuracy = import("./schema.d.ts").Accuracy;
  type Change = import("./schema.d.ts").Change;
  type Column = import("./schema.d.ts").Column;
  type Ends = import("./schema.d.ts").Ends;
  type Off = import("./schema.d.ts").Off;
  type Bin = import("./schema.d.ts").Bin;
  type Confusion = import("./schema.d.ts").Confusion;
  type Corpus = import("./schema.d.ts").Corpus;
  type CountLine = import("./schema.d.ts").CountLine;
  type Density = import("./schema.d.ts").Density;
  type Disagreement = import("./schema.d.ts").KindPairs;
  type Figure = import("./schema.d.ts").Figure;
  type FigureQuestion = import("./schema.d.ts").FigureQuestion;
  type Follow = import("./schema.d.ts").Follow;
  type Found = import("./schema.d.ts").FoundSlice;
  type Grid = import("./schema.d.ts").Grid;
  type GridQuestion = import("./schema.d.ts").GridQuestion;
  type Hit = import("./schema.d.ts").Hit;
  type Near = import("./schema.d.ts").Near;
  type Pair = import("./schema.d.ts").SourceAndTarget;
  type Picture = import("./schema.d.ts").Picture;
  type Pin = import("./schema.d.ts").Pin;
  type Place = import("./schema.d.ts").Place;
  type Posts = import("./schema.d.ts").Posts;
  type Reach = import("./schema.d.ts").Reach;
  type RunSummary = import("./schema.d.ts").RunSummary;
  type Score = import("./schema.d.ts").Score;
  type SimilarQuestion = import("./schema.d.ts").SimilarQuestion;
  type State = import("./schema.d.ts").State;
  type Tags = import("./schema.d.ts").Tags;
  type TrainingPoint = import("./schema.d.ts").TrainingPoint;
  type TurnEdge = import("./schema.d.ts").TurnEdge;
  type TurnEdges = import("./schema.d.ts").TurnEdges;
  type TurnRow = import("./schema.d.ts").TurnRow;
  type View = import("./schema.d.ts").View;
  type Word = import("./schema.d.ts").Word;
  type Written = import("./schema.d.ts").Written;
  type Wrong = import("./schema.d.ts").Wrong;
  type Measure = import("./text.js").Measure;
}

export {};
