"""How one timestep of a recurrence treats its memory: S = T(S₋₁) + W, where T is linear once the
gates are known; and the shape of a memory that is a matrix.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

LARGEST = 4096  # numbers of a state that a linear probe is fitted to
LARGEST_ANSWERS = 8192  # numbers of the answers to all questions together, where it is asked some


class Transition(NamedTuple):
    """T(S) = decay ∘ S + put ⊗ (ask · S): a number for each unit or head, or diagonal plus rank 1.

    Of a matrix (..., K, V) the keys' axis is asked and put to; all leading axes are free.
    """

    decay: Tensor  #: (..., K, V), 1 long where it is the same along an axis; of a vector (..., H).
    put: Tensor | None = None  #: (..., K): where what was asked is added; None: nothing is.
    ask: Tensor | None = None  #: (..., K): what the memory is asked.

    def __call__(self, memory: Tensor) -> Tensor:
        """What is left of a memory."""
        return self._through(memory, self.put, self.ask)

    def back(self, through: Tensor) -> Tensor:
        """What a unit of the memory before counts for, where one after counts for `through`: the
        transpose.
        """
        return self._through(through, self.ask, self.put)

    def erased(self, memory: Tensor) -> Tensor:
        """What is taken out of a memory beside its decay."""
        return self.decay * memory - self(memory)

    @property
    def half_life(self) -> Tensor:
        """The timesteps after which half of a unit is left, were every step like this one, in the
        shape of `decay`; what erases is left out, and infinity stands for what stays.
        """
        lives = math.log(0.5) / self.decay.abs().log()
        return torch.where(self.decay.abs() < 1, lives, math.inf)

    def _through(self, memory: Tensor, put: Tensor | None, ask: Tensor | None) -> Tensor:
        kept = self.decay * memory
        if put is None or ask is None:
            return kept
        return kept + put[..., None] * (ask[..., None] * memory).sum(-2, keepdim=True)


class Matrix(NamedTuple):
    """The shape of a memory that is a matrix for each head: which of its axes is asked."""

    heads: int
    keys: int
    values: int
    keys_last: bool  #: Whether it lies as values by keys, S q, and not as keys by values, q S.

    @property
    def numbers(self) -> int:
        """How many numbers it has."""
        return self.heads * self.keys * self.values

    @property
    def askable(self) -> bool:
        """Whether questions to it have answers that a probe can read."""
        return self.heads * self.values <= LARGEST_ANSWERS

    def shaped(self, states: Tensor) -> Tensor:
        """States (..., numbers) in their own shape, (..., heads, keys, values) or, where keys come
        last, (..., heads, values, keys).
        """
        own = (self.values, self.keys) if self.keys_last else (self.keys, self.values)
        shaped: Tensor = states.unflatten(-1, (self.heads, *own))
        return shaped

    def by_keys(self, states: Tensor) -> Tensor:
        """States (..., numbers) as (..., heads, keys, values), whichever way they lie."""
        shaped = self.shaped(states)
        return shaped.transpose(-1, -2) if self.keys_last else shaped
