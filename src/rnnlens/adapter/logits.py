"""Finding, in the common shapes, where the logits are, and whether the input is an embedding."""

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from rnnlens.adapter.axes.layout import Arranged, Layout, close, described, tensors
from rnnlens.errors import RnnlensError

_ADVICE = (
    "give logits=, a function from what forward returns to the logits, time steps x sequences x "
    "labels; `lambda output: None` goes without"
)


def logits(
    output: object,
    layouts: list[Layout],
    states: list[Tensor],
    chosen: Callable[[Any], Any] | None,
    labels: int | None = None,
) -> tuple[Arranged, Layout] | None:
    """The logits (T, B, V) in what a module returned, with the layout they share.

    `states` are the recurrent parts' own outputs: a module that returns those has no logits.
    """
    if chosen is not None:
        picked = chosen(output)
        if picked is None:
            return None
        if not isinstance(picked, Tensor):
            raise RnnlensError(f"logits= gave {described(picked)} and not a tensor; {_ADVICE}")
        return _best([("", picked)], layouts, output, None)
    found = [(p, t) for p, t in tensors(output) if t.is_floating_point() and t.dim() in (2, 3)]
    others = [(path, t) for path, t in found if not _is_state(t, layouts, states)]
    if found and not others:
        return None
    return _best(others, layouts, output, labels)


def as_logits(values: Tensor, valid: Tensor | None) -> Tensor:
    """Logits as they are, -inf as what can be reckoned with; probabilities as their logarithms."""
    rows = values if valid is None or valid.shape != values.shape[:2] else values[valid]
    sums = rows.sum(-1, dtype=torch.float32)
    if bool((torch.isnan(rows) | torch.isposinf(rows)).any()):
        raise RnnlensError(
            "the module's logits are NaN or infinite; look at its readout's weights for the cause"
        )
    if rows.numel() and bool((rows >= 0).all()) and bool(((sums - 1).abs() < 1e-3).all()):
        values = values.log()
    return values.clamp_min(torch.finfo(values.dtype).min)


def _best(
    found: list[tuple[str, Tensor]], layouts: list[Layout], output: object, labels: int | None
) -> tuple[Arranged, Layout]:
    """The first of the tensors that fit best: called logits, or as wide as there are labels."""
    fitting: list[tuple[tuple[bool, bool, int], Arranged, Layout]] = []
    for path, values in found:
        fits = _fits(values, layouts)
        if fits is not None:
            other = labels is not None and values.shape[-1] != labels
            fitting.append((("logits" not in path, other, fits[0].doubt), *fits))
    if not fitting:
        sizes = " or ".join(f"{n.steps} timesteps of {n.batch} sequences" for n in layouts[:2])
        raise RnnlensError(
            f"the module returned {described(output)}, in which nothing fits the {sizes} that its "
            f"parts read; {_ADVICE}"
        )
    return min(fitting, key=lambda fit: fit[0])[1:]


def _fits(values: Tensor, layouts: list[Layout]) -> tuple[Arranged, Layout] | None:
    fits = [(fit, layout) for layout in layouts if (fit := layout.arrange(values)) is not None]
    return min(fits, key=lambda fit: fit[0].doubt, default=None)


def _is_state(values: Tensor, layouts: list[Layout], states: list[Tensor]) -> bool:
    """Whether this is a part's output itself, a view of it, or a copy."""
    memory = values.untyped_storage().data_ptr()
    if any(state.untyped_storage().data_ptr() == memory for state in states):
        return True
    orders = chain([values], _orders(values, layouts))
    return any(close(o, s) for o in orders for s in states)


def _orders(values: Tensor, layouts: list[Layout]) -> Iterator[Tensor]:
    return (fit.values for layout in layouts if (fit := layout.arrange(values)) is not None)


def assembled(
    name: str, outputs: list[Tensor], layouts: list[Layout], batch_first: bool
) -> tuple[Arranged, Layout | None]:
    """A submodule's outputs, of one call or of many, as states (T, B, H)."""
    outputs = [values[None] if values.dim() == 1 else values for values in outputs]
    dims = {values.dim() for values in outputs}
    if len(outputs) == 1 and dims <= {2, 3} and layouts:
        fits = _fits(outputs[0], layouts)
        if fits is not None:
            return fits
    elif dims == {3}:
        sequences = {layout.batch for layout in layouts}
        turned = [_time_first(values, sequences, batch_first) for values in outputs]
        if len({values.shape[1:] for values in turned}) == 1:
            return Arranged(torch.cat(turned), 0), None
    elif dims == {2} and len({values.shape[1] for values in outputs}) == 1:
        most = max(len(values) for values in outputs)  # the batch may shrink as sequences end
        padded = [F.pad(values, (0, 0, 0, most - len(values))) for values in outputs]
        return Arranged(torch.stack(padded), 0), None
    shapes = ", ".join(described(values) for values in outputs[:3])
    raise RnnlensError(
        f"the output of {name} is {shapes}{' ...' if len(outputs) > 3 else ''}, which fits no "
        "timesteps and sequences; name a submodule whose output has a vector for each timestep"
    )


def _time_first(values: Tensor, sequences: set[int], batch_first: bool) -> Tensor:
    first, second = (n in sequences for n in values.shape[:2])
    turn = batch_first if first == second else first
    return values.transpose(0, 1) if turn else values
