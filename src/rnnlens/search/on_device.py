"""What an index says of states, in operations that leave their numbers on a GPU: what is drawn of
them by the rule of `reading/encoding.py`, and the sums that divergences are made of.

Of a large model all logits of a corpus are a terabyte, and a GPU takes most of its time to read
them: so each step goes through them as few times as it can, and waits for nothing. Only what an
index has of a state is copied, once for many words.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from rnnlens.base.errors import RnnlensError
from rnnlens.base.rules import message
from rnnlens.reading.encoding import Encodings, Palette

_COLUMNS = 32  # of a block, of which the largest is found first
_BLOCKS = 8  # blocks at least for each of the largest that are wanted
_NARROW = 1e-6  # the least room that a base rate leaves
_BITS = float(1 / np.log(2))  # in a nat


class Drawn(NamedTuple):
    """What is drawn of N states, as in `Encodings`, on the device."""

    labels: Tensor
    probabilities: Tensor
    group: Tensor
    share: Tensor
    rival: Tensor
    lead: Tensor
    entropy: Tensor
    came: Tensor
    rank: Tensor


class Drawing:
    """The rule for what is drawn of states, on a device, by a palette whose labels stand group by
    group, or one that fades by the paper's rule.
    """

    def __init__(self, palette: Palette, device: torch.device) -> None:
        self.palette = palette
        self.group_of = torch.from_numpy(palette.group_of).to(device)
        order = palette.numbers
        self.numbers = None if order is None else torch.from_numpy(order).to(device)
        if base := palette.base:
            self.frequent, self.even = (
                torch.from_numpy(rates.T.copy()).to(device) for rates in (base.frequent, base.even)
            )

    def of(self, logits: Tensor, p: Tensor, wanted: Tensor, bars: int) -> Drawn:
        """What is drawn of states with these logits and probabilities (N, V), of which so many
        labels are kept; `wanted` (N,) are the columns of those that came, -1 where none did.
        """
        columns = largest_on_device(logits, min(bars, logits.shape[1]))
        entropy = torch.special.entr(p).sum(1) * _BITS
        there, column = wanted >= 0, wanted.clamp_min(0)[:, None]
        above = (logits > logits.gather(1, column)).sum(1)
        return Drawn(
            columns if self.numbers is None else self.numbers[columns],
            p.gather(1, columns),
            *leading_on_device(self._sums(logits, p), self._rates(entropy)),
            entropy,
            torch.where(there, p.gather(1, column)[:, 0], 0),
            torch.where(there, 1 + above, 0),
        )

    def _sums(self, logits: Tensor, p: Tensor) -> Tensor:
        """The probabilities of groups, (N, G), of the labels that take part."""
        palette = self.palette
        if palette.base:  # one pass, where adding label by label to its group waits for itself
            return palette.sums(p).T
        among = logits.topk(palette.taking_part, 1, sorted=False).indices
        sums = p.new_zeros(len(p), len(palette.groups))
        return sums.scatter_add_(1, self.group_of[among], p.gather(1, among))

    def _rates(self, entropy: Tensor) -> Tensor | None:
        """The groups' base rates beside each state, (N, G), as `BaseRates.rates` has them."""
        base = self.palette.base
        if base is None:
            return None
        beyond = (entropy - base.bits) / max(base.most - base.bits, _NARROW)
        return self.frequent + beyond.clamp(0, 1)[:, None] * (self.even - self.frequent)


def largest_on_device(x: Tensor, count: int) -> Tensor:
    """The columns of each row's `count` largest, largest first.

    `topk` reads its rows many times over, so it is given the largest of each block of columns, and
    then those columns alone that are in the best blocks: none of the others can be among them. A
    block has every so many columns; those that are left over are looked at in any case.
    """
    size = min(_COLUMNS, x.shape[1] // (_BLOCKS * count))
    if size < 2:
        return x.topk(count, 1).indices
    blocks = x.shape[1] // size
    whole = blocks * size
    best = x[:, :whole].unflatten(1, (size, blocks)).amax(1).topk(count, 1).indices
    inside = best[:, :, None] + blocks * torch.arange(size, device=x.device)
    over = torch.arange(whole, x.shape[1], device=x.device).expand(len(x), -1)
    columns = torch.cat([inside.flatten(1), over], 1)
    return columns.gather(1, x.gather(1, columns).topk(count, 1).indices)


def leading_on_device(sums: Tensor, base: Tensor | None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """What `reading.encoding.leading` finds, of groups that stand side by side, (N, G)."""
    shares = sums.double()
    shares = shares / shares.sum(1, keepdim=True)
    if base is not None:
        shares = (shares - base) / (1 - base).clamp_min(_NARROW)
    first, group = shares.max(1)
    second, rival = shares.scatter(1, group[:, None], -torch.inf).max(1)
    first, second = first.clamp(0, 1), second.clamp(0, 1)
    rival = torch.where(second > 0, rival, -1)
    return group, first.float(), rival, (first - second).float()


def on_host(some: Sequence[Drawn], kinds: int) -> list[Encodings]:
    """What was drawn of words, one list of them after the other, of so many kinds side by side:
    that of each kind. This is where the device is waited for.
    """
    every = {
        name: torch.cat(parts).unflatten(0, (-1, kinds)).transpose(0, 1).contiguous().cpu().numpy()
        for name, parts in zip(Drawn._fields, zip(*some, strict=True), strict=True)
    }
    if not np.isfinite(every["probabilities"]).all():
        raise RnnlensError(message("too_large"))
    count = every["rank"].shape[1]
    unknown = {"numbers": np.zeros((count, 0)), "sizes": np.full(count, np.nan, np.float32)}
    return [
        Encodings(**{name: values[k] for name, values in every.items()}, **unknown)
        for k in range(kinds)
    ]


def negentropies_on_device(
    ends: Sequence[tuple[Tensor, Tensor]], room: Tensor, sums: Tensor
) -> None:
    """The sums of x log x (pairs, N) of pairs of distributions added up, x; `room` holds those of a
    few pairs at once, (some, N, V).
    """
    for first in range(0, len(ends), len(room)):
        some = ends[first : first + len(room)]
        both = room[: len(some)]
        for (a, b), x in zip(some, both, strict=True):
            torch.add(a, b, out=x)
        torch.special.entr(both, out=both)
        torch.sum(both, -1, out=sums[first : first + len(some)])
    sums.neg_()
