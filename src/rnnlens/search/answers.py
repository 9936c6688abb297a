"""What an index answers: to whoever asks in Python, and as JSON to the corpus page."""

from dataclasses import dataclass
from typing import Literal

Strip = tuple[str, float, str]  # group, share and colour of one kind
Nearness = Literal["cosine", "divergence"]  # of states, or of what they predict
PictureName = Literal["disagreement", "turns", "surprise", "reach", "tags"]


@dataclass(frozen=True)
class Example:
    """A question to begin with."""

    question: str
    means: str


@dataclass(frozen=True)
class Corpus:
    """What is known of a corpus."""

    run: str
    source: str  #: The name of its file or folder.
    splits: tuple[str, ...]
    semantic: str  #: That its states were asked for.
    words: int
    sentences: int
    kinds: tuple[str, ...]  #: Of which strips and pictures are made.
    groups: dict[str, str]  #: And their colours.
    examples: tuple[Example, ...]
    grammar: str  #: Of questions.


@dataclass(frozen=True)
class Said:
    """What a state says: its most probable label, and its dominant group."""

    kind: str
    label: str
    probability: float
    group: str
    share: float
    colour: str = ""  #: Where the page asks.


@dataclass(frozen=True)
class _Place:
    """A word of the corpus, in its sentence."""

    sentence: int  #: Its number in the index.
    position: int  #: Of the word in it, from 0, as in a grid.
    words: tuple[str, ...]  #: Of the sentence.
    text: str  #: The sentence, to be given to a lens.
    next: str | None  #: The word that came, as the model knows it.
    link: str  #: What opens the lens there, behind the address of its page.

    @property
    def word(self) -> str:
        """The word just read."""
        return self.words[self.position]

    def marked(self, left: str = "[", right: str = "]") -> str:
        """The sentence, with the word in brackets."""
        words = list(self.words)
        words[self.position] = f"{left}{words[self.position]}{right}"
        return " ".join(words)


@dataclass(frozen=True, repr=False)
class Hit(_Place):
    """A word that a question is about, in its sentence; `hit["l2"]` is what `l2` says there."""

    split: str  #: The part of the corpus that it is of.
    tag: str | None  #: The part of speech, where the corpus has any.
    surprisal: float | None  #: Of the word that came, in bits.
    says: tuple[Said, ...]  #: By the kinds that the question names.
    strip: tuple[Strip, ...] = ()  #: Of every kind, where the page asks.

    def __getitem__(self, kind: str) -> Said:
        return {said.kind: said for said in self.says}[kind]

    def __repr__(self) -> str:
        return f"<{self.marked()}>"


@dataclass(frozen=True)
class CountLine:
    """How many of the words with some properties a question is about."""

    keys: tuple[str | None, ...]
    count: int
    words: int  #: With these properties.
    share: float
    question: str  #: Which leads to its words; empty: there is none.


@dataclass(frozen=True)
class Counts:
    """The answer to a question that counts."""

    names: tuple[str, ...]  #: Of what is counted by.
    lines: tuple[CountLine, ...]


@dataclass(frozen=True)
class Wrong:
    """Why a question cannot be answered."""

    error: str
    place: int  #: Of the character that is wrong, from 0.


@dataclass(frozen=True)
class FoundSlice:
    """Some answers to a question."""

    question: str
    words: int  #: Of the whole corpus.
    total: int = 0  #: Words that it is about.
    more: bool = False  #: Whether there are further answers.
    kinds: tuple[str, ...] = ()  #: That it names.
    hits: tuple[Hit, ...] = ()
    counts: Counts | None = None  #: Of a question that counts, which has no hits.
    wrong: Wrong | None = None  #: None: it is a question.


@dataclass(frozen=True)
class Table:
    """Answers as comma-separated values."""

    csv: str
    rows: int
    left_out: bool  #: Whether there are more than a table may hold.


@dataclass(frozen=True, repr=False)
class Near(_Place):
    """A state of the corpus that is like another."""

    distance: float  #: 1 less the cosine, or bits; 0 is the same.

    def __repr__(self) -> str:
        return f"<{self.distance:.3f} {self.marked()}>"


@dataclass(frozen=True)
class Similar:
    """The nearest states, the nearest first."""

    kind: str
    by: Nearness
    near: tuple[Near, ...]


@dataclass(frozen=True)
class KindPair:
    """How often two kinds expect different things."""

    kind: str
    other: str
    groups: float  #: The share of words at which dominant groups differ.
    labels: float  #: And most probable labels.
    question: str  #: Which leads to these words; empty: there is none.
    label_question: str


@dataclass(frozen=True)
class KindPairs:
    """Which kinds disagree how often."""

    kinds: tuple[str, ...]
    left_out: int  #: Kinds beyond the most that are drawn.
    pairs: tuple[KindPair, ...]


@dataclass(frozen=True)
class TurnEdge:
    """How far apart the predictions at the ends of an edge are."""

    kind: str
    other: str  #: Such as c2@-1, a step before.
    sort: Literal["feeds", "step", "beside"]  #: What the other is to the kind.
    bits: float  #: On average.
    far: int  #: Words at which it is more than `far` bits.
    words: int  #: That have both.
    question: str


@dataclass(frozen=True)
class TurnEdges:
    """Where along the network the prediction turns."""

    far: float
    left_out: int  #: Edges beyond the most that are ranked.
    edges: tuple[TurnEdge, ...]  #: The largest first.


@dataclass(frozen=True)
class DensityCell:
    """A square of a density."""

    x: int
    y: int
    words: int
    question: str


@dataclass(frozen=True)
class Density:
    """Words by the entropy of the prediction, across, and the surprisal of what came, up."""

    width: float  #: Of a square, in bits.
    columns: int
    rows: int  #: The last may hold whatever is above.
    cells: tuple[DensityCell, ...]


@dataclass(frozen=True)
class TagCount:
    """At how many of the words of a part of speech two kinds disagree."""

    tag: str
    words: int
    count: int
    question: str


@dataclass(frozen=True)
class TagPair:
    """Disagreement of two kinds by part of speech."""

    kind: str
    other: str
    tags: tuple[TagCount, ...]


@dataclass(frozen=True)
class Tags:
    """Disagreement of the memories of each layer by part of speech."""

    pairs: tuple[TagPair, ...]


@dataclass(frozen=True)
class ReachCell:
    """How much a kind tells of one of the labels around."""

    kind: str
    steps: int  #: After the word just read; of a language model, 1 is the next.
    told: float | None  #: Of the bits that frequencies leave open.
    perplexity: float | None
    unigram: float
    question: str


@dataclass(frozen=True)
class Reach:
    """How far back and forward each kind reaches."""

    cells: tuple[ReachCell, ...]


@dataclass(frozen=True)
class Picture:
    """A picture of the whole corpus: the field of its name, or why it is missing."""

    name: PictureName
    missing: str = ""  #: Why there is none; empty: there is.
    disagreement: KindPairs | None = None
    turns: TurnEdges | None = None
    surprise: Density | None = None
    reach: Reach | None = None
    tags: Tags | None = None
