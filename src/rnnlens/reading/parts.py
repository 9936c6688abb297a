"""What a lens consists of: a model with its texts, its probes, and the colours of their labels."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from rnnlens.labels.sets import LabelSet
from rnnlens.model.kinds import PREDICTION, drawn, prediction
from rnnlens.model.traceable import Readout
from rnnlens.probe.probes import Probes
from rnnlens.probe.semantics import base, of_model
from rnnlens.reading.encoding import Palette, palettes_of
from rnnlens.reading.examples import examples_of
from rnnlens.reading.payload import Column, columns_of
from rnnlens.reading.rows import Rows
from rnnlens.reading.session import Session
from rnnlens.run.folder import Run
from rnnlens.run.scores import Scores


@dataclass(frozen=True)
class Training:
    """Where in a training a model stands, whose checkpoints were kept."""

    of: str  # the name of the run that the training ended with
    epoch: int  # after which these weights were


class Parts:
    """A model, its probes and its colours."""

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
        probed = probes.kinds if probes else ()
        kinds = drawn(self.model.kinds, probed)
        own = prediction(kinds) if self.model.predicts else None
        self.columns = columns_of(kinds, own, probed)
        self.semantics = probes.semantics if probes else ()
        self.training: Training | None = None
        self.rows = Rows(session, probes, self.columns)
        self.run: Run | None = None  # where all of it comes from, if from a run
        self.hashes: tuple[str, str | None] | None = None  # of that run's model and probes
        self.index_folder: Path | None = None  # of an index that is not in the run's folder
        self._described: dict[str, tuple[Scores, list[dict[str, Any]]]] = {}  # by semantic
        others = probes.answers if probes else {}
        self._other_palettes = {name: palettes_of(answers) for name, answers in others.items()}

    def answers(self, semantic: str) -> LabelSet:
        """What the states are asked for under a semantic."""
        others = self.probes.answers if self.probes else {}
        return others.get(base(semantic), self.session.text.labels)

    def palettes_for(self, semantic: str) -> Mapping[str, Palette]:
        """The colours of what a semantic asks for."""
        return self.palettes if of_model(semantic) else self._other_palettes[base(semantic)]

    def columns_for(self, semantic: str) -> list[Column]:
        """The columns of a grid: `y` predicts labels of the model, and says nothing of others."""
        own = of_model(semantic)
        return [column for column in self.columns if own or column.kind.letter != PREDICTION]

    def described_columns(self, semantic: str) -> list[dict[str, Any]]:
        """What grids say of their columns: the same for every text, until something is measured."""
        known = self._described.get(semantic)
        if known is None or known[0] is not self.scores:
            known = (
                self.scores,
                [
                    column.to_json(
                        self.scores.perplexity(semantic, column.kind.id),
                        self.scores.used(semantic, column.kind.id),
                    )
                    for column in self.columns_for(semantic)
                ],
            )
            self._described[semantic] = known
        return [dict(column) for column in known[1]]

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

    def accuracy(self, beside: Iterable["Parts"] = ()) -> dict[str, Any] | None:
        """What the accuracy page draws, with the checkpoints of the same training among those that
        are `beside`; None where nothing was measured.
        """
        if self.scores.own is None and not self.scores.semantics:
            return None
        text, mine = self.session.text, self.training
        about = {"run": self.name, "title": self.title, "follows": text.follows,
                 "numbers": text.labels.scale is not None}  # fmt: skip
        points = [
            {"run": one.name, "epoch": one.training.epoch, **one.scores.over_training()}
            for one in beside
            if one.training and mine and one.training.of == mine.of
        ]
        points.sort(key=lambda point: point["epoch"])
        return {**about, **self.scores.to_json(), "training": points}

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
            "corpus": self.run is not None and self.run.has_index(self.index_folder),
            "training": self.training and {**asdict(self.training), "perplexity": self.scores.own},
        }
