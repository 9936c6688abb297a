"""The cell's contract: what a recurrence declares of itself and what it computes, and one layer of
a network with it.

A cell brings its kinds, the names and shapes of its weights, the state that it starts from, and
`step`, its equations. All else has a default that goes by these, and a cell may do better: quicker
ways to the states of a whole sequence and to train by, and how its memory goes back to the words
that wrote it. The cells that there are stand in the folder `cells`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import ClassVar

import torch
from torch import Tensor, nn

from rnnlens.base.pace import checkpoint
from rnnlens.model.kinds import Kind, Memory, output_of
from rnnlens.model.transition import Matrix, Transition

States = dict[str, Tensor]  # kind -> (B, H) at one timestep, or (T, B, H)
Weights = Mapping[str, Tensor]  # of one layer and direction, by the names that its cell gives them
Change = Callable[[str, Tensor], Tensor]  # a kind's letter and its value -> the value to go on with
BEFORE = "₋₁"  # behind the letter of a kind that is carried: as it was before the timestep
Equations = dict[str, Callable[[States], Tensor]]  # a kind's letter -> how it follows from others


def in_precision(weights: Weights, precision: torch.dtype) -> Weights:
    """Weights in some precision, on the CPU and without gradients."""
    return {name: w.detach().to("cpu", precision) for name, w in weights.items()}


def unchanged(_letter: str, value: Tensor) -> Tensor:
    """The change that changes nothing."""
    return value


class Cell(ABC):
    """One sort of recurrence: its kinds and weights, and how states follow from weights and input.

    Every kind is a vector, one of them the output, which has the width of the layer.
    """

    name: ClassVar[str]  # by which commands and files call it
    kinds: ClassVar[tuple[Kind, ...]]  # in the order of the equations
    carried: ClassVar[tuple[str, ...]]  # the kinds that the next timestep needs
    dropped: ClassVar[tuple[str, ...]] = ()  # the weights that weight drop thins out
    undecayed: ClassVar[tuple[str, ...]] = ()  # the weights that weight decay leaves alone
    holds: ClassVar[tuple[str, ...]] = ()  # the kinds without which all is linear in the input
    convolved: ClassVar[tuple[str, ...]] = ()  # the kinds that come from a convolution around it
    reads_before: ClassVar[bool] = False  # whether its output reads the memory before it is written
    in_browser: ClassVar[bool] = False  # whether page/web/engine has its equations, too

    def sized(self, width: int, heads: int, keys: int) -> "Cell":  # noqa: ARG002
        """The cell as layers of a width have it; `heads` and `keys` are for matrices as memory."""
        return self

    @property
    def output(self) -> Kind:
        """The kind that is what a layer gives to those above."""
        return output_of(self.kinds)

    @property
    def large(self) -> frozenset[str]:
        """The kinds that are larger than what they follow from, best not computed unasked."""
        return frozenset()

    @property
    def memories(self) -> dict[str, Memory]:
        """The additive memories by letter."""
        return {kind.id: kind.memory for kind in self.kinds if kind.memory}

    def flat(self, kind: str, values: Tensor) -> Tensor:  # noqa: ARG002 - for cells that have others
        """States of a kind as vectors, which they are already."""
        return values

    @abstractmethod
    def shapes(self, inputs: int, width: int) -> dict[str, tuple[int, ...]]:
        """The names and shapes of the weights of a layer that reads so many numbers."""

    def initialise(self, w: Weights, width: int, generator: torch.Generator) -> None:
        """Draw the matrices of a layer at random; biases stay zero."""
        bound = width**-0.5
        for weight in w.values():
            if weight.dim() > 1:
                weight.uniform_(-bound, bound, generator=generator)

    @abstractmethod
    def start(self, w: Weights, batch: int) -> States:
        """What is carried into the first timestep, (B, H)."""

    def sums(self, x: Tensor, w: Weights) -> Tensor:  # noqa: ARG002 - for cells that have any
        """What `step` takes of inputs x (T, B, I), computed for all timesteps at once."""
        return x

    @abstractmethod
    def step(self, a: Tensor, prev: States, w: Weights, edit: Change = unchanged) -> States:
        """Every kind at one timestep, from that timestep's `sums` and the step before.

        `edit` may put another value in the place of any kind; what follows goes on from that.
        """

    def states(
        self, x: Tensor, start: States, w: Weights, edits: dict[int, Change] | None = None
    ) -> States:
        """Every kind (T, B, H) for inputs x (T, B, I), starting from the carried states (B, H).

        Computed in the weights' precision, even within an autocast. `edits` are changes by
        timestep.
        """
        precision = next(iter(w.values())).dtype
        start = {kind: values.to(precision) for kind, values in start.items()}
        with torch.autocast(x.device.type, enabled=False):
            x = x.to(precision)
            learning = torch.is_grad_enabled() and any(
                t.requires_grad for t in (x, *w.values(), *start.values())
            )
            if learning:
                return self._stepwise(x, start, w, edits or {})
            fused = x.device.type != "cpu" and len(x) > 1 and not edits
            return self._states(x, start, w, edits or {}, fused)

    def _stepwise(self, x: Tensor, start: States, w: Weights, edits: dict[int, Change]) -> States:
        """The states by `step`, which can be edited and differentiated."""
        steps, prev = list[States](), start
        for t, a in enumerate(self.sums(x, w)):
            checkpoint()
            prev = self.step(a, prev, w, edits.get(t, unchanged))
            steps.append(prev)
        return {kind.id: torch.stack([step[kind.id] for step in steps]) for kind in self.kinds}

    def _states(
        self,
        x: Tensor,
        start: States,
        w: Weights,
        edits: dict[int, Change],
        fused: bool,  # noqa: ARG002 - for cells that can
    ) -> States:
        """Every kind at every timestep, quickly; `edits` are changes by timestep.

        `fused`: starting a kernel is dear and nothing is edited, so that timesteps are best
        computed together.
        """
        return self._stepwise(x, start, w, edits)

    def outputs(
        self,
        x: Tensor,
        start: States,
        w: Weights,
        training: bool = False,  # noqa: ARG002 - for recurrences that have to know
    ) -> Tensor:
        """Outputs (T, B, H) for inputs x (T, B, I) alone, by the quickest way to train by."""
        return self.states(x, start, w)[self.output.id]

    def held(self, x: Tensor, w: Weights, read: Tensor, real: States) -> States:  # noqa: ARG002
        """The states (T, B, H) for inputs x, from zero, with gates held at what they really were.

        `real` are the states for the inputs `read` (T, B, I), for which this gives the same. All
        of it has to be linear in x: so it is once the kinds stay that the cell `holds`; a cell with
        other curves has to take a line for each of them.
        """

        def at(step: int) -> Change:
            return lambda letter, value: real[letter][step] if letter in self.holds else value

        start = {kind: torch.zeros_like(real[kind][0]) for kind in self.carried}
        return self._stepwise(x, start, w, {step: at(step) for step in range(len(x))})

    def memory_behind(self, letter: str) -> str | None:
        """The memory that a kind is, is left of, or reads; None: there is none."""
        for memory, carried in self.memories.items():
            if letter in (memory, carried.kept):
                return memory
        reader = self.read_kind or self.output.id
        sources = next(kind.sources for kind in self.kinds if kind.id == reader)
        read = {edge.kind for edge in sources} if letter in (reader, self.output.id) else set()
        return next((memory for memory in self.memories if memory in read), None)

    def transition(self, memory: str, now: States, w: Weights) -> Transition:  # noqa: ARG002
        """What timesteps do to what was in the memory before them, with gates as they are `now`."""
        return Transition(now[self.memories[memory].decay])

    def matrix(self, letter: str) -> Matrix | None:  # noqa: ARG002 - most memories are vectors
        """The shape of a memory that is a matrix for each head; None: the kind is none such."""
        return None

    def true_decay(self, memory: str, now: States, w: Weights) -> Tensor:  # noqa: ARG002
        """How much timesteps leave of what the memory says, (..., H); another than the decay of the
        kind where the memory is scaled by the largest exponent so far, which only keeps numbers
        small.
        """
        return now[self.memories[memory].decay]

    def written(self, memory: str, now: States, w: Weights) -> Tensor:  # noqa: ARG002
        """What timesteps add to the memory, (..., H)."""
        return now[self.memories[memory].write]

    def carry(self, memory: str, before: Tensor, now: States, w: Weights) -> Tensor:
        """What timesteps leave of what was in the memory before them, (..., H)."""
        return self.transition(memory, now, w)(before)

    def carry_back(self, memory: str, through: Tensor, now: States, w: Weights) -> Tensor:
        """What a unit of the memory before a timestep counts for, where one after it counts for
        `through` (H,): the transpose of `carry`.
        """
        return self.transition(memory, now, w).back(through)

    def read_back(self, through: Tensor, now: States, w: Weights) -> Tensor:
        """What a unit of the memory that an output reads counts for at a timestep, where one of
        the output counts for `through` (H,), with gates held.
        """
        raise NotImplementedError(f"{self.name} does not say how its output reads its memory")

    def unstored(self, now: States, w: Weights) -> Tensor | None:  # noqa: ARG002
        """What of the output at a timestep comes from no memory, (H,); None: nothing does."""
        return None

    @property
    def read_kind(self) -> str:
        """The letter of what is read of its memory, where its output is made of that; empty: it is
        the output.
        """
        return ""

    def read_kind_back(self, through: Tensor, now: States, w: Weights) -> Tensor:
        """As `read_back`, of the read in place of the output."""
        raise NotImplementedError(f"{self.name} has no read beside its output")

    def read_kind_unstored(self, now: States, w: Weights) -> Tensor | None:  # noqa: ARG002
        """As `unstored`, of the read in place of the output."""
        return None

    def described(self, kind: Kind, w: Weights) -> Kind:  # noqa: ARG002 - for optional weights
        """A kind of this cell, whose equation has just the weights that there are."""
        return kind


class Layer(nn.Module):
    """A cell and its weights, as parameters by the names that the cell gives them."""

    def __init__(self, cell: Cell, inputs: int, width: int) -> None:
        super().__init__()
        self.cell, self.width = cell, width
        self.shapes = cell.shapes(inputs, width)
        for name, shape in self.shapes.items():
            self.register_parameter(name, nn.Parameter(torch.zeros(shape)))

    def weights(self, drop: Callable[[Tensor], Tensor] | None = None) -> Weights:
        """Its weights; `drop` thins out those that the cell gives up to weight drop."""
        weights = {name: getattr(self, name) for name in self.shapes}
        if drop is None:
            return weights
        return {n: drop(w) if n in self.cell.dropped else w for n, w in weights.items()}

    def undecayed(self) -> list[nn.Parameter]:
        """The weights that weight decay leaves alone."""
        return [getattr(self, name) for name in self.shapes if name in self.cell.undecayed]

    def initialise(self, generator: torch.Generator) -> None:
        """Draw the weights at random."""
        self.cell.initialise(self.weights(), self.width, generator)

    def start(self, batch: int) -> States:
        """The state before the first word."""
        return self.cell.start(self.weights(), batch)


CELLS: dict[str, Cell] = {}  # those that networks are made of, by name


def register(cell: Cell) -> Cell:
    """Let networks be made of a cell; it takes the place of one with its name."""
    CELLS[cell.name] = cell
    return cell
