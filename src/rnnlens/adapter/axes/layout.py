"""Which axis is time and which column a sequence: any tensor of a forward pass as (T, B, H).

Sequences that a module sorts inside its forward are put back into the order of the batch: what a
recurrent part reads is compared with the batch column by column, with the vectors that the module's
embedding has for its words, or with its features as they are.
"""

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from copy import copy
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pad_packed_sequence

from rnnlens.base.errors import RnnlensError

_COMPARED_FIRST = 4  # features of each vector, by which columns are told apart


class Arranged(NamedTuple):
    """A tensor in the order (T, B, H), and how sure that order is."""

    values: Tensor
    doubt: int  # 0 where the shape fits best
    batch_first: bool | None = None  # the order of the original, where its shape tells
    other: Tensor | None = None  # the reading in the other order, where its shape does not tell


@dataclass(frozen=True)
class Layout:
    """The timesteps and sequences of a recurrent part, and in which order the module keeps them."""

    steps: int
    batch: int
    batch_first: bool
    sure: bool = True  # whether the module or the user says so; cells do not
    lengths: Tensor | None = None  # (B,)
    packed: PackedSequence | None = None  # how the part's input was packed

    def arrange(self, values: Tensor) -> Arranged | None:
        """Any of (T, B, H), (B, T, H), (T * B, H) and packed (N, H) as (T, B, H).

        A vector for each sequence, (B, H), becomes (1, B, H). None where no shape fits.
        """
        if values.dim() == 3:
            return self._arrange_3(values)
        return self._arrange_2(values) if values.dim() == 2 else None

    def _arrange_3(self, values: Tensor) -> Arranged | None:
        by_time, by_batch = values, values.transpose(0, 1)
        fits = [self._fits(reading) for reading in (by_time, by_batch)]
        if all(fits):
            return self._either(by_time[: self.steps], by_batch[: self.steps], 0)
        if fits[0]:
            return Arranged(by_time[: self.steps], 0, batch_first=False)
        return Arranged(by_batch[: self.steps], 0, batch_first=True) if fits[1] else None

    def _fits(self, values: Tensor) -> bool:
        """Whether a tensor is (T, B, H); beside sequences that end early it may be padded more."""
        steps, batch, _ = values.shape
        enough = steps == self.steps or (self.lengths is not None and steps > self.steps)
        return enough and batch == self.batch

    def _arrange_2(self, values: Tensor) -> Arranged | None:
        rows = len(values)
        ragged = self.packed is not None and len(self.packed.data) < self.steps * self.batch
        if self.packed is not None and ragged and rows == len(self.packed.data):
            return Arranged(pad_packed_sequence(self.packed._replace(data=values))[0], 1)
        if rows == self.steps * self.batch and self.steps > 1:
            by_time = values.reshape(self.steps, self.batch, -1)
            by_batch = values.reshape(self.batch, self.steps, -1).transpose(0, 1)
            return self._either(by_time, by_batch, 1)
        return Arranged(values[None], 2) if rows == self.batch else None

    def _either(self, by_time: Tensor, by_batch: Tensor, doubt: int) -> Arranged:
        """Two readings of one tensor, the likelier first."""
        if self.batch == 1:
            return Arranged(by_time, doubt)
        likely, other = (by_batch, by_time) if self.batch_first else (by_time, by_batch)
        return Arranged(likely, doubt, other=other)

    def goes_with(self, other: "Layout") -> bool:
        """Whether these may be the same sequences."""
        if (self.batch, self.steps) != (other.batch, other.steps):
            return False
        if self.lengths is None or other.lengths is None:
            return self.lengths is other.lengths
        return torch.equal(self.lengths, other.lengths)

    def reordered(self, order: Tensor) -> "Layout":
        """The layout of these sequences in another order, in which nothing is packed."""
        lengths = None if self.lengths is None else self.lengths[order]
        return replace(self, lengths=lengths, packed=None)

    @property
    def may_be_sorted(self) -> bool:
        """Whether sequences come from the longest to the shortest, as in a module that sorts."""
        packed, lengths = self.packed, self.lengths
        if packed is None or packed.sorted_indices is not None or lengths is None:
            return False
        return bool((lengths[:-1] >= lengths[1:]).all())

    def valid(self) -> Tensor | None:
        """(T, B), true up to each sequence's end; None: everywhere."""
        return None if self.lengths is None else within(self.steps, self.lengths)

    def rows(self, values: Tensor) -> Tensor:
        """(T, B, H) -> (N, H), without what lies past a sequence's end."""
        valid = self.valid()
        return values.flatten(0, 1) if valid is None else values[valid]


