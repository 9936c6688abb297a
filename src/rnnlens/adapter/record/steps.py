"""torch.nn.LSTMCell, GRUCell and RNNCell in a loop of the user's: every call is one timestep."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from rnnlens.adapter.record.calls import Piece
from rnnlens.adapter.record.parts import Forward, Part, flat, local
from rnnlens.model.cell import Change, States, Weights
from rnnlens.model.cells.classic import weights_of
from rnnlens.model.kinds import INPUT


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


def _rows(values: Tensor) -> Tensor:
    """(B, H), also where a single vector is given."""
    return values if values.dim() == 2 else values[None]


def _equal(a: Weights, b: Weights) -> bool:
    """Whether these are the same weights; most often they are the very same tensors."""
    pairs = zip(a.values(), b.values(), strict=True)
    return all(p is q or (p.shape == q.shape and torch.equal(p, q)) for p, q in pairs)
