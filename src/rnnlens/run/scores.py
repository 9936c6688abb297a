"""How well each kind predicts: what a run's evaluation.json says."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any

from annotated_types import Ge, Le, MaxLen

from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import Count, Name, Sha, Strict, is_present, read_json
from rnnlens.model.kinds import PREDICTION
from rnnlens.probe.control import Control, Description
from rnnlens.probe.evaluation import Score
from rnnlens.probe.measures import MOST_CONFUSED
from rnnlens.probe.tally import ALL
from rnnlens.probe.used import Used, word_of

_NUMBERS = {  # ours -> evaluation.json's
    "perplexity": "perplexity", "ratio": "ratio", "accuracy": "accuracy", "kl": "divergence",
    "calibration": "calibration",
}  # fmt: skip
_OURS = {theirs: ours for ours, theirs in _NUMBERS.items()}
_MORE = ("used", "error", "precision", "control", "description", "temperature")  # not of all kinds
_SURE = ("sentences", "intervals", "below", "reliability")  # how sure the numbers are
_MOST_SCORES = 100_000  # scores
_OFF = 0.10  # of a probability: what says so much more or less than holds is marked

Number = Annotated[float, Ge(-1e300), Le(1e300)]


@dataclass(frozen=True)
class _Interval(Strict):
    """Between which numbers the true one lies, by 95%."""

    low: Number
    high: Number


_Intervals = Annotated[dict[Name, _Interval], MaxLen(100)]


@dataclass(frozen=True)
class _Unseen(Strict):
    """How well the model predicts the sentences of a part that do not occur in training."""

    sentences: Count
    pairs: Count
    perplexity: Number | None
    accuracy: Number | None = None
    intervals: _Intervals = field(default_factory=dict)


@dataclass(frozen=True)
class _Split(Strict):
    """How well the model itself predicts a part of its corpus."""

    perplexity: Number | None
    unigram: Number | None
    pairs: Count = 0
    sentences: Count = 0
    batches: Count = 0
    sequences: Count = 0
    accuracy: Number | None = None  # of networks that tag or classify
    macro_f1: Number | None = None
    intervals: _Intervals = field(default_factory=dict)  # older evaluations have none
    unseen: _Unseen | None = None


@dataclass(frozen=True)
class Confusion(Strict):
    """How often each true label (rows) got each answer (columns) on the test part."""

    labels: Annotated[tuple[Name, ...], MaxLen(MOST_CONFUSED)]
    counts: Annotated[
        tuple[Annotated[tuple[Count, ...], MaxLen(MOST_CONFUSED)], ...], MaxLen(MOST_CONFUSED)
    ]

    def __post_init__(self) -> None:
        if {len(self.counts), *map(len, self.counts)} != {len(self.labels)}:
            raise ValueError("the confusion of labels is no square of their number")


@dataclass(frozen=True)
class _Used(Strict):
    """What was measured of a kind's use; see `rnnlens.probe.used`."""

    used: Number
    read: Number
    random: Number
    gradient: Number | None = None
    shuffled: Number | None = None
    later: Number | None = None
    later_random: Number | None = None
    interchange: Number | None = None
    interchange_shuffled: Number | None = None
    moved: Number | None = None
    moved_later: Number | None = None
    erased: Number | None = None
    erased_random: Number | None = None
    sentences: Count = 0
    deviations: Number | None = None  # None: an older version's push, of another length
    rank: Count = 0
    called: Annotated[str, MaxLen(40)] = ""
    intervals: _Intervals = field(default_factory=dict)
    # What older versions measured instead, by pushes of half of a kind's deviation.
    most: Number | None = None
    shaped: Number | None = None
    swap: Number | None = None

    def shown(self) -> dict[str, Any]:
        """What is shown of it, with a word where the interval supports one."""
        plain = {n: v for n, v in asdict(self).items() if n not in ("most", "shaped", "swap")}
        ends = self.intervals.get("used")
        plain["called"] = word_of(ends.low, ends.high) if ends else ""
        if self.deviations is None:
            plain |= {"gradient": self.most, "interchange": self.swap}
        return plain


@dataclass(frozen=True)
class _Bin(Strict):
    """States of about equal confidence; see `rnnlens.probe.tally`."""

    start: Number
    confidence: Number
    accuracy: Number
    low: Number | None
    high: Number | None
    states: Count


@dataclass(frozen=True)
class _Control(Strict):
    """What a probe of the same sort memorises; see `rnnlens.probe.control`."""

    accuracy: Number
    control: Number
    selectivity: Number
    low: Number | None
    high: Number | None
    states: Count
    sentences: Count
    types: Count


