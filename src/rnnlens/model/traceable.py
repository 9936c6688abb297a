"""The contract of everything that can be traced: networks of ours and users' modules alike."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from rnnlens.errors import RnnlensError
from rnnlens.model.cells import Change, States
from rnnlens.model.kinds import Kind, prediction

_FEW = 4  # states


class Edit(NamedTuple):
    """A change of one kind's state at one timestep, from which the recurrence goes on."""

    kind: str  #: Its id.
    step: int  #: The timestep, from 0.
    change: Callable[[Tensor], Tensor]  #: From the state (B, H) to the one in its place.


def changes(edits: Sequence[Edit], ids: dict[str, str]) -> dict[int, Change]:
    """The edits of one layer's kinds, `ids` by letter, as changes by timestep."""
    letters = {kind: letter for letter, kind in ids.items()}
    mine = [edit for edit in edits if edit.kind in letters]

    def at(step: int) -> Change:
        here = {letters[edit.kind]: edit.change for edit in mine if edit.step == step}
        return lambda letter, value: here[letter](value) if letter in here else value

    return {edit.step: at(edit.step) for edit in mine}


def product(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """X (N, H) @ weight (V, H) transposed + bias, quick for few states too."""
    if x.dim() != 2 or len(x) > _FEW:
        return F.linear(x, weight, bias)
    # With the weights as rows they are read at full speed, and few states are all reading.
    made = (weight @ x.T).T.contiguous()
    return made if bias is None else made.add_(bias)


class Readout(NamedTuple):
    """The linear map from a kind's states to the model's own logits."""

    kind: str  #: Its id.
    weight: Tensor  #: (V, H)
    bias: Tensor  #: (V,)


def _as_is(y: Tensor) -> Tensor:
    return y


@dataclass(frozen=True)
class Trace:
    """Every kind's states for a batch, and the model's own prediction."""

    states: States  #: Of each kind, (T, B, H): time first.
    lengths: Tensor | None = None  #: (B,); None: all sequences are as long as T.
    #: What the prediction is computed from, (T, B, ...), or (1, B, ...) where each sequence has one
    #: prediction; None where none was found.
    y: Tensor | None = None
    predict: Callable[[Tensor], Tensor] = _as_is  #: From `y` to logits.
    last: States = field(default_factory=dict)  #: What the next timestep needs, (B, H) by kind.

    @property
    def prediction(self) -> Tensor:
        """What the logits are computed from; refused where nothing was found to be them."""
        if self.y is None:
            raise RnnlensError(
                "the module's logits were not found in what it returns; give logits= a function "
                "that picks them"
            )
        return self.y

    @cached_property
    def logits(self) -> Tensor | None:
        """The model's own logits, (T, B, V) or (1, B, V); computed when first asked for, since for
        many labels they outweigh all states.
        """
        return None if self.y is None else self.predict(self.y)


class Traceable(ABC):
    """A model whose every intermediate vector can be read by name."""

    causal = False  #: Whether a state depends on nothing after it, so that `start` can be given.

    @property
    @abstractmethod
    def kinds(self) -> tuple[Kind, ...]:
        """Every kind, from input to output; the model's own prediction is not among them."""

    @property
    def prediction(self) -> Kind:
        """The kind `y`, the model's own prediction."""
        return prediction(self.kinds)

    @property
    def description(self) -> str:
        """In few words, such as LSTM 300 × 2."""
        return type(self).__name__

    @property
    def difference(self) -> float | None:
        """The largest between recomputed and real outputs, where any are recomputed."""
        return None

    @property
    @abstractmethod
    def carried(self) -> tuple[str, ...]:
        """The kinds that the next timestep needs: what `start` and `Trace.last` hold."""

    @property
    @abstractmethod
    def device(self) -> torch.device:
        """Where batches are to be."""

    @abstractmethod
    def classifier(self) -> Readout | None:
        """The linear map that the prediction is, where it is one."""

    @abstractmethod
    def predict(self, y: Tensor) -> Tensor:
        """The model's own logits (..., V) from what a trace gives as `y`."""

    @abstractmethod
    def trace(self, batch: Any, start: States | None = None, edits: Sequence[Edit] = ()) -> Trace:
        """Read a batch from the carried states `start` on, with `edits` made on the way."""

    def in_time(self, labels: Tensor, trace: Callable[[], Trace]) -> Tensor:  # noqa: ARG002
        """Labels of a batch as (T, B), beside the states of its trace; negative: none."""
        return labels

    @property
    def code(self) -> str:
        """The package.module:factory that has to be imported before it can be traced, if any."""
        return ""

    def batches(self, given: Sequence[Any]) -> list[tuple[Any, Tensor]]:
        """Batches for it to read, pairs of what it is given and its targets, checked; how these lie
        beside its states is known from then on.
        """
        return list(given)

    def words(self, inputs: Any, targets: Tensor) -> Tensor | None:  # noqa: ARG002
        """The words that a batch reads, as whole numbers beside its targets."""
        return inputs if isinstance(inputs, Tensor) else None

    def count(self, inputs: Any, targets: Tensor) -> int:  # noqa: ARG002
        """How many states of a batch have a target, about."""
        return int((targets >= 0).sum())

    def found_at(
        self,
        where: str,
        vocabulary: Any,  # noqa: ARG002
        examples: Sequence[Any],  # noqa: ARG002
    ) -> "Traceable":
        """The same model, as `package.module:factory` gives it to whoever opens its run."""
        raise RnnlensError(f"model={where!r} is for a module of your own; leave it out")

    def check(self) -> None:  # noqa: B027 - most models stay as they are
        """Refuse to go on where the model has changed since its probes were fitted."""
