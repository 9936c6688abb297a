"""The axes of a module's batches: which one is time, where words and targets lie."""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from rnnlens.adapter.axes.alignment import Alignment, Reader, aligned, check_every_word
from rnnlens.adapter.axes.layout import Layout, is_whole, tensors, with_tensors, within
from rnnlens.adapter.batches import (
    LABEL,
    MOSTLY,
    NONE,
    OUTPUT,
    Batch,
    Pair,
    follows_along,
    read_of,
    words_of,
)
from rnnlens.adapter.source import Source, find_source
from rnnlens.base.errors import RnnlensError, RnnlensWarning
from rnnlens.model.traceable import Trace

MOST_FEATURES = 64  # numbers of a timestep that somebody may type
_SURE_ERRORS = 4.0  # standard errors, by which one order is better than another
_LEAST_NEXT_WORDS = 10  # that are the next words, before these tell which axis is time
_LEAST_LINES = 5  # that end with padding, before it tells which axis is time
_LEAST_TARGETS = 32  # of which an order can be told: fewer are right by chance


@dataclass(frozen=True)
class Axes:
    """What holds for all batches of a module."""

    kinds: tuple[str, ...]  #: Those with a state for each target.
    words_first: bool | None  #: Whether sequences come first in words; None where nothing tells.
    targets_first: bool | None  #: The same of targets, as rows or as one flat row.
    steps: int  #: Timesteps of the batch that these axes come from.
    whole: bool = False  #: Whether a target is one for a whole sequence.
    rows: bool = True  #: Whether targets are rows, as words are, and no flat row.
    follows: bool = False  #: Whether targets are the words that come next.
    fed: tuple[int, ...] | None = None  #: The shape of one text's words; None: it takes more.
    features: int = 0  #: Numbers that are read at each timestep; 0: words.
    source: Source | None = None  #: What an encoder reads, where that was asked for.
    tried: int = 0  #: Timesteps whose own word was changed and was seen to be read.

    @property
    def sequences_first(self) -> bool | None:
        """Whether sequences come first in what the module is fed, as far as anything tells."""
        return self.targets_first if self.words_first is None else self.words_first

    def in_time(self, labels: Tensor, trace: Trace) -> Tensor:
        """Words or targets as (T, B) beside the states; negative past a sequence's end."""
        states = trace.states[self.kinds[-1]]
        steps, batch, _ = states.shape
        lengths = trace.lengths
        if lengths is not None:
            lengths = lengths.to(states.device) if len(lengths) == batch else None
        are_targets = labels.dim() == 1 or (self.rows and not self.whole)
        first = self.targets_first if are_targets else self.words_first
        layout = Layout(steps, batch, bool(first), lengths=lengths)
        labels = labels.to(states.device)
        whole_numbers = labels if labels.is_floating_point() else labels.long()
        fit = layout.arrange(whole_numbers[..., None])
        if fit is None:
            raise RnnlensError(
                f"targets of shape {tuple(labels.shape)} do not fit states of {steps} timesteps "
                f"and {batch} sequences; give one target for each state, as (timesteps, sequences) "
                "or the other way round, or one for each sequence; of sets of labels, floats and "
                "the names of all"
            )
        if fit.other is not None:
            self._check_order(first, labels, steps)
        valid, rows = layout.valid(), fit.values[..., 0].expand(steps, batch)
        return rows if valid is None else torch.where(valid, rows, NONE)

    def _check_order(self, first: bool | None, labels: Tensor, steps: int) -> None:
        """Refuse labels of unknown order, where their shape does not tell it either."""
        if first is None:
            raise RnnlensError(
                f"nothing tells whether timesteps or sequences come first in targets of shape "
                f"{tuple(labels.shape)} beside {steps} timesteps; give batch_first=True or False"
            )
        if labels.dim() == 2 and self.rows and not self.whole and self.words_first is (not first):
            raise RnnlensError(
                "words and targets lie in different orders, one (timesteps, sequences), the other "
                "(sequences, timesteps), and a batch has as many of both; give targets.T"
            )

    def states_of(self, batch: Pair) -> int:
        """How many states of a batch have a target, about."""
        inputs, targets = batch
        there = int((targets >= 0).sum())
        if not self.whole:
            return there
        words = words_of(inputs, targets)
        return there * (self.steps if words is None else words.numel() // max(1, len(targets)))


def find_axes(
    reader: Reader, batches: Sequence[Batch], batch_first: bool | None, has_source: bool = False
) -> Axes:
    """Change words of some batches, and see how words and targets lie beside the states.

    The first batch tells most. `batch_first` is what counts where nothing else tells. `has_source`:
    an encoder's words are looked for, too.
    """
    alignments = [_aligned(reader, batch) for batch in batches]
    inputs, targets = batches[0]
    trace = reader.trace(inputs)
    kinds = _beside(trace, alignments, words_of(inputs, targets))
    steps, sequences, _ = trace.states[kinds[-1]].shape
    orders = (alignment.sequences_first for alignment in alignments)
    first = next((order for order in orders if order is not None), None)
    whole = targets.dim() == 1 and len(targets) == sequences and steps > 1
    source = find_source(reader, batches, kinds) if has_source else None
    _warn_of_left_out(batches[0], trace, (*kinds, *(source.kinds if source else ())), has_source)
    axes = Axes(kinds, first, None, steps, whole, rows=targets.dim() == 2, source=source)
    if not whole:
        order = next(_orders_of_targets(axes, reader, batches), batch_first)
        axes = replace(axes, targets_first=order)
    _check_predictions(axes, targets, trace)
    _check_labels_last(axes, reader, batches[0], trace)
    if first is not None:
        _check_time(batches, first)
        axes = replace(axes, tried=_every_word(reader, batches[0], first))
    return _with_reading(axes, batches[0], trace)


def _every_word(reader: Reader, batch: Batch, first: bool) -> int:
    """How many timesteps of a batch are known to read their own word; an error where one does
    not.
    """
    inputs, targets = batch
    read = read_of(inputs, targets)
    if read is None or read.dim() == 1:
        return 0
    there, shape = targets >= 0, read.shape[:2]
    if there.dim() == 2 and there.T.shape == shape != there.shape:
        there = there.T
    elif there.shape != shape:
        there = torch.ones(shape, dtype=torch.bool)
    return check_every_word(reader, inputs, read, there, first)


def _check_predictions(axes: Axes, targets: Tensor, trace: Trace) -> None:
    """Refuse one prediction for a sequence whose timesteps have targets of their own."""
    if axes.whole or trace.y is None or len(trace.y) > 1 or axes.steps == 1:
        return
    wanted = axes.in_time(targets, trace)
    there = wanted >= 0
    least = torch.where(there, wanted, wanted.max()).min(0).values
    if bool((torch.where(there, wanted, least) != least).any()):
        if trace.y.shape[-1] == axes.steps:
            raise RnnlensError(
                f"the module returns {axes.steps} numbers for a sequence of as many timesteps, and "
                "targets are labels of these; of one logit each, yes and no, name both and give "
                "logits=lambda z: torch.stack([0 * z, z], -1)"
            )
        raise RnnlensError(
            "the module predicts once for a sequence while it is read, in evaluation mode, and its "
            "timesteps have targets of their own; let forward return every timestep's logits in "
            "evaluation mode too, or give the target of each sequence alone, (sequences,)"
        )


def _check_labels_last(axes: Axes, reader: Reader, batch: Batch, trace: Trace) -> None:
    """Refuse logits with labels before timesteps, where there are as many of both: the last word
    changes what is said at its own timestep, and of a module that reads forwards nothing before.
    """
    words, y = words_of(*batch), trace.y
    if words is None or words.dim() != 2 or y is None or y.shape[::2] != (axes.steps,) * 2:
        return
    at = (0, -1) if axes.sequences_first else (-1, 0)
    others = words[words != words[at]]
    if not len(others) or axes.steps < 3:
        return
    changed = words.clone()
    changed[at] = others[0]
    fed = with_tensors(batch.inputs, lambda tensor: changed if tensor is words else tensor)
    after = reader.trace(fed).y
    if after is None or after.shape != y.shape:
        return
    moved = (after != y)[:, 0]  # (timesteps, labels), or the other way round
    if bool(moved.any(1).all()) and not bool(moved.any(0)[:-1].any()):
        raise RnnlensError(
            "what the module returns has labels before timesteps, and as many of both; give "
            "logits=lambda y: y.transpose(1, 2)"
        )


def _check_time(batches: Sequence[Batch], first: bool) -> None:
    """Refuse a module whose timesteps run along the axis that the user means for sequences: its
    targets are the next words along the other one, or padding ends lines along that one.
    """
    time, other = (1, 0) if first else (0, 1)
    for inputs, targets in batches:
        words = words_of(inputs, targets)
        if words is None or words.shape != targets.shape or words.dim() != 2:
            continue
        follows = [
            follows_along(words, targets, time),
            follows_along(words, targets, other, _LEAST_NEXT_WORDS),
        ]
        padded = [_ends_lines(targets < 0, axis) for axis in (time, other)]
        if follows == [False, True] or (not any(follows) and padded == [False, True]):
            how = "targets are the next words" if follows[1] else "padding ends sequences"
            raise RnnlensError(
                f"the module's timesteps run along axis {time} of its words, and {how} along axis "
                f"{other}; was batch_first={not first} meant where its recurrent part is made? "
                "Mend that and train it anew, or give it words.T"
            )


def _ends_lines(padding: Tensor, axis: int) -> bool:
    """Whether padding is what lines of several lengths end with, along an axis."""
    lines = padding.transpose(axis, 1)
    behind = bool((lines[:, 1:] >= lines[:, :-1]).all())
    counts = lines.sum(1)
    some = counts[(counts > 0) & (counts < lines.shape[1])]  # of a few it may be so by chance
    return behind and len(some) >= _LEAST_LINES and len(some.unique()) > 2


def _with_reading(axes: Axes, batch: Batch, trace: Trace) -> Axes:
    """The axes with what is read in a batch: words or features, and whether targets follow them."""
    inputs, targets = batch
    read = read_of(inputs, targets)
    if read is None or (read.dim() == 3 and read.shape[-1] > MOST_FEATURES):
        return axes
    rows = read if read.dim() < 3 else read[..., 0]
    features, table = 0, None
    if read.is_floating_point():
        features, table = read[0, 0].numel(), batch.tables.get(OUTPUT)
    follows = not axes.whole
    if follows and features:
        follows = table is not None and table.dim() == 1  # numbers can only follow numbers
    follows = follows and _follow(axes, axes.words_first, rows, targets, trace, table)
    fed = _fed(inputs, read, axes.sequences_first, axes.steps)
    return replace(axes, follows=follows, fed=fed, features=features)


def _aligned(reader: Reader, batch: Batch) -> Alignment:
    """How the words of a batch, or the features in their place, lie beside the states."""
    inputs, targets = batch
    read = read_of(inputs, targets)
    if read is None or read.dim() == 1:
        return Alignment()
    return aligned(reader, inputs, read, targets >= 0)


def _beside(trace: Trace, alignments: Sequence[Alignment], words: Tensor | None) -> tuple[str, ...]:
    """The kinds that have a state for each prediction."""
    readers = [a.readers for a in alignments if a.readers is not None]
    astray = frozenset[str]().union(*(a.astray for a in alignments))
    ids = [
        kind for kind in trace.states
        # Of several arrays of numbers only one was changed; of words, others are another text's.
        if kind not in astray
        and (words is None or not readers or any(kind in some for some in readers))
    ] or list(trace.states)  # fmt: skip
    sizes = {kind: trace.states[kind].shape[:2] for kind in ids}
    beside = [] if trace.logits is None else [trace.logits.shape[:2]]
    if words is not None and words.dim() == 2:
        beside += [words.shape, words.T.shape]
    wanted = next((size for size in beside if size in sizes.values()), sizes[ids[-1]])
    return tuple(kind for kind in ids if sizes[kind] == wanted)


def _warn_of_left_out(batch: Batch, trace: Trace, drawn: Sequence[str], has_source: bool) -> None:
    left = [kind for kind in trace.states if kind not in drawn]
    if not left:
        return
    shown = ", ".join(left[:8]) + (", ..." if len(left) > 8 else "")
    words = words_of(*batch)
    others = [
        t for _, t in tensors(batch.inputs) if t is not words and t.dim() == 2 and is_whole(t)
    ]
    hint = "; an encoder is drawn where source= names what it reads"
    warnings.warn(
        f"left out, as their states are not beside the module's targets: {shown}"
        + (hint if others and words is not None and not has_source else ""),
        RnnlensWarning,
        stacklevel=2,
    )


def _orders_of_targets(axes: Axes, reader: Reader, batches: Sequence[Batch]) -> Iterator[bool]:
    """Whether sequences come first in targets, from the surest evidence to mere custom.

    The shape may tell. Else targets may be the next words in one order only, or the module may
    predict them in one order only. Else flat targets lie as the logits do, and others as the words.
    """
    unclear = []
    for inputs, targets in batches:
        trace = reader.trace(inputs)
        steps, sequences, _ = trace.states[axes.kinds[-1]].shape
        fit = Layout(steps, sequences, False, lengths=trace.lengths).arrange(targets[..., None])
        if fit is not None and fit.batch_first is not None:
            yield fit.batch_first
        elif (
            fit is not None
            and fit.other is not None
            and int((targets >= 0).sum()) >= _LEAST_TARGETS
        ):
            unclear.append((trace, words_of(inputs, targets), targets))
    either = [replace(axes, targets_first=first, words_first=None) for first in (True, False)]
    for trace, words, targets in unclear:
        follow = [
            words is not None and _follow(one, axes.words_first, words, targets, trace)
            for one in either
        ]
        if follow[0] is not follow[1]:
            yield follow[0]
        by_batch, by_time = (one.in_time(targets, trace) for one in either)
        likelier = _likelier(by_batch, by_time, trace.logits) if reader.sort == LABEL else None
        if likelier is not None:
            yield likelier
    custom = [reader.orders.of("logits"), axes.words_first]
    yield from (one for one in (custom[::-1] if axes.rows else custom) if one is not None)


def _likelier(a: Tensor, b: Tensor, logits: Tensor | None) -> bool | None:
    """Whether the module predicts the targets a (T, B) better than b; None where none is better."""
    if logits is None or logits.shape[:2] != a.shape or int(a.max()) >= logits.shape[2]:
        return None
    flat = logits.flatten(0, 1).float().log_softmax(-1)
    there = (a.flatten() >= 0) & (b.flatten() >= 0)
    pair = [flat[there].gather(1, t.flatten()[there][:, None])[:, 0] for t in (a, b)]
    gap = (pair[0] - pair[1]).double()
    counts = torch.bincount(a[a >= 0]).double() + 1
    unigram = float((counts / counts.sum()).log()[a[a >= 0]].mean())
    if max(float(p.mean()) for p in pair) < unigram:
        return None  # it predicts neither
    error = float(gap.std()) / max(1, len(gap)) ** 0.5
    return bool(gap.mean() > 0) if abs(float(gap.mean())) > _SURE_ERRORS * error else None


def _follow(
    axes: Axes, words_first: bool | None, words: Tensor, targets: Tensor, trace: Trace,
    numbers: Tensor | None = None,
) -> bool:  # fmt: skip
    """Whether the targets of a batch are the words that come next in it; or the numbers, where
    targets are places in a table of `numbers`.
    """
    first = axes.targets_first if words_first is None else words_first
    try:
        wanted = axes.in_time(targets, trace)
        read = replace(axes, targets_first=first, words_first=first).in_time(words, trace)
    except RnnlensError:  # other words; wrong targets raise it again when states are read
        return False
    there = (wanted[:-1] >= 0) & (wanted[1:] >= 0)  # what follows the last word is not read
    right = wanted[:-1] == read[1:]
    if numbers is not None:
        values = numbers.to(wanted.device)[wanted[:-1].clamp_min(0)]
        right = torch.isclose(read[1:].double(), values, rtol=1e-4, atol=1e-6)
    right = right[there].float()
    return bool(len(right) and right.mean() > MOSTLY)


def _fed(inputs: Any, words: Tensor, first: bool | None, steps: int) -> tuple[int, ...] | None:
    """The shape of one text's words as the module is fed them; None where it takes more."""
    if words is not inputs:
        return None
    if words.dim() == 1:
        return (-1,)
    if first is None:  # one word, or one sequence of many
        first = words.shape[1] == steps
    return (*((1, -1) if first else (-1, 1)), *words.shape[2:])


def some_sequences(batch: Batch, chosen: Tensor, axes: Axes, trace: Trace) -> Batch:
    """The chosen sequences (N,) of a batch that was read as this trace."""
    steps, sequences, _ = trace.states[axes.kinds[-1]].shape

    def some(targets: Tensor) -> Tensor:
        if targets.dim() == 1 and not axes.whole:
            rows = (sequences, steps) if axes.targets_first else (steps, sequences)
            return _some(targets.view(rows), chosen, sequences, axes.targets_first).reshape(-1)
        return _some(targets, chosen, sequences, axes.targets_first)

    others = {name: some(targets) for name, targets in batch.others.items()}
    # Targets that are another semantic's stay the very same: so the module is known to have none.
    same = [others[name] for name, targets in batch.others.items() if targets is batch.targets]
    return Batch(
        with_tensors(batch.inputs, lambda t: _some(t, chosen, sequences, axes.words_first)),
        same[0] if same else some(batch.targets),
        others,
        batch.tables,
    )


def _some(values: Tensor, chosen: Tensor, sequences: int, first: bool | None) -> Tensor:
    """The chosen sequences of one tensor.

    `first` says whether the first axis holds sequences, where two axes are as long; a tensor
    without such an axis stays as it is.
    """
    axes = [axis for axis in (0, 1) if axis < values.dim() and values.shape[axis] == sequences]
    if not axes:
        return values
    if len(axes) == 2 and first is None:
        raise RnnlensError(
            f"both axes of a tensor of shape {tuple(values.shape)} may hold the sequences of a "
            "batch; give batch_first=True or False"
        )
    axis = (0 if first else 1) if len(axes) == 2 else axes[0]
    return values.index_select(axis, chosen.to(values.device))


def is_part(whole: Trace, part: Trace, chosen: Tensor, kinds: tuple[str, ...]) -> bool:
    """Whether the chosen sequences have the same states alone as among the others."""
    for kind in kinds:
        alone = part.states[kind]
        among = whole.states[kind].index_select(1, chosen.to(alone.device))[: len(alone)]
        if alone.shape != among.shape:
            return False
        if part.lengths is not None:
            there = within(len(alone), part.lengths.to(alone.device))
            alone, among = alone[there], among[there]
        if not torch.allclose(alone, among, rtol=1e-3, atol=1e-4):
            return False
    return True
