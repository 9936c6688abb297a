"""Erasing what states say of labels, in closed form, and reading texts anew without it.

LEACE (Belrose et al. 2023) is the affine map that changes states least, in their own covariance,
among those after which no linear probe tells the labels better than their frequencies do. It takes
out the directions in which states go with labels: as many as there are labels less one, which of
thousands of labels would be all of them. So a rank says how many at most: those that tell most.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from rnnlens.base.errors import RnnlensError
from rnnlens.model.traceable import StateEdit
from rnnlens.probe.dataset import Chunk

RANK = 16  # directions that are taken out at most
MOST_LABELS = 1000  # that are told apart: all rarer ones together are one
_STILL = 1e-9  # share of the largest variance: states do not move in directions of less


@dataclass(frozen=True)
class Eraser:
    """An affine map of the states of one kind that takes some directions out of them."""

    mean: Tensor  # (H,)
    taken: Tensor  # (H, H), whose product with a centred state is taken off it
    rank: int  # directions that are taken out

    def __call__(self, states: Tensor) -> Tensor:
        """States (..., H) without what is erased."""
        mean, taken = self.mean.to(states), self.taken.to(states)
        return states - (states - mean) @ taken.T

    def edits(self, kind: str, steps: int) -> list[StateEdit]:
        """What erases a kind at every timestep, so that all that is computed of it is without it.

        `Traceable.trace(batch, edits=...)` reads a text so.
        """
        return [StateEdit(kind, step, self) for step in range(steps)]


def leace(mean: Tensor, covariance: Tensor, across: Tensor, rank: int | None = None) -> Eraser:
    """The eraser for states with a mean (H,), a covariance (H, H) and, of each label's indicator, a
    covariance with the states, (H, V); of the directions that tell the labels, at most `rank`.
    """
    whiten, colour = _roots(covariance)
    directions, sizes, _ = torch.linalg.svd(whiten @ across.double(), full_matrices=False)
    there = int((sizes > 1e-9 * sizes.max().clamp_min(1e-300)).sum()) if len(sizes) else 0
    count = there if rank is None else min(rank, there)
    return _taking(mean, directions[:, :count], whiten, colour)


def random_eraser(mean: Tensor, covariance: Tensor, rank: int, seed: int = 0) -> Eraser:
    """One that takes out as many directions drawn at random, in the states' own covariance."""
    whiten, colour = _roots(covariance)
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randn(len(mean), rank, generator=generator, dtype=torch.float64)
    directions, _ = torch.linalg.qr(whiten @ colour @ drawn.to(covariance.device))
    return _taking(mean, directions, whiten, colour)


def _taking(mean: Tensor, directions: Tensor, whiten: Tensor, colour: Tensor) -> Eraser:
    taken = colour @ directions @ directions.T @ whiten
    return Eraser(mean.double(), taken, directions.shape[1])


def _roots(covariance: Tensor) -> tuple[Tensor, Tensor]:
    """The inverse root of a covariance and its root, of the directions in which states move."""
    values, vectors = torch.linalg.eigh(covariance.double())
    moves = values > _STILL * values.max().clamp_min(1e-300)
    roots = torch.where(moves, values, torch.ones_like(values)).sqrt()
    inverse, root = (torch.where(moves, r, torch.zeros_like(r)) for r in (1 / roots, roots))
    return (vectors * inverse) @ vectors.T, (vectors * root) @ vectors.T


def _inverse(covariance: Tensor) -> Tensor:
    """Of the directions in which states move; rounding is none."""
    whiten, _ = _roots(covariance)
    return whiten @ whiten.T


class Concept:
    """What erasing a label from several kinds needs to know: sums over states, chunk by chunk."""

    def __init__(self, kinds: Sequence[str], counts: Tensor) -> None:
        """`counts` (V,) of labels in training: the most frequent are told apart."""
        self.kinds = tuple(kinds)
        order = counts.cpu().argsort(descending=True, stable=True)[:MOST_LABELS]
        self.size = len(order) + 1
        self.number = torch.full((len(counts),), len(order), dtype=torch.int64)
        self.number[order] = torch.arange(len(order))
        self.count = 0
        self._labels = torch.zeros(self.size, dtype=torch.float64)
        self._about: dict[str, Tensor] = {}  # the mean of the first chunk, which keeps digits
        self._sums: dict[str, Tensor] = {}  # (H,)
        self._squares: dict[str, Tensor] = {}  # (H, H)
        self._by_label: dict[str, Tensor] = {}  # (V, H)

    def add(self, chunk: Chunk) -> "Concept":
        """Take in the states of a chunk."""
        if not len(chunk.labels):
            return self
        self.count += len(chunk.labels)
        numbers = self.number.to(chunk.labels.device)[chunk.labels]
        self._labels += torch.bincount(numbers, minlength=self.size).double().cpu()
        for kind in self.kinds:
            states = chunk.states[kind]
            about = self._about.setdefault(kind, states.mean(0))
            near = states - about
            by_label = near.new_zeros(self.size, near.shape[1]).index_add_(0, numbers, near)
            terms = (near.double().sum(0), (near.T @ near).double(), by_label.double())
            for sums, term in zip((self._sums, self._squares, self._by_label), terms, strict=True):
                sums[kind] = sums[kind] + term if kind in sums else term
        return self

    def of(self, chunks: Iterable[Chunk], states: int) -> "Concept":
        """Take in chunks until there are so many states."""
        for chunk in chunks:
            if self.add(chunk).count >= states:
                break
        if not self.count:
            raise RnnlensError("there are no states to learn from what is erased; give more data")
        return self

    def eraser(self, kind: str, rank: int | None = RANK) -> Eraser:
        """The eraser of the labels from a kind."""
        return leace(*self._moments(kind), self.across(kind), rank)

    def across(self, kind: str) -> Tensor:
        """The covariance of a kind's states with each label's indicator, (H, V)."""
        sums, share = self._sums[kind], (self._labels / self.count).to(self._sums[kind].device)
        return ((self._by_label[kind] - share[:, None] * sums) / self.count).T

    def telling(self, kind: str) -> Tensor:
        """The linear map from a kind's states that tells the first label best, (H, 1)."""
        _, covariance = self._moments(kind)
        return _inverse(covariance) @ self.across(kind)[:, :1]

    def taking(self, kind: str, told: Tensor) -> Eraser:
        """The eraser of what some linear maps (H, K) tell, which changes states least."""
        mean, covariance = self._moments(kind)
        return leace(mean, covariance, covariance @ told)

    def left(self, kind: str, eraser: Eraser) -> float:
        """Which share of the first label's variance a linear map explains of states that an eraser
        has changed, which it may not have been learned from.
        """
        _, covariance = self._moments(kind)
        keeps = torch.eye(len(covariance)).to(covariance) - eraser.taken.to(covariance)
        across = keeps @ self.across(kind)[:, 0]
        share = float(self._labels[0] / self.count)
        explained = across @ _inverse(keeps @ covariance @ keeps.T) @ across
        return float(explained) / max(share * (1 - share), 1e-12)

    def random(self, kind: str, rank: int, seed: int = 0) -> Eraser:
        """One that takes out as many directions drawn at random."""
        return random_eraser(*self._moments(kind), rank, seed)

    def _moments(self, kind: str) -> tuple[Tensor, Tensor]:
        near = self._sums[kind] / self.count
        covariance = self._squares[kind] / self.count - torch.outer(near, near)
        return self._about[kind].double() + near, covariance
