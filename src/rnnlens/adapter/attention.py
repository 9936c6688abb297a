"""The attention of a decoder: weights over the words of a source, one row for each target word.

They are looked for among all that a softmax gives while a pair is read, and in what submodules
return. Weights are not negative and sum to 1 over the source; what they are used for is not said.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
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
        made = func(*args, **given)
        axis = given.get("dim", args[1] if len(args) > 1 else None)
        if func in _SOFTMAXES and isinstance(axis, int) and self.running:
            self.softmaxes.setdefault(self.running[-1], []).append((made.detach(), axis))
        return made


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

    def names(self, source: int, target: int) -> list[str]:
        """The submodules in which weights over a source of so many words are computed."""
        return [n for n in self.softmaxes if self.weights(n, source, target) is not None]

    def weights(self, name: str, source: int, target: int) -> Tensor | None:
        """The weights (T, S) that are computed in a submodule, or that it returns; None: none."""
        heard = self.softmaxes.get(name, ())
        found = _rows([one.movedim(axis, -1) for one, axis in heard], source, target)
        if found is not None:
            return found
        calls = [[tensor for _, tensor in tensors(one)] for one in self.returned.get(name, ())]
        for place in range(min(map(len, calls), default=0)):
            every = [some[place] for some in calls]
            for axis in reversed(range(every[0].dim())):
                turned = [one.movedim(axis, -1) for one in every if one.dim() > axis]
                found = _rows(turned, source, target)
                if found is not None:
                    return found
        return None


def _rows(values: Sequence[Tensor], source: int, target: int) -> Tensor | None:
    """Weights (T, S), in one tensor or one after the other; None: these are no weights."""
    if not values or any(one.shape[-1:] != (source,) for one in values):
        return None
    if sum(one.numel() for one in values) != source * target:
        return None
    rows = torch.cat([one.detach().float().cpu().reshape(-1, source) for one in values])
    sound = bool((rows >= 0).all()) and bool(((rows.sum(1) - 1).abs() <= _SUM).all())
    return rows if sound else None


def found_attention(
    module: nn.Module, heard: Sequence[tuple[Attention, int, int]], wanted: str | None
) -> tuple[str, list[str]]:
    """The submodule whose weights are the attention in all pairs that were heard, each with the
    words of its source and target; and others that might be. `wanted` was named.
    """
    if wanted is not None:
        name = wanted if wanted == MODULE else next(iter(modules.named(module, [wanted])))
        if any(one.weights(name, *sizes) is None for one, *sizes in heard):
            known = heard[0][0].names(*heard[0][1:])
            there = f"there is {', '.join(known)}" if known else "no submodule has any"
            raise RnnlensError(
                f"attention= names {wanted!r}, in which no weights over the source are computed "
                "that are not negative and sum to 1, a row for each target word; "
                f"{there}, leave attention= out"
            )
        return name, []
    names = [set(one.names(*sizes)) for one, *sizes in heard]
    every = [name for name in heard[0][0].softmaxes if all(name in some for some in names)]
    return (every[0] if every else ""), every[1:]
