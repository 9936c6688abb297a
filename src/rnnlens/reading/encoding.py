"""The encoding of a state: from a distribution over labels to bars and a coloured rectangle."""

import math
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rnnlens.base.errors import RnnlensError
from rnnlens.base.rules import count, message, number
from rnnlens.labels.colours import OTHER, Rule, colours_of
from rnnlens.labels.sets import LabelSet

_SHARE = number(
    "rectangle_share"
)  # of the labels take part in the rectangle: the paper's top-k is 10% of the vocabulary
_CLOSE = number("close_groups")  # shares that differ by less may as well be the other way round
BARS = count("state_labels")  # labels kept of each state: what the detail panel shows
_BLOCKS = 8  # blocks of columns for each bar, or more
_LARGEST = 32  # columns of a block, beyond which its maximum takes long
_SAMPLE = 16  # a sample takes every sixteenth column
_SAMPLED = 128  # at least so many
_ROUNDS = 2  # of mending a guess
_TINY = 1e-30  # whose logarithm is finite
_LEAST = 1e-300  # what is divided by less is infinite
_NARROW = 1e-6  # the least room that a base rate leaves
_LN2 = math.log(2)
_ROOMS = 4  # kept for those who encode at the same time
_LARGEST_ROOM = 1 << 20  # numbers of one that is kept

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class BaseRates:
    """How probable each group is to whoever knows nothing.

    That is by the labels' frequencies; where a state is less decided than these are, the nearer to
    all labels being equally probable, the less it is. So neither has a colour.
    """

    frequent: Doubles  # (G, 1) by the frequencies
    even: Doubles  # (G, 1) by labels that are equally probable
    bits: float  # the entropy of the frequencies
    most: float  # the entropy of labels that are equally probable

    @classmethod
    def of(cls, members: Tensor, frequencies: Tensor) -> "BaseRates":
        """Of groups (G, V), given how probable labels are by their frequencies, (V,)."""
        exact = members.double()
        frequent, even = (exact @ frequencies)[:, None], exact.mean(1, keepdim=True)
        bits = float(torch.special.entr(frequencies).sum()) / math.log(2)
        return cls(frequent.numpy(), even.numpy(), bits, math.log2(len(frequencies)))

    def rates(self, entropy: Floats) -> Doubles:
        """Of each group beside each state (G, N), given the states' entropies in bits, (N,)."""
        beyond = (entropy - self.bits) / max(self.most - self.bits, _NARROW)
        part = np.minimum(np.maximum(beyond, 0), 1)  # np.clip takes several times as long
        rates: Doubles = self.frequent + part * (self.even - self.frequent)
        return rates


