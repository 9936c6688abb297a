"""What fitting is asked for, and what follows from it: states a step, epochs and learning rate."""

import math
from dataclasses import dataclass

from rnnlens.base.errors import RnnlensError
from rnnlens.base.flags import Options, option
from rnnlens.probe import semantics
from rnnlens.probe.probes import FAMILIES

_STEPS = 64  # that an epoch has at least
_FEW_STEPS, _SMALL = 16, 256  # that it has instead where steps would have fewer states than _SMALL
_BATCH = {"linear": 8192, "shared": 2048}
_RATE = {"linear": 1e-3, "shared": 7e-4}
_ENOUGH, _ENOUGH_FROM_PRIOR = 100_000, 400_000  # states in all epochs together, where there are few
_EPOCHS = 4  # where there are enough states, and from the prior
_LEAST_EPOCHS, _MOST_EPOCHS = 3, 60  # where there are few
_WIDE = 300  # units of a kind that _RATE is for; fewer must each move further
_NARROW = 24  # the fewest units that this was measured with
_FROM_PRIOR = 5  # factor of the learning rate where fitting starts from the prior


@dataclass(frozen=True)
class FitConfig(Options):
    """How probes are fitted; the defaults were chosen by measuring (docs/results.md)."""

    probe: str = option("linear", "linear (the paper's) or shared")
    semantic: str = option("output", "output, input, tag, output+N, output-N; comma between")
    rank: int = option(128, "of the shared label matrix", least=1, most=65536)
    epochs: int = option(
        -1, "passes over the states, at most; -1: 4, where they are few 3 to 60",
        least=-1, most=10**6,
    )  # fmt: skip
    patience: int = option(
        2, "stop after so many epochs in which no kind got better", least=1, most=10**6
    )
    states: int = option(0, "states an epoch, drawn anew; 0: all", least=0, most=10**12)
    batch: int = option(
        0, "states a step, at most; 0: 8192 for linear, 2048 for shared", least=0, most=10**7
    )
    learning_rate: float = option(
        0.0,
        "its highest value; 0: by probe and width, 1e-3 for linear ones of 300",
        least=0,
        most=100,
    )
    weight_decay: float = option(0.0, "of AdamW", least=0, most=100)
    seed: int = option(0, "of the order of the states", least=0, most=2**62)
    standardise: bool = option(True, "give every unit of a kind mean 0 and deviation 1")
    closed_form: bool = option(True, "start from the model's own readout, for output")

    def check(self) -> None:
        """Refuse values that cannot work."""
        super().check()
        if self.probe not in FAMILIES:
            raise RnnlensError(f"no probe is called {self.probe!r}; choose {' or '.join(FAMILIES)}")
        semantics.parse(self.semantic)


@dataclass(frozen=True)
class Recipe:
    """How some states are fitted to."""

    states: int  # of each kind, about, that an epoch has
    batch: int  # states a step
    epochs: int
    rate: float  # the highest learning rate

    @classmethod
    def of(cls, config: FitConfig, pairs: int, width: int, *, from_prior: bool) -> "Recipe":
        """For so many states with labels and the widest kind; `from_prior`: there is no closed form
        to start from, and the way is longer.
        """
        # Small data still gets enough steps to move.
        few = min(_SMALL, pairs // _FEW_STEPS)
        most = config.batch or _BATCH[config.probe]
        batch = min(most, max(64, few, pairs // _STEPS) // 64 * 64)
        enough = _ENOUGH_FROM_PRIOR if from_prior else _ENOUGH
        least = _EPOCHS if from_prior or pairs >= enough else _LEAST_EPOCHS
        passes = min(_MOST_EPOCHS, max(least, round(enough / pairs)))
        factor = _FROM_PRIOR if from_prior else max(1.0, _WIDE / max(width, _NARROW))
        rate = config.learning_rate or _RATE[config.probe] * factor
        epochs = passes if config.epochs < 0 else config.epochs
        return cls(min(config.states or pairs, pairs), batch, epochs, rate)

    @property
    def steps(self) -> int:
        """About how many steps the whole fit has; the learning rate is planned for that many."""
        return max(1, self.epochs * self.states // self.batch)

    def rate_at(self, step: int) -> float:
        """The learning rate: it rises in a line over the first tenth, times half a cosine."""
        share = min(1.0, step / self.steps)
        rise = min(1.0, share / 0.1)
        return self.rate * rise * (1 + math.cos(math.pi * share)) / 2
