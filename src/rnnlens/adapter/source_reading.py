"""What is found out about an encoder-decoder before probes are fitted to it: how a typed pair is
fed, whether it is read as in a batch, whether its target can be generated, and its attention.

Words of a pair are changed: one of the source has to move the encoder's states in its row, and the
decoder's; one of the target the decoder's alone.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from rnnlens.adapter.adapter import Adapter
from rnnlens.adapter.attention import Found, found_attention, hear
from rnnlens.adapter.axes.axes import Axes
from rnnlens.adapter.batches import Batch, words_of
from rnnlens.adapter.source import (
    BATCHES,
    SOURCE,
    TARGET,
    PairBatch,
    Source,
    SourceRecord,
    arguments_of,
    check_names,
    end_of,
    padding_of,
    pairs_of,
    real,
    source_rows,
)
from rnnlens.adapter.texts import begin_of
from rnnlens.adapter.user_model import users_code
from rnnlens.base.errors import RnnlensError, RnnlensWarning
from rnnlens.model.traceable import Trace

_CHANGED = 6  # words of each side that are changed, at most
_REPLACEMENTS = 3  # of a word: two may be the same to a module
_SAME = 1e-3  # of the largest number of a kind: rounding
_HEARD = 3  # pairs of other lengths in which attention is looked for


@dataclass(frozen=True)
class SourceReading:
    """How pairs are read, and what of it was seen."""

    record: SourceRecord
    begin: int | None  # the word that every target begins with
    seen: tuple[str, ...]
    trusted: tuple[str, ...]


def source_reading(
    adapter: Adapter, axes: Axes, batches: Sequence[Batch], follows: bool
) -> SourceReading:
    """See how pairs have to be read, by those of these batches; the first tells most. `follows`:
    what the module predicts are the next words of its target.
    """
    source, user, some = axes.source, adapter.user, batches[:BATCHES]
    assert source is not None  # noqa: S101 - only of those that have one
    first = axes.sequences_first is not False
    rows = [source_rows(b.inputs, source.path, source.sequences_first) for b in some]
    check_names(user.source or (), rows)
    targets = [words for b in some if (words := words_of(*b)) is not None and words.dim() == 2]
    pads = {
        SOURCE: padding_of(rows), TARGET: padding_of([w if first else w.T for w in targets]),
    }  # fmt: skip
    read = torch.cat([one[real(one, pads[SOURCE])] for one in rows])
    counts = torch.bincount(read.long().cpu(), minlength=len(user.source or ())).tolist()
    fed = None if user.prepare else arguments_of(some, source, first, pads)
    begin = begin_of(axes, batches, None)
    record = SourceRecord(
        tuple(user.source or ()), tuple(counts), source.kinds, source.path, source.sequences_first,
        fed, pads[SOURCE], end_of([b.targets for b in some], axes.targets_first is not False),
    )  # fmt: skip
    if fed is None and user.prepare is None:
        if user.attention is not None:
            raise RnnlensError(
                "attention= is looked for in single pairs, and how one is fed to the module is not "
                "known; give prepare= a function from the numbers of both to what it takes"
            )
        unknown = "how a pair is fed is not known"
        given = "how a pair would be fed (give prepare=, a function of source and target)"
        return SourceReading(replace(record, stuck=unknown), begin, (), (given,))

    def make(source: Sequence[int], target: Sequence[int]) -> Any:
        if user.prepare is None:
            return record.inputs(source, target, adapter.device)
        with users_code("prepare="):
            return user.prepare(list(source), list(target))

    pairs = list(pairs_of(batches[0], source, pads[SOURCE], first))
    verified = PairCheck(adapter.trace, make, source, axes.kinds).check(batches[0], pairs)
    found = _attention(adapter, make, [(one, other) for _, one, other in pairs])
    stuck = ""
    if not follows:
        stuck = "its labels are not the next words of the target"
    elif begin is None:
        stuck = "no word of its own begins every target in the batches"
    elif not verified.stepwise:
        stuck = "what it says of a word of the target changes with words behind it"
    seen, trusted = verified.said()
    if found.name:
        heads = f" of each of {found.heads} heads" if found.heads > 1 else ""
        sums = "are not negative and sum to 1 over the source"
        seen.append(f"the weights of {found.name}{heads} {sums}")
    record = replace(
        record, attention=found.name, heads=found.heads, lie=found.lie, stuck=stuck
    )  # fmt: skip
    return SourceReading(record, begin, tuple(seen), tuple(trusted))


def _attention(
    adapter: Adapter, make: "Make", pairs: Sequence[tuple[list[int], list[int]]]
) -> Found:
    """The submodule whose weights over the source are the attention, if there is any."""
    sizes = {(len(one), len(other)): (one, other) for one, other in pairs}
    apart = {size: pair for size, pair in sizes.items() if size[0] != size[1]} or sizes
    heard = []
    for (source, target), pair in [*apart.items()][:_HEARD]:
        fed = make(*pair)
        one = hear(adapter.module, lambda fed=fed: adapter.trace(fed))  # type: ignore[misc]
        heard.append((one, source, target))
    wanted = adapter.user.attention
    if not heard:
        return Found()
    found = found_attention(adapter.module, heard, wanted)
    if found.others:
        warnings.warn(
            f"weights over the source are computed in {found.name} and in "
            f"{', '.join(found.others)}; the first is drawn as the attention, name another: "
            f"attention={found.others[0]!r}",
            RnnlensWarning,
            stacklevel=2,
        )
    return found


Make = Callable[[Sequence[int], Sequence[int]], Any]  # what is fed, of the words of a pair


@dataclass(frozen=True)
class Verified:
    """What was seen where words of a pair were changed."""

    source: int = 0  # words of the source that were changed
    target: int = 0
    same: bool | None = None  # whether a pair has the states that it has in its batch
    stepwise: bool = False  # whether what is said of a target's word goes by earlier ones alone

    def said(self) -> tuple[list[str], list[str]]:
        """What was verified, and what is taken on trust."""
        seen, trusted = list[str](), list[str]()
        if self.source and self.target:
            seen.append(
                f"each of {self.source} words of a source moves the encoder in its row and the "
                f"decoder, each of {self.target} of a target the decoder alone"
            )
        else:
            trusted.append("which states are the source's")
        if self.same:
            seen.append("a pair has the states that it has in a batch")
        else:
            trusted.append("pairs, whose states are not those they have in a batch")
        return seen, trusted


class PairCheck:
    """One pair of a batch, read by itself, with some of its words changed."""

    def __init__(
        self, read: Callable[[Any], Trace], make: Make, source: Source, kinds: Sequence[str]
    ) -> None:
        self.read, self.make, self.source, self.kinds = read, make, source, kinds

    def _trace(self, source: Sequence[int], target: Sequence[int]) -> Trace:
        fed = self.make(source, target)
        return PairBatch(fed, len(source), len(target)).of(self.read(fed), self.source.kinds)

    def check(self, batch: Batch, pairs: Sequence[tuple[int, list[int], list[int]]]) -> Verified:
        """Refuse a module that does not read a pair of a batch as it should."""
        telling = [one for one in pairs if len(one[1]) > 1 < len(one[2])]
        if not telling:
            return Verified()
        at, source, target = min(telling, key=lambda one: len(one[1]) + len(one[2]))
        before = self._trace(source, target)
        same = self._same(before, self.read(batch.inputs), at, (len(source), len(target)))
        tried = {SOURCE: 0, TARGET: 0}
        stepwise = True
        for side, words, first in ((SOURCE, source, 0), (TARGET, target, len(source))):
            for place in range(min(_CHANGED, len(words))):
                after = self._changed(side, (source, target), place, before)
                if after is None:
                    continue
                tried[side] += 1
                self._judge(side, place, first, before, after, len(source))
                if side == TARGET and before.y is not None and after.y is not None:
                    rows = slice(len(source), first + place)
                    stepwise &= _close(before.y[rows], after.y[rows])
        return Verified(tried[SOURCE], tried[TARGET], same, stepwise)

    def _changed(
        self, side: str, pair: tuple[list[int], list[int]], place: int, before: Trace
    ) -> Trace | None:
        """The pair with another word in a place, after which something is another."""
        words = pair[0] if side == SOURCE else pair[1]
        others = sorted({*words} - {words[place]}) or [words[place] + 1 if not place else 0]
        for number in range(_REPLACEMENTS):
            other = [*words]
            other[place] = others[number * len(others) // _REPLACEMENTS]
            now = (other, pair[1]) if side == SOURCE else (pair[0], other)
            after = self._trace(*now)
            if any(not torch.equal(v, after.states[kind]) for kind, v in before.states.items()):
                return after
        return None

    def _judge(
        self, side: str, place: int, first: int, before: Trace, after: Trace, source: int
    ) -> None:
        """Refuse what moves with a word and should not, or does not and should."""
        moved = {
            kind: (v != after.states[kind]).any(-1).any(-1).nonzero()[:, 0].tolist()
            for kind, v in before.states.items()
        }
        row = first + place
        mine = self.source.kinds if side == SOURCE else self.kinds
        if side == TARGET and (kind := next((k for k in self.source.kinds if moved[k]), None)):
            raise RnnlensError(
                f"{kind} changes with word {place + 1} of the target, which it should not know: it "
                "is no state of the source; leave its part out: exclude="
            )
        if not any(row in moved[kind] for kind in mine):
            raise RnnlensError(
                f"word {place + 1} of the {side} is not read in its row: no state there changes "
                "with it; give prepare= a function that feeds a pair as batches are fed"
            )
        reached = any(at >= source for kind in self.kinds for at in moved.get(kind, ()))
        if before.y is not None and after.y is not None:  # attention may come last
            reached = reached or not torch.equal(before.y, after.y)
        if side == SOURCE and not reached:
            raise RnnlensError(
                f"neither a state of the decoder nor a prediction changes with word {place + 1} of "
                "the source, so that the two have nothing to do with each other; leave source= out"
            )

    def _same(self, alone: Trace, whole: Trace, at: int, sizes: tuple[int, int]) -> bool:
        """Whether a pair by itself has the states that it has in its batch."""
        source, target = sizes
        for kind, values in alone.states.items():
            count = source if kind in self.source.kinds else target
            first = 0 if kind in self.source.kinds else source
            if kind in (*self.source.kinds, *self.kinds) and not _close(
                values[first : first + count, 0], whole.states[kind][:count, at]
            ):
                return False
        if alone.y is None or whole.y is None:
            return True
        return _close(alone.y[source:, 0], whole.y[:target, at])


def _close(a: Tensor, b: Tensor) -> bool:
    if a.shape != b.shape:
        return False
    scale = max(1.0, float(b.abs().max())) if b.numel() else 1.0
    return not a.numel() or float((a.double() - b.double()).abs().max()) <= _SAME * scale
