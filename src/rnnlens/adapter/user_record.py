"""What a run keeps of a user's module: all that can be known without its code."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated

from annotated_types import Ge, Le, Len, Predicate

from rnnlens.adapter.axes.axes import MOST_FEATURES
from rnnlens.adapter.axes.targets import LABEL, LABELS, NOTHING, NUMBER
from rnnlens.adapter.settings import Settings
from rnnlens.base.files import Name, Strict
from rnnlens.labels.sets import MOST_LABELS, LabelSet, Scale
from rnnlens.model.kinds import MOST_KINDS, Kind

_Factory = Annotated[str, Predicate(re.compile(r"([\w.]+:[\w.]+)?").fullmatch)]


@dataclass(frozen=True)
class UserRecord(Strict):
    """What model.json says of a user's module: all that can be known without its code."""

    factory: _Factory  # package.module:factory, which gives the module; may be empty
    description: Name  # such as LSTM 300 × 2
    follows: bool  # whether its labels are the words that follow
    #: The shape of one text's numbers, -1 along the words; None: the code prepares them.
    fed: Annotated[tuple[int, ...], Len(1, 8)] | None
    kinds: Annotated[tuple[Kind, ...], Len(1, MOST_KINDS)]
    labels: Annotated[int, Ge(1), Le(MOST_LABELS)]
    difference: Annotated[float, Ge(0)]  # the largest between recomputed and real outputs
    settings: Settings = field(default_factory=Settings)  # how it is read
    #: Numbers that it reads at each timestep; 0: words.
    features: Annotated[int, Ge(0), Le(MOST_FEATURES)] = 0
    several: bool = False  # whether its labels hold or not each by itself
    scale: Scale | None = None  # of the numbers that it predicts; its labels are the bins
    predicts: bool = True  # whether its labels are what it predicts itself

    @property
    def sort(self) -> str:
        """What it predicts."""
        if not self.predicts:
            return NOTHING
        return NUMBER if self.scale else LABELS if self.several else LABEL

    def answers(self, names: Sequence[str]) -> LabelSet:
        """Its labels, by their names."""
        return LabelSet(tuple(names), self.several, self.scale)

    def __post_init__(self) -> None:
        ids = [kind.id for kind in self.kinds]
        if len(set(ids)) != len(ids):
            raise ValueError("two kinds have the same id")
        if not all(kind.is_sound for kind in self.kinds):
            raise ValueError("a kind is not such as a module has")
        earlier = {edge.kind for kind in self.kinds for edge in kind.sources if edge.back > 0}
        if not earlier <= set(ids):
            raise ValueError("a kind is computed from one that there is not")
        fed = self.fed or (-1,)
        if self.features and len(fed) == 3 and fed[2] == self.features:
            fed = fed[:2]
        if sorted(fed) != [-1] + [1] * (len(fed) - 1):
            raise ValueError("a text's numbers lie along one axis")
        if self.scale and len(self.scale.middles) != self.labels:
            raise ValueError("there are not as many bins as labels")
        if self.scale and self.predicts and not self.scale.error:
            raise ValueError("how far its numbers are off is not said")
