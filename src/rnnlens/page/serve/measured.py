"""What the server answers about how well each kind predicts."""

from pydantic import Field

from rnnlens.page.serve.fields import (
    Amount,
    Answer,
    Bits,
    Correlation,
    Count,
    Nats,
    Perplexity,
    Probability,
    Ratio,
    Share,
)


class Use(Answer):
    """How much of what a kind's probe reads the model uses; effects of pushes are in nats."""

    used: Share = Field(description="read / most")
    read: Nats = Field(description="along the probe's row")
    most: Nats = Field(description="along the gradient")
    random: Nats = Field(description="in a random direction")
    shaped: Nats = Field(description="in a random direction in which states do vary")
    swap: Correlation | None = Field(
        description="correlation of changes where states are swapped; null: none were"
    )


class Against(Answer):
    """A measure of a probe, of the model itself, and of the labels' frequencies in training."""

    probe: Amount
    model: Amount | None = Field(description="null: the model predicts another label")
    constant: Amount


class Score(Answer):
    """How well the states of a kind predict, on the test split; null: not measured."""

    kind: str
    perplexity: Perplexity | None
    ratio: Ratio | None = Field(description="of its perplexity to the model's own")
    accuracy: Probability | None
    kl: Bits | None = Field(description="from the model's own prediction, in bits")
    calibration: Probability | None
    used: Use | None
    error: Against | None = Field(description="of numbers: the mean absolute error")
    precision: Against | None = Field(description="of sets of labels: the average precision")


class Confusion(Answer):
    """How often each true label (rows) got each answer (columns)."""

    labels: list[str]
    counts: list[list[Count]]


class TrainingPoint(Answer):
    """Perplexities after an epoch; null: not measured."""

    run: str
    epoch: Count
    own: Perplexity | None = Field(description="the model's")
    semantics: dict[str, dict[str, Perplexity | None]] = Field(description="by kind")


class Accuracy(Answer):
    """The evaluation of a run."""

    run: str
    title: str
    follows: bool
    numbers: bool = Field(description="whether the model predicts numbers")
    own: Perplexity | None = Field(description="the model's; null: it predicts nothing of this")
    unigram: Perplexity | None
    unigrams: dict[str, Perplexity] = Field(description="by semantic")
    semantics: dict[str, list[Score]]
    accuracy: Probability | None = Field(description="of answers that are labels; else null")
    macro_f1: Probability | None
    confusion: Confusion | None
    training: list[TrainingPoint] = Field(
        description="the checkpoints of its training that were kept, in order; else none"
    )