@dataclass(frozen=True)
class _Description(Strict):
    """How short the labels can be told with a kind's states; see `rnnlens.probe.control`."""

    bits: Number
    low: Number | None
    high: Number | None
    unigram: Number
    uniform: Number
    compression: Number
    states: Count
    sentences: Count


@dataclass(frozen=True)
class _Temperature(Strict):
    """What logits are best divided by; see `rnnlens.probe.temperature`."""

    value: Number
    perplexity: Number
    calibration: Number
    states: Count


@dataclass(frozen=True)
class _Against(Strict):
    """A measure of a probe, of the model and of frequencies; see `rnnlens.probe.measures`."""

    probe: Number
    model: Number | None
    constant: Number


@dataclass(frozen=True)
class _KindScore(Strict):
    """A `Score`, with None for numbers that are infinite."""

    semantic: Name
    kind: Name
    perplexity: Number | None
    ratio: Number | None
    accuracy: Number | None
    divergence: Number | None
    calibration: Number | None
    unigram: Number
    pairs: Count = 0
    used: _Used | None = None  # older evaluations have none
    error: _Against | None = None
    precision: _Against | None = None
    sentences: Count = 0
    intervals: _Intervals = field(default_factory=dict)
    below: Annotated[dict[Name, Number], MaxLen(1000)] = field(default_factory=dict)
    reliability: Annotated[dict[Name, Annotated[tuple[_Bin, ...], MaxLen(100)]], MaxLen(10)] = (
        field(default_factory=dict)
    )
    selectivity: Number | None = None
    control: _Control | None = None
    description: _Description | None = None
    temperature: _Temperature | None = None


@dataclass(frozen=True)
class _Reach(Strict):
    """How well a kind tells one of the labels around."""

    semantic: Name
    kind: Name
    perplexity: Number | None
    unigram: Number


@dataclass(frozen=True)
class _File(Strict):
    """evaluation.json: what was measured."""

    model: Annotated[dict[Name, _Split], MaxLen(100)]
    weights: Sha | None = None  # of the model that was measured; older ones do not say
    of: Sha | None = None  # the SHA-256 of the probes that were measured; older ones do not say
    probes: Annotated[tuple[_KindScore, ...], MaxLen(_MOST_SCORES)] = ()
    control: Annotated[tuple[_KindScore, ...], MaxLen(_MOST_SCORES)] = ()
    confusion: Confusion | None = None
    reach: Annotated[tuple[_Reach, ...], MaxLen(_MOST_SCORES)] = ()

    def __post_init__(self) -> None:
        if "test" not in self.model:
            raise ValueError("there is nothing of the test part")