@dataclass(frozen=True)
class Palette:
    """Every label's group, every group's colour, and what rectangles fade by."""

    groups: tuple[str, ...]
    colours: tuple[str, ...]  # of each group
    group_of: Integers  # (V,) number of each label's group
    members: Tensor  # (G, V) 1 where a label is of a group
    answers: LabelSet | None = None  # the labels, where there is more to them than their names
    base: BaseRates | None = None  # that colours fade by; None: by the paper's rule
    #: Those of states that are never asked for one of the labels, a target's end.
    base_without: BaseRates | None = None
    numbers: Integers | None = None  # (V,) of labels that stand in another order than that of these

    @property
    def by_group(self) -> "Palette":
        """For labels that stand group by group, so that those of a group are added up as they are;
        `numbers` has the order.
        """
        order = np.argsort(self.group_of, kind="stable")
        members = self.members[:, torch.from_numpy(order)]
        return replace(self, group_of=self.group_of[order], members=members, numbers=order)

    @cached_property
    def _spans(self) -> list[tuple[int, int]]:
        """Where the labels of each group stand, if they stand group by group."""
        ends = np.cumsum(np.bincount(self.group_of, minlength=len(self.groups)))
        return list(zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True))

    def sums(self, p: Tensor) -> Tensor:
        """The probabilities of groups (G, N), given those of labels (N, V)."""
        if self.numbers is None:
            return self.members @ p.T
        return torch.stack([p[:, first:last].sum(1) for first, last in self._spans])

    @cached_property
    def alone(self) -> bool:
        """Whether every label is a group of its own."""
        return bool(np.bincount(self.group_of).max(initial=0) <= 1)

    @cached_property
    def taking_part(self) -> int:
        """How many labels take part in the rectangle: 10% of all, halves rounded up; all of them
        where that is one, or where every label is a group of its own, or nothing would ever fade.
        """
        tenth = int(_SHARE * len(self.group_of) + 0.5)
        return len(self.group_of) if tenth < 2 or self.alone else tenth

    @classmethod
    def of(
        cls, labels: Sequence[str], grouping: Mapping[str, Any], answers: LabelSet | None = None
    ) -> "Palette":
        """A grouping of colours.json, for these labels; labels it does not list are OTHER."""
        groups = tuple(grouping["colours"])
        number = {group: k for k, group in enumerate(groups)}
        if OTHER not in number:
            raise RnnlensError(f"the colours have no group {OTHER}; restore colours.json")
        listed = grouping["groups"]
        group_of = np.array([number[listed.get(label, OTHER)] for label in labels], np.int64)
        members = torch.zeros(len(groups), len(labels), dtype=torch.float32)
        members[torch.from_numpy(group_of), torch.arange(len(labels))] = 1
        return cls(groups, tuple(grouping["colours"].values()), group_of, members, answers)

    def grouping(self, labels: Sequence[str]) -> dict[str, dict[str, str]]:
        """The inverse of `of`: what colours.json holds."""
        named = {label: self.groups[k] for label, k in zip(labels, self.group_of, strict=True)}
        return {
            "colours": dict(zip(self.groups, self.colours, strict=True)),
            "groups": {label: group for label, group in named.items() if group != OTHER},
        }

    @property
    def without(self) -> "Palette":
        """For states that are never asked for one of the labels."""
        return replace(self, base=self.base_without) if self.base and self.base_without else self

    def against(self, counts: Tensor, but: int | None = None) -> "Palette":
        """The palette, faded by what exceeds the base rates of the groups, given how often each
        label occurs in training; as it is where nothing was counted, or where the rectangle is
        that of a number or of labels that hold each by itself. `but`: a label that some states are
        not asked for.
        """
        answers = self.answers or LabelSet.numbered(len(self.group_of))
        if answers.several or answers.scale or counts.ndim != 1 or not counts.sum():
            return self
        prior = answers.prior(counts).exp()
        base, others = BaseRates.of(self.members, prior), None
        if but is not None and float(prior[but]) < 1:
            left = torch.arange(len(prior)) != but
            others = BaseRates.of(self.members[:, left], prior[left] / prior[left].sum())
        return replace(self, base=base, base_without=others)

    @property
    def rule(self) -> Rule:
        """What its rectangles fade by."""
        return "paper" if self.base is None else "excess"

    @cached_property
    def channels(self) -> NDArray[np.float64]:
        """Red, green and blue of each group, (G, 3)."""
        rows = [[int(colour[k : k + 2], 16) for k in (1, 3, 5)] for colour in self.colours]
        return np.array(rows, np.float64)


def palettes_of(answers: LabelSet, counts: Sequence[int] = ()) -> dict[str, Palette]:
    """The colours that labels have unless somebody chooses."""
    colours = colours_of(
        answers.names, counts or [0] * len(answers), in_order=answers.scale is not None
    )
    groupings = colours["groupings"]
    return {key: Palette.of(answers.names, value, answers) for key, value in groupings.items()}


@dataclass(frozen=True)
class Encodings:
    """The encodings of N states."""

    labels: Integers  # (N, k) the most probable labels, most probable first
    probabilities: Floats  # (N, k) of each
    group: Integers  # (N,) the dominant group
    share: Floats  # (N,) how much colour the rectangle has, by the palette's rule
    rival: Integers  # (N,) the group that comes second, -1 where none has a share
    lead: Floats  # (N,) by how much the dominant group's share is the larger
    entropy: Floats  # (N,) bits
    came: Floats  # (N,) probability of the label that really came; 0 where none did
    rank: Integers  # (N,) of that label, 1 is the most probable; 0 where none did
    #: (N, 3) the mean, or the model's own number, and the interval; (N, 0): labels are no numbers
    numbers: NDArray[np.float64]
    sizes: Floats  # (N,) of the states, as `Stack.sizes` has them; NaN where these are not known

    @classmethod
    def join(cls, parts: Sequence["Encodings"]) -> "Encodings":
        """Several, one after the other."""
        names = cls.__dataclass_fields__
        return cls(**{name: np.concatenate([getattr(p, name) for p in parts]) for name in names})

    def of(self, chosen: Integers | slice) -> "Encodings":
        """Some of them."""
        return Encodings(
            **{name: getattr(self, name)[chosen] for name in self.__dataclass_fields__}
        )

    def asked_about(self, logits: Tensor, wanted: Integers) -> "Encodings":
        """The encodings, asked about these labels (-1: none), given their logits."""
        x: Floats = logits.numpy()
        rows = np.flatnonzero(wanted >= 0)
        came, rank = np.zeros(len(x), np.float32), np.zeros(len(x), np.int64)
        value, highest = x[rows, wanted[rows]], x[rows, self.labels[rows, 0]]
        came[rows] = self.probabilities[rows, 0] * np.exp(value - highest)
        above = np.nextafter(value, np.inf)
        if 2 * len(rows) < len(x):
            rank[rows] = 1 + _count(x[rows], above)
        else:  # to count in a few more takes less than to copy the others
            bound = np.full(len(x), np.inf, np.float32)
            bound[rows] = above
            rank[rows] = 1 + _count(x, bound)[rows]
        return replace(self, came=came, rank=rank)

    def rivals(self) -> Integers:
        """The group that comes second where it is close to the dominant one, else -1; where there
        is hardly any colour, none is close.
        """
        close = (self.lead < _CLOSE) & (self.share >= _CLOSE)
        return np.where(close, self.rival, -1)

    def colours(self, palette: Palette) -> list[str]:
        """The rectangles: each dominant group's colour, faded by what the others hold."""
        return faded(palette.channels[self.group], self.share)


