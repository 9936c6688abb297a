"""What probes are fitted to and measured on: a model, ours or somebody's own, and its data."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from rnnlens.adapter import Adapter
from rnnlens.adapter.axes.axes import Axes
from rnnlens.adapter.axes.targets import Batch
from rnnlens.corpus.batches import Split
from rnnlens.errors import RnnlensError
from rnnlens.model.network import Network
from rnnlens.model.train.perplexity import model_perplexity, perplexity, unigram_perplexity
from rnnlens.probe import semantics
from rnnlens.probe.families import Readout
from rnnlens.probe.module_states import ModuleStates
from rnnlens.probe.stream import OWN, Source, Stream

NO_LOGITS = (
    "the module's logits were not found in what it returns; give logits= a function that picks them"
)
CHUNK = 4096  # states of every kind that measuring holds at once


class Subject(ABC):
    """A model and its data, in the splits train, valid and test."""

    kinds: tuple[str, ...]
    labels: int
    device: torch.device

    @abstractmethod
    def source(self, split: str, semantic: str, size: int = CHUNK) -> Source:
        """The states of a split, `size` at once, with the labels they are asked about."""

    @abstractmethod
    def readout(self) -> tuple[str, Readout] | None:
        """The kind that the model's own prediction is a linear map of, and that map."""

    @abstractmethod
    def log_prior(self, semantic: str) -> Tensor:
        """Log frequencies of a semantic's labels in training, each counted once more, (V,)."""

    @abstractmethod
    def shuffled(self, seed: int) -> "Subject":
        """The same to read, with every label exchanged for another's at random."""

    @abstractmethod
    def measured(self) -> dict[str, dict[str, float]]:
        """Perplexity of the model itself and of the unigram baseline on each split."""


class NetworkSubject(Subject):
    """A network of ours on an encoded corpus."""

    def __init__(self, network: Network, splits: Mapping[str, Split], device: torch.device) -> None:
        self.network, self.splits, self.device = network, splits, device
        self.kinds, self.labels = tuple(kind.id for kind in network.kinds), network.label_count

    def source(self, split: str, semantic: str, size: int = CHUNK) -> Source:
        shift = semantics.offset(semantic)
        return Stream(self.network, self.splits[split], shift, self.device, size)

    def readout(self) -> tuple[str, Readout] | None:
        found = self.network.classifier()
        return found.kind, Readout(found.weight, found.bias)

    def log_prior(self, semantic: str) -> Tensor:
        train = self.splits["train"]
        found = semantics.labels(train, np.arange(len(train)), semantics.offset(semantic))
        return _log_prior(np.bincount(found[found >= 0], minlength=self.labels))

    def shuffled(self, seed: int) -> "NetworkSubject":
        splits = {name: _mixed(split, seed) for name, split in self.splits.items()}
        return NetworkSubject(self.network, splits, self.device)

    def measured(self) -> dict[str, dict[str, float]]:
        counts = np.bincount(self.splits["train"].targets(), minlength=self.labels)
        return {
            name: {
                "sentences": len(split),
                "pairs": split.pairs,
                "perplexity": model_perplexity(self.network, split, self.device),
                "unigram": unigram_perplexity(counts.tolist(), split),
            }
            for name, split in self.splits.items()
        }


class ModuleSubject(Subject):
    """Somebody's own module on its batches."""

    def __init__(
        self,
        adapter: Adapter,
        arrangement: Axes,
        batches: Mapping[str, Sequence[Batch]],
        labels: int,
        *,
        reads_labels: bool,
    ) -> None:
        """`reads_labels`: whether what it reads are the labels, so that `input` can be asked."""
        self.adapter, self.arrangement, self.batches = adapter, arrangement, batches
        self.labels, self.reads_labels, self.kinds = labels, reads_labels, arrangement.kinds
        self.device = adapter.device
        self._mixed: tuple[int, ModuleSubject] | None = None  # a seed, and whose labels are mixed
        self._tallies: dict[tuple[str, str], dict[int, Tensor]] = {}

    def source(
        self, split: str, semantic: str, size: int = CHUNK, *, with_own: bool | None = None
    ) -> ModuleStates:
        if semantic == "input" and not self.reads_labels:
            raise RnnlensError(
                "the semantic input asks for the word that was read, and the module's labels are "
                "not the words it reads; leave input out"
            )
        drawn = None
        if self._mixed and semantic == "input":  # its labels are words, which have to stay
            seed, real = self._mixed
            drawn = seed, real.source(split, semantic).frequencies()
        return ModuleStates(
            self.adapter, self.arrangement, self.batches[split], semantic, self.labels, size,
            with_own=split == "test" if with_own is None else with_own,
            tally=self._tallies.setdefault((split, semantic), {}), drawn=drawn,
        )  # fmt: skip

    @cached_property
    def _readout(self) -> tuple[str, Readout] | None:
        found = self.adapter.classifier()
        if found is None or found.kind not in self.kinds:
            return None
        return found.kind, Readout(found.weight, found.bias)

    def readout(self) -> tuple[str, Readout] | None:
        return self._readout

    def frequencies(self, semantic: str = "output") -> NDArray[np.int64]:
        """How often each label is to be predicted in training, (V,)."""
        return self.source("train", semantic).frequencies()

    def log_prior(self, semantic: str) -> Tensor:
        return _log_prior(self.frequencies(semantic))

    def shuffled(self, seed: int) -> "ModuleSubject":
        made = {name: _exchanged(some, seed) for name, some in self.batches.items()}
        mixed = ModuleSubject(
            self.adapter, self.arrangement, made, self.labels, reads_labels=self.reads_labels
        )
        mixed._mixed = seed, self
        return mixed

    @torch.no_grad()
    def measured(self) -> dict[str, dict[str, float]]:
        prior, found = self.log_prior("output"), {}
        for name, batches in self.batches.items():
            source = self.source(name, "output", with_own=True)
            own = unigram = 0.0
            pairs = 0
            for chunk in source.chunks():
                logits = chunk.states.get(OWN)
                if logits is None:
                    raise RnnlensError(NO_LOGITS)
                own += float(F.cross_entropy(logits, chunk.labels, reduction="sum"))
                unigram -= float(prior[chunk.labels.cpu()].sum())
                pairs += len(chunk.labels)
            found[name] = {
                "batches": len(batches),
                "pairs": pairs,
                "perplexity": perplexity(own, pairs),
                "unigram": perplexity(unigram, pairs),
            }
        return found


def _log_prior(counts: np.ndarray) -> Tensor:
    smoothed = counts + 1.0
    return torch.from_numpy(np.log(smoothed / smoothed.sum()))


def _mixed(split: Split, seed: int) -> Split:
    order = np.random.default_rng((seed, 1)).permutation(len(split.ids))
    return Split(split.ids, split.starts, split.ids[order])


def _exchanged(batches: Sequence[Batch], seed: int) -> list[Batch]:
    """Targets exchanged among all places that have one."""
    there = [targets >= 0 for _, targets in batches]
    labels = torch.cat([t[where] for (_, t), where in zip(batches, there, strict=True)])
    order = np.random.default_rng((seed, 1)).permutation(len(labels))
    parts = labels[torch.from_numpy(order)].split([int(where.sum()) for where in there])
    made = []
    for (inputs, targets), where, part in zip(batches, there, parts, strict=True):
        changed = targets.clone()
        changed[where] = part
        made.append((inputs, changed))
    return made
