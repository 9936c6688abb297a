"""States like this one: the nearest of the same kind among those of an index, exactly.

They are those that the index keeps. Of a small corpus they are computed anew from its words
instead, which takes a second or two, so that a small index need not keep any.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, get_args
from weakref import WeakKeyDictionary

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from torch import Tensor

from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import damaged, regular_size, sha256
from rnnlens.base.pace import checkpoint, elsewhere
from rnnlens.base.threads import one_thread, pool
from rnnlens.probe.probes import Stack
from rnnlens.reading.divergence import Distributions, divergences, from_entropies
from rnnlens.reading.links import link
from rnnlens.reading.reading import Reading
from rnnlens.reading.subject import Column, Subject
from rnnlens.search import sql
from rnnlens.search.answers import Near, Nearness, Similar
from rnnlens.search.build import narrowed
from rnnlens.search.corpus_pass import traced
from rnnlens.search.index_files import Part, label_column, probability_column
from rnnlens.search.store import Deadline, Index, index_of

WAYS = get_args(Nearness)
MOST_TRACED = 128 * 2**20  # bytes of states that are computed anew, where an index keeps none
_WORDS = 2048  # that are read together for it
_KINDS = 2  # whose states are held at once: of each, memory grows with the corpus
_MARGIN = 0.02  # bits by which rounding may move a bound
_BLOCK = 4096  # states that are held at once
_STILL = 1e-6  # of the largest deviation: a unit that varies less is still
_ROUNDING = 1e-3  # bits by which single precision may move a divergence
_AT_ONCE = 64  # states whose distributions are computed together
_TRIED = 512  # states after which it is known how long the others take
_ROWS = 8_192  # states whose bounds are computed together

Floats = NDArray[np.float64]
Tops = tuple[NDArray[Any], NDArray[np.float32]]


_Part = tuple[Tensor, Tensor | None]  # the states of a part, and what each is to be multiplied by


class StoredStates:
    """The states of one kind of an index, in the order of its rows, as the probes take them.

    What a probe takes is not standardised where the fit has put means and scales into the weights,
    so that units are compared by how they vary in the index itself: the same for every run.
    """

    def __init__(
        self, index: Index, kind: str, width: int, parts: list[_Part] | None = None
    ) -> None:
        """`parts`: the states, where the index does not keep them."""
        self.index, self.kind, self.width = index, kind, width
        self.parts = parts or [self._opened(part) for part in index.manifest.parts]
        self.ends = np.cumsum([part.rows for part in index.manifest.parts])
        self._tops: Tops | None = None
        self._lengths: list[Tensor] = []  # of the standardised states
        self._moments: tuple[Tensor, Tensor] | None = None

    def _opened(self, part: Part) -> _Part:
        """A part's states, which stay on the disk until they are used, and their scales."""
        path = self.index.folder / part.states_file
        remedy = self.index.remedy
        regular_size(path, remedy)
        try:
            with safe_open(path, framework="pt") as file:
                names = set(file.keys())
                if sha256(path) != part.states:  # what is no such file may be large, and is refused
                    raise damaged(path, "its SHA-256 is not the recorded one", remedy)
                states: Tensor = file.get_tensor(self.kind)
                scale = f"{self.kind}/scale"
                scales = file.get_tensor(scale) if scale in names else None
        except (SafetensorError, OSError) as error:
            raise damaged(path, error, remedy) from error
        small = self.index.contents.states == "int8"
        wanted = torch.int8 if small else torch.float16
        if states.shape != (part.rows, self.width) or states.dtype != wanted:
            what = f"{self.kind} is {states.dtype} {tuple(states.shape)}"
            raise damaged(path, f"{what} and not {wanted} {(part.rows, self.width)}", remedy)
        scaled = scales is not None and scales.dtype == torch.float32
        if scaled != small or (scales is not None and scales.shape != (part.rows,)):
            raise damaged(path, f"the scales of {self.kind} are not as they should be", remedy)
        return states, scales

    def _each(self, work: Callable[[Tensor], Tensor], deadline: Deadline | None) -> list[Tensor]:
        """What `work` makes of the states of each part, a few thousand at a time."""

        def done(part: _Part) -> Tensor:
            if deadline:
                deadline.left()
            with one_thread(), torch.inference_mode():
                return torch.cat([work(some) for some in _blocks(part)])

        with elsewhere():
            return list(pool().map(done, self.parts))

    def moments(self, deadline: Deadline | None = None) -> tuple[Tensor, Tensor]:
        """The mean of each unit over the index, and its deviation, (H,).

        Rounding to eight bits adds to the variance as much as it makes up, so that a unit that
        varies less than it is rounded by does not count like any other.
        """
        if self._moments is None:

            def sums(states: Tensor) -> Tensor:
                return torch.stack([states.double().sum(0), states.double().square().sum(0)])[None]

            first, second = torch.cat(self._each(sums, deadline)).sum(0) / int(self.ends[-1])
            steps = [
                scales.double().square().sum() for _, scales in self.parts if scales is not None
            ]
            rounding = sum(steps, torch.zeros(())) / int(self.ends[-1]) / 12
            deviation = ((second - first.square()).clamp_min(0) + rounding).sqrt()
            least = float(deviation.max()) * _STILL
            self._moments = first.float(), deviation.clamp_min(max(least, 1e-12)).float()
        return self._moments

    def cosine(self, z: Tensor, deadline: Deadline | None = None) -> Floats:
        """1 less the cosine of each state with one, both standardised, (N,)."""
        mean, deviation = self.moments(deadline)

        def lengths(states: Tensor) -> Tensor:
            long: Tensor = torch.linalg.vector_norm((states - mean) / deviation, dim=1)
            return long.clamp_min(1e-12)

        unit = (z - mean) / deviation
        unit = unit / torch.linalg.vector_norm(unit).clamp_min(1e-12) / deviation
        products = self._each(lambda states: states @ unit - mean @ unit, deadline)
        if not self._lengths:
            self._lengths = self._each(lengths, deadline)
        pairs = zip(products, self._lengths, strict=True)
        return torch.cat([1 - one / length for one, length in pairs]).double().numpy()

    def rows(self, numbers: Sequence[int]) -> Tensor:
        """Some states, (n, H)."""
        some = []
        for number in numbers:
            part = int(np.searchsorted(self.ends, number, "right"))
            row = number - (int(self.ends[part - 1]) if part else 0)
            states, scales = self.parts[part]
            some.append(states[row].float() * (scales[row] if scales is not None else 1))
        return torch.stack(some)

    def tops(self, deadline: Deadline | None = None) -> Tops:
        """The most probable labels of each state and their probabilities, (N, top)."""
        if self._tops is None:
            self._tops = self._read_tops(deadline)
        return self._tops

    def _read_tops(self, deadline: Deadline | None) -> Tops:
        index = self.index
        ranks = range(1, index.contents.top + 1)
        names = [label_column(self.kind, k) for k in ranks]
        numbers = [probability_column(self.kind, k) for k in ranks]
        few = np.dtype(np.uint16 if len(index.labels) <= 2**16 else np.int32)
        labels, shares = [], []
        for table in index.scan([*names, *numbers], deadline):
            checkpoint()
            some = np.stack([table[name].fill_null(0).to_numpy() for name in names], 1)
            labels.append(some.astype(few))
            shares.append(np.stack([table[name].fill_null(0).to_numpy() for name in numbers], 1))
        return np.concatenate(labels), np.concatenate(shares)


