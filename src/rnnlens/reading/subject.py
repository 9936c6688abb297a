"""Whom one asks: a model with its texts, its probes, the colours of their labels, and what was
measured of them. Data and look-ups; no text is in it.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Any

import torch
from torch import Tensor

from rnnlens.base.errors import RnnlensError
from rnnlens.base.pace import checkpoint
from rnnlens.base.rules import message, text
from rnnlens.base.threads import pool, threads_of_pool
from rnnlens.labels.sets import LabelSet
from rnnlens.model.kinds import PREDICTION, Kind, drawn, prediction
from rnnlens.model.traceable import Readout
from rnnlens.probe.probes import Probes
from rnnlens.probe.probes_file import Bounds
from rnnlens.probe.semantics import base, of_model
from rnnlens.reading.encoding import Encodings, Palette, palettes_of
from rnnlens.reading.session import Session, examples_of
from rnnlens.run.folder import Run
from rnnlens.run.scores import Scores

PAPER = text("paper_rule")  # behind the name of a palette that fades by the paper's rule
_ROOM = 112 * 2**20  # bytes: the last rows of 100 texts under 15,000 labels
Parallel = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]
RowKey = tuple[bytes, str, str, frozenset[str] | None]  # a prefix, a semantic, a palette, columns


def names(given: str | Iterable[str]) -> tuple[str, ...]:
    """One name or several, as several."""
    return (given,) if isinstance(given, str) else tuple(given)


@dataclass(frozen=True)
class Column:
    """A kind as it is drawn: at its own timestep, or one back."""

    kind: Kind
    layer: int
    back: int = 0

    @property
    def id(self) -> str:
        """Also the name of an edge's source."""
        return f"{self.kind.id}@-{self.back}" if self.back else self.kind.id


def columns_of(
    kinds: Sequence[Kind], prediction: Kind | None, probed: Sequence[str]
) -> list[Column]:
    """Every column from input to output: the kinds that have probes, and `y`, if it is there.

    A kind that others read one step back has a second column before the first of them, where it is
    not the layer's output: that one stands in the row above for all to see.
    """
    columns: list[Column] = []
    by_id = {kind.id: kind for kind in kinds}
    for kind in kinds:
        for source in kind.sources:
            earlier = Column(by_id[source.kind], kind.layer, 1) if source.back > 0 else None
            if earlier and source.kind in probed and not earlier.kind.output:
                columns += [earlier] if earlier not in columns else []
        if kind.id in probed:
            columns.append(Column(kind, kind.layer))
    last = max(kind.layer for kind in kinds) + 1
    return [*columns, *([Column(prediction, last)] if prediction else [])]


def edges_of(columns: Sequence[Column]) -> list[tuple[str, int, str]]:
    """Which columns feed which: the kind of the source, how many timesteps back, and the target."""
    there = {column.kind.id for column in columns}
    return [
        (source.kind, source.back, column.kind.id)
        for column in columns
        for source in column.kind.sources
        if not column.back and source.kind in there
    ]


@dataclass(frozen=True)
class Training:
    """Where in a training a model stands, whose checkpoints were kept."""

    of: str  # the name of the run that the training ended with
    epoch: int  # after which these weights were


@dataclass(frozen=True)
class EncodedRow:
    """A row that was computed: typing on changes only which labels it is asked about."""

    encodings: Encodings
    logits: Tensor  # (N, V)


class RecentRows:
    """The rows that were computed last, for the next word; safe to use from several threads."""

    def __init__(self, most: int) -> None:
        self.computed = 0  # rows so far, for those who measure
        self._most = most
        self._recent: OrderedDict[RowKey, EncodedRow] = OrderedDict()
        self._lock = Lock()

    def get(self, key: RowKey) -> EncodedRow | None:
        """A row, if it is at hand."""
        with self._lock:
            if key in self._recent:
                self._recent.move_to_end(key)
            return self._recent.get(key)

    def keep(self, key: RowKey, row: EncodedRow) -> None:
        """Have a row at hand; the one not used for longest is forgotten."""
        with self._lock:
            self._recent[key] = row
            self._recent.move_to_end(key)
            while len(self._recent) > self._most:
                self._recent.popitem(last=False)

    def __len__(self) -> int:
        return len(self._recent)

    def clear(self) -> None:
        """Have nothing at hand any more."""
        with self._lock:
            self._recent.clear()


