"""The batches that users give: pairs of what the module is fed and its targets."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from torch import Tensor

from rnnlens.adapter.axes.layout import is_whole
from rnnlens.errors import RnnlensError

Batch = tuple[Any, Tensor]  # what the module is fed, and its targets; negative: none
NONE = -1
MOSTLY = 0.9


def largest(batches: Sequence[Batch]) -> Batch:
    """The batch that tells most: of a single word or sequence hardly anything can be told."""
    return max(batches, key=lambda batch: batch[1].numel())


def most_telling(batches: Sequence[Batch]) -> list[Batch]:
    """The largest, others in which sequences of unequal length would be sorted, and one whose
    targets are more in one way than in the other.
    """
    ragged = max(batches, key=lambda batch: int((batch[1] < 0).sum()))
    oblong = max(batches, key=lambda batch: len(set(batch[1].shape)))
    chosen = (largest(batches), ragged, batches[0], batches[-1], oblong)
    return list({id(batch): batch for batch in chosen}.values())


def words_of(inputs: Any, targets: Tensor) -> Tensor | None:
    """The words that a batch reads: a tensor of whole numbers beside its targets.

    Of several the one that the targets follow, as those of a decoder do; else the one with most
    different numbers: masks and lengths have few.
    """
    found = [
        one for one in _tensors(inputs)
        if one.dim() in (1, 2) and is_whole(one) and _is_beside(one, targets)
    ]  # fmt: skip
    if len(found) < 2:
        return found[0] if found else None
    return max(found, key=lambda one: (_is_followed(one, targets), one.unique().numel()))


def features_of(inputs: Any, targets: Tensor) -> Tensor | None:
    """The features (B, T, I) or (T, B, I) that a batch reads in place of words."""
    found = (one for one in _tensors(inputs) if one.dim() == 3 and one.is_floating_point())
    return next((one for one in found if _is_beside(one[..., 0], targets)), None)


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
    if isinstance(inputs, Tensor):
        yield inputs
    elif isinstance(inputs, Mapping):
        yield from _tensors(tuple(inputs.values()))
    elif isinstance(inputs, tuple | list):
        yield from (one for one in inputs if isinstance(one, Tensor))


def _is_beside(words: Tensor, targets: Tensor) -> bool:
    if tuple(words.shape) in (tuple(targets.shape), tuple(targets.shape)[::-1]):
        return True
    return words.dim() == 2 and targets.dim() == 1 and (
        len(targets) in words.shape or len(targets) == words.numel()
    )  # fmt: skip


def check_batches(
    batches: Iterable[Any], what: str = "batches", ignore_index: int | None = None
) -> list[Batch]:
    """The batches, all at once; what is none is refused. Targets of `ignore_index` are none."""
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
        if not isinstance(targets, Tensor) or not is_whole(targets) or targets.dim() not in (1, 2):
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
        if targets.device.type == "meta":
            raise RnnlensError("targets are on the meta device, without values; make them anew")
    if ignore_index is None:
        return [(batch[0], batch[1]) for batch in found]
    return [(batch[0], batch[1].masked_fill(batch[1] == ignore_index, NONE)) for batch in found]
