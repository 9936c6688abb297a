"""How probes are fitted; read without torch, for the flags of a command."""

from dataclasses import dataclass, replace

from rnnlens.base.errors import RnnlensError
from rnnlens.base.flags import Options, option
from rnnlens.probe.semantics import parse

FAMILIES = ("linear", "shared")
AUTO = "auto"
MANY_LABELS = 32_768  # from which on probes share a label matrix, unless somebody says otherwise
MANY_WEIGHTS = 1 << 22  # of a linear probe of a matrix, from which on they do so too
FEW_LABELS = 256  # up to which probes are fitted to the end: each step costs next to nothing


@dataclass(frozen=True)
class FitConfig(Options):
    """How probes are fitted; the defaults were chosen by measuring (docs/results.md)."""

    probe: str = option(
        AUTO, "linear (the paper's) or shared; auto: linear, but shared from 32,768 labels on and "
        "where a linear probe of a matrix memory would have over 4 million weights",
    )  # fmt: skip
    semantic: str = option("output", "output, input, tag, output+N, output-N; comma between")
    questions: int = option(
        0, "asked of each head of a matrix memory; 0: 4, where it has over 4,096 numbers",
        least=0, most=64,
    )  # fmt: skip
    rank: int = option(128, "of the shared label matrix", least=1, most=65536)
    epochs: int = option(
        -1, "passes over the states, at most; -1: 4, where they or labels are few 3 to 60",
        least=-1, most=10**6,
    )  # fmt: skip
    patience: int = option(
        2, "stop after so many epochs in which no kind got better; not up to 256 labels",
        least=1, most=10**6,
    )  # fmt: skip
    states: int = option(0, "states an epoch, drawn anew; 0: all", least=0, most=10**12)
    batch: int = option(
        0, "states a step, at most; 0: 8192, 1024 up to 256 labels, 2048 for shared",
        least=0, most=10**7,
    )  # fmt: skip
    learning_rate: float = option(
        0.0,
        "its highest value; 0: by labels, probe and width, 1e-3 for linear ones of 300",
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
        if self.probe not in (*FAMILIES, AUTO):
            raise RnnlensError(f"no probe is called {self.probe!r}; choose {' or '.join(FAMILIES)}")
        parse(self.semantic)

    def to_the_end(self, labels: int) -> bool:
        """Whether labels are so few that every step of a plan is taken, in coordinates of its own
        (frames.py); of probes that share a label matrix and of states as they are, never.
        """
        return self.probe == "linear" and self.standardise and labels <= FEW_LABELS

    def settled(self, labels: int, matrix: int = 0) -> "FitConfig":
        """With a family of probes, for a model of so many labels; `matrix`: numbers of its largest
        memory that is a matrix and is read whole.
        """
        many = labels >= MANY_LABELS or labels * matrix > MANY_WEIGHTS
        return replace(self, probe="shared" if many else "linear") if self.probe == AUTO else self
