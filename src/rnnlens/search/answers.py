"""What an index answers: to whoever asks in Python, and as JSON to the corpus page."""

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le

from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import Count
from rnnlens.base.schema import sent
from rnnlens.labels.colours import Rule

Share = Annotated[float, Ge(0), Le(1)]  # a probability, or how many of how many
Bits = Annotated[float, Ge(0)]
DivergenceBits = Annotated[float, Ge(0), Le(1)]
Coordinate = Annotated[float, Ge(-1e31), Le(1e31)]  # along a component
Perplexity = Annotated[float, Gt(0)]
Steps = Annotated[int, Ge(-2_000), Le(2_000)]  # forward; back where it is less than 0
Strip = tuple[str, Share, str]  # group, share and colour of one kind
Nearness = Literal["cosine", "divergence"]  # of states, or of what they predict
PictureName = Literal["disagreement", "turns", "surprise", "reach", "tags"]
_QUESTION = "which leads to its words; empty: there is none"


@dataclass(frozen=True)
class Example:
    """A question to begin with."""

    question: str
    means: str


@dataclass(frozen=True)
class Corpus:
    """What is known of a corpus."""

    run: str
    source: str = sent("the name of its file or folder")
    splits: tuple[str, ...] = sent()
    semantic: str = sent("that its states were asked for")
    words: Count = sent()
    sentences: Count = sent()
    kinds: tuple[str, ...] = sent("of which strips and pictures are made")
    groups: dict[str, str] = sent("and their colours")
    rule: Rule = sent("what colours fade by, as when the index was made")
    examples: tuple[Example, ...] = sent()
    grammar: str = sent("of questions")
    maps: tuple[str, ...] = sent("the kinds whose states are on a map")
    tagged: bool = sent("whether its words have parts of speech")
    follows: bool = sent("whether it tells which label came")
    pairs: tuple[tuple[str, str], ...] = sent("kinds that `differs from` compares")


@dataclass(frozen=True)
class Said:
    """What a state says: its most probable label, and its dominant group."""

    kind: str
    label: str
    probability: Share
    group: str
    share: Share
    colour: str = sent("where the page asks", default="")


@dataclass(frozen=True)
class _Place:
    """A word of the corpus, in its sentence."""

    sentence: Count = sent("its number in the index")
    position: Count = sent("of the word in it, from 0, as in a grid")
    words: tuple[str, ...] = sent("of the sentence")
    text: str = sent("the sentence, to be given to a lens")
    next: str | None = sent("the word that came, as the model knows it")
    link: str = sent("what opens the lens there, behind the address of its page")

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

    split: str = sent("the part of the corpus that it is of")
    tag: str | None = sent("the part of speech, where the corpus has any")
    surprisal: Bits | None = sent("of the word that came, in bits")
    says: tuple[Said, ...] = sent("by the kinds that the question names")
    strip: tuple[Strip, ...] = sent("of every kind, where the page asks", default=())

    def __getitem__(self, kind: str) -> Said:
        for said in self.says:
            if said.kind == kind:
                return said
        there = ", ".join(said.kind for said in self.says) or "none"
        raise RnnlensError(f"the question names the kinds {there}; name {kind} in it too")

    def __repr__(self) -> str:
        return f"<{self.marked()}>"


@dataclass(frozen=True)
class CountLine:
    """How many of the words with some properties a question is about."""

    keys: tuple[str | None, ...]
    count: Count
    words: Count = sent("with these properties")
    share: Share = sent()
    low: Share | None = sent("its 95% interval by resampling sentences; null: these are too few")
    high: Share | None = sent()
    question: str = sent(_QUESTION)


@dataclass(frozen=True)
class Counts:
    """The answer to a question that counts."""

    names: tuple[str, ...] = sent("of what is counted by")
    lines: tuple[CountLine, ...] = sent()


@dataclass(frozen=True)
class Wrong:
    """Why a question cannot be answered."""

    error: str
    place: Count = sent("of the character that is wrong, from 0")


@dataclass(frozen=True)
class FoundSlice:
    """Some answers to a question."""

    question: str
    words: Count = sent(
        "that it is asked of: all, or those that something follows where it is about that",
        default=0,
    )
    total: Count = sent("words that it is about", default=0)
    low: Share | None = sent(
        "the 95% interval of their share by resampling sentences; null: these are too few",
        default=None,
    )
    high: Share | None = sent(default=None)
    more: bool = sent("whether there are further answers", default=False)
    kinds: tuple[str, ...] = sent("that it names", default=())
    groups: tuple[str, ...] = sent("of these, whose dominant group it asks about", default=())
    hits: tuple[Hit, ...] = ()
    counts: Counts | None = sent("of a question that counts, which has no hits", default=None)
    wrong: Wrong | None = sent("null: it is a question", default=None)


@dataclass(frozen=True)
class Table:
    """Answers as comma-separated values."""

    csv: str
    rows: Count
    left_out: bool = sent("whether there are more than a table may hold")


