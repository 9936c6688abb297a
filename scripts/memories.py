"""How memories differ: every cell trained on the same data, and measured in the same way.

    python scripts/memories.py FOLDER --corpus news.conllu.gz --minutes 9 --jobs 4

On the corpus each cell is trained with several seeds and is asked, kind by kind, what its states
say, how much of that is used, how long memories last, and what is lost of them by decay and by
erasing. On four tasks whose right answers are known it is asked how often it is right within what
it was trained on, and beyond: brackets twice as deep, parities and products of permutations twice
as long, recall among twice as many pairs.

Whatever is finished is kept in FOLDER, and the same command goes on with the rest: also in the
middle of a training, where `--minutes` or a signal ended it. FOLDER/memories.json has all numbers,
FOLDER/memories.md their means over seeds. It imports no more than torch, numpy, safetensors,
pydantic and tqdm.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from rnnlens.model.network import Network
from rnnlens.model.network_config import CELL_NAMES
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
_STOPPED = 3  # the exit of a training that is to be continued
_PATIENCE = 20  # seconds that a training has to keep how far it has come
_TEXTS = 400  # of the test data, that memories are measured on
_TASK: dict[str, Any] = {  # how a task is trained: nothing is noise in it, so nothing is dropped
    "width": 48, "epochs": 20, "batch": 64, "learning_rate": 3e-3, "weight_decay": 0.0,
    "patience": 20, "dropout_words": 0.0, "dropout_input": 0.0, "dropout_hidden": 0.0,
    "dropout_output": 0.0, "dropout_weight": 0.0,
}  # fmt: skip
_HEADS = (("right within", "right beyond"),  # of a task, and of language
          ("last memory", "its use", "half-life", "decayed", "erased"))  # fmt: skip
_TOGETHER = 256  # sequences that are read side by side


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

    def measured(self, item: Item) -> Path:
        """Where the numbers of an item are kept."""
        return self.folder / "measured" / f"{item.name}.json"

    def items(self) -> list[Item]:
        """All that there is to do, seeds last, so that every cell is there soon."""
        data = ([LANGUAGE] if self.args.corpus else []) + self.args.tasks
        return [Item(one, cell, seed) for seed in range(self.args.seeds) for one in data
                for cell in self.args.cells]  # fmt: skip


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
    if run.exists() and run.record().status == TRAINED:
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
        own = evaluate_model(sentence_dataset(trainer.average, corpus), corpus.vocabulary.labels)
        run.write_evaluation(own.to_json())
        run.write_record({**record, "status": TRAINED, "metrics": {"perplexity": own.model}})
        run.checkpoint.unlink()
    return run.network().to(bench.device), corpus


def _note(path: Path, seconds: float) -> None:
    """Add seconds to those that a training has taken."""
    before = float(path.read_text()) if path.exists() else 0.0
    write_text(path, f"{before + seconds:.1f}")


def _after_the_first(states: Mapping[str, Tensor], kind: str) -> Tensor:
    """A kind's states of a single text from its second word on."""
    return states[kind][1:, 0]


@torch.no_grad()
def of_states(network: Network, texts: Sequence[Sequence[int]]) -> dict[str, dict[str, float]]:
    """Of every memory, which share of it a word takes by decay, which by erasing, and which share
    of the memory after it has just been written: lengths of vectors, means over words.
    """
    found: dict[tuple[str, str], list[Tensor]] = {}
    for ids in texts:
        states = network.trace(torch.tensor(ids, device=network.device)[:, None]).states
        for kind in network.kinds:
            if (memory := kind.memory) is None or len(ids) < 2:
                continue
            whole = states[kind.id][:, 0]
            before, sizes = whole[:-1], whole.norm(dim=-1).clamp_min(1e-9)
            erased = states[memory.erased][1:, 0] if memory.erased else torch.zeros_like(before)
            # The decay itself: of a memory that is scaled by its largest exponent, what is kept
            # has another scale than what was there before.
            decay = network.decay(kind, partial(_after_the_first, states))
            assert decay is not None  # it is a memory
            stays = decay.repeat_interleave(before.shape[-1] // decay.shape[-1], -1) * before
            shares = {
                "decayed": 1 - stays.norm(dim=-1) / sizes[:-1],
                "erased": erased.norm(dim=-1) / sizes[:-1],
                "written": states[memory.write][1:, 0].norm(dim=-1) / sizes[1:],
            }
            for name, values in shares.items():
                found.setdefault((kind.id, name), []).append(values)
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
            "lost": lambda: of_states(self.network, self._texts()),
            "half_lives": self._half_lives,
            "kinds": self._kinds,
            "last_linear": lambda: of_last_output(self.dataset),
        }
        if self.item.data != LANGUAGE:
            parts["accuracy"] = self._accuracy
        elif self.item.seed < self.bench.args.used:  # which takes longest
            parts["used"] = self._used
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


