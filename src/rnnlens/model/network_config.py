"""What a network is built from; read without torch, for the flags of a command."""

from dataclasses import dataclass, replace

from rnnlens.base.errors import RnnlensError
from rnnlens.base.flags import Options, option

# The cells in model/cells, which import torch, from the simplest memories to the largest.
CELL_NAMES = ("lstm", "gru", "rnn", "mingru", "minlstm", "rglru", "mamba", "mamba2", "gla",
              "deltanet", "rwkv7", "mlstm", "slstm")  # fmt: skip
# As their papers write them, where that is not in capitals throughout.
WRITTEN = {"mingru": "minGRU", "minlstm": "minLSTM", "rglru": "RG-LRU", "mamba": "Mamba",
           "mamba2": "Mamba-2", "deltanet": "DeltaNet", "rwkv7": "RWKV-7", "mlstm": "mLSTM",
           "slstm": "sLSTM"}  # fmt: skip
HEADED = ("mamba2", "gla", "deltanet", "rwkv7", "mlstm", "slstm")  # whose values have heads
KEYED = ("mamba", *HEADED[:-1])  # whose memory is a matrix
HEADS, KEYS = 6, 12  # where nothing is said: of width 300 a memory has 3,600 numbers


@dataclass(frozen=True)
class NetworkConfig(Options):
    """The shape of a network; the defaults are the paper's."""

    cell: str = option("lstm", f"the recurrence: {', '.join(CELL_NAMES)}")
    width: int = option(300, "width of every layer", least=1, most=65536)
    layers: int = option(2, "recurrent layers, one on the other", least=1, most=64)
    embedding: int = option(0, "width of the embedding; 0: as the layers", least=0, most=65536)
    tied: bool = option(True, "let the readout share the embedding's matrix")
    bidirectional: bool = option(False, "read backwards too, to tag or to classify")

    heads: int = option(
        0, f"parts of a memory that is a matrix, or of the units of slstm; 0: {HEADS}, or as near "
        f"to it as divides the width, {HEADS // 2} to {2 * HEADS}", least=0, most=4096,
    )  # fmt: skip
    keys: int = option(
        0, f"keys of each part, or numbers of memory of a unit of mamba; 0: {KEYS}",
        least=0, most=4096,
    )  # fmt: skip

    @property
    def parts(self) -> tuple[int, int]:
        """How many heads and keys there are."""
        return self.heads or self._usual_heads, self.keys or KEYS

    @property
    def spelled_out(self) -> "NetworkConfig":
        """The same with the heads and keys that there are in place of 0: what a network keeps, so
        that it stays the same network whatever is usual later.
        """
        heads, keys = self.parts
        return replace(self, heads=heads * (self.cell in HEADED), keys=keys * (self.cell in KEYED))

    @property
    def _usual_heads(self) -> int:
        """How many heads there are where nothing is said: half as many as usual to twice as many,
        where these divide the width.
        """
        fits = [n for n in range(HEADS // 2, 2 * HEADS + 1) if self.width % n == 0]
        return min(fits, key=lambda n: abs(n - HEADS), default=HEADS)

    @property
    def directions(self) -> int:
        """How many ways each layer reads a sequence."""
        return 1 + self.bidirectional

    def check(self) -> None:
        """Refuse shapes that cannot work."""
        super().check()
        if self.cell in CELL_NAMES:
            self._check_parts()
            return
        from rnnlens.model.cells import CELLS  # where others may have been registered

        if self.cell not in CELLS:
            known = dict.fromkeys([*CELL_NAMES, *CELLS])
            raise RnnlensError(f"no cell is called {self.cell!r}; choose {', '.join(known)}")

    def _check_parts(self) -> None:
        """Refuse heads that do not divide the width, and parts of what has none."""
        for name, those in (("heads", HEADED), ("keys", KEYED)):
            if getattr(self, name) and self.cell not in those:
                raise RnnlensError(
                    f"--{name} {getattr(self, name)}: --cell {self.cell} has none; leave it out, "
                    f"or choose --cell {', '.join(those)}"
                )
        heads, width = self.parts[0], self.width
        if self.cell in HEADED and width % heads:
            fits = [count for count in range(1, width + 1) if width % count == 0]
            near = min(fits, key=lambda count: abs(count - heads))
            asked = f"{heads} heads" if self.heads else f"the usual {heads} heads"
            raise RnnlensError(
                f"--width {width} cannot be split over {asked} of --cell {self.cell}; give "
                f"--heads {near} or --width {max(1, round(width / heads)) * heads}"
            )
