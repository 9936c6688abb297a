"""The states that an index keeps, and which of them are nearest to one, exactly."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from torch import Tensor

from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import damaged, sha256
from rnnlens.base.threads import one_thread, pool
from rnnlens.probe.probes import Stack
from rnnlens.search.deadline import Deadline
from rnnlens.search.index import Index
from rnnlens.search.layout import Part, label_column, probability_column

_MARGIN = 0.02  # bits by which rounding may move a bound
_AT_ONCE = 512  # states whose distributions are computed together
_ROWS = 65_536  # states whose bounds are computed together

Floats = NDArray[np.float64]
Tops = tuple[NDArray[Any], NDArray[np.float32]]


class Kept:
    """The states of one kind that an index keeps, in the order of its rows."""

    def __init__(self, index: Index, kind: str, width: int) -> None:
        contents = index.contents
        if kind not in contents.state_kinds:
            there = ", ".join(contents.state_kinds) or "no kind"
            raise RnnlensError(
                f"the index in {index.folder} keeps the states of {there}, not of {kind}; make it "
                "anew with --states int8 --anew"
            )
        self.index, self.kind, self.width = index, kind, width
        self.parts = list(pool().map(self._opened, index.manifest.parts))
        self.ends = np.cumsum([part.rows for part in index.manifest.parts])
        self._tops: Tops | None = None
        self._lengths: list[Tensor] = []  # of the states, as they are stored

    def _opened(self, part: Part) -> tuple[Tensor, Tensor | None]:
        """A part's states, which stay on the disk until they are used, and their scales."""
        path = self.index.folder / part.states_file
        remedy = self.index.remedy
        try:
            if sha256(path) != part.states:
                raise damaged(path, "its SHA-256 is not the recorded one", remedy)
            with safe_open(path, framework="pt") as file:
                names = set(file.keys())
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
        scaled = scales is not None and scales.is_floating_point()
        if scaled != small or (scales is not None and scales.shape != (part.rows,)):
            raise damaged(path, f"the scales of {self.kind} are not as they should be", remedy)
        return states, scales

    def _each(self, work: Callable[[Tensor], Tensor], deadline: Deadline | None) -> list[Tensor]:
        """What `work` makes of the states of each part, a few thousand at a time."""

        def done(part: tuple[Tensor, Tensor | None]) -> Tensor:
            if deadline:
                deadline.left()
            with one_thread(), torch.inference_mode():
                return torch.cat([work(some.float()) for some in part[0].split(4096)])

        return list(pool().map(done, self.parts))

    def cosine(self, z: Tensor, deadline: Deadline | None = None) -> Floats:
        """1 less the cosine of each state with a standardised one, (N,)."""
        unit = z / torch.linalg.vector_norm(z).clamp_min(1e-12)
        products = self._each(lambda states: states @ unit, deadline)
        if not self._lengths:
            self._lengths = self._each(_lengths, deadline)
        pairs = zip(products, self._lengths, strict=True)
        return torch.cat([1 - one / length for one, length in pairs]).double().numpy()

    def rows(self, numbers: Sequence[int]) -> Tensor:
        """Some standardised states, (n, H)."""
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
        places = range(1, index.contents.top + 1)
        names = [label_column(self.kind, k) for k in places]
        numbers = [probability_column(self.kind, k) for k in places]
        few = np.dtype(np.uint16 if len(index.labels) <= 2**16 else np.int32)
        labels, shares = [], []
        for table in index.scan([*names, *numbers], deadline):
            some = np.stack([table[name].fill_null(0).to_numpy() for name in names], 1)
            if len(some) and not (some.min() >= 0 and some.max() < len(index.labels)):
                raise index.out_of_range("a label")
            labels.append(some.astype(few))
            shares.append(np.stack([table[name].fill_null(0).to_numpy() for name in numbers], 1))
        return np.concatenate(labels), np.concatenate(shares)


def _lengths(states: Tensor) -> Tensor:
    lengths: Tensor = torch.linalg.vector_norm(states, dim=1)
    return lengths.clamp_min(1e-12)


def lower_bounds(kept: Kept, p: Floats, deadline: Deadline | None = None) -> Floats:
    """How far every state of a kind is at least from a distribution (V,), in bits.

    Labels that are put together can only bring two distributions closer: the bound is the
    divergence over a state's most probable labels and all others as one.
    """
    labels, shares = kept.tops(deadline)
    some = [
        _bounds(p, labels[k : k + _ROWS], shares[k : k + _ROWS].astype(np.float64))
        for k in range(0, len(labels), _ROWS)
    ]
    return np.concatenate(some)


def _bounds(p: Floats, labels: NDArray[Any], theirs: Floats) -> Floats:
    """The bounds of some states."""
    mine = p[labels] * (theirs > 0)
    rest = [np.maximum(0, 1 - some.sum(1, keepdims=True)) for some in (mine, theirs)]
    a, b = (np.concatenate([x, r], 1) for x, r in zip((mine, theirs), rest, strict=True))
    middle = (a + b) / 2
    nats = (_plogp(a) + _plogp(b)).sum(1) / 2 - _plogp(middle).sum(1)
    bits: Floats = np.maximum(0, nats / math.log(2) - _MARGIN)
    return bits


def _plogp(p: Floats) -> Floats:
    values: Floats = p * np.log(np.maximum(p, 1e-300))
    return values


@torch.inference_mode()
def by_divergence(
    kept: Kept, stack: Stack, p: Floats, count: int, deadline: Deadline | None = None
) -> tuple[list[int], Floats]:
    """The states whose prediction is nearest to a distribution, and how far they are.

    States are looked at in the order of their lower bounds, until no other can be nearer.
    """
    bounds = lower_bounds(kept, p, deadline)
    order = np.argsort(bounds, kind="stable")
    k, target = stack.kinds.index(kept.kind), torch.from_numpy(p)
    width = stack.widths[k]
    numbers: list[int] = []
    distances: list[float] = []
    for start in range(0, len(order), _AT_ONCE):
        some = order[start : start + _AT_ONCE]
        if len(distances) >= count and np.sort(distances)[count - 1] <= bounds[some[0]]:
            break
        if deadline:
            deadline.left()
        x = torch.zeros(len(some), stack.map.shape[2], dtype=stack.map.dtype)
        x[:, :width] = kept.rows(some.tolist())
        x[:, width] = 1
        q = stack.logits(k, x).double().softmax(1)
        middle = (q + target) / 2
        entropies = [torch.special.entr(d).sum(-1) for d in (middle, q, target)]
        nats = entropies[0] - (entropies[1] + entropies[2]) / 2
        numbers += some.tolist()
        distances += (nats / math.log(2)).clamp(0, 1).tolist()
    best = np.argsort(distances, kind="stable")[:count]
    return [numbers[k] for k in best], np.array(distances)[best]
