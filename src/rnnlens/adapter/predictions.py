"""What a module predicts: the logits in what it returns, and the readout that they come from.

The readout is the linear map of one kind's states that gives the logits, if there is one: the
module's matrices are tried, a Linear, weights tied to the embedding, or two of these in a row.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rnnlens.adapter.axes.layout import (
    Arranged,
    Layout,
    best_fit,
    close,
    described,
    tensors,
    within,
)
from rnnlens.adapter.batches import LABEL, LABELS, NUMBER
from rnnlens.base.errors import RnnlensError
from rnnlens.model.kinds import Kind
from rnnlens.model.traceable import Readout, Trace

_TOLERANCE = {torch.float64: 1e-8, torch.float32: 1e-4}
_SCREENED = 16  # rows that a candidate must fit before it is tried on all
_ADVICE = (
    "give logits=, a function from what forward returns to the logits, time steps x sequences x "
    "labels; `lambda output: None` goes without"
)


def find_logits(
    output: object,
    layouts: list[Layout],
    states: list[Tensor],
    chosen: Callable[[Any], Any] | None,
    labels: int | None = None,
    sort: str = LABEL,
) -> tuple[Arranged, Layout] | None:
    """The logits (T, B, V) in what a module returned, with the layout they share; of a module that
    predicts a number, these, (T, B, 1).

    `states` are the outputs of the recurrent parts: a module that returns only those has no logits.
    """
    if chosen is not None:
        picked = chosen(output)
        if picked is None:
            return None
        if not isinstance(picked, Tensor):
            raise RnnlensError(f"logits= gave {described(picked)} and not a tensor; {_ADVICE}")
        return _best({"": _column(picked) if sort == NUMBER else picked}, layouts, output, None)
    if next(tensors(output), None) is None:
        raise RnnlensError(
            f"the module returned {described(output)}, and no tensor that could be its logits; let "
            "forward return them, or give feed=, a function from the module and a batch to them"
        )
    candidates = _numbers(output) if sort == NUMBER else _candidates(output)
    others = {p: t for p, t in candidates.items() if not _is_state(t, layouts, states)}
    if candidates and not others:
        return None
    return _best(others, layouts, output, labels)


def count_logits(
    output: object,
    layouts: list[Layout],
    states: list[Tensor],
    chosen: Callable[[Any], Any] | None,
) -> int:
    """How many tensors in what a module returned could be logits beside its parts."""
    return sum(
        best_fit(values, layouts) is not None and not _is_state(values, layouts, states)
        for values in _candidates(output if chosen is None else chosen(output)).values()
    )


def _candidates(output: object) -> dict[str, Tensor]:
    """Tensors that have the shape of logits, by where they are in the output."""
    return {p: t for p, t in tensors(output) if t.is_floating_point() and t.dim() in (2, 3)}


def _numbers(output: object) -> dict[str, Tensor]:
    """Tensors that may hold a number for each state or sequence; first of all those that have an
    axis of one, and last those that have several there, which can only be refused.
    """
    floats = {p: t for p, t in tensors(output) if t.is_floating_point()}
    single = {p: t for p, t in floats.items() if t.dim() in (2, 3) and t.shape[-1] == 1}
    flat = {p: _column(t) for p, t in floats.items() if t.dim() in (1, 2)}
    return single or flat or _candidates(output)


def _column(values: Tensor) -> Tensor:
    """Numbers with a last axis of one."""
    has = values.dim() > 2 or (values.dim() == 2 and values.shape[-1] == 1)
    return values if has else values[..., None]


def as_sort(sort: str, values: Tensor, valid: Tensor | None) -> Tensor:
    """What a module predicts as what is kept of it: numbers as they are, all else as logits."""
    if sort == NUMBER:
        rows = values if valid is None or valid.shape != values.shape[:2] else values[valid]
        if not bool(torch.isfinite(rows).all()):
            raise RnnlensError("the module predicts NaN or an infinite number; look for the cause")
        return values.clone()
    if sort == LABELS and bool(((values >= 0) & (values <= 1)).all()):  # after a sigmoid
        return torch.logit(values, eps=1e-7)
    return as_logits(values, valid)


def as_logits(values: Tensor, valid: Tensor | None) -> Tensor:
    """Logits as they are, with a finite number for -inf; probabilities as their logarithms."""
    rows = values if valid is None or valid.shape != values.shape[:2] else values[valid]
    sums = rows.sum(-1, dtype=torch.float32)  # quicker to look through than all logits
    finite = bool(torch.isfinite(sums).all())
    if not finite and bool((torch.isnan(rows) | torch.isposinf(rows)).any()):
        raise RnnlensError(
            "the module's logits are NaN or infinite; look at its readout's weights for the cause"
        )
    ones = rows.numel() and bool(((sums - 1).abs() < 1e-3).all())
    if ones and bool((rows >= 0).all()):
        return values.log().clamp_min(torch.finfo(values.dtype).min)
    # A copy: the module may write into what it returned.
    return values.clone() if finite else values.clamp_min(torch.finfo(values.dtype).min)


def _best(
    candidates: dict[str, Tensor], layouts: list[Layout], output: object, labels: int | None
) -> tuple[Arranged, Layout]:
    """The tensor that is called logits, else the one as wide as there are labels."""
    fits = ((path, best_fit(values, layouts)) for path, values in candidates.items())
    fitting = {path: fit for path, fit in fits if fit is not None}
    if not fitting:
        whole = (t for t in candidates.values() if t.dim() == 3)
        if any(best_fit(t.transpose(1, 2), layouts) is not None for t in whole):
            raise RnnlensError(
                f"the module returned {described(output)}, labels before timesteps; give "
                "logits=lambda y: y.transpose(1, 2)"
            )
        sizes = " or ".join(f"{n.steps} timesteps of {n.batch} sequences" for n in layouts[:2])
        raise RnnlensError(
            f"the module returned {described(output)}, in which nothing fits the {sizes} that its "
            "parts read; where forward itself pads or cuts, give batches as the parts read them, "
            f"with a target for each timestep (negative: none); else {_ADVICE}"
        )
    wide = [path for path, (fit, _) in fitting.items() if fit.values.shape[-1] == labels]
    called = [path for path in fitting if "logits" in path]
    paths = [path for path in called if path in wide] or called or wide or list(fitting)
    chosen = fitting[paths[0]][0].values
    ties = [path for path in paths[1:] if not _is_same(chosen, fitting[path][0].values)]
    if ties and _is_by_step(output, layouts):
        raise RnnlensError(
            f"the module returned a {type(output).__name__} of {layouts[0].steps} tensors, one for "
            "each timestep; give logits=lambda output: torch.stack(list(output), 1)"
        )
    if ties:
        named = " and ".join([paths[0], *ties][:3])
        raise RnnlensError(
            f"the module returned {described(output)}, in which {named} may be its logits; give "
            f"logits=lambda output: output{paths[0]}, or whichever it is"
        )
    return fitting[paths[0]]


def _is_by_step(output: object, layouts: list[Layout]) -> bool:
    """Whether what a module returned are predictions for each timestep, one after the other."""
    return isinstance(output, list | tuple) and len(output) == layouts[0].steps


def _is_same(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors are the same prediction, as logits or as probabilities."""
    if a.shape != b.shape:
        return False
    return close(*(as_logits(values.nan_to_num(), None).log_softmax(-1) for values in (a, b)))


