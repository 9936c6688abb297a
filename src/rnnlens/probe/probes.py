"""G(kind, state): what a state of some kind says about the labels."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from rnnlens.errors import RnnlensError

FAMILIES = ("linear", "shared")


@dataclass(frozen=True)
class Probes:
    """Fitted probes of one family for some kinds and semantics.

    `linear`: one softmax regression a kind, as in the paper. `shared`: an affine map a kind into a
    small space, one label matrix for all kinds, and a bias a kind. Both are linear in the state.
    """

    family: str
    kinds: tuple[str, ...]
    semantics: tuple[str, ...]
    labels: int
    tensors: Mapping[str, Tensor]

    def logits(self, kind: str, states: Tensor, semantic: str = "output") -> Tensor:
        """The paper's G before the softmax: (..., H) -> (..., labels)."""
        if kind not in self.kinds or semantic not in self.semantics:
            raise RnnlensError(
                f"no probe for kind {kind!r} and semantic {semantic!r}; there are kinds "
                f"{', '.join(self.kinds)} and semantics {', '.join(self.semantics)}"
            )
        at = f"{semantic}/{kind}"
        z = F.linear(states, self.tensors[f"{at}/weight"], self.tensors[f"{at}/bias"])
        if self.family == "linear":
            return z
        return F.linear(z, self.tensors[f"{semantic}/labels"], self.tensors[f"{at}/label_bias"])

    @property
    def parameters(self) -> int:
        """How many numbers they hold."""
        return sum(t.numel() for t in self.tensors.values())

    def to(self, device: torch.device) -> "Probes":
        """The same on a device."""
        moved = {name: t.to(device) for name, t in self.tensors.items()}
        return Probes(self.family, self.kinds, self.semantics, self.labels, moved)

    def to_json(self) -> dict[str, Any]:
        """What probes.json says of them."""
        return {
            "family": self.family,
            "kinds": self.kinds,
            "semantics": self.semantics,
            "labels": self.labels,
            "parameters": self.parameters,
        }

    @classmethod
    def from_json(cls, value: Any, tensors: Mapping[str, Tensor]) -> "Probes":
        """The inverse of `to_json`, with the tensors it describes; they are checked."""
        try:
            made = cls(
                str(value["family"]),
                tuple(value["kinds"]),
                tuple(value["semantics"]),
                int(value["labels"]),
                {name: t.float() for name, t in tensors.items()},
            )
            for semantic in made.semantics:
                for kind in made.kinds:
                    width = made.tensors[f"{semantic}/{kind}/weight"].shape[1]
                    shape = made.logits(
                        kind, torch.zeros(1, width, dtype=torch.float32), semantic
                    ).shape
                    if shape != (1, made.labels):
                        raise ValueError(f"{semantic}/{kind} gives {tuple(shape)}")  # noqa: TRY301
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise RnnlensError(f"the probes are damaged ({error}); fit them anew") from error
        if not all(torch.isfinite(t).all() for t in made.tensors.values()):
            raise RnnlensError("the probes hold weights that are not numbers; fit them anew")
        return made
