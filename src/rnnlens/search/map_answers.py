"""A kind's map as the corpus page draws it, and where a state of a text is on it."""

import math
from collections import Counter

from rnnlens.base.errors import RnnlensError
from rnnlens.reading.reading import Reading
from rnnlens.reading.subject import Column, Subject
from rnnlens.search import sql
from rnnlens.search.answers import Map, MapPlace
from rnnlens.search.language import suggestion
from rnnlens.search.store import Deadline, Index, index_of

COLUMNS = 64  # of small rectangles, and as many rows


def state_map(subject: Subject, kind: str) -> Map:
    """How many states of a kind are where on its map, and what most of them expect there."""
    index = index_of(subject)
    if not index.contents.map_kinds:
        return Map(kind, f"This index was made without a map; {index.remedy}")
    _check(index, kind)
    deadline = Deadline.of_page()
    extent = index.extent(kind, deadline)
    axes = index.axes[kind]
    # As many of the places that there are in each rectangle, with none on its edges.
    corner = extent[0][0] - axes.step / 2, extent[1][0] - axes.step / 2
    sides = [
        axes.step * max(1, math.ceil(((high - low) / axes.step + 1) / COLUMNS))
        for low, high in extent
    ]
    cells: dict[tuple[int, int], Counter[str]] = {}
    for row in index.ask(sql.map_density(kind, corner, sides, COLUMNS), deadline).to_pylist():
        cells.setdefault((row["x"], row["y"]), Counter())[row["group"]] += row["words"]
    counted = []
    for (x, y), groups in cells.items():
        (group, most), words = groups.most_common(1)[0], groups.total()
        counted.append((x, y, words, group, most / words))
    return Map(kind, "", axes.shares, corner, (sides[0], sides[1]), COLUMNS, tuple(counted))


def place_of(reading: Reading, column: Column, row: int) -> MapPlace:
    """Where a state of a text is on the map of its kind."""
    index, kind = index_of(reading.subject), column.kind.id
    _check(index, kind)
    if row < column.back:
        raise RnnlensError(
            f"nothing is read into {column.id} of the first row yet; ask a later one"
        )
    axes, vector = index.axes[kind], reading.vector(column.id, row)
    if axes.mean.shape != vector.shape:
        raise index.out_of_range(f"axes for {kind}")
    x, y = axes.places(vector[None])[0].tolist()
    return MapPlace(kind, x, y)


def _check(index: Index, kind: str) -> None:
    if kind not in index.axes:
        raise RnnlensError(f"{kind} has no map; {suggestion(kind, index.contents.map_kinds)}")
