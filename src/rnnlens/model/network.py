"""The network: embedding, recurrent layers, readout; and its trace, every kind by name."""

from dataclasses import dataclass, field
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rnnlens.errors import RnnlensError
from rnnlens.model.cells import CELLS, Cell, States
from rnnlens.model.kinds import EMBEDDING, Kind, Place, placed, prediction
from rnnlens.model.train.dropout import Dropout


@dataclass(frozen=True)
class NetworkConfig:
    """The shape of a network; the defaults are the paper's."""

    cell: str = field(default="lstm", metadata={"help": "lstm, gru or rnn (Elman)"})
    width: int = field(default=300, metadata={"help": "width of every layer"})
    layers: int = field(default=2, metadata={"help": "recurrent layers, one on the other"})
    embedding: int = field(default=0, metadata={"help": "width of the embedding; 0: as the layers"})
    tied: bool = field(
        default=True, metadata={"help": "let the readout share the embedding's matrix"}
    )

    def check(self) -> None:
        """Refuse shapes that cannot work."""
        if self.cell not in CELLS:
            raise RnnlensError(f"no cell is called {self.cell!r}; choose {', '.join(CELLS)}")
        if not (1 <= self.width <= 65536 and 1 <= self.layers <= 64 and self.embedding >= 0):
            raise RnnlensError(
                f"a network of width {self.width}, {self.layers} layers and embedding "
                f"{self.embedding} cannot be made; give a width of 1 to 65536, 1 to 64 layers"
            )
        if self.embedding > 65536:
            raise RnnlensError(f"an embedding of {self.embedding} is too wide; give at most 65536")


Carried = list[States]  # per layer, what the next timestep needs: kind -> (B, H)


@dataclass(frozen=True)
class Trace:
    """Every kind's states for a batch, and the model's own logits."""

    states: States  # kind -> (T, B, H)
    logits: Tensor  # (T, B, V)
    last: Carried  # after each sequence's last word


class Network(nn.Module):
    """A recurrent language model whose every intermediate vector has a name."""

    def __init__(self, config: NetworkConfig, labels: int) -> None:
        super().__init__()
        config.check()
        self.config = config
        self.labels = labels
        inputs = config.embedding or config.width
        self.embedding = nn.Parameter(torch.empty(labels, inputs))
        cell = CELLS[config.cell]
        widths = [inputs] + [config.width] * config.layers
        self.layers = nn.ModuleList(cell(a, b) for a, b in pairwise(widths))
        rows = (inputs, config.width) if config.tied else (labels, config.width)
        self.readout = nn.Parameter(torch.empty(rows))
        self.bias = nn.Parameter(torch.zeros(labels))

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Every kind, from input to output; the model's own prediction is not among them."""
        below, made = EMBEDDING.id, [EMBEDDING]
        for number, cell in enumerate(self.cells, 1):
            made += [placed(kind, Place(number, (below,))) for kind in cell.kinds]
            below = made[-1].id
        return tuple(made)

    @property
    def prediction(self) -> Kind:
        """The kind `y`, the model's own output."""
        return prediction(self.kinds)

    @property
    def cells(self) -> list[Cell]:
        """The recurrent layers, lowest first."""
        return [layer for layer in self.layers if isinstance(layer, Cell)]

    def initialise(self, seed: int) -> "Network":
        """Draw the weights."""
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            spread = (3 / self.embedding.shape[1]) ** 0.5  # rows of length about 1
            self.embedding.uniform_(-spread, spread, generator=generator)
            bound = self.config.width**-0.5
            for cell in self.cells:
                cell.w_x.uniform_(-bound, bound, generator=generator)
                cell.w_h.uniform_(-bound, bound, generator=generator)
            if self.config.tied:
                nn.init.eye_(self.readout)
            else:
                self.readout.uniform_(-bound, bound, generator=generator)
        return self

    def hidden(self, inputs: Tensor, dropout: Dropout | None = None) -> Tensor:
        """The last layer's outputs (T, B, H), by the fused recurrence; for training."""
        x = F.embedding(inputs, self.embedding)
        if dropout:
            x = dropout.words(x, inputs, self.labels)
            x = dropout.locked(x, dropout.config.dropout_input)
        for cell in self.cells:
            x = cell.sequence(x, dropout.weight(cell.w_h) if dropout else cell.w_h)
            if dropout:
                last = cell is self.layers[-1]
                share = dropout.config.dropout_output if last else dropout.config.dropout_hidden
                x = dropout.locked(x, share)
        return x

    def logits(self, h: Tensor) -> Tensor:
        """The paper's F before the softmax: labels (..., V) from the last layer's output."""
        if self.config.tied:
            return F.linear(F.linear(h, self.readout), self.embedding, self.bias)
        return F.linear(h, self.readout, self.bias)

    def classifier(self) -> tuple[Tensor, Tensor]:
        """The readout as one matrix (V, H) and bias (V,)."""
        if self.config.tied:
            return self.embedding @ self.readout, self.bias
        return self.readout, self.bias

    def trace(
        self, inputs: Tensor, lengths: Tensor | None = None, state: Carried | None = None
    ) -> Trace:
        """Read a batch (T, B) of sequences, each `lengths` long, from `state` on.

        States past a sequence's length mean nothing. `Trace.last` continues where this ended.
        """
        states, last = self.states(inputs, lengths, state)
        return Trace(states, self.logits(states[self.kinds[-1].id]), last)

    def states(
        self, inputs: Tensor, lengths: Tensor | None = None, state: Carried | None = None
    ) -> tuple[States, Carried]:
        """The trace without the model's own logits, which for many labels outweigh all states."""
        x = F.embedding(inputs, self.embedding)
        states: States = {EMBEDDING.id: x}
        last: Carried = []
        for number, cell in enumerate(self.cells, 1):
            prev = state[number - 1] if state else cell.start(inputs.shape[1])
            traced = cell.trace(x, prev)
            states.update({f"{kind}{number}": values for kind, values in traced.items()})
            last.append({kind: _at_end(traced[kind], lengths) for kind in cell.carried})
            x = traced["h"]
        return states, last


def _at_end(values: Tensor, lengths: Tensor | None) -> Tensor:
    """(T, B, H) -> (B, H) at each sequence's last word."""
    if lengths is None:
        return values[-1]
    return values[lengths - 1, torch.arange(values.shape[1], device=values.device)]
