"""The network: embedding, recurrent layers, readout; and its trace, every kind by name."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from math import inf, prod
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rnnlens.base.errors import RnnlensError
from rnnlens.corpus.vocabulary import Vocabulary
from rnnlens.labels.sets import LabelSet
from rnnlens.model.block import Block
from rnnlens.model.cell import Layer, States
from rnnlens.model.cells import CELLS
from rnnlens.model.directions import at_end, lengths_of, side_by_side, turned, turned_edits
from rnnlens.model.kinds import EMBEDDING, INPUT, JOINED, Kind, stacked
from rnnlens.model.lazy import joined, of_each
from rnnlens.model.network_config import WRITTEN
from rnnlens.model.network_config import NetworkConfig as NetworkConfig  # noqa: PLC0414
from rnnlens.model.packed import packed_linear, packed_product
from rnnlens.model.text import TextSide
from rnnlens.model.traceable import (
    Affine,
    Anatomy,
    Readout,
    RecurrentLayer,
    StateEdit,
    Trace,
    Traceable,
    changed,
    changes,
    check_edits,
)
from rnnlens.model.train.dropout import Dropout
from rnnlens.model.transition import LARGEST

_ALIGNED = 64  # labels at once, of products on a GPU


class Network(nn.Module, Traceable):
    """A recurrent network whose every intermediate vector has a name.

    After each word it predicts a label: the next word, or a label of the word or of the whole text.
    """

    def __init__(
        self, config: NetworkConfig, label_count: int, word_count: int | None = None
    ) -> None:
        """`word_count`: how many words it reads, where these are not its labels."""
        super().__init__()
        config.check()
        if word_count is not None and config.tied:
            raise RnnlensError(
                "a readout shares the embedding's matrix only where labels are words; give "
                "--no-tied"
            )
        config = config.spelled_out
        self.config, self.label_count, self.word_count = config, label_count, word_count
        self.causal = not config.bidirectional
        inputs, outputs = config.embedding or config.width, config.width * config.directions
        self.embedding = nn.Parameter(torch.empty(word_count or label_count, inputs))
        cell = CELLS[config.cell].sized(config.width, *config.parts)
        widths = [inputs] + [outputs] * (config.layers - 1)
        self.layers = nn.ModuleList(Layer(cell, below, config.width) for below in widths)
        if config.bidirectional:
            self.backwards = nn.ModuleList(Layer(cell, below, config.width) for below in widths)
        rows = (inputs, outputs) if config.tied else (label_count, outputs)
        self.readout = nn.Parameter(torch.empty(rows))
        self.bias = nn.Parameter(torch.zeros(label_count))

    @cached_property
    def kinds(self) -> tuple[Kind, ...]:
        return stacked(CELLS[self.config.cell].kinds, self.config.layers, self.config.directions)

    @cached_property
    def _ids(self) -> list[dict[str, str]]:
        """For each layer and direction, the ids of its kinds by letter."""
        recurrent = [kind for kind in self.kinds if kind.layer and kind.letter != JOINED]
        places = dict.fromkeys((k.layer, k.reverse) for k in recurrent)
        return [
            {k.letter: k.id for k in recurrent if (k.layer, k.reverse) == place} for place in places
        ]

    @property
    def unprobed(self) -> dict[str, int]:
        return {
            layer.ids[kind]: prod(size)
            for layer in self.recurrence
            if isinstance(layer.cell, Block)
            for kind, size in layer.cell.sizes.items()
            if prod(size) > LARGEST and not ((matrix := layer.cell.matrix(kind)) and matrix.askable)
        }

    @property
    def carried(self) -> tuple[str, ...]:
        letters = CELLS[self.config.cell].carried
        return tuple(ids[letter] for ids in self._ids for letter in letters) if self.causal else ()

    @property
    def description(self) -> str:
        config = self.config
        cell = WRITTEN.get(config.cell, config.cell.upper())
        shape = f"{cell} {config.width} × {config.layers}"
        return f"{shape}, both ways" if config.bidirectional else shape

    def text(self, vocabulary: Vocabulary) -> TextSide:
        """How a text becomes a batch for this network."""
        if len(vocabulary.inputs) != len(self.embedding):
            raise RnnlensError(
                f"the network reads {len(self.embedding)} words and its vocabulary has "
                f"{len(vocabulary.inputs)}; restore both"
            )
        return TextSide.of_words(vocabulary)

    @property
    def device(self) -> torch.device:
        return self.bias.device

    def on(self, device: torch.device) -> "Network":
        return self.to(device)

    @property
    def recurrent(self) -> list[Layer]:
        """The recurrent layers, lowest first; of each the one that reads backwards after it."""
        ways = [self.layers, self.backwards] if self.config.bidirectional else [self.layers]
        every = (layer for beside in zip(*ways, strict=True) for layer in beside)
        return [layer for layer in every if isinstance(layer, Layer)]

    def initialise(self, seed: int) -> "Network":
        """Draw the weights at random."""
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            spread = (3 / self.embedding.shape[1]) ** 0.5  # rows of length about 1
            self.embedding.uniform_(-spread, spread, generator=generator)
            bound = self.config.width**-0.5
            for layer in self.recurrent:
                layer.initialise(generator)
            if self.config.tied:
                nn.init.eye_(self.readout)
            else:
                self.readout.uniform_(-bound, bound, generator=generator)
        return self

    def hidden(
        self, inputs: Tensor, dropout: Dropout | None = None, lengths: Tensor | None = None
    ) -> Tensor:
        """The last layer's outputs (T, B, H), by the fused recurrence; for training.

        `lengths` (B,) are those of the sequences, which only reading backwards has to know.
        """
        x = F.embedding(dropout.unknown(inputs) if dropout else inputs, self.embedding)
        if dropout:
            x = dropout.words(x, inputs, len(self.embedding))
            x = dropout.locked(x, dropout.config.dropout_input)
        ways, every = self.config.directions, self.recurrent
        for first in range(0, len(every), ways):
            outputs: list[Tensor] = []
            for layer in every[first : first + ways]:
                weights = layer.weights(dropout.weight if dropout else None)
                backwards = bool(outputs)
                read = turned(x, lengths) if backwards else x
                h = layer.cell.outputs(read, layer.start(x.shape[1]), weights, self.training)
                outputs.append(turned(h, lengths) if backwards else h)
            x = side_by_side(outputs)
            if dropout:
                last = first + ways == len(every)
                share = dropout.config.dropout_output if last else dropout.config.dropout_hidden
                x = dropout.locked(x, share)
        return x

    @property
    def recurrence(self) -> tuple[RecurrentLayer, ...]:
        ways, layers = self.config.directions, list[RecurrentLayer]()
        for at, (layer, ids) in enumerate(zip(self.recurrent, self._ids, strict=True)):
            first = at - at % ways  # of this layer's directions
            output = layer.cell.output.id
            below = tuple(beside[output] for beside in self._ids[max(0, first - ways) : first])
            reverse = at > first
            layers.append(
                RecurrentLayer(layer.cell, layer.weights(), ids, below or (EMBEDDING.id,), reverse)
            )
        return tuple(layers)

    def last_product(self, y: Tensor) -> tuple[Tensor, Tensor]:
        """What is multiplied for the logits of outputs y (N, H): vectors (N, I) and one for each
        label (V, I).
        """
        if self.config.tied:
            return F.linear(y, self.readout), self.embedding
        return y, self.readout

    def predict_aligned(self, y: Tensor) -> Tensor:
        """The same with labels beyond the last one, up to a multiple of 64, that have no
        probability; for training on a GPU, whose products are quick for such sizes alone.
        """
        y, weight = self.last_product(y)
        more = -self.label_count % _ALIGNED
        return F.linear(y, F.pad(weight, (0, 0, 0, more)), F.pad(self.bias, (0, more), value=-inf))

    def predict(self, y: Tensor) -> Tensor:
        """The paper's F before the softmax: labels (..., V) from the last layer's output."""
        if self.config.tied:
            y, weight = packed_linear(y, self.readout), self.embedding
        else:
            weight = self.readout
        return packed_product(y, weight, self.bias)

    def batches(
        self, user_batches: Sequence[Any], others: Mapping[str, LabelSet] | None = None
    ) -> Sequence[tuple[Any, Tensor]]:
        """Check pairs of words and targets; a sequence ends with its last target."""
        pairs = super().batches(user_batches, others)
        if self.causal:
            return pairs
        return [((words, lengths_of(targets)), targets) for words, targets in pairs]

    def classifier(self) -> Readout | None:
        weight = self.embedding @ self.readout if self.config.tied else self.readout
        return Readout(self.kinds[-1].id, weight, self.bias)

    def anatomy(self) -> Anatomy:
        last = Affine(self.embedding if self.config.tied else self.readout, self.bias)
        maps = (Affine(self.readout), last) if self.config.tied else (last,)
        return Anatomy(self.embedding, self.recurrence, (self.kinds[-1].id,), maps)

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
        x = changed(x, INPUT, changes(edits, {INPUT: EMBEDDING.id}))
        states: States = {EMBEDDING.id: x}
        for layer in self.recurrence:
            x = side_by_side([states[kind] for kind in layer.below])
            values = self._states(layer, x, lengths, start, edits)
            same = {kind: kind for kind in states}
            states = joined([*same, *layer.ids.values()], (states, same), (values, layer.ids))
        top = self.kinds[-1]
        if top.letter == JOINED:
            both = side_by_side([states[edge.kind] for edge in top.sources])
            states[top.id] = changed(both, JOINED, changes(edits, {JOINED: top.id}))
        last = {kind: at_end(states[kind], lengths) for kind in self.carried}
        return Trace(states, lengths, states[top.id], self.predict, last)

    def prediction_alone(self, batch: Any) -> Trace:
        inputs, lengths = batch if isinstance(batch, tuple) else (batch, None)
        with torch.autocast(inputs.device.type, enabled=False):  # as states are
            return Trace({}, lengths, self.hidden(inputs, lengths=lengths), self.predict)

    def _states(
        self,
        layer: RecurrentLayer,
        x: Tensor,
        lengths: Tensor | None,
        start: States | None,
        edits: Sequence[StateEdit],
    ) -> States:
        """Every kind of a layer (T, B, H) by letter, in the order of time."""
        if start:
            prev = {kind: start[layer.ids[kind]] for kind in layer.cell.carried}
        else:
            prev = layer.cell.start(layer.weights, x.shape[1])
            if torch.is_grad_enabled() and any(edit.learning for edit in edits):
                for state in prev.values():
                    state.requires_grad_()  # or states would be computed in place
        here = changes(edits, layer.ids)
        if not layer.reverse:
            return layer.cell.states(x, prev, layer.weights, here)
        here = turned_edits(here, len(x), lengths)
        values = layer.cell.states(turned(x, lengths), prev, layer.weights, here)
        return of_each(values, lambda _, v: turned(v, lengths))