def within(steps: int, lengths: Tensor) -> Tensor:
    """(T, B), true up to the end of each sequence."""
    return torch.arange(steps, device=lengths.device)[:, None] < lengths


def best_fit(values: Tensor, layouts: list[Layout]) -> tuple[Arranged, Layout] | None:
    """A tensor arranged by the layout that it fits best, and that layout."""
    fits = [(fit, layout) for layout in layouts if (fit := layout.arrange(values)) is not None]
    return min(fits, key=lambda fit: fit[0].doubt, default=None)


def assembled(
    name: str, outputs: list[Tensor], layouts: list[Layout], batch_first: bool
) -> tuple[Arranged, Layout | None]:
    """A submodule's outputs, of one call or of many, as states (T, B, H)."""
    outputs = [values[None] if values.dim() == 1 else values for values in outputs]
    dims = {values.dim() for values in outputs}
    if len(outputs) == 1 and dims <= {2, 3} and layouts:
        fits = best_fit(outputs[0], layouts)
        if fits is not None:
            return fits
    elif dims == {3}:
        sequences = {layout.batch for layout in layouts}
        by_time = [_time_first(values, sequences, batch_first) for values in outputs]
        if len({values.shape[1:] for values in by_time}) == 1:
            return Arranged(torch.cat(by_time), 0), None
    elif dims == {2} and len({values.shape[1] for values in outputs}) == 1:
        most = max(len(values) for values in outputs)  # the batch may shrink as sequences end
        padded = [F.pad(values, (0, 0, 0, most - len(values))) for values in outputs]
        return Arranged(torch.stack(padded), 0), None
    shapes = ", ".join(described(values) for values in outputs[:3])
    raise RnnlensError(
        f"the output of {name} is {shapes}{' ...' if len(outputs) > 3 else ''}, which fits no "
        "timesteps and sequences; name a submodule whose output has a vector for each timestep"
    )


def _time_first(values: Tensor, sequences: set[int], batch_first: bool) -> Tensor:
    first, second = (n in sequences for n in values.shape[:2])
    turn = batch_first if first == second else first
    return values.transpose(0, 1) if turn else values


def is_whole(values: Tensor) -> bool:
    """Whether these are whole numbers."""
    return values.dtype in (torch.int64, torch.int32, torch.int16, torch.uint8, torch.int8)


