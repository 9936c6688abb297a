"""The attention of a decoder: weights over the words of a source, one row for each target word.

They are looked for among all that a softmax gives while a pair is read, and in what submodules
return. Weights are not negative and sum to 1 over the source; what they are used for is not said.
Where there are several heads, each has such weights; how they lie is told by pairs of other
lengths.
"""

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from rnnlens.adapter import modules
from rnnlens.adapter.axes.layout import tensors
from rnnlens.base.errors import RnnlensError

MODULE = "forward"  # what is computed in the module itself, and in no submodule of it
_SOFTMAXES = (torch.softmax, Tensor.softmax, F.softmax)
MOST_HEADS = 64
WHOLE = "whole"  # one head, whose rows come one after the other
_SUM = 1e-3  # by which weights may miss 1: half precision


class _Heard(TorchFunctionMode):
    """What softmaxes give, and submodules return, by the name of the submodule."""

    def __init__(self) -> None:
        super().__init__()
        self.running: list[str] = []
        self.softmaxes: dict[str, list[tuple[Tensor, int]]] = {}
        self.returned: dict[str, list[Any]] = {}

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:  # fmt: skip
        given = kwargs or {}
        if func is F.multi_head_attention_forward and self.running:
            return self._several_heads(func, args, given)
        made = func(*args, **given)
        axis = given.get("dim", args[1] if len(args) > 1 else None)
        if func in _SOFTMAXES and isinstance(axis, int) and self.running:
            self._keep(made, axis)
        elif func is F.scaled_dot_product_attention and self.running:
            weights = _of_products(*args, **given)
            if weights is not None:
                self._keep(weights, -1)
        return made

    def _keep(self, weights: Tensor, axis: int) -> None:
        self.softmaxes.setdefault(self.running[-1], []).append((weights.detach(), axis))

    def _several_heads(self, func: Any, args: Any, given: dict[str, Any]) -> Any:
        """Torch's own attention, whose softmax is not heard: it is asked for all of its weights."""
        bound = inspect.signature(func).bind(*args, **given)
        bound.apply_defaults()
        wanted, mean = (bound.arguments[one] for one in ("need_weights", "average_attn_weights"))
        bound.arguments.update(need_weights=True, average_attn_weights=False)
        made, weights = func(*bound.args, **bound.kwargs)
        self._keep(weights, -1)
        return made, (weights.mean(-3) if mean else weights) if wanted else None


def _of_products(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None,  # noqa: ARG001
    dropout_p: float = 0.0, is_causal: bool = False, scale: float | None = None,  # noqa: ARG001
    enable_gqa: bool = False,
) -> Tensor | None:  # fmt: skip
    """The weights that `scaled_dot_product_attention` has; None: they are not computed here."""
    if enable_gqa or is_causal:
        return None
    scores = query @ key.transpose(-2, -1) * (query.shape[-1] ** -0.5 if scale is None else scale)
    if attn_mask is not None:
        hidden = attn_mask.dtype == torch.bool
        scores = scores.masked_fill(~attn_mask, -torch.inf) if hidden else scores + attn_mask
    return torch.softmax(scores, -1)


@contextmanager
def _listening(module: nn.Module) -> Iterator[_Heard]:
    """Listen to all that a module computes."""
    heard, handles = _Heard(), list[Any]()

    def begin(name: str) -> Callable[..., None]:
        return lambda *_: heard.running.append(name)

    def end(name: str) -> Callable[..., None]:
        def keep(_module: nn.Module, _args: Any, output: Any) -> None:
            heard.running.pop()
            heard.returned.setdefault(name, []).append(output)

        return keep

    for name, one in {id(m): (n, m) for n, m in modules.submodules(module).items()}.values():
        handles.append(one.register_forward_pre_hook(begin(name or MODULE)))
        handles.append(one.register_forward_hook(end(name or MODULE)))
    try:
        with heard:
            yield heard
    finally:
        for handle in handles:
            handle.remove()


def hear(module: nn.Module, read: Callable[[], object]) -> "Attention":
    """What there is of attention while a module reads; `read` has it read a pair."""
    with _listening(module) as heard:
        read()
    return Attention(heard.softmaxes, heard.returned)


