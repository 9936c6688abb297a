"""Training a network: sentence by sentence, the next word, as the paper does, or labels.

A network that classifies is asked for the text's label after every word: what it says then is how
probable the label is after what it has read, and the answer for the text is what it says last.
A trainer's whole state is stored in one file, a checkpoint, written whole or not at all.
"""

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

import torch
import torch.nn.functional as F
from annotated_types import Ge
from torch import Tensor
from torch.nn.utils import clip_grad_norm_

from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import Count, Strict, damaged
from rnnlens.base.tensors import check_same, read_sealed, write_tensors
from rnnlens.base.threads import threads_for
from rnnlens.corpus.split import Batch, Split
from rnnlens.model.network import Network
from rnnlens.model.softmax import linear_nll
from rnnlens.model.train.adamw import STATE, AdamW, Group
from rnnlens.model.train.distributed import Processes
from rnnlens.model.train.dropout import Dropout, Unknown
from rnnlens.model.train.perplexity import model_perplexity, perplexity
from rnnlens.model.train.training_config import TrainingConfig as TrainingConfig  # noqa: PLC0414

_WARM_UP = 3  # plain calls before recording, in which libraries and optimiser set themselves up
_REMEDY = "delete it to start this training anew"


@dataclass
class Progress(Strict):
    """How far training has come."""

    epoch: Count = 0  # epochs finished
    step: Count = 0  # steps done in the epoch that has begun
    seen: Count = 0  # tokens predicted in it
    best: Annotated[float, Ge(0)] | None = None  # validation perplexity, once there is one
    best_epoch: Count = 0
    history: list[dict[Literal["epoch", "train", "valid"], float]] = field(default_factory=list)


class Graphs:
    """CUDA graphs: a step is recorded once for each shape of batch and then replayed. A small
    network launches hundreds of tiny kernels a step, and launching them takes longer than running
    them.

    The step is a function of tensors that works on fixed memory and returns nothing.
    """

    def __init__(self, function: Callable[..., None], generator: torch.Generator) -> None:
        self.function, self.generator = function, generator
        self.recorded: dict[tuple[torch.Size, ...], tuple[list[Tensor], torch.cuda.CUDAGraph]] = {}
        self.calls = 0
        self.stream = torch.cuda.Stream()

    def __call__(self, *tensors: Tensor) -> None:
        """Record on the first call with these shapes; then copy the arguments in and replay."""
        self.calls += 1
        if self.calls <= _WARM_UP:
            self._warm_up(tensors)
            return
        shapes = tuple(t.shape for t in tensors)
        if shapes not in self.recorded:
            self.recorded[shapes] = self._record(tensors)
        fixed, graph = self.recorded[shapes]
        for argument, tensor in zip(fixed, tensors, strict=True):
            argument.copy_(tensor)
        graph.replay()

    def _warm_up(self, tensors: tuple[Tensor, ...]) -> None:
        """A plain call, on the stream that will record, so that nothing is tied to another."""
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            self.function(*tensors)
        torch.cuda.current_stream().wait_stream(self.stream)

    def _record(self, tensors: tuple[Tensor, ...]) -> tuple[list[Tensor], torch.cuda.CUDAGraph]:
        fixed = [t.clone() for t in tensors]
        graph = torch.cuda.CUDAGraph()
        graph.register_generator_state(self.generator)
        # Graphs run one at a time, so they can all use the same memory.
        pool = next((g.pool() for _, g in self.recorded.values()), None)
        with torch.cuda.graph(graph, pool=pool, stream=self.stream):
            self.function(*fixed)
        return fixed, graph


