"""A map of a kind's states: the first two principal components of the standardised states, found
before an index is made, so that each state is put in its place on the way.

States are standardised, each number by its own deviation, as a memory often has a few numbers that
count up and up and would be all there is to see. Components are found from sentences spread evenly
over the corpus, in one pass whose memory does not grow with it. What they explain is the share of
the variance among those.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import damaged
from rnnlens.base.tensors import Layouts, check_types, packed, read_tensors
from rnnlens.model.cell import States

WORDS = 4_096  # about how many the components are found from, at most
SHARE = 1 / 4  # of all words, at most: what is read for it is read twice
LEAST = 256  # where there are as many
_STILL = 1e-12  # share of a number's squared mean: a smaller variance is rounding
_WIDE = 1_024  # numbers of a state, from which on only the first components are computed
_BLOCK, _ROUNDS, _NEAR = 32, 200, 1e-9  # how: vectors at once, at most so often, error of the first
_STEPS = 64  # of places on a map to the deviation along the first component


@dataclass(frozen=True)
class Axes:
    """The two components of a kind's states."""

    mean: Tensor  # (H,)
    directions: Tensor  # (2, H), over the deviation; zeros where there is no variance left
    shares: tuple[float, float]  # of the variance
    step: float  # places are whole numbers of these, so that they pack well

    def on(self, device: torch.device) -> "Axes":
        """These, where the states are whose places are asked for."""
        return replace(self, mean=self.mean.to(device), directions=self.directions.to(device))

    def places(self, states: Tensor) -> Tensor:
        """Where states (N, H) are on the map, (N, 2)."""
        exact = (states.float() - self.mean) @ self.directions.T
        return (exact / self.step).round_().mul_(self.step)


class Sums:
    """Sums over the states of one kind and over the products of their numbers, in float64 and
    about the first chunk's mean, so that large numbers that differ little keep their digits.
    """

    def __init__(self) -> None:
        self.count = 0

    def add(self, states: Tensor) -> None:
        """Add states (N, H)."""
        if not self.count:
            self.about = states.double().mean(0)
            self.sums = torch.zeros_like(self.about)
            self.products = self.sums.new_zeros(len(self.sums), len(self.sums))
        near = states.double() - self.about
        self.count += len(near)
        self.sums += near.sum(0)
        self.products += near.T @ near

    def axes(self) -> Axes:
        """The components of the standardised states, in a direction that is always the same: their
        largest number is above zero.
        """
        off = self.sums / self.count
        covariance = self.products / self.count - torch.outer(off, off)
        if not bool(torch.isfinite(covariance).all()):
            raise RnnlensError("the network's numbers are too large to index; train it anew")
        variance = covariance.diagonal().clamp_min(0)
        moves = variance > _STILL * (self.about + off).square() + 1e-30
        scale = torch.where(moves, variance, torch.inf).sqrt().reciprocal()
        correlation = (covariance * torch.outer(scale, scale)).cpu()
        values, vectors = _components(correlation)
        total = float(correlation.trace())
        directions = torch.zeros(2, vectors.shape[1], dtype=torch.float64)
        shares = [0.0, 0.0]
        for k in range(min(2, len(values))):
            if float(values[k]) > 1e-12 * total:
                largest = vectors[k][vectors[k].abs().argmax()]
                directions[k] = vectors[k] * largest.sign() * scale.cpu()
                shares[k] = float(values[k]) / total
        deviation = float(values[0].sqrt()) if shares[0] else 1.0
        step = 2.0 ** np.floor(np.log2(max(deviation, 1e-30) / _STEPS))
        mean = (self.about + off).float().cpu()
        return Axes(mean, directions.float(), (shares[0], shares[1]), float(step))


def _components(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """The eigenvalues of a symmetric matrix, the largest first, and its vectors (K, H).

    Of a wide one only the first, by turning a block of vectors towards them until the first two
    are exact: all of them take time as the cube of its width. Where they do not come, all.
    """
    if len(matrix) >= _WIDE:
        generator = torch.Generator().manual_seed(0)
        block = torch.randn(len(matrix), _BLOCK, generator=generator, dtype=matrix.dtype)
        for _ in range(_ROUNDS):
            basis = torch.linalg.qr(block).Q
            block = matrix @ basis
            values, turned = torch.linalg.eigh(basis.T @ block)
            values, vectors = values[-2:].flip(0), (basis @ turned[:, -2:]).flip(1)
            off = (block @ turned[:, -2:]).flip(1) - vectors * values
            if float(off.norm()) <= _NEAR * float(values[0]):
                return values.clamp_min(0), vectors.T
    values, vectors = torch.linalg.eigh(matrix)
    return values.flip(0).clamp_min(0), vectors.flip(1).T


def axes_of(chunks: Iterable[States], kinds: Sequence[str]) -> dict[str, Axes]:
    """The components of each kind, from states chunk by chunk."""
    sums = {kind: Sums() for kind in kinds}
    for states in chunks:
        for kind in kinds:
            sums[kind].add(states[kind])
    return {kind: one.axes() for kind, one in sums.items()}


def packed_axes(axes: Mapping[str, Axes]) -> bytes:
    """The bytes of a file of axes."""
    tensors: dict[str, Tensor] = {}
    for kind, one in axes.items():
        tensors[f"{kind}/mean"], tensors[f"{kind}/directions"] = one.mean, one.directions
        tensors[f"{kind}/scale"] = torch.tensor([*one.shares, one.step], dtype=torch.float64)
    return packed(tensors)


def read_axes(path: Path, sha: str, kinds: Sequence[str], remedy: str) -> dict[str, Axes]:
    """The axes of a file; refused where they are damaged, or of other kinds."""

    def fits(layouts: Layouts) -> None:
        check_types(layouts)
        wanted = {f"{kind}/{name}" for kind in kinds for name in ("mean", "directions", "scale")}
        if wanted != layouts.keys():
            raise ValueError("it is of other kinds than the index has on its map")
        for kind in kinds:
            shapes = [layouts[f"{kind}/{name}"].shape for name in ("mean", "directions", "scale")]
            if len(shapes[0]) != 1 or shapes[1:] != [(2, *shapes[0]), (3,)]:
                raise ValueError(f"the axes of {kind} have shapes that do not belong together")

    tensors, axes = read_tensors(path, sha, fits, remedy), {}
    for kind in kinds:
        mean, directions, scale = (
            tensors[f"{kind}/{name}"] for name in ("mean", "directions", "scale")
        )
        first, second, step = scale.double().tolist()
        shares = first, second
        if not (
            all(bool(torch.isfinite(one).all()) for one in (mean, directions, scale))
            and min(shares) >= 0
            and sum(shares) <= 1 + 1e-6
            and step > 0
        ):
            raise damaged(path, f"the axes of {kind} hold numbers that none can have", remedy)
        axes[kind] = Axes(mean.float(), directions.float(), shares, step)
    return axes
