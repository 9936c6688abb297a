"""The contract of everything that can be traced: rnnlens's networks and users' modules alike."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from rnnlens.base.errors import RnnlensError
from rnnlens.base.rules import message
from rnnlens.labels.sets import LabelSet
from rnnlens.model.cell import Cell, Change, States, Weights
from rnnlens.model.kinds import Kind, prediction
from rnnlens.model.lazy import LazyStates
from rnnlens.model.transition import Matrix

_FEW = 4  # states that are too few for F.linear to be quick
_HUNDREDS = range(128, 513)
_WIDE = 256  # numbers of a state from which on hundreds of states are multiplied the other way


class StateEdit(NamedTuple):
    """A change of one kind's state at one timestep, from which the recurrence goes on."""

    kind: str  #: Its id.
    step: int  #: The timestep, from 0.
    change: Callable[[Tensor], Tensor]  #: From the state (B, H) to the one in its place.
    learning: bool = False  #: Whether its effect is to be differentiated.


def changes(edits: Sequence[StateEdit], ids: dict[str, str]) -> dict[int, Change]:
    """The edits of one layer as changes by timestep; `ids` are the layer's kinds by letter."""
    letters = {kind: letter for letter, kind in ids.items()}
    of_layer = [edit for edit in edits if edit.kind in letters]

    def at(step: int) -> Change:
        here = [(letters[edit.kind], edit.change) for edit in of_layer if edit.step == step]

        def change(letter: str, value: Tensor) -> Tensor:
            for changed, by in here:
                value = by(value) if changed == letter else value
            return value

        return change

    return {edit.step: at(edit.step) for edit in of_layer}


def changed(values: Tensor, letter: str, edits: dict[int, Change]) -> Tensor:
    """States of one kind (T, B, H), from which no recurrence goes on, after changes by timestep."""
    if not edits:
        return values
    return torch.stack([edits[t](letter, v) if t in edits else v for t, v in enumerate(values)])


def check_edits(edits: Sequence[StateEdit], kinds: Sequence[Kind], steps: int) -> None:
    """Refuse edits of kinds or timesteps that there are not."""
    check_edited_kinds(edits, kinds)
    for edit in edits:
        if not 0 <= edit.step < steps:
            raise RnnlensError(
                f"timestep {edit.step} of {edit.kind} cannot be edited: it has {steps}, from 0"
            )


def check_edited_kinds(edits: Sequence[StateEdit], kinds: Sequence[Kind]) -> None:
    """Refuse edits of kinds that there are not."""
    editable = [kind.id for kind in kinds]
    for edit in edits:
        if edit.kind not in editable:
            raise RnnlensError(
                f"{edit.kind!r} is no kind that could be edited; there is {', '.join(editable)}"
            )


