"""How good a model is, and its probes kind by kind, on data that had no part in fitting them."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from rnnlens.base.errors import RnnlensError
from rnnlens.base.progress import Progress
from rnnlens.labels.sets import LabelSet
from rnnlens.model.kinds import PREDICTION
from rnnlens.model.train.perplexity import perplexity
from rnnlens.probe.dataset import Chunk, Dataset
from rnnlens.probe.fit_loop import FitObserver, fit_probes
from rnnlens.probe.fitting import FitConfig
from rnnlens.probe.measures import Against, Errors, Measure, Precision, Verdicts, prior_nll
from rnnlens.probe.probes import Probes
from rnnlens.probe.semantics import OUTPUT, base, of_model
from rnnlens.probe.used import SENTENCES, Used, used

_BINS = 15  # of confidence, for the calibration error
_FARTHEST = 100  # words of a horizon


@dataclass(frozen=True)
class Score:
    """How well one kind predicts under one semantic."""

    semantic: str  #: What was asked.
    kind: str  #: Its id.
    pairs: int  #: States that the score is about.
    perplexity: float  #: Of the probe.
    #: To the model's own perplexity; None where the model predicts another label.
    ratio: float | None
    accuracy: float  #: How often the most probable label is right.
    kl: float | None  #: Mean Kullback-Leibler divergence from the model's own, in bits.
    calibration: float  #: Expected calibration error: mean gap of confidence and accuracy.
    unigram: float  #: Perplexity of the labels' frequencies in training.
    #: How much of what the probe reads the model itself uses; None: not measured.
    used: Used | None = None
    #: Where labels are numbers: the mean absolute error of each distribution's mean.
    error: Against | None = None
    #: Where several labels hold at once: the average precision, mean over the labels.
    precision: Against | None = None

    def to_json(self) -> dict[str, Any]:
        """What evaluation.json holds of it, where `kl` has always been called divergence."""
        plain = asdict(self) | {"used": self.used.to_json() if self.used else None}
        return {"divergence" if name == "kl" else name: plain[name] for name in plain}


class Evaluation(list[Score]):
    """A score of every kind and semantic, and what was measured beside them.

    `control`: of probes that were fitted to shuffled labels, and so can only memorise. `reach`: of
    every kind for each label around the next one. `model`: what the model itself is worth on each
    split, beside the unigram baseline. `confusion`: how often it takes which label for which.
    """

    def __init__(
        self,
        scores: Iterable[Score] = (),
        control: Sequence[Score] = (),
        reach: Sequence[Score] = (),
        model: Mapping[str, Mapping[str, float | None]] | None = None,
        confusion: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(scores)
        self.control, self.reach = tuple(control), tuple(reach)
        self.model, self.confusion = dict(model or {}), confusion

    def to_json(self, probes: str | None = None) -> dict[str, Any]:
        """What evaluation.json holds; `probes` is the SHA-256 of those that were measured."""
        contents: dict[str, Any] = {"model": self.model}
        if self.confusion:
            contents["confusion"] = self.confusion
        if probes:
            contents |= {"of": probes, "probes": [score.to_json() for score in self]}
        if self.control:
            contents["control"] = [score.to_json() for score in self.control]
        if self.reach:
            names = ("semantic", "kind", "perplexity", "unigram")
            contents["reach"] = [{n: getattr(score, n) for n in names} for score in self.reach]
        plain: dict[str, Any] = _finite(contents)
        return plain


def _finite(value: Any) -> Any:
    """A copy with None for infinite numbers, which JSON cannot hold: a probability may be 0."""
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def evaluate_model(dataset: Dataset, labels: Sequence[str]) -> Evaluation:
    """What the model itself is worth on each split; None for what it does not predict."""
    if not dataset.model.predicts:
        nothing = {"pairs": 0, "perplexity": None, "unigram": None}
        return Evaluation(
            model={n: {s.unit: len(s.counts), **nothing} for n, s in dataset.splits.items()}
        )
    pairs = sum(dataset.stream(name, OUTPUT).pairs for name in dataset.splits)
    with Progress(pairs, unit="state", device=dataset.device, title="the model itself") as progress:
        parts, confusion = model_scores(dataset, progress.advance)
    counts = {"labels": list(labels), "counts": confusion} if confusion else None
    return Evaluation(model=parts, confusion=counts)


def evaluate_probes(
    probes: Probes,
    dataset: Dataset,
    config: FitConfig | None = None,
    *,
    states: int = 0,
    used: bool = False,
    control: bool = False,
    horizon: int = 0,
) -> Evaluation:
    """Score probes on the test split, on at most about `states` states of each semantic; 0: all.

    `used`: also say how much of what is read the model uses. `control` and `horizon` fit probes as
    `config` says, measure them, and keep none: to shuffled labels, and for the labels from so many
    steps earlier than the next one to as many later.
    """
    around, config = horizon_semantics(horizon) if horizon else [], config or FitConfig()
    for name in ("train", "valid") if control or around else ():
        if name not in dataset.splits:
            raise RnnlensError(
                "a control and a horizon fit probes of their own; give data for that too: "
                '{"train": ..., "valid": ..., "test": ...}'
            )
    scores = _shown_scores(probes, dataset, states, "probes")
    if used:
        scores = _with_use(scores, probes, dataset)
    memorised, reach = [], []
    if control:
        shuffled = dataset.shuffled(config.seed)
        control_config = replace(config, semantic=",".join(probes.semantics))
        fitted = fit_probes(shuffled, control_config, FitObserver("shuffled "), closed_form=False)
        memorised = _shown_scores(fitted.to(dataset.device), shuffled, states, "probes")
    if around:
        reach = _reach(probes, dataset, config, around, states)
    return Evaluation(scores, memorised, reach)


def _with_use(scores: list[Score], probes: Probes, dataset: Dataset) -> list[Score]:
    """Scores of the semantic output with what is used of each kind."""
    size = SENTENCES * len(probes.kinds)
    with Progress(size, unit="state", device=dataset.device, title="used") as progress:
        by_kind = {use.kind: use for use in used(probes, dataset, advance=progress.advance)}
    return [
        replace(score, used=by_kind.get(score.kind)) if score.semantic == OUTPUT else score
        for score in scores
    ]


def horizon_semantics(horizon: int) -> list[str]:
    """The labels from `horizon` steps earlier than the next one to as many later."""
    if not 1 <= horizon <= _FARTHEST:
        raise RnnlensError(f"--horizon {horizon}: give a number from 1 to {_FARTHEST}")
    return [f"output{k:+d}" if k else "output" for k in range(-horizon, horizon + 1)]


def _reach(
    probes: Probes, dataset: Dataset, config: FitConfig, semantics: Sequence[str], states: int
) -> list[Score]:
    """How well every kind tells each label around; probes that are not there are fitted."""
    there = {name: stack for name, stack in probes.stacks.items() if name in semantics}
    known = replace(probes, stacks=there)
    scores = _shown_scores(known, dataset, states, "reach") if there else []
    for semantic in semantics:
        if semantic not in there:
            one = replace(config, semantic=semantic)
            fitted = fit_probes(dataset, one, FitObserver("reach ")).to(dataset.device)
            scores += _shown_scores(fitted, dataset, states, "reach")
    return sorted(scores, key=lambda score: semantics.index(score.semantic))


def _shown_scores(probes: Probes, dataset: Dataset, states: int, title: str) -> list[Score]:
    """The scores of probes, with a bar while they are measured."""
    pairs = dataset.stream("test", probes.semantics[0]).pairs
    size = min(states or pairs, pairs)
    tip = (f"--states {max(1, size // 4)}", 1 / 4)
    with Progress(
        size * len(probes.semantics), unit="state", device=dataset.device, title=title, shorter=tip,
    ) as progress:  # fmt: skip
        return list(probe_scores(probes, dataset, states, progress.advance))


class _Sums:
    """Running sums over the states of one kind."""

    def __init__(self, answers: LabelSet, device: torch.device) -> None:
        self.answers = answers
        self.more: Measure | None = None
        if answers.several or answers.scale:
            self.more = Precision(answers) if answers.several else Errors(answers)
        self.nll = torch.zeros((), dtype=torch.float64, device=device)
        self.right = torch.zeros_like(self.nll)
        self.kl = torch.zeros_like(self.nll)
        self.bins = torch.zeros(3, _BINS, dtype=torch.float64, device=device)

    def add(
        self, logits: Tensor, chunk: Chunk, model_logits: Tensor | None, y: Tensor | None = None
    ) -> None:
        """Take in logits (N, V); `model_logits` are those of the model itself.

        `y`: they are the model's own, made of this.
        """
        if isinstance(self.more, Errors) and y is not None:  # the number itself, without bins
            self.more.add_numbers(y[:, 0], chunk)
        elif self.more:
            self.more.add(self.answers.probabilities(logits), chunk)
        rows, labels = self.answers.questions(logits, chunk.labels)
        log_p = rows.log_softmax(-1)
        self.nll -= log_p.gather(1, labels[:, None]).sum()
        confidence, guess = log_p.max(-1)
        confidence, right = confidence.exp(), (guess == labels).float()
        self.right += right.sum()
        place = (confidence * _BINS).long().clamp_max(_BINS - 1)
        for row, values in enumerate((confidence, right, torch.ones_like(right))):
            self.bins[row] += torch.bincount(place, values, _BINS)
        if model_logits is not None:
            model_log_p = self.answers.questions(model_logits, chunk.labels)[0].log_softmax(-1)
            gap = model_log_p - log_p
            self.kl += (model_log_p.exp() * gap).sum() / np.log(2)

    def calibration(self) -> float:
        confidence, right, count = self.bins
        return float((confidence - right).abs().sum() / count.sum())


@torch.no_grad()
def probe_scores(
    probes: Probes, dataset: Dataset, states: int = 0, advance: Callable[[int], object] = int
) -> Iterator[Score]:
    """Score every kind and semantic on the test split, on at most about `states` states; 0: all.

    `advance` is told the number of states after each chunk.
    """
    others = dataset.splits["test"].others
    for semantic in probes.semantics:
        if not of_model(semantic) and base(semantic) not in others:
            continue  # this data does not tell
        own = semantic == OUTPUT and dataset.model.predicts
        kinds = (*probes.kinds, *((PREDICTION,) if own else ()))
        stream, counts = dataset.stream("test", semantic, kinds=kinds), probes.counts.get(semantic)
        answers = dataset.answers_to(semantic)
        prior = answers.prior(dataset.counts(semantic) if counts is None else counts)
        sums = {kind: _Sums(answers, dataset.device) for kind in probes.kinds}
        model = _Sums(answers, dataset.device) if own else None
        constant = _Sums(answers, dataset.device)
        pairs, unigram = 0, 0.0
        chunks = stream.chunks((0,) if states else None) if stream.pairs else ()
        for chunk in chunks:
            model_logits = None
            if model:
                model_logits = dataset.model.predict(chunk.states[PREDICTION])
                model.add(model_logits, chunk, None, chunk.states[PREDICTION])
            for kind in probes.kinds:
                logits = probes.logits(kind, chunk.states[kind], semantic)
                sums[kind].add(logits, chunk, model_logits)
            if constant.more:
                constant.more.add(answers.probabilities(prior.expand(len(chunk.labels), -1)), chunk)
            unigram += prior_nll(answers, prior, chunk.labels)
            pairs += chunk.labels.numel()
            advance(len(chunk.labels))
            if states and pairs >= states:
                break
        if not pairs:
            raise RnnlensError(f"no test sentence is long enough for the semantic {semantic!r}")
        for kind, total in sums.items():
            yield Score(
                semantic=semantic,
                kind=kind,
                pairs=pairs,
                perplexity=perplexity(float(total.nll), pairs),
                ratio=float(np.exp(float(total.nll - model.nll) / pairs)) if model else None,
                accuracy=float(total.right) / pairs,
                kl=float(total.kl) / pairs if model else None,
                calibration=total.calibration(),
                unigram=perplexity(unigram, pairs),
                error=_against(Errors, total, model, constant),
                precision=_against(Precision, total, model, constant),
            )


def _against(
    sort: type[Measure], total: _Sums, model: _Sums | None, constant: _Sums
) -> Against | None:
    """A measure of a probe, of the model and of the frequencies, where labels are of that sort."""
    ours, theirs = (sums.more.value() if isinstance(sums.more, sort) else None
                    for sums in (total, constant))  # fmt: skip
    own = model.more.value() if model and model.more else None
    return None if ours is None or theirs is None else Against(ours, own, theirs)


class ModelScores(NamedTuple):
    """What was measured of a model."""

    parts: dict[str, dict[str, float]]  # of each split
    confusion: list[list[int]] | None  # on the test split, true label by answer; None: not counted


@torch.no_grad()
def model_scores(dataset: Dataset, advance: Callable[[int], object] = int) -> ModelScores:
    """What a model's own predictions are worth on each split, beside the unigram baseline.

    `advance` is told the number of states after each chunk. A language model's answers are not
    counted: its labels are thousands, and perplexity is what people compare.
    """
    answers, parts = dataset.answers_to(OUTPUT), {}
    prior, confusion = answers.prior(dataset.counts(OUTPUT)), None
    counts = not (dataset.follows or answers.several or answers.scale)
    for name, data in dataset.splits.items():
        model_nll = unigram_nll = 0.0
        pairs, verdicts = 0, Verdicts(dataset.label_count) if counts else None
        for chunk in dataset.stream(name, OUTPUT, kinds=(PREDICTION,)).chunks():
            logits = dataset.model.predict(chunk.states[PREDICTION])
            rows = answers.questions(logits, chunk.labels)
            model_nll += float(F.cross_entropy(*rows, reduction="sum"))
            unigram_nll += prior_nll(answers, prior, chunk.labels)
            pairs += chunk.labels.numel()
            if verdicts:
                verdicts.add(*_answered(chunk, logits, dataset))
            advance(len(chunk.labels))
        parts[name] = {
            data.unit: len(data.counts),
            "pairs": pairs,
            "perplexity": perplexity(model_nll, pairs),
            "unigram": perplexity(unigram_nll, pairs),
        }
        if verdicts:
            parts[name] |= {"accuracy": verdicts.accuracy, "macro_f1": verdicts.macro_f1}
            confusion = verdicts.confusion if name == "test" else confusion
    return ModelScores(parts, confusion)


def _answered(chunk: Chunk, logits: Tensor, dataset: Dataset) -> tuple[Tensor, Tensor]:
    """The true labels of what is asked, and the model's answers.

    Of a whole text the answer is what a model says after the last word. One that reads both ways
    has read everything at each word, and its answer is the mean of the probabilities there.
    """
    if not dataset.of_texts:
        return chunk.labels, logits.argmax(-1)
    places = torch.arange(len(logits), device=logits.device)
    last = places.new_zeros(chunk.count).scatter_reduce_(0, chunk.sequences, places, "amax")
    if dataset.model.causal:
        answers = logits[last]
    else:
        answers = logits.new_zeros(chunk.count, logits.shape[1])
        answers.index_add_(0, chunk.sequences, logits.softmax(-1))
    there = torch.bincount(chunk.sequences, minlength=chunk.count) > 0  # others have no label
    return chunk.labels[last[there]], answers[there].argmax(-1)
