"""What is answered: the JSON of grids, of runs and of what was measured. The types that the page is
checked with are made of these and of the results beside their questions: after a change, run
`python scripts/page_types.py`.
"""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, with_config
from typing_extensions import TypedDict

from rnnlens.reading.reading import LONGEST

_FLOAT = 3.5e38  # beyond what 32 bits hold
whole = with_config(ConfigDict(extra="forbid"))  # to the last field


def about(description: str) -> Any:
    """What a field means."""
    return Field(description=description)


def _named(name: str, **bounds: Any) -> Any:
    """A number or text that the page's types call by this name."""
    return Field(json_schema_extra={"x-name": name}, **bounds)


Count = Annotated[int, _named("Count", ge=0)]
Rank = Annotated[int, _named("Rank", ge=1, description="1: the most probable")]
Probability = Annotated[float, _named("Probability", ge=0, le=1)]
Bits = Annotated[float, _named("Bits", ge=0)]
DivergenceBits = Annotated[float, _named("DivergenceBits", ge=0, le=1)]
Perplexity = Annotated[float, _named("Perplexity", gt=0)]
Ratio = Annotated[float, _named("Ratio", gt=0)]
Steps = Annotated[int, _named("Steps", ge=-LONGEST, le=LONGEST)]
FollowedNumber = Annotated[float, _named("FollowedNumber", ge=-_FLOAT, le=_FLOAT)]
Logits = Annotated[float, _named("Logits", ge=-_FLOAT, le=_FLOAT)]
Nats = Annotated[float, _named("Nats", ge=-_FLOAT, le=_FLOAT)]
Share = Annotated[float, _named("Share", ge=-_FLOAT, le=_FLOAT, description="0: none, 1: all")]
Size = Annotated[float, _named("Size", ge=0)]
Amount = Annotated[float, _named("Amount", ge=-1e300, le=1e300)]
Correlation = Annotated[float, _named("Correlation", ge=-1.001, le=1.001)]
Colour = Annotated[str, _named("Colour", pattern="^#[0-9a-f]{6}$")]


From = TypedDict(
    "From", {"from": Annotated[Count, about("rows[0] is this row of the grid")]}
)  # which is no name for Python


@whole
class Problem(TypedDict):
    """What is wrong and what to do, in one line."""

    error: str


@whole
class Training(TypedDict):
    """Where in a training a run stands whose checkpoints were kept."""

    of: Annotated[str, about("the id of the run that the training ended with")]
    epoch: Annotated[Count, about("after which these weights were")]
    perplexity: Annotated[Perplexity | None, about("the model's own; null: not measured")]


@whole
class RunSummary(TypedDict):
    """A run that can be asked for."""

    id: str
    title: str
    labels: Annotated[Count, about("how many there are")]
    semantics: list[str]
    palettes: list[str]
    examples: list[str]
    probes: Annotated[bool, about("whether it has any")]
    comparable: Annotated[
        dict[str, list[str]], about("by semantic, the runs that can be compared with it")
    ]
    corpus: Annotated[bool, about("whether it has an index of one")]
    reads: Annotated[bool, about("whether there is a network: else texts are those recorded")]
    training: Annotated[Training | None, about("null: no checkpoints were kept")]


@whole
class Runs(TypedDict):
    """Every run that is served."""

    runs: list[RunSummary]


@whole
class Ends(TypedDict):
    """Between which numbers the true one lies, by 95%, if sentences are resampled."""

    low: Amount
    high: Amount


@whole
class Off(TypedDict):
    """Where probabilities are not what they say."""

    start: Annotated[Probability, about("from which on, a tenth wide")]
    accuracy: Annotated[Probability, about("how often the label was right")]
    states: Annotated[Count, about("that were counted")]


