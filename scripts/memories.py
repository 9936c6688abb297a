"""How memories differ: every cell trained on the same data, and measured in the same way.

    python scripts/memories.py FOLDER --corpus news.conllu.gz --minutes 9 --jobs 4

On the corpus each cell is trained with several seeds and is asked, kind by kind, what its states
say, how much of that is used, how long memories last, and what is lost of them by decay and by
erasing. On four tasks whose right answers are known it is asked how often it is right within what
it was trained on, and beyond: brackets twice as deep, parities and products of permutations twice
as long, recall among twice as many pairs.

Whatever is finished is kept in FOLDER, and the same command goes on with the rest: also in the
middle of a training, where `--minutes` or a signal ended it. What fails is told, and all else is
done. FOLDER/memories.json has all numbers, FOLDER/memories.md the least to the most of all seeds,
or their mean where a table says so. It imports no more than torch, numpy, safetensors, pydantic and
tqdm.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import partial
from hashlib import blake2b
from itertools import islice, permutations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import write_bytes
from rnnlens.corpus.corpus import Corpus, EncodedCorpus, encode
from rnnlens.lab.half_lives import half_lives
from rnnlens.lab.prefixes import Reader
from rnnlens.labels.colours import default_colours
from rnnlens.model.cells import CELLS
from rnnlens.model.network import Network
from rnnlens.model.network_config import CELL_NAMES, WRITTEN
from rnnlens.model.text import TextSide
from rnnlens.model.train.distributed import pick_device
from rnnlens.model.train.training import Trainer, load_checkpoint, save_checkpoint
from rnnlens.probe.dataset import Dataset
from rnnlens.probe.evaluation import evaluate_model, evaluate_probes
from rnnlens.probe.fit_config import FitConfig
from rnnlens.probe.fit_loop import fit_probes
from rnnlens.probe.used import used
from rnnlens.run.corpus_data import sentence_dataset
from rnnlens.run.folder import Run
from rnnlens.run.record import TRAINED, TRAINING
from rnnlens.work.train_options import TrainOptions

Steps = list[tuple[str, str]]  # what is read, and what is right after it
LANGUAGE, UNASKED = "language", "-"
_STOPPED, _FAILED = 3, 1  # exits: of a training that is to be continued, and where an item failed
_SHARES = 2  # of a GPU's memory that a process may take, since not all need most at once
_PATIENCE = 20  # seconds that a training has to keep how far it has come
_TEXTS = 400  # of the test data, that memories are measured on
_TASK: dict[str, Any] = {  # how a task is trained: nothing is noise in it, so nothing is dropped
    "width": 48, "epochs": 20, "batch": 64, "learning_rate": 3e-3, "weight_decay": 0.0,
    "patience": 20, "dropout_words": 0.0, "dropout_input": 0.0, "dropout_hidden": 0.0,
    "dropout_output": 0.0, "dropout_weight": 0.0,
}  # fmt: skip
_TOGETHER = 256  # sequences that are read side by side
_MEMORIES_TOGETHER = 16  # the same, where all that a memory goes through is held


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    write_bytes(path, text.encode())


# The tasks. `size` is how deep, how long or how many pairs.


def brackets(chance: random.Random, size: int) -> Steps:
    """Brackets of two sorts to a depth; right is what closes next."""
    open_, steps = list[str](), Steps()
    for left in range(6 * size, 0, -1):
        opens = len(open_) < min(size, left - 1) and (not open_ or chance.random() < 0.55)
        if not opens and not open_:
            break
        if opens:
            open_.append(chance.choice(")]"))
            steps.append(("(" if open_[-1] == ")" else "[", open_[-1]))
        else:
            read = open_.pop()
            steps.append((read, open_[-1] if open_ else "none"))
    return steps


def parity(chance: random.Random, size: int) -> Steps:
    """Whether an odd number of ones was read."""
    bits = [chance.randrange(2) for _ in range(5 * size)]
    odd = np.cumsum(bits) % 2
    return [
        ("one" if bit else "zero", "odd" if o else "even") for bit, o in zip(bits, odd, strict=True)
    ]


def products(chance: random.Random, size: int) -> Steps:
    """The product of the permutations of three things that were read."""
    every = list(permutations(range(3)))
    state, steps = every[0], Steps()
    for _ in range(5 * size):
        by = chance.choice(every)
        state = tuple(state[k] for k in by)
        steps.append(("s" + "".join(map(str, by)), "p" + "".join(map(str, state))))
    return steps


def recall(chance: random.Random, size: int) -> Steps:
    """Pairs of keys and values, of which one key comes again: right is its value."""
    keys = chance.sample([f"k{n}" for n in range(32)], 2 * size)
    pairs = {key: f"v{chance.randrange(8)}" for key in keys}
    steps = [(word, UNASKED) for pair in pairs.items() for word in pair]
    again = chance.sample(keys, size)
    return steps + [(key, pairs[key]) for key in again]


TASKS: dict[str, Callable[[random.Random, int], Steps]] = {
    "brackets": brackets, "parity": parity, "products": products, "recall": recall,
}  # fmt: skip
_LEARNT, _BEYOND = 4, 8  # sizes that are trained on, at most, and that are asked beyond


def make_task(folder: Path, task: str, count: int) -> Path:
    """Files of a task: train, valid (within) and test (beyond)."""
    folder.mkdir(parents=True, exist_ok=True)
    parts = {"train": (count, 1, _LEARNT), "valid": (count // 10, _LEARNT, _LEARNT),
             "test": (count // 10, _BEYOND, _BEYOND)}  # fmt: skip
    for name, (number, least, most) in parts.items():
        chance = random.Random(f"{task} {name}")
        every = [TASKS[task](chance, chance.randint(least, most)) for _ in range(max(8, number))]
        rows = ("".join(f"{word} {right}\n" for word, right in steps) for steps in every)
        write_text(folder / f"{name}.txt", "\n".join(rows))
    return folder / "train.txt"


def read_task(path: Path) -> list[Steps]:
    """The sequences of a file of a task."""
    blocks = path.read_text(encoding="utf-8").strip().split("\n\n")
    return [[(row.split()[0], row.split()[1]) for row in block.splitlines()] for block in blocks]


# One training, and what is measured of it.


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

    def options(self, item: Item) -> tuple[str, TrainOptions]:
        """The corpus of an item, and how it is trained."""
        chosen = {"cell": item.cell, "seed": item.seed, **json.loads(self.args.options)}
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
        if self.measured(item).exists():
            return True
        return bool(self.args.train_only) and self.trained(item)

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
    run, record = bench.run(item), options.record(corpus, f"scripts/memories.py: {item.name}")
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


def _after_the_first(states: Mapping[str, Tensor], kind: str) -> Tensor:
    """A kind's states from the second word on."""
    return states[kind][1:]


