"""What a probe of this sort would find anyway: type-wise controls, and description lengths.

A probe that is strong enough memorises which word it reads. So every word type is given a label at
random, as often each as in the data, and the same sort of probe is fitted to that (Hewitt and Liang
2019): what the true labels' accuracy has over that is the `selectivity`.

How much a kind tells, and how easily, is one number as a description length (Voita and Titov 2020):
how many bits a state's label costs whoever sees the states one after the other, and learns from
those before.

Both want many fits, so probes are in closed form here: the states of each label are taken to be
normal around a mean of their own, with one covariance for all. How far to go by that, between the
labels' frequencies and all the way, is found on a part of what is learnt from, so that no probe is
much worse than the frequencies.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from rnnlens.base.errors import RnnlensError
from rnnlens.base.intervals import Floats, Resamples
from rnnlens.probe.dataset import Dataset

LEARNT, ASKED = 2**14, 2**12  # states that are learnt from, and that are asked about
_FIRST = 2**8  # states that are coded before anything is learnt
_BYTES = 2**29  # of states that are held
_AT_ONCE = 2**26  # logits
_SHARES = (0.0, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0)  # how far to go by the states
_HELD_OUT = 4  # one in so many of what is learnt from decides that
_RIDGE = 1e-2  # share of the mean variance
_FEW = 1.0  # states that a label's mean is drawn to the mean of all with


@dataclass(frozen=True)
class Control:
    """What a probe in closed form says of the true labels, and of random labels of word types."""

    accuracy: float  #: How often it is right about the true labels.
    control: float  #: How often about labels that each word type was given at random.
    low: float | None  #: Of the selectivity, by 95%; None: too few sentences.
    high: float | None
    states: int  #: That were asked about.
    sentences: int  #: That they are of.
    types: int  #: Word types that were given a label.

    @property
    def selectivity(self) -> float:
        """The accuracy less that of the control."""
        return self.accuracy - self.control

    def to_json(self) -> dict[str, Any]:
        """What evaluation.json holds of it."""
        return {**asdict(self), "selectivity": self.selectivity}


@dataclass(frozen=True)
class Description:
    """How many bits a label costs that is told with the help of states, learnt on the way."""

    bits: float  #: A state.
    low: float | None  #: By 95%; None: too few sentences.
    high: float | None
    unigram: float  #: Bits a state by the frequencies alone, learnt on the way, too.
    uniform: float  #: Bits a state where all labels are as probable.
    states: int
    sentences: int

    @property
    def compression(self) -> float:
        """How many times shorter than if all labels were as probable."""
        return self.uniform / self.bits

    def to_json(self) -> dict[str, Any]:
        """What evaluation.json holds of it."""
        return {**asdict(self), "compression": self.compression}


@dataclass(frozen=True)
class Sample:
    """States of every kind with their labels, the words read there, and their sentences."""

    states: dict[str, Tensor]  # by kind, (N, H)
    labels: Tensor  # (N,)
    words: Tensor | None  # (N,)
    sentences: Tensor  # (N,), from 0

    @property
    def count(self) -> int:
        """Of sentences."""
        return int(self.sentences[-1]) + 1


def sample(dataset: Dataset, split: str, semantic: str, states: int) -> Sample:
    """So many states of a split at most, in sentences drawn at random."""
    kinds = dataset.kinds
    stream = dataset.stream(split, semantic, kinds=kinds)
    parts, words, labels, sentences, count, last = [], [], [], [], 0, 0
    for chunk in stream.chunks((0, 7)) if stream.pairs else ():
        if not len(chunk.labels):
            continue
        width = sum(v.shape[1] for v in chunk.states.values())
        most = min(states, max(_FIRST, _BYTES // (4 * width)))
        order = chunk.sequences.argsort(stable=True)[: most - count]
        parts.append({kind: chunk.states[kind][order] for kind in kinds})
        labels.append(chunk.labels[order])
        words.append(None if chunk.words is None else chunk.words[order])
        place = chunk.sequences[order].unique(return_inverse=True)[1]
        sentences.append(place + last)
        count, last = count + len(order), last + int(place.max()) + 1
        if count >= most:
            break
    if not count:
        raise RnnlensError(f"no {split} sentence is long enough for the semantic {semantic!r}")
    there = [one for one in words if one is not None]
    return Sample(
        {kind: torch.cat([part[kind] for part in parts]) for kind in kinds}, torch.cat(labels),
        torch.cat(there) if len(there) == len(words) else None, torch.cat(sentences),
    )  # fmt: skip


class ClosedForm:
    """A probe in closed form, of states (N, H) and their labels (N,) among so many."""

    def __init__(self, states: Tensor, labels: Tensor, label_count: int) -> None:
        self.size = label_count
        held = torch.arange(len(states), device=states.device) % _HELD_OUT == 0
        self._learn(states[~held], labels[~held])
        losses = torch.zeros(len(_SHARES), dtype=torch.float64, device=states.device)
        for distance, some in self._distances(states[held], labels[held]):
            for k, share in enumerate(_SHARES):
                logits = share * distance + self.prior
                losses[k] += F.cross_entropy(logits, some, reduction="sum").double()
        self.share = _SHARES[int(losses.argmin())]
        self._learn(states, labels)

    def _learn(self, states: Tensor, labels: Tensor) -> None:
        counts = torch.bincount(labels, minlength=self.size).float()
        self.prior = ((counts + 1) / (counts + 1).sum()).log()
        self.mean = states.mean(0)
        near = states - self.mean
        means = near.new_zeros(self.size, near.shape[1]).index_add_(0, labels, near)
        means = means / (counts + _FEW)[:, None]
        apart = near - means[labels]
        within = (apart.T @ apart).double() / len(near)
        size = within.diagonal().mean().clamp_min(1e-12)
        ridge = _RIDGE * size * torch.eye(len(within), dtype=torch.float64, device=within.device)
        inverse = torch.linalg.inv(within + ridge).float()
        self.rows = means @ inverse  # (V, H)
        self.constants = -(self.rows * means).sum(1) / 2

    def _distances(self, states: Tensor, labels: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """What every label gains by states, (n, V), some at a time, with their labels."""
        at_once = max(1, _AT_ONCE // self.size)
        for some, theirs in zip(states.split(at_once), labels.split(at_once), strict=True):
            yield (some - self.mean) @ self.rows.T + self.constants, theirs

    def answers(self, states: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Of states with these labels: whether the most probable label is right, and -log p."""
        right, losses = [], []
        for distance, some in self._distances(states, labels):
            logits = self.share * distance + self.prior
            right.append(logits.argmax(-1) == some)
            losses.append(F.cross_entropy(logits, some, reduction="none"))
        return torch.cat(right), torch.cat(losses)