@whole
class Column(TypedDict):
    """A kind as it is drawn."""

    id: str
    kind: Annotated[str, about("its id")]
    letter: Annotated[str, about("such as l; empty: a submodule's output, called by its path")]
    part: Annotated[str, about("of the module, where it has several that are recurrent")]
    reverse: Annotated[bool, about("whether its layer reads backwards")]
    back: Annotated[Count, about("timesteps before that of its row")]
    layer: Annotated[Count, about("0: before the first; that of the prediction is the last")]
    name: str
    symbol: str
    equation: str
    sources: Annotated[
        list[tuple[str, Steps]],
        about("the kinds it is computed from, so many timesteps back"),
    ]
    shown: Annotated[bool, about("whether it is, unless somebody chooses")]
    silent: Annotated[bool, about("whether its probe tells no more than how frequent labels are")]
    perplexity: Annotated[Perplexity | None, about("null: not measured")]
    interval: Annotated[Ends | None, about("of its perplexity; null: not told")]
    used: Annotated[
        Share | None,
        about("how much of what its probe reads the model uses; null: not measured"),
    ]
    used_interval: Annotated[Ends | None, about("of what is used; null: not told")]
    called: Annotated[str, about("what is used, in a word that the interval supports; else empty")]
    off: Annotated[
        list[Off], about("where its probabilities are off by more than ten points, and surely")
    ]


@whole
class Word(TypedDict):
    """A word of the text and what the network takes it for."""

    text: str
    label: str
    unknown: bool
    group: Annotated[str | None, about("of the word as a label; null: words are no labels here")]
    value: Annotated[Amount | None, about("what is read at its step; null: it is a word")]
    picture: Annotated[
        list[Probability],
        about("the numbers read at its step, from 0 to 1 over the sequence; none: see value"),
    ]
    piece: Annotated[
        Literal["", "first", "inner", "last", "mark"],
        about("which piece of a word it is; a mark stands for no word; empty: it is a whole one"),
    ]


@whole
class Scale(TypedDict):
    """An axis of numbers, cut into bins that are labels."""

    edges: Annotated[list[Amount], about("of the bins, from the least number of training up")]
    names: Annotated[list[str], about("of the bins, in order")]
    calibrated: Annotated[
        bool, about("whether intervals were widened to hold what they say of held-out numbers")
    ]


@whole
class State(TypedDict):
    """The encoding of one state."""

    colour: Colour
    group: Annotated[str, about("that dominates")]
    share: Annotated[Probability, about("how much colour it has, by the palette's rule")]
    rival: Annotated[str | None, about("a group whose share is less than .05 smaller")]
    entropy: Bits
    top: Annotated[list[tuple[str, Probability]], about("the most probable labels first")]
    wanted: Annotated[tuple[str, Probability, Rank] | None, about("what really came")]
    unread: Annotated[bool, about("whether no word was read into it yet: what it says is void")]
    outside: Annotated[
        tuple[Size, Size, Size] | None,
        about(
            "where it is unlike the states that its probe was fitted on, its size, the root mean "
            "square of its standardised units, and the range of at least 99.9% of held-out states"
        ),
    ]
    number: Annotated[
        tuple[Amount, Amount, Amount] | None,
        about(
            "where labels are bins, the mean, of y the model's own number, and the interval that "
            "holds 80%"
        ),
    ]


@whole
class Change(TypedDict):
    """What edits have changed in a state."""

    bits: Annotated[DivergenceBits, about("between what it says and what it said before")]
    before: Annotated[tuple[str, Probability], about("the most probable label before")]
    now: Annotated[Probability, about("the probability of that label now")]


@whole
class Side(TypedDict):
    """One of two readings that are compared."""

    run: str
    title: str
    text: str
    columns: Annotated[list[Column], about("as this run has them; none: the grid's")]


@whole
class Line(TypedDict):
    """A line of two readings that are compared."""

    side: Annotated[Literal["both", "first", "second"], about("whose; both: all is the same")]
    row: Annotated[Count | None, about("of its text; null: no word stands here")]
    then: Annotated[
        tuple[str, str] | None,
        about("where two texts part: the word that comes next in each; empty: the end"),
    ]


@whole
class SourceAndTarget(TypedDict):
    """A text that is a source and a target, one after the other."""

    source: Annotated[Count, about("words of the source, which are the first rows")]
    columns: Annotated[list[str], about("that have states in those rows; others in the rest")]
    generated: Annotated[bool, about("whether the model has written the target itself")]
    attention: Annotated[str, about("the part that computes it; empty: there is none")]
    links: Annotated[
        list[list[tuple[Count, Probability]]],
        about("of each row of the target, rows of the source and their weights, largest first"),
    ]
    heads: Annotated[
        list[list[list[tuple[Count, Probability]]]],
        about(
            "where the attention has several heads, the links of each; `links` are of their mean"
        ),
    ]


