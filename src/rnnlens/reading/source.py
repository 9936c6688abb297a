"""Grids of texts, whole or in steps: what the server, the notebook and Python are answered with."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from rnnlens.base.errors import RnnlensError
from rnnlens.model.kinds import PREDICTION
from rnnlens.probe.semantics import of_model, offset
from rnnlens.reading.changes import TextEdits
from rnnlens.reading.edits import Edit, parsed
from rnnlens.reading.parts import Parts
from rnnlens.reading.payload import (
    FORMAT,
    VERSION,
    Column,
    changes_json,
    edges_of,
    labels_json,
    row_json,
    states_json,
    words_json,
)
from rnnlens.reading.rows import Request
from rnnlens.reading.unchanged import first_new, first_other

LONGEST_TEXT, LONGEST = 20_000, 2_000  # characters, words
Edits = Sequence[Edit | str]
STEP = 24  # rows at once: memory stays bounded, and others get their turn
BRIEF = 8  # where nobody waits for them: a key that is pressed meanwhile gets its turn sooner


class GridSource(Parts):
    """A model, its probes and its colours, ready to be asked about texts."""

    def column(self, asked: Request, column: str, row: int) -> Column:
        """A column by its id; an error where the grid has none such, or no such row."""
        columns = self.columns_for(asked.semantic)
        found = next((c for c in columns if c.id == column), None)
        if found is None:
            there = ", ".join(c.id for c in columns)
            raise RnnlensError(f"{self.name} has no column {column!r}; it has {there}")
        if row >= len(asked.ids):
            raise RnnlensError(f"there is no row {row}; the text has {len(asked.ids)} words")
        return found

    @torch.inference_mode()
    def vector(self, asked: Request, column: str, row: int) -> Tensor:
        """One state, (H,)."""
        found = self.column(asked, column, row)
        states, before = self.session.read(asked.ids, row, row + 1, asked.edits)
        return before[found.kind.id] if found.back else states[found.kind.id][0]

    @torch.inference_mode()
    def logits(self, asked: Request, column: str, row: int) -> Tensor:
        """What one state says of every label, (V,)."""
        found = self.column(asked, column, row)
        states, before = self.session.read(asked.ids, row, row + 1, asked.edits)
        if found.id == PREDICTION or self.probes is None:
            logits = self.model.predict(states[PREDICTION])[0]
        else:
            kind = found.kind.id
            state = before[kind] if found.back else states[kind][0]
            logits = self.probes.logits(kind, state, asked.semantic)
        if asked.edits:
            asked.edits.check_size(logits)
        return logits

    def grid(
        self,
        text: str,
        semantic: str | None = None,
        palette: str | None = None,
        edits: Edits = (),
    ) -> dict[str, Any]:
        """The whole grid of a text."""
        return self.part(text, semantic, palette, edits=edits)

    def part(
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
    ) -> dict[str, Any]:
        """The grid for somebody who has the first `have` rows of that of `previous` with
        `previous_edits`.

        Its rows begin at the first that is missing there or differs, and are `limit` at most.
        Edits that cannot be made are refused, or, with `lenient`, left out and said.
        """
        given = (text, semantic, palette, previous, have, limit, edits, previous_edits, lenient)
        return joined_steps(self.steps(*given))

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
    ) -> Iterator[tuple[dict[str, Any], bool]]:
        """The same a few rows at a time, and whether there are more.

        The first step is a grid, the others add to its labels and rows. Where there is a limit,
        words beyond the most that are read are left out; without one they are refused. With
        `columns`, the states of kinds that none of these shows are None, and are not computed;
        where there are edits, all are.
        """
        asked = self.request(text, semantic, palette, edits, lenient)
        if columns is not None and not asked.edits:
            asked = replace(asked, kinds=self._kinds_of(columns, asked.semantic))
        if asked.left_out and limit is None:
            raise RnnlensError(too_many(len(asked.words) + asked.left_out, "words", LONGEST))
        known = self.session.text.encode(self._words(previous)[:LONGEST])
        first = first_new(asked.ids, known, offset(asked.semantic))
        first = min(
            first, first_other(asked.edits.edits if asked.edits else (), parsed(previous_edits))
        )
        if first < len(asked.ids) and not self.model.causal:
            first = 0
        first = min(first, have, len(asked.ids))
        last = min(len(asked.ids), first + limit) if limit else len(asked.ids)
        head = {**self.head(asked), "from": first}
        size = BRIEF if text == previous else STEP
        for start in range(first, max(last, first + 1), size):
            end = min(start + size, last)
            yield {**head, **self._rows(asked, start, end)}, end < last
            head = {}

    def head(self, asked: Request) -> dict[str, Any]:
        """Everything about a grid but its rows."""
        palettes = self.palettes_for(asked.semantic)
        palette, columns = palettes[asked.palette], self.columns_for(asked.semantic)
        own, scale = of_model(asked.semantic), asked.answers.scale
        return {
            "format": FORMAT,
            "version": VERSION,
            "run": self.name,
            "title": self.title,
            "text": asked.text,
            "follows": self.session.text.follows,
            "answer": self.session.answer if of_model(asked.semantic) else None,
            "semantic": asked.semantic,
            "semantics": list(self.semantics),
            "palette": asked.palette,
            "palettes": list(palettes),
            "groups": dict(zip(palette.groups, palette.colours, strict=True)),
            "columns": self.described_columns(asked.semantic),
            "edges": edges_of(columns),
            "numbers": self.session.text.labels.scale is not None,
            "scale": scale and {"edges": scale.edges, "names": scale.names},
            "several": asked.answers.several,
            "words": words_json(asked.words, asked.ids, self.session.text, palette, own=own),
            "left_out": asked.left_out,
            "edits": [str(edit) for edit in asked.edits.edits] if asked.edits else [],
            "dropped": list(asked.dropped),
            "sides": [],
            "lines": [],
            "notes": [],
        }

    @torch.inference_mode()
    def _rows(self, asked: Request, first: int, last: int) -> dict[str, Any]:
        """The rows first..last-1 and the groups of the labels they name."""
        if first >= last:
            return {"labels": {}, "changes": [], "rows": []}
        palette = self.palettes_for(asked.semantic)[asked.palette]
        labels, columns = asked.answers.names, self.columns_for(asked.semantic)
        changes = list[Any]()
        if asked.edits:
            places, wanted, made, change = self.rows.edited(asked, palette, first, last)
            at = dict(zip(places, changes_json(change, labels), strict=True))
            changes = [
                [at[column.kind.id, t - column.back] for column in columns]
                for t in range(first, last)
            ]
        else:
            places, wanted, made = self.rows.encoded(asked, palette, first, last)
        at = dict(zip(places, states_json(made, wanted, labels, palette), strict=True))
        rows = [row_json(at, columns, t) for t in range(first, last)]
        named = labels_json(made, wanted, labels, palette)
        return {"labels": named, "changes": changes, "rows": rows}

    def request(
        self,
        text: str,
        semantic: str | None,
        palette: str | None,
        edits: Edits = (),
        lenient: bool = False,
    ) -> Request:
        """Refuse what this run cannot answer."""
        semantics = self.semantics or ("output",)
        semantic = semantic or semantics[0]
        if semantic not in semantics:
            raise RnnlensError(
                f"{self.name} has no probes for the semantic {semantic!r}; it has "
                f"{', '.join(self.semantics) or 'none'}"
            )
        palettes = self.palettes_for(semantic)
        others = {name for some in self._other_palettes.values() for name in some}
        if palette and palette not in {*palettes, *self.palettes, *others}:
            raise RnnlensError(
                f"{self.name} has no palette {palette!r}; it has {', '.join(palettes)}"
            )
        if not palette or palette not in palettes:  # the colours of another semantic are none here
            palette = next(iter(palettes))
        every = self._words(text)
        words = every[:LONGEST]
        ids, left_out = self.session.text.encode(words), len(every) - len(words)
        came = self.session.text.came(ids)
        changes = TextEdits.of(
            () if lenient else parsed(edits), self.session, self.probes, ids, semantic
        )
        changes, dropped = changes.possible(edits) if lenient else (changes, ())
        made = changes if changes.edits else None
        answers = self.answers(semantic)
        return Request(text, words, ids, came, semantic, palette, answers, left_out, made, dropped)

    def _kinds_of(self, columns: Sequence[str], semantic: str) -> frozenset[str] | None:
        """The kinds that some columns show, None where it is none of them: a grid shows some."""
        known = self.columns_for(semantic)
        return frozenset(one.kind.id for one in known if one.id in columns) or None

    def _words(self, text: str) -> tuple[str, ...]:
        if not isinstance(text, str):
            raise RnnlensError(f"a text is wanted, and {type(text).__name__} given; give a str")
        if len(text) > LONGEST_TEXT:
            raise RnnlensError(too_many(len(text), "characters", LONGEST_TEXT))
        return self.session.words(text)


def joined_steps(steps: Iterator[tuple[dict[str, Any], bool]]) -> dict[str, Any]:
    """One grid of its steps."""
    grid = next(steps)[0]
    for more, _ in steps:
        grid["labels"] |= more["labels"]
        grid["rows"] += more["rows"]
        grid["changes"] += more["changes"]
    return grid


def too_many(count: int, things: str, most: int) -> str:
    """What is wrong with a text that is too long."""
    return f"{count:,} {things} are too many; give at most {most:,}"
