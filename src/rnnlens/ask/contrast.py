"""Two sets of labels that stand against each other in what a state says."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rnnlens.base.errors import RnnlensError
from rnnlens.labels.sets import number_of


@dataclass(frozen=True)
class Contrast:
    """Labels and those against them; of several the mean of their logits counts."""

    labels: tuple[str, ...]
    against: tuple[str, ...]
    numbers: tuple[list[int], list[int]]

    @classmethod
    def of(
        cls,
        labels: Sequence[str],
        against: Sequence[str],
        distribution: NDArray[np.float64],
        names: Sequence[str],
    ) -> "Contrast":
        """A contrast of labels by name; a side without any is the most probable label that does not
        stand on the other, given a state's distribution.
        """
        sides = [[number_of(label, names) for label in dict.fromkeys(side)]
                 for side in (labels, against)]  # fmt: skip
        if both := {*sides[0]} & {*sides[1]}:
            raise RnnlensError(
                f"{names[min(both)]!r} cannot stand against itself; name it on one side only"
            )
        for side in sides:
            if not side:
                taken = {number for some in sides for number in some}
                order = np.argsort(-distribution, kind="stable")[: len(taken) + 1].tolist()
                side.extend([number for number in order if number not in taken][:1])
        if not all(sides):
            raise RnnlensError("there is one label alone, and nothing to set against it")
        called = [tuple(names[number] for number in side) for side in sides]
        return cls(called[0], called[1], (sides[0], sides[1]))

    @property
    def every(self) -> list[int]:
        """The numbers of all labels of both sides."""
        return self.numbers[0] + self.numbers[1]

    def weights(self) -> NDArray[np.float64]:
        """What the logits of `every` are multiplied by, so that their sum is the contrast."""
        ours, theirs = map(len, self.numbers)
        return np.array([1 / ours] * ours + [-1 / theirs] * theirs)

    @property
    def title(self) -> str:
        """In words."""
        return f"{' + '.join(self.labels)} against {' + '.join(self.against)}"
