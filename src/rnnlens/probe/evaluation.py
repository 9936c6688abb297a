"""How good a model is, and its probes kind by kind, on data that had no part in fitting them."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from rnnlens.base.errors import RnnlensError
from rnnlens.base.intervals import UNITS, Floats, Interval, Resamples, exponential
from rnnlens.base.progress import Progress
from rnnlens.model.kinds import PREDICTION
from rnnlens.model.softmax import rows_at_once
from rnnlens.model.train.perplexity import perplexity
from rnnlens.probe.control import Control, Description, controls
from rnnlens.probe.data import Ints
from rnnlens.probe.dataset import CHUNK, Chunk, Dataset, Stream
from rnnlens.probe.fit_loop import FitObserver, fit_probes
from rnnlens.probe.fitting import FitConfig
from rnnlens.probe.measures import Against, Errors, Measure, Precision, Verdicts, prior_nll
from rnnlens.probe.probes import Probes
from rnnlens.probe.semantics import OUTPUT, base, of_model
from rnnlens.probe.tally import Bin, Own, Tally, Units, by_unit, sure
from rnnlens.probe.temperature import STATES as TRIED
from rnnlens.probe.temperature import Temperature, temperatures
from rnnlens.probe.used import SENTENCES, Used, used

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
    sentences: int = 0  #: That the states are of.
    #: Of perplexity, ratio, accuracy and kl, by 95%; empty where sentences are too few.
    intervals: Mapping[str, Interval] = field(default_factory=dict)
    #: By other kind: in which share of the resampled texts its perplexity lies below that one's.
    below: Mapping[str, float] = field(default_factory=dict)
    #: How often states are right that are about as confident: of all labels, and by how often the
    #: most probable label was seen in training.
    reliability: Mapping[str, Sequence[Bin]] = field(default_factory=dict)
    control: Control | None = None  #: What such a probe memorises; None: not measured.
    description: Description | None = None  #: How short labels are told with the states.
    temperature: Temperature | None = None  #: What logits are best divided by.

    @property
    def selectivity(self) -> float | None:
        """The accuracy of a probe in closed form less that of its control; None: not measured."""
        return self.control.selectivity if self.control else None

    def to_json(self) -> dict[str, Any]:
        """What evaluation.json holds of it, where `kl` has always been called divergence."""
        plain: dict[str, Any] = asdict(self)
        plain["used"] = self.used.to_json() if self.used else None
        plain["selectivity"] = self.selectivity
        if self.control:
            plain["control"] = self.control.to_json()
        if self.description:
            plain["description"] = self.description.to_json()
        plain["intervals"] = {_theirs(name): ends for name, ends in plain["intervals"].items()}
        return {_theirs(name): value for name, value in plain.items()}


def _theirs(name: str) -> str:
    """The name that evaluation.json has for one of ours."""
    return "divergence" if name == "kl" else name


class Evaluation(list[Score]):
    """A score of every kind and semantic, and what was measured beside them.

    `reach`: of every kind for each label around the next one. `model`: what the model itself is
    worth on each split, beside the unigram baseline. `confusion`: how often it takes which label
    for which.
    """

    def __init__(
        self,
        scores: Iterable[Score] = (),
        reach: Sequence[Score] = (),
        model: Mapping[str, Mapping[str, Any]] | None = None,
        confusion: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(scores)
        self.reach = tuple(reach)
        self.model, self.confusion = dict(model or {}), confusion

    def to_json(self, probes: str | None = None) -> dict[str, Any]:
        """What evaluation.json holds; `probes` is the SHA-256 of those that were measured."""
        contents: dict[str, Any] = {"model": self.model}
        if self.confusion:
            contents["confusion"] = self.confusion
        if probes:
            contents |= {"of": probes, "probes": [score.to_json() for score in self]}
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
    temperature: bool = False,
    horizon: int = 0,
) -> Evaluation:
    """Score probes on the test split, on at most about `states` states of each semantic; 0: all.

    `used`: also say how much of what is read the model uses. `control`: what such probes memorise,
    and how short labels are told with the states. `temperature`: what logits are best divided by.
    `horizon` fits probes as `config` says, measures them, and keeps none: for the labels from so
    many steps earlier than the next one to as many later.
    """
    around, config = horizon_semantics(horizon) if horizon else [], config or FitConfig()
    for name in ("train", "valid") if around else ("train",) if control else ():
        if name not in dataset.splits:
            raise RnnlensError(
                "a control and a horizon fit probes of their own; give data for that too: "
                '{"train": ..., "valid": ..., "test": ...}'
            )
    scores = _shown_scores(probes, dataset, states, "probes")
    if used:
        scores = _with_use(scores, probes, dataset)
    if control:
        scores = _with_control(scores, dataset, config.seed)
    if temperature:
        scores = _with_temperature(scores, probes, dataset)
    reach = _reach(probes, dataset, config, around, states) if around else []
    return Evaluation(scores, reach)


def _with_control(scores: list[Score], dataset: Dataset, seed: int) -> list[Score]:
    """Scores with what such probes memorise and how short labels are told."""
    semantics = list(dict.fromkeys(score.semantic for score in scores))
    found: dict[tuple[str, str], tuple[Control, Description]] = {}
    size = len(semantics) * len(dataset.kinds)
    with Progress(size, unit="kind", device=dataset.device, title="controls") as progress:
        for semantic in semantics:
            of = controls(dataset, semantic, seed, progress.advance)
            found |= {(semantic, kind): pair for kind, pair in of.items()}
    pairs = ((score, found.get((score.semantic, score.kind), (None, None))) for score in scores)
    return [replace(score, control=one, description=other) for score, (one, other) in pairs]


def _with_temperature(scores: list[Score], probes: Probes, dataset: Dataset) -> list[Score]:
    """Scores with what logits are best divided by."""
    semantics = list(dict.fromkeys(score.semantic for score in scores))
    found: dict[tuple[str, str], Temperature] = {}
    size = 2 * TRIED * len(semantics)
    with Progress(size, unit="state", device=dataset.device, title="temperature") as progress:
        for semantic in semantics:
            of = temperatures(probes, dataset, semantic, progress.advance)
            found |= {(semantic, kind): one for kind, one in of.items()}
    return [replace(score, temperature=found[score.semantic, score.kind]) for score in scores]


def _with_use(scores: list[Score], probes: Probes, dataset: Dataset) -> list[Score]:
    """Scores of the semantic output with what is used of each kind."""
    data, kinds = dataset.splits["test"], len(probes.spreads.keys() & {*probes.kinds})
    pieces = int((data.counts > 0).sum())

    def total(sentences: int) -> int:
        return 2 * kinds * min(SENTENCES, sentences)

    with Progress(total(pieces), unit="state", device=dataset.device, title="used") as progress:

        def advance(count: int) -> None:
            if data.whole_pieces and not progress.done:  # of how many sequences is seen only now
                progress.expect(total(pieces * count))
            progress.advance(count)

        by_kind = {use.kind: use for use in used(probes, dataset, advance=advance)}
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


@torch.no_grad()
def probe_scores(
    probes: Probes, dataset: Dataset, states: int = 0, advance: Callable[[int], object] = int
) -> Iterator[Score]:
    """Score every kind and semantic on the test split, on at most about `states` states; 0: all.

    `advance` is told the number of states after each chunk.
    """
    others = dataset.splits["test"].others
    dataset.questions |= {name: stack.questions for name, stack in probes.stacks.items()}
    for semantic in probes.semantics:
        if not of_model(semantic) and base(semantic) not in others:
            continue  # this data does not tell
        asked = _Asked(probes, dataset, semantic)
        for chunk in asked.stream.chunks((0,) if states else None) if asked.stream.pairs else ():
            asked.add(chunk)
            advance(len(chunk.labels))
            if states and asked.pairs >= states:
                break
        yield from asked.scores()


class _Asked:
    """What is summed while the states of the test split are asked one semantic."""

    def __init__(self, probes: Probes, dataset: Dataset, semantic: str) -> None:
        self.probes, self.semantic, self.predict = probes, semantic, dataset.model.predict
        own = semantic == OUTPUT and dataset.model.predicts
        kinds = (*probes.kinds, *((PREDICTION,) if own else ()))
        self.stream, counts = dataset.stream("test", semantic, kinds=kinds), probes.counts
        frequencies = counts[semantic] if semantic in counts else dataset.counts(semantic)
        self.answers, device = dataset.answers_to(semantic), dataset.device
        self.prior = self.answers.prior(frequencies)
        self.sums = {kind: Tally(self.answers, device, frequencies) for kind in probes.kinds}
        self.model = Tally(self.answers, device) if own else None
        self.constant = Tally(self.answers, device)  # the frequencies, whatever the state is
        self.pairs, self.unigram, self.units = 0, 0.0, Units()

    def add(self, chunk: Chunk) -> None:
        """Ask the states of a chunk."""
        says, at = None, self.units.of(chunk)
        if self.model:
            logits = self.predict(chunk.states[PREDICTION])
            self.model.add(logits, chunk, at, y=chunk.states[PREDICTION])
            says = Own.of(logits, self.answers, chunk)
        for kind, total in self.sums.items():
            total.add(self.probes.logits(kind, chunk.states[kind], self.semantic), chunk, at, says)
        if self.constant.more:
            frequencies = self.answers.probabilities(self.prior.expand(len(chunk.labels), -1))
            self.constant.more.add(frequencies, chunk)
        self.unigram += prior_nll(self.answers, self.prior, chunk.labels)
        self.pairs += chunk.labels.numel()

    def scores(self) -> Iterator[Score]:
        """Of every kind."""
        if not self.pairs:
            raise RnnlensError(
                f"no test sentence is long enough for the semantic {self.semantic!r}"
            )
        resamples = self.units.resamples()
        columns = {kind: total.sums(self.units.count) for kind, total in self.sums.items()}
        beside = self.model.sums(self.units.count) if self.model else None
        found = sure(columns, beside, resamples)
        for kind, total in self.sums.items():
            of = columns[kind].sum(0)
            yield Score(
                semantic=self.semantic,
                kind=kind,
                pairs=self.pairs,
                perplexity=perplexity(of[1], self.pairs),
                ratio=None
                if beside is None
                else float(exponential((of[1] - beside[:, 1].sum()) / self.pairs)),
                accuracy=float(of[2] / self.pairs),
                kl=float(of[3] / self.pairs) if self.model else None,
                calibration=total.calibration(),
                unigram=perplexity(self.unigram, self.pairs),
                error=_against(Errors, total, self.model, self.constant),
                precision=_against(Precision, total, self.model, self.constant),
                sentences=self.units.sentences,
                intervals=found.intervals.get(kind, {}),
                below=found.below.get(kind, {}),
                reliability=total.reliability(resamples),
            )


def _against(
    sort: type[Measure], total: Tally, model: Tally | None, constant: Tally
) -> Against | None:
    """A measure of a probe, of the model and of the frequencies, where labels are of that sort."""
    ours, theirs = (sums.more.value() if isinstance(sums.more, sort) else None
                    for sums in (total, constant))  # fmt: skip
    own = model.more.value() if model and model.more else None
    return None if ours is None or theirs is None else Against(ours, own, theirs)


class ModelScores(NamedTuple):
    """What was measured of a model."""

    parts: dict[str, dict[str, Any]]  # of each split
    confusion: list[list[int]] | None  # on the test split, true label by answer; None: not counted


@torch.no_grad()
def model_scores(dataset: Dataset, advance: Callable[[int], object] = int) -> ModelScores:
    """What a model's own predictions are worth on each split, beside the unigram baseline.

    `advance` is told the number of states after each chunk. A language model's answers are not
    counted: its labels are thousands, and perplexity is what people compare.
    """
    answers, parts = dataset.answers_to(OUTPUT), {}
    confusion, train = None, dataset.splits.get("train")
    prior = answers.prior(dataset.counts(OUTPUT))
    counts = not (dataset.follows or answers.several or answers.scale)
    for name, data in dataset.splits.items():
        known = None if train is None or data is train else data.occurring_in(train)
        part = _Part(dataset, prior, Verdicts(dataset.label_count) if counts else None, known)
        stream = dataset.stream(name, OUTPUT, _at_once(dataset, name), (PREDICTION,))
        for chunk in stream.chunks():
            part.add(chunk)
            advance(len(chunk.labels))
        parts[name] = {data.unit: len(data.counts), **part.measured(stream)}
        if part.verdicts:
            confusion = part.verdicts.confusion if name == "test" else confusion
    return ModelScores(parts, confusion)


def _at_once(dataset: Dataset, split: str) -> int:
    """How many states are read at once: the fewer batches a GPU reads, the less it waits for.
    Batches that are a user's own stay as they are.
    """
    if dataset.splits[split].whole_pieces:
        return CHUNK
    return dataset.many_at_once(split, OUTPUT, (*dataset.kinds, PREDICTION))


class _Part:
    """What a model is worth on one split."""

    def __init__(
        self,
        dataset: Dataset,
        prior: Tensor,
        verdicts: Verdicts | None,
        known: NDArray[np.bool_] | None,
    ) -> None:
        """`known`: which pieces of the split occur in training, too."""
        self.dataset, self.prior, self.verdicts, self.known = dataset, prior, verdicts, known
        self.answers, self.unigram, self.pairs = dataset.answers_to(OUTPUT), 0.0, 0
        # Of each sequence pairs, -log p, answers and right ones; and which pieces they are.
        self.sums, self.pieces = list[Tensor](), list[Ints | None]()

    def add(self, chunk: Chunk) -> None:
        """Take in the predictions of a chunk."""
        logits, loss = self._predicted(chunk)
        self.unigram += prior_nll(self.answers, self.prior, chunk.labels)
        self.pairs += chunk.labels.numel()
        of_sequence = torch.zeros(chunk.count, 4, dtype=torch.float64, device=loss.device)
        sizes = torch.full_like(loss[:, 0], loss.shape[1])
        terms = torch.stack([sizes.double(), loss.double().sum(1)], 1)
        of_sequence[:, :2].index_add_(0, chunk.sequences, terms)
        if self.verdicts and logits is not None:
            asked, answered, sequences = _answered(chunk, logits, self.dataset)
            self.verdicts.add(asked, answered)
            right = torch.stack([torch.ones_like(asked), (asked == answered).to(asked)], 1)
            of_sequence[:, 2:].index_add_(0, sequences, right.double())
        self.sums.append(of_sequence)
        self.pieces.append(chunk.pieces)

    def _predicted(self, chunk: Chunk) -> tuple[Tensor | None, Tensor]:
        """The logits (N, V) of a chunk where answers are counted, and -log p of its labels (N, L).

        A few rows at a time: those of thousands of labels would all go through a CPU's memory, and
        a GPU's would not hold as many as it reads states at once.
        """
        states, logits, losses = chunk.states[PREDICTION], list[Tensor](), list[Tensor]()
        is_cpu = states.device.type == "cpu"
        at_once = rows_at_once(self.dataset.label_count) if is_cpu else CHUNK
        for some, labels in zip(states.split(at_once), chunk.labels.split(at_once), strict=True):
            found = self.dataset.model.predict(some)
            rows, asked = self.answers.questions(found, labels)
            losses.append(F.cross_entropy(rows, asked, reduction="none").view(len(labels), -1))
            logits += [found] if self.verdicts else []
        return torch.cat(logits) if logits else None, torch.cat(losses)

    def _of_sequences(self, stream: Stream) -> tuple[Tensor, NDArray[np.bool_] | None]:
        """The sums of each sequence that has a label, (S, 4), and which of them are known; always
        in one order, by which they become units, however many were read at once.
        """
        sums, known = torch.cat(self.sums).cpu(), self.known
        pieces = [some for some in self.pieces if some is not None]
        if len(pieces) < len(self.pieces):
            return sums[sums[:, 0] > 0], None
        order = stream.order()
        sums = torch.empty_like(sums).index_copy_(0, torch.from_numpy(np.concatenate(pieces)), sums)
        there = (sums[:, 0] > 0).numpy()[order]
        return sums[torch.from_numpy(order[there])], None if known is None else known[order[there]]

    def measured(self, stream: Stream) -> dict[str, Any]:
        """Perplexities and, of answers, how often they are right."""
        sequences, known = self._of_sequences(stream)
        units, count = torch.arange(len(sequences)) % UNITS, min(len(sequences), UNITS)
        sums, resamples = by_unit(units, sequences)[:count].numpy(), Resamples(count)
        every, intervals = _worth(sums, resamples)
        found: dict[str, Any] = {
            "pairs": self.pairs, "perplexity": every["perplexity"],
            "unigram": perplexity(self.unigram, self.pairs),
        }  # fmt: skip
        if self.verdicts:
            found |= {"accuracy": self.verdicts.accuracy, "macro_f1": self.verdicts.macro_f1}
        found["intervals"] = intervals
        if known is not None and not known.all() and known.any():
            is_new = torch.from_numpy(~known)
            new = by_unit(units[is_new], sequences[is_new])[:count].numpy()
            fresh, beside = _worth(new, resamples)
            counted = {"sentences": int(is_new.sum()), "pairs": int(new[:, 0].sum())}
            found["unseen"] = {**counted, **fresh, "intervals": beside}
        return found


def _worth(sums: Floats, resamples: Resamples) -> tuple[dict[str, float], dict[str, Any]]:
    """Perplexity and accuracy, and their intervals, of sums by unit: pairs, -log p, answers and
    right ones.
    """
    pairs, loss, asked, right = sums.sum(0)
    found = {"perplexity": perplexity(float(loss), int(pairs))}
    if asked:
        found["accuracy"] = float(right / asked)
    if not resamples.enough:
        return found, {}
    draws = {"perplexity": exponential(resamples.ratios(sums[:, 1], sums[:, 0]))}
    if asked:
        draws["accuracy"] = resamples.ratios(sums[:, 3], sums[:, 2])
    ends = {name: resamples.interval(numbers) for name, numbers in draws.items()}
    return found, {name: asdict(one) for name, one in ends.items() if one}


def _answered(chunk: Chunk, logits: Tensor, dataset: Dataset) -> tuple[Tensor, Tensor, Tensor]:
    """The true labels of what is asked, the model's answers, and the sequences that they are of.

    Of a whole text the answer is what a model says after the last word. One that reads both ways
    has read everything at each word, and its answer is the mean of the probabilities there.
    """
    if not dataset.of_texts:
        return chunk.labels, logits.argmax(-1), chunk.sequences
    places = torch.arange(len(logits), device=logits.device)
    last = places.new_zeros(chunk.count).scatter_reduce_(0, chunk.sequences, places, "amax")
    if dataset.model.causal:
        answers = logits[last]
    else:
        answers = logits.new_zeros(chunk.count, logits.shape[1])
        answers.index_add_(0, chunk.sequences, logits.softmax(-1))
    there = torch.bincount(chunk.sequences, minlength=chunk.count) > 0  # others have no label
    return chunk.labels[last[there]], answers[there].argmax(-1), there.nonzero()[:, 0]