@dataclass(frozen=True, repr=False)
class Near(_Place):
    """A state of the corpus that is like another."""

    distance: Annotated[float, Ge(0), Le(2)] = sent("1 less the cosine, or bits; 0 is the same")

    def __repr__(self) -> str:
        return f"<{self.distance:.3f} {self.marked()}>"


@dataclass(frozen=True)
class Similar:
    """The nearest states, the nearest first."""

    kind: str
    by: Nearness
    near: tuple[Near, ...]


@dataclass(frozen=True)
class MeasuredShare:
    """A share of words, and its 95% interval by resampling sentences."""

    share: Share
    low: Share | None = sent("null: the sentences are too few")
    high: Share | None = sent()


@dataclass(frozen=True)
class KindPair:
    """How often two kinds expect different things."""

    kind: str
    other: str
    groups: MeasuredShare = sent("of words at which dominant groups differ")
    clear: MeasuredShare | None = sent(
        "of words at which each leads by the margin, too; null: the index does not tell"
    )
    labels: MeasuredShare = sent("of words at which most probable labels differ")
    question: str = sent(_QUESTION)
    clear_question: str = sent(_QUESTION)
    label_question: str = sent(_QUESTION)


@dataclass(frozen=True)
class KindPairs:
    """Which kinds disagree how often."""

    kinds: tuple[str, ...]
    left_out: Count = sent("kinds beyond the most that are drawn")
    words: Count = sent("of the corpus")
    sentences: Count = sent()
    margin: Share = sent("by which a group that leads clearly does")
    pairs: tuple[KindPair, ...] = sent()


@dataclass(frozen=True)
class TurnEdge:
    """How far apart the predictions at the ends of an edge are."""

    kind: str
    other: str = sent("such as c2@-1, a step before")
    sort: Literal["feeds", "step", "beside"] = sent("what the other is to the kind")
    bits: DivergenceBits = sent("on average")
    far: Count = sent("words at which it is more than `far` bits")
    words: Count = sent("that have both")
    question: str = sent(_QUESTION)


@dataclass(frozen=True)
class TurnEdges:
    """Where along the network the prediction turns."""

    far: DivergenceBits
    left_out: Count = sent("edges beyond the most that are ranked")
    edges: tuple[TurnEdge, ...] = sent("the largest first")


@dataclass(frozen=True)
class DensityCell:
    """A square of a density."""

    x: Count
    y: Count
    words: Count
    question: str = sent(_QUESTION)


@dataclass(frozen=True)
class Density:
    """Words by the entropy of the prediction, across, and the surprisal of what came, up."""

    width: Annotated[float, Gt(0), Le(32)] = sent("of a square, in bits")
    columns: Count = sent()
    rows: Count = sent("the last may hold whatever is above")
    cells: tuple[DensityCell, ...] = sent()


@dataclass(frozen=True)
class TagCount:
    """At how many of the words of a part of speech two kinds disagree."""

    tag: str
    words: Count
    count: Count
    low: Share | None = sent("the 95% interval of the share; null: sentences are too few")
    high: Share | None = sent()
    question: str = sent(_QUESTION)


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
    steps: Steps = sent("after the word just read; of a language model, 1 is the next")
    told: Share | None = sent("of the bits that frequencies leave open")
    perplexity: Perplexity | None = sent()
    unigram: Perplexity = sent()
    question: str = sent(_QUESTION)


@dataclass(frozen=True)
class Reach:
    """How far back and forward each kind reaches."""

    cells: tuple[ReachCell, ...]


@dataclass(frozen=True)
class Picture:
    """A picture of the whole corpus: the field of its name, or why it is missing."""

    name: PictureName
    missing: str = sent("why there is none; empty: there is", default="")
    disagreement: KindPairs | None = None
    turns: TurnEdges | None = None
    surprise: Density | None = None
    reach: Reach | None = None
    tags: Tags | None = None


MapCell = tuple[Count, Count, Count, str, Share]


@dataclass(frozen=True)
class Map:
    """A kind's states by their first two principal components, as counts in small rectangles."""

    kind: str
    missing: str = sent("why there is none; empty: there is", default="")
    shares: tuple[Share, Share] = sent("of the variance, along each component", default=(0.0, 0.0))
    corner: tuple[Coordinate, Coordinate] = sent("the lower left one", default=(0.0, 0.0))
    sides: tuple[Coordinate, Coordinate] = sent("of a rectangle", default=(1.0, 1.0))
    columns: Count = sent("and as many rows", default=0)
    cells: tuple[MapCell, ...] = sent(
        "column, row from below, states, the group that most of them expect and its share",
        default=(),
    )


@dataclass(frozen=True)
class MapPlace:
    """Where a state is on its kind's map."""

    kind: str
    x: Coordinate = sent("along the first component")
    y: Coordinate = sent("along the second")
