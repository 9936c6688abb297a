"""The network: embedding, recurrent layers, readout; and its trace, every kind by name."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rnnlens.corpus.vocabulary import Vocabulary
from rnnlens.errors import RnnlensError
from rnnlens.flags import Options, option
from rnnlens.model.cell import Cell, States, Weights
from rnnlens.model.cells import CELLS
from rnnlens.model.kinds import EMBEDDING, Kind, Place, placed
from rnnlens.model.text import TextSide
from rnnlens.model.traceable import (
    Readout,
    RecurrentLayer,
    StateEdit,
    Trace,
    Traceable,
    changed_input,
    changes,
    check_edits,
    product,
)
from rnnlens.model.train.dropout import Dropout

_SINGLE = 2  # states whose prediction is all reading of weights


@dataclass(frozen=True)
class NetworkConfig(Options):
    """The shape of a network; the defaults are the paper's."""

    cell: str = option("lstm", "lstm, gru or rnn (Elman)")
    width: int = option(300, "width of every layer", least=1, most=65536)
    layers: int = option(2, "recurrent layers, one on the other", least=1, most=64)
    embedding: int = option(0, "width of the embedding; 0: as the layers", least=0, most=65536)
    tied: bool = option(True, "let the readout share the embedding's matrix")

    def check(self) -> None:
        """Refuse shapes that cannot work."""
        super().check()
        if self.cell not in CELLS:
            raise RnnlensError(f"no cell is called {self.cell!r}; choose {', '.join(CELLS)}")


class Layer(nn.Module):
    """One recurrent layer: a cell and its weights."""

    def __init__(self, cell: Cell, inputs: int, width: int) -> None:
        super().__init__()
        self.cell = cell
        self.w_x = nn.Parameter(torch.empty(cell.gates * width, inputs))
        self.w_h = nn.Parameter(torch.empty(cell.gates * width, width))
        self.b_x = nn.Parameter(torch.zeros(cell.gates * width))
        self.b_h = nn.Parameter(torch.zeros(cell.gates * width))

    def weights(self, w_h: Tensor | None = None) -> Weights:
        """Its weights; `w_h` replaces the recurrent ones, for dropout."""
        return Weights(self.w_x, self.w_h if w_h is None else w_h, self.b_x, self.b_h)

    def start(self, batch: int) -> States:
        """The state before the first word: zeros."""
        zeros = self.w_h.new_zeros(batch, self.w_h.shape[1])
        return dict.fromkeys(self.cell.carried, zeros)