def product(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """X (N, H) @ weight (V, H) transposed + bias, quick for few states and for hundreds, too."""
    hundreds = len(x) in _HUNDREDS and weight.shape[1] >= _WIDE
    hundreds = hundreds and x.device.type == "cpu" and not weight.requires_grad
    if x.dim() != 2 or (len(x) > _FEW and not hundreds):
        return F.linear(x, weight, bias)
    # With the weights as rows they are read at full speed, and few states are all reading; for
    # hundreds of wide states this order of the factors suits processors better.
    y = (weight @ x.T).T.contiguous()
    return y if bias is None else y.add_(bias)


class Readout(NamedTuple):
    """The linear map from a kind's states to the model's own logits."""

    kind: str  #: Its id.
    weight: Tensor  #: (V, H)
    bias: Tensor  #: (V,)


class RecurrentLayer(NamedTuple):
    """One layer and direction of a model, as far as its equations are known."""

    cell: Cell
    weights: Weights
    ids: dict[str, str]  #: Its kinds by letter.
    below: tuple[str, ...]  #: The kinds that are its input, side by side.
    reverse: bool = False  #: Whether it reads backwards.

    @property
    def output(self) -> str:
        """The kind that it gives to those above."""
        return self.ids[self.cell.output.id]


class Affine(NamedTuple):
    """A linear map with a constant: weight @ state + bias."""

    weight: Tensor  #: (V, H)
    bias: Tensor | None = None  #: (V,)


class Anatomy(NamedTuple):
    """All that a model computes with, where that is no more than an embedding, recurrent layers and
    linear maps to its prediction: whoever has it can compute what the model does.
    """

    embedding: Tensor | None  #: (words, I); None: the numbers of a timestep are read as they are.
    layers: tuple[RecurrentLayer, ...]  #: From input to output, each starting from zeros.
    tops: tuple[str, ...] = ()  #: The kinds that the prediction is made of, side by side.
    maps: tuple[Affine, ...] = ()  #: From these to what `predict` takes or gives, one by one.
    whole: bool = False  #: Whether the prediction is one for a whole text, of its last state.


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
        """What the logits are computed from; an error where the trace has no logits."""
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

    predicts = True  #: Whether it predicts the labels that its states are asked about.
    reads = True  #: Whether it can read: of states that were recorded there is no network.
    verified = ""  #: What of how it is read was verified, and what is taken on trust, in one line.
    #: The kinds that have a state for each word of a source, which is read beside the text.
    source_kinds: frozenset[str] = frozenset()
    #: The label that ends every target of a source, which says nothing of that source.
    end: int | None = None
    generates = False  #: Whether it can write the target of a source, word by word.
    causal = False  #: Whether a state depends on nothing after it, so that `start` can be given.

    @property
    @abstractmethod
    def kinds(self) -> tuple[Kind, ...]:
        """Every kind, from input to output; the model's own prediction is not among them."""

    @property
    def unprobed(self) -> dict[str, int]:
        """The kinds that are too large for a linear probe, with how many numbers each has; to a
        memory that is a matrix, questions are learned instead, where their answers are not.
        """
        return {}

    @property
    def matrices(self) -> dict[str, Matrix]:
        """The memories that are matrices, with their shapes; known once a batch is traced."""
        every = ((layer.ids[x], layer.cell.matrix(x)) for layer in self.recurrence
                 for x in layer.cell.memories)  # fmt: skip
        return {kind: matrix for kind, matrix in every if matrix is not None}

    @property
    def prediction(self) -> Kind:
        """The kind `y`, the model's own prediction."""
        return prediction(self.kinds)

    @property
    def has_labels(self) -> bool:
        """Whether there are labels of the semantic `output`."""
        return self.predicts

    def check_reads(self, what: str) -> None:
        """Refuse what only a network can do; `what` it is, such as "an edit"."""
        if not self.reads:
            raise RnnlensError(message("no_network", what=what))

    @property
    def description(self) -> str:
        """The model in a few words, such as LSTM 300 × 2."""
        return type(self).__name__

    @property
    def difference(self) -> float | None:
        """The largest difference between recomputed and real outputs; None: none are recomputed."""
        return None

    @property
    def carried(self) -> tuple[str, ...]:
        """The kinds that the next timestep needs: what `start` and `Trace.last` hold; none where it
        is not known what the model does between its parts.
        """
        return ()

    @property
    @abstractmethod
    def device(self) -> torch.device:
        """The device on which it takes batches."""

    def on(self, device: torch.device) -> "Traceable":  # noqa: ARG002 - not every model can move
        """Move the model to a device where it can be."""
        return self

    @abstractmethod
    def classifier(self) -> Readout | None:
        """The linear map from a kind to the prediction, or None where there is no such map."""

    def start(self) -> Readout | None:
        """The linear map from a kind that probes start from: the classifier, or the map to the
        number that the model predicts.
        """
        return self.classifier()

    @property
    def recurrence(self) -> tuple[RecurrentLayer, ...]:
        """The recurrent layers from input to output, known once a batch is traced."""
        return ()

    def decay(self, memory: Kind, state: Callable[[str], Tensor]) -> Tensor | None:
        """How much of a memory stays at timesteps, of which `state` gives the states of kinds by
        id, (..., H); None: the kind is no memory.
        """
        if memory.memory is None:
            return None
        for layer in self.recurrence:
            letter = next((one for one, id_ in layer.ids.items() if id_ == memory.id), None)
            if letter is not None:
                makes = {one: partial(state, id_) for one, id_ in layer.ids.items()}
                return layer.cell.true_decay(letter, LazyStates(makes, {}, makes), layer.weights)
        return state(memory.memory.decay)

    def anatomy(self) -> Anatomy:
        """All that the model computes with; an error where it computes with more than is known."""
        raise RnnlensError(f"what {self.description} computes with is not known")

    @abstractmethod
    def predict(self, y: Tensor) -> Tensor:
        """The model's own logits (..., V) from what a trace gives as `y`."""

    @abstractmethod
    def trace(
        self, batch: Any, start: States | None = None, edits: Sequence[StateEdit] = ()
    ) -> Trace:
        """Read a batch, starting from the carried states `start`, and apply `edits` on the way."""

    def prediction_alone(self, batch: Any) -> Trace:
        """What `trace` gives but for the states, by the quickest way."""
        return self.trace(batch)

    def attention(
        self, batch: Any, edits: Sequence[StateEdit] = ()  # noqa: ARG002 - not every model has any
    ) -> Tensor | None:  # fmt: skip
        """The weights (heads, T, S) over the words of a source that each word of a target is read
        with, where there are any.
        """
        return None

    @property
    def attention_name(self) -> str:
        """The part of the model that these are of; empty: there are none."""
        return ""

    def in_time(self, labels: Tensor, trace: Callable[[], Trace]) -> Tensor:  # noqa: ARG002
        """The labels of a batch as (T, B), like the states of its trace; negative: no label."""
        return labels

    @property
    def code(self) -> str:
        """The package.module:factory to import before the model can be traced; empty: none."""
        return ""

    def batches(
        self,
        user_batches: Sequence[Any],
        others: Mapping[str, LabelSet] | None = None,  # noqa: ARG002 - not every model is asked more
    ) -> Sequence[tuple[Any, Tensor]]:
        """Check a user's batches, and return them as pairs of inputs and targets.

        From then on the model knows how targets lie beside its states. `others` are the answers to
        what is asked beside the model's own labels, by semantic.
        """
        for pair in user_batches:
            is_pair = isinstance(pair, tuple | list) and len(pair) == 2
            if not is_pair or [getattr(t, "ndim", 0) for t in pair] != [2, 2]:
                raise RnnlensError(
                    "every batch must be a pair of words and targets, both (timesteps, sequences); "
                    f"one is {type(pair).__name__}"
                )
        return list(user_batches)

    def words(self, inputs: Any, targets: Tensor) -> Tensor | None:  # noqa: ARG002
        """The numbers of the words in a batch, in the shape of its targets; None: it has none."""
        return inputs if isinstance(inputs, Tensor) else None

    def count(self, inputs: Any, targets: Tensor) -> int:  # noqa: ARG002
        """About how many states of a batch have a target."""
        return int((targets >= 0).sum())

    def found_at(self, where: str, vocabulary: Any, examples: Sequence[Any]) -> "Traceable":  # noqa: ARG002
        """The model, made by the code at `where`, a package.module:factory, from now on."""
        raise RnnlensError(f"model={where!r} is for a module of your own; leave it out")

    def check(self) -> None:  # noqa: B027 - most models stay as they are
        """Refuse a model that has changed since its probes were fitted."""
