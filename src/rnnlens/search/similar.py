"""States like this one: the nearest of the same kind in an indexed corpus, exactly."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from rnnlens.base.errors import RnnlensError
from rnnlens.search.deadline import Deadline
from rnnlens.search.find import link_to, sentence_of, sentences
from rnnlens.search.index import Index
from rnnlens.search.nearest import Kept, by_divergence
from rnnlens.search.place import MANIFEST, index_place
from rnnlens.search.sql import text as text_in_sql

if TYPE_CHECKING:
    from rnnlens.reading.source import GridSource

WAYS = ("cosine", "divergence")
_KINDS = 2  # whose states are held at once: of each, memory grows with the corpus

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
        held = stamp, Index.of(lens.run, place)
        contents = held[1].contents
        if (contents.model, contents.probes) != lens.hashes:
            raise RnnlensError(
                f"{lens.run.path} was trained or fitted anew after it was opened; start rnnlens "
                "view again, or load it again"
            )
        _indexes[lens] = held
    return held[1]


def similar_to(
    lens: "GridSource",
    index: Index,
    kind: str,
    vector: Tensor,
    p: Floats,
    count: int,
    by: str,
    *,
    semantic: str,
    deadline: Deadline | None = None,
) -> list[Similar]:
    """The states of the corpus nearest to one of the same kind, the nearest first.

    `p` is what it says under `semantic`, which divergence compares.
    """
    if by not in WAYS:
        raise RnnlensError(f"by={by!r}: states are compared by {' or '.join(WAYS)}")
    if count < 1:
        raise RnnlensError(f"count={count}: give a number from 1 up")
    if lens.probes is None or kind not in lens.probes.kinds:
        raise RnnlensError(f"the states of {kind} have no probe, so that none are kept of it")
    of_index = index.contents.semantic
    if by == "divergence" and semantic != of_index:
        raise RnnlensError(
            f"the grid is of the semantic {semantic} and the index in {index.folder} of "
            f"{of_index}; read the text with semantic={of_index!r}, or compare by cosine"
        )
    stack = lens.probes.stacks[of_index]
    kept = _kept_of(index, kind, stack.widths[stack.kinds.index(kind)])
    if by == "divergence":
        numbers, distances = by_divergence(kept, stack, p, count, deadline)
    else:
        k = stack.kinds.index(kind)
        z = stack.prepare(k, vector[None])[0, : stack.widths[k]]
        every = kept.cosine(z, deadline)
        few = np.argpartition(every, min(count, len(every)) - 1)[:count]
        numbers = few[np.argsort(every[few], kind="stable")].tolist()
        distances = every[numbers]
    return _described(index, kind, numbers, distances, deadline)


def _kept_of(index: Index, kind: str, width: int) -> Kept:
    """The states of a kind; those of the kinds that were asked for last are held."""
    held = _kept.setdefault(index, {})
    kept = held.pop(kind, None) or Kept(index, kind, width)
    for other in list(held)[: -(_KINDS - 1)]:
        held.pop(other, None)
    held[kind] = kept
    return kept


def _described(
    index: Index, kind: str, numbers: Sequence[int], distances: Floats, deadline: Deadline | None
) -> list[Similar]:
    """The rows with these numbers, as people see them."""
    starts = np.cumsum([0, *(part.rows for part in index.manifest.parts)])
    parts = np.searchsorted(starts, numbers, "right") - 1
    rows: dict[int, Any] = {}
    for part in sorted({*parts.tolist()}):
        path = text_in_sql(str((index.folder / index.manifest.parts[part].file).resolve()))
        inside = [int(n - starts[part]) for n, p in zip(numbers, parts, strict=True) if p == part]
        table = index.ask(
            'SELECT file_row_number AS number, sentence, position, "next" FROM '
            f"read_parquet({path}, file_row_number = true) "
            f"WHERE file_row_number IN ({', '.join(map(str, inside))})",
            deadline,
        )
        rows |= {int(starts[part]) + row["number"]: row for row in table.to_pylist()}
    texts = sentences(index, {row["sentence"] for row in rows.values()}, deadline)
    found = []
    for number, distance in zip(numbers, distances.tolist(), strict=True):
        row = rows[number]
        words, text = sentence_of(index, row, texts)
        link = link_to(text, row["position"], kind, semantic=index.link_semantic)
        found.append(
            Similar(distance, row["sentence"], row["position"], words, row["next"], text, link)
        )
    return found
