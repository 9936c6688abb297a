"""torch.nn.LSTM, GRU and RNN layer by layer: the arguments of a call, every kind, its result."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from rnnlens.adapter.axes.layout import described
from rnnlens.errors import RnnlensError
from rnnlens.model.cells import TORCHS, Cell, Change, States, Weights


@dataclass(frozen=True)
class Arguments:
    """What one call is given, time first and in the caller's order of sequences."""

    x: Tensor  # (T, B, I)
    lengths: Tensor | None  # (B,); None: all as long as T
    start: list[States]  # per layer and direction, kind -> (B, H)
    state: Tensor | None  # as the caller gives it, to tell which call it continues


def cell_of(module: nn.RNNBase) -> Cell:
    """Which of the cells this is."""
    return TORCHS[module.mode]


def weights_of(module: nn.RNNBase) -> list[Weights]:
    """The weights per layer and direction, as they are now: wrappers may rewrite them."""
    weights = []
    for tensors in module.all_weights:
        b_x, b_h = tensors[2:4] if module.bias else (None, None)
        w_p = tensors[-1] if module.proj_size else None
        weights.append(Weights(tensors[0], tensors[1], b_x, b_h, w_p))
    return weights


def read(module: nn.RNNBase, input: Tensor | PackedSequence, hx: Any = None) -> Arguments:
    """The arguments of a call, copied: the caller may overwrite them."""
    lengths = None
    if isinstance(input, PackedSequence):
        x, lengths = pad_packed_sequence(input)
        lengths = None if bool((lengths == len(x)).all()) else lengths.to(x.device)
    else:
        x = input if input.dim() == 3 else input.unsqueeze(0 if module.batch_first else 1)
        x = x.transpose(0, 1) if module.batch_first else x
        x = x.clone(memory_format=torch.contiguous_format)
    carried = cell_of(module).carried
    state = () if hx is None else (hx if isinstance(hx, tuple | list) else (hx,))
    start = _start(module, x, dict(zip(carried, state, strict=False)))
    return Arguments(x, lengths, start, state[0] if state else None)


def _start(module: nn.RNNBase, x: Tensor, state: States) -> list[States]:
    """The state before the first timestep, per layer and direction; zeros where none is given."""
    layers = module.num_layers * (2 if module.bidirectional else 1)
    whole: States = {}
    for kind in cell_of(module).carried:
        width = module.proj_size if kind == "h" and module.proj_size else module.hidden_size
        values = state.get(kind)
        if values is None:
            values = x.new_zeros(layers, x.shape[1], width)
        whole[kind] = values if values.dim() == 3 else values.unsqueeze(1)
        if whole[kind].shape != (layers, x.shape[1], width):
            raise RnnlensError(
                f"the state given is {described(values)}; {type(module).__name__} wants {layers} x "
                f"{x.shape[1]} x {width}: layers and directions, sequences, width"
            )
    return [{kind: values[layer] for kind, values in whole.items()} for layer in range(layers)]


def compute(
    module: nn.RNNBase, call: Arguments, of: list[Weights], edits: list[dict[int, Change]]
) -> list[States]:
    """Every kind (T, B, H), per layer and direction; a reverse direction in the order of time.

    `edits` are changes by timestep, per layer and direction.
    """
    x, layers = call.x, list[States]()
    directions = 2 if module.bidirectional else 1
    if call.lengths is not None and any(edits[1::2] if module.bidirectional else ()):
        raise RnnlensError(
            f"{type(module).__name__} reads sequences of several lengths backwards, where a "
            "timestep is another one in each; edit one sequence at a time"
        )
    for first in range(0, len(of), directions):
        outputs = []
        for at in range(first, first + directions):
            backwards = at > first
            inputs = reverse(x, call.lengths) if backwards else x
            here = edits[at] if edits else {}
            if backwards:
                here = {len(x) - 1 - step: change for step, change in here.items()}
            states = cell_of(module).states(inputs, call.start[at], of[at], here)
            if backwards:
                states = {kind: reverse(v, call.lengths) for kind, v in states.items()}
            layers.append(states)
            outputs.append(states["h"])
        x = torch.cat(outputs, -1) if module.bidirectional else outputs[0]
    return layers


def reverse(values: Tensor, lengths: Tensor | None) -> Tensor:
    """(T, B, H) with every sequence turned round; what follows its end stays where it is."""
    if lengths is None:
        return values.flip(0)
    steps = torch.arange(len(values), device=values.device)[:, None]  # (T, 1)
    turned = torch.where(steps < lengths, lengths - 1 - steps, steps)  # (T, B)
    return values.gather(0, turned[..., None].expand_as(values))


def result(
    module: nn.RNNBase, input: Tensor | PackedSequence, call: Arguments, states: list[States]
) -> tuple[Tensor | PackedSequence, Any]:
    """What the module returns for these states: its output, and the last state of every layer."""
    directions = 2 if module.bidirectional else 1
    # (T, B, H) or (T, B, 2H)
    output: Any = torch.cat([s["h"] for s in states[-directions:]], -1)
    last = [
        torch.stack([_last(s[kind], call.lengths, at % directions == 1)
                     for at, s in enumerate(states)])
        for kind in cell_of(module).carried
    ]  # fmt: skip
    if isinstance(input, PackedSequence):
        output = _packed(output, call.lengths, input)
    elif input.dim() == 2:
        output, last = output.squeeze(1), [values.squeeze(1) for values in last]
    elif module.batch_first:
        output = output.transpose(0, 1)
    return output, last[0] if len(last) == 1 else tuple(last)


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
