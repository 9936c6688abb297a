"""Fitting probes: a closed-form start, then softmax regression over streamed states."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from tqdm import tqdm

from rnnlens.errors import RnnlensError
from rnnlens.flags import Options, option
from rnnlens.model.traceable import Readout
from rnnlens.model.train.distributed import Processes
from rnnlens.probe import semantics
from rnnlens.probe.dataset import CHUNK, Dataset
from rnnlens.probe.families import ALIGN, Family, Linear, Shared, padded
from rnnlens.probe.kernels import adamw_
from rnnlens.probe.moments import Moments, measure
from rnnlens.probe.prior import log_prior
from rnnlens.probe.probes import FAMILIES, Probes, Stack
from rnnlens.probe.spread import Spread

_CHUNK_ON_CUDA = 65536  # states of every kind that are held at once
_STEPS = 64  # that an epoch has at least
_FEW_STEPS, _SMALL = 16, 256  # that it has instead where steps would have fewer states than _SMALL
_BATCH = {"linear": 8192, "shared": 2048}
_RATE = {"linear": 1e-3, "shared": 7e-4}
_EPOCHS, _MOST_EPOCHS = 4, 60  # at least and at most, unless the configuration says
_ENOUGH = 400_000  # states in all epochs together, where there are few
_FROM_PRIOR = 5  # factor of the learning rate where fitting starts from the prior


@dataclass(frozen=True)
class FitConfig(Options):
    """How probes are fitted; the defaults were chosen by measuring (docs/results.md)."""

    probe: str = option("linear", "linear (the paper's) or shared")
    semantic: str = option("output", "output, input, output+N, output-N; comma between")
    rank: int = option(128, "of the shared label matrix", least=1, most=65536)
    epochs: int = option(
        -1, "passes over the states, at most; -1: 4, and more where they are few",
        least=-1, most=10**6,
    )  # fmt: skip
    patience: int = option(
        2, "stop after so many epochs in which no kind got better", least=1, most=10**6
    )
    states: int = option(0, "states an epoch, drawn anew; 0: all", least=0, most=10**12)
    batch: int = option(
        0, "states a step, at most; 0: 8192 for linear, 2048 for shared", least=0, most=10**7
    )
    learning_rate: float = option(
        0.0, "its highest value; 0: 1e-3 for linear, 7e-4 for shared", least=0, most=100
    )
    weight_decay: float = option(0.0, "of AdamW", least=0, most=100)
    seed: int = option(0, "of the order of the states", least=0, most=2**62)
    standardise: bool = option(True, "give every unit of a kind mean 0 and deviation 1")
    closed_form: bool = option(True, "start from the model's own readout, for output")

    def check(self) -> None:
        """Refuse values that cannot work."""
        super().check()
        if self.probe not in FAMILIES:
            raise RnnlensError(f"no probe is called {self.probe!r}; choose {' or '.join(FAMILIES)}")
        semantics.parse(self.semantic)


@dataclass
class FitProgress:
    """How far the fit of one semantic has come."""

    epoch: int = 0  # epochs finished
    chunk: int = 0  # chunks done in the epoch that has begun
    step: int = 0  # of AdamW, in all
    best: list[float] = field(default_factory=list)  # validation NLL of each kind
    waited: int = 0  # epochs in which no kind got better


class Fitter:
    """Fits the probes of all kinds under one semantic; validation data decides when to stop."""

    def __init__(
        self,
        dataset: Dataset,
        semantic: str,
        config: FitConfig,
        processes: Processes | None = None,
        *,
        closed_form: bool = True,
    ) -> None:
        """Without `closed_form`, fitting starts from the prior whatever the configuration says."""
        config.check()
        self.config, self.device = config, dataset.device
        self.semantic, self.processes = semantic, processes or Processes()
        is_cuda = self.device.type == "cuda"
        size = _CHUNK_ON_CUDA if is_cuda else CHUNK
        self.train = dataset.stream("train", semantic, size)
        self.valid = dataset.stream("valid", semantic, size)
        self.at_once = 20480 if is_cuda else 1024  # states whose logits are held
        self.kinds, self.pairs = self.train.kinds, self.train.pairs
        if not self.pairs or not self.valid.pairs:
            raise RnnlensError(
                f"no sentence is long enough for the semantic {semantic!r}; give a nearer one"
            )
        # Small data still gets enough steps to move.
        usual = _BATCH[config.probe]
        few = min(_SMALL, self.pairs // _FEW_STEPS)
        self.batch = min(config.batch or usual, max(64, few, self.pairs // _STEPS) // 64 * 64)
        passes = min(_MOST_EPOCHS, max(_EPOCHS, round(_ENOUGH / self.pairs)))
        self.epochs = passes if config.epochs < 0 else config.epochs
        self.progress = FitProgress()
        from_readout = closed_form and config.closed_form and semantic == "output"
        readout = dataset.classifier if from_readout else None
        self.rate = config.learning_rate or _RATE[config.probe]
        if readout is None:  # the way is longer
            self.rate *= _FROM_PRIOR
        last = readout.kind if readout else self.kinds[-1]
        moments = measure(self.train.chunks(self._seed(-1)), last, self.train.label_count)
        moments.standardise = config.standardise
        self.counts = dataset.note_counts(semantic, moments.label_counts)
        self.spreads = {kind: Spread.of(moments.covariance(kind)) for kind in self.kinds}
        self.family = self._family(moments, readout)
        self.first = {name: torch.zeros_like(w) for name, w in self.family.weights.items()}
        self.second = {name: torch.zeros_like(w) for name, w in self.family.weights.items()}
        self.best = {name: w.clone() for name, w in self.family.weights.items()}
        self.nll = torch.zeros(len(self.kinds), dtype=torch.float64, device=self.device)
        self.seen = 0  # states of this epoch, in this process

    def _family(self, moments: Moments, readout: Readout | None) -> Family:
        """The probes as they are before the first step."""
        labels = self.train.label_count
        if self.config.probe == "linear":
            family: Family = Linear(moments, self.kinds, labels, self.device)
        else:
            rank = min(self.config.rank, labels)
            family = Shared(moments, self.kinds, labels, self.device, rank)
        family.start(readout, log_prior(self.counts).to(self.device))
        if readout and not all(torch.isfinite(w).all() for w in family.weights.values()):
            return self._family(moments, None)  # states too large to take a closed form of
        return family

    def _seed(self, epoch: int) -> tuple[int, ...]:
        return (self.config.seed, epoch + 1)

    @property
    def finished(self) -> bool:
        """Whether all epochs are done or patience has run out."""
        return self.progress.epoch >= self.epochs or self.progress.waited >= self.config.patience

    def run(self, stop: Callable[[], bool], after_epoch: Callable[[], None]) -> bool:
        """Fit from where `progress` stands, until the end or until `stop()` after a chunk is true.

        Returns whether the fit came to its end.
        """
        if not self.progress.best:
            self._validate()
            after_epoch()
        while not self.finished:
            plan = self._plan()
            for number in range(self.progress.chunk, len(plan)):
                self._learn(plan[number], number)
                self.progress.chunk = number + 1
                if stop():
                    return False
            self.progress.epoch, self.progress.chunk = self.progress.epoch + 1, 0
            self._validate()
            after_epoch()
            self.nll.zero_()
            self.seen = 0
        return True

    def _plan(self) -> list[np.ndarray]:
        plan = self.train.plan(self._seed(self.progress.epoch))
        enough = self.config.states and -(-self.config.states // self.train.size)
        return plan[:enough] if enough else plan

    @property
    def steps(self) -> int:
        """About how many steps the whole fit has; the learning rate is planned for that many."""
        states = min(self.config.states or self.pairs, self.pairs)
        return max(1, self.epochs * states // self.batch)

    def _learn(self, chosen: np.ndarray, number: int) -> None:
        chunk = self.train.chunk(chosen)
        if not len(chunk.labels):
            return  # sequences too short for the semantic
        prepare = self.family.stack.prepare
        x = [prepare(k, chunk.states.pop(kind)) for k, kind in enumerate(self.kinds)]
        seed = hash((*self._seed(self.progress.epoch), number)) % 2**62
        order = torch.randperm(len(chunk.labels), generator=torch.Generator().manual_seed(seed))
        # Parts of about equal size: a remainder of a few states would be a step like any other.
        parts = max(1, round(len(order) / self.batch))
        for rows in order.split(padded(-(-len(order) // parts))):
            mine = rows[self.processes.rank :: self.processes.count].to(self.device)
            for piece in mine.split(self.at_once):
                labels = self._aligned(chunk.labels[piece])
                nll = [
                    self.family.learn(k, self._aligned(x[k][piece]), labels, 1 / len(rows))
                    for k in range(len(self.kinds))
                ]
                self.nll += torch.stack(nll)[:, : len(piece)].sum(1)
            self._update()
            self.seen += len(mine)

    def _aligned(self, rows: Tensor) -> Tensor:
        """On CUDA, rows with zeros behind them, as tensor cores want; these add to no gradient."""
        missing = -len(rows) % ALIGN if self.device.type == "cuda" else 0
        return F.pad(rows, (0, 0) * (rows.dim() - 1) + (0, missing)) if missing else rows

    def _update(self) -> None:
        progress = self.progress
        progress.step += 1
        self.processes.sum(list(self.family.gradients.values()))
        for name, weight in self.family.weights.items():
            adamw_(
                weight, self.first[name], self.second[name], self.family.gradients[name],
                progress.step, self._learning_rate(), self.config.weight_decay,
            )  # fmt: skip
        self.family.refresh()

    def _learning_rate(self) -> float:
        """The learning rate now: it rises in a line over the first tenth, times half a cosine."""
        share = min(1.0, self.progress.step / self.steps)
        rise = min(1.0, share / 0.1)
        return self.rate * rise * (1 + math.cos(math.pi * share)) / 2

    @torch.no_grad()
    def _validate(self) -> None:
        """Measure every kind on validation data, and keep the probes that have become better."""
        total = torch.zeros(len(self.kinds), dtype=torch.float64, device=self.device)
        count = 0
        for chunk in self.valid.chunks():
            count += len(chunk.labels)
            for k, kind in enumerate(self.kinds):
                x = self.family.stack.prepare(k, chunk.states[kind])
                pieces = zip(x.split(self.at_once), chunk.labels.split(self.at_once), strict=True)
                for states, labels in pieces:
                    total[k] += self.family.nll(k, states, labels).sum()
        if not count:
            raise RnnlensError(
                f"no validation data is long enough for the semantic {self.semantic!r}; give more, "
                "or a nearer one"
            )
        mean = total / count
        best = torch.tensor(self.progress.best or [math.inf] * len(self.kinds), device=self.device)
        better = mean < best
        if isinstance(self.family, Shared):
            better = (mean.mean() < best.mean()).expand_as(better)
        self.family.improved(better, self.best)
        self.progress.best = torch.where(better, mean, best).tolist()
        self.progress.waited = 0 if better.any() else self.progress.waited + 1

    def result(self) -> Stack:
        """The best probes."""
        return self.family.result(self.best).to(torch.device("cpu"))


def fit_quietly(
    dataset: Dataset, config: FitConfig, name: str = "", *, closed_form: bool = True
) -> Probes:
    """Fit probes for every semantic to the end, showing nothing but a progress bar."""
    stacks, counts = {}, {}
    spreads: dict[str, Spread] = {}
    for semantic in semantics.parse(config.semantic):
        fitter = Fitter(dataset, semantic, config, closed_form=closed_form)
        chunks, title = fitter.epochs * len(fitter.train.plan(None)), f"{name}{semantic}"
        with tqdm(total=chunks, unit="chunk", desc=title, disable=None, leave=False) as bar:
            fitter.run(partial(_advance, bar), lambda: None)
        stacks[semantic], counts[semantic] = fitter.result(), fitter.counts
        spreads = spreads or fitter.spreads
    return Probes(config.probe, dataset.kinds, dataset.label_count, stacks, counts, spreads)


def _advance(bar: "tqdm[Any]") -> bool:
    bar.update()
    return False
