"""How the targets of a user's batches lie beside the states of the module: told by one batch."""

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from rnnlens.adapter.adapter import Adapter
from rnnlens.adapter.axes.alignment import Alignment, aligned
from rnnlens.errors import RnnlensError, RnnlensWarning
from rnnlens.model.traceable import Trace

Batch = tuple[Any, Tensor]  # what the module is fed, and its targets; negative: none
NONE = -1
_MOSTLY = 0.9


@dataclass(frozen=True)
class Arrangement:
    """What holds for all batches of a module."""

    kinds: tuple[str, ...]  # those with a state for each target
    sequences_first: bool | None  # in targets and words; None where nothing tells
    whole: bool  # whether a target is one for a whole sequence
    steps: int  # timesteps of the batch that told
    follows: bool  # whether targets are the words that come next
    fed: tuple[int, ...] | None  # the shape of one sequence's words; None: it takes more than those

    def in_time(self, targets: Tensor, traced: Trace) -> Tensor:
        """Targets as (T, B), without what lies past a sequence's end."""
        steps, batch, _ = traced.states[self.kinds[-1]].shape
        device = traced.states[self.kinds[-1]].device
        found = self._turned(targets.to(device).long(), steps, batch, traced.lengths is not None)
        if traced.lengths is not None and len(traced.lengths) == batch:
            time = torch.arange(steps, device=device)[:, None]
            found = torch.where(time < traced.lengths.to(device), found, NONE)
        return found

    def _turned(self, targets: Tensor, steps: int, batch: int, padded: bool) -> Tensor:
        shape, first = tuple(targets.shape), bool(self.sequences_first)
        if shape == (batch,):  # one for a whole sequence
            return targets.expand(steps, batch)
        if shape == (steps,) and batch == 1:
            return targets[:, None]
        if shape == (steps * batch,) and self.sequences_first is not None:
            return targets.view(batch, steps).T if first else targets.view(steps, batch)
        for order in (first, not first) if targets.dim() == 2 else ():
            turned = targets.T if order else targets
            # Padding past the longest sequence is common, and of no meaning.
            enough = len(turned) >= steps if padded else len(turned) == steps
            if turned.shape[1] == batch and enough:
                return turned[:steps]
        raise RnnlensError(
            f"targets of shape {shape} do not fit states of {steps} timesteps and {batch} "
            "sequences; give one target for each state, as (timesteps, sequences) or the other way "
            "round, or one for each sequence"
        )

    def states_of(self, batch: Batch) -> int:
        """How many states of a batch have a target, about."""
        inputs, targets = batch
        there = int((targets >= 0).sum())
        if not self.whole:
            return there
        words = words_of(inputs, targets)
        return there * (self.steps if words is None else words.numel() // max(1, len(targets)))


def largest(batches: Sequence[Batch]) -> Batch:
    """The batch that tells most: of a single word or sequence hardly anything can be told."""
    return max(batches, key=lambda batch: batch[1].numel())


def most_telling(batches: Sequence[Batch]) -> list[Batch]:
    """The largest, and others in which sequences of unequal length would be sorted."""
    ragged = max(batches, key=lambda batch: int((batch[1] < 0).sum()))
    chosen = (largest(batches), ragged, batches[0], batches[-1])
    return list({id(batch): batch for batch in chosen}.values())


def arrange(adapter: Adapter, batch: Batch, *others: Batch) -> Arrangement:
    """Trace a batch, and see how its words and targets lie beside the states.

    In the others it is only seen whether a part sorts or turns its sequences.
    """
    inputs, targets = batch
    words = words_of(inputs, targets)
    found = _aligned(adapter, batch)
    astray = found.astray.union(*(_aligned(adapter, other).astray for other in others))
    traced = adapter.trace(inputs)
    kinds = _beside(adapter, traced, astray)
    steps, sequences, _ = traced.states[kinds[-1]].shape
    first = found.sequences_first
    if first is None and targets.dim() == 2:
        first = _likelier(targets, traced, steps, sequences)
    whole = targets.dim() == 1 and len(targets) == sequences and steps > 1
    made = Arrangement(kinds, first, whole, steps, False, None)
    follows = not whole and words is not None and _follow(made, words, targets, traced)
    return Arrangement(kinds, first, whole, steps, follows, _fed(inputs, words, first, steps))


def _aligned(adapter: Adapter, batch: Batch) -> Alignment:
    inputs, targets = batch
    words = words_of(inputs, targets)
    if words is None or words.dim() != 2:
        return Alignment(None, frozenset())
    there = targets >= 0 if targets.shape == words.shape else torch.ones_like(words).bool()
    return aligned(adapter, inputs, words, there.to(words.device))


def _beside(adapter: Adapter, traced: Trace, astray: frozenset[str]) -> tuple[str, ...]:
    """The kinds that have a state for each prediction; the others are left out, and named."""
    logits = traced.logits
    ids = [kind.id for kind in adapter.kinds if kind.id not in astray]
    sizes = {kind: traced.states[kind].shape[:2] for kind in ids}
    wanted = sizes[ids[-1]]
    if logits is not None and any(size == logits.shape[:2] for size in sizes.values()):
        wanted = logits.shape[:2]
    kept = tuple(kind for kind in ids if sizes[kind] == wanted)
    left = [kind.id for kind in adapter.kinds if kind.id not in kept]
    if left:
        shown = ", ".join(left[:8]) + (", ..." if len(left) > 8 else "")
        warnings.warn(
            f"left out, as their states are not beside the module's targets: {shown}",
            RnnlensWarning,
            stacklevel=2,
        )
    return kept


def _likelier(targets: Tensor, traced: Trace, steps: int, sequences: int) -> bool | None:
    """Whether sequences come first in targets: by their shape, else by the module's prediction."""
    if steps != sequences:
        return tuple(targets.shape) != (steps, sequences)
    logits = traced.logits
    if logits is None or logits.shape[:2] != targets.shape or int(targets.max()) >= logits.shape[2]:
        return None
    flat = logits.flatten(0, 1).float()
    straight, turned = (
        F.cross_entropy(flat, t.to(flat.device).long().flatten().clamp_min(NONE), ignore_index=NONE)
        for t in (targets, targets.T)
    )
    return bool(turned < straight)


def _follow(made: Arrangement, words: Tensor, targets: Tensor, traced: Trace) -> bool:
    """Whether the targets of a batch are the words that come next in it."""
    try:
        wanted, read = made.in_time(targets, traced), made.in_time(words, traced)
    except RnnlensError:  # words of something else; wrong targets are told when they are asked for
        return False
    there = (wanted[:-1] >= 0) & (wanted[1:] >= 0)  # after the last word comes what is not there
    right = (wanted[:-1] == read[1:])[there].float()
    return bool(len(right) and right.mean() > _MOSTLY)


def _fed(
    inputs: Any, words: Tensor | None, first: bool | None, steps: int
) -> tuple[int, ...] | None:
    if words is None or words is not inputs:
        return None
    if words.dim() == 1:
        return (-1,)
    if first is None:  # one word, or one sequence of many
        first = words.shape[1] == steps
    return (1, -1) if first else (-1, 1)


def words_of(inputs: Any, targets: Tensor) -> Tensor | None:
    """The words that a batch reads: a tensor of whole numbers beside its targets.

    Of several the one with most different numbers: masks and lengths have few.
    """
    found = [
        one for one in _tensors(inputs)
        if one.dim() in (1, 2) and _is_whole(one) and _is_beside(one, targets)
    ]  # fmt: skip
    return max(found, key=lambda one: one.unique().numel(), default=None)


def _tensors(inputs: Any) -> Iterator[Tensor]:
    if isinstance(inputs, Tensor):
        yield inputs
    elif isinstance(inputs, Mapping):
        yield from _tensors(tuple(inputs.values()))
    elif isinstance(inputs, tuple | list):
        yield from (one for one in inputs if isinstance(one, Tensor))


def _is_whole(values: Tensor) -> bool:
    return values.dtype in (torch.int64, torch.int32, torch.int16, torch.uint8, torch.int8)


def _is_beside(words: Tensor, targets: Tensor) -> bool:
    if words.shape == targets.shape:
        return True
    return words.dim() == 2 and targets.dim() == 1 and (
        len(targets) in words.shape or len(targets) == words.numel()
    )  # fmt: skip


def check_batches(batches: Iterable[Any], what: str = "batches") -> list[Batch]:
    """The batches, all at once; what is none is refused."""
    try:
        found = list(batches)
    except TypeError as error:
        raise RnnlensError(
            f"{what} are pairs (what the module is fed, its targets), and not "
            f"{type(batches).__name__}; give a list of them"
        ) from error
    for batch in found:
        if not (isinstance(batch, tuple | list) and len(batch) == 2):
            raise RnnlensError(
                "every batch must be a pair: what the module is fed, and a tensor of targets; one "
                f"is {type(batch).__name__}"
            )
        targets = batch[1]
        if not isinstance(targets, Tensor) or not _is_whole(targets) or targets.dim() not in (1, 2):
            said = (
                f"{str(targets.dtype).removeprefix('torch.')} of shape {tuple(targets.shape)}"
                if isinstance(targets, Tensor)
                else type(targets).__name__
            )
            raise RnnlensError(
                "every batch must end with a tensor of targets as whole numbers, one for each "
                f"state or sequence; one is {said}"
            )
        if not targets.numel():
            raise RnnlensError("a batch has no targets; leave empty batches out")
    return [(batch[0], batch[1]) for batch in found]
