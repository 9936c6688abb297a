"""The batches that users give: pairs of what the module is fed and its targets."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self, TypeVar

from torch import Tensor

from rnnlens.adapter.axes.layout import is_whole

NONE = -1
MOSTLY = 0.9
#: What a module predicts for a state or sequence: one of its labels, a set of them, a number, or
#: none of what it is asked for.
LABEL, LABELS, NUMBER, NOTHING = SORTS = ("label", "labels", "number", "nothing")


Pair = tuple[Any, Tensor]  # what a module is fed, and its targets


class Batch(Pair):
    """What a module is fed, and its targets: a whole number beside each state or sequence.

    A negative one is none. Numbers and sets of labels are whole numbers too: places in a table.
    """

    others: Mapping[str, Tensor]  # targets that are not the module's own, by semantic
    tables: Mapping[str, Tensor]  # by semantic: (S,) numbers, or (S, V) sets of labels

    def __new__(
        cls,
        inputs: Any,
        targets: Tensor,
        others: Mapping[str, Tensor] | None = None,
        tables: Mapping[str, Tensor] | None = None,
    ) -> Self:
        batch = super().__new__(cls, (inputs, targets))
        batch.others, batch.tables = others or {}, tables or {}
        return batch

    @property
    def inputs(self) -> Any:
        """What the module is fed."""
        return self[0]

    @property
    def targets(self) -> Tensor:
        """Of each state, or of each sequence."""
        return self[1]

    @classmethod
    def of(cls, pair: Pair) -> "Batch":
        """A pair, which may be one already."""
        return pair if isinstance(pair, Batch) else cls(*pair)

    @property
    def sort(self) -> str:
        """What the module predicts, by its targets; see `SORTS`."""
        if any(self.targets is other for other in self.others.values()):
            return NOTHING
        table = self.tables.get("output")
        return LABEL if table is None else NUMBER if table.dim() == 1 else LABELS

    @property
    def forms(self) -> dict[str, str]:
        """What its targets are, in words, by semantic."""
        own = () if self.sort == NOTHING else ("output",)
        return {name: _form(self.tables.get(name)) for name in (*own, *self.others)}


def _form(table: Tensor | None) -> str:
    """What targets are that are places in a table, or labels where there is none."""
    if table is None:
        return LABELS
    return "numbers" if table.dim() == 1 else sets_of(table.shape[1])


def sets_of(count: int) -> str:
    """What targets are that say of each of so many labels whether it holds."""
    return f"sets of {count} labels"


_Pair = TypeVar("_Pair", bound=Pair)


def largest(batches: Sequence[_Pair]) -> _Pair:
    """The batch with most targets: from a single word or sequence hardly anything can be told."""
    return max(batches, key=lambda batch: batch[1].numel())


def most_telling(batches: Sequence[_Pair]) -> list[_Pair]:
    """The batches from which a module's axes are best told.

    The largest; the one with most padding, the first and the last, which show whether sequences of
    unequal lengths are sorted; and one whose targets have two axes of different sizes.
    """
    ragged = max(batches, key=lambda batch: int((batch[1] < 0).sum()))
    oblong = max(batches, key=lambda batch: len(set(batch[1].shape)))
    chosen = (largest(batches), ragged, batches[0], batches[-1], oblong)
    return list({id(batch): batch for batch in chosen}.values())


def words_of(inputs: Any, targets: Tensor) -> Tensor | None:
    """The words that a batch reads: a tensor of whole numbers beside its targets.

    Of several, the one whose next words are the targets, as in a decoder; else the one with most
    different numbers: masks and lengths have few.
    """
    candidates = [
        tensor for tensor in _tensors(inputs)
        if tensor.dim() in (1, 2) and is_whole(tensor) and _is_beside(tensor, targets)
    ]  # fmt: skip
    if len(candidates) < 2:
        return candidates[0] if candidates else None
    return max(candidates, key=lambda words: (_is_followed(words, targets), len(words.unique())))


def features_of(inputs: Any, targets: Tensor) -> Tensor | None:
    """The numbers (B, T) or features (B, T, I) that a batch reads in place of words; either may
    have time first.
    """
    for tensor in _tensors(inputs):
        rows = tensor[..., 0] if tensor.dim() == 3 else tensor
        if tensor.is_floating_point() and rows.dim() == 2 and _is_beside(rows, targets):
            return tensor
    return None


def _is_followed(words: Tensor, targets: Tensor) -> bool:
    """Whether targets are mostly the next words, along either axis."""
    if words.shape != targets.shape:
        return False
    for axis in range(words.dim()):
        steps = words.shape[axis] - 1
        wanted = targets.narrow(axis, 0, steps).to(words.device)
        right = (wanted == words.narrow(axis, 1, steps))[wanted >= 0].float()
        if len(right) and right.mean() > MOSTLY:
            return True
    return False


def _tensors(inputs: Any) -> Iterator[Tensor]:
    """The tensors that the module is fed, but not those deeper inside of them."""
    if isinstance(inputs, Tensor):
        yield inputs
    elif isinstance(inputs, Mapping):
        yield from _tensors(tuple(inputs.values()))
    elif isinstance(inputs, tuple | list):
        yield from (item for item in inputs if isinstance(item, Tensor))


def _is_beside(words: Tensor, targets: Tensor) -> bool:
    """Whether the shapes allow a target for each word, or for each sequence of words."""
    if tuple(words.shape) in (tuple(targets.shape), tuple(targets.shape)[::-1]):
        return True
    return words.dim() == 2 and targets.dim() == 1 and (
        len(targets) in words.shape or len(targets) == words.numel()
    )  # fmt: skip
