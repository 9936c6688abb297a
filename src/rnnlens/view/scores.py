"""How well each kind predicts: what a run's evaluation.json says."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rnnlens.errors import RnnlensError
from rnnlens.files import read_json
from rnnlens.probe.evaluation import Score

_NUMBERS = {  # ours -> evaluation.json's
    "perplexity": "perplexity", "ratio": "ratio", "accuracy": "accuracy", "kl": "divergence",
    "calibration": "calibration",
}  # fmt: skip
USES = ("used", "read", "most", "random", "shaped", "swap")


@dataclass(frozen=True)
class Scores:
    """Of the model and of every probe on the test split; empty where nothing was measured."""

    own: float | None = None  # the model's own perplexity
    unigram: float | None = None
    semantics: Mapping[str, list[dict[str, Any]]] = field(default_factory=dict)
    unigrams: Mapping[str, float] = field(default_factory=dict)  # of each semantic's labels

    @classmethod
    def read(cls, folder: Path) -> "Scores":
        """What `rnnlens eval` left in a run folder."""
        path = folder / "evaluation.json"
        if not path.exists():
            return cls()
        found = read_json(path)
        try:
            test = found["model"]["test"]
            own, unigram = (
                None if test[name] is None else _number(test[name])
                for name in ("perplexity", "unigram")
            )
            semantics: dict[str, list[dict[str, Any]]] = {}
            unigrams: dict[str, float] = {}
            for score in found.get("probes", ()):
                row: dict[str, Any] = {"kind": str(score["kind"])}
                for ours, theirs in _NUMBERS.items():
                    row[ours] = None if score[theirs] is None else _number(score[theirs])
                row["used"] = _use(score.get("used"))
                semantic = str(score["semantic"])
                semantics.setdefault(semantic, []).append(row)
                unigrams[semantic] = _number(score["unigram"])
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise RnnlensError(
                f"{path} is damaged ({error!r}); measure again: rnnlens eval {folder}"
            ) from error
        return cls(own, unigram, semantics, unigrams)

    @classmethod
    def of(cls, scores: Sequence[Score]) -> "Scores":
        """What was just measured."""
        semantics: dict[str, list[dict[str, Any]]] = {}
        for score in scores:
            row = {ours: getattr(score, theirs) for ours, theirs in _NUMBERS.items()}
            row["used"] = None if score.used is None else score.used.to_json()
            semantics.setdefault(score.semantic, []).append({"kind": score.kind, **row})
        own = next((s.perplexity / s.ratio for s in scores if s.ratio), None)
        unigrams = {score.semantic: score.unigram for score in scores}
        return cls(own, unigrams.get("output"), semantics, unigrams)

    def evaluation(self) -> dict[str, Any]:
        """What evaluation.json holds."""
        theirs = [
            {"semantic": semantic, "kind": row["kind"], "unigram": self.unigrams[semantic]}
            | {name: row[ours] for ours, name in _NUMBERS.items()}
            | {"used": row["used"]}
            for semantic, rows in self.semantics.items()
            for row in rows
        ]
        return {
            "model": {"test": {"perplexity": self.own, "unigram": self.unigram}},
            "probes": theirs,
        }

    def used(self, semantic: str, kind: str) -> float | None:
        """How much of what a kind's probe reads the model uses; None: not measured."""
        rows = self.semantics.get(semantic, [])
        use = next((row["used"] for row in rows if row["kind"] == kind), None)
        return None if use is None else float(use["used"])

    def perplexity(self, semantic: str, kind: str) -> float | None:
        """The perplexity of a kind under a semantic, or of the model itself."""
        if kind == "y":
            return self.own
        rows = self.semantics.get(semantic, [])
        return next((row["perplexity"] for row in rows if row["kind"] == kind), None)

    def to_json(self) -> dict[str, Any]:
        """What the accuracy page draws."""
        semantics = {
            name: [
                {**row, "kl": None if row["kl"] is None else max(0.0, row["kl"])} for row in rows
            ]
            for name, rows in self.semantics.items()
        }  # a sum of rounded numbers may lie a little below 0
        return {
            "own": self.own,
            "unigram": self.unigram,
            "unigrams": dict(self.unigrams),
            "semantics": semantics,
        }


def _use(value: Any) -> dict[str, float] | None:
    """What was measured of a kind's use; older evaluations have none."""
    if value is None:
        return None
    return {name: _number(value[name]) for name in USES}


def _number(value: Any) -> float:
    if not math.isfinite(number := float(value)):
        raise ValueError(f"{value} is no number")
    return number
