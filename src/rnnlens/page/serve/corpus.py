"""What the server is asked and answers about a run's corpus, by its index."""

from typing import Literal

from pydantic import Field

from rnnlens.page.serve.fields import (
    Answer,
    Asked,
    Bits,
    Colour,
    Count,
    DivergenceBits,
    Limit,
    Name,
    Perplexity,
    Probability,
    Question,
    Row,
    Steps,
    Text,
)

_QUESTION = "which leads to its words; empty: there is none"


PictureName = Literal["disagreement", "turns", "surprise", "reach", "tags"]


class CorpusRequest(Asked):
    """The run whose corpus is asked about."""

    run: Name | None = Field(None, description="null: the first")


class PictureRequest(CorpusRequest):
    """A picture of the whole corpus."""

    name: PictureName


class FindRequest(CorpusRequest):
    """A question to the corpus of a run."""

    question: Question
    first: Row = Field(0, description="answers before this one are at hand")
    limit: Limit = Field(50, description="answers at most")


class TableRequest(CorpusRequest):
    """A question whose answers are wanted as a table."""

    question: Question


class SimilarRequest(CorpusRequest):
    """A state whose like is looked for in the corpus."""

    text: Text
    semantic: Name | None = Field(None, description="null: the run's first")
    column: Name
    row: Row
    count: Limit = Field(10, description="how many")
    by: Literal["cosine", "divergence"] = Field("cosine", description="of states, or predictions")


class Example(Answer):
    """A question to begin with."""

    question: str
    means: str


class Corpus(Answer):
    """What is known of a corpus."""

    run: str
    source: str = Field(description="the name of its file or folder")
    splits: list[str]
    semantic: str = Field(description="that its states were asked for")
    words: Count
    sentences: Count
    kinds: list[str] = Field(description="of which strips and pictures are made")
    groups: dict[str, Colour]
    examples: list[Example]
    grammar: str = Field(description="of questions")


class Said(Answer):
    """What a state says."""

    kind: str
    label: str = Field(description="the most probable")
    probability: Probability
    group: str = Field(description="that dominates")
    share: Probability
    colour: Colour


class Hit(Answer):
    """A word that a question is about, in its sentence."""

    sentence: Count
    position: Count
    split: str
    words: list[str]
    text: str = Field(description="the sentence, as a grid is asked for")
    tag: str | None
    next: str | None = Field(description="the word that came; null: none")
    surprisal: Bits | None
    says: list[Said] = Field(description="by the kinds that the question names")
    strip: list[tuple[str, Probability, Colour]] = Field(
        description="group, share and colour of every kind"
    )
    link: str = Field(description="what opens the grid there")


class CountLine(Answer):
    """How many of the words with some properties a question is about."""

    keys: list[str | None]
    count: Count
    words: Count = Field(description="with these properties")
    share: Probability
    question: str = Field(description=_QUESTION)


class Counts(Answer):
    """The answer to a question that counts."""

    names: list[str] = Field(description="of what is counted by")
    lines: list[CountLine]


class Wrong(Answer):
    """Why a question cannot be answered."""

    error: str
    place: Count = Field(description="of the character that is wrong, from 0")


class Found(Answer):
    """Some answers to a question."""

    question: str
    total: Count = Field(description="words that it is about")
    words: Count = Field(description="of the whole corpus")
    more: bool = Field(description="whether there are further answers")
    kinds: list[str] = Field(description="that it names")
    hits: list[Hit]
    counts: Counts | None = Field(description="of a question that counts, which has no hits")
    wrong: Wrong | None = Field(description="null: it is a question")


class Table(Answer):
    """Answers as comma-separated values."""

    csv: str
    rows: Count
    left_out: bool = Field(description="whether there are more than a table may hold")


class Near(Answer):
    """A state of the corpus that is like another."""

    distance: float = Field(ge=0, le=2, description="1 less the cosine, or bits")
    sentence: Count
    position: Count
    words: list[str]
    next: str | None
    text: str = Field(description="the sentence, as a grid is asked for")
    link: str = Field(description="what opens the grid there")


class Similar(Answer):
    """The nearest states, the nearest first."""

    kind: str
    by: Literal["cosine", "divergence"]
    near: list[Near]


class KindPair(Answer):
    """How often two kinds expect different things."""

    kind: str
    other: str
    groups: Probability = Field(description="words at which dominant groups differ")
    labels: Probability = Field(description="words at which most probable labels differ")
    question: str = Field(description=_QUESTION)
    label_question: str = Field(description=_QUESTION)


class Disagreement(Answer):
    """Which kinds disagree how often."""

    kinds: list[str]
    left_out: Count = Field(description="kinds beyond the most that are drawn")
    pairs: list[KindPair]


class TurnEdge(Answer):
    """How far apart the predictions at the ends of an edge are."""

    kind: str
    other: str = Field(description="such as c2@-1, a step before")
    sort: Literal["feeds", "step", "beside"] = Field(description="what the other is to the kind")
    bits: DivergenceBits = Field(description="on average")
    far: Count = Field(description="words at which it is more than `far` bits")
    words: Count = Field(description="that have both")
    question: str = Field(description=_QUESTION)


class TurnEdges(Answer):
    """Where along the network the prediction turns."""

    far: DivergenceBits
    left_out: Count = Field(description="edges beyond the most that are ranked")
    edges: list[TurnEdge] = Field(description="the largest first")


class DensityCell(Answer):
    """A square of a density."""

    x: Count
    y: Count
    words: Count
    question: str = Field(description=_QUESTION)


class Density(Answer):
    """Words by the entropy of the prediction, across, and the surprisal of what came, up."""

    width: float = Field(gt=0, le=32, description="of a square, in bits")
    columns: Count
    rows: Count = Field(description="the last may hold whatever is above")
    cells: list[DensityCell]


class TagCount(Answer):
    """At how many of the words of a part of speech two kinds disagree."""

    tag: str
    words: Count
    count: Count
    question: str = Field(description=_QUESTION)


class TagPair(Answer):
    """Disagreement of two kinds by part of speech."""

    kind: str
    other: str
    tags: list[TagCount]


class Tags(Answer):
    """Disagreement of the memories of each layer by part of speech."""

    pairs: list[TagPair]


class ReachCell(Answer):
    """How much a kind tells of one of the labels around."""

    kind: str
    steps: Steps = Field(description="after the word just read; of a language model, 1 is the next")
    told: Probability | None = Field(description="of the bits that frequencies leave open")
    perplexity: Perplexity | None
    unigram: Perplexity
    question: str = Field(description=_QUESTION)


class Reach(Answer):
    """How far back and forward each kind reaches."""

    cells: list[ReachCell]


class Picture(Answer):
    """A picture of the whole corpus: the field of its name, or why it is missing."""

    name: PictureName
    missing: str = Field(description="why there is none; empty: there is")
    disagreement: Disagreement | None
    turns: TurnEdges | None
    surprise: Density | None
    reach: Reach | None
    tags: Tags | None
