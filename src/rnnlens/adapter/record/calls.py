"""The calls of one recurrent part: which call continues which, and the states of all together.

A part may be called once with a whole batch, once per timestep, or once per sequence. A call that
is given the state an earlier one returned continues it in time: the two belong to one chain. A call
that starts afresh (from no state, from zeros, or from the very state the first call started from)
begins a new chain, and its sequences stand beside the earlier ones as further columns of the batch.
Where a part reads the same batch twice, as in an encoder of pairs, its chains are kept apart.
"""

from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence

from rnnlens.base.errors import RnnlensError
from rnnlens.model.cell import States
from rnnlens.model.lazy import at_hand, of_each


@dataclass
class Piece:
    """The states of one call, or of several joined: every kind for its timesteps and sequences."""

    states: States  # kind -> (T, B, H)
    lengths: Tensor | None = None  # (B,); None: all as long as T
    packed: PackedSequence | None = None  # how the input of the last call was packed

    @property
    def shape(self) -> torch.Size:
        """T and B."""
        return next(iter(at_hand(self.states).values())).shape[:2]

    def ends(self) -> Tensor:
        """The length of each sequence (B,), also where all have the same."""
        if self.lengths is not None:
            return self.lengths
        steps, batch = self.shape
        device = next(iter(at_hand(self.states).values())).device
        return torch.full((batch,), steps, device=device)

    def reordered(self, order: Tensor) -> "Piece":
        """The call with its sequences in another order."""
        states = of_each(self.states, lambda _, values: values.index_select(1, order))
        return Piece(states, None if self.lengths is None else self.lengths[order], self.packed)


@dataclass(eq=False)
class Chain:
    """Calls that continue one another."""

    start: Tensor | None  # the state that the first call was given
    last: Tensor  # the state that the last call returned
    calls: list[int] = field(default_factory=list)  # their numbers
    steps: int = 0  # timesteps read so far


class Chains:
    """The chains of one part's calls, in the order they began."""

    def __init__(self, part: str) -> None:
        self.part = part
        self.chains: list[Chain] = []
        self.count = 0  # of calls
        self._newest: Chain | None = None
        self._interleaved = False

    def __len__(self) -> int:
        return len(self.chains)

    def place(self, state: Tensor | None) -> tuple[int, int]:
        """The chain that a call with this state belongs to, and the timestep it begins at."""
        chain = self._continued(state)
        return (len(self), 0) if chain is None else (self.chains.index(chain), chain.steps)

    def add(self, state: Tensor | None, returned: Tensor, steps: int = 1) -> None:
        """Take in the next call: the state it is given, the one it returns, its timesteps."""
        chain = self._continued(state)
        if chain is None:
            chain = Chain(state if state is None else state.clone(), returned)
            self.chains.append(chain)
        elif chain is not self._newest:
            self._interleaved = True
        chain.calls.append(self.count)
        chain.last = returned
        chain.steps += steps
        self.count += 1
        self._newest = chain

    def _continued(self, state: Tensor | None) -> Chain | None:
        """The chain that a call with this state continues; None where it starts afresh."""
        if state is None or not self.chains:
            return None
        for chain in reversed(self.chains):
            if chain.last.data_ptr() == state.data_ptr():  # also of its first sequences alone
                return chain
        for chain in reversed(self.chains):
            if _same(chain.last, state):
                return chain
        start = self.chains[0].start
        if not bool(state.any()) or (start is not None and _same(start, state)):
            return None
        if self._interleaved:
            raise RnnlensError(
                f"{self.part} is called for several sequences in turn, and the state given to call "
                f"{self.count + 1} is none that it returned: which sequence that continues cannot "
                "be told; use one module for each sequence, or pass the states on unchanged"
            )
        return self._newest  # the state changed on the way: masked, dropped out, attended to

    def apart(self, pieces: list[Piece]) -> list[Piece]:
        """One piece for each chain, from one for each call."""
        return [self._in_time([pieces[call] for call in chain.calls]) for chain in self.chains]

    def join(self, pieces: list[Piece]) -> Piece:
        """One piece for all calls: each chain joined in time, and the chains side by side."""
        return _concatenated(self.apart(pieces), 1)

    def _in_time(self, pieces: list[Piece]) -> Piece:
        """One chain joined; its batch may shrink as sequences end, as a packed batch does."""
        widths = [piece.shape[1] for piece in pieces]
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
        return _concatenated(pieces, 0)


def _concatenated(pieces: list[Piece], axis: int) -> Piece:
    """Pieces one after another in time (axis 0) or side by side (axis 1); the other axis padded."""
    if len(pieces) == 1:
        return pieces[0]
    other = 1 - axis
    size = max(piece.shape[other] for piece in pieces)
    states = {}
    for kind in pieces[0].states:
        parts = [piece.states[kind] for piece in pieces]
        missing = [size - values.shape[other] for values in parts]
        pads = [(0, 0, 0, n) if axis == 0 else (0, 0, 0, 0, 0, n) for n in missing]
        states[kind] = torch.cat(list(map(F.pad, parts, pads)), axis)
    ends = [piece.ends() for piece in pieces]
    if axis == 0:
        lengths = torch.stack([F.pad(n, (0, size - len(n))) for n in ends]).sum(0)
    else:
        lengths = torch.cat(ends)
    joined = Piece(states, lengths, pieces[-1].packed)
    if bool((lengths == joined.shape[0]).all()):
        joined.lengths = None
    return joined


def _same(a: Tensor, b: Tensor) -> bool:
    return a.shape == b.shape and a.dtype == b.dtype and torch.equal(a, b)
