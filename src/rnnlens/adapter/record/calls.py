"""Calls of one recurrent part put together: which call continues which, and one tensor of all.

A part may be called once with a whole batch, once per timestep, or once per sequence. A call that
is given the state an earlier one returned continues it in time. One that starts afresh (from no
state, from zeros, or from the very state the first call started from) begins new sequences, which
stand beside the earlier ones as further columns of the batch; or, of a part that reads the same
batch twice, as those of an encoder of pairs, they are read apart.
"""

from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence

from rnnlens.errors import RnnlensError
from rnnlens.model.cells import States


@dataclass
class Piece:
    """What one call adds: every kind for its timesteps and sequences."""

    states: States  # kind -> (T, B, H)
    lengths: Tensor | None = None  # (B,); None: all as long as T
    packed: PackedSequence | None = None  # how the input was packed, of the last call

    def reordered(self, order: Tensor) -> "Piece":
        """The same with its sequences in another order."""
        states = {kind: values.index_select(1, order) for kind, values in self.states.items()}
        return Piece(states, None if self.lengths is None else self.lengths[order], self.packed)


@dataclass(eq=False)
class Run:
    """Calls that continue one another."""

    state: Tensor | None  # what the first call was given
    last: Tensor  # what the last call returned
    calls: list[int] = field(default_factory=list)
    steps: int = 0  # timesteps read so far


class Runs:
    """The runs of one part's calls, in the order they began."""

    def __init__(self, part: str) -> None:
        self.part = part
        self.runs: list[Run] = []
        self.count = 0
        self._newest: Run | None = None
        self._interleaved = False

    def place(self, given: Tensor | None) -> tuple[int, int]:
        """The run that a call with this state belongs to, and the timestep it begins at."""
        run = self._continued(given)
        return (len(self.runs), 0) if run is None else (self.runs.index(run), run.steps)

    def add(self, given: Tensor | None, returned: Tensor, steps: int = 1) -> None:
        """Take in the next call: the state it was given, the one it returned, its timesteps."""
        run = self._continued(given)
        if run is None:
            run = Run(given if given is None else given.clone(), returned)
            self.runs.append(run)
        elif run is not self._newest:
            self._interleaved = True
        run.calls.append(self.count)
        run.last = returned
        run.steps += steps
        self.count += 1
        self._newest = run

    def _continued(self, given: Tensor | None) -> Run | None:
        """The run that a call with this state continues; none: it starts afresh."""
        if given is None or not self.runs:
            return None
        for run in reversed(self.runs):
            if run.last.data_ptr() == given.data_ptr():  # also of its first sequences alone
                return run
        for run in reversed(self.runs):
            if _same(run.last, given):
                return run
        first = self.runs[0].state
        if not bool(given.any()) or (first is not None and _same(first, given)):
            return None
        if self._interleaved:
            raise RnnlensError(
                f"{self.part} is called for several sequences in turn, and the state given to call "
                f"{self.count + 1} is none that it returned: which sequence that continues cannot "
                "be told; use one module for each sequence, or pass the states on unchanged"
            )
        return self._newest  # changed on the way: masked, dropped out, attended to

    def apart(self, pieces: list[Piece]) -> list[Piece]:
        """One piece of each run, joined in time."""
        return [self._in_time([pieces[call] for call in run.calls]) for run in self.runs]

    def join(self, pieces: list[Piece]) -> Piece:
        """One piece of all calls' pieces: runs in time, and beside one another."""
        runs = self.apart(pieces)
        if len(runs) == 1:
            return runs[0]
        steps = [len(next(iter(run.states.values()))) for run in runs]
        longest = max(steps)
        states = {
            kind: torch.cat([F.pad(r.states[kind], (0, 0, 0, 0, 0, longest - t))
                             for r, t in zip(runs, steps, strict=True)], 1)
            for kind in runs[0].states
        }  # fmt: skip
        lengths = torch.cat([_lengths(run) for run in runs])
        full = bool((lengths == longest).all())
        return Piece(states, None if full else lengths, runs[-1].packed)

    def _in_time(self, pieces: list[Piece]) -> Piece:
        """One run; the batch may shrink as its last sequences end, as a packed one does."""
        if len(pieces) == 1:
            return pieces[0]
        widths = [_shape(piece)[1] for piece in pieces]
        if sorted(widths, reverse=True) != widths:
            raise RnnlensError(
                f"{self.part} is called with {min(widths)} sequences and then continued with "
                f"{max(widths)}: whose states those are cannot be told; keep the batch, or let its "
                "last sequences end first"
            )
        if any(piece.lengths is not None for piece in pieces[:-1]):
            raise RnnlensError(
                f"{self.part} is continued after a call with sequences of several lengths; pack "
                "only the last of the calls that continue one another"
            )
        states = {
            kind: torch.cat([F.pad(p.states[kind], (0, 0, 0, widths[0] - width))
                             for p, width in zip(pieces, widths, strict=True)])
            for kind in pieces[0].states
        }  # fmt: skip
        ended = zip(map(_lengths, pieces), widths, strict=True)
        lengths = torch.stack([F.pad(n, (0, widths[0] - width)) for n, width in ended]).sum(0)
        total = len(next(iter(states.values())))
        full = bool((lengths == total).all())
        return Piece(states, None if full else lengths, pieces[-1].packed)


def _same(a: Tensor, b: Tensor) -> bool:
    return a.shape == b.shape and a.dtype == b.dtype and torch.equal(a, b)


def _shape(piece: Piece) -> tuple[int, int]:
    """T and B."""
    values = next(iter(piece.states.values()))
    return values.shape[0], values.shape[1]


def _lengths(piece: Piece) -> Tensor:
    if piece.lengths is not None:
        return piece.lengths
    steps, batch = _shape(piece)
    device = next(iter(piece.states.values())).device
    return torch.full((batch,), steps, device=device)
