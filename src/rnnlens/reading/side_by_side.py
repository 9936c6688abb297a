"""Grids of two readings side by side, beside those of single texts."""

from collections.abc import Iterator, Sequence
from typing import Any

from rnnlens.base.errors import RnnlensError
from rnnlens.labels.colours import OTHER
from rnnlens.reading.blocks import block
from rnnlens.reading.edits import parsed
from rnnlens.reading.notation import TwoTexts, plain, two_texts
from rnnlens.reading.pairing import Pairing
from rnnlens.reading.payload import edges_of
from rnnlens.reading.rows import Request
from rnnlens.reading.source import BRIEF, STEP, Edits, GridSource, joined_steps
from rnnlens.reading.unchanged import first_other

_GAP = {"text": "", "label": "", "unknown": False, "group": OTHER, "value": None}
_ONE = "edits change one text; take the braces away, or what is compared with, to make them"


class SideBySide(GridSource):
    """A lens that reads single texts, and two at once: `the keys {is|are} here`."""

    def two_texts(self, text: str) -> TwoTexts | None:
        """The texts that braces stand for; None: it is one text."""
        return two_texts(text, self.session.vocabulary.inputs) if isinstance(text, str) else None

    def pairing(
        self,
        text: str,
        beside: "SideBySide | None" = None,
        semantic: str | None = None,
        palette: str | None = None,
    ) -> Pairing | None:
        """What is compared: two texts in one, or a text that another lens reads, too. None: one
        text by one lens.
        """
        texts, beside = self.two_texts(text), None if beside is self else beside
        if texts is None and beside is None:
            return None
        texts = texts or TwoTexts(text, text)
        return Pairing.of((self, beside or self), texts, semantic, palette)

    def request(
        self,
        text: str,
        semantic: str | None,
        palette: str | None,
        edits: Edits = (),
        lenient: bool = False,
    ) -> Request:
        """Refuse two texts where one is wanted."""
        if self.two_texts(text):
            raise RnnlensError(f"{text[:60]!r} holds two texts, and this is asked of one; give one")
        return super().request(text, semantic, palette, edits, lenient)

    def steps(
        self,
        text: str,
        semantic: str | None = None,
        palette: str | None = None,
        previous: str = "",
        have: int = 0,
        limit: int | None = None,
        edits: Edits = (),
        previous_edits: Edits = (),
        lenient: bool = False,
        columns: Sequence[str] | None = None,
        beside: "SideBySide | None" = None,
    ) -> Iterator[tuple[dict[str, Any], bool]]:
        """The grid of one text or of two readings, a few rows or lines at a time.

        With `beside`, a text is read by another lens, too. Edits are of one text by one lens, and
        so are `columns`: of two readings, all are compared.
        """
        pairing = self.pairing(text, beside, semantic, palette)
        if pairing is None:
            previous, have = (previous, have) if self._is_one(previous) else ("", 0)
            given = (text, semantic, palette, previous, have, limit, edits, previous_edits, lenient)
            yield from super().steps(*given, columns)
            return
        if edits and not lenient:
            raise RnnlensError(_ONE)
        first = min(have, len(pairing.lines))
        if first:
            first = min(first, self._first_new(pairing, previous, beside),
                        first_other((), parsed(previous_edits)))  # fmt: skip
        last = min(len(pairing.lines), first + limit) if limit else len(pairing.lines)
        head = {**_head(pairing, text), "dropped": [_ONE] * bool(edits), "from": first}
        size = BRIEF if text == previous else STEP
        for start in range(first, max(last, first + 1), size):
            end = min(start + size, last)
            yield {**head, **block(pairing, start, end)}, end < last
            head = {}

    def _words(self, text: str) -> tuple[str, ...]:
        """The words of a single text, whose braces may have backslashes before them."""
        inputs = self.session.vocabulary.inputs
        return super()._words(plain(text, inputs) if isinstance(text, str) else text)

    def _is_one(self, text: str) -> bool:
        """Whether a text is one; lines of two readings are no rows of one."""
        try:
            return self.two_texts(text) is None
        except RnnlensError:
            return False

    def _first_new(self, pairing: Pairing, previous: str, beside: "SideBySide | None") -> int:
        """The first line that is another than in the grid of `previous`."""
        try:
            semantic, palette = pairing.asked[0].semantic, pairing.asked[0].palette
            texts = self.two_texts(previous) or TwoTexts(previous, previous)
            before = Pairing.of((self, beside or self), texts, semantic, palette)
        except RnnlensError:  # that text had no grid
            return 0
        return pairing.first_new(before)


def whole(pairing: Pairing, text: str) -> dict[str, Any]:
    """The grid of two readings; `text` stands for both of their texts."""
    lines = len(pairing.lines)
    parts = [block(pairing, start, min(start + STEP, lines)) for start in range(0, lines, STEP)]
    head = {**_head(pairing, text), "from": 0}
    return joined_steps(({**head, **part}, False) for part in parts)


def _head(pairing: Pairing, text: str) -> dict[str, Any]:
    """Everything about a comparison but its lines."""
    (first, second), asked, common = pairing.lenses, pairing.asked, pairing.common
    heads = [lens.head(one) for lens, one in zip(pairing.lenses, asked, strict=True)]
    there = {column.id for column in common.columns}
    words = [head["words"] for head in heads]
    two_runs = first is not second
    other = {column["id"]: column for column in heads[1]["columns"]}
    described = [[], [other[column.id] for column in common.columns] if two_runs else []]
    return {
        **heads[0],
        "text": text,
        "title": f"{first.title} against {second.title}" if two_runs else first.title,
        "groups": {**heads[1]["groups"], **heads[0]["groups"]} if two_runs else heads[0]["groups"],
        "columns": [column for column in heads[0]["columns"] if column["id"] in there],
        "edges": edges_of(common.columns),
        "words": [
            _GAP if line.row is None else words[line.number][line.row] for line in pairing.lines
        ],
        "lines": [line.to_json() for line in pairing.lines],
        "sides": [
            {"run": lens.name, "title": lens.title, "text": one.text, "columns": columns}
            for lens, one, columns in zip(pairing.lenses, asked, described, strict=True)
        ],
        "edits": [],
        "notes": [*common.notes, *(f"with {edit}" for head in heads for edit in head["edits"])],
    }
