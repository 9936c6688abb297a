"""What is known of who wrote a state, as numbers, as a table and as JSON."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rnnlens.base.tables import data_frame
from rnnlens.draw.printable import clip, width_of

if TYPE_CHECKING:
    import pandas as pd

Parts = NDArray[np.float64]
_WIDEST = 18  # columns of a word in a table


@dataclass(frozen=True)
class Written:
    """Which words have made a state say `labels` rather than those `against` them.

    All numbers are in logits: `difference` is how far the labels are ahead. For every word of the
    text up to there,

    - `stored` is what stands in the memory since it was read: an exact split, which with
      `stored_rest` adds up to the difference. It is not the cause: what a word wrote depends on
      those before, and gates decide how much is kept.
    - `path` is what the word's own input comes to along all ways with gates held; with `path_rest`
      it adds up to the difference, too.
    - `without` is how much of the difference goes when the word is taken away and everything is
      read again: the truth. `instead` is the word that is read in its place; empty: it is left out.
    - `gates` is what of that runs through gates: `without` less `path`.

    `stored` and `path` are None where the model has no such thing; `note` says why.
    """

    kind: str
    step: int
    words: tuple[str, ...]
    labels: tuple[str, ...]
    against: tuple[str, ...]
    difference: float
    without: Parts
    instead: str
    stored: Parts | None = None
    stored_rest: float = 0.0
    path: Parts | None = None
    path_rest: float = 0.0
    note: str = ""

    @property
    def gates(self) -> Parts | None:
        """What of the truth no line sees: it runs through gates and through the bends of tanh."""
        return None if self.path is None else self.without - self.path

    @property
    def readings(self) -> dict[str, Parts]:
        """All readings that there are, by name."""
        named = {
            "stored": self.stored, "path": self.path, "without": self.without, "gates": self.gates,
        }  # fmt: skip
        return {name: values for name, values in named.items() if values is not None}

    @property
    def title(self) -> str:
        """What was asked, in words."""
        ours, theirs = " + ".join(self.labels), " + ".join(self.against)
        return f"{self.kind} after {self.words[self.step]!r}: {ours} against {theirs}"

    def to_json(self) -> dict[str, Any]:
        """What the server answers."""

        def sent(values: Parts | None) -> list[float | None] | None:
            if values is None:
                return None
            return [round(float(v), 5) if np.isfinite(v) else None for v in values]

        return {
            "labels": list(self.labels),
            "against": list(self.against),
            "difference": round(self.difference, 5),
            "instead": self.instead,
            "stored": sent(self.stored),
            "stored_rest": round(self.stored_rest, 5),
            "path": sent(self.path),
            "path_rest": round(self.path_rest, 5),
            "without": sent(self.without),
            "gates": sent(self.gates),
            "note": self.note,
        }

    def to_pandas(self) -> "pd.DataFrame":
        """A row for every word: step, word and the readings."""
        return data_frame(
            {"step": step, "word": word}
            | {name: float(values[step]) for name, values in self.readings.items()}
            for step, word in enumerate(self.words)
        )

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """As a table for people."""
        readings = self.readings
        margin = min(_WIDEST, max(map(width_of, (*self.words, "the rest"))))
        lines = [f"{self.title}, {self.difference:+.2f}", _line("", margin, list(readings))]
        for step, word in enumerate(self.words):
            lines.append(_line(word, margin, [_said(v[step]) for v in readings.values()]))
        rests = {"stored": self.stored_rest, "path": self.path_rest}
        if self.path is not None:
            told = [_said(rests[name]) if name in rests else "" for name in readings]
            lines.append(_line("the rest", margin, told))
        return [*lines, self.note] if self.note else lines


def _said(value: float) -> str:
    return f"{value:+.2f}" if np.isfinite(value) else "-"


def _line(head: str, margin: int, cells: Sequence[str]) -> str:
    shown = clip(head, margin)
    numbers = "".join(cell.rjust(9) for cell in cells)
    return (" " * (margin - width_of(shown)) + shown + numbers).rstrip()
