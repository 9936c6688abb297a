"""What there is to do: cells on data with seeds, where each is kept, and their trainings."""

import argparse
import json
import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from scripts.memories.tasks import make_task, write_text

from rnnlens.base.errors import RnnlensError
from rnnlens.base.flags import as_flag
from rnnlens.corpus.corpus import Corpus, EncodedCorpus, encode
from rnnlens.corpus.read.formats import is_of_nltk
from rnnlens.corpus.read.text_files import files
from rnnlens.labels.colours import default_colours
from rnnlens.model.network import Network
from rnnlens.model.train.distributed import pick_device
from rnnlens.model.train.training import Trainer, load_checkpoint, save_checkpoint
from rnnlens.run.folder import Run
from rnnlens.run.record import TRAINED, TRAINING
from rnnlens.work.train_options import TrainOptions

LANGUAGE = "language"
_OF_LANGUAGE = ("lost", "half_lives", "last_linear", "kinds", "used")  # the last takes longest
_OF_TASKS = ("accuracy", "kinds")
PARTS = tuple(dict.fromkeys(_OF_LANGUAGE + _OF_TASKS))
_OF_PROBES = {"kinds", "used"}  # what is measured by probes, which --fit is about
_TASK: dict[str, Any] = {  # how a task is trained: nothing is noise in it, so nothing is dropped
    "width": 48, "epochs": 20, "batch": 64, "learning_rate": 3e-3, "weight_decay": 0.0,
    "patience": 20, "dropout_words": 0.0, "dropout_input": 0.0, "dropout_hidden": 0.0,
    "dropout_output": 0.0, "dropout_weight": 0.0,
}  # fmt: skip


class Item(NamedTuple):
    """A cell on some data with some seed."""

    data: str
    cell: str
    seed: int

    @property
    def name(self) -> str:
        """Of its folder."""
        return f"{self.data}-{self.cell}-{self.seed}"


class Bench:
    """What every item has in common: where it is kept, and how large it is to be."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.folder, self.args = Path(args.folder), args
        self.device = pick_device(args.device)

    def begin(self) -> None:
        """Make what tasks are learnt from, and refuse a folder in which that was made otherwise, or
        a network trained; whether it was on the same text is seen when that is read.
        """
        if self.args.corpus and not is_of_nltk(self.args.corpus):
            files(Path(self.args.corpus))  # or say that there are none
        self.folder.mkdir(parents=True, exist_ok=True)
        for task in self.args.tasks:
            make_task(self.folder / "tasks" / task, task, self.args.count)
        for item in self.items():
            if (run := self.run(item)).exists():
                _refuse_other(run, self.options(item)[1])

    def options(self, item: Item) -> tuple[str, TrainOptions]:
        """The corpus of an item, and how it is trained."""
        chosen = {**self.args.options, "cell": item.cell, "seed": item.seed}
        if item.data == LANGUAGE:
            return self.args.corpus, TrainOptions.of(chosen)
        train = self.folder / "tasks" / item.data / "train.txt"
        beside = {name: str(train.with_name(f"{name}.txt")) for name in ("valid", "test")}
        task = {"task": "tag", "format": "columns", "numbers": False, "unknown": 0.0, **beside}
        return str(train), TrainOptions.of({**_TASK, **task, **chosen})

    def run(self, item: Item) -> Run:
        """The folder of an item's network."""
        return Run(self.folder / "runs" / item.name)

    def trained(self, item: Item) -> bool:
        """Whether an item's network is there."""
        run = self.run(item)
        return run.exists() and run.record().status == TRAINED

    def measured(self, item: Item) -> Path:
        """Where the numbers of an item are kept."""
        return self.folder / "measured" / f"{item.name}.json"

    def done(self, item: Item) -> bool:
        """Whether nothing that was asked for is left to do of an item."""
        if self.args.train_only and self.trained(item):
            return True
        place, asked = self.measured(item), {*self.parts(item)}
        found = json.loads(place.read_text()) if place.exists() else {}
        return bool(found) and asked <= found.keys() and self.is_by_same_fit(asked, found)

    def is_by_same_fit(self, asked: Iterable[str], found: Mapping[str, Any]) -> bool:
        """Whether parts that are asked for can stand beside what was found of an item."""
        fit = self.args.fit
        return not {*asked} & _OF_PROBES or bool(found.get("fit", fit) == fit)

    def parts(self, item: Item) -> list[str]:
        """Which parts are asked for of an item."""
        every = _OF_LANGUAGE if item.data == LANGUAGE else _OF_TASKS
        asked = {*every} & {*self.args.parts}
        if item.seed >= self.args.used:
            asked.discard("used")
        if "used" in asked:
            asked.add("kinds")  # of which it is
        return [part for part in every if part in asked]

    def items(self) -> list[Item]:
        """All that there is to do, seeds last, so that every cell is there soon."""
        data = ([LANGUAGE] if self.args.corpus else []) + self.args.tasks
        return [Item(one, cell, seed) for seed in range(self.args.seeds) for one in data
                for cell in self.args.cells]  # fmt: skip

    def left(self) -> list[list[Item]]:
        """What is not done yet, as one process each does it: trainings of a task are over so soon
        that all seeds are one process's.
        """
        left = [item for item in self.items() if not self.done(item)]
        groups: dict[tuple[str, str, int], list[Item]] = {}
        for item in left:
            seed = item.seed if item.data == LANGUAGE else 0
            groups.setdefault((item.data, item.cell, seed), []).append(item)
        return list(groups.values())