def _is_state(values: Tensor, layouts: list[Layout], states: list[Tensor]) -> bool:
    """Whether this is the output of a part itself, a view of it, or a copy."""
    memory = values.untyped_storage().data_ptr()
    if any(state.untyped_storage().data_ptr() == memory for state in states):
        return True
    fits = (layout.arrange(values) for layout in layouts)
    orders = [values, *(fit.values for fit in fits if fit is not None)]
    return any(close(order, state) for order in orders for state in states)


@dataclass(frozen=True)
class Map:
    """W h + b, perhaps after another such map."""

    weight: Tensor  # (V, H)
    bias: Tensor | None = None  # (V,)
    first: "Map | None" = None

    def __call__(self, states: Tensor) -> Tensor:
        """Logits (..., V) of states (..., H)."""
        return F.linear(self.first(states) if self.first else states, self.weight, self.bias)

    @property
    def width(self) -> int:
        """H, the width of the states that it takes."""
        return self.first.width if self.first else self.weight.shape[1]

    def folded(self) -> tuple[Tensor, Tensor]:
        """The whole as one weight (V, H) and bias (V,), copied."""
        weight = self.weight @ self.first.weight if self.first else self.weight.clone()
        return weight, self(self.weight.new_zeros(self.width))


def maps(module: nn.Module, labels: int) -> tuple[list[Map], list[Map]]:
    """The maps to V labels among a module's weights, and those through a projection before them."""
    linears = [Map(m.weight, m.bias) for m in module.modules() if isinstance(m, nn.Linear)]
    plain: list[Tensor] = [p for p in module.parameters() if p.dim() == 2]
    plain += [m.weight for m in module.modules() if isinstance(m, nn.Embedding)]
    distinct = {id(weight): weight for weight in plain}.values()
    biases: list[Tensor | None] = [None]
    biases += [p for p in module.parameters() if p.shape == (labels,)]
    singles = [m for m in linears if len(m.weight) == labels]
    singles += [Map(w, b) for w, b in product(distinct, biases) if len(w) == labels]
    chains = [
        replace(last, first=first)
        for last, first in product(singles, linears)
        if last.weight.shape[1] == len(first.weight)
    ]
    return singles, chains