class Attention:
    """What was heard while a pair was read."""

    def __init__(
        self, softmaxes: dict[str, list[tuple[Tensor, int]]], returned: dict[str, list[Any]]
    ) -> None:
        self.softmaxes, self.returned = softmaxes, returned

    def weights(self, name: str, source: int, target: int, lie: str = WHOLE) -> Tensor | None:
        """The weights (heads, T, S) that are computed in a submodule, or that it returns, where
        they lie so; None: there are none.
        """
        heard = self.softmaxes.get(name, ())
        found = _heads([one.movedim(axis, -1) for one, axis in heard], source, target, lie)
        if found is not None:
            return found
        calls = [[tensor for _, tensor in tensors(one)] for one in self.returned.get(name, ())]
        for place in range(min(map(len, calls), default=0)):
            every = [some[place] for some in calls]
            for axis in reversed(range(every[0].dim())):
                turned = [one.movedim(axis, -1) for one in every if one.dim() > axis]
                found = _heads(turned, source, target, lie)
                if found is not None:
                    return found
        return None


def _heads(values: Sequence[Tensor], source: int, target: int, lie: str) -> Tensor | None:
    """Weights (heads, T, S) that lie so; None: these are no weights."""
    if not values or any(one.shape[-1:] != (source,) for one in values):
        return None
    heads, rest = divmod(sum(one.numel() for one in values), source * target)
    if rest or not heads or (lie == WHOLE and heads > 1) or heads > MOST_HEADS:
        return None
    rows = _LIE[lie]([one.detach().float().cpu() for one in values], source, target)
    if rows is None or rows.shape != (heads, target, source):
        return None
    sound = bool((rows >= 0).all()) and bool(((rows.sum(-1) - 1).abs() <= _SUM).all())
    return rows if sound else None


def _whole(values: list[Tensor], source: int, target: int) -> Tensor | None:  # noqa: ARG001
    return torch.cat([one.reshape(-1, source) for one in values])[None]


def _by_step(values: list[Tensor], source: int, target: int) -> Tensor | None:
    """A call for each word of the target, with a row for each head."""
    if len(values) != target or len({one.numel() for one in values}) > 1:
        return None
    return torch.stack([one.reshape(-1, source) for one in values], 1)


def _along(axis: int) -> "_Lie":
    """The target lies along an axis of each call's weights, heads along others or in calls."""

    def turned(values: list[Tensor], source: int, target: int) -> Tensor | None:
        if any(one.dim() < -axis or one.shape[axis] != target for one in values):
            return None
        return torch.cat([one.movedim(axis, -2).reshape(-1, target, source) for one in values])

    return turned


_Lie = Callable[[list[Tensor], int, int], Tensor | None]
#: How the weights of several heads may lie, the likeliest first.
_LIE: dict[str, _Lie] = {
    WHOLE: _whole, "rows": _along(-2), "steps": _by_step, "before heads": _along(-3),
}  # fmt: skip
LIE = tuple(_LIE)


def _lies(name: str, heard: Sequence[tuple[Attention, int, int]]) -> tuple[str, int] | None:
    """How the weights of a submodule lie in all pairs that were heard, and how many heads they
    have; None: it has none, or there are two ways to read them, which is told by no pair.
    """
    ways = dict[str, list[Tensor]]()
    for lie in LIE:
        found = [one.weights(name, source, target, lie) for one, source, target in heard]
        there = [one for one in found if one is not None]
        if len(there) == len(heard) and len({len(one) for one in there}) == 1:
            ways[lie] = there
    first, *others = ways.values() or ([],)
    same = all(torch.equal(a, b) for other in others for a, b in zip(first, other, strict=True))
    return (next(iter(ways)), len(first[0])) if ways and same else None


@dataclass(frozen=True)
class Found:
    """The submodule whose weights over the source are the attention; empty: there is none."""

    name: str = ""
    lie: str = WHOLE
    heads: int = 1
    others: tuple[str, ...] = ()  # that might be it, too


def found_attention(
    module: nn.Module, heard: Sequence[tuple[Attention, int, int]], wanted: str | None
) -> Found:
    """The attention in all pairs that were heard, each with the words of its source and target;
    `wanted` was named.
    """
    every = {name: _lies(name, heard) for name in heard[0][0].softmaxes}
    known = {name: lie for name, lie in every.items() if lie}
    if wanted is None:
        first = next(iter(known.items()), None)
        return Found(first[0], *first[1], tuple(known)[1:]) if first else Found()
    name = wanted if wanted == MODULE else next(iter(modules.named(module, [wanted])))
    lie = known.get(name) or _lies(name, heard)
    if lie is None:
        there = f"there is {', '.join(known)}" if known else "no submodule has any"
        raise RnnlensError(
            f"attention= names {wanted!r}, in which no weights over the source are computed "
            "that are not negative and sum to 1, a row for each target word and head; "
            f"{there}, leave attention= out"
        )
    return Found(name, *lie)
