"""What the file says of probes whose tensors lie beside it; read without torch."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from annotated_types import Ge, Le, Len, MaxLen

from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import Count, Name, Settings, Sha, Strict
from rnnlens.labels.sets import MOST_LABELS, LabelSet, Widths
from rnnlens.model.kinds import MOST_KINDS, PREDICTION
from rnnlens.probe.semantics import base, of_model, parse

#: Of a kind's states, the least and the largest size of those that its probe has seen the like of.
Bounds = tuple[Annotated[float, Ge(0), Le(1e30)], Annotated[float, Ge(0), Le(1e30)]]


@dataclass(frozen=True)
class ProbesFile(Strict):
    """What probes.json holds."""

    family: Literal["linear", "shared"]
    kinds: Annotated[tuple[Name, ...], Len(1, MOST_KINDS)]
    semantics: Annotated[tuple[Name, ...], Len(1, 100)]
    labels: Annotated[int, Ge(1), Le(MOST_LABELS)]
    parameters: Count
    model: Sha  # of the weights that they were fitted to
    sha256: Sha  # of probes.safetensors
    made: Settings  # how they were fitted
    #: While they replace others: what was here of those, whose tensors may still be in place.
    previous: "ProbesFile | None" = None
    #: By semantic, what they ask for where that is not a label of the model.
    answers: Annotated[dict[Name, LabelSet], MaxLen(100)] = field(default_factory=dict)
    #: By semantic and kind, which states are like those of the fit; without them nothing is said.
    limits: Annotated[
        dict[Name, Annotated[dict[Name, Bounds], MaxLen(MOST_KINDS)]], MaxLen(100)
    ] = field(default_factory=dict)
    #: By semantic and kind, what intervals of numbers are widened by; without it they are not
    #: calibrated.
    widths: Annotated[
        dict[Name, Annotated[dict[Name, Widths], MaxLen(MOST_KINDS + 1)]], MaxLen(100)
    ] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._check_kinds("limits", self.limits)
        own = {name: some.keys() - {PREDICTION} for name, some in self.widths.items()}
        self._check_kinds("widths", {name: dict.fromkeys(some) for name, some in own.items()})
        for limits in self.limits.values():
            if kind := next((kind for kind, (low, high) in limits.items() if low >= high), None):
                raise ValueError(f"the limits of {kind[:40]} are not in order")
        for names in (self.kinds, self.semantics):
            if len(set(names)) != len(names):
                raise ValueError("two names are the same")
        try:
            parse(",".join(self.semantics))
        except RnnlensError as error:
            raise ValueError(str(error)) from error
        others = {base(name) for name in self.semantics if not of_model(name)}
        if others != self.answers.keys():
            raise ValueError("the labels of a semantic are missing or too many")
        if self.previous and self.previous.previous:
            raise ValueError("there are several previous probes")

    def _check_kinds(self, what: str, by_semantic: Mapping[str, Mapping[str, object]]) -> None:
        for semantic, some in by_semantic.items():
            if semantic not in self.semantics or some.keys() != set(self.kinds):
                raise ValueError(f"the {what} of {semantic[:40]} are not of the kinds there are")
