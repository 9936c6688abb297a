"""The parameters of each family of probes while it is fitted, and their gradients.

The probes are a `Stack`. Parameters are float32; on CUDA, products run on bfloat16 copies unless
labels are few, and sizes are padded to multiples of 64, which is what tensor cores want. Gradients
are written out, since autograd would also compute those of the states.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import torch
from torch import Tensor

from rnnlens.labels.sets import LabelSet
from rnnlens.model.packed import product_once
from rnnlens.model.traceable import Readout
from rnnlens.probe.fit_config import FEW_LABELS
from rnnlens.probe.kernels import (
    fuses,
    sigmoid_gradient_,
    softmax_gradient_,
    softmax_regression_,
)
from rnnlens.probe.moments import Moments
from rnnlens.probe.probes import Stack

ALIGN = 64
_MANY_ROWS = 8  # for each column
_NOTHING = 1e-7  # of the largest singular value
_ALIGN_ON_CPU = 16  # columns, so that rows of weights begin at aligned addresses


def padded(size: int, align: int = ALIGN) -> int:
    """The next multiple of `align`."""
    return -(-size // align) * align


class Family(ABC):
    """The probes of all kinds under one semantic, while they are fitted."""

    rank = 0

    def __init__(
        self, moments: Moments, kinds: Sequence[str], answers: LabelSet, device: torch.device
    ) -> None:
        self.moments, self.kinds, self.label_count = moments, tuple(kinds), len(answers)
        self.scale = answers.scale
        self.gradient_ = sigmoid_gradient_ if answers.several else softmax_gradient_
        self.device = device
        is_cuda = device.type == "cuda"
        # Few labels are told by differences of large weights, which bfloat16 would round away.
        many = self.label_count > FEW_LABELS
        half = torch.bfloat16 if is_cuda and many else torch.float32
        self.rows = padded(self.label_count) if is_cuda else self.label_count
        widths = [len(moments.mean(kind)) for kind in kinds]
        self.columns = padded(1 + max(widths), ALIGN if is_cuda else _ALIGN_ON_CPU)
        mean = torch.zeros(len(kinds), self.columns, dtype=torch.float32, device=device)
        scale = torch.ones_like(mean)
        for k, kind in enumerate(kinds):
            mean[k, : widths[k]] = moments.centre(kind)
            scale[k, : widths[k]] = moments.scale(kind)
        self.weights = self._start_at_zero()  # in float32
        self.working = {name: w.to(half) for name, w in self.weights.items()}
        self.gradients = {name: torch.zeros_like(w) for name, w in self.working.items()}
        self.stack = Stack(self.kinds, tuple(widths), mean, scale, self.working["map"],
                           self.working.get("labels"), self.rank)  # fmt: skip

    @abstractmethod
    def _start_at_zero(self) -> dict[str, Tensor]:
        """Parameters of zero: `map` and, for shared probes, `labels`."""

    @abstractmethod
    def start(self, readout: Readout | None, log_prior: Tensor) -> None:
        """Set the parameters to the closed form of a readout, or without one to the prior."""

    @abstractmethod
    def silence(self, k: int, weights: dict[str, Tensor], log_prior: Tensor) -> None:
        """Let the probe of the k-th kind say the frequencies of labels, whatever the state is."""

    def nll(self, k: int, x: Tensor, labels: Tensor) -> Tensor:
        """Each state's negative log-likelihood."""
        return self.gradient_(self._logits(k, x), labels, self.label_count, 0.0)

    def _logits(self, k: int, x: Tensor) -> Tensor:
        """What the stack says of prepared states, by weights that change with the next step."""
        z = product_once(x, self.stack.map[k])
        return z if self.stack.labels is None else product_once(z, self.stack.labels)

    @abstractmethod
    def learn(
        self, k: int, x: Tensor, labels: Tensor, scale: float, back: Tensor | None = None
    ) -> Tensor:
        """Add to the gradients; return each state's negative log-likelihood. Into `back`, where it
        is given, goes the gradient by the prepared states, (N, columns).
        """

    def result(self, weights: dict[str, Tensor]) -> Stack:
        """The probes with these weights, without the rows that pad the labels."""
        map_, labels = weights["map"], weights.get("labels")
        if labels is None:
            return replace(self.stack, map=map_[:, : self.label_count])
        return replace(self.stack, map=map_, labels=labels[: self.label_count])

    def round_(self, k: int, weights: dict[str, Tensor]) -> None:
        """Round the map of the k-th kind as it was for the products of steps; labels that all kinds
        share stay as they are.
        """
        weights["map"][k] = weights["map"][k].to(self.stack.map.dtype).float()

    def improved(self, better: Tensor, best: dict[str, Tensor]) -> None:
        """Copy into `best` the weights of the kinds that are better, (K,) bools."""
        for name, weight in self.weights.items():
            best[name][better] = weight[better]

    def refresh(self) -> None:
        """Bring the working copies up to date and clear the gradients, as `adamw_` does."""
        for name, weight in self.weights.items():
            if self.working[name] is not weight:
                self.working[name].copy_(weight)
            self.gradients[name].zero_()

    def fold(self, kind: str, weight: Tensor, bias: Tensor, out: Tensor) -> None:
        """Write into `out` a weight (rows, H) and a bias (rows,) that are for states as they are.

        `out` is for prepared states, so it takes the mean and scale of the kind into account.
        """
        mean, scale = self.moments.centre(kind), self.moments.scale(kind)
        out[: len(weight), : len(mean)] = (weight * scale).float()
        out[: len(weight), len(mean)] = (bias + weight @ mean).float()