def _blocks(part: _Part) -> Iterator[Tensor]:
    """The states of a part, a few thousand at a time."""
    states, scales = part
    for k in range(0, len(states), _BLOCK):
        some = states[k : k + _BLOCK].float()
        yield some if scales is None else some * scales[k : k + _BLOCK, None]


def lower_bounds(stored: StoredStates, p: Floats, deadline: Deadline | None = None) -> Floats:
    """How far every state of a kind is at least from a distribution (V,), in bits.

    Labels that are put together can only bring two distributions closer: the bound is the
    divergence over a state's most probable labels and all others as one.
    """
    labels, shares = stored.tops(deadline)
    some = []
    for k in range(0, len(labels), _ROWS):
        checkpoint()
        some.append(_bounds(p, labels[k : k + _ROWS], shares[k : k + _ROWS].astype(np.float64)))
    return np.concatenate(some)


def _bounds(p: Floats, labels: NDArray[Any], theirs: Floats) -> Floats:
    """The bounds of some states."""
    mine = p[labels] * (theirs > 0)
    rest = [np.maximum(0, 1 - some.sum(1, keepdims=True)) for some in (mine, theirs)]
    a, b = (np.concatenate([x, r], 1) for x, r in zip((mine, theirs), rest, strict=True))
    middle, first, second = (
        torch.special.entr(torch.from_numpy(d)).sum(1) for d in ((a + b) / 2, a, b)
    )
    bits: Floats = np.maximum(0, from_entropies(middle, first + second).numpy() - _MARGIN)
    return bits


