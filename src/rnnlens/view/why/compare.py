"""Two grids of one lens, state by state: most often a text with edits and without."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rnnlens.errors import RnnlensError
from rnnlens.view.difference import Difference
from rnnlens.view.follow import Sides, follow_all
from rnnlens.view.frames import data_frame
from rnnlens.view.state import Reading

if TYPE_CHECKING:
    import pandas as pd

Values = NDArray[np.float64]
_STEP = 24  # rows at once, so that memory stays bounded


@dataclass(frozen=True)
class Comparison:
    """What differs between two grids.

    `comparison["h2"][3]` is how far what h2 says after the fourth word lies from what it said
    before, the Jensen-Shannon divergence in bits: 0 is the same, 1 shares nothing. `bits` has all,
    words down and kinds across.
    """

    after: Reading
    before: Reading
    words: tuple[str, ...]
    kinds: tuple[str, ...]
    bits: Values  # (T, K)

    def __getitem__(self, kind: str) -> Values:
        if kind not in self.kinds:
            raise RnnlensError(f"there is no kind {kind!r}; there is {', '.join(self.kinds)}")
        column: Values = self.bits[:, self.kinds.index(kind)]
        return column

    def follow(self, *labels: str, against: Sequence[str] = ()) -> Values:
        """How much more probable labels have become in every state, (T, K); with others `against`
        them, how much the logarithm of the odds has grown.
        """
        others = (against,) if isinstance(against, str) else against
        sides = Sides.of(labels, others, self.after.labels)
        after, before = (
            follow_all(grid.lens, grid.asked(), sides) for grid in (self.after, self.before)
        )
        change: Values = after - before
        return change

    def groups(self) -> list[tuple[int, str, str, str]]:
        """Where another group dominates: the step, the kind, the group before and after."""
        return [
            (step, kind, before["group"], after["group"])
            for step, rows in enumerate(
                zip(self.before.json["rows"], self.after.json["rows"], strict=True)
            )
            for kind, before, after in zip(self.kinds, *rows, strict=True)
            if before["group"] != after["group"]
        ]

    def to_pandas(self) -> "pd.DataFrame":
        """A row for every state: step, word, kind, bits, and of both grids group, label and
        probability.
        """
        return data_frame(
            {"step": step, "word": word, "kind": kind, "bits": float(self.bits[step, k])}
            | _said("before", self.before, step, k)
            | _said("after", self.after, step, k)
            for step, word in enumerate(self.words)
            for k, kind in enumerate(self.kinds)
        )

    def __repr__(self) -> str:
        step, k = np.unravel_index(int(self.bits.argmax()), self.bits.shape)
        most = f"{self.kinds[k]} after {self.words[step]!r}, {self.bits[step, k]:.2f} bits"
        return f"<{len(self.words)} words x {len(self.kinds)} columns compared; most: {most}>"


def _said(when: str, grid: Reading, step: int, column: int) -> dict[str, object]:
    state = grid.json["rows"][step][column]
    label, probability = state["top"][0]
    return {
        f"{when}_group": state["group"],
        f"{when}_label": label,
        f"{when}_probability": probability,
    }


def compared(after: Reading, before: Reading) -> Comparison:
    """Every state of one grid beside that of another."""
    if after.lens is not before.lens:
        raise RnnlensError(
            "these grids are of two lenses; compare grids of one, or two states: "
            'a["h2"][3].divergence(b["h2"][3])'
        )
    if len(after.words) != len(before.words) or not after.words:
        raise RnnlensError(
            f"grids of {len(after.words)} and {len(before.words)} words cannot be compared; give "
            "texts of as many words, at least one"
        )
    lens, asked, words = after.lens, [after.asked(), before.asked()], len(after.words)
    if asked[0].answers != asked[1].answers:
        raise RnnlensError("grids of two semantics cannot be compared; give both the same")
    rows, columns = list[list[float]](), lens.columns_for(asked[0].semantic)
    for first in range(0, words, _STEP):
        last = min(first + _STEP, words)
        parts = lens.rows.each_of(
            asked, first, last, lambda _, both: Difference.of(both[0], both[1], asked[0].answers)
        )
        places = lens.rows.places(asked[0], first, last)
        at = dict(zip(places, Difference.join(parts).bits.tolist(), strict=True))
        rows += [[at[c.kind.id, t - c.back] for c in columns] for t in range(first, last)]
    bits = np.array(rows).reshape(words, len(columns))
    return Comparison(after, before, tuple(after.words), tuple(after.kinds), bits)
