"""All that `rnnlens train` can be told; read without torch, so that mistakes are told at once."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from rnnlens.base.errors import RnnlensError
from rnnlens.base.flags import check_same, from_flags
from rnnlens.corpus.corpus_config import CorpusConfig
from rnnlens.corpus.read.task import NEXT
from rnnlens.model.network_config import NetworkConfig
from rnnlens.model.train.training_config import TrainingConfig
from rnnlens.run.folder import Run
from rnnlens.run.record import Record
from rnnlens.work.recipes import CELL_RECIPES, OF_RECIPES, PRESETS, RECIPES

if TYPE_CHECKING:
    from rnnlens.corpus.corpus import EncodedCorpus


@dataclass(frozen=True)
class TrainOptions:
    """All options of a training; with equal options and corpora, two runs are the same."""

    corpus: CorpusConfig
    network: NetworkConfig
    training: TrainingConfig

    @classmethod
    def of(cls, given: Mapping[str, Any], preset: str | None = None) -> "TrainOptions":
        """What is asked for by name; where nothing is said, as the preset has it, or the recipe of
        the task, whose rates go before the preset's. The recipe of a cell is for the next word,
        which it was chosen by.
        """
        if preset and preset not in PRESETS:
            raise RnnlensError(f"no preset is called {preset!r}; there is {', '.join(PRESETS)}")
        task = given.get("task") or NEXT
        cell = CELL_RECIPES.get(str(given.get("cell")), {})
        recipe = RECIPES.get(str(task), cell)
        own = {name: recipe[name] for name in OF_RECIPES if name in recipe}
        values = {**recipe, **(PRESETS[preset] if preset else {}), **own}
        options = cls(
            corpus=from_flags(CorpusConfig, given, values),
            network=from_flags(NetworkConfig, given, values),
            training=from_flags(TrainingConfig, given, values),
        )
        options.check()
        return options

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

    def record(self, corpus: "EncodedCorpus", command: str) -> dict[str, Any]:
        """What run.json says of how a run is made."""
        return {
            "command": command,
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
    defaults = asdict(TrainOptions(CorpusConfig(), NetworkConfig(), TrainingConfig()))
    try:
        sha, parts = json.loads(identity)
        chosen = {
            part: {name: value for name, value in parts[part].items()
                   if value != usual.get(name, ...)}
            for part, usual in defaults.items()
        }  # fmt: skip
    except (ValueError, TypeError, KeyError, AttributeError):  # it is no identity of a training
        return identity
    return json.dumps([sha, chosen], sort_keys=True)