class Trainer:
    """Trains a network; its whole state can be saved between any two steps."""

    def __init__(
        self,
        network: Network,
        train: Split,
        valid: Split,
        config: TrainingConfig,
        device: torch.device,
        processes: Processes | None = None,
        unknown: Unknown | None = None,
    ) -> None:
        config.check()
        self.config, self.device, self.processes = config, device, processes or Processes()
        self.train, self.valid = train, valid
        self.network = network.to(device)
        self.average = copy.deepcopy(self.network).requires_grad_(False)
        self.best = {name: p.clone() for name, p in self.average.named_parameters()}
        self.parameters = list(self.network.parameters())
        self.averages = list(self.average.parameters())
        self.rate = torch.tensor(config.learning_rate, device=device)
        self.optimiser = AdamW(self._groups(), self.rate)
        self.dropout = Dropout(config, device, unknown)
        graphed = device.type == "cuda" and self.processes.count == 1
        self.compute = Graphs(self._compute, self.dropout.generator) if graphed else self._compute
        self.nll = torch.zeros((), dtype=torch.float64, device=device)
        self.progress = Progress()
        self.steps = -(-len(train) // config.batch)  # an epoch

    def _groups(self) -> list[Group]:
        """The weights to learn, those apart that their cell keeps from weight decay."""
        kept = [p for layer in self.network.recurrent for p in layer.undecayed()]
        ids = {id(p) for p in kept}
        decayed = [p for p in self.parameters if id(p) not in ids]
        return [Group(decayed, self.config.weight_decay), *([Group(kept, 0.0)] if kept else [])]

    @property
    def finished(self) -> bool:
        """Whether all epochs are done or patience has run out."""
        waited = self.progress.epoch - self.progress.best_epoch
        return self.progress.epoch >= self.config.epochs or waited >= self.config.patience

    def run(self, stop: Callable[[], bool], after_epoch: Callable[[], None]) -> bool:
        """Train from where `progress` stands, until the end or until `stop()` after a step is true.

        Returns whether training came to its end.
        """
        with threads_for(max(p.numel() for p in self.parameters)):
            while not self.finished:
                if not self._epoch(stop):
                    return False
                after_epoch()
        return True

    def _epoch(self, stop: Callable[[], bool]) -> bool:
        """Train for the rest of an epoch; whether it came to its end."""
        groups = self.train.shuffled(self.config.batch, (self.config.seed, self.progress.epoch))
        for k in range(self.progress.step, self.steps):
            batch = self.train.batch(groups[k], self.processes.rank, self.processes.count)
            self._step(batch)
            self.progress.step, self.progress.seen = k + 1, self.progress.seen + batch.pairs
            if stop():
                return False
        self._end_epoch()
        return True

    def training_perplexity(self) -> float:
        """The perplexity of the epoch so far, as dropout leaves it."""
        return perplexity(self.nll.item(), self.progress.seen)

    def check_finite(self) -> None:
        """Refuse to go on with a loss that is no finite number."""
        self._refuse_unless(math.isfinite(self.nll), f"the loss is {self.nll.item()}")

    def check_weights(self) -> None:
        """Refuse to save weights that are no numbers; the loss shows them only a step later."""
        finite = all(torch.isfinite(p).all() for p in self.parameters)
        self._refuse_unless(finite, "weights stopped being numbers")

    def _refuse_unless(self, finite: bool, problem: str) -> None:
        if not finite:
            raise RnnlensError(
                f"{problem} in epoch {self.progress.epoch + 1}, step {self.progress.step}; what "
                "was saved before, if anything, is kept: try a lower --learning-rate "
                f"(now {self.config.learning_rate}) or --clip in another folder"
            )

    def _step(self, batch: Batch) -> None:
        done = self.progress.epoch * self.steps + self.progress.step
        self.dropout.begin(_mix(self.config.seed, done), batch.columns, batch.sentences)
        # The running average follows quickly at first, so that early epochs are not held back.
        follow = 1 - min(self.config.average, (1 + done) / (10 + done))
        scalars = torch.tensor([1 / batch.pairs, self._learning_rate(done), follow])
        self.network.train()
        given = (batch.inputs, batch.targets, batch.lengths, scalars)
        self.compute(*(tensor.to(self.device) for tensor in given))

    def _compute(self, inputs: Tensor, targets: Tensor, lengths: Tensor, scalars: Tensor) -> None:
        """One step. It takes only tensors, so that a CUDA graph can replay it."""
        scale, rate, follow = scalars
        h = self.network.hidden(inputs, self.dropout, lengths)  # (T, B, H)
        nll = self._nll(h.flatten(0, 1), targets.flatten())
        self.network.zero_grad()
        (nll * scale).backward()
        nll = nll.detach().clone()
        self.processes.sum([*(p.grad for p in self.parameters if p.grad is not None), nll])
        clip_grad_norm_(self.parameters, self.config.clip)
        self.rate.copy_(rate)
        self.optimiser.step()
        with torch.no_grad():
            for average, p in zip(self.averages, self.parameters, strict=True):
                average.lerp_(p, follow)
            self.nll += nll

    def _nll(self, y: Tensor, targets: Tensor) -> Tensor:
        """The summed NLL of targets (N,) after outputs (N, H)."""
        if y.is_cuda:
            return F.cross_entropy(self.network.predict_aligned(y), targets, reduction="sum")
        return linear_nll(*self.network.last_product(y), self.network.bias, targets)

    def _learning_rate(self, done: int) -> float:
        """The learning rate after `done` steps: it rises in a line and falls in half a cosine."""
        share = (done + 1) / (self.config.epochs * self.steps)
        if share < self.config.warmup:
            return self.config.learning_rate * share / self.config.warmup
        fall = (share - self.config.warmup) / (1 - self.config.warmup)
        return self.config.learning_rate * (1 + math.cos(math.pi * fall)) / 2

    def _end_epoch(self) -> None:
        self.check_finite()
        progress = self.progress
        valid = model_perplexity(self.average, self.valid, self.device)
        self._refuse_unless(math.isfinite(valid), f"the validation perplexity is {valid}")
        progress.history.append(
            {"epoch": progress.epoch + 1, "train": self.training_perplexity(), "valid": valid}
        )
        progress.epoch, progress.step, progress.seen = progress.epoch + 1, 0, 0
        self.nll.zero_()
        if progress.best is None or valid < progress.best:
            progress.best, progress.best_epoch = valid, progress.epoch
            self.best = {name: p.clone() for name, p in self.average.named_parameters()}


def _mix(seed: int, step: int) -> int:
    """A seed that differs from step to step and from run to run."""
    return (seed * 1_000_003 + step) % 2**63


@dataclass(frozen=True)
class CheckpointHeader(Strict):
    """What a checkpoint says beside its tensors."""

    identity: str  # tells this training from others
    progress: Progress


def _tensors(trainer: Trainer) -> dict[str, Tensor]:
    """Every tensor of a trainer by its name in the file, but for those of the optimiser."""
    tensors: dict[str, Tensor] = {"nll": trainer.nll}
    tensors |= {f"network.{name}": p for name, p in trainer.network.named_parameters()}
    tensors |= {f"average.{name}": p for name, p in trainer.average.named_parameters()}
    return tensors | {f"best.{name}": p for name, p in trainer.best.items()}


def _optimiser_tensors(trainer: Trainer, progress: Progress) -> dict[str, Tensor]:
    """What the optimiser knows, by name; nothing before the first step."""
    if not (progress.epoch or progress.step):
        return {}
    return {
        f"{key}.{name}": trainer.optimiser.state[p][key]
        for name, p in trainer.network.named_parameters()
        for key in STATE
    }


def save_checkpoint(trainer: Trainer, path: Path, identity: str) -> None:
    """Write the state; `identity` tells this training from others."""
    tensors = _tensors(trainer) | _optimiser_tensors(trainer, trainer.progress)
    write_tensors(path, tensors, CheckpointHeader(identity, trainer.progress))


@torch.no_grad()
def load_checkpoint(
    trainer: Trainer, path: Path, identity: str, plain: Callable[[str], str] = str
) -> None:
    """Put a trainer where `save_checkpoint` left it; a damaged file is refused.

    `plain` makes those identities the same that different versions write of one training.
    """
    tensors, header = read_sealed(path, CheckpointHeader, _REMEDY)
    if plain(header.identity) != plain(identity):
        raise RnnlensError(
            f"{path} belongs to another training; delete it or choose another folder"
        )
    progress, config = header.progress, trainer.config
    if max(progress.epoch, progress.best_epoch) > config.epochs or progress.step > trainer.steps:
        raise damaged(path, "it is beyond the end of the training", _REMEDY)
    wanted = _tensors(trainer) | _optimiser_tensors(trainer, progress)
    check_same(path, tensors, wanted, _REMEDY)
    for name, values in wanted.items():
        values.copy_(tensors[name])
    trainer.progress = progress