@torch.inference_mode()
def by_divergence(
    stored: StoredStates, stack: Stack, p: Floats, count: int, deadline: Deadline | None = None
) -> tuple[list[int], Floats]:
    """The states whose prediction is nearest to a distribution, and how far they are.

    States are looked at in the order of their lower bounds, until no other can be nearer; first in
    single precision, which is quicker, and those that may be the nearest in double.
    What would take longer than there is time for is refused after a few hundred.
    """
    bounds = lower_bounds(stored, p, deadline)
    order = np.argsort(bounds, kind="stable")
    target = torch.from_numpy(p)[None]
    near, began = np.empty(0), time.thread_time()
    with one_thread():
        for start in range(0, len(order), _AT_ONCE):
            some = order[start : start + _AT_ONCE]
            worst = _worst(near, count)
            if worst <= bounds[some[0]]:
                break
            if deadline:
                deadline.left()
                if start == _TRIED:
                    left = int(np.searchsorted(bounds[order], worst)) - start
                    _check_time(stored.kind, left, (time.thread_time() - began) / start, deadline)
            checkpoint()
            near = np.concatenate([near, _distances(stored, stack, some, target.float())])
        close = order[: len(near)][near <= _worst(near, count)]
        pieces = [close[k : k + _AT_ONCE] for k in range(0, len(close), _AT_ONCE)]
        exact = [_distances(stored, stack, some, target) for some in pieces]
    distances = np.concatenate(exact) if exact else near
    best = np.lexsort((bounds[close], distances))[:count]
    return close[best].tolist(), distances[best]


def _worst(near: Floats, count: int) -> float:
    """How far the last of the nearest may be, however single precision has rounded it."""
    if len(near) < count:
        return np.inf
    return float(np.partition(near, count - 1)[count - 1]) + 2 * _ROUNDING


def _distances(
    stored: StoredStates, stack: Stack, numbers: NDArray[np.int64], target: Tensor
) -> Floats:
    """How far the predictions of some states are from another (1, V), in its precision."""
    k = stack.kinds.index(stored.kind)
    width = stack.widths[k]
    x = torch.zeros(len(numbers), stack.map.shape[2], dtype=stack.map.dtype)
    x[:, :width] = stored.rows(numbers.tolist())
    x[:, width] = 1
    logits = stack.logits(k, x).to(target.dtype)
    far: Floats = (
        divergences(Distributions.of(logits), Distributions.of_probabilities(target))
        .double()
        .numpy()
    )
    return far


def _check_time(kind: str, states: int, each: float, deadline: Deadline) -> None:
    """Refuse to compare more predictions than there is time for; `each` takes so many seconds."""
    if deadline.seconds is not None and states * each > deadline.seconds:
        raise RnnlensError(
            f"the predictions of {states:,} states of {kind} may be as near, and to compare them "
            f"would take about {states * each:.0f} seconds, more than {deadline.seconds:g}; "
            "compare by cosine, or another kind, or ask from Python, where it may take that long"
        )


def by_cosine(
    stored: StoredStates, stack: Stack, vector: Tensor, count: int, deadline: Deadline | None = None
) -> tuple[list[int], Floats]:
    """The states that are nearest to one, and how far they are."""
    k = stack.kinds.index(stored.kind)
    every = stored.cosine(stack.prepare(k, vector[None])[0, : stack.widths[k]], deadline)
    few = np.argpartition(every, min(count, len(every)) - 1)[:count]
    numbers = few[np.argsort(every[few], kind="stable")]
    return numbers.tolist(), every[numbers]


def similar_to(
    subject: Subject,
    index: Index,
    kind: str,
    vector: Tensor,
    p: Floats,
    count: int,
    by: str,
    *,
    semantic: str,
    deadline: Deadline | None = None,
    run: str = "",
) -> list[Near]:
    """The states of the corpus nearest to one of the same kind, the nearest first.

    `p` is what it says under `semantic`, which divergence compares; `run` is named in links.
    """
    if by not in WAYS:
        raise RnnlensError(f"by={by!r}: states are compared by {' or '.join(WAYS)}")
    if count < 1:
        raise RnnlensError(f"count={count}: give a number from 1 up")
    if subject.probes is None or kind not in subject.probes.kinds:
        raise RnnlensError(f"the states of {kind} have no probe, so that none are kept of it")
    of_index = index.contents.semantic
    if by == "divergence" and semantic != of_index:
        raise RnnlensError(
            f"the grid is of the semantic {semantic} and the index in {index.folder} of "
            f"{of_index}; read the text with semantic={of_index!r}, or compare by cosine"
        )
    stack = subject.probes.stacks[of_index]
    stored = _stored(subject, stack, index, kind)
    if deadline:
        deadline = Deadline(deadline.seconds)  # a corpus that is read anew is not on the clock
    if by == "divergence":
        numbers, distances = by_divergence(stored, stack, p, count, deadline)
    else:
        numbers, distances = by_cosine(stored, stack, vector, count, deadline)
    return _described(index, kind, numbers, distances, deadline, run)


