"""Sequences of a user's batches, which are drawn as texts are: frames of audio, sensors,
observations of a policy, numbers without names. A text such as `#2` stands for one.
"""

import re
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from rnnlens.adapter.axes.layout import with_tensors
from rnnlens.adapter.texts import TextBatch
from rnnlens.base.errors import RnnlensError
from rnnlens.labels.sets import MOST_LABELS as _MOST_LABELS
from rnnlens.labels.sets import LabelSet
from rnnlens.model.cell import States
from rnnlens.model.text import Example, TextSide

BINS = 24  # numbers of a step that its picture has at most
_BY_NUMBER = re.compile(r"#(\d{1,9})", re.ASCII)
_SPAN = 1 << 24  # steps of one sequence, at most
_BEYOND = 1 << 40  # the numbers of words are smaller
_LABELS, _PICTURE, _NUMBERS, _INPUTS = "labels.", "picture", "numbers", "inputs"  # that runs keep
_AROUND = "around"

Names = Sequence[str] | Callable[[int], str]


@dataclass(frozen=True, eq=False)
class Given:
    """One sequence that somebody gave, alone."""

    inputs: Any  # what the module is fed
    names: tuple[str, ...]  # of its steps
    #: The labels that are right at its states, by the name of their targets; -1: none.
    labels: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    #: Of each step the numbers that are read there, from 0 to 1 over the sequence; none: words.
    picture: tuple[tuple[float, ...], ...] = ()
    numbers: tuple[float, ...] = ()  # that are read, where it is one at each step
    around: tuple[int, int] = (0, 0)  # timesteps of padding before it and after it

    def of(self, steps: Sequence[int]) -> Any:
        """What the module is fed where just these steps are read."""
        count = len(self.names)
        if self.inputs is None:
            raise RnnlensError(
                "the run has the states of this sequence and not what the module was fed; give the "
                "batch again: lens.grid(batch, row)"
            )
        if list(steps) == list(range(count)):
            padded = TextBatch(self.inputs, count, self.around[0])
            return padded if any(self.around) else self.inputs
        if any(self.around):
            raise RnnlensError(
                "no step can be left out of a sequence with padding around it; ask about the whole"
            )
        chosen, found = torch.tensor(steps), [False]

        def some(values: Tensor) -> Tensor:
            if values.dim() == 1 and values.tolist() == [count]:  # its length
                return torch.full_like(values, len(steps))
            axes = [axis for axis in range(min(2, values.dim())) if values.shape[axis] == count]
            if not axes:
                return values
            found[0] = True
            return values.index_select(axes[-1], chosen.to(values.device))

        inputs = with_tensors(self.inputs, some)
        if not found[0]:
            raise RnnlensError(
                f"no tensor that the module is fed has {count} steps, so that none can be left "
                "out; ask about the whole sequence"
            )
        return inputs


def is_sequence(text: str, known: Container[str]) -> bool:
    """Whether a text stands for a sequence, and is no word that is `known`."""
    return _BY_NUMBER.fullmatch(text.strip()) is not None and text.strip() not in known


def can_be_read(example: Example) -> bool:
    """Whether a run has kept what the module was fed of a sequence."""
    return _INPUTS in example.beside


def check_kept(beside: Mapping[str, Tensor], steps: int, label_count: int) -> None:
    """Raise ValueError where that is nothing that a run keeps of a sequence of so many steps."""
    for name, values in beside.items():
        if name.startswith(_LABELS):
            sound = values.dtype == torch.int64 and values.shape == (steps,)
            sound = sound and bool(((values >= -1) & (values < _MOST_LABELS)).all())
            if name == f"{_LABELS}output":
                sound = sound and bool((values < label_count).all())
        elif name in (_PICTURE, _NUMBERS):
            shape = (steps,) if name == _NUMBERS else (steps, values.shape[-1])
            sound = values.dtype == torch.float32 and values.shape == shape
            sound = sound and values.shape[-1] <= max(BINS, steps)
            sound = sound and bool(values.isfinite().all())
            if name == _PICTURE:
                sound = sound and bool(((values >= 0) & (values <= 1)).all())
        elif name == _AROUND:
            sound = values.dtype == torch.int64 and values.shape == (2,)
            sound = sound and bool(((values >= 0) & (values < _SPAN)).all())
        else:
            sound = name == _INPUTS
            sound = sound and (not values.is_floating_point() or bool(values.isfinite().all()))
        if not sound:
            raise ValueError(f"what it keeps as {name[:40]} is not such as a sequence has")


class Sequences:
    """The sequences that were given, by number, each step with a number of its own."""

    def __init__(self, features: int) -> None:
        """`features`: numbers that are typed in place of a word, whose bits are its number."""
        self.every: list[Given] = []
        self.first = _BEYOND << (32 * features)

    def give(self, one: Given) -> str:
        """Have a sequence at hand; the text that stands for it."""
        if len(one.names) >= _SPAN:
            raise RnnlensError(f"a sequence has {len(one.names):,} steps; give a part of it")
        self.every.append(one)
        return f"#{len(self.every) - 1}"

    def numbers(self, number: int) -> list[int]:
        """Of the steps of a sequence."""
        first = self.first + number * _SPAN
        return list(range(first, first + len(self.every[number].names)))

    def place(self, number: int) -> tuple[Given, int] | None:
        """The sequence and the step that a number stands for; None: it is that of a word."""
        if number < self.first:
            return None
        which, step = divmod(number - self.first, _SPAN)
        return self.every[which], step

    def batch(self, ids: Sequence[int]) -> Any:
        """What the module is fed of these steps of one sequence; None: they are words."""
        places = [self.place(number) for number in ids]
        if not any(places):
            return None
        one = next(place[0] for place in places if place)
        steps = [place[1] for place in places if place and place[0] is one]
        if len(steps) < len(ids):
            raise RnnlensError("steps of two sequences cannot be read as one; ask about either")
        return one.of(steps)

    def asked(self, text: str, known: Container[str]) -> int | None:
        """The sequence that a text stands for; None: it is typed, as a word that is `known` is."""
        if not is_sequence(text, known):
            return None
        number = int(text.strip()[1:])
        if number >= len(self.every):
            there = f"there are #0 to #{len(self.every) - 1}" if self.every else "there is none"
            raise RnnlensError(
                f"no sequence {text.strip()} was given; {there}, and lens.grid(batch, row) gives "
                "one more"
            )
        return number


