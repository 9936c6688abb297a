"""Two grids side by side, state by state: of two texts, of two lenses, with edits and without."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rnnlens.ask.follow import Sides, follow_all
from rnnlens.base.errors import RnnlensError
from rnnlens.base.tables import data_frame
from rnnlens.draw import figure
from rnnlens.draw.look import Look, changed_look
from rnnlens.lens.state import Reading
from rnnlens.page.saved_page import save
from rnnlens.reading.alignment import Beside
from rnnlens.reading.blocks import differences
from rnnlens.reading.notation import in_one
from rnnlens.reading.pairing import Pairing
from rnnlens.reading.side_by_side import whole

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

Values = NDArray[np.float64]
_STEP = 24  # rows at once, so that memory stays bounded


@dataclass(frozen=True, eq=False)
class Comparison:
    """What differs between two grids.

    `comparison["h2"][3]` is how far what h2 says in the fourth row lies from what it said before,
    the Jensen-Shannon divergence in bits: 0 is the same, 1 shares nothing. `bits` has all, rows
    down and kinds across, with NaN where a word of one text stands beside none. `pairs` are the
    steps of the two grids that stand side by side in each row, None for such a gap; `words` are
    the words read there, of the grid after where it has one. `notes` say what is not compared.
    """

    after: Reading
    before: Reading
    words: tuple[str, ...]
    kinds: tuple[str, ...]
    bits: Values  # (rows, K)
    pairs: tuple[Beside, ...]  # a step of before, and one of after
    notes: tuple[str, ...]

    def __getitem__(self, kind: str) -> Values:
        if kind not in self.kinds:
            raise RnnlensError(f"there is no kind {kind!r}; there is {', '.join(self.kinds)}")
        column: Values = self.bits[:, self.kinds.index(kind)]
        return column

    def follow(self, *labels: str, against: Sequence[str] = ()) -> Values:
        """How much more probable labels have become in every state, (rows, K); with others
        `against` them, how much the logarithm of the odds has grown. NaN where there is a gap.
        """
        others = (against,) if isinstance(against, str) else against
        values = []
        for grid in (self.before, self.after):
            sides = Sides.of(labels, others, grid.labels)
            columns = [grid.kinds.index(kind) for kind in self.kinds]
            values.append(follow_all(grid.lens, grid.asked(), sides)[:, columns])
        change = np.full(self.bits.shape, np.nan)
        for row, (a, b) in enumerate(self.pairs):
            if a is not None and b is not None:
                change[row] = values[1][b] - values[0][a]
        return change

    def groups(self) -> list[tuple[int, str, str, str]]:
        """Where another group dominates: the row, the kind, the group before and after."""
        return [
            (row, kind, before["group"], after["group"])
            for row in range(len(self.pairs))
            for kind in self.kinds
            for before, after in [self._states(row, kind)]
            if before and after and before["group"] != after["group"]
        ]

    def to_pandas(self) -> "pd.DataFrame":
        """A row for every pair of states: step, the row of the comparison, word, kind, bits, and of
        both grids the step, group, label and probability; nothing where there is a gap.
        """
        return data_frame(
            {"step": row, "word": word, "kind": kind, "bits": float(self.bits[row, k])}
            | {"before_step": self.pairs[row][0], "after_step": self.pairs[row][1]}
            | _said("before", before)
            | _said("after", after)
            for row, word in enumerate(self.words)
            for k, kind in enumerate(self.kinds)
            for before, after in [self._states(row, kind)]
        )

    def _states(self, row: int, kind: str) -> list[dict[str, Any] | None]:
        """What is drawn of the two states of a row; None where there is none."""
        grids = (self.before, self.after)
        return [
            None if step is None else grid.json["rows"][step][grid.kinds.index(kind)]
            for grid, step in zip(grids, self.pairs[row], strict=True)
        ]

    @cached_property
    def json(self) -> dict[str, Any]:
        """Everything that is drawn: lines of the grid before, each over that of the grid after."""
        pairing = _pairing(self.before, self.after)
        before, after = self.before.words, self.after.words
        words = [(None if a is None else before[a], None if b is None else after[b])
                 for a, b in self.pairs]  # fmt: skip
        return whole(pairing, in_one(words))

    def figure(self, look: Look | None = None, **changes: Any) -> "Figure":
        """A matplotlib figure of both. `changes` are fields of `Look`."""
        return figure.build(self.json, changed_look(look, changes))

    def save(self, path: str | Path, look: Look | None = None, **changes: Any) -> Path:
        """Write both and return the path. The ending says what: .svg .png .pdf .html .json."""
        save(self.json, Path(path), changed_look(look, changes))
        return Path(path)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:  # noqa: ARG002
        """What a notebook shows: both, live, and a table that stays."""
        from rnnlens.page.notebook import shown_grid

        first, second = self.before.lens, self.after.lens
        return shown_grid(self, first, self.json, None if first is second else second)

    def __repr__(self) -> str:
        row, k = np.unravel_index(int(np.nan_to_num(self.bits, nan=-1).argmax()), self.bits.shape)
        most = f"{self.kinds[k]} after {self.words[row]!r}, {self.bits[row, k]:.2f} bits"
        return f"<{len(self.words)} words x {len(self.kinds)} columns compared; most: {most}>"


def _said(when: str, state: dict[str, Any] | None) -> dict[str, object]:
    label, probability = state["top"][0] if state else (None, None)
    return {
        f"{when}_group": state["group"] if state else None,
        f"{when}_label": label,
        f"{when}_probability": probability,
    }


def _pairing(before: Reading, after: Reading) -> Pairing:
    lenses = before.lens, after.lens
    if before.semantic != after.semantic:
        raise RnnlensError(
            f"one grid asks about {before.semantic!r}, the other about {after.semantic!r}; compare "
            "grids of one semantic"
        )
    return Pairing.of_requests(lenses, (before.asked(), after.asked()))


def compared(after: Reading, before: Reading) -> Comparison:
    """Every state of one grid beside that of another: rows by the words read, kinds by their ids,
    labels by their names.
    """
    pairing = _pairing(before, after)
    columns, rows = pairing.common.columns, len(pairing.beside)
    bits = np.full((rows, len(columns)), np.nan)
    for first in range(0, rows, _STEP):
        last = min(first + _STEP, rows)
        there, apart = differences(pairing, first, last)
        if apart:
            here = [k for k in range(first, last) if pairing.beside[k] in set(there)]
            bits[here] = apart.bits.reshape(len(here), len(columns))
    words = [after.words[b] if b is not None else before.words[a or 0] for a, b in pairing.beside]
    kinds = tuple(column.id for column in columns)
    return Comparison(
        after, before, tuple(words), kinds, bits, pairing.beside, pairing.common.notes
    )
