"""Sequences of a user's batches, given to a lens to be drawn."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from rnnlens.adapter.batches import OUTPUT, Batch
from rnnlens.adapter.pair_side import PairSide
from rnnlens.adapter.sequences import Given, Names, SequenceSide, picture_of, steps_of
from rnnlens.adapter.stored import StoredModule
from rnnlens.base.errors import RnnlensError
from rnnlens.labels.sets import LabelSet
from rnnlens.model.lazy import at_hand
from rnnlens.model.text import written_numbers
from rnnlens.model.traceable import Trace
from rnnlens.reading.session import Session

_TYPED = (
    "this lens is of a network that reads typed texts: call it with one, lens('a text'); sequences "
    "of batches are for modules of your own"
)


def give(
    session: Session,
    batch: Any,
    row: int,
    names: Names | None,
    answers: Mapping[str, LabelSet],
) -> str:
    """Have one sequence of a batch at hand; the text that stands for it.

    `answers` are the labels of targets that are not the module's own.
    """
    side, model = session.text, session.model
    if isinstance(side, PairSide) and isinstance(model, StoredModule):
        return _typed(side, model, batch, row, answers)
    if not isinstance(side, SequenceSide) or not isinstance(model, StoredModule):
        raise RnnlensError(_TYPED)
    one, trace = model.alone(batch, row, answers)
    count = _length(trace)
    read = steps_of(one.inputs, count, model.sequences_first)
    labels = _labels(model, one, trace, {OUTPUT: side.labels, **answers}, count)
    first, last = _real(model, read, labels, count)
    read = None if read is None else read[first:last]
    labels = {name: some[first:last] for name, some in labels.items()}
    called = _names(names, last - first, read, side.vocabulary.inputs)
    alone = read is not None and read.is_floating_point() and read.shape[1] == 1
    numbers = tuple(read[:, 0].tolist()) if read is not None and alone else ()
    picture = () if alone else picture_of(read)
    around = (first, count - last)
    text = side.sequences.give(Given(one.inputs, called, labels, picture, numbers, around))
    if not any(around) and not model.record.source:
        session.note(tuple(session.numbers(text, called)), model.own(trace))
    return text


def _typed(
    side: PairSide, model: StoredModule, batch: Any, row: int, answers: Mapping[str, LabelSet]
) -> str:
    """A pair of a batch as a text."""
    one, _ = model.alone(batch, row, answers)
    text = next((side.typed(*pair) for pair in model.pairs(one)), "")
    if not text:
        raise RnnlensError(
            "this pair of the batch cannot be typed: no text is split into just its words; call "
            "the lens with source => target"
        )
    return text


def _length(trace: Trace) -> int:
    """The steps of the only sequence of a trace."""
    steps = len(next(reversed(at_hand(trace.states).values())))
    return steps if trace.lengths is None else min(steps, int(trace.lengths.max()))


def _real(
    model: StoredModule, read: Tensor | None, labels: Mapping[str, tuple[int, ...]], count: int
) -> tuple[int, int]:
    """The first real step and the one after the last: at the ends, zeros without a target, and
    what a module of fixed length pads with, are none.
    """
    padding = model.record.padding
    wanted = torch.tensor([[-1] * count, *labels.values()]).amax(0) >= 0
    if read is None or not (wanted.any() or padding):
        return 0, count
    empty = (read.reshape(count, -1) == (padding.number if padding else 0)).all(1)
    real = (wanted | ~empty).nonzero()
    return (int(real[0]), int(real[-1]) + 1) if len(real) else (0, count)


def _labels(
    model: StoredModule, batch: Batch, trace: Trace, answers: Mapping[str, LabelSet], count: int
) -> dict[str, tuple[int, ...]]:
    """The right labels at each step, by the name of their targets."""
    own = {} if not model.predicts else {OUTPUT: batch.targets}
    found: dict[str, tuple[int, ...]] = {}
    for name, targets in {**own, **batch.others}.items():
        if answers[name].several:
            continue  # no single one is right
        codes = model.in_time(targets, lambda: trace)[:count, 0].cpu()
        table, there = batch.tables.get(name), codes >= 0
        labels = codes.clone()
        if table is not None:
            labels[there] = answers[name].of(table[codes[there]])
        found[name] = tuple(labels.tolist())
    return found


def _names(
    names: Names | None, count: int, read: Tensor | None, inputs: Sequence[str]
) -> tuple[str, ...]:
    """What the steps are called: as somebody says, by what is read there, or by their numbers."""
    if callable(names):
        called: Sequence[Any] = [names(step) for step in range(count)]
    elif names is not None:
        called = list(names)
    elif read is None or (read.is_floating_point() and read.shape[1] > 1):
        called = [f"t{step}" for step in range(count)]
    elif read.is_floating_point():
        called = [written_numbers(row) for row in read.tolist()]
    else:
        known = bool(inputs) and int(read.min()) >= 0 and int(read.max()) < len(inputs)
        called = [inputs[number] if known else str(number) for number in read.tolist()]
    if len(called) != count or not all(isinstance(one, str) for one in called):
        raise RnnlensError(
            f"names= gives {len(called)} names and the sequence has {count} steps; give a str for "
            "each, or a function from a step to its name"
        )
    return tuple(called)