@torch.no_grad()
def of_states(network: Network, texts: Sequence[Sequence[int]]) -> dict[str, dict[str, float]]:
    """Of every memory, which share of it a word takes by decay, which by erasing, and which share
    of the memory after it has just been written: lengths of vectors, means over words.
    """
    found: dict[tuple[str, str], list[Tensor]] = {}
    in_order = sorted((ids for ids in texts if len(ids) > 1), key=len)
    for first in range(0, len(in_order), _MEMORIES_TOGETHER):
        some = in_order[first : first + _MEMORIES_TOGETHER]
        lengths = torch.tensor([len(ids) for ids in some])
        words = torch.zeros(int(lengths.max()), len(some), dtype=torch.long)  # (T, B)
        for column, ids in enumerate(some):
            words[: len(ids), column] = torch.tensor(ids)
        real = (torch.arange(1, len(words))[:, None] < lengths).to(network.device)
        states = network.trace(words.to(network.device)).states
        for kind in network.kinds:
            if (memory := kind.memory) is None:
                continue
            whole = states[kind.id]
            before, sizes = whole[:-1], whole.norm(dim=-1).clamp_min(1e-9)
            erased = states[memory.erased][1:] if memory.erased else torch.zeros_like(before)
            # The decay itself: of a memory that is scaled by its largest exponent, what is kept
            # has another scale than what was there before.
            decay = network.decay(kind, partial(_after_the_first, states))
            assert decay is not None  # it is a memory
            stays = decay.repeat_interleave(before.shape[-1] // decay.shape[-1], -1) * before
            shares = {
                "decayed": 1 - stays.norm(dim=-1) / sizes[:-1],
                "erased": erased.norm(dim=-1) / sizes[:-1],
                "written": states[memory.write][1:].norm(dim=-1) / sizes[1:],
            }
            for name, values in shares.items():
                found.setdefault((kind.id, name), []).append(values[real])
    lost: dict[str, dict[str, float]] = {}
    for (kind_id, name), parts in found.items():
        lost.setdefault(kind_id, {})[name] = float(torch.cat(parts).mean())
    return lost


@torch.no_grad()
def accuracy(network: Network, corpus: EncodedCorpus, every: Sequence[Steps]) -> float:
    """How often the network is right where there is something to be asked."""
    words, labels = corpus.vocabulary.inputs, corpus.vocabulary.labels
    word_of, label_of = ({name: k for k, name in enumerate(names)} for names in (words, labels))
    right = asked = 0
    by_length: dict[int, list[Steps]] = {}
    for steps in every:
        by_length.setdefault(len(steps), []).append(steps)
    for some in by_length.values():
        for first in range(0, len(some), _TOGETHER):
            part = some[first : first + _TOGETHER]
            ids = torch.tensor([[word_of[w] for w, _ in steps] for steps in part]).T
            wanted = torch.tensor(
                [[label_of[r] if r != UNASKED else -1 for _, r in steps] for steps in part]
            ).T
            said = (
                network.predict(network.trace(ids.to(network.device)).prediction).argmax(-1).cpu()
            )
            right, asked = right + int((said == wanted).sum()), asked + int((wanted >= 0).sum())
    return right / asked


class Measures:
    """What is measured of a trained item, part by part: each is kept in its run as soon as it is
    there, and is not measured again.
    """

    def __init__(self, bench: Bench, item: Item, network: Network, corpus: EncodedCorpus) -> None:
        self.bench, self.item, self.network, self.corpus = bench, item, network, corpus
        self.run, self.dataset = bench.run(item), sentence_dataset(network, corpus)
        self.dataset.sharing = bench.args.jobs

    def numbers(self) -> dict[str, Any]:
        """All of them."""
        parts: dict[str, Callable[[], Any]] = {
            "weights": lambda: sum(p.numel() for p in self.network.parameters()),
            "layers": lambda: self.network.config.layers,
            "seconds": lambda: float((self.run.path / "seconds.txt").read_text()),
            "model": lambda: evaluate_model(self.dataset, self.corpus.vocabulary.labels).model,
        }
        if self.item.data != LANGUAGE:
            parts |= {"accuracy": self._accuracy, "kinds": self._kinds}
        else:
            parts |= {
                "lost": lambda: of_states(self.network, self._texts()),
                "half_lives": self._half_lives,
                "last_linear": lambda: of_last_output(self.dataset),
                "kinds": self._kinds,
            }
        if self.item.data == LANGUAGE and self.item.seed < self.bench.args.used:
            parts["used"] = self._used  # which takes longest
        fit = blake2b(self.bench.args.fit.encode(), digest_size=4).hexdigest()
        place = self.run.path / f"numbers-{fit}.json"  # other probes, other numbers
        found: dict[str, Any] = json.loads(place.read_text()) if place.exists() else {}
        for name, measure in parts.items():
            if name not in found:
                began = time.monotonic()
                found[name] = measure()
                write_text(place, json.dumps(found))
                print(f"{self.item.name}: {name} {time.monotonic() - began:.0f} s", flush=True)
        return found

    def _texts(self) -> list[list[int]]:
        return [ids.tolist() for ids in islice(_test_texts(self.corpus), _TEXTS)]

    def _kinds(self) -> dict[str, Any]:
        """What probes of every kind say; these are kept in the run."""
        config = FitConfig(**{"probe": "shared", **json.loads(self.bench.args.fit)})
        probes = fit_probes(self.dataset, config)
        self.run.write_probes(probes, {}, "half")
        scores = evaluate_probes(probes.to(self.dataset.device), self.dataset)
        return {score.kind: score.to_json() for score in scores}

    def _half_lives(self) -> dict[str, Any]:
        side = TextSide.of_words(self.corpus.vocabulary)
        return half_lives(Reader(self.network, side), self._texts()).to_json()

    def _accuracy(self) -> dict[str, float]:
        """Within what was learnt, and beyond it."""
        files = self.bench.folder / "tasks" / self.item.data
        return {
            where: accuracy(self.network, self.corpus, read_task(files / f"{name}.txt"))
            for where, name in (("within", "valid"), ("beyond", "test"))
        }

    def _used(self) -> dict[str, Any]:
        """How much predictions go by what is read of a kind."""
        probes = self.run.probes().to(self.network.device)
        return {use.kind: use.to_json() for use in used(probes, self.dataset)}


def of_last_output(dataset: Dataset) -> dict[str, Any]:
    """What a linear probe of its own reads of the last output, which a shared one of a small rank
    does not reach.
    """
    last = copy(dataset)
    last.kinds = dataset.kinds[-1:]
    probes = fit_probes(last, FitConfig(probe="linear")).to(dataset.device)
    return evaluate_probes(probes, last)[0].to_json()


def _test_texts(corpus: EncodedCorpus) -> Iterator[np.ndarray[Any, Any]]:
    """The numbers of the words of every test sentence."""
    split = corpus.splits["test"]
    for k in range(len(split)):
        batch = split.batch(np.array([k]), 0, 1)
        yield batch.inputs[: int(batch.lengths[0]), 0].numpy()


def work(bench: Bench, items: Sequence[Item]) -> int:
    """Train and measure items one after the other, also where one fails; the exit says whether all
    are finished.
    """
    stopped: list[int] = []
    for one in (signal.SIGTERM, signal.SIGINT):
        signal.signal(one, lambda number, _: stopped.append(number))
    if bench.device.type == "cuda":  # so that nobody keeps memory that others are short of
        share = min(1.0, _SHARES / bench.args.jobs)
        torch.cuda.set_per_process_memory_fraction(share, bench.device)
    failed = list[str]()
    for item in items:
        if bench.done(item):
            continue
        try:
            if stopped or not _finished(bench, item, lambda: bool(stopped)):
                return _STOPPED
        except Exception as error:  # noqa: BLE001 - other seeds may have no such trouble
            why = str(error) if isinstance(error, RnnlensError) else traceback.format_exc()
            print(f"{item.name}: failed: {why}", file=sys.stderr)
            failed.append(item.name)
    return _FAILED if failed else 0


def _finished(bench: Bench, item: Item, stop: Callable[[], bool]) -> bool:
    """Train and measure an item; whether it was not stopped before its end."""
    trained = train(bench, item, stop)
    if trained is None:
        return False
    if not bench.args.train_only:
        numbers = Measures(bench, item, *trained).numbers()
        bench.measured(item).parent.mkdir(parents=True, exist_ok=True)
        write_text(bench.measured(item), json.dumps(numbers))
    return True


# All of them.


def conduct(bench: Bench, argv: Sequence[str]) -> bool:
    """Have the items done that are not yet, several at a time, until the time is up; whether all
    are done.
    """
    end = time.monotonic() + 60 * bench.args.minutes
    left = [",".join(item.name for item in group) for group in bench.left()]
    at_work: dict[str, subprocess.Popen[bytes]] = {}
    failed: list[str] = []
    done = "trained" if bench.args.train_only else "measured"
    again: set[str] = set()  # what failed once: others beside it may have taken the memory
    while (left or at_work) and time.monotonic() < end:
        while left and len(at_work) < bench.args.jobs:
            names = left.pop(0)
            at_work[names] = subprocess.Popen([sys.executable, __file__, *argv, "--only", names])
        time.sleep(0.2)
        for names, process in [one for one in at_work.items() if one[1].poll() is not None]:
            del at_work[names]
            if process.returncode and names not in again:
                again.add(names)
                left.append(names)
            elif process.returncode:
                failed.append(names)
            print(f"{names}: {'failed' if process.returncode else done}", flush=True)
    for process in at_work.values():
        process.terminate()
    for process in at_work.values():
        try:
            process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:  # it is being measured: that part begins anew
            process.kill()
    return not (left or at_work or failed)


def gathered(bench: Bench) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """The numbers of all seeds that are measured, by data and cell."""
    found: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for item in bench.items():
        if bench.measured(item).exists():
            numbers = json.loads(bench.measured(item).read_text(encoding="utf-8"))
            found.setdefault(item.data, {}).setdefault(item.cell, []).append(numbers)
    return found


Seeds = list[dict[str, Any]]  # the numbers of each


def tables(found: Mapping[str, Mapping[str, Seeds]]) -> str:
    """What was measured, as Markdown."""
    lines = list[str]()
    if language := found.get(LANGUAGE):
        lines += ["## Language", "", *_of_cells(language), "", *_of_kinds(language), ""]
        lines += [*_of_memories(language), ""]
    tasks = {task: found[task] for task in TASKS if task in found}
    if tasks:
        lines += ["## Tasks", "", *_of_tasks(tasks), "", *_of_task_memories(tasks), ""]
    return "\n".join(lines)


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (heads, ["---"] * len(heads), *rows)]


