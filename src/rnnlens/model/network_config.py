"""What a network is built from; read without torch, for the flags of a command."""

from dataclasses import dataclass

from rnnlens.base.errors import RnnlensError
from rnnlens.base.flags import Options, option

CELL_NAMES = ("lstm", "gru", "rnn")  # of those in model/cells, which import torch


@dataclass(frozen=True)
class NetworkConfig(Options):
    """The shape of a network; the defaults are the paper's."""

    cell: str = option("lstm", f"the recurrence: {', '.join(CELL_NAMES)}")
    width: int = option(300, "width of every layer", least=1, most=65536)
    layers: int = option(2, "recurrent layers, one on the other", least=1, most=64)
    embedding: int = option(0, "width of the embedding; 0: as the layers", least=0, most=65536)
    tied: bool = option(True, "let the readout share the embedding's matrix")
    bidirectional: bool = option(False, "read backwards too, to tag or to classify")

    @property
    def directions(self) -> int:
        """How many ways each layer reads a sequence."""
        return 1 + self.bidirectional

    def check(self) -> None:
        """Refuse shapes that cannot work."""
        super().check()
        if self.cell in CELL_NAMES:
            return
        from rnnlens.model.cells import CELLS  # where others may have been registered

        if self.cell not in CELLS:
            raise RnnlensError(f"no cell is called {self.cell!r}; choose {', '.join(CELLS)}")