def encode(
    logits: Tensor, palette: Palette, wanted: Integers, bars: int = BARS, p: Tensor | None = None,
    own: Tensor | None = None, widths: Tensor | None = None,
) -> Encodings:  # fmt: skip
    """Encode states given the logits (N, V) of their distributions and the labels that came; `p`
    are the probabilities, where they are known already. Of numbers, `own` (N,) are the model's and
    `widths` (N,) what intervals are widened by, as `Scale.numbers` takes them.

    Rectangle: add up probability by group, over all labels or, by the paper's rule, over those that
    take part; the group that exceeds its base rate most is dominant, or that with the largest sum.
    Labels equally probable stand in the order of their numbers.
    """
    if palette.answers and palette.answers.several:
        return _encode_several(logits, palette, bars)
    if p is not None:
        return _encode(logits, p, palette, wanted, bars, own, widths)
    with _room_for(logits) as room:
        p = torch.softmax(logits, 1, out=room)
        return _encode(logits, p, palette, wanted, bars, own, widths)


def _encode(
    logits: Tensor, p: Tensor, palette: Palette, wanted: Integers, bars: int, own: Tensor | None,
    widths: Tensor | None,
) -> Encodings:  # fmt: skip
    x: Floats = logits.numpy()
    probable: Floats = p.numpy()
    _check_finite(probable[:, 0])  # if one of a row is no number, none is
    labels = largest(x, min(bars, x.shape[1]), palette.numbers)
    states = np.arange(len(x))
    values = probable[states[:, None], labels]
    with np.errstate(invalid="ignore"):  # of what is impossible
        nats = x[states, labels[:, 0]] - np.log(values[:, 0]) - np.vecdot(probable, x)
    bits = np.maximum(nats / _LN2, 0)
    made = Encodings(
        labels,
        values,
        *_dominant(logits, p, palette, bits),
        bits,
        *_nothing(len(x)),
    )
    if palette.answers and palette.answers.scale:
        numbers = palette.answers.scale.numbers(p, own, widths)
        made = _on_axis(made, p, palette, numbers)
    return made.asked_about(logits, wanted)


_rooms: deque[Tensor] = deque(maxlen=_ROOMS)


@contextmanager
def _room_for(like: Tensor) -> Iterator[Tensor]:
    """Room for as many numbers, whatever they were: that of somebody before, since fresh memory is
    given page by page, which takes longer than to fill it.
    """
    size = like.numel()
    try:
        held = _rooms.pop()
    except IndexError:  # others have them all
        held = torch.empty(0, dtype=torch.float32)
    if held.numel() < size:
        with torch.inference_mode(False):  # so that it can be written in either mode
            held = torch.empty(size, dtype=torch.float32)
    yield held[:size].view(like.shape)
    if held.numel() <= _LARGEST_ROOM:
        _rooms.append(held)


def _dominant(
    logits: Tensor, p: Tensor, palette: Palette, bits: Floats
) -> tuple[Integers, Floats, Integers, Floats]:
    """The dominant group of each state and its share, the one that comes second, and the lead."""
    every = palette.base is not None or palette.taking_part == logits.shape[1]
    among = p if every else among_top(logits, palette.taking_part).mul_(p)
    rates = palette.base.rates(bits) if palette.base else None
    return leading(palette.sums(among).numpy(), rates)