class Network(nn.Module, Traceable):
    """A recurrent language model whose every intermediate vector has a name."""

    causal = True

    def __init__(self, config: NetworkConfig, label_count: int) -> None:
        super().__init__()
        config.check()
        self.config, self.label_count = config, label_count
        inputs = config.embedding or config.width
        self.embedding = nn.Parameter(torch.empty(label_count, inputs))
        cell = CELLS[config.cell]
        widths = [inputs] + [config.width] * config.layers
        self.layers = nn.ModuleList(Layer(cell, a, b) for a, b in pairwise(widths))
        rows = (inputs, config.width) if config.tied else (label_count, config.width)
        self.readout = nn.Parameter(torch.empty(rows))
        self.bias = nn.Parameter(torch.zeros(label_count))
        self._copy: tuple[tuple[int, int], Tensor] | None = None

    @cached_property
    def kinds(self) -> tuple[Kind, ...]:
        below, kinds = EMBEDDING.id, [EMBEDDING]
        for number, layer in enumerate(self.recurrent, 1):
            kinds += [placed(kind, Place(number, (below,))) for kind in layer.cell.kinds]
            below = kinds[-1].id
        return tuple(kinds)

    @cached_property
    def _ids(self) -> list[dict[str, str]]:
        """For each layer, the ids of its kinds by letter."""
        layers = range(1, len(self.layers) + 1)
        return [{k.letter: k.id for k in self.kinds if k.layer == layer} for layer in layers]

    @property
    def carried(self) -> tuple[str, ...]:
        letters = CELLS[self.config.cell].carried
        return tuple(ids[letter] for ids in self._ids for letter in letters)

    @property
    def description(self) -> str:
        config = self.config
        return f"{config.cell.upper()} {config.width} × {config.layers}"

    def text(self, vocabulary: Vocabulary) -> TextSide:
        """How a text becomes a batch for this network."""
        return TextSide.of_words(vocabulary)

    @property
    def device(self) -> torch.device:
        return self.bias.device

    def on(self, device: torch.device) -> "Network":
        return self.to(device)

    @property
    def recurrent(self) -> list[Layer]:
        """The recurrent layers, lowest first."""
        return [layer for layer in self.layers if isinstance(layer, Layer)]

    def initialise(self, seed: int) -> "Network":
        """Draw the weights at random."""
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            spread = (3 / self.embedding.shape[1]) ** 0.5  # rows of length about 1
            self.embedding.uniform_(-spread, spread, generator=generator)
            bound = self.config.width**-0.5
            for layer in self.recurrent:
                layer.w_x.uniform_(-bound, bound, generator=generator)
                layer.w_h.uniform_(-bound, bound, generator=generator)
            if self.config.tied:
                nn.init.eye_(self.readout)
            else:
                self.readout.uniform_(-bound, bound, generator=generator)
        return self

    def hidden(self, inputs: Tensor, dropout: Dropout | None = None) -> Tensor:
        """The last layer's outputs (T, B, H), by the fused recurrence; for training."""
        x = F.embedding(inputs, self.embedding)
        if dropout:
            x = dropout.words(x, inputs, self.label_count)
            x = dropout.locked(x, dropout.config.dropout_input)
        for layer in self.recurrent:
            weights = layer.weights(dropout.weight(layer.w_h) if dropout else None)
            x = layer.cell.outputs(x, layer.start(x.shape[1]), weights, self.training)
            if dropout:
                last = layer is self.layers[-1]
                share = dropout.config.dropout_output if last else dropout.config.dropout_hidden
                x = dropout.locked(x, share)
        return x

    @property
    def recurrence(self) -> tuple[RecurrentLayer, ...]:
        below = [EMBEDDING.id, *(ids["h"] for ids in self._ids)]
        layers = zip(self.recurrent, self._ids, below, strict=False)
        return tuple(RecurrentLayer(la.cell, la.weights(), ids, (b,)) for la, ids, b in layers)

    def predict(self, y: Tensor) -> Tensor:
        """The paper's F before the softmax: labels (..., V) from the last layer's output."""
        if self.config.tied:
            y, weight = F.linear(y, self.readout), self.embedding
        else:
            weight = self.readout
        if y.dim() != 2 or len(y) > _SINGLE or weight.requires_grad:
            return product(y, weight, self.bias)
        return (y @ self._transposed(weight)).add_(self.bias)

    def _transposed(self, weight: Tensor) -> Tensor:
        """The weights (V, H) as (H, V), which a single state is multiplied with four times as fast.

        The copy is kept as long as they stay the same.
        """
        same = (weight.data_ptr(), weight._version)  # noqa: SLF001 - counts changes in place
        if self._copy is None or self._copy[0] != same:
            self._copy = same, weight.T.contiguous()
        return self._copy[1]

    def classifier(self) -> Readout:
        weight = self.embedding @ self.readout if self.config.tied else self.readout
        return Readout(self.kinds[-1].id, weight, self.bias)

    def trace(
        self, batch: Any, start: States | None = None, edits: Sequence[StateEdit] = ()
    ) -> Trace:
        """Read a batch (T, B) of sequences, or a pair of that and of their lengths (B,).

        States past a sequence's length mean nothing. Given as `start`, `Trace.last` continues the
        sequences.
        """
        inputs, lengths = batch if isinstance(batch, tuple) else (batch, None)
        check_edits(edits, self.kinds, len(inputs))
        x = F.embedding(inputs, self.embedding)
        x = changed_input(x, changes(edits, {"x": EMBEDDING.id}))
        states: States = {EMBEDDING.id: x}
        last: States = {}
        for layer, ids in zip(self.recurrent, self._ids, strict=True):
            prev = layer.start(inputs.shape[1])
            if start:
                prev = {letter: start[ids[letter]] for letter in layer.cell.carried}
            values = layer.cell.states(x, prev, layer.weights(), changes(edits, ids))
            states |= {ids[letter]: v for letter, v in values.items()}
            last |= {ids[letter]: _at_end(values[letter], lengths) for letter in layer.cell.carried}
            x = values["h"]
        return Trace(states, lengths, x, self.predict, last)


def _at_end(values: Tensor, lengths: Tensor | None) -> Tensor:
    """(T, B, H) -> (B, H) at each sequence's last word."""
    if lengths is None:
        return values[-1]
    return values[lengths - 1, torch.arange(values.shape[1], device=values.device)]