def _short(value: float, digits: int = 2) -> str:
    """A number as tables have it: .97, 1.03, 12, 115, 1,234."""
    if abs(value) >= 999.5:  # which three digits would round to 1e+03
        return f"{value:,.0f}"
    told = f"{value:.{digits}f}" if abs(value) < 10 else f"{value:.3g}"
    return told.replace("0.", ".", 1) if abs(value) < 1 else told


def _range(values: Sequence[float], digits: int = 2) -> str:
    """One number, or the least and the most of several."""
    least, most = (_short(edge, digits) for edge in (min(values), max(values)))
    return least if least == most else f"{least} to {most}"


def _own(numbers: Mapping[str, Any]) -> float:
    """The test perplexity of a network."""
    return float(numbers["model"]["test"]["perplexity"])


def _written(cell: str) -> str:
    return WRITTEN.get(cell, cell.upper())


def _of_cells(language: Mapping[str, Seeds]) -> list[str]:
    """Test perplexities, and what a linear probe of the last output makes of it."""
    lstm = np.mean([_own(one) for one in language["lstm"]]) if "lstm" in language else np.nan
    rows = [
        [_written(cell), str(seeds[0]["layers"]), f"{seeds[0]['weights'] / 1e6:.1f}",
         ", ".join(f"{_own(one):.2f}" for one in seeds),
         f"{np.mean([_own(one) for one in seeds]) / lstm:.3f}",
         _range([one["last_linear"]["perplexity"] / _own(one) for one in seeds], 3),
         _range([one["seconds"] for one in seeds], 0)]
        for cell, seeds in language.items()
    ]  # fmt: skip
    heads = ["cell", "layers", "weights, millions", "test, by seed", "over the LSTM's mean",
             "last output's linear probe over the model", "seconds"]  # fmt: skip
    return _table(heads, rows)