class Linear(Family):
    """The paper's probes: one matrix a kind, together (K, rows, columns)."""

    def _start_at_zero(self) -> dict[str, Tensor]:
        shape = (len(self.kinds), self.rows, self.columns)
        return {"map": torch.zeros(shape, dtype=torch.float32, device=self.device)}

    def start(self, readout: Readout | None, log_prior: Tensor) -> None:
        for weight, kind in zip(self.weights["map"], self.kinds, strict=True):
            mean = self.moments.mean(kind)
            if readout is None:
                zero = torch.zeros(self.label_count, len(mean), device=self.device).double()
                self.fold(kind, zero, log_prior.double(), weight)
                continue
            given = readout.weight.double()  # (V, H), or (1, H) of a number
            read = given @ self.moments.regression(kind).T
            bias = readout.bias.double() + given @ self.moments.mean(self.moments.last)
            bias -= read @ mean
            if self.scale:
                more = self.moments.unexplained(kind, given)
                read, bias = self.scale.linear(read, bias, more)
            self.fold(kind, read, bias, weight)
        self.refresh()

    def silence(self, k: int, weights: dict[str, Tensor], log_prior: Tensor) -> None:
        weights["map"][k] = 0
        width = len(self.moments.mean(self.kinds[k]))
        weights["map"][k, : self.label_count, width] = log_prior.float()

    def learn(
        self, k: int, x: Tensor, labels: Tensor, scale: float, back: Tensor | None = None
    ) -> Tensor:
        weight, gradient = self.working["map"][k], self.gradients["map"][k]
        if back is None and self._fused:
            return softmax_regression_(gradient, weight, x, labels, self.label_count, scale)
        logits = self._logits(k, x)
        nll = self.gradient_(logits, labels, self.label_count, scale)
        gradient.addmm_(logits.T, x)
        if back is not None:
            torch.mm(logits, weight, out=back)
        return nll

    @cached_property
    def _fused(self) -> bool:
        one = self.gradient_ is softmax_gradient_  # of all labels holds
        return one and fuses(self.working["map"], self.label_count)

    def learn_all(self, x: Tensor, labels: Tensor, scale: float) -> Tensor:
        """The same as `learn` for all kinds at once, of states (K, N, columns): (K, N)."""
        logits = torch.bmm(x, self.working["map"].transpose(1, 2))
        every = labels.repeat(len(x), *[1] * (labels.dim() - 1))
        nll = self.gradient_(logits.flatten(0, 1), every, self.label_count, scale)
        self.gradients["map"].baddbmm_(logits.transpose(1, 2), x)
        return nll.view(len(x), -1)