@whole
class Grid(From):
    """The encodings of a text: all of its words and columns, and the rows that were asked for."""

    format: Literal["rnnlens-grid"]
    version: Literal[1]
    run: str
    title: str
    text: str
    follows: Annotated[bool, about("whether labels are the words that follow")]
    answer: Annotated[
        Literal["last", "mean"] | None,
        about(
            "where a whole text has one label, how the model's answer follows from y: what it says "
            "last, or the mean; null: labels are of words"
        ),
    ]
    semantic: str
    semantics: list[str]
    palette: str
    palettes: list[str]
    rule: Annotated[
        Literal["excess", "paper"],
        about("colours fade by what exceeds the groups' base rates, or by the paper's rule"),
    ]
    groups: dict[str, Colour]
    columns: list[Column]
    edges: Annotated[
        list[tuple[str, str]],
        about("which columns feed which; K@-1 without a column is K one row up, K@+1 down"),
    ]
    numbers: Annotated[bool, about("whether the model itself predicts numbers")]
    scale: Annotated[Scale | None, about("of the labels, where they are bins of numbers")]
    several: Annotated[bool, about("whether each label holds or not by itself")]
    alone: Annotated[bool, about("whether every label is a group of its own")]
    reads: Annotated[
        bool, about("whether there is a network, which reads other texts, and with edits")
    ]
    words: list[Word]
    left_out: Annotated[Count, about("words of the text beyond the most that are drawn")]
    labels: Annotated[dict[str, str], about("the group of every label that a state names")]
    placeholders: Annotated[
        dict[str, str], about("labels that stand for many words, such as UNK, and what these are")
    ]
    rows: Annotated[
        list[list[State | None]],
        about("a state for each column; null: it was not wanted"),
    ]
    edits: Annotated[list[str], about("what was changed while it was read, such as l2@4=0")]
    dropped: Annotated[list[str], about("why edits that were asked for are left out")]
    changes: Annotated[
        list[list[Change | None]],
        about(
            "where there are edits, what they change in each state of the rows; of two readings, "
            "how far each state of the second's lines lies from the first's; null where there is "
            "no state, or none that was wanted; else none"
        ),
    ]
    then: Annotated[
        list[list[tuple[Probability | None, Probability | None] | None]],
        about(
            "of two readings, in rows where texts part: how probable each state finds the next "
            "word of the first and of the second; null: there is none or it is unknown, or the "
            "state is not asked about the next word"
        ),
    ]
    sides: Annotated[list[Side], about("the two readings that are compared; else none")]
    lines: Annotated[list[Line], about("what each of the words is, where two are compared")]
    notes: Annotated[list[str], about("what of the two is not compared")]
    pairs: Annotated[
        list[SourceAndTarget],
        about("of each reading that is shown, where its text is a source and a target; else none"),
    ]


@whole
class Divergences(TypedDict):
    """Jensen-Shannon divergence of each pair."""

    bits: list[DivergenceBits]


@whole
class Use(TypedDict):
    """How much of what a kind's probe reads the model uses; null: not measured."""

    used: Annotated[Share, about("read / gradient")]
    read: Annotated[Nats, about("of a push towards a label, on its log-probability")]
    gradient: Annotated[Nats | None, about("of a push of equal size along the gradient")]
    random: Annotated[Nats, about("in a random direction")]
    shuffled: Annotated[Nats | None, about("towards another label")]
    later: Annotated[Bits | None, about("how far the push moves each of the next predictions")]
    later_random: Annotated[Bits | None, about("how far one in a random direction does")]
    interchange: Annotated[
        Correlation | None, about("of changes where states are interchanged between texts")
    ]
    interchange_shuffled: Correlation | None
    moved: Annotated[Bits | None, about("how far an interchange moves the prediction")]
    moved_later: Annotated[Bits | None, about("and each of the next ones")]
    erased: Annotated[Nats | None, about("what each prediction loses where labels are erased")]
    erased_random: Annotated[Nats | None, about("and where as many random directions are")]
    sentences: Annotated[Count, about("0: an older version's, which does not say")]
    deviations: Annotated[Amount | None, about("null: an older version's push")]
    rank: Annotated[Count, about("directions that were erased")]
    called: Annotated[str, about("in a word, where the interval supports one; else empty")]
    intervals: Annotated[dict[str, Ends], about("by 95%, of each number")]


