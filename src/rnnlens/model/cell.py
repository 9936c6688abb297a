"""The cell: what every sort of recurrence can do, and the weights that it is given.

Weights are laid out as in torch.nn.LSTM, GRU and RNN, projections and missing biases included. The
sorts themselves, with their equations, are in `cells`.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from rnnlens.model.kinds import Kind

States = dict[str, Tensor]  # kind -> (B, H) at one timestep, or (T, B, H)
Change = Callable[[str, Tensor], Tensor]  # a kind's letter and its value -> the value to go on with
Equations = dict[str, Callable[[States], Tensor]]  # a kind's letter -> how it follows from others


class Weights(NamedTuple):
    """The weights of one layer and direction, in torch's layout."""

    w_x: Tensor  # (gates * H, I)
    w_h: Tensor  # (gates * H, H), or (4 * H, P) with a projection
    b_x: Tensor | None = None
    b_h: Tensor | None = None
    w_p: Tensor | None = None  # (P, H), an LSTM's projection of its output

    @property
    def bias(self) -> Tensor | None:
        """The sum of both biases, for cells that need nothing else of them."""
        return None if self.b_x is None or self.b_h is None else self.b_x + self.b_h

    def exact(self) -> "Weights":
        """The same in double precision, on the CPU and without gradients."""
        return self._as(torch.float64)

    def single(self) -> "Weights":
        """The same in single precision, on the CPU and without gradients."""
        return self._as(torch.float32)

    def _as(self, precision: torch.dtype) -> "Weights":
        def held(w: Tensor) -> Tensor:
            return w.detach().to("cpu", precision)

        rest = (None if w is None else held(w) for w in self[2:])
        return Weights(held(self.w_x), held(self.w_h), *rest)

    def projected(self, h: Tensor) -> Tensor:
        """The output (..., H), or its projection (..., P)."""
        return h if self.w_p is None else F.linear(h, self.w_p)

    def flat(self) -> list[Tensor]:
        """The weights as torch's fused recurrences take them; cuDNN wants them in one piece."""
        weights = [w for w in self if w is not None]
        if not self.w_x.is_cuda:
            return weights
        parts = torch.cat([w.flatten() for w in weights]).split([w.numel() for w in weights])
        return [part.view_as(w) for part, w in zip(parts, weights, strict=True)]


def unchanged(_letter: str, value: Tensor) -> Tensor:
    """The change that changes nothing."""
    return value


class Cell(ABC):
    """One sort of recurrence: its kinds, and how they follow from weights and input."""

    name: ClassVar[str]
    gates: ClassVar[int]  # how many blocks of H rows the weights have
    kinds: ClassVar[tuple[Kind, ...]]  # in the order of the equations
    carried: ClassVar[tuple[str, ...]]  # the kinds that the next timestep needs
    recurrence: ClassVar[Any]  # the function by which torch computes it

    @abstractmethod
    def step(self, a: Tensor, prev: States, w: Weights, edit: Change = unchanged) -> States:
        """Every kind at one timestep, from a = W_x x + b_x (B, gates * H) and the step before.

        `edit` may put another value in the place of any kind; what follows goes on from that.
        """

    @abstractmethod
    def _states(
        self, x: Tensor, start: States, w: Weights, edits: dict[int, Change], fused: bool
    ) -> States:
        """Every kind at every timestep, quickly; `edits` are changes by timestep.

        On a CPU, where arithmetic is dear, each timestep is one product and every number is
        computed once. Elsewhere, where starting a kernel is dear, torch's `fused` recurrence gives
        the outputs, and one product the gates of all timesteps; it cannot be edited.
        """

    def _edited(self, now: States, again: Equations, edit: Change) -> States:
        """The states of a timestep after a change; what does not depend on it stays to the bit.

        `again` computes a kind from those before it, where one of them has changed.
        """
        states, changed = dict(now), set[str]()
        for kind in self.kinds:
            value = states[kind.id]
            if any(edge.kind in changed and not edge.back for edge in kind.sources):
                value = again[kind.id](states)
            states[kind.id] = edit(kind.id, value)
            if not torch.equal(states[kind.id], now[kind.id]):
                changed.add(kind.id)
        return states

    def outputs(self, x: Tensor, start: States, w: Weights, training: bool = False) -> Tensor:
        """Outputs h (T, B, H) for inputs x (T, B, I), by torch's fused recurrence."""
        states = [start[kind][None].contiguous() for kind in self.carried]
        flags = (w.b_x is not None, 1, 0.0, training, False, False)
        state = states if len(states) > 1 else states[0]
        h: Tensor = self.recurrence(x, state, w.flat(), *flags)[0]
        return h

    def states(
        self, x: Tensor, start: States, w: Weights, edits: dict[int, Change] | None = None
    ) -> States:
        """Every kind (T, B, H) for inputs x (T, B, I), starting from the carried states (B, H).

        Computed in the weights' precision, even within an autocast. `edits` are changes by
        timestep.
        """
        start = {kind: values.to(w.w_x.dtype) for kind, values in start.items()}
        with torch.autocast(x.device.type, enabled=False):
            x = x.to(w.w_x.dtype)
            learning = torch.is_grad_enabled() and any(
                t.requires_grad for t in (x, w.w_x, w.w_h, *start.values())
            )
            if learning:
                return self._stepwise(x, start, w, edits or {})
            fused = x.device.type != "cpu" and len(x) > 1 and not edits
            return self._states(x, start, w, edits or {}, fused)

    def _stepwise(self, x: Tensor, start: States, w: Weights, edits: dict[int, Change]) -> States:
        """The states by `step`, which can be edited and differentiated."""
        steps, prev = list[States](), start
        for t, a in enumerate(F.linear(x, w.w_x, w.b_x)):
            prev = self.step(a, prev, w, edits.get(t, unchanged))
            steps.append(prev)
        return {kind.id: torch.stack([step[kind.id] for step in steps]) for kind in self.kinds}

    @abstractmethod
    def held(self, x: Tensor, w: Weights, read: Tensor, real: States) -> States:
        """The states (T, B, H) for inputs x, from zero, with gates held at what they really were.

        `real` are the states for the inputs `read` (T, B, I). Every tanh is taken as the line from
        zero to where it really is, so that all of it is linear in x, and for `read` the same as
        `real`.
        """

    def described(self, kind: Kind, w: Weights) -> Kind:
        """A kind of this cell; its equation has the projection and biases that the weights have."""
        equation = kind.equation
        if w.w_p is not None and kind.id == "h":
            equation = "h = W_p (o ∘ tanh(c))"
        if w.b_x is None:
            equation = re.sub(r" \+ [bd](_\w)?(?=\))", "", equation.replace(" + b_n", ""))
        return replace(kind, equation=equation)