class Shared(Family):
    """One label matrix (rows, inner) for all kinds and a map (inner, columns) for each.

    Of the inner coordinates the first `rank` are learnt. Behind them each kind has one of its own
    that is always 1, so that these columns of the label matrix are the kinds' biases; the rest are
    zeros, for the tensor cores' sake.
    """

    def __init__(
        self, moments: Moments, kinds: Sequence[str], answers: LabelSet, device: torch.device,
        rank: int,
    ) -> None:  # fmt: skip
        self.rank, self.inner = rank, padded(rank + len(kinds), 8)
        self.biases = slice(rank, rank + len(kinds))
        super().__init__(moments, kinds, answers, device)

    def _start_at_zero(self) -> dict[str, Tensor]:
        maps = torch.zeros(
            len(self.kinds), self.inner, self.columns, dtype=torch.float32, device=self.device
        )
        for k, kind in enumerate(self.kinds):
            maps[k, self.rank + k, len(self.moments.mean(kind))] = 1
        return {
            "labels": torch.zeros(self.rows, self.inner, dtype=torch.float32, device=self.device),
            "map": maps,
        }

    def start(self, readout: Readout | None, log_prior: Tensor) -> None:
        labels, maps = self.weights["labels"], self.weights["map"]
        if readout is None:
            generator = torch.Generator(self.device).manual_seed(0)
            shape = (len(maps), self.rank, self.columns)
            noise = torch.randn(shape, generator=generator, dtype=torch.float32, device=self.device)
            width = torch.tensor([float(len(self.moments.mean(k))) for k in self.kinds])
            maps[:, : self.rank] = noise / width.sqrt().to(self.device)[:, None, None]
            labels[: self.label_count, self.biases] = log_prior[:, None].float()
            self.refresh()
            return
        if self.scale:
            read, bias = self.scale.linear(readout.weight.double(), readout.bias.double(), 0.0)
            readout = Readout(readout.kind, read, bias)
        mean = self.moments.mean(self.moments.last)
        root = _root(self.moments.covariance(self.moments.last))
        u, s, v = _singular(readout.weight.double() @ root)
        rank = min(self.rank, int((s > 0).sum()))
        labels[: self.label_count, :rank] = (u[:, :rank] * s[:rank].sqrt()).float()
        bias = readout.bias.double() + readout.weight.double() @ mean
        labels[: self.label_count, self.biases] = bias[:, None].float()
        narrow = s[:rank].sqrt()[:, None] * v[:rank] @ torch.linalg.pinv(root)  # (rank, H of last)
        for weight, kind in zip(maps, self.kinds, strict=True):
            read = narrow @ self.moments.regression(kind).T
            self.fold(kind, read, -read @ self.moments.mean(kind), weight)
        self.refresh()

    def silence(self, k: int, weights: dict[str, Tensor], log_prior: Tensor) -> None:
        weights["map"][k, : self.rank] = 0
        weights["labels"][: self.label_count, self.rank + k] = log_prior.float()

    def learn(
        self, k: int, x: Tensor, labels: Tensor, scale: float, back: Tensor | None = None
    ) -> Tensor:
        z = x @ self.working["map"][k].T
        logits = z @ self.working["labels"].T
        nll = self.gradient_(logits, labels, self.label_count, scale)
        self.gradients["labels"].addmm_(logits.T, z)
        narrow = logits @ self.working["labels"]
        self.gradients["map"][k].addmm_(narrow.T, x)
        if back is not None:
            torch.mm(narrow, self.working["map"][k], out=back)
        self.gradients["map"][k, self.rank :] = 0
        return nll

    def improved(self, better: Tensor, best: dict[str, Tensor]) -> None:
        """Copy all weights or none, since all kinds share the labels."""
        if better.any():
            for name, weight in self.weights.items():
                best[name].copy_(weight)


def _singular(matrix: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The singular vectors and values of a matrix, largest first: (rows, R), (R,), (R, columns).

    Of many more rows than columns, such as those of all labels, by its square: that is as large as
    the columns alone.
    """
    if len(matrix) < _MANY_ROWS * matrix.shape[1]:
        u, s, v = torch.linalg.svd(matrix, full_matrices=False)
        return u, s, v
    values, vectors = torch.linalg.eigh(matrix.T @ matrix)
    s, v = values.flip(0).clamp_min(0).sqrt(), vectors.flip(1)
    s = torch.where(s > _NOTHING * s[0], s, torch.zeros_like(s))  # the rest is rounding
    return matrix @ (v / s.clamp_min(torch.finfo(s.dtype).tiny)), s, v.T


def _root(matrix: Tensor) -> Tensor:
    """The symmetric square root of a covariance."""
    values, vectors = torch.linalg.eigh(matrix)
    root: Tensor = vectors * values.clamp_min(1e-12).sqrt() @ vectors.T
    return root