@whole
class Bin(TypedDict):
    """States that are about as confident."""

    start: Annotated[Probability, about("the least of the bin")]
    confidence: Annotated[Probability, about("on average")]
    accuracy: Probability
    low: Annotated[Probability | None, about("of the accuracy, by 95%")]
    high: Probability | None
    states: Count


@whole
class Control(TypedDict):
    """What a probe in closed form says of true labels, and of random ones of word types."""

    accuracy: Probability
    control: Probability
    selectivity: Annotated[Amount, about("the first less the second")]
    low: Annotated[Amount | None, about("of the selectivity, by 95%")]
    high: Amount | None
    states: Count
    sentences: Count
    types: Count


@whole
class Description(TypedDict):
    """How many bits a label costs that is told with the help of states."""

    bits: Bits
    low: Bits | None
    high: Bits | None
    unigram: Annotated[Bits, about("by the frequencies alone")]
    uniform: Annotated[Bits, about("where all labels are as probable")]
    compression: Ratio
    states: Count
    sentences: Count


@whole
class Temperature(TypedDict):
    """What logits are best divided by, found on validation data."""

    value: Ratio
    perplexity: Annotated[Perplexity, about("on test states, with it")]
    calibration: Annotated[Probability, about("there, with it")]
    states: Count


@whole
class Unseen(TypedDict):
    """What the model is worth on the sentences that do not occur in training."""

    sentences: Count
    pairs: Count
    perplexity: Perplexity | None
    accuracy: Probability | None
    intervals: dict[str, Ends]


@whole
class Against(TypedDict):
    """A measure of a probe, of the model itself, and of the labels' frequencies in training."""

    probe: Amount
    model: Annotated[Amount | None, about("null: the model predicts another label")]
    constant: Amount


@whole
class Score(TypedDict):
    """How well the states of a kind predict, on the test split; null: not measured."""

    kind: str
    perplexity: Perplexity | None
    ratio: Annotated[Ratio | None, about("of its perplexity to the model's own")]
    accuracy: Probability | None
    kl: Annotated[Bits | None, about("from the model's own prediction, in bits")]
    calibration: Probability | None
    used: Use | None
    error: Annotated[Against | None, about("of numbers: the mean absolute error")]
    precision: Annotated[Against | None, about("of sets of labels: the average precision")]
    sentences: Annotated[Count, about("that were measured on; 0: an older version does not say")]
    intervals: Annotated[dict[str, Ends], about("by 95%, of each number")]
    below: Annotated[
        dict[str, Probability], about("by kind: how often its perplexity is lower, if resampled")
    ]
    reliability: Annotated[dict[str, list[Bin]], about("of all labels, and by their frequency")]
    control: Control | None
    description: Description | None
    temperature: Temperature | None


@whole
class Confusion(TypedDict):
    """How often each true label (rows) got each answer (columns)."""

    labels: list[str]
    counts: list[list[Count]]


@whole
class TrainingPoint(TypedDict):
    """Perplexities after an epoch; null: not measured."""

    run: str
    epoch: Count
    own: Annotated[Perplexity | None, about("the model's")]
    semantics: Annotated[dict[str, dict[str, Perplexity | None]], about("by kind")]


@whole
class Accuracy(TypedDict):
    """The evaluation of a run."""

    run: str
    title: str
    follows: bool
    rounding: Annotated[
        str | None, about("what the rounding of weights costs a published file; null: it is none")
    ]
    numbers: Annotated[bool, about("whether the model predicts numbers")]
    own: Annotated[Perplexity | None, about("the model's; null: it predicts nothing of this")]
    unigram: Perplexity | None
    unigrams: Annotated[dict[str, Perplexity], about("by semantic")]
    semantics: dict[str, list[Score]]
    accuracy: Annotated[Probability | None, about("of answers that are labels; else null")]
    macro_f1: Probability | None
    confusion: Confusion | None
    sentences: Annotated[Count, about("of the test split; 0: not said")]
    intervals: Annotated[dict[str, Ends], about("of the model's own numbers, by 95%")]
    unseen: Annotated[Unseen | None, about("without the sentences that occur in training")]
    training: Annotated[
        list[TrainingPoint],
        about("the checkpoints of its training that were kept, in order; else none"),
    ]
