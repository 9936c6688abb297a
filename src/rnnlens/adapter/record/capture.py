"""Listening to a forward pass: every call of a recurrent part, every output of a named submodule.

While listening, a function stands in for the `forward` of each recurrent part. A hook would not do:
wrappers that drop weights call `part.forward(x)`, which runs no hooks, and the user's hooks may
change what goes in and comes out. All of it happens inside `restoring`, which puts everything back.
"""

from collections.abc import Callable, Mapping
from typing import Any

from torch import Tensor, nn

from rnnlens.adapter.axes.layout import described, tensors
from rnnlens.adapter.record.layers import LayersPart
from rnnlens.adapter.record.parts import CHAIN, Forward, Part
from rnnlens.adapter.record.steps import StepsPart
from rnnlens.base.errors import RnnlensError
from rnnlens.model.cell import Change


class Capture:
    """All that is recorded of one forward pass."""

    def __init__(
        self,
        parts: dict[str, nn.Module],
        named: dict[str, nn.Module],
        checking: bool,
        edits: Mapping[str, list[dict[int, Change]]],
        apart: bool,
    ) -> None:
        """`edits` are changes by timestep, of each part per layer and direction; `apart` says
        whether the chains of a part's calls are kept apart.
        """
        self.parts: dict[str, Part] = {
            name: (LayersPart if isinstance(m, nn.RNNBase) else StepsPart)(name, m, checking)
            for name, m in parts.items()
        }
        for name, changes in edits.items():
            part, _, chain = name.partition(CHAIN)
            self.parts[part].apart = apart
            if any(changes):
                self.parts[part].edits[int(chain or 1) - 1] = changes
        self.named = named
        self.outputs: dict[str, list[Tensor]] = {}  # of the named submodules
        self.embedded: list[Tensor] = []  # outputs of the module's one embedding
        self.order: list[Part | str] = []  # recurrent parts, and names, as they are first called

    def listen(self, embedding: nn.Embedding | None = None) -> None:
        """Begin; to be called inside `restoring`, which ends it."""
        if embedding is not None:
            embedding.register_forward_hook(lambda _m, _a, out: self.embedded.append(out.clone()))
        for part in self.parts.values():
            part.module.__dict__["forward"] = self._stand_in(part, part.module.forward)
        for name, module in self.named.items():
            module.register_forward_hook(self._hook(name))

    def _stand_in(self, part: Part, forward: Forward) -> Forward:
        def call(*args: Any, **kwargs: Any) -> Any:
            answer = part.call(forward, args, kwargs)
            if part not in self.order:
                self.order.append(part)
            return answer

        return call

    def _hook(self, name: str) -> Callable[[nn.Module, Any, Any], None]:
        base, bracket, rest = name.partition("[")
        path = bracket + rest  # `[1]` where the user means the second of several outputs

        def keep(_module: nn.Module, _args: Any, output: Any) -> None:
            values = next((t for at, t in tensors(output) if at.startswith(path)), None)
            if values is None:
                raise RnnlensError(
                    f"{base} returned {described(output)}, in which there is no tensor "
                    f"{path or 'to read'}; name a submodule that returns one"
                )
            self.outputs.setdefault(name, []).append(values.clone())
            if name not in self.order:
                self.order.append(name)

        return keep
