"""Fitting probes: a closed-form start, then softmax regression over streamed states."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import Count, Strict
from rnnlens.base.progress import Progress, to_stderr
from rnnlens.base.threads import one_thread, pool
from rnnlens.model.traceable import Readout
from rnnlens.model.train.distributed import Processes
from rnnlens.model.transition import LARGEST
from rnnlens.probe.asking import asked_kinds, learned_questions
from rnnlens.probe.dataset import Chunk, Dataset
from rnnlens.probe.families import ALIGN, Family, Linear, Shared, padded
from rnnlens.probe.fit_config import FEW_LABELS
from rnnlens.probe.fit_config import FitConfig as FitConfig  # noqa: PLC0414
from rnnlens.probe.frames import Frames, shortened, suits
from rnnlens.probe.kernels import adamw_
from rnnlens.probe.limits import Sizes
from rnnlens.probe.measures import prior_nll
from rnnlens.probe.memory_questions import Questions
from rnnlens.probe.moments import Moments, Spread, measure
from rnnlens.probe.needed_time import MANY, Estimate, Work, estimate, prior_of
from rnnlens.probe.needs import Needs
from rnnlens.probe.probes import Stack
from rnnlens.probe.probes_file import Bounds

_WORTH = 2**17  # logits of a step, for each kind, that are worth threads of our own
_AT_ONCE = {"cuda": (20480, 2**30), "cpu": (256, 2**24)}  # states, and logits of them, at most
_OF_FEW = (4096, 2**17)  # the same on a CPU, of few labels
_STEPS = 64  # that an epoch has at least
_FEW_STEPS, _SMALL = 16, 256  # that it has instead where steps would have fewer states than _SMALL
_BATCH = {"linear": 8192, "shared": 2048}
_RATE = {"linear": 1e-3, "shared": 7e-4}
_ENOUGH, _ENOUGH_FROM_PRIOR = 100_000, 400_000  # states in all epochs together, where there are few
_EPOCHS = 4  # where there are enough states, and from the prior
_LEAST_EPOCHS, _MOST_EPOCHS = 3, 60  # where there are few
_WIDE = 300  # units of a kind that _RATE is for; fewer must each move further
_NARROW = 24  # the fewest units that this was measured with
_ROUNDING = 1e-6  # nats by which a probe must be better than the frequencies
_SAMPLE = 16_384  # validation states by which that is looked at again where steps round weights,
_CLEARLY = 0.1  # and nats by which one probe is then worse than another
_FROM_PRIOR = 5  # factor of the learning rate where fitting starts from the prior
# Of few labels: in all epochs together so many states, and steps so long that only the last, which
# are short, settle anything.
_ENOUGH_OF_FEW, _BATCH_OF_FEW, _RATE_OF_FEW = 8_000_000, 1024, 0.3
_SMALL_OF_FEW = 128  # as _SMALL

IN_PYTHON = "{}={}"  # how a setting is written

Result = TypeVar("Result")


@dataclass(frozen=True)
class Recipe:
    """How some states are fitted to."""

    states: int  # of each kind, about, that an epoch has
    batch: int  # states a step
    epochs: int
    rate: float  # the highest learning rate
    to_the_end: bool = False  # whatever validation data says before

    @classmethod
    def of(
        cls, config: FitConfig, pairs: int, width: int, *, labels: int, from_prior: bool
    ) -> "Recipe":
        """For so many states with labels and the widest kind; `from_prior`: there is no closed form
        to start from, and the way is longer.
        """
        # Small data still gets enough steps to move.
        few = min(_SMALL, pairs // _FEW_STEPS)
        config = config.settled(labels)
        if config.to_the_end(labels) and suits(pairs, labels, width):
            return cls._of_few(config, pairs)
        most = config.batch or _BATCH[config.probe]
        batch = min(most, max(64, few, pairs // _STEPS) // 64 * 64)
        enough = _ENOUGH_FROM_PRIOR if from_prior else _ENOUGH
        least = _EPOCHS if from_prior or pairs >= enough else _LEAST_EPOCHS
        passes = min(_MOST_EPOCHS, max(least, round(enough / pairs)))
        factor = _FROM_PRIOR if from_prior else max(1.0, _WIDE / max(width, _NARROW))
        rate = config.learning_rate or _RATE[config.probe] * factor
        epochs = passes if config.epochs < 0 else config.epochs
        return cls(min(config.states or pairs, pairs), batch, epochs, rate)

    @classmethod
    def _of_few(cls, config: FitConfig, pairs: int) -> "Recipe":
        """For few labels."""
        few = min(_SMALL_OF_FEW, pairs // _FEW_STEPS)
        batch = min(config.batch or _BATCH_OF_FEW, max(64, few, pairs // _STEPS) // 64 * 64)
        passes = min(_MOST_EPOCHS, max(_EPOCHS, round(_ENOUGH_OF_FEW / pairs)))
        epochs = passes if config.epochs < 0 else config.epochs
        states = min(config.states or pairs, pairs)
        return cls(states, batch, epochs, config.learning_rate or _RATE_OF_FEW, to_the_end=True)

    @property
    def steps(self) -> int:
        """About how many steps the whole fit has; the learning rate is planned for that many."""
        return max(1, self.epochs * self.states // self.batch)

    def rate_at(self, step: int) -> float:
        """The learning rate: it rises in a line over the first tenth, times half a cosine."""
        share = min(1.0, step / self.steps)
        rise = min(1.0, share / 0.1)
        return self.rate * rise * (1 + math.cos(math.pi * share)) / 2


@dataclass
class FitProgress(Strict):
    """How far the fit of one semantic has come."""

    epoch: Count = 0  # epochs finished
    chunk: Count = 0  # chunks done in the epoch that has begun
    step: Count = 0  # of AdamW, in all
    best: list[float] = field(default_factory=list)  # validation NLL of each kind
    waited: Count = 0  # epochs in which no kind got better


class Fitter:
    """Fits the probes of all kinds under one semantic; validation data decides when to stop."""

    def __init__(
        self,
        dataset: Dataset,
        semantic: str,
        config: FitConfig,
        processes: Processes | None = None,
        style: str = IN_PYTHON,
    ) -> None:
        """`style` is how a setting is written to whoever asked for the fit."""
        config.check()
        config = dataset.settled(config)
        self.config, self.device = config, dataset.device
        self.semantic, self.processes, self.style = semantic, processes or Processes(), style
        self.answers = dataset.answers_to(semantic)
        from_readout = config.closed_form and semantic == "output"
        readout = dataset.classifier if from_readout else None
        self.questions = self._questions(dataset, readout)
        dataset.questions[semantic] = self.questions
        size = dataset.many_at_once("train", semantic)
        self.train = dataset.stream("train", semantic, size)
        self.valid = dataset.stream("valid", semantic, size)
        #: States whose logits are held: fewer the more labels there are, so that memory is bounded.
        self.at_once = at_once(len(self.answers), self.device)
        self.kinds, self.pairs = self.train.kinds, self.train.pairs
        # The same chunks in every epoch, in another order: what is kept of them serves all epochs.
        self.drawn = self.train.plan(self._seed(-1))
        if not self.pairs or not self.valid.pairs:
            raise RnnlensError(
                f"no sentence is long enough for the semantic {semantic!r}; give a nearer one"
            )
        last = readout.kind if readout else self.kinds[-1]
        self._plan_by_first_chunk(last, from_prior=readout is None)
        moments = self._moments(last)
        moments.standardise = config.standardise
        self.counts = dataset.note_counts(semantic, moments.label_counts)
        self.log_prior = self.answers.prior(self.counts).cpu()  # (V,) what the frequencies say
        whole = [kind for kind in self.kinds if kind not in self.questions]
        self.spreads = {kind: Spread.of(moments.covariance(kind)) for kind in whole}
        self.family = self._family(moments, self.kinds, readout, self.log_prior)
        self.frames = self._frames(moments) if self.recipe.to_the_end else None
        self._begin()

    def _plan_by_first_chunk(self, last: str, *, from_prior: bool) -> None:
        """Decide how it is fitted, by how large states are; refuse what is too much for the memory,
        and say how long the rest takes.
        """
        start = time.perf_counter()
        chunk = self.train.chunk(self.drawn[0])
        read = time.perf_counter() - start
        widths = [chunk.states[kind].shape[1] for kind in self.kinds]
        self._check_memory(widths)
        self.wide = max(widths) > LARGEST  # then all kinds as probes take them would be too much
        self.recipe = Recipe.of(
            self.config, self.pairs, max(widths), labels=len(self.answers), from_prior=from_prior
        )
        self.epochs, self.rate = self.recipe.epochs, self.recipe.rate
        self.estimate = self._estimated(chunk, read, last)
        if self.estimate and self.processes.first:
            machine = "GPU" if self.device.type == "cuda" else "CPU"
            if said := self.estimate.said(machine, self.shorter):
                to_stderr(f"{self.semantic}: {said}")

    def _begin(self) -> None:
        """What changes from step to step, as it is before the first."""
        # Shared probes add to one gradient of labels, and a GPU has threads enough.
        self.in_threads = (
            isinstance(self.family, Linear)
            and self.device.type != "cuda"
            and self.recipe.batch * len(self.answers) >= _WORTH
        )
        self.progress = FitProgress()
        weights = self.family.weights
        self.first = {name: torch.zeros_like(w) for name, w in weights.items()}
        self.second = {name: torch.zeros_like(w) for name, w in weights.items()}
        self.best = {name: w.clone() for name, w in weights.items()}
        self.nll = torch.zeros(len(self.kinds), dtype=torch.float64, device=self.device)
        self._limits: dict[str, Bounds] | None = None  # measured when validation data is first read
        self._prior_nll: float | None = None  # of validation data, by the frequencies alone
        self.seen = 0  # states of this epoch, in this process

    def _questions(self, dataset: Dataset, readout: Readout | None) -> dict[str, Questions]:
        """What memories that are matrices are asked; the same in every process."""
        counts = asked_kinds(dataset, self.config.questions)
        found = learned_questions(
            dataset, self.semantic, counts, readout, self._family, self.config.seed
        )
        if self.processes.count > 1:
            self.processes.sum([asked.weight for asked in found.values()])
            for asked in found.values():
                asked.weight.div_(self.processes.count)
        return found

    def _check_memory(self, widths: Sequence[int]) -> None:
        """Say what the fit takes of memory where that is much; refuse what the machine has not."""
        needs = Needs.of(self.config, widths, len(self.answers), self.train.size, self.at_once)
        if said := needs.checked(self.device, asked=bool(self.questions)):
            to_stderr(f"{self.semantic}: {said}")

    def _estimated(self, chunk: Chunk, read: float, last: str) -> Estimate | None:
        """How long the fit takes, by a chunk that took `read` seconds to trace; None: there is so
        little to do that to find out would take as long.
        """
        states, kinds = self.recipe.states * max(1, self.epochs), len(self.kinds)
        if not len(chunk.labels) or states * kinds * len(self.answers) < MANY:
            return None
        chunks = len(self.drawn)
        size = sum(v.numel() * v.element_size() for v in chunk.states.values())
        work = Work(
            chunks, min(chunks, 1 + self.train.room // max(1, size)), self.recipe.states,
            self.valid.pairs, self.epochs, self.recipe.steps if self.epochs else 0,
            self.processes.count,
        )  # fmt: skip

        def measured() -> Moments:
            return measure([replace(chunk, states=dict(chunk.states))], last, self.answers)

        family = self._family(measured(), self.kinds, None, prior_of(self.answers, chunk.labels))
        at_once = min(self.at_once, self.recipe.batch)
        return estimate(family, chunk, measured, read, at_once, work)

    def _family(
        self, moments: Moments, kinds: Sequence[str], readout: Readout | None, log_prior: Tensor
    ) -> Family:
        """The probes of some kinds as they are before the first step."""
        answers = self.answers
        if self.config.probe == "linear":
            family: Family = Linear(moments, kinds, answers, self.device)
        else:
            rank = min(self.config.rank, len(answers))
            family = Shared(moments, kinds, answers, self.device, rank)
        family.start(readout, log_prior.to(self.device))
        if readout and not all(torch.isfinite(w).all() for w in family.weights.values()):
            return self._family(moments, kinds, None, log_prior)  # too large for a closed form
        return family

    def _frames(self, moments: Moments) -> Frames:
        """The coordinates of each kind's steps, which are shorter where weights have few states."""
        labels, asked = len(self.answers), self.config.learning_rate
        sizes = [
            1.0 if asked else shortened(self.pairs, labels, len(moments.mean(kind)))
            for kind in self.kinds
        ]
        return Frames(moments, self.kinds, sizes, self.family.columns, self.device)

    def _moments(self, last: str) -> Moments:
        with Progress(
            len(self.drawn), unit="chunk", device=self.device, title=f"{self.semantic}, first pass",
            quiet=not self.processes.first,
        ) as progress:  # fmt: skip
            chunks = progress.over(self.train.chunk(chosen) for chosen in self.drawn)
            return measure(chunks, last, self.answers)

    def _seed(self, epoch: int) -> tuple[int, ...]:
        return (self.config.seed, epoch + 1)

    @property
    def finished(self) -> bool:
        """Whether all epochs are done or patience has run out."""
        waits = self.progress.waited >= self.config.patience and not self.recipe.to_the_end
        return self.progress.epoch >= self.epochs or waits

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
        """The chunks of the epoch that has begun, in its order."""
        order = np.random.default_rng(self._seed(self.progress.epoch)).permutation(len(self.drawn))
        plan = [self.drawn[k] for k in order]
        enough = self.config.states and -(-self.config.states // self.train.size)
        return plan[:enough] if enough else plan

    @property
    def chunks(self) -> int:
        """How many chunks an epoch has."""
        return len(self._plan())

    @property
    def shorter(self) -> tuple[str, float]:
        """A setting that makes the fit shorter, and the share of its time that is left then."""
        if self.epochs > _LEAST_EPOCHS:  # in fewer, some kinds learn nothing
            fewer = max(_LEAST_EPOCHS, self.epochs // 4)
            return self.style.format("epochs", fewer), fewer / self.epochs
        return self.style.format("states", max(1, self.recipe.states // 4)), 1 / 4

    @property
    def shuffles(self) -> bool:
        """Whether a chunk is shuffled as a whole, so that steps are views of it: on a GPU, where it
        would take longer to gather the rows of each.
        """
        return self.device.type == "cuda" and not self.wide

    def _learn(self, chosen: np.ndarray, number: int) -> None:
        chunk = self.train.chunk(chosen)
        if not len(chunk.labels):
            return  # sequences too short for the semantic
        steps = self._steps(len(chunk.labels), number)
        mine = [rows[self.processes.rank :: self.processes.count] for rows in steps]
        x, labels = [chunk.states.pop(kind) for kind in self.kinds], chunk.labels
        order = self._sent(torch.cat(mine)) if self.shuffles else None
        if not self.wide:
            x = [self.family.stack.prepare(k, states, order) for k, states in enumerate(x)]
        if order is not None:
            labels = labels[order]
        together = self.frames is not None and self.frames.together is not None
        every = torch.stack(x) if together else x
        end = 0
        for rows, taken in zip(steps, mine, strict=True):
            start, end = end, end + len(taken)
            for piece in self._pieces(slice(start, end) if self.shuffles else taken):
                wanted = labels[piece]
                nll = self._gradients(every, piece, self._aligned(wanted), 1 / len(rows))
                self.nll += nll[:, : len(wanted)].sum(1)
            self._update()
            self.seen += len(taken)

    def _sent(self, order: Tensor) -> Tensor:
        """On the device, without waiting for what a GPU still has to do."""
        order = order.pin_memory() if self.device.type == "cuda" else order
        return order.to(self.device, non_blocking=True)

    def _steps(self, count: int, number: int) -> Sequence[Tensor]:
        """The rows of each step of a chunk, in all processes together."""
        seed = hash((*self._seed(self.progress.epoch), number)) % 2**62
        order = torch.randperm(count, generator=torch.Generator().manual_seed(seed))
        # Parts of about equal size: a remainder of a few states would be a step like any other.
        parts = max(1, round(len(order) / self.recipe.batch))
        size = -(-len(order) // parts)
        # What goes to the end must have the steps that were planned, and so none that are padded.
        steps: Sequence[Tensor] = order.split(size if self.recipe.to_the_end else padded(size))
        return steps

    def _pieces(self, rows: Tensor | slice) -> Sequence[Tensor | slice]:
        """Rows of a step in parts whose logits are held at once."""
        if isinstance(rows, Tensor):
            pieces: Sequence[Tensor] = rows.to(self.device).split(self.at_once)
            return pieces
        starts = range(rows.start, rows.stop, self.at_once)
        return [slice(start, min(start + self.at_once, rows.stop)) for start in starts]

    def _gradients(
        self, x: Tensor | Sequence[Tensor], piece: Tensor | slice, labels: Tensor, scale: float
    ) -> Tensor:
        """Add to the gradients of all kinds; the negative log-likelihood of each state, (K, N)."""
        if not isinstance(x, Tensor):
            return torch.stack(self._each(partial(self._gradient, x, piece, labels, scale)))
        assert isinstance(self.family, Linear)  # noqa: S101 - no others have frames
        some = x[:, piece] if isinstance(piece, slice) else x.index_select(1, piece)
        missing = len(labels) - some.shape[1]
        some = F.pad(some, (0, 0, 0, missing)) if missing else some
        return self.family.learn_all(some, labels, scale)

    def _gradient(
        self, x: Sequence[Tensor], piece: Tensor | slice, labels: Tensor, scale: float, k: int
    ) -> Tensor:
        some = x[k][piece]
        prepared = self.family.stack.prepare(k, some) if self.wide else some
        return self.family.learn(k, self._aligned(prepared), labels, scale)

    def _each(self, work: Callable[[int], Result]) -> list[Result]:
        """What `work` gives for each kind, on threads of our own where that is worth it.

        Each thread has kinds to itself, so that none waits for another within a product.
        """
        kinds = range(len(self.kinds))
        if not self.in_threads:
            return [work(k) for k in kinds]

        def alone(k: int) -> Result:
            with one_thread(), torch.no_grad():  # neither carries over to other threads
                return work(k)

        return list(pool().map(alone, kinds))

    def _aligned(self, rows: Tensor) -> Tensor:
        """On CUDA, rows with zeros behind them, as tensor cores want; these add to no gradient."""
        missing = -len(rows) % ALIGN if self.device.type == "cuda" else 0
        return F.pad(rows, (0, 0) * (rows.dim() - 1) + (0, missing)) if missing else rows

    def _update(self) -> None:
        self.progress.step += 1
        self.processes.sum(list(self.family.gradients.values()))
        if self.in_threads:
            self._each(self._step)
        else:
            self._step(slice(None))
        if self.frames:
            self.family.refresh()

    def _step(self, kinds: int | slice) -> None:
        """Update the weights of some kinds; shared ones are of all kinds together."""
        step, rate = self.progress.step, self.recipe.rate_at(self.progress.step)
        family, decay = self.family, self.config.weight_decay
        parts = (family.weights, self.first, self.second, family.gradients, family.working)
        for name in family.weights:
            weight, first, second, gradient, working = (part[name][kinds] for part in parts)
            if self.frames:
                move, inside = torch.zeros_like(weight), self.frames.turned(gradient, kinds)
                adamw_(move, first, second, inside, step, rate, 0.0)
                weight.mul_(1 - rate * decay)
                weight.add_(self.frames.turned(move, kinds))
            else:
                adamw_(weight, first, second, gradient, step, rate, decay, working)

    @torch.no_grad()
    def _validate(self) -> None:
        """Measure every kind on validation data, and keep the probes that have become better."""
        total = torch.zeros(len(self.kinds), dtype=torch.float64, device=self.device)
        count, prior = 0, 0.0
        sizes = Sizes(self.kinds)
        for chunk in self.valid.chunks():
            count += len(chunk.labels)
            if self._prior_nll is None:
                prior += self._by_frequencies(chunk.labels)
            if self._limits is None and len(chunk.labels):
                sizes.add(self.family.stack, chunk.states)
            total += torch.stack(self._each(partial(self._nll, chunk)))
        if not count:
            raise RnnlensError(
                f"no validation data is long enough for the semantic {self.semantic!r}; give more, "
                "or a nearer one"
            )
        self._limits = self._limits or sizes.limits()
        self._prior_nll = prior / count if self._prior_nll is None else self._prior_nll
        mean = total / count
        best = torch.tensor(self.progress.best or [math.inf] * len(self.kinds), device=self.device)
        better = mean < best
        if isinstance(self.family, Shared):
            better = (mean.mean() < best.mean()).expand_as(better)
        self.family.improved(better, self.best)
        self.progress.best = torch.where(better, mean, best).tolist()
        self.progress.waited = 0 if better.any() else self.progress.waited + 1

    def _nll(self, chunk: Chunk, k: int) -> Tensor:
        """The negative log-likelihood of all labels of a chunk, by the k-th kind."""
        x = self.family.stack.prepare(k, chunk.states[self.kinds[k]])
        pieces = zip(x.split(self.at_once), chunk.labels.split(self.at_once), strict=True)
        nll = [self.family.nll(k, states, labels).double().sum() for states, labels in pieces]
        return torch.stack([torch.zeros_like(self.nll[k]), *nll]).sum()

    def limits(self) -> dict[str, Bounds]:
        """Of each kind which states are like those of the fit."""
        if self._limits is None:  # of a fit that was continued at its very end
            sizes = Sizes(self.kinds)
            for chunk in self.valid.chunks():
                sizes.add(self.family.stack, chunk.states)
            self._limits = sizes.limits()
        return self._limits

    def _frequencies(self) -> float:
        """The mean negative log-likelihood of validation data by the frequencies of labels."""
        if self._prior_nll is None:  # of a fit that was continued at its very end
            labels = [chunk.labels for chunk in self.valid.chunks()]
            total = sum(map(self._by_frequencies, labels))
            self._prior_nll = total / max(1, sum(map(len, labels)))
        return self._prior_nll

    def _by_frequencies(self, labels: Tensor) -> float:
        """The negative log-likelihood of labels by how often each occurs, as steps count it: where
        several hold at once, a mean over the labels that there are.
        """
        nll = prior_nll(self.answers, self.log_prior, labels)
        return nll / len(self.answers) if self.answers.several else nll

    def result(self) -> Stack:
        """The best probes; of a kind that tells no more than the frequencies of labels, these."""
        for k, better in enumerate(self._settled()):
            if not better:
                self.family.silence(k, self.best, self.log_prior)
        found = replace(self.family.result(self.best), questions=self.questions)
        return found.to(torch.device("cpu"))

    @torch.no_grad()
    def _settled(self) -> list[bool]:
        """Settle what is kept of each kind; whether it tells more than the frequencies: by all
        validation data with the weights that steps were taken with. Where these were rounded, what
        is kept must not be clearly worse by some of the data, either; see `_keep`.
        """
        prior = self._frequencies()
        told = [best < prior - _ROUNDING for best in self.progress.best]
        if self.family.stack.map.dtype == torch.float32:
            return told
        chunk = next(chunk for chunk in self.valid.chunks() if len(chunk.labels))
        rows = torch.arange(min(len(chunk.labels), _SAMPLE), device=chunk.labels.device)
        rows = rows * len(chunk.labels) // len(rows)  # as they come, short sentences are first
        labels, clearly = chunk.labels[rows], _CLEARLY * len(rows)
        most = prior_nll(self.answers, self.log_prior, labels) + clearly
        kept = (
            self._keep(k, chunk.states[kind][rows], labels, clearly)
            for k, kind in enumerate(self.kinds)
        )
        return [a and nll < most for a, nll in zip(told, kept, strict=True)]

    def _keep(self, k: int, states: Tensor, labels: Tensor, clearly: float) -> float:
        """Round what is kept of the k-th kind as steps did where it is clearly better so, by the
        negative log-likelihood of the labels of states; return that.

        Large weights of units that move together cancel out. Rounded they leave an error, which
        the steps learn to make up for; without it what they learnt can be an error itself.
        """
        kept, exact = self.family.result(self.best), self.best["map"][k].clone()
        nll = self._nll_of_kept(kept, k, states, labels)
        self.family.round_(k, self.best)  # in `kept`, too
        rounded = self._nll_of_kept(kept, k, states, labels)
        if rounded < nll - clearly:
            return rounded
        self.best["map"][k] = exact
        return nll

    def _nll_of_kept(self, kept: Stack, k: int, states: Tensor, labels: Tensor) -> float:
        """The negative log-likelihood of the labels of states, by the k-th probe as it is kept."""
        x = kept.prepare(k, states)
        pieces = zip(x.split(self.at_once), labels.split(self.at_once), strict=True)
        asked = (self.answers.questions(kept.logits(k, some), right) for some, right in pieces)
        return sum(float(F.cross_entropy(*one, reduction="sum")) for one in asked)


def at_once(labels: int, device: torch.device) -> int:
    """How many states' logits are computed together: of more labels fewer, so that what they take
    of memory does not grow with the labels.
    """
    few = device.type != "cuda" and labels <= FEW_LABELS
    most, room = _OF_FEW if few else _AT_ONCE["cuda" if device.type == "cuda" else "cpu"]
    return max(ALIGN, min(most, room // max(1, labels) // ALIGN * ALIGN))
