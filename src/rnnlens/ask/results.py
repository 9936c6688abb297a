"""What results have in common that hold a number for every state."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rnnlens.base.errors import RnnlensError
from rnnlens.base.schema import unsent
from rnnlens.base.tables import data_frame

if TYPE_CHECKING:
    import pandas as pd

Values = NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True)
class ByKind:
    """A number for every state: `result["h2"][3]` is that of the kind `h2` after the fourth word.

    `words` are those of the rows, `kinds` the ids of the columns, and `values` has all numbers,
    words down and kinds across; NaN where there is none.
    """

    words: tuple[str, ...] = unsent()
    kinds: tuple[str, ...] = unsent()
    values: Values = unsent()  # (T, K)

    def __getitem__(self, kind: str) -> Values:
        if kind not in self.kinds:
            raise RnnlensError(f"there is no kind {kind!r}; there is {', '.join(self.kinds)}")
        column: Values = self.values[:, self.kinds.index(kind)]
        return column

    def to_numpy(self) -> Values:
        """All numbers, words down and kinds across."""
        return self.values

    def to_pandas(self) -> "pd.DataFrame":
        """A row for every state: step, word, kind, and what there is of it; needs pandas."""
        return data_frame(
            {"step": step, "word": word, "kind": kind, **self._row(step, kind, value)}
            for step, word in enumerate(self.words)
            for kind, value in zip(self.kinds, self.values[step].tolist(), strict=True)
        )

    def _row(self, step: int, kind: str, value: float) -> Mapping[str, Any]:  # noqa: ARG002
        """What a table says of a state."""
        return {"value": value}

    def _largest(self) -> Iterator[tuple[int, str, float]]:
        """The step, kind and number of every state, the largest first."""
        flat = np.nan_to_num(self.values, nan=-1).ravel()
        for place in np.argsort(-flat, kind="stable").tolist():
            step, k = divmod(place, len(self.kinds))
            yield step, self.kinds[k], float(self.values[step, k])