def roles(cell: str, layer: int) -> dict[str, str]:
    """Which kinds of a layer play which part."""
    kinds = CELLS[cell].kinds
    found = {}
    if memory := next((kind for kind in kinds if kind.memory), None):
        assert memory.memory  # as it was chosen by
        how = memory.memory
        found = {"decay": how.decay, "written": how.write, "kept": how.kept, "erased": how.erased,
                 "memory": memory.id}  # fmt: skip
    for kind in kinds:
        if kind.id == "r" and kind.name == "read":  # of a GRU it is a gate
            found["read"] = kind.id
        elif kind.id == "t":
            found["sum"] = kind.id
    found["output"] = CELLS[cell].output.id
    return {name: f"{letter}{layer}" for name, letter in found.items() if letter}


_ROLES = ("decay", "written", "kept", "erased", "memory", "read", "sum", "output")


def _of_kinds(language: Mapping[str, Seeds]) -> list[str]:
    """What probes of every kind say, over the network's own perplexity, and what of it is used."""
    rows, apart = list[list[str]](), 0.0
    for cell, seeds in language.items():
        asked = [one for one in seeds if "kinds" in one]
        if not asked:
            continue
        for layer in range(1, asked[0]["layers"] + 1):
            where = {"embedding": "x"} if layer == 1 else {}
            where |= roles(cell, layer)
            row = [f"{_written(cell)} ({len(asked)}), layer {layer}"]
            for role in ("embedding", *_ROLES):
                kind = where.get(role, "")
                ratios = [one["kinds"][kind]["perplexity"] / _own(one) for one in asked
                          if kind in one["kinds"]]  # fmt: skip
                if not ratios:
                    row.append("")
                    continue
                apart = max(apart, (max(ratios) - min(ratios)) / float(np.mean(ratios)))
                uses = [one["used"][kind]["used"] for one in asked if kind in one.get("used", {})]
                letter = f"{kind} " if role == "memory" else ""
                use = f" ({_short(float(np.mean(uses)))})" if uses else ""
                row.append(f"{letter}{_short(float(np.mean(ratios)))}{use}")
            rows.append(row)
    heads = ["mean of (seeds)", "embedding", *_ROLES]
    return [*_table(heads, rows), "", f"Seeds of one kind differ by {apart:.1%} at the most."]