def similar(
    reading: Reading,
    column: Column,
    row: int,
    count: int,
    by: Nearness,
    index: str | Path | None = None,
    deadline: Deadline | None = None,
    run: str = "",
) -> Similar:
    """The states of the corpus nearest to one of a text's. `index` is the folder of the index,
    where it is not in the run's; `run` is named in links.
    """
    if row < column.back:
        raise RnnlensError(
            f"nothing is read into {column.id} of the first row yet; ask a later one"
        )
    subject, kind = reading.subject, column.kind.id
    near = similar_to(
        subject, index_of(subject, index), kind, reading.vector(column.id, row),
        reading.probabilities(column.id, row).numpy(), count, by, semantic=reading.semantic,
        deadline=deadline, run=run,
    )  # fmt: skip
    return Similar(kind, by, tuple(near))


_held: WeakKeyDictionary[Index, dict[str, StoredStates]] = WeakKeyDictionary()


def _stored(subject: Subject, stack: Stack, index: Index, kind: str) -> StoredStates:
    """The states of a kind; those of the kinds that were asked for last are held."""
    held = _held.setdefault(index, {})
    stored = held.pop(kind, None) or _new(subject, stack, index, kind)
    for other in list(held)[: -(_KINDS - 1)]:
        held.pop(other, None)
    held[kind] = stored
    return stored


def _new(subject: Subject, stack: Stack, index: Index, kind: str) -> StoredStates:
    """The states of a kind: as they are kept, or of a small corpus computed anew, all kinds at
    once.
    """
    k, kept = stack.kinds.index(kind), index.contents.state_kinds
    if kind in kept:
        return StoredStates(index, kind, stack.widths[k])
    if index.manifest.rows * sum(stack.widths) > MOST_TRACED:
        raise RnnlensError(
            f"the index in {index.folder} keeps the states of {', '.join(kept) or 'no kind'}, not "
            f"of {kind}, and its {index.manifest.rows:,} words are too many to read anew; make it "
            "anew with --states int8 --anew"
        )
    if index not in _traced:
        _traced[index] = _read_anew(subject, stack, index)
    return StoredStates(index, kind, stack.widths[k], _traced[index][kind])


_traced: WeakKeyDictionary[Index, dict[str, list[_Part]]] = WeakKeyDictionary()


def _read_anew(subject: Subject, stack: Stack, index: Index) -> dict[str, list[_Part]]:
    """The states of all kinds, in eight bits as an index would keep them.

    Nobody's deadline stops it: whoever asks next would begin anew.
    """
    if not subject.model.reads:
        raise RnnlensError(
            "recorded states are alike by an index that keeps them; make it anew: rnnlens index "
            "RUN --states int8 --anew"
        )
    side, parts = subject.session.text, {kind: list[_Part]() for kind in stack.kinds}
    with one_thread():  # others wait long for each other where the machine is busy
        for part, sentences in zip(index.manifest.parts, index.words(), strict=True):
            ids = [side.encode(words) for words in sentences]
            room = {
                kind: (torch.zeros(part.rows, width, dtype=torch.int8), torch.zeros(part.rows))
                for kind, width in zip(stack.kinds, stack.widths, strict=True)
            }
            for some in traced(subject.model, side, ids, subject.model.device, stack.kinds, _WORDS):
                rows = torch.from_numpy(some.rows)
                for k, (kind, (states, scales)) in enumerate(room.items()):
                    z = stack.prepare(k, some.states[kind].cpu())[:, : stack.widths[k]].float()
                    small = narrowed(kind, z, "int8")
                    states[rows], scales[rows] = small[kind], small[f"{kind}/scale"]
            for kind, one in room.items():
                parts[kind].append(one)
    return parts


def _described(
    index: Index,
    kind: str,
    numbers: Sequence[int],
    distances: Floats,
    deadline: Deadline | None,
    run: str,
) -> list[Near]:
    """The rows with these numbers, as people see them."""
    starts = np.cumsum([0, *(part.rows for part in index.manifest.parts)])
    parts = np.searchsorted(starts, numbers, "right") - 1
    rows: dict[int, Any] = {}
    for part in sorted({*parts.tolist()}):
        inside = [int(n - starts[part]) for n, p in zip(numbers, parts, strict=True) if p == part]
        table = index.ask(sql.rows_of_file(index.paths[part], inside), deadline)
        rows |= {int(starts[part]) + row["number"]: row for row in table.to_pylist()}
    sentences = index.sentences({row["sentence"] for row in rows.values()}, deadline)
    near = []
    for number, distance in zip(numbers, distances.tolist(), strict=True):
        row = rows[number]
        words, text = index.sentence_of(row, sentences)
        near.append(
            Near(
                sentence=row["sentence"],
                position=row["position"],
                words=words,
                text=text,
                next=row["next"],
                link=link(text, kind, row["position"], run=run, semantic=index.link_semantic),
                distance=max(0.0, distance),
            )
        )
    return near
