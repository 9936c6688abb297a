"""Questions to a memory that is a matrix: what a probe of it reads are the answers.

A linear probe of all numbers of such a memory is out of reach: 50,000 labels by 196,608 numbers are
9.8 billion weights for one layer. A layer itself never reads all of it, but asks: r = q S, a number
for each value. So does a probe, with a few questions of its own for each head, which are learned:
logits = U vec(Q S), linear in the memory and in the questions.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from rnnlens.model.transition import LARGEST, LARGEST_ANSWERS, Matrix

QUESTIONS = 4  # a head, unless somebody wants another number
_FIRST, _LAST = "questions", "questions_last"  # how the tensor is called in a file


@dataclass(frozen=True)
class Questions:
    """Some questions for each head of a memory."""

    matrix: Matrix
    weight: Tensor  # (heads, keys, questions)

    @property
    def count(self) -> int:
        """How many there are for each head."""
        return self.weight.shape[2]

    @property
    def width(self) -> int:
        """How many numbers the answers have."""
        return self.matrix.heads * self.matrix.values * self.count

    def __call__(self, states: Tensor) -> Tensor:
        """The answers (..., width) of memories (..., numbers)."""
        shaped, weight = self.matrix.shaped(states), self.weight.to(states)
        if self.matrix.keys_last:
            return (shaped @ weight).flatten(-3)
        return (weight.transpose(1, 2) @ shaped).flatten(-3)

    def gradient(self, states: Tensor, answers: Tensor) -> Tensor:
        """The gradient by the questions, (heads, keys, questions), of what has a gradient `answers`
        (N, width) by the answers of memories (N, numbers).
        """
        by_keys = self.matrix.by_keys(states)  # (N, heads, keys, values)
        return torch.einsum("nhkv,nhvm->hkm", by_keys, self._by_values(answers))

    def lifted(self, rows: Tensor) -> Tensor:
        """What is a linear map of answers, rows (N, width), as one of memories, (N, numbers)."""
        by_values = self._by_values(rows)  # (N, heads, values, questions)
        memory = by_values @ self.weight.to(rows).transpose(1, 2)  # (N, heads, values, keys)
        return (memory if self.matrix.keys_last else memory.transpose(-1, -2)).flatten(-3)

    def _by_values(self, answers: Tensor) -> Tensor:
        """Answers (N, width) as (N, heads, values, questions)."""
        heads, values = self.matrix.heads, self.matrix.values
        last = (values, self.count) if self.matrix.keys_last else (self.count, values)
        shaped: Tensor = answers.unflatten(-1, (heads, *last))
        return shaped if self.matrix.keys_last else shaped.transpose(-1, -2)

    def to(self, device: torch.device) -> "Questions":
        """A copy on a device."""
        return replace(self, weight=self.weight.to(device))

    def named(self, at: str) -> dict[str, Tensor]:
        """Its tensor by its name in a file, behind the name of semantic and kind."""
        return {f"{at}/{_LAST if self.matrix.keys_last else _FIRST}": self.weight.float().cpu()}


def question_names(at: str) -> tuple[str, str]:
    """How the tensor of questions may be called in a file: keys before values, or behind."""
    return f"{at}/{_FIRST}", f"{at}/{_LAST}"


def questions_in(tensors: Mapping[str, Tensor], at: str, width: int) -> Questions | None:
    """The inverse of `named`, where answers have so many numbers; None: the kind is not asked."""
    for name in question_names(at):
        if name in tensors:
            weight = tensors[name].float()
            heads, keys, count = weight.shape
            matrix = Matrix(heads, keys, width // (heads * count), name.endswith(_LAST))
            return Questions(matrix, weight)
    return None


def how_many(matrix: Matrix, wanted: int) -> int:
    """How many questions a head of a memory is asked: 0 where its numbers are few enough to be read
    as they are, or where so many questions would be as many numbers.

    `wanted`: as somebody wants it; 0: as many as usual, and none where a probe can read it whole.
    """
    if not wanted and matrix.numbers <= LARGEST:
        return 0
    count = min(wanted or QUESTIONS, LARGEST_ANSWERS // (matrix.heads * matrix.values))
    return 0 if count >= matrix.keys else count