def _of_memories(language: Mapping[str, Seeds]) -> list[str]:
    """How long memories last, and what a word takes of them and writes."""
    rows = list[list[str]]()
    for cell, seeds in language.items():
        asked = [one for one in seeds if "half_lives" in one]
        for layer in range(1, asked[0]["layers"] + 1 if asked else 0):
            memory = roles(cell, layer).get("memory", "")
            lives = [life for one in asked for life in one["half_lives"]["memories"]
                     if life["kind"] == memory]  # fmt: skip
            if not lives:
                continue
            shares = [one["lost"][memory] for one in asked]
            rows.append([
                f"{_written(cell)} {memory} ({len(asked)})",
                ", ".join(_range([life[edge] for life in lives], 1)
                          for edge in ("low", "median", "high")),
                *(_range([share[what] for share in shares])
                  for what in ("decayed", "erased", "written")),
            ])  # fmt: skip
    heads = ["", "half-life in words: a tenth less, median, a tenth more", "decayed", "erased",
             "written"]  # fmt: skip
    return _table(heads, rows)


def _of_tasks(tasks: Mapping[str, Mapping[str, Seeds]]) -> list[str]:
    """How often each cell is right, within what it learnt from and beyond."""
    cells = dict.fromkeys(cell for found in tasks.values() for cell in found)
    rows = [
        [_written(cell), *(_right(found.get(cell, [])) for found in tasks.values())]
        for cell in cells
    ]
    return _table(["right within; beyond: least to most of the seeds", *tasks], rows)


