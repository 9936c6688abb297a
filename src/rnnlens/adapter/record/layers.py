"""torch.nn.LSTM, GRU and RNN layer by layer: the arguments of a call, every kind, its result."""

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from rnnlens.adapter.axes.layout import described
from rnnlens.adapter.modules import is_torchs
from rnnlens.adapter.record.calls import Piece
from rnnlens.adapter.record.parts import Forward, Part, flat, local
from rnnlens.base.errors import RnnlensError
from rnnlens.model.cell import Change, States
from rnnlens.model.cells.classic import weights_of
from rnnlens.model.directions import side_by_side, turned
from rnnlens.model.kinds import INPUT, JOINED
from rnnlens.model.traceable import changed


@dataclass(frozen=True)
class Arguments:
    """What one call is given, time first and in the caller's order of sequences."""

    x: Tensor  # (T, B, I)
    lengths: Tensor | None  # (B,); None: all as long as T
    start: list[States]  # per layer and direction, kind -> (B, H)
    state: Tensor | None  # as the caller gives it, to tell which call it continues


class LayersPart(Part):
    """An nn.LSTM, GRU or RNN.

    Its layers have to be computed one by one to be seen, which gives its output too. Once a first
    batch has shown that to be right, it is returned in place of torch's, so that nothing is
    computed twice. The forward of a subclass is always run.
    """

    module: nn.RNNBase

    def __post_init__(self) -> None:
        super().__post_init__()
        self.calls: list[Piece] = []

    def call(self, forward: Forward, args: Any, kwargs: Any) -> Any:
        self.check_device(args, kwargs)
        real = forward(*args, **kwargs) if self.checking or not self._is_torchs(forward) else None
        self.weights = weights_of(self.module)
        call = self._arguments(args, kwargs)
        edits = self.edits_at(call.state)
        call = replace(call, x=changed(call.x, INPUT, edits[0] if edits else {}))
        if torch.is_grad_enabled():  # an edit is differentiated, of a frozen module too
            call.x.requires_grad_()
        states = self._compute(call, edits)
        source = args[0] if args else kwargs["input"]
        answer = self._result(source, call, states)
        if real is not None and not self.edits:
            self._compare(answer, real)
            answer = real
        returned = flat(answer)
        self.note_autocast(call.x)
        self.returned += returned
        self.chains.add(call.state, returned[1], len(call.x))
        packed = source if isinstance(source, PackedSequence) else None
        self.calls.append(Piece({INPUT: call.x, **self._by_id(states)}, call.lengths, packed))
        return answer

    def _is_torchs(self, forward: Forward) -> bool:
        """Whether nothing but torch's code runs, in the precision of the weights."""
        device = self.module.all_weights[0][0].device.type
        return is_torchs(forward) and not torch.is_autocast_enabled(device)

    def _arguments(self, args: Any, kwargs: Any) -> Arguments:
        try:
            return self._read(*args, **kwargs)
        except TypeError as error:
            raise RnnlensError(
                f"{self.called} is called with other arguments than torch's own, which cannot be "
                f"recomputed ({error}); name it in kinds= to read its output alone"
            ) from error

    def _read(self, input: Tensor | PackedSequence, hx: Any = None) -> Arguments:
        """The arguments of a call, copied: the caller may overwrite them."""
        lengths = None
        if isinstance(input, PackedSequence):
            x, lengths = pad_packed_sequence(input)
            lengths = None if bool((lengths == len(x)).all()) else lengths.to(x.device)
        else:
            x = input if input.dim() == 3 else input.unsqueeze(0 if self.module.batch_first else 1)
            x = x.transpose(0, 1) if self.module.batch_first else x
            x = x.clone(memory_format=torch.contiguous_format)
        state = () if hx is None else (hx if isinstance(hx, tuple | list) else (hx,))
        start = self._start(x, dict(zip(self.cell.carried, state, strict=False)))
        return Arguments(x, lengths, start, state[0] if state else None)

    def _start(self, x: Tensor, state: States) -> list[States]:
        """The state before the first timestep, per layer and direction; zeros by default."""
        start = [self.cell.start(weights, x.shape[1]) for weights in self.weights]
        for kind, values in state.items():
            whole = values if values.dim() == 3 else values.unsqueeze(1)
            wanted = (len(start), *start[0][kind].shape)
            if whole.shape != wanted:
                raise RnnlensError(
                    f"the state given is {described(values)}; {type(self.module).__name__} wants "
                    f"{' x '.join(map(str, wanted))}: layers and directions, sequences, width"
                )
            for layer, given in zip(start, whole, strict=True):
                layer[kind] = given
        return start

    def _compute(self, call: Arguments, edits: list[dict[int, Change]]) -> list[States]:
        """Every kind (T, B, H), per layer and direction; a reverse direction in the order of time.

        The joined output of two directions stands with the last layer's forward one. `edits` are
        changes by timestep, per layer and direction.
        """
        x, layers = call.x, list[States]()
        if call.lengths is not None and self.directions == 2 and any(edits[1::2]):
            raise RnnlensError(
                f"{type(self.module).__name__} reads sequences of several lengths backwards, where "
                "a timestep is another one in each; edit one sequence at a time"
            )
        for first in range(0, len(self.weights), self.directions):
            outputs = []
            for at in range(first, first + self.directions):
                backwards = at > first
                inputs = turned(x, call.lengths) if backwards else x
                here = edits[at] if edits else {}
                if backwards:
                    here = {len(x) - 1 - step: change for step, change in here.items()}
                states = self.cell.states(inputs, call.start[at], self.weights[at], here)
                if backwards:
                    states = {kind: turned(v, call.lengths) for kind, v in states.items()}
                layers.append(states)
                outputs.append(states[self.cell.output.id])
            x = side_by_side(outputs)
        if self.directions == 2:
            layers[-2][JOINED] = changed(x, JOINED, edits[-2] if edits else {})
        return layers

    def _result(
        self, input: Tensor | PackedSequence, call: Arguments, states: list[States]
    ) -> tuple[Tensor | PackedSequence, Any]:
        """What the module returns for these states: its output, and every layer's last state."""
        own = self.cell.output.id
        output: Any = states[-2][JOINED] if self.directions == 2 else states[-1][own]
        output = output.clone()  # (T, B, H) or (T, B, 2H), which the module may write into
        last = [
            torch.stack([_last(s[kind], call.lengths, at % self.directions == 1)
                         for at, s in enumerate(states)])
            for kind in self.cell.carried
        ]  # fmt: skip
        if isinstance(input, PackedSequence):
            output = _packed(output, call.lengths, input)
        elif input.dim() == 2:
            output, last = output.squeeze(1), [values.squeeze(1) for values in last]
        elif self.module.batch_first:
            output = output.transpose(0, 1)
        return output, last[0] if len(last) == 1 else tuple(last)

    def _compare(self, recomputed: Any, real: Any) -> None:
        ours, theirs = flat(recomputed), flat(real)
        if [t.shape for t in ours] != [t.shape for t in theirs]:
            raise RnnlensError(
                f"{self.called} returned {described(real)} where torch's own returns "
                f"{described(recomputed)}; name it in kinds= to read its output alone"
            )
        self.compare(ours, theirs)

    def _by_id(self, by_layer: list[States]) -> States:
        return {
            local(kind, at // self.directions + 1, at % self.directions == 1): values
            for at, states in enumerate(by_layer)
            for kind, values in states.items()
        }

    def of_calls(self) -> list[Piece]:
        return self.calls


def _last(values: Tensor, lengths: Tensor | None, backwards: bool) -> Tensor:
    """(T, B, H) -> (B, H), each sequence's state after it has been read."""
    if backwards or lengths is None:
        return values[0 if backwards else -1]
    return values[lengths - 1, torch.arange(values.shape[1], device=values.device)]


def _packed(values: Tensor, lengths: Tensor | None, like: PackedSequence) -> PackedSequence:
    """(T, B, H) packed as the input was."""
    order = like.sorted_indices
    if order is not None:
        values = values.index_select(1, order)
    if lengths is None:
        lengths = torch.full((values.shape[1],), len(values))
    elif order is not None:
        lengths = lengths.index_select(0, order)
    data = pack_padded_sequence(values, lengths.cpu()).data
    return PackedSequence(data, like.batch_sizes, order, like.unsorted_indices)