def work(bench: Bench, item: Item) -> int:
    """Train and measure one item; the exit says whether it is finished."""
    stopped: list[int] = []
    for one in (signal.SIGTERM, signal.SIGINT):
        signal.signal(one, lambda number, _: stopped.append(number))
    if bench.device.type == "cuda":  # so that nobody keeps memory that others are short of
        torch.cuda.set_per_process_memory_fraction(1 / bench.args.jobs, bench.device)
    trained = train(bench, item, lambda: bool(stopped))
    if trained is None:
        return _STOPPED
    bench.measured(item).parent.mkdir(parents=True, exist_ok=True)
    write_text(bench.measured(item), json.dumps(Measures(bench, item, *trained).numbers()))
    return 0


# All of them.


def conduct(bench: Bench, argv: Sequence[str]) -> bool:
    """Have the items done that are not yet, several at a time, until the time is up; whether all
    are done.
    """
    end = time.monotonic() + 60 * bench.args.minutes
    left = [item for item in bench.items() if not bench.measured(item).exists()]
    at_work: dict[Item, subprocess.Popen[bytes]] = {}
    failed: list[Item] = []
    again: set[Item] = set()  # what failed once: others beside it may have taken the memory
    while (left or at_work) and time.monotonic() < end:
        while left and len(at_work) < bench.args.jobs:
            item = left.pop(0)
            at_work[item] = subprocess.Popen([sys.executable, __file__, *argv, "--one", item.name])
        time.sleep(0.2)
        for item, process in [one for one in at_work.items() if one[1].poll() is not None]:
            del at_work[item]
            if process.returncode and item not in again:
                again.add(item)
                left.append(item)
            elif process.returncode:
                failed.append(item)
            print(f"{item.name}: {'failed' if process.returncode else 'measured'}", flush=True)
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


def _mean(values: Sequence[float]) -> str:
    """A mean with the least and the most, and of how many."""
    if not values:
        return "-"
    if len(values) == 1:
        return f"{values[0]:.3g}"
    return f"{np.mean(values):.3g} ({min(values):.3g} to {max(values):.3g}, {len(values)} seeds)"


def tables(found: Mapping[str, Mapping[str, list[dict[str, Any]]]]) -> str:
    """What was measured, as Markdown."""
    lines = list[str]()
    for data, cells in found.items():
        heads = ["cell", "weights", "seconds", "test perplexity", *_HEADS[data == LANGUAGE]]
        lines += [f"## {data}", "", f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
        lines += [f"| {' | '.join(_row(data, cell, seeds))} |" for cell, seeds in cells.items()] + [
            ""
        ]
    return "\n".join(lines)


def _row(data: str, cell: str, seeds: Sequence[Mapping[str, Any]]) -> list[str]:
    row = [cell, f"{seeds[0]['weights']:,}", _mean([one["seconds"] for one in seeds]),
           _mean([one["model"]["test"]["perplexity"] for one in seeds])]  # fmt: skip
    if data != LANGUAGE:
        return row + [_mean([one["accuracy"][w] for one in seeds]) for w in ("within", "beyond")]
    memory = max(seeds[0]["lost"], key=lambda kind: int(kind[1:]), default="")
    if not memory:
        return row + ["-"] * 5
    lives = [one for s in seeds for one in s["half_lives"]["memories"] if one["kind"] == memory]
    return [
        *row,
        _mean([s["kinds"][memory]["perplexity"] for s in seeds]),
        _mean([s["used"][memory]["used"] for s in seeds if memory in s.get("used", {})]),
        _mean([one["median"] for one in lives]),
        *(_mean([s["lost"][memory][what] for s in seeds]) for what in ("decayed", "erased")),
    ]


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
    parser.add_argument("--one", default="", help=argparse.SUPPRESS)
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Do what is left, and write down all that is known."""
    given = list(sys.argv[1:] if argv is None else argv)
    args = arguments(given)
    bench = Bench(args)
    if args.one:
        item = next(one for one in bench.items() if one.name == args.one)
        return work(bench, item)
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
