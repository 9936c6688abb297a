"""Grids of texts, whole or in steps: what the server, the notebook and Python are answered with."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from rnnlens.errors import RnnlensError
from rnnlens.model.kinds import PREDICTION
from rnnlens.model.traceable import Readout
from rnnlens.probe.probes import Probes
from rnnlens.probe.semantics import offset
from rnnlens.view.encoding import Palette
from rnnlens.view.examples import examples_of
from rnnlens.view.payload import (
    FORMAT,
    VERSION,
    Column,
    changes_json,
    columns_of,
    edges_of,
    labels_json,
    row_json,
    states_json,
    words_json,
)
from rnnlens.view.rows import Request, Rows
from rnnlens.view.scores import Scores
from rnnlens.view.session import Session
from rnnlens.view.unchanged import first_new, first_other
from rnnlens.view.why.changes import TextEdits
from rnnlens.view.why.edits import Edit, parsed

LONGEST_TEXT, LONGEST = 20_000, 2_000  # characters, words
Edits = Sequence[Edit | str]
STEP = 24  # rows at once: memory stays bounded, and others get their turn
BRIEF = 8  # where nobody waits for them: a key that is pressed meanwhile gets its turn sooner


@dataclass(frozen=True)
class Training:
    """Where in a training a model stands, whose checkpoints were kept."""

    of: str  # the name of the run that the training ended with
    epoch: int  # after which these weights were


class GridSource:
    """A model, its probes and its colours, ready to be asked about texts."""

    def __init__(
        self,
        name: str,
        session: Session,
        palettes: Mapping[str, Palette],
        probes: Probes | None = None,
        scores: Scores | None = None,
    ) -> None:
        self.name, self.session, self.model = name, session, session.model
        self.labels = session.vocabulary.labels
        self.palettes, self.probes, self.scores = dict(palettes), probes, scores or Scores()
        kinds, prediction = self.model.kinds, self.model.prediction
        self.columns = columns_of(kinds, prediction, probes.kinds if probes else ())
        self.edges = edges_of((*kinds, prediction), self.columns)
        self.semantics = probes.semantics if probes else ()
        self.training: Training | None = None
        self.rows = Rows(session, probes, self.columns)

    @property
    def title(self) -> str:
        """What the page is headed with."""
        return f"{self.name} · {self.model.description}"

    @cached_property
    def classifier(self) -> Readout | None:
        """The linear map from a kind to the model's prediction, where there is one."""
        with torch.no_grad():
            return self.model.classifier()

    def examples(self) -> list[str]:
        """Texts to begin with."""
        return examples_of(self.session)

    def summary(self) -> dict[str, Any]:
        """What a list of runs says of this one."""
        return {
            "id": self.name,
            "title": self.title,
            "labels": len(self.labels),
            "semantics": list(self.semantics),
            "palettes": list(self.palettes),
            "examples": self.examples(),
            "probes": self.probes is not None,
            "training": self.training and {**asdict(self.training), "perplexity": self.scores.own},
        }

    def column(self, asked: Request, column: str, row: int) -> Column:
        """A column by its id; an error where the grid has none such, or no such row."""
        found = next((c for c in self.columns if c.id == column), None)
        if found is None:
            there = ", ".join(c.id for c in self.columns)
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
            return self.model.predict(states[PREDICTION])[0]
        kind = found.kind.id
        return self.probes.logits(
            kind, before[kind] if found.back else states[kind][0], asked.semantic
        )

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
    ) -> Iterator[tuple[dict[str, Any], bool]]:
        """The same a few rows at a time, and whether there are more.

        The first step is a grid, the others add to its labels and rows. Where there is a limit,
        words beyond the most that are read are left out; without one they are refused.
        """
        asked = self.request(text, semantic, palette, edits, lenient)
        if asked.left_out and limit is None:
            raise RnnlensError(too_many(len(asked.words) + asked.left_out, "words", LONGEST))
        known = self.session.vocabulary.encode(self._words(previous)[:LONGEST])
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
        palette = self.palettes[asked.palette]
        return {
            "format": FORMAT,
            "version": VERSION,
            "run": self.name,
            "title": self.title,
            "text": asked.text,
            "follows": self.session.text.follows,
            "semantic": asked.semantic,
            "semantics": list(self.semantics),
            "palette": asked.palette,
            "palettes": list(self.palettes),
            "groups": dict(zip(palette.groups, palette.colours, strict=True)),
            "columns": [
                column.to_json(
                    self.scores.perplexity(asked.semantic, column.kind.id),
                    self.scores.used(asked.semantic, column.kind.id),
                )
                for column in self.columns
            ],
            "edges": self.edges,
            "words": words_json(asked.words, asked.ids, self.session.text, palette),
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
        palette, labels, changes = self.palettes[asked.palette], self.labels, list[Any]()
        if asked.edits:
            places, wanted, made, change = self.rows.edited(asked, palette, first, last)
            at = dict(zip(places, changes_json(change, labels), strict=True))
            changes = [
                [at[column.kind.id, t - column.back] for column in self.columns]
                for t in range(first, last)
            ]
        else:
            places, wanted, made = self.rows.encoded(asked, palette, first, last)
        at = dict(zip(places, states_json(made, wanted, labels, palette), strict=True))
        rows = [row_json(at, self.columns, t) for t in range(first, last)]
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
        palette = palette or next(iter(self.palettes))
        if semantic not in semantics:
            raise RnnlensError(
                f"{self.name} has no probes for the semantic {semantic!r}; it has "
                f"{', '.join(self.semantics) or 'none'}"
            )
        if palette not in self.palettes:
            raise RnnlensError(
                f"{self.name} has no palette {palette!r}; it has {', '.join(self.palettes)}"
            )
        every = self._words(text)
        words = every[:LONGEST]
        ids, left_out = self.session.vocabulary.encode(words), len(every) - len(words)
        came = self.session.text.came(ids)
        changes = TextEdits.of(
            () if lenient else parsed(edits), self.session, self.probes, ids, semantic
        )
        changes, dropped = changes.possible(edits) if lenient else (changes, ())
        made = changes if changes.edits else None
        return Request(text, words, ids, came, semantic, palette, left_out, made, dropped)

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
