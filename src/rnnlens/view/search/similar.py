"""States like this one: the nearest of the same kind in an indexed corpus, exactly."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from torch import Tensor

from rnnlens.errors import RnnlensError
from rnnlens.files import damaged, sha256
from rnnlens.probe.probes import Stack
from rnnlens.threads import one_thread, pool
from rnnlens.view.search.find import link_to, sentences
from rnnlens.view.search.index import Index
from rnnlens.view.search.layout import Part, label_column, probability_column
from rnnlens.view.search.place import MANIFEST, index_place

if TYPE_CHECKING:
    from rnnlens.view.source import GridSource

WAYS = ("cosine", "divergence")
_MARGIN = 0.02  # bits by which rounding may move a bound
_AT_ONCE = 512  # states whose distributions are computed together

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Similar:
    """A state of the corpus that is like another."""

    distance: float  #: 1 less the cosine, or bits; 0 is the same.
    sentence: int  #: Its number in the index.
    position: int  #: Of the word in it, from 0.
    words: tuple[str, ...]  #: Of the sentence.
    next: str | None  #: The word that came.
    text: str  #: The sentence, to be given to a lens.
    link: str  #: What opens the lens there, behind the address of its page.

    @property
    def word(self) -> str:
        """The word just read."""
        return self.words[self.position]

    def __repr__(self) -> str:
        words = list(self.words)
        words[self.position] = f"[{words[self.position]}]"
        return f"<{self.distance:.3f} {' '.join(words)}>"


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

    @cached_property
    def _lengths(self) -> list[Tensor]:
        """The length of each state, as it is stored."""
        return self._each(lambda states: torch.linalg.vector_norm(states, dim=1).clamp_min(1e-12))

    def _each(self, work: Callable[[Tensor], Tensor]) -> list[Tensor]:
        """What `work` makes of the states of each part, a few thousand at a time."""

        def done(part: tuple[Tensor, Tensor | None]) -> Tensor:
            with one_thread(), torch.inference_mode():
                return torch.cat([work(some.float()) for some in part[0].split(4096)])

        return list(pool().map(done, self.parts))

    def cosine(self, z: Tensor) -> Floats:
        """1 less the cosine of each state with a standardised one, (N,)."""
        unit = z / torch.linalg.vector_norm(z).clamp_min(1e-12)
        products = self._each(lambda states: states @ unit)
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

    @cached_property
    def tops(self) -> tuple[NDArray[np.int64], Floats]:
        """The most probable labels of each state and their probabilities, (N, top)."""
        places = range(1, self.index.contents.top + 1)
        names = [label_column(self.kind, k) for k in places]
        names += [probability_column(self.kind, k) for k in places]
        columns = ", ".join(f'"{name}"' for name in names)
        table = self.index.ask(f"SELECT {columns} FROM words ORDER BY sentence, position")
        values = np.stack([table[name].fill_null(0).to_numpy() for name in names], 1)
        half = len(names) // 2
        return values[:, :half].astype(np.int64), values[:, half:].astype(np.float64)


def lower_bounds(kept: Kept, p: Floats) -> Floats:
    """How far every state of a kind is at least from a distribution (V,), in bits.

    Labels that are put together can only bring two distributions closer: the bound is the
    divergence over a state's most probable labels and all others as one.
    """
    labels, theirs = kept.tops
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
def by_divergence(kept: Kept, stack: Stack, p: Floats, count: int) -> tuple[list[int], Floats]:
    """The states whose prediction is nearest to a distribution, and how far they are.

    States are looked at in the order of their lower bounds, until no other can be nearer.
    """
    bounds = lower_bounds(kept, p)
    order = np.argsort(bounds, kind="stable")
    k, target = stack.kinds.index(kept.kind), torch.from_numpy(p)
    width = stack.widths[k]
    numbers: list[int] = []
    distances: list[float] = []
    for start in range(0, len(order), _AT_ONCE):
        some = order[start : start + _AT_ONCE]
        if len(distances) >= count and np.sort(distances)[count - 1] <= bounds[some[0]]:
            break
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


_Stamp = tuple[str, int, int]  # a folder, when its index was made, and how large its manifest is
_indexes: WeakKeyDictionary["GridSource", tuple[_Stamp, Index]] = WeakKeyDictionary()
_kept: WeakKeyDictionary[Index, dict[str, Kept]] = WeakKeyDictionary()


def index_of(lens: "GridSource", folder: str | Path | None = None) -> Index:
    """The index of a lens's run, or one in another folder, opened once, and again where it was
    made anew.
    """
    if lens.run is None:
        raise RnnlensError(
            f"{lens.name} is of no run yet; save it, and index that: rnnlens index RUN"
        )
    place = Path(folder) if folder else index_place(lens.run, lens.index_folder)
    manifest = place / MANIFEST
    about = manifest.stat() if manifest.is_file() else None
    stamp = (str(place), about.st_mtime_ns, about.st_size) if about else (str(place), 0, 0)
    held = _indexes.get(lens)
    if held is None or held[0] != stamp:
        held = _indexes[lens] = stamp, Index.of(lens.run, place)
    return held[1]


def similar_to(
    lens: "GridSource",
    kind: str,
    vector: Tensor,
    p: Floats,
    count: int,
    by: str,
    folder: str | Path | None = None,
    *,
    semantic: str,
) -> list[Similar]:
    """The states of the corpus nearest to one of the same kind, the nearest first.

    `p` is what it says under `semantic`, which divergence compares.
    """
    if by not in WAYS:
        raise RnnlensError(f"by={by!r}: states are compared by {' or '.join(WAYS)}")
    if count < 1:
        raise RnnlensError(f"count={count}: give a number from 1 up")
    index = index_of(lens, folder)
    if lens.probes is None or kind not in lens.probes.kinds:
        raise RnnlensError(f"the states of {kind} have no probe, so that none are kept of it")
    of_index = index.contents.semantic
    if by == "divergence" and semantic != of_index:
        raise RnnlensError(
            f"the grid is of the semantic {semantic} and the index in {index.folder} of "
            f"{of_index}; read the text with semantic={of_index!r}, or compare by cosine"
        )
    stack = lens.probes.stacks[of_index]
    held = _kept.setdefault(index, {})
    if kind not in held:
        held[kind] = Kept(index, kind, stack.widths[stack.kinds.index(kind)])
    if by == "divergence":
        numbers, distances = by_divergence(held[kind], stack, p, count)
    else:
        k = stack.kinds.index(kind)
        z = stack.prepare(k, vector[None])[0, : stack.widths[k]]
        every = held[kind].cosine(z)
        few = np.argpartition(every, min(count, len(every)) - 1)[:count]
        numbers = few[np.argsort(every[few], kind="stable")].tolist()
        distances = every[numbers]
    return _described(index, kind, numbers, distances)


def _described(index: Index, kind: str, numbers: Sequence[int], distances: Floats) -> list[Similar]:
    """The rows with these numbers, as people see them."""
    starts = np.cumsum([0, *(part.rows for part in index.manifest.parts)])
    parts = np.searchsorted(starts, numbers, "right") - 1
    rows: dict[int, Any] = {}
    for part in sorted({*parts.tolist()}):
        path = str((index.folder / index.manifest.parts[part].file).resolve()).replace("'", "''")
        inside = [int(n - starts[part]) for n, p in zip(numbers, parts, strict=True) if p == part]
        table = index.ask(
            'SELECT file_row_number AS number, sentence, position, "next" FROM '
            f"read_parquet('{path}', file_row_number = true) "
            f"WHERE file_row_number IN ({', '.join(map(str, inside))})"
        )
        rows |= {int(starts[part]) + row["number"]: row for row in table.to_pylist()}
    texts = sentences(index, {row["sentence"] for row in rows.values()})
    found = []
    for number, distance in zip(numbers, distances.tolist(), strict=True):
        row = rows[number]
        words, text = texts[row["sentence"]]
        link = link_to(text, row["position"], kind, semantic=index.link_semantic)
        found.append(
            Similar(distance, row["sentence"], row["position"], words, row["next"], text, link)
        )
    return found
