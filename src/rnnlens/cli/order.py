"""What a training is asked for: options, presets, and a recipe for each task."""

import argparse
import json
import os
import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch

from rnnlens.base.errors import RnnlensError
from rnnlens.base.flags import check_same, from_flags
from rnnlens.base.progress import Shorter
from rnnlens.corpus.batches import Split
from rnnlens.corpus.corpus import CorpusConfig, EncodedCorpus
from rnnlens.corpus.read.task import CLASSIFY, NEXT, TAG
from rnnlens.corpus.storage import BLOCK
from rnnlens.corpus.vocabulary import Vocabulary
from rnnlens.model.network import Network, NetworkConfig
from rnnlens.model.train.dropout import Unknown
from rnnlens.model.train.training import TrainingConfig
from rnnlens.run.folder import Run
from rnnlens.run.run_files import Record

# A smaller network, chosen by what two CPU cores reach in minutes (docs/results.md).
QUICK = "quick"
PRESETS: dict[str, dict[str, Any]] = {
    QUICK: {
        "width": 96,
        "epochs": 12,
        "batch": 32,
        "dropout_words": 0.05,
        "dropout_input": 0.15,
        "dropout_hidden": 0.1,
        "dropout_output": 0.2,
        "dropout_weight": 0.1,
    }
}
# How each task is trained where no flag says otherwise (docs/results.md).
RECIPES: dict[str, dict[str, Any]] = {
    TAG: {
        "tied": False,
        "lowercase": False,
        "min_count": 1,
        "unknown": 0.5,
        "epochs": 20,
        "batch": 32,
        "learning_rate": 3e-3,
        "dropout_words": 0.0,
        "dropout_input": 0.4,
        "dropout_hidden": 0.4,
        "dropout_output": 0.4,
    },
    CLASSIFY: {
        "tied": False,
        "min_count": 2,
        "unknown": 0.25,
        "longest": 1000,
        "epochs": 4,
        "learning_rate": 3e-3,
        "dropout_input": 0.4,
        "dropout_hidden": 0.4,
        "dropout_output": 0.4,
    },
}
_COPIES = 8  # of the weights that training holds, at most: optimiser, averages, gradients, ...


@dataclass(frozen=True)
class Order:
    """All options of a training; with equal options and corpora, two runs are the same."""

    corpus: CorpusConfig
    network: NetworkConfig
    training: TrainingConfig

    @classmethod
    def of(cls, args: argparse.Namespace, preset: str | None) -> "Order":
        """What the flags ask for, with a preset where they say nothing."""
        values = {**RECIPES.get(args.task or NEXT, {}), **(PRESETS[preset] if preset else {})}
        order = cls(
            corpus=from_flags(CorpusConfig, args, values),
            network=from_flags(NetworkConfig, args, values),
            training=from_flags(TrainingConfig, args, values),
        )
        order.check()
        return order

    def check(self) -> None:
        """Refuse networks that cannot learn the task."""
        if self.corpus.task == NEXT and self.network.bidirectional:
            raise RnnlensError(
                "--bidirectional: a network that reads backwards has read the next word already; "
                "give --task tag or classify with it"
            )
        if self.corpus.task != NEXT and self.network.tied:
            raise RnnlensError(
                f"--tied: the labels of --task {self.corpus.task} are no words, so that the "
                "readout cannot share their matrix; leave it out"
            )

    def work(self, vocabulary: Vocabulary) -> int:
        """What training computes, up to a factor that is the same for all on one corpus."""
        return _weights(self.network, vocabulary) * self.training.epochs

    def record(self, corpus: EncodedCorpus, words: Sequence[str]) -> dict[str, Any]:
        """What run.json says of how a run is made."""
        return {
            "command": shlex.join(["rnnlens", *words]),
            "made_by": "train",
            "corpus": {"source": corpus.name, "hash": corpus.hash, **asdict(self.corpus)},
            "network": asdict(self.network),
            "training": asdict(self.training),
        }

    def identity(self, sha: str) -> str:
        """What tells this training from others, on the corpus of this hash."""
        return json.dumps([sha, asdict(self)])

    def refuse_other(self, run: Run, before: Record) -> None:
        """Refuse to continue a run that was begun with other options."""
        if before.made_by == "fit":
            raise RnnlensError(
                f"{run.path} holds the run of a module of your own; choose another folder with -o"
            )
        for part in ("corpus", "network", "training"):
            check_same(run.path, getattr(before, part) or {}, asdict(getattr(self, part)))


def plain_identity(identity: str) -> str:
    """The identity of a training without options that are at their defaults: whether a version had
    such an option or not is then the same.
    """
    defaults = asdict(Order(CorpusConfig(), NetworkConfig(), TrainingConfig()))
    try:
        sha, parts = json.loads(identity)
        kept = {
            part: {name: value for name, value in parts[part].items()
                   if value != usual.get(name, ...)}
            for part, usual in defaults.items()
        }  # fmt: skip
    except (ValueError, TypeError, KeyError, AttributeError):  # it is no identity of a training
        return identity
    return json.dumps([sha, kept], sort_keys=True)


def shorter(order: Order, quick: Order, vocabulary: Vocabulary, device: torch.device) -> Shorter:
    """What makes a training shorter, and the share of the time that it takes then: without a GPU
    the preset, where it saves half or more, else fewer epochs.
    """
    share = quick.work(vocabulary) / order.work(vocabulary)
    if device.type == "cpu" and share <= 1 / 2:
        return f"--preset {QUICK}", share
    epochs = order.training.epochs
    fewer = max(1, epochs // 3)
    return (f"--epochs {fewer}", fewer / epochs) if fewer < epochs else None


def new_network(config: NetworkConfig, vocabulary: Vocabulary) -> Network:
    """A network for the labels and words of a vocabulary."""
    words = vocabulary.words
    return Network(config, len(vocabulary), None if words is None else len(words))


def unknown_words(vocabulary: Vocabulary, train: Split) -> Unknown | None:
    """The unknown word and how often training reads each, where there is an unknown word."""
    if vocabulary.unknown is None:
        return None
    counts = np.zeros(len(vocabulary.inputs), np.int64)
    for k in range(0, len(train.ids), BLOCK):
        np.add.at(counts, train.ids[k : k + BLOCK], 1)
    return Unknown(vocabulary.unknown, torch.from_numpy(counts))


def _weights(network: NetworkConfig, vocabulary: Vocabulary) -> int:
    """How many weights a network has."""
    with torch.device("meta"):
        return sum(p.numel() for p in new_network(network, vocabulary).parameters())


def refuse_too_large(network: NetworkConfig, vocabulary: Vocabulary) -> None:
    """Refuse a network that needs more memory than this machine has."""
    size, words = _weights(network, vocabulary) * 4 * _COPIES, len(vocabulary.inputs)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if size > memory:
        raise RnnlensError(
            f"training a {network.cell} of width {network.width} and {network.layers} layers on "
            f"{words:,} words takes about {size / 2**30:,.0f} GiB and this machine has "
            f"{memory / 2**30:,.0f}; give a smaller --width or --layers"
        )