@dataclass(frozen=True)
class Scores:
    """Of the model and of every probe on the test split; empty where nothing was measured."""

    own: float | None = None  # the model's own perplexity
    unigram: float | None = None
    semantics: Mapping[str, list[dict[str, Any]]] = field(default_factory=dict)
    unigrams: Mapping[str, float] = field(default_factory=dict)  # of each semantic's labels
    # Of a network that tags or classifies: how often it is right, and what it takes for what.
    accuracy: float | None = None
    macro_f1: float | None = None
    confusion: Confusion | None = None
    reach: Sequence[dict[str, Any]] = ()  # of every kind, for the labels around
    #: Of the model on the test split: sentences, intervals, and what is left of it without the
    #: sentences that occur in training.
    sure: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path, probes: str | None = None, weights: str | None = None) -> "Scores":
        """What `rnnlens eval` left in a run folder, which has probes and weights of these SHA-256.

        Where others were fitted since, nothing is known of these yet; a model stays what it is.
        """
        path = folder / "evaluation.json"
        if not is_present(path):
            return cls()
        remedy = f"measure again: rnnlens eval {folder}"
        file = read_json(path, _File, remedy)
        if weights and file.weights not in (None, weights):
            raise RnnlensError(f"{path} is of another model; {remedy}")
        semantics: dict[str, list[dict[str, Any]]] = {}
        current = file.of is None or file.of == probes
        for score in file.probes if current else ():
            row: dict[str, Any] = {ours: getattr(score, name) for ours, name in _NUMBERS.items()}
            row |= {name: _plain(getattr(score, name)) for name in (*_MORE, *_SURE)}
            row["intervals"] = {_OURS.get(n, n): ends for n, ends in row["intervals"].items()}
            semantics.setdefault(score.semantic, []).append({"kind": score.kind, **row})
        unigrams = {score.semantic: score.unigram for score in file.probes if current}
        test = file.model["test"]
        answers = (test.accuracy, test.macro_f1, file.confusion)
        reach = tuple(asdict(row) for row in file.reach) if current else ()
        sure = {name: _plain(getattr(test, name)) for name in ("sentences", "intervals", "unseen")}
        sure = {name: value for name, value in sure.items() if value}
        return cls(test.perplexity, test.unigram, semantics, unigrams, *answers, reach, sure)

    @classmethod
    def of(cls, scores: Sequence[Score]) -> "Scores":
        """What was just measured."""
        semantics: dict[str, list[dict[str, Any]]] = {}
        for score in scores:
            row = {ours: getattr(score, ours) for ours in _NUMBERS}
            row |= {name: _plain(getattr(score, name)) for name in (*_MORE, *_SURE)}
            semantics.setdefault(score.semantic, []).append({"kind": score.kind, **row})
        own = next((s.perplexity / s.ratio for s in scores if s.ratio), None)
        unigrams = {score.semantic: score.unigram for score in scores}
        return cls(own, unigrams.get("output"), semantics, unigrams)

    def evaluation(self) -> dict[str, Any]:
        """What evaluation.json holds."""
        theirs = [
            {"semantic": semantic, "kind": row["kind"], "unigram": self.unigrams[semantic]}
            | {name: row[ours] for ours, name in _NUMBERS.items()}
            | {name: row[name] for name in _MORE if row[name] or name == "used"}
            | {name: row[name] for name in _SURE if row[name]}
            | {"intervals": {_NUMBERS.get(n, n): ends for n, ends in row["intervals"].items()}}
            for semantic, rows in self.semantics.items()
            for row in rows
        ]
        model = {"perplexity": self.own, "unigram": self.unigram}
        model |= {"accuracy": self.accuracy, "macro_f1": self.macro_f1}
        model |= self.sure
        confusion = None if self.confusion is None else asdict(self.confusion)
        reach = list(self.reach)
        return {"model": {"test": model}, "probes": theirs, "confusion": confusion, "reach": reach}

    def row(self, semantic: str, kind: str) -> dict[str, Any]:
        """What was measured of a kind under a semantic; empty: nothing."""
        rows = self.semantics.get(semantic, [])
        return next((row for row in rows if row["kind"] == kind), {})

    def used(self, semantic: str, kind: str) -> dict[str, Any] | None:
        """How much of what a kind's probe reads the model uses; None: not measured."""
        return self.row(semantic, kind).get("used")

    def off(self, semantic: str, kind: str) -> list[dict[str, Any]]:
        """Where what a kind's states say is off by more than ten points: from which probability on,
        how often states are right that say so, and how many were counted.
        """
        bins = self.row(semantic, kind).get("reliability", {}).get(ALL, [])
        return [
            {"start": one["start"], "accuracy": one["accuracy"], "states": one["states"]}
            for one in bins
            if abs(one["confidence"] - one["accuracy"]) > _OFF
            and one["low"] is not None
            and not one["low"] <= one["confidence"] <= one["high"]
        ]

    def interval(self, semantic: str, kind: str) -> dict[str, float] | None:
        """Of the perplexity of a kind or of the model itself; None: not told."""
        if kind == PREDICTION:
            found: dict[str, float] | None = (self.sure.get("intervals") or {}).get("perplexity")
            return found
        ends: dict[str, float] | None = (
            self.row(semantic, kind).get("intervals", {}).get("perplexity")
        )
        return ends

    def perplexity(self, semantic: str, kind: str) -> float | None:
        """The perplexity of a kind under a semantic, or of the model itself."""
        if kind == PREDICTION:
            return self.own
        found: float | None = self.row(semantic, kind).get("perplexity")
        return found

    def over_training(self) -> dict[str, Any]:
        """The model's own perplexity, and each kind's by semantic: a point of what is drawn over a
        training.
        """
        semantics = {
            name: {row["kind"]: row["perplexity"] for row in rows}
            for name, rows in self.semantics.items()
        }
        return {"own": self.own, "semantics": semantics}

    def to_json(self) -> dict[str, Any]:
        """What the accuracy page draws."""
        semantics = {
            name: [
                {**row, "kl": None if row["kl"] is None else max(0.0, row["kl"])} for row in rows
            ]
            for name, rows in self.semantics.items()
        }  # a sum of rounded numbers may lie a little below 0
        return {
            "own": self.own,
            "unigram": self.unigram,
            "unigrams": dict(self.unigrams),
            "semantics": semantics,
            "accuracy": self.accuracy,
            "macro_f1": self.macro_f1,
            "confusion": None if self.confusion is None else asdict(self.confusion),
            "sentences": self.sure.get("sentences") or 0,
            "intervals": self.sure.get("intervals") or {},
            "unseen": self.sure.get("unseen"),
        }


def _plain(value: Any) -> Any:
    """What was measured as plain numbers, lists and dictionaries."""
    if isinstance(value, Used | Control | Description):
        return value.to_json()
    if isinstance(value, _Used):
        return value.shown()
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: _plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, Mapping):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(inner) for inner in value]
    return value