def _refuse_other(run: Run, options: TrainOptions) -> None:
    """Refuse a network that was trained otherwise; where its texts lie is no matter."""
    before = run.record()
    for part in ("corpus", "network", "training"):
        was = getattr(before, part) or {}
        for name, value in asdict(getattr(options, part)).items():
            if name not in ("valid", "test") and (other := was.get(name, value)) != value:
                raise RnnlensError(
                    f"{run.path} was trained with {as_flag(name, other)}, not "
                    f"{as_flag(name, value)}; give the same --options, or another folder"
                )


def train(
    bench: Bench, item: Item, stop: Callable[[], bool]
) -> tuple[Network, EncodedCorpus] | None:
    """Train an item's network from where it was left; None: it was stopped before its end."""
    source, options = bench.options(item)
    # Read anew: what an earlier command has kept is checked by a package that may be missing.
    os.environ["XDG_CACHE_HOME"] = os.devnull
    corpus = encode(
        Corpus.read(source, options.corpus, lowercase=options.corpus.lowercase), options.corpus
    )
    run = bench.run(item)
    if run.exists() and (run.record().corpus or {}).get("hash") != corpus.hash:
        raise RnnlensError(f"{run.path} was trained on another text; give that, or another folder")
    record = options.record(corpus, f"scripts/memories: {item.name}")
    words = corpus.vocabulary.words
    network = Network(
        options.network, len(corpus.vocabulary), None if words is None else len(words)
    )
    if bench.trained(item):
        return run.network().to(bench.device), corpus
    with run.writing():
        run.write_record({**record, "status": TRAINING})
        run.write_vocabulary(corpus.vocabulary)
        labels, counts = corpus.vocabulary.labels, corpus.vocabulary.counts
        run.write_colours(default_colours(labels, None, "by frequency", counts))
        splits = corpus.splits["train"], corpus.splits["valid"]
        trainer = Trainer(network.initialise(item.seed), *splits, options.training, bench.device)
        identity = options.identity(corpus.hash)
        if run.checkpoint.exists():
            load_checkpoint(trainer, run.checkpoint, identity)
        began = time.monotonic()
        ended = trainer.run(stop, lambda: None)
        save_checkpoint(trainer, run.checkpoint, identity)
        _note(run.path / "seconds.txt", time.monotonic() - began)
        if not ended:
            return None
        trainer.average.load_state_dict(trainer.best)
        run.write_model(trainer.average)
        run.write_record({**record, "status": TRAINED})
        run.checkpoint.unlink()
    return run.network().to(bench.device), corpus


def _note(path: Path, seconds: float) -> None:
    """Add seconds to those that a training has taken."""
    before = float(path.read_text()) if path.exists() else 0.0
    write_text(path, f"{before + seconds:.1f}")
