"""Listening to a forward pass: every call of a recurrent part, every output of a named one.

A recurrent part's `forward` is stood in for while listening, rather than hooked: wrappers that
drop weights call `part.forward(x)`, which runs no hooks, and a user's own hooks may change what
goes in and comes out. All of it happens inside `untouched`, which puts everything back.
"""

from collections.abc import Callable, Mapping
from typing import Any

from torch import Tensor, nn

from rnnlens.adapter.axes.layout import described, tensors
from rnnlens.adapter.record.parts import RUN, Forward, LayersPart, Part, StepsPart
from rnnlens.errors import RnnlensError
from rnnlens.model.cells import Change


class Capture:
    """All that is heard of one forward pass."""

    def __init__(
        self,
        parts: dict[str, nn.Module],
        named: dict[str, nn.Module],
        checking: bool,
        edits: Mapping[str, list[dict[int, Change]]] | None = None,
        apart: bool = False,
    ) -> None:
        """`edits` are changes by timestep, of each part per layer and direction; `apart` says
        whether runs of a part are parts of their own.
        """
        self.parts = {
            name: (LayersPart if isinstance(m, nn.RNNBase) else StepsPart)(name, m, checking)
            for name, m in parts.items()
        }
        for name, changes in (edits or {}).items():
            part, _, run = name.partition(RUN)
            self.parts[part].apart = apart
            if any(changes):
                self.parts[part].edits[int(run or 1) - 1] = changes
        self.named = named
        self.outputs: dict[str, list[Tensor]] = {}
        self.embedded: list[Tensor] = []  # what the module's one embedding returned
        self.order: list[Part | str] = []  # recurrent parts, and names, as they were first called

    def listen(self, embedding: nn.Embedding | None = None) -> None:
        """Begin; to be called inside `untouched`, which ends it."""
        if embedding is not None:
            embedding.register_forward_hook(lambda _m, _a, out: self.embedded.append(out.clone()))
        for part in self.parts.values():
            part.module.__dict__["forward"] = self._stand_in(part, part.module.forward)
        for name, module in self.named.items():
            module.register_forward_hook(self._hook(name))

    def _stand_in(self, part: Part, forward: Forward) -> Forward:
        def call(*args: Any, **kwargs: Any) -> Any:
            answer = part.call(forward, args, kwargs)
            if all(part is not heard for heard in self.order):
                self.order.append(part)
            return answer

        return call

    def _hook(self, name: str) -> Callable[[nn.Module, Any, Any], None]:
        def hear(_module: nn.Module, _args: Any, output: Any) -> None:
            base, bracket, path = name.partition("[")
            found = next((t for at, t in tensors(output) if at.startswith(bracket + path)), None)
            if found is None:
                raise RnnlensError(
                    f"{base} returned {described(output)}, in which there is no tensor "
                    f"{bracket + path or 'to read'}; name a submodule that returns one"
                )
            self.outputs.setdefault(name, []).append(found.clone())
            if name not in self.order:
                self.order.append(name)

        return hear
