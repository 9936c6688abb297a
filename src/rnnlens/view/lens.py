"""A run, ready to be asked about sentences."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from rnnlens.errors import RnnlensError
from rnnlens.probe.evaluation import Score, evaluate
from rnnlens.probe.probes import Probes
from rnnlens.probe.semantics import offset
from rnnlens.probe.stream import OWN
from rnnlens.run import Run
from rnnlens.view.encoding import Palette
from rnnlens.view.examples import examples_of
from rnnlens.view.models import Model
from rnnlens.view.payload import (
    FORMAT,
    VERSION,
    columns_of,
    edges_of,
    labels_json,
    row_json,
    states_json,
    words_json,
)
from rnnlens.view.reading import Reader
from rnnlens.view.rows import Request, Rows
from rnnlens.view.scores import Scores

if TYPE_CHECKING:
    from rnnlens.view.grid import Grid

LONGEST_TEXT, LONGEST = 20_000, 2_000  # characters, words
_STEP = 24  # rows at once: memory stays bounded, and others get their turn


class Lens:
    """A model, its probes and its colours. Call it with a text to get a `Grid`.

    `labels` are the names of all labels, `semantics` what there are probes for, `palettes` the
    groupings of labels by name, and `name` is that of the run.
    """

    def __init__(
        self,
        name: str,
        model: Model,
        palettes: Mapping[str, Palette],
        probes: Probes | None = None,
        scores: Scores | None = None,
        *,
        made: Mapping[str, Any] | None = None,
        run: Run | None = None,
    ) -> None:
        """`made`: how the probes were fitted; `run`: where all of it comes from, if from a run."""
        self.made, self.run = dict(made or {}), run
        self.name, self.model, self.labels = name, model, model.labels
        self.palettes, self.probes, self.scores = dict(palettes), probes, scores or Scores()
        kinds, own = model.kinds, model.prediction
        self.columns = columns_of(kinds, own, probes.kinds if probes else ())
        self.edges = edges_of((*kinds, own), self.columns)
        self.semantics = probes.semantics if probes else ()
        self.readers = {
            semantic: Reader.of(model, probes, semantic)
            for semantic in self.semantics or ("output",)
        }
        self.rows = Rows(model, self.readers, self.columns)

    @classmethod
    def load(cls, run: Run, colours: Path | None = None, name: str = "") -> "Lens":
        """Everything a run holds; `colours` is a file with the user's own grouping."""
        from rnnlens.view.opening import opened

        return opened(run, colours, name)

    def save(self, path: str | Path, model: str = "") -> Path:
        """Write everything as a run, which `rnnlens.load` and every command can open.

        For a lens of your own module, `model` is `package.module:factory`, which gives the module
        back when a new text is to be read; without it, hand the module to `rnnlens.load`.
        """
        from rnnlens.view.opening import written

        return written(self, Path(path), model).path

    @property
    def difference(self) -> float | None:
        """Of a module of your own, the largest between its outputs and what was recomputed."""
        return self.model.difference

    @property
    def title(self) -> str:
        """What the page is headed with."""
        return f"{self.name} · {self.model.description}"

    def examples(self) -> list[str]:
        """Texts to begin with."""
        return examples_of(self.model)

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
        }

    def __call__(
        self, text: str, semantic: str | None = None, palette: str | None = None
    ) -> "Grid":
        """What every state says while the network reads a text.

        `semantic` and `palette` are names; without them, the first of each that there is.
        """
        from rnnlens.view.grid import Grid

        return Grid(self, self.grid(text, semantic, palette))

    def __repr__(self) -> str:
        return f"<lens {self.title}>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:  # noqa: ARG002
        """What a notebook shows: the live grid with a field for texts, and a table that stays."""
        from rnnlens.view.page.notebook import shown_lens

        return shown_lens(self)

    def evaluate(self, data: Iterable[Any]) -> list[Score]:
        """How well each kind predicts on data of your own.

        Of a run: sentences, as texts or as lists of words. Of a module: batches, as for `fit`.
        Where nothing was measured before, grids tell these perplexities from then on.
        """
        if self.probes is None:
            raise RnnlensError(f"{self.name} has no probes; fit them with: rnnlens fit RUN")
        counts = torch.tensor(self.model.counts, dtype=torch.float64) + 1
        prior = (counts / counts.sum()).log()
        source = self.model.source(list(data))
        probes = self.probes.to(self.model.device)
        found = list(evaluate(probes, source, lambda _: prior))
        if not self.scores.semantics:
            self.scores = Scores.of(found)
        return found

    @torch.inference_mode()
    def logits(self, asked: Request, column: str, row: int) -> Tensor:
        """What one state says of every label, (V,)."""
        found = next((c for c in self.columns if c.id == column), None)
        if found is None:
            there = ", ".join(c.id for c in self.columns)
            raise RnnlensError(f"{self.name} has no column {column!r}; it has {there}")
        if row >= len(asked.ids):
            raise RnnlensError(f"there is no row {row}; the text has {len(asked.ids)} words")
        states, before = self.model.read(asked.ids, row, row + 1)
        if found.id == OWN or self.probes is None:
            return self.model.own(states[OWN])[0]
        kind = found.kind.id
        return self.probes.logits(
            kind, before[kind] if found.back else states[kind][0], asked.semantic
        )

    def grid(
        self, text: str, semantic: str | None = None, palette: str | None = None
    ) -> dict[str, Any]:
        """The whole grid of a text."""
        return self.part(text, semantic, palette)

    def part(
        self,
        text: str,
        semantic: str | None = None,
        palette: str | None = None,
        previous: str = "",
        have: int = 0,
        limit: int | None = None,
    ) -> dict[str, Any]:
        """The grid for somebody who has the first `have` rows of that of `previous`.

        Its rows begin at the first that is missing there or differs, and are `limit` at most.
        """
        steps = self.steps(text, semantic, palette, previous, have, limit)
        made = next(steps)[0]
        for more, _ in steps:
            made["labels"] |= more["labels"]
            made["rows"] += more["rows"]
        return made

    def steps(
        self,
        text: str,
        semantic: str | None = None,
        palette: str | None = None,
        previous: str = "",
        have: int = 0,
        limit: int | None = None,
    ) -> Iterator[tuple[dict[str, Any], bool]]:
        """The same a few rows at a time, and whether there are more.

        The first step is a grid, the others add to its labels and rows.
        """
        asked = self.request(text, semantic, palette)
        first = _first_new(asked.ids, self._ids(previous), offset(asked.semantic))
        if first < len(asked.ids) and not self.model.causal:
            first = 0
        first = min(first, have, len(asked.ids))
        last = min(len(asked.ids), first + limit) if limit else len(asked.ids)
        head = {**self._head(asked), "from": first}
        for start in range(first, max(last, first + 1), _STEP):
            end = min(start + _STEP, last)
            yield {**head, **self._rows(asked, start, end)}, end < last
            head = {}

    def _head(self, asked: Request) -> dict[str, Any]:
        """Everything about a grid but its rows."""
        palette = self.palettes[asked.palette]
        return {
            "format": FORMAT,
            "version": VERSION,
            "run": self.name,
            "title": self.title,
            "text": asked.text,
            "follows": self.model.follows,
            "semantic": asked.semantic,
            "semantics": list(self.semantics),
            "palette": asked.palette,
            "palettes": list(self.palettes),
            "groups": dict(zip(palette.groups, palette.colours, strict=True)),
            "columns": [
                column.to_json(self.scores.perplexity(asked.semantic, column.kind.id))
                for column in self.columns
            ],
            "edges": self.edges,
            "words": words_json(asked.words, asked.ids, self.model, palette),
        }

    @torch.inference_mode()
    def _rows(self, asked: Request, first: int, last: int) -> dict[str, Any]:
        """The rows first..last-1 and the groups of the labels they name."""
        if first >= last:
            return {"labels": {}, "rows": []}
        palette, labels = self.palettes[asked.palette], self.labels
        places, wanted, made = self.rows.encoded(asked, palette, first, last)
        at = dict(zip(places, states_json(made, wanted, labels, palette), strict=True))
        rows = [row_json(at, self.columns, t) for t in range(first, last)]
        return {"labels": labels_json(made, wanted, labels, palette), "rows": rows}

    def request(self, text: str, semantic: str | None, palette: str | None) -> Request:
        """Refuse what this run cannot answer."""
        semantic = semantic or next(iter(self.readers))
        palette = palette or next(iter(self.palettes))
        if semantic not in self.readers:
            raise RnnlensError(
                f"{self.name} has no probes for the semantic {semantic!r}; it has "
                f"{', '.join(self.semantics) or 'none'}"
            )
        if palette not in self.palettes:
            raise RnnlensError(
                f"{self.name} has no palette {palette!r}; it has {', '.join(self.palettes)}"
            )
        words = self._words(text)
        ids = self.model.encode(words)
        came = ids if self.model.follows else [-1] * len(ids)
        return Request(text, words, ids, came, semantic, palette)

    def _words(self, text: str) -> tuple[str, ...]:
        if not isinstance(text, str):
            raise RnnlensError(f"a text is wanted, and {type(text).__name__} given; give a str")
        if len(text) > LONGEST_TEXT:
            raise RnnlensError(too_long(text))
        words = self.model.words(text)
        if len(words) > LONGEST:
            raise RnnlensError(f"{len(words):,} words are too many; give at most {LONGEST:,}")
        return words

    def _ids(self, text: str) -> list[int]:
        return self.model.encode(self._words(text))


def too_long(text: str) -> str:
    """What is wrong with a text of too many characters."""
    return f"{len(text):,} characters are too many; give at most {LONGEST_TEXT:,}"


def _first_new(ids: Sequence[int], previous: Sequence[int], shift: int) -> int:
    """The first row whose states or whose wanted labels are not those of `previous`."""
    pairs = zip(ids, previous, strict=False)
    same = next((t for t, (a, b) in enumerate(pairs) if a != b), min(len(ids), len(previous)))
    if same == len(ids) == len(previous):
        return same
    return max(0, same - max(1, shift))  # rows that ask about the first other word