def _right(seeds: Seeds) -> str:
    shares = ([one["accuracy"][where] for one in seeds] for where in ("within", "beyond"))
    return "; ".join(map(_range, shares)) if seeds else ""


def _of_task_memories(tasks: Mapping[str, Mapping[str, Seeds]]) -> list[str]:
    """What probes of the last memory and of the last output say beyond what was learnt."""
    cells = dict.fromkeys(cell for found in tasks.values() for cell in found)
    rows = [
        [_written(cell), *(_said(cell, found.get(cell, [])) for found in tasks.values())]
        for cell in cells
    ]
    heads = ["perplexity beyond, by frequencies; last memory; output; the network itself", *tasks]
    return _table(heads, rows)


def _said(cell: str, seeds: Seeds) -> str:
    if not seeds:
        return ""
    last = roles(cell, seeds[0]["layers"])
    kinds = [last[role] for role in ("memory", "output") if role in last]
    told = [[one["kinds"][kind]["perplexity"] for one in seeds if kind in one["kinds"]]
            for kind in dict.fromkeys(kinds)]  # fmt: skip
    frequencies = [one["model"]["test"]["unigram"] for one in seeds]
    parts = (frequencies, *told, [_own(one) for one in seeds])
    return "; ".join(_range(values) if values else UNASKED for values in parts)


def _names(given: str) -> list[str]:
    """Names with a comma between; of nothing, none."""
    return [name for name in given.split(",") if name]


def arguments(argv: Sequence[str]) -> argparse.Namespace:
    """What is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folder", help="where everything is kept")
    parser.add_argument(
        "--corpus", default="", help="a corpus of language; without it, tasks alone"
    )
    parser.add_argument("--cells", type=_names, default=list(CELL_NAMES), help="comma between")
    parser.add_argument("--tasks", type=_names, default=list(TASKS), help="comma between")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument(
        "--used", type=int, default=1, help="seeds of which is measured what is used of their kinds"
    )
    parser.add_argument(
        "--count", type=int, default=8_000, help="sequences of a task to learn from"
    )
    parser.add_argument("--options", default="{}", help="options of training, as JSON")
    parser.add_argument("--fit", default="{}", help="options of the probes, as JSON")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--jobs", type=int, default=1, help="trainings at a time")
    parser.add_argument(
        "--minutes", type=float, default=1e6, help="after which it stops, to go on later"
    )
    parser.add_argument("--train-only", action="store_true", help="measure nothing yet")
    parser.add_argument("--only", type=_names, default=[], help=argparse.SUPPRESS)
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Do what is left, and write down all that is known."""
    given = list(sys.argv[1:] if argv is None else argv)
    args = arguments(given)
    bench = Bench(args)
    if args.only:
        return work(bench, [item for item in bench.items() if item.name in args.only])
    for task in args.tasks:
        if not (bench.folder / "tasks" / task / "test.txt").exists():
            make_task(bench.folder / "tasks" / task, task, args.count)
    done = conduct(bench, given)
    found = gathered(bench)
    write_text(bench.folder / "memories.json", json.dumps(found))
    write_text(bench.folder / "memories.md", tables(found))
    print(tables(found))
    return 0 if done else _STOPPED


if __name__ == "__main__":
    try:
        sys.exit(main())
    except RnnlensError as error:
        sys.exit(f"memories: {error}")