@torch.no_grad()
def controls(
    dataset: Dataset, semantic: str, seed: int = 0, advance: Callable[[int], object] = int
) -> dict[str, tuple[Control, Description]]:
    """The control and the description length of every kind under a semantic.

    `advance` is told 1 after each kind.
    """
    answers = dataset.answers_to(semantic)
    if answers.several:
        raise RnnlensError(
            "a control is of one label of many, and here several hold at once; leave it out"
        )
    learnt = sample(dataset, "train", semantic, LEARNT)
    asked = sample(dataset, "test", semantic, ASKED)
    if learnt.words is None or asked.words is None:
        raise RnnlensError(
            "a control gives every word type a label at random, and this data has no words beside "
            "its labels; leave it out"
        )
    random, types = typewise(learnt.words, asked.words, learnt.labels, seed)
    found = {}
    for kind in dataset.kinds:
        states, right = (learnt.states[kind], asked.states[kind]), []
        for given, wanted in ((learnt.labels, asked.labels), random):
            probe = ClosedForm(states[0], given, len(answers))
            right.append(probe.answers(states[1], wanted)[0])
        described = _described(learnt.states[kind], learnt, len(answers))
        found[kind] = _compared(right[0], right[1], asked, types), described
        advance(1)
    return found


def typewise(
    learnt: Tensor, asked: Tensor, labels: Tensor, seed: int
) -> tuple[tuple[Tensor, Tensor], int]:
    """Labels that go by the word alone, for words that are learnt from and asked about: each type
    has one that is drawn from all labels (N,); and how many types there are.
    """
    types, numbers = torch.cat([learnt, asked]).unique(return_inverse=True)
    drawn = np.random.default_rng((seed, 5)).integers(0, len(labels), len(types))
    given = labels[torch.from_numpy(drawn).to(labels.device)][numbers]
    return (given[: len(learnt)], given[len(learnt) :]), len(types)


def _compared(true: Tensor, random: Tensor, asked: Sample, types: int) -> Control:
    rows = torch.stack([torch.ones_like(true), true, random], 1).double()
    sums = _of_sentences(rows, asked)
    resamples = Resamples(len(sums))
    found = None
    if resamples.enough:
        count, right, other = resamples.sums(sums).T
        found = resamples.interval((right - other) / count)
    count, right, other = sums.sum(0)
    return Control(
        float(right / count), float(other / count), found.low if found else None,
        found.high if found else None, int(count), asked.count, types,
    )  # fmt: skip


def _described(states: Tensor, learnt: Sample, label_count: int) -> Description:
    """The description length of labels, block by block, each as long as all before it."""
    labels, uniform = learnt.labels, float(np.log2(label_count))
    costs = torch.full((len(labels), 2), uniform * np.log(2), device=states.device)
    done = min(_FIRST, len(labels))
    while done < len(labels):
        probe = ClosedForm(states[:done], labels[:done], label_count)
        block = slice(done, 2 * done)
        costs[block, 0] = probe.answers(states[block], labels[block])[1]
        costs[block, 1] = -probe.prior[labels[block]]
        done *= 2
    rows = torch.cat([torch.ones_like(costs[:, :1]), costs / np.log(2)], 1).double()
    sums = _of_sentences(rows, learnt)
    resamples = Resamples(len(sums))
    found = resamples.interval(resamples.ratios(sums[:, 1], sums[:, 0]))
    count, bits, unigram = sums.sum(0)
    return Description(
        float(bits / count), found.low if found else None, found.high if found else None,
        float(unigram / count), uniform, int(count), learnt.count,
    )  # fmt: skip


def _of_sentences(rows: Tensor, of: Sample) -> Floats:
    """The sums of rows (N, C) over the states of each sentence, (S, C)."""
    sums = rows.new_zeros(of.count, rows.shape[1]).index_add_(0, of.sentences, rows)
    return sums.cpu().numpy()
