"""Two readings side by side, line by line."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from rnnlens.base.errors import RnnlensError
from rnnlens.probe.semantics import offset
from rnnlens.reading.alignment import Beside, aligned
from rnnlens.reading.common import Common
from rnnlens.reading.notation import TwoTexts
from rnnlens.reading.rows import Request
from rnnlens.reading.source import LONGEST, GridSource, too_many
from rnnlens.reading.unchanged import first_new

Side = Literal["both", "first", "second"]


class Line(NamedTuple):
    """A line that is drawn: of the first text, of the second, or of both where all is the same."""

    side: Side
    rows: Beside  # that stand side by side, one of each text
    then: str | None = None  # the word that came next, where nothing else is another

    @property
    def number(self) -> int:
        """Whose states it shows: 0 is the first."""
        return int(self.side == "second")

    @property
    def row(self) -> int | None:
        """Of its text; None: it is a gap."""
        return self.rows[self.number]

    def to_json(self) -> dict[str, Any]:
        """What the grid says of it."""
        return {"side": self.side, "row": self.row, "then": self.then}


@dataclass(frozen=True)
class Pairing:
    """What is compared: two lenses, what each is asked, and how their rows stand side by side."""

    lenses: tuple[GridSource, GridSource]
    asked: tuple[Request, Request]
    common: Common
    beside: tuple[Beside, ...]
    lines: tuple[Line, ...]

    @classmethod
    def of(
        cls,
        lenses: tuple[GridSource, GridSource],
        texts: TwoTexts,
        semantic: str | None = None,
        palette: str | None = None,
    ) -> "Pairing":
        """Two texts that are read by two lenses, or by one."""
        known = palette if palette in lenses[1].palettes else None
        first = lenses[0].request(texts.first, semantic, palette)
        second = lenses[1].request(texts.second, first.semantic, known)
        return cls.of_requests(lenses, (first, second))

    @classmethod
    def of_requests(
        cls,
        lenses: tuple[GridSource, GridSource],
        asked: tuple[Request, Request],
    ) -> "Pairing":
        """The same of what is asked already, perhaps with edits."""
        for one in asked:
            if one.left_out:
                raise RnnlensError(too_many(len(one.words) + one.left_out, "words", LONGEST))
            if not one.words:
                raise RnnlensError("one of the two texts is empty; give each a word at least")
        common = Common.of(*lenses, asked[0].semantic)
        beside = aligned(*([word.casefold() for word in one.words] for one in asked))
        return cls(lenses, asked, common, tuple(beside), tuple(_lines(beside, lenses, asked)))

    def first_new(self, before: "Pairing") -> int:
        """The first line that is another than with the texts before."""
        first = [
            first_new(now.ids, then.ids, offset(now.semantic))
            for now, then in zip(self.asked, before.asked, strict=True)
        ]
        changed = any(k < len(one.ids) for k, one in zip(first, self.asked, strict=True))
        if changed and not all(lens.model.causal for lens in self.lenses):
            return 0
        pairs = zip(self.lines, before.lines, strict=False)
        for k, (line, other) in enumerate(pairs):
            new = any(row is not None and row >= f for row, f in zip(line.rows, first, strict=True))
            if line != other or new:
                return k
        return min(len(self.lines), len(before.lines))


def _lines(
    beside: Sequence[Beside], lenses: Sequence[GridSource], asked: Sequence[Request]
) -> list[Line]:
    """A line for rows that are the same, else one for each text."""
    states, all_of_it = _same_until(lenses, asked)
    lines: list[Line] = []
    for rows in beside:
        row = rows[0] if rows[0] == rows[1] else None
        if row is not None and row < all_of_it and _is_one_word(asked, row):
            lines.append(Line("both", rows))
        elif row is not None and all_of_it <= row < states:
            then = (next(iter(one.words[row + 1 :]), "") for one in asked)
            lines += [Line("first", rows, next(then)), Line("second", rows, next(then))]
        else:
            lines += [Line("first", rows), Line("second", rows)]
    return lines


def _is_one_word(asked: Sequence[Request], row: int) -> bool:
    """Whether a row has the same word in both texts; two unknown words may be read as one."""
    return len({one.words[row].casefold() for one in asked}) == 1


def _same_until(lenses: Sequence[GridSource], asked: Sequence[Request]) -> tuple[int, int]:
    """How many rows have the same states in both texts, and how many the same labels, too."""
    first, second = asked
    if lenses[0] is not lenses[1] or not lenses[0].model.causal or first.edits or second.edits:
        return 0, 0
    pairs = enumerate(zip(first.ids, second.ids, strict=False))
    least = min(len(first.ids), len(second.ids))
    states = next((k for k, (a, b) in pairs if a != b), least)
    return states, first_new(first.ids, second.ids, offset(first.semantic))