def leading(sums: Floats, base: Doubles | None = None) -> tuple[Integers, Floats, Integers, Floats]:
    """The dominant group of each state, its share, the group that comes second (-1: none) and by
    how much the first one leads, (N,), given the probabilities of the groups, and their base rates
    where colours fade by these, (G, N).

    A group's share is what exceeds its base rate, of all that could: 0 at the base rate or below,
    1 where the state is certain of it. By the paper's rule it is its part of the sum.
    """
    shares = sums.astype(np.float64)  # so that what is left to the others is exact
    shares /= shares.sum(0)
    if base is not None:  # a group that holds every label exceeds nothing
        shares = (shares - base) / np.maximum(1 - base, _NARROW)
    states = np.arange(shares.shape[1])
    group = shares.argmax(0)
    first = shares[group, states]
    shares[group, states] = -np.inf
    rival = shares.argmax(0)
    second = shares[rival, states]
    first, second = (np.minimum(np.maximum(some, 0), 1) for some in (first, second))
    rival[second <= 0] = -1
    return group, first.astype(np.float32), rival, (first - second).astype(np.float32)


def _check_finite(p: Floats) -> None:
    if not np.isfinite(p).all():
        raise RnnlensError(message("too_large"))


def _nothing(count: int) -> tuple[Floats, Integers, NDArray[np.float64], Floats]:
    """What came, its rank, the numbers and the sizes, where there are none of these."""
    came, sizes = np.zeros(count, np.float32), np.full(count, np.nan, np.float32)
    return came, np.zeros(count, np.int64), np.zeros((count, 0)), sizes


def _on_axis(made: Encodings, p: Tensor, palette: Palette, numbers: Tensor) -> Encodings:
    """The encodings of numbers. The rectangle has the colour of the bin in which the median lies,
    and fades the less the state tells: bins are equally full in training, so that whoever knows
    nothing finds all equally probable.
    """
    median = (p.cumsum(1) < p.sum(1, keepdim=True) / 2).sum(1).clamp(max=p.shape[1] - 1)
    share = np.clip(1 - made.entropy / np.log2(p.shape[1]), 0, 1).astype(np.float32)
    return replace(
        made,
        group=palette.group_of[median.numpy()],
        share=share,
        rival=np.full(len(p), -1),
        lead=share,
        numbers=numbers.numpy(),
    )


def _encode_several(logits: Tensor, palette: Palette, bars: int) -> Encodings:
    """The encodings of labels that hold or not each by itself. The rectangle has the colour of the
    most probable one, and fades the less probable that is.
    """
    x: Floats = logits.numpy()
    p: Floats = logits.sigmoid().numpy()
    _check_finite(p)
    labels = largest(x, min(bars, x.shape[1]))
    values = np.take_along_axis(p, labels, 1)
    bits = np.where((p > 0) & (p < 1), -p * np.log2(np.maximum(p, _TINY)), 0)
    bits += np.where((p > 0) & (p < 1), -(1 - p) * np.log2(np.maximum(1 - p, _TINY)), 0)
    return Encodings(
        labels, values, palette.group_of[labels[:, 0]], values[:, 0], np.full(len(x), -1),
        values[:, 0], bits.sum(1), *_nothing(len(x)),
    )  # fmt: skip