def close(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors hold the same states, but for rounding."""
    return a.shape == b.shape and torch.allclose(a.to(b.dtype), b, rtol=1e-3, atol=1e-4)


def tensors(value: object, path: str = "", depth: int = 4) -> Iterator[tuple[str, Tensor]]:
    """Every tensor in what a module returns, with where it is: `[0]`, `['logits']`, `.logits`."""
    if depth < 0:
        return
    if isinstance(value, Tensor):
        yield path, value
    elif isinstance(value, PackedSequence):
        yield path, pad_packed_sequence(value)[0]
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from tensors(inner, f"{path}[{key!r}]", depth - 1)
    elif isinstance(value, tuple | list):
        for at, inner in enumerate(value):
            yield from tensors(inner, f"{path}[{at}]", depth - 1)
    else:
        for name, inner in _members(value):
            yield from tensors(inner, f"{path}.{name}", depth - 1)


def with_tensors(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """A batch with every tensor replaced by what `change` makes of it; a packed one stays."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, Mapping):
        inside = {key: with_tensors(inner, change) for key, inner in value.items()}
        if not isinstance(value, MutableMapping) or type(value) is dict:
            return inside
        made = copy(value)  # of a class of its own, such as transformers have
        for key, inner in inside.items():
            made[key] = inner
        return made
    if isinstance(value, tuple | list) and not isinstance(value, PackedSequence):
        items = [with_tensors(inner, change) for inner in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


def _members(value: object) -> Iterator[tuple[str, object]]:
    """The fields of a dataclass, or of an object that only holds things."""
    if is_dataclass(value):
        yield from ((f.name, getattr(value, f.name)) for f in fields(value))
    elif hasattr(value, "__dict__") and not callable(value):
        yield from vars(value).items()


def described(value: object, depth: int = 2) -> str:
    """A value in few words, for messages: `tuple of Tensor 3 x 4, NoneType`."""
    if isinstance(value, Tensor):
        shape = " x ".join(map(str, value.shape)) or "single number"
        return f"{type(value).__name__} {shape} ({str(value.dtype).removeprefix('torch.')})"
    name = type(value).__name__
    if isinstance(value, str | int | float | bool | None):
        return name if value is None else f"{name} {value!r:.40}"
    if not isinstance(value, Mapping | tuple | list) or not depth:
        return name
    items = [*(value.values() if isinstance(value, Mapping) else value)]
    return f"{name} of {', '.join(described(v, depth - 1) for v in items[:5]) or 'nothing'}"


def batch_order(
    x: Tensor, layout: Layout, batch: Any, embedding: nn.Embedding | None
) -> Tensor | None:
    """For each sequence of the batch its column in x (T, B, I); None where nothing is sorted."""
    if layout.batch < 2:
        return None
    lengths = layout.lengths
    if lengths is None:
        lengths = torch.full((layout.batch,), layout.steps, device=x.device)
    in_batch = next(_lengths(batch, lengths), None)
    for source in _sources(batch, layout, embedding, x):
        columns = _columns(x, lengths, source, lengths if in_batch is None else in_batch)
        if columns is not None:
            same = bool((columns == torch.arange(len(columns), device=columns.device)).all())
            return None if same else columns.argsort()
    if in_batch is not None and layout.may_be_sorted and not torch.equal(in_batch, lengths):
        raise RnnlensError(
            "the module sorts its sequences by their lengths, and how they lie then cannot be "
            "told; leave the sorting to pack_padded_sequence(..., enforce_sorted=False)"
        )
    return None


def _sources(
    batch: Any, layout: Layout, embedding: nn.Embedding | None, x: Tensor
) -> Iterator[Tensor]:
    """What x may be read from, as (T, B, I), in every order that the shape in the batch allows."""
    for _, tensor in tensors(batch):
        values = tensor
        if embedding is not None and tensor.dim() == 2 and is_whole(tensor):
            if tensor.min() < 0 or tensor.max() >= embedding.num_embeddings:
                continue
            values = F.embedding(tensor.long().to(x.device), embedding.weight)
        if values.dim() == 3 and values.shape[-1] == x.shape[-1]:
            fit = layout.arrange(values)
            readings = () if fit is None else (fit.values, fit.other)
            yield from (reading.to(x) for reading in readings if reading is not None)


def _lengths(batch: Any, lengths: Tensor) -> Iterator[Tensor]:
    """Tensors of a batch that hold these very lengths (B,), in whatever order."""
    for _, tensor in tensors(batch):
        if tensor.shape == lengths.shape and is_whole(tensor):
            values = tensor.to(lengths)
            if torch.equal(values.sort()[0], lengths.sort()[0]):
                yield values


def _columns(x: Tensor, lengths: Tensor, source: Tensor, in_source: Tensor) -> Tensor | None:
    """For each column of x the equal one of the source; None where one has no equal.

    `lengths` (B,) are those of x, and `in_source` those of the source.
    """
    valid = within(len(x), lengths)[..., None]  # (T, B, 1)
    read = torch.where(valid, x, 0)
    if torch.equal(lengths, in_source) and torch.equal(read, torch.where(valid, source, 0)):
        return torch.arange(x.shape[1], device=x.device)
    first = slice(_COMPARED_FIRST)
    mine, theirs = x[..., first, None], source[..., first, None].transpose(1, 3)  # (T, B, F, 1|B)
    alike = ((mine == theirs) | ~valid[..., None]).all(2).all(0)  # (B, B)
    if not torch.equal(lengths, in_source):
        alike &= lengths[:, None] == in_source
    chosen = torch.zeros(x.shape[1], dtype=torch.long, device=x.device)
    for column in lengths.argsort(descending=True, stable=True).tolist():
        left = alike[column].nonzero()
        if not len(left):
            return None
        chosen[column] = left[0, 0]
        alike[:, chosen[column]] = False  # a shorter one may be the beginning of this one
    return chosen if torch.equal(read, torch.where(valid, source[:, chosen], 0)) else None