class Subject:
    """A model, its probes, its colours and its scores."""

    def __init__(
        self,
        name: str,
        session: Session,
        palettes: Mapping[str, Palette],
        probes: Probes | None = None,
        scores: Scores | None = None,
        run: Run | None = None,
    ) -> None:
        """`run`: where all of it comes from, if from a run."""
        self.name, self.session, self.model = name, session, session.model
        self.labels = session.vocabulary.labels
        self.probes, self.scores = probes, scores or Scores()
        # Every target has an end, whatever its source: states of this are asked for other words.
        self.shown_probes, end = probes, self.model.end
        if probes is not None and end is not None and end < probes.label_count:
            self.shown_probes = probes.without(end, self.model.source_kinds)
        probed = probes.kinds if probes else ()
        kinds = drawn(self.model.kinds, probed)
        own = prediction(kinds) if self.model.predicts else None
        self.columns = columns_of(kinds, own, probed)
        self.semantics = probes.semantics if probes else ()
        self.training: Training | None = None
        self.run = run
        self.hashes = (run.model_hash(), run.probes_hash()) if run else None
        self.index_folder: Path | None = None  # of an index that is not in the run's folder
        self.palettes = self._against_base(palettes, "output")
        others = probes.answers if probes else {}
        self._shown_palettes = {  # by what is asked for
            "output": with_papers_rule(self.palettes),
            **{
                name: with_papers_rule(self._against_base(palettes_of(answers), name))
                for name, answers in others.items()
            },
        }
        row = 4 * len(self.columns) * len(session.vocabulary)  # bytes
        self.recent = RecentRows(_ROOM // row if self.model.causal else 0)
        self.parallel: Parallel = _in_threads

    def _against_base(self, palettes: Mapping[str, Palette], asked: str) -> dict[str, Palette]:
        """Palettes that know how often their labels occur in training, where that is known: as the
        probes of a semantic about `asked` have it, or of words, the vocabulary.
        """
        known = self.probes.counts if self.probes else {}
        counts = next((known[name] for name in known if base(name) == asked), None)
        if counts is None:
            own = self.session.vocabulary.counts if asked == "output" else ()
            counts = torch.tensor(own)
        right = counts.shape[-1:] == next(iter(palettes.values())).group_of.shape
        end = self.model.end if asked == "output" else None
        return {
            name: palette.against(counts, end) if right else palette
            for name, palette in palettes.items()
        }

    def called(self, name: str) -> "Subject":
        """A subject by another name, beside one that has its own."""
        other = copy(self)
        other.name = name
        return other

    @property
    def title(self) -> str:
        """What the page is headed with."""
        return f"{self.name} · {self.model.description}"

    @cached_property
    def classifier(self) -> Readout | None:
        """The linear map from a kind to the model's prediction, where there is one."""
        with torch.no_grad():
            return self.model.classifier()

    def answers(self, semantic: str) -> LabelSet:
        """What the states are asked for under a semantic."""
        others = self.probes.answers if self.probes else {}
        return others.get(base(semantic), self.session.text.labels)

    def palettes_for(self, semantic: str) -> Mapping[str, Palette]:
        """The colours of what a semantic asks for, and each with the paper's rule, where it has
        another.
        """
        return self._shown_palettes["output" if of_model(semantic) else base(semantic)]

    def limits(self, semantic: str) -> Mapping[str, Bounds]:
        """By kind, which states are like those of the fit, where that is known."""
        return self.probes.limits.get(semantic, {}) if self.probes else {}

    def widths(self, semantic: str) -> Mapping[str, tuple[float, ...]]:
        """By kind, what intervals of numbers are widened by, where that is known."""
        return self.probes.widths.get(semantic, {}) if self.probes else {}

    def silent(self, semantic: str) -> frozenset[str]:
        """The kinds whose probes tell no more than the frequencies of labels."""
        there = self.probes is not None and semantic in self.probes.stacks
        return self.probes.stacks[semantic].silent() if there and self.probes else frozenset()

    def columns_for(self, semantic: str) -> list[Column]:
        """The columns of a grid: `y` predicts labels of the model, and says nothing of others."""
        own = of_model(semantic)
        return [column for column in self.columns if own or column.kind.letter != PREDICTION]

    def check_semantic(self, semantic: str | None) -> str:
        """A semantic that there are probes for; None: the first."""
        semantics = self.semantics or ("output",)
        chosen = semantic or semantics[0]
        if chosen not in semantics:
            raise RnnlensError(
                message(
                    "no_semantic",
                    run=self.name,
                    semantic=repr(chosen),
                    known=", ".join(self.semantics) or "none",
                )
            )
        return chosen

    def check_palette(self, palette: str | None, semantic: str) -> str:
        """A palette of a semantic; that of another semantic, and None, stand for the first."""
        palettes = self.palettes_for(semantic)
        if palette and not any(palette in some for some in self._shown_palettes.values()):
            raise RnnlensError(
                message(
                    "no_palette", run=self.name, palette=repr(palette), known=", ".join(palettes)
                )
            )
        return palette if palette and palette in palettes else next(iter(palettes))

    def examples(self) -> list[str]:
        """Texts to begin with."""
        return examples_of(self.session)

    def forget(self) -> None:
        """Have nothing at hand that was computed before."""
        self.recent.clear()
        self.session.forget()


def with_papers_rule(palettes: Mapping[str, Palette]) -> dict[str, Palette]:
    """Palettes, and behind them those that fade by the paper's rule, where they do not already."""
    papers = {
        f"{name}{PAPER}": replace(palette, base=None)
        for name, palette in palettes.items()
        if palette.base is not None
    }
    return dict(palettes) | papers


def _in_threads(work: Callable[[Any], Any], pieces: Iterable[Any]) -> Iterable[Any]:
    """A few pieces at a time: others may go first after each."""
    rest = iter(pieces)
    while some := list(islice(rest, threads_of_pool())):
        yield from pool().map(work, some)
        checkpoint()