def largest(x: Floats, count: int, numbers: Integers | None = None) -> Integers:
    """The columns of each row's `count` largest, largest first, without sorting all of them; equal
    ones stand in the order of their numbers, which are the columns unless given.

    Columns are dealt out into blocks: the least of the `count` largest block maxima is a bound that
    at least so many columns reach, and hardly more, all of them in blocks whose maximum does. So
    all columns are looked through once.
    """
    size = max(1, min(_LARGEST, x.shape[1] // (_BLOCKS * count)))
    blocks = x.shape[1] // size  # of which the k-th has column k and every so many from there on
    whole = blocks * size
    tops: Floats = torch.from_numpy(x[:, :whole]).unflatten(1, (size, -1)).amax(1).numpy()
    if whole < x.shape[1]:  # what is left over are blocks of one column
        tops = np.concatenate([tops, x[:, whole:]], 1)
    bound = np.partition(tops, -count, 1)[:, -count, None]
    rows, places = np.divmod(np.flatnonzero(tops >= bound), tops.shape[1])
    alone = np.flatnonzero(places >= blocks)
    places[alone] += whole - blocks
    first = rows * x.shape[1] + places
    at = first[:, None] + blocks * np.arange(size)  # among all numbers of all rows
    at[alone] = first[alone, None]
    values = x.ravel().take(at)
    reach = values >= bound[rows]
    reach[alone, 1:] = False
    values, (rows, columns) = values[reach], np.divmod(at[reach], x.shape[1])
    order = np.lexsort((columns if numbers is None else numbers[columns], -values, rows))
    starts = np.searchsorted(rows, np.arange(len(x)))
    found: Integers = columns[order[starts[:, None] + np.arange(count)]]
    return found


def among_top(logits: Tensor, top: int) -> Tensor:
    """1 for the labels that are among the `top` of their row, 0 for the others."""
    x: Floats = logits.numpy()
    least = separating(x, top)
    among = torch.ge(logits, torch.from_numpy(least), out=torch.empty_like(logits))
    for row in np.flatnonzero(among.sum(1).numpy() > top):
        ties = np.flatnonzero(x[row] == least[row])
        among[row, ties[top - np.count_nonzero(x[row] > least[row]) :]] = 0
    return among


def separating(x: Floats, top: int) -> Floats:
    """For each row a bound that `top` numbers reach, or more where several equal the last, (N, 1).

    Guessed from a sample, mended by counting, and settled by the few numbers that are left in
    doubt: several times faster than a partition, which is for rows where that fails.
    """
    if x.shape[1] < _SAMPLED * _SAMPLE:
        return np.partition(x, -top, 1)[:, -top, None]
    sample = np.sort(x[:, ::_SAMPLE], 1)
    place, spread = sample.shape[1] - top // _SAMPLE - 1, max(1, top // _SAMPLE // 4)
    step = (sample[:, place + spread] - sample[:, place - spread]) / (2 * spread * _SAMPLE)
    bound = sample[:, place]
    for _ in range(_ROUNDS):
        excess = _count(x, bound) - top
        bound = bound + np.where(excess, excess * step, 0).astype(np.float32)
    excess = _count(x, bound) - top
    bound, settled = _settled(x, bound, excess, step * (3 * np.abs(excess) + 8))
    if not settled.all():
        bound[~settled] = np.partition(x[~settled], -top, 1)[:, -top]
    return bound[:, None]


def _settled(
    x: Floats, bound: Floats, excess: Integers, width: Floats
) -> tuple[Floats, NDArray[np.bool_]]:
    """Bounds moved past exactly `excess` numbers of their rows; and where `width` was enough."""
    low = np.where(excess > 0, bound, bound - width).astype(np.float32)[:, None]
    high = np.where(excess > 0, bound + width, bound).astype(np.float32)[:, None]
    rows, columns = np.divmod(np.flatnonzero((x >= low) & (x < high)), x.shape[1])
    values = x[rows, columns]
    values = values[np.lexsort((values, rows))]
    starts = np.searchsorted(rows, np.arange(len(x) + 1))
    there = np.diff(starts)
    place = np.where(excess > 0, excess, there + excess)
    settled = (excess == 0) | ((place >= 0) & (place < there))
    chosen = np.flatnonzero(settled & (excess != 0))
    bound = bound.copy()
    bound[chosen] = values[starts[chosen] + place[chosen]]
    return bound, settled


def _count(x: Floats, bound: Floats) -> Integers:
    """How many numbers of each row reach its bound."""
    size = x.shape[1]
    reach = np.empty((len(x), -(-size // 8) * 8), bool)
    reach[:, size:] = False
    np.greater_equal(x, bound[:, None], out=reach[:, :size])
    # Eight at a time: as bytes of a word they add up to 255 before one runs over.
    eights = reach.view(np.uint64)
    sums = np.add.reduceat(eights, np.arange(0, eights.shape[1], 255), axis=1)
    counts: Integers = sums.view(np.uint8).sum(1, dtype=np.int64)
    return counts


def faded(channels: NDArray[np.float64], share: Floats | NDArray[np.float64]) -> list[str]:
    """Mix with white in each sRGB channel: share * colour + (1 - share) * white, as #rrggbb."""
    part = np.asarray(share, np.float64)[:, None]
    mixed = np.rint(part * channels + (1 - part) * 255).astype(int)
    return [f"#{r:02x}{g:02x}{b:02x}" for r, g, b in mixed.tolist()]


def significant(values: Floats | NDArray[np.float64], digits: int = 5) -> list[Any]:
    """Rounded to so many significant digits, as plain numbers; next to nothing is nothing."""
    exact = np.where(values < _LEAST, 0, values.astype(np.float64))
    place = np.floor(np.log10(np.where(exact > 0, exact, 1)))
    scale = 10.0 ** (digits - 1 - place)
    return list((np.rint(exact * scale) / scale).tolist())
