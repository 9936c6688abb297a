"""The recurrent parts of torch while they are called: layers with a whole batch, cells in a loop.

The arguments of a call are read, every kind is computed, and what torch would return is returned.
"""

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from rnnlens.adapter.axes.layout import described
from rnnlens.adapter.modules import cell_of, is_torchs
from rnnlens.adapter.record.calls import Piece
from rnnlens.adapter.record.parts import Forward, Part, flat, local
from rnnlens.base.errors import RnnlensError
from rnnlens.model.cell import Change, States, Weights
from rnnlens.model.cells.classic import weights_of
from rnnlens.model.directions import at_end, side_by_side, turned, turned_edits
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
        self.cell = cell_of(self.module)
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
                    here = turned_edits(here, len(x), None)
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
            torch.stack([s[kind][0] if at % self.directions else at_end(s[kind], call.lengths)
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


@dataclass(frozen=True)
class Step:
    """One call, its tensors copied, since loops like to overwrite their states."""

    x: Tensor  # (B, I)
    start: States  # kind -> (B, H)
    end: States  # what the cell really returned
    version: int  # the number of its weights


class StepsPart(Part):
    """An LSTMCell, GRUCell or RNNCell: its calls are gathered and computed together."""

    module: nn.LSTMCell | nn.GRUCell | nn.RNNCell

    def __post_init__(self) -> None:
        super().__post_init__()
        self.cell = cell_of(self.module)
        self.steps: list[Step] = []
        self.versions: list[Weights] = []  # of the weights; a wrapper may rewrite them
        self.edited: dict[int, States] = {}  # by the number of the edited call

    def call(self, forward: Forward, args: Any, kwargs: Any) -> Any:
        self.check_device(args, kwargs)
        output = forward(*args, **kwargs)
        named = dict(zip(("input", "hx"), args, strict=False)) | kwargs
        x, hx = _rows(named["input"]), flat(named.get("hx"))
        start = self.cell.start(self._weights_now(), len(x))
        if hx:
            start = {kind: _rows(hx[at]).clone() for at, kind in enumerate(start)}
        state = hx[0] if hx else None
        edits = self.edits_at(state)
        if edits and 0 in edits[0]:
            x = edits[0][0](INPUT, x)
            output = self._edit(x, start, output, edits[0][0])
        returned = flat(output)
        end = {kind: _rows(returned[at]).clone() for at, kind in enumerate(start)}
        self.steps.append(Step(x.clone(), start, end, self._version()))
        self.note_autocast(returned[0])
        self.returned += returned
        self.chains.add(state, returned[0])
        return output

    def _edit(self, x: Tensor, start: States, output: Any, change: Change) -> Any:
        """What this call returns in place of `output`, with a change at its timestep."""
        if torch.is_grad_enabled():  # an edit is differentiated, of a frozen module too
            x = x.clone().requires_grad_()
        states = self.cell.states(x[None], start, self._weights_now(), {0: change})
        self.edited[len(self.steps)] = states
        pairs = zip(self.cell.carried, flat(output), strict=True)
        new = [states[kind].reshape(old.shape).to(old.dtype) for kind, old in pairs]
        return new[0] if isinstance(output, Tensor) else tuple(new)

    def _weights_now(self) -> Weights:
        return weights_of(self.module)[0]

    def _version(self) -> int:
        """The number of the weights as they are now."""
        now = self._weights_now()
        if not self.versions or not _equal(self.versions[-1], now):
            self.versions.append(now)
        return len(self.versions) - 1

    def of_calls(self) -> list[Piece]:
        self.weights = self.versions[:1]
        pieces = []
        for step, states in zip(self.steps, self._states(), strict=True):
            if self.checking and not self.edits:
                self.compare((states[kind][0] for kind in step.end), step.end.values())
            by_id = {local(kind, 1, reverse=False): values for kind, values in states.items()}
            pieces.append(Piece({INPUT: step.x[None], **by_id}))
        return pieces

    def _states(self) -> list[States]:
        """Every kind (1, B, H) of every call.

        The state before each call is known, so that one product computes all of them.
        """
        states_of: list[States] = [{} for _ in self.steps]
        for version, weights in enumerate(self.versions):
            at = [n for n, step in enumerate(self.steps) if step.version == version]
            steps = [self.steps[n] for n in at]
            x = torch.cat([step.x for step in steps])[None]
            start = {k: torch.cat([step.start[k] for step in steps]) for k in self.cell.carried}
            sizes = [len(step.x) for step in steps]
            for kind, values in self.cell.states(x, start, weights).items():
                for n, part in zip(at, values.split(sizes, 1), strict=True):
                    states_of[n][kind] = part
        return [self.edited.get(n, states) for n, states in enumerate(states_of)]


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


def _rows(values: Tensor) -> Tensor:
    """(B, H), also where a single vector is given."""
    return values if values.dim() == 2 else values[None]


def _equal(a: Weights, b: Weights) -> bool:
    """Whether these are the same weights; most often they are the very same tensors."""
    pairs = zip(a.values(), b.values(), strict=True)
    return all(p is q or (p.shape == q.shape and torch.equal(p, q)) for p, q in pairs)
