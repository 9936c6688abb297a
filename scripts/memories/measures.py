"""What is measured of a trained item, part by part."""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import torch
from scripts.memories.items import Bench, Item
from scripts.memories.tasks import UNASKED, Steps, read_task, write_text
from torch import Tensor

from rnnlens.base.errors import RnnlensError
from rnnlens.corpus.corpus import EncodedCorpus
from rnnlens.lab.half_lives import half_lives
from rnnlens.lab.prefixes import Reader
from rnnlens.model.network import Network
from rnnlens.model.text import TextSide
from rnnlens.probe.dataset import Dataset
from rnnlens.probe.evaluation import evaluate_model, evaluate_probes
from rnnlens.probe.fit_config import FitConfig
from rnnlens.probe.fit_loop import fit_probes
from rnnlens.probe.used import used
from rnnlens.run.corpus_data import sentence_dataset

_TEXTS = 400  # of the test data, that memories are measured on
_TOGETHER = 256  # sequences that are read side by side
_MEMORIES_TOGETHER = 16  # the same, where all that a memory goes through is held


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
        """What was asked for, and what is at hand."""
        every: dict[str, Callable[[], Any]] = {
            "weights": lambda: sum(p.numel() for p in self.network.parameters()),
            "layers": lambda: self.network.config.layers,
            "seconds": lambda: float((self.run.path / "seconds.txt").read_text()),
            "model": lambda: evaluate_model(self.dataset, self.corpus.vocabulary.labels).model,
            "accuracy": self._accuracy,
            "lost": lambda: of_states(self.network, self._texts()),
            "half_lives": self._half_lives,
            "last_linear": lambda: of_last_output(self.dataset),
            "kinds": self._kinds,
            "used": self._used,
        }
        asked = ["weights", "layers", "seconds", "model", *self.bench.parts(self.item)]
        place = self.run.path / "numbers.json"
        found: dict[str, Any] = json.loads(place.read_text()) if place.exists() else {}
        if not self.bench.is_by_same_fit(asked, found):
            raise RnnlensError(
                f"it was measured with --fit '{json.dumps(found['fit'])}'; give the same, or "
                "another folder"
            )
        for name in asked:
            if name not in found:
                began = time.monotonic()
                found[name] = every[name]()
                if name == "kinds":
                    found["fit"] = self.bench.args.fit
                write_text(place, json.dumps(found))
                print(f"{self.item.name}: {name} {time.monotonic() - began:.0f} s", flush=True)
        return found

    def _texts(self) -> list[list[int]]:
        return [ids.tolist() for ids in islice(_test_texts(self.corpus), _TEXTS)]

    def _kinds(self) -> dict[str, Any]:
        """What probes of every kind say; these are kept in the run."""
        config = FitConfig(**{"probe": "shared", **self.bench.args.fit})
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