def fitting_map(states: Tensor, logits: Tensor, candidates: Iterable[Map]) -> Map | None:
    """The candidate that maps all states (N, H) to the logits (N, V)."""
    some = slice(None, None, max(1, len(states) // _SCREENED))
    for candidate in candidates:
        if candidate.width != states.shape[1] or candidate.weight.dtype != states.dtype:
            continue
        if _fits(candidate, states[some], logits[some]) and _fits(candidate, states, logits):
            return candidate
    return None


def _fits(candidate: Map, states: Tensor, logits: Tensor) -> bool:
    """Equal but for rounding; log-probabilities need only be those of the map's softmax."""
    outputs = candidate(states).to(logits.dtype)
    allowed = _TOLERANCE.get(states.dtype, 2e-2) * max(1.0, float(logits.abs().max()))
    if float((outputs - logits).abs().max()) <= allowed:
        return True
    return bool(float((outputs.log_softmax(-1) - logits).abs().max()) <= allowed)


def is_linear(module: nn.Module, states: list[Tensor], logits: Tensor) -> bool:
    """Whether the logits (N, V) are a linear map of any of the states (N, H)."""
    both = maps(module, logits.shape[-1])
    return any(fitting_map(rows, logits, candidates) for candidates in both for rows in states)


def find_readout(module: nn.Module, kinds: Sequence[Kind], trace: Trace) -> Readout | None:
    """The kind and the map whose product is the module's logits in this trace; else None.

    Log-probabilities count too, as they are logits of the same softmax. In a classifier of whole
    sequences, the map is from the last state of each.
    """
    logits = trace.logits
    if logits is None:
        return None
    for candidates in maps(module, logits.shape[-1]):
        for kind in reversed(kinds):
            rows = _rows(kind, trace, logits)
            match = None if rows is None else fitting_map(*rows, candidates)
            if match is not None:
                weight, bias = match.folded()
                return Readout(kind.id, weight.float(), bias.float())
    return None


def _rows(kind: Kind, trace: Trace, logits: Tensor) -> tuple[Tensor, Tensor] | None:
    """States (N, H) and the logits (N, V) beside them, without what follows a sequence's end."""
    states, lengths = trace.states[kind.id], trace.lengths
    steps, batch = states.shape[:2]
    if lengths is None or len(lengths) != batch:
        lengths = states.new_full((batch,), steps, dtype=torch.long)
    if logits.shape[:2] == (1, batch) and steps > 1:
        last = torch.zeros_like(lengths) if kind.reverse else lengths - 1
        return states[last, torch.arange(batch, device=states.device)], logits[0]
    if logits.shape[:2] != states.shape[:2]:
        return None
    valid = within(steps, lengths)
    return states[valid], logits[valid]
