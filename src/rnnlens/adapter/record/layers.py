"""torch.nn.LSTM, GRU and RNN, layer by layer: what a call is given, every kind, its answer."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from rnnlens.adapter.axes.layout import described
from rnnlens.errors import RnnlensError
from rnnlens.model.cells import TORCHS, Cell, Change, States, Weights


@dataclass(frozen=True)
class Given:
    """One call's input, time first and in the caller's order of sequences."""

    x: Tensor  # (T, B, I)
    lengths: Tensor | None  # (B,); None: all as long as T
    start: list[States]  # per layer and direction, kind -> (B, H)
    state: Tensor | None  # the state as the caller gave it, to know it again


def cell_of(module: nn.RNNBase) -> Cell:
    """Which of the cells this is."""
    return TORCHS[module.mode]


def weights(module: nn.RNNBase) -> list[Weights]:
    """Per layer and direction, the weights as they are now: wrappers may have rewritten them."""
    made = []
    for tensors in module.all_weights:
        b_x, b_h = tensors[2:4] if module.bias else (None, None)
        w_p = tensors[-1] if module.proj_size else None
        made.append(Weights(tensors[0], tensors[1], b_x, b_h, w_p))
    return made


def read(module: nn.RNNBase, input: Tensor | PackedSequence, hx: Any = None) -> Given:
    """What a call with these arguments computes from, copied: the caller may overwrite it."""
    lengths = None
    if isinstance(input, PackedSequence):
        x, lengths = pad_packed_sequence(input)
        lengths = None if bool((lengths == len(x)).all()) else lengths.to(x.device)
    else:
        x = input if input.dim() == 3 else input.unsqueeze(0 if module.batch_first else 1)
        x = x.transpose(0, 1) if module.batch_first else x
        x = x.clone(memory_format=torch.contiguous_format)
    carried = cell_of(module).carried
    given = () if hx is None else (hx if isinstance(hx, tuple | list) else (hx,))
    return Given(x, lengths, _start(module, x, dict(zip(carried, given, strict=False))),
                 given[0] if given else None)  # fmt: skip


def _start(module: nn.RNNBase, x: Tensor, given: States) -> list[States]:
    """The state before the first timestep, per layer and direction; zeros where none is given."""
    layers = module.num_layers * (2 if module.bidirectional else 1)
    whole: States = {}
    for kind in cell_of(module).carried:
        width = module.proj_size if kind == "h" and module.proj_size else module.hidden_size
        values = given.get(kind)
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
    module: nn.RNNBase, given: Given, of: list[Weights], edits: list[dict[int, Change]]
) -> list[States]:
    """Every kind (T, B, H), per layer and direction; a reverse direction in the order of time.

    `edits` are changes by timestep, per layer and direction.
    """
    x, made = given.x, list[States]()
    directions = 2 if module.bidirectional else 1
    if given.lengths is not None and any(edits[1::2] if module.bidirectional else ()):
        raise RnnlensError(
            f"{type(module).__name__} reads sequences of several lengths backwards, where a "
            "timestep is another one in each; edit one sequence at a time"
        )
    for first in range(0, len(of), directions):
        outputs = []
        for at in range(first, first + directions):
            backwards = at > first
            inputs = reverse(x, given.lengths) if backwards else x
            here = edits[at] if edits else {}
            if backwards:
                here = {len(x) - 1 - step: change for step, change in here.items()}
            states = cell_of(module).states(inputs, given.start[at], of[at], here)
            if backwards:
                states = {kind: reverse(v, given.lengths) for kind, v in states.items()}
            made.append(states)
            outputs.append(states["h"])
        x = torch.cat(outputs, -1) if module.bidirectional else outputs[0]
    return made


def reverse(values: Tensor, lengths: Tensor | None) -> Tensor:
    """(T, B, H) with every sequence turned round; what follows its end stays where it is."""
    if lengths is None:
        return values.flip(0)
    steps = torch.arange(len(values), device=values.device)[:, None]  # (T, 1)
    turned = torch.where(steps < lengths, lengths - 1 - steps, steps)  # (T, B)
    return values.gather(0, turned[..., None].expand_as(values))


def returned(module: nn.RNNBase, input: Tensor | PackedSequence, given: Given,
             states: list[States]) -> tuple[Tensor | PackedSequence, Any]:  # fmt: skip
    """What the module returns for these states: its output, and the last state of every layer."""
    directions = 2 if module.bidirectional else 1
    output = torch.cat([s["h"] for s in states[-directions:]], -1)  # (T, B, H) or (T, B, 2H)
    last = [
        torch.stack([_last(s[kind], given.lengths, at % directions == 1)
                     for at, s in enumerate(states)])
        for kind in cell_of(module).carried
    ]  # fmt: skip
    if isinstance(input, PackedSequence):
        packed = _packed(output, given.lengths, input)
        return packed, last[0] if len(last) == 1 else tuple(last)
    if input.dim() == 2:
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
