"""How each family of probes is parametrised while it is being fitted.

States are standardised, given a last coordinate of 1 (so that biases are weights like others) and
padded to multiples of 64, which is what tensor cores want. Masters are float32; products run in
bfloat16 on CUDA. The backward is written out: states need no gradient.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from rnnlens.probe.kernels import softmax_gradient_
from rnnlens.probe.moments import Moments

ALIGN = 64


@dataclass(frozen=True)
class Readout:
    """The model's own classifier, logits = weight h + bias."""

    weight: Tensor  # (V, H)
    bias: Tensor  # (V,)


def padded(size: int, align: int = ALIGN) -> int:
    """The next multiple of what the hardware likes."""
    return -(-size // align) * align


class Family(ABC):
    """The probes of all kinds under one semantic, being fitted."""

    def __init__(
        self, moments: Moments, kinds: Sequence[str], labels: int, device: torch.device
    ) -> None:
        self.moments, self.kinds, self.labels, self.device = moments, tuple(kinds), labels, device
        self.half = torch.bfloat16 if device.type == "cuda" else torch.float32
        self.rows = padded(labels)
        self.columns = padded(1 + max(len(moments.mean(kind)) for kind in kinds))
        self.weights = self._start_at_zero()  # float32 masters
        self.working = {name: w.to(self.half) for name, w in self.weights.items()}
        self.gradients = {name: torch.zeros_like(w) for name, w in self.working.items()}

    @abstractmethod
    def _start_at_zero(self) -> dict[str, Tensor]:
        """Fresh parameters."""

    @abstractmethod
    def start(self, readout: Readout | None, log_prior: Tensor) -> None:
        """Begin at the closed form where the labels are the model's own, else at the prior."""

    @abstractmethod
    def logits(self, k: int, x: Tensor) -> Tensor:
        """Of the k-th kind, (N, padded V), from prepared states (N, columns)."""

    def nll(self, k: int, x: Tensor, labels: Tensor) -> Tensor:
        """Each state's negative log-likelihood, by the same pass that makes gradients."""
        return softmax_gradient_(self.logits(k, x), labels, self.labels, 0.0)

    @abstractmethod
    def learn(self, k: int, x: Tensor, labels: Tensor, scale: float) -> Tensor:
        """Add to the gradients; return each state's negative log-likelihood."""

    @abstractmethod
    def folded(self, weights: dict[str, Tensor], semantic: str) -> dict[str, Tensor]:
        """Weights for plain states, standardisation folded in, under the names Probes uses."""

    def improved(self, better: Tensor, best: dict[str, Tensor]) -> None:
        """Copy into `best` the weights of the kinds that are better, (K,) bools."""
        for name, weight in self.weights.items():
            best[name][better] = weight[better]

    def refresh(self) -> None:
        """Bring the working copies up to date and clear the gradients."""
        for name, weight in self.weights.items():
            if self.working[name] is not weight:
                self.working[name].copy_(weight)
            self.gradients[name].zero_()

    def prepare(self, kind: str, states: Tensor) -> Tensor:
        """Standardise, append 1, pad: (N, H) -> (N, columns)."""
        width = states.shape[1]
        x = torch.zeros(len(states), self.columns, dtype=self.half, device=self.device)
        mean, scale = self.moments.centre(kind).float(), self.moments.scale(kind).float()
        x[:, :width] = (states - mean) / scale
        x[:, width] = 1
        return x

    def unfold(self, kind: str, weight: Tensor) -> tuple[Tensor, Tensor]:
        """Rows over prepared states -> weight (rows, H) and bias (rows,) over plain states."""
        mean, scale = self.moments.centre(kind), self.moments.scale(kind)
        plain = weight[:, : len(mean)].double() / scale
        return plain.float(), (weight[:, len(mean)].double() - plain @ mean).float()

    def fold(self, kind: str, weight: Tensor, bias: Tensor, out: Tensor) -> None:
        """The inverse of `unfold`, written into rows of a master."""
        mean, scale = self.moments.centre(kind), self.moments.scale(kind)
        out[: len(weight), : len(mean)] = (weight * scale).float()
        out[: len(weight), len(mean)] = (bias + weight @ mean).float()


class Linear(Family):
    """The paper's: one matrix a kind, (K, padded V, columns)."""

    def _start_at_zero(self) -> dict[str, Tensor]:
        shape = (len(self.kinds), self.rows, self.columns)
        return {"weight": torch.zeros(shape, dtype=torch.float32, device=self.device)}

    def start(self, readout: Readout | None, log_prior: Tensor) -> None:
        for weight, kind in zip(self.weights["weight"], self.kinds, strict=True):
            mean = self.moments.mean(kind)
            if readout is None:
                zero = torch.zeros(self.labels, len(mean), device=self.device).double()
                self.fold(kind, zero, log_prior.double(), weight)
                continue
            read = readout.weight.double() @ self.moments.regression(kind).T  # (V, H)
            ahead = readout.weight.double() @ self.moments.mean(self.moments.last)
            self.fold(kind, read, readout.bias.double() + ahead - read @ mean, weight)
        self.refresh()

    def logits(self, k: int, x: Tensor) -> Tensor:
        return x @ self.working["weight"][k].T

    def learn(self, k: int, x: Tensor, labels: Tensor, scale: float) -> Tensor:
        logits = self.logits(k, x)
        nll = softmax_gradient_(logits, labels, self.labels, scale)
        self.gradients["weight"][k].addmm_(logits.T, x)
        return nll

    def folded(self, weights: dict[str, Tensor], semantic: str) -> dict[str, Tensor]:
        made: dict[str, Tensor] = {}
        for weight, kind in zip(weights["weight"], self.kinds, strict=True):
            plain, bias = self.unfold(kind, weight[: self.labels])
            made |= {f"{semantic}/{kind}/weight": plain, f"{semantic}/{kind}/bias": bias}
        return made


class Shared(Family):
    """One label matrix (padded V, inner) for all kinds and a map (inner, columns) for each.

    Of the inner coordinates the first `rank` are learnt. Behind them each kind has one of its own
    that is always 1, so that these columns of the label matrix are the kinds' biases; the rest are
    zeros, for the tensor cores' sake.
    """

    def __init__(
        self, moments: Moments, kinds: Sequence[str], labels: int, device: torch.device, rank: int
    ) -> None:
        self.rank, self.inner = rank, padded(rank + len(kinds), 8)
        self.biases = slice(rank, rank + len(kinds))
        super().__init__(moments, kinds, labels, device)

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
            labels[: self.labels, self.biases] = log_prior[:, None].float()
            self.refresh()
            return
        mean = self.moments.mean(self.moments.last)
        root = _root(self.moments.covariance(self.moments.last))
        u, s, v = torch.linalg.svd(readout.weight.double() @ root, full_matrices=False)
        rank = min(self.rank, len(s))
        labels[: self.labels, :rank] = (u[:, :rank] * s[:rank].sqrt()).float()
        bias = readout.bias.double() + readout.weight.double() @ mean
        labels[: self.labels, self.biases] = bias[:, None].float()
        narrow = s[:rank].sqrt()[:, None] * v[:rank] @ torch.linalg.pinv(root)  # (rank, H of last)
        for weight, kind in zip(maps, self.kinds, strict=True):
            read = narrow @ self.moments.regression(kind).T
            self.fold(kind, read, -read @ self.moments.mean(kind), weight)
        self.refresh()

    def logits(self, k: int, x: Tensor) -> Tensor:
        return (x @ self.working["map"][k].T) @ self.working["labels"].T

    def learn(self, k: int, x: Tensor, labels: Tensor, scale: float) -> Tensor:
        z = x @ self.working["map"][k].T
        logits = z @ self.working["labels"].T
        nll = softmax_gradient_(logits, labels, self.labels, scale)
        self.gradients["labels"].addmm_(logits.T, z)
        self.gradients["map"][k].addmm_((logits @ self.working["labels"]).T, x)
        self.gradients["map"][k, self.rank :] = 0
        return nll

    def improved(self, better: Tensor, best: dict[str, Tensor]) -> None:
        """All kinds share the labels, so it is all or nothing, by the mean."""
        if better.any():
            for name, weight in self.weights.items():
                best[name].copy_(weight)

    def folded(self, weights: dict[str, Tensor], semantic: str) -> dict[str, Tensor]:
        labels = weights["labels"][: self.labels]
        made = {f"{semantic}/labels": labels[:, : self.rank].contiguous()}
        for k, (weight, kind) in enumerate(zip(weights["map"], self.kinds, strict=True)):
            plain, bias = self.unfold(kind, weight[: self.rank])
            made |= {f"{semantic}/{kind}/weight": plain, f"{semantic}/{kind}/bias": bias}
            made[f"{semantic}/{kind}/label_bias"] = labels[:, self.rank + k].contiguous()
        return made


def _root(matrix: Tensor) -> Tensor:
    """The symmetric square root of a covariance."""
    values, vectors = torch.linalg.eigh(matrix)
    root: Tensor = vectors * values.clamp_min(1e-12).sqrt() @ vectors.T
    return root