@dataclass(frozen=True)
class SequenceSide(TextSide):
    """How texts are given to a user's module, and sequences of its batches beside them."""

    sequences: Sequences = field(default_factory=lambda: Sequences(0))

    def words(self, text: str) -> tuple[str, ...]:
        one = self.sequences.asked(text, self.vocabulary.index)
        return super().words(text) if one is None else self.sequences.every[one].names

    def numbers(self, text: str, words: Sequence[str]) -> list[int]:
        one = self.sequences.asked(text, self.vocabulary.index)
        if one is None:
            return super().numbers(text, words)
        return self.sequences.numbers(one)[: len(words)]

    def came(self, ids: Sequence[int]) -> list[int]:
        return super().came(ids) if self.are_words(ids) else [-1] * len(ids)

    def labels_of(self, ids: Sequence[int]) -> list[int]:
        return super().labels_of(ids) if self.are_words(ids) else [-1] * len(ids)

    def told(
        self, ids: Sequence[int], name: str, answers: LabelSet | None = None
    ) -> list[int] | None:
        if self.are_words(ids):
            return super().told(ids, name, answers)
        places = [place for number in ids if (place := self.sequences.place(number))]
        return [one.labels[name][step] if name in one.labels else -1 for one, step in places]

    def name(self, number: int) -> str:
        place = self.sequences.place(number)
        return place[0].names[place[1]] if place else super().name(number)

    def values(self, number: int) -> tuple[float, ...]:
        place = self.sequences.place(number)
        if place is None:
            return super().values(number)
        return place[0].numbers[place[1] : place[1] + 1]

    def picture(self, number: int) -> tuple[float, ...]:
        place = self.sequences.place(number)
        return place[0].picture[place[1]] if place and place[0].picture else ()

    def beside(self, ids: Sequence[int]) -> States:
        place = self.sequences.place(ids[0]) if ids else None
        if place is None:
            return super().beside(ids)
        one = place[0]
        kept = {f"{_LABELS}{name}": torch.tensor(labels) for name, labels in one.labels.items()}
        kept |= {_PICTURE: torch.tensor(one.picture)} if one.picture else {}
        kept |= {_NUMBERS: torch.tensor(one.numbers)} if one.numbers else {}
        kept |= {_AROUND: torch.tensor(one.around)} if any(one.around) else {}
        return kept | ({_INPUTS: one.inputs.cpu()} if isinstance(one.inputs, Tensor) else {})

    def restore(self, example: Example) -> Example:
        if not is_sequence(example.text, self.vocabulary.inputs):
            return example
        beside = example.beside
        picture, numbers = (beside.get(name, torch.empty(0)) for name in (_PICTURE, _NUMBERS))
        labels = {
            name.removeprefix(_LABELS): tuple(values.tolist())
            for name, values in beside.items()
            if name.startswith(_LABELS)
        }
        text = self.sequences.give(
            Given(
                beside.get(_INPUTS), example.words, labels,
                tuple(map(tuple, picture.tolist())), tuple(numbers.tolist()),
                tuple(beside.get(_AROUND, torch.zeros(2, dtype=torch.int64)).tolist()),
            )
        )  # fmt: skip
        return replace(example, text=text, ids=tuple(self.numbers(text, example.words)))

    def is_unknown(self, number: int) -> bool:
        return not self.sequences.place(number) and super().is_unknown(number)

    def are_words(self, ids: Sequence[int]) -> bool:
        return not ids or self.sequences.place(ids[0]) is None


def steps_of(inputs: Any, count: int, first: bool | None) -> Tensor | None:
    """What one sequence of so many steps reads: (T, F) floats, or (T,) whole numbers.

    Of several tensors, the one with most numbers a step; `first`: whether the axis of sequences
    comes before that of steps, where both are as long.
    """
    found: list[Tensor] = []

    def look(values: Tensor) -> Tensor:
        axes = [axis for axis in range(min(2, values.dim())) if values.shape[axis] == count]
        if axes and values.dtype != torch.bool and not values.is_complex():
            axis = int(bool(first)) if len(axes) == 2 else axes[0]
            rows = values.detach().movedim(axis, 0).reshape(count, -1).cpu()
            found.append(rows.double() if values.is_floating_point() else rows[:, 0].long())
        return values

    with_tensors(inputs, look)
    return max(found, key=lambda one: one[0].numel(), default=None) if count else None


def picture_of(steps: Tensor | None) -> tuple[tuple[float, ...], ...]:
    """The numbers of each step, a few at most, from 0 to 1 over the sequence."""
    if steps is None or not steps.is_floating_point():
        return ()
    if steps.shape[1] > BINS:
        steps = torch.nn.functional.adaptive_avg_pool1d(steps[None], BINS)[0]
    finite = steps.nan_to_num(0.0, 0.0, 0.0)
    low, high = finite.min(), finite.max()
    scaled = (finite - low) / (high - low) if high > low else torch.zeros_like(finite)
    return tuple(map(tuple, ((scaled.double() * 1000).round() / 1000).tolist()))
