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
    """The batch with most targets: from a single word or sequence hardly anything can be told."""
    return max(batches, key=lambda batch: batch[1].numel())


def most_telling(batches: Sequence[Batch]) -> list[Batch]:
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
    """The features (B, T, I) or (T, B, I) that a batch reads in place of words."""
    for tensor in _tensors(inputs):
        if tensor.dim() == 3 and tensor.is_floating_point() and _is_beside(tensor[..., 0], targets):
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


def check_batches(
    batches: Iterable[Any], what: str = "batches", ignore_index: int | None = None
) -> list[Batch]:
    """The batches as a list, refused unless each is a pair of inputs and targets.

    Targets that are `ignore_index` become negative, which counts as none.
    """
    try:
        pairs = list(batches)
    except TypeError as error:
        raise RnnlensError(
            f"{what} are pairs (what the module is fed, its targets), and not "
            f"{type(batches).__name__}; give a list of them"
        ) from error
    for batch in pairs:
        if not (isinstance(batch, tuple | list) and len(batch) == 2):
            raise RnnlensError(
                "every batch must be a pair: what the module is fed, and a tensor of targets; one "
                f"is {type(batch).__name__}"
            )
        targets = batch[1]
        if not isinstance(targets, Tensor) or not is_whole(targets) or targets.dim() not in (1, 2):
            form = (
                f"{str(targets.dtype).removeprefix('torch.')} of shape {tuple(targets.shape)}"
                if isinstance(targets, Tensor)
                else type(targets).__name__
            )
            raise RnnlensError(
                "every batch must end with a tensor of targets as whole numbers, one for each "
                f"state or sequence; one is {form}"
            )
        if not targets.numel():
            raise RnnlensError("a batch has no targets; leave empty batches out")
        if targets.device.type == "meta":
            raise RnnlensError("targets are on the meta device, without values; make them anew")
    if ignore_index is None:
        return [(inputs, targets) for inputs, targets in pairs]
    return [(inputs, y.masked_fill(y == ignore_index, NONE)) for inputs, y in pairs]
