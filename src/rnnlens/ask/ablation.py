"""What becomes of the prediction without each state in turn: many copies of a text in one batch,
each with something else in the place of one state.

No replacement is neutral. Zero is a value that states seldom have: a gate that is shut, a memory
that is empty. The mean over the states of other texts, and a state of another text, are such as the
network meets, and the prediction moves less far and elsewhere.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rnnlens.ask.questions import MOST_SEED, check_whole
from rnnlens.ask.results import ByKind, Values
from rnnlens.ask.stand_ins import DRAWS, LEAST_DRAWS, MOST_DRAWS
from rnnlens.base.draws import half_width, uniform
from rnnlens.base.errors import NotFiniteError, RnnlensError, RnnlensWarning
from rnnlens.base.threads import one_thread
from rnnlens.model.cell import States
from rnnlens.model.traceable import StateEdit, Trace
from rnnlens.reading.divergence import Difference
from rnnlens.reading.reading import Reading
from rnnlens.reading.subject import names

WAYS = RESAMPLED, MEAN, ZERO = "resampled", "mean", "zero"  # the usual one first
LEAST_STATES = 20  # of other texts, to be drawn from
_WORDS, _COPIES = 4_000, 512  # of all copies that are read at once, and these


@dataclass(frozen=True, eq=False, kw_only=True)
class Ablated(ByKind):
    """How far the prediction after one word moves without each state before it.

    `ablated["l2"][3]` is the Jensen-Shannon divergence in bits between what the model predicts and
    what it predicts with something else in the place of l2's state after the fourth word; `values`
    has all, words down and kinds across; NaN where other states would then be NaN or infinite, of
    which a warning tells. `by` says what that was: zero, the mean of the kind's states in other
    texts, or such states, one after the other. Of these the mean over `draws` is given, and `low`
    to `high` is its 95% interval.
    """

    at: int  # the word after which the prediction is made
    by: str  # resampled, mean or zero
    texts: int = 0  # whose states are put in the place of others; 0: none are
    states: int = 0  # of each kind that these texts have
    draws: int = 0  # states that are drawn for each; 0: none are
    low: Values | None = None  # (T, K)
    high: Values | None = None

    def _row(self, step: int, kind: str, value: float) -> Mapping[str, Any]:
        if self.low is None or self.high is None:
            return {"bits": value}
        k = self.kinds.index(kind)
        return {"bits": value, "low": float(self.low[step, k]), "high": float(self.high[step, k])}

    @property
    def instead(self) -> str:
        """What is put in the place of a state, in words."""
        if self.by == ZERO:
            return "set to zero"
        other = f"{self.states:,} states of {self.texts} other texts"
        return f"set to the mean of {other}" if self.by == MEAN else (
            f"set to {self.draws} draws from {other}"
        )  # fmt: skip

    def __repr__(self) -> str:
        step, kind, bits = next(self._largest())
        row = self._row(step, kind, bits)
        sure = f" ({row['low']:.2f} to {row['high']:.2f})" if "low" in row else ""
        most = f"{kind} after {self.words[step]!r}, {bits:.2f} bits{sure}"
        return f"<{len(self.words)} words x {len(self.kinds)} kinds, {self.instead}; most: {most}>"


def ablated(
    reading: Reading,
    kinds: Sequence[str] | None = None,
    at: int | None = None,
    by: str = RESAMPLED,
    others: Sequence[str] | None = None,
    draws: int = DRAWS,
    seed: int = 0,
) -> Ablated:
    """Put something else in the place of each state of the words up to `at` (None: the last), one
    at a time; `others` are texts whose states are taken, None: the run's own examples.
    """
    reading.subject.model.check_reads("putting another state in the place of one")
    if reading.edits:
        raise RnnlensError("states are taken away from a text without edits; leave these out")
    if by not in WAYS:
        raise RnnlensError(f"by={by!r} is no way to take a state away; give {', '.join(WAYS)}")
    check_whole("stand_in_draws", draws, LEAST_DRAWS, MOST_DRAWS)
    check_whole("continuation_seed", seed, 0, MOST_SEED)
    model = reading.subject.model
    editable = tuple(kind.id for kind in model.kinds)
    chosen = editable if kinds is None else names(kinds)
    if strange := [kind for kind in chosen if kind not in editable]:
        raise RnnlensError(f"{strange[0]!r} is no kind that could be edited; there is "
                           f"{', '.join(editable)}")  # fmt: skip
    if not reading.ids or not chosen:
        raise RnnlensError("there is no state to take away; give a text and at least one kind")
    count = len(reading.ids)
    last = count - 1 if at is None else at
    if not isinstance(last, int) or not 0 <= last < count:
        raise RnnlensError(f"there is no word {last}; the text has {count} words, from 0")
    # What a causal model reads later has no part in what it says here.
    ids = reading.ids[: last + 1] if model.causal else reading.ids
    there = None if by == ZERO else _Elsewhere.of(reading, others, chosen)
    copies = _Copies(reading, ids, last, chosen)
    if by == RESAMPLED and there:
        bits = copies.bits(lambda step: there.some(draws, seed, step))  # (T, K, draws)
    else:
        bits = copies.bits(lambda _: there.mean() if there else {})
    copies.check(bits)
    mean, low, high = bits.mean(2), None, None
    if by == RESAMPLED:
        wide = half_width(1, draws) * bits.std(2, ddof=1)
        low, high = np.maximum(mean - wide, 0), mean + wide  # NaN where there is no state
    return Ablated(
        words=reading.words[: len(ids)], kinds=chosen, values=mean, at=last, by=by,
        texts=there.texts if there else 0, states=there.count if there else 0,
        draws=draws if by == RESAMPLED else 0, low=low, high=high,
    )  # fmt: skip


class _Elsewhere:
    """The states of other texts, of which some are put in the place of a text's own."""

    def __init__(self, texts: int, states: States) -> None:
        self.texts, self.states = texts, states  # kind -> (N, H)
        self.count = max(map(len, states.values()))

    @classmethod
    def of(
        cls, reading: Reading, others: Sequence[str] | None, kinds: Sequence[str]
    ) -> "_Elsewhere":
        """Of texts that are given, or of the run's examples, but for the text itself."""
        subject = reading.subject
        given = subject.examples() if others is None else list(names(others))
        read = [Reading.of(subject, text, reading.semantic) for text in given if text.strip()]
        texts = [one for one in read if one.ids and one.ids != reading.ids]
        with torch.no_grad(), one_thread():
            parts = [(subject.session.read(one.ids, 0, len(one.ids))[0], one) for one in texts]
        states = {
            kind: torch.cat([part[kind][rows.start : rows.stop] for part, one in parts
                             for rows in [one.rows_of(kind, 0, len(one.ids))]])
            for kind in kinds if parts
        }  # fmt: skip
        found = min(map(len, states.values())) if states else 0
        if found < LEAST_STATES:
            whose = "the run's examples" if others is None else "others="
            raise RnnlensError(
                f"{whose} have {found} states beside this text's, and {LEAST_STATES} are the "
                "fewest to draw from; give others= more texts, or by='zero'"
            )
        return cls(len(texts), states)

    def some(self, draws: int, seed: int, step: int) -> States:
        """Draws for one step of a text, (draws, H): whole states, of one place for all kinds."""
        shares = uniform(seed, draws, step, 1)[:, 0]
        return {
            kind: states[torch.from_numpy((shares * len(states)).astype(int))]
            for kind, states in self.states.items()
        }

    def mean(self) -> States:
        """(1, H)."""
        return {kind: states.double().mean(0).float()[None] for kind, states in self.states.items()}


class _Copies:
    """Copies of a text side by side, each read with something else in the place of a state."""

    def __init__(self, reading: Reading, ids: Sequence[int], at: int, kinds: Sequence[str]) -> None:
        self.model, self.side = reading.subject.model, reading.subject.session.text
        self.ids, self.at, self.kinds, self.answers = ids, at, kinds, reading.answers
        self.reading = reading
        self.broken: dict[
            str, NotFiniteError
        ] = {}  # kinds without which states are NaN or infinite
        self.continues = self.model.causal and self.side.side_by_side and self.side.mark is None

    @torch.no_grad()
    def bits(self, instead: Callable[[int], States]) -> NDArray[np.float64]:
        """How far the prediction moves without each state, (T, K, draws); `instead` gives what is
        put in the place of a step's states, nothing for zero.
        """
        self.model.check()
        with one_thread():
            self.trace = self.model.trace(self.side.batch(self.ids))
            self.before = before = self._prediction(self.trace, 0)  # (1, V)
            moved = [
                Difference.of(one, before.expand_as(one), self.answers)
                for step in range(len(self.ids))
                for one in self._read(step, instead(step))
            ]
        bits = Difference.join(moved).bits
        there = np.array([step in self.reading.rows_of(kind, 0, len(self.ids))
                          for step in range(len(self.ids)) for kind in self.kinds])  # fmt: skip
        every = np.full((len(there), len(bits) // int(there.sum())), np.nan)
        every[there] = bits.reshape(int(there.sum()), -1)
        return every.reshape(len(self.ids), len(self.kinds), -1)

    def _read(self, step: int, instead: States) -> Iterator[Tensor]:
        """What copies predict in which a state of this step is another, kind by kind, (B, V)."""
        begin = step if self.continues else 0
        most = min(_COPIES, _WORDS // (len(self.ids) - begin))
        size = max(1, most) if self.side.side_by_side else 1
        draws = len(next(iter(instead.values()))) if instead else 1
        there = [k for k in self.kinds if step in self.reading.rows_of(k, 0, len(self.ids))]
        copies = [(kind, draw) for kind in there for draw in range(draws)]
        for first in range(0, len(copies), size):
            yield self._without(step, copies[first : first + size], instead)

    def _without(self, step: int, some: Sequence[tuple[str, int]], instead: States) -> Tensor:
        """What copies predict, each without the state of a kind and with a draw in its place,
        (B, V). Where some of them have no numbers, these are found by halves, and are NaN.
        """
        begin = step if self.continues else 0
        edits = [
            _put(kind, step - begin, k, instead[kind][draw] if instead else None)
            for k, (kind, draw) in enumerate(some)
        ]
        text = self.side.batch(self.ids[begin:])
        start = {kind: self.trace.states[kind][begin - 1].expand(len(some), -1).contiguous()
                 for kind in self.model.carried} if begin else None  # fmt: skip
        batch = text if len(some) == 1 else text.expand(-1, len(some))
        try:
            return self._prediction(self.model.trace(batch, start, edits), begin)
        except NotFiniteError as error:
            if len(some) == 1:
                self.broken[some[0][0]] = error
                return torch.full_like(self.before, torch.nan)
        half = len(some) // 2
        return torch.cat(
            [self._without(step, part, instead) for part in (some[:half], some[half:])]
        )

    def check(self, bits: NDArray[np.float64]) -> None:
        """Tell of kinds without which the model's states are NaN; refuse where no other is left."""
        if not self.broken:
            return
        if np.isnan(bits).all():
            raise next(iter(self.broken.values()))
        warnings.warn(
            f"without some states of {', '.join(self.broken)} others become NaN or infinite, as "
            "where they are divided by these; the numbers of such states are NaN",
            RnnlensWarning,
            stacklevel=4,
        )

    def _prediction(self, trace: Trace, begin: int) -> Tensor:
        y = trace.prediction
        return self.model.predict(y[self.at - begin if len(y) > 1 else 0]).float().cpu()


def _put(kind: str, step: int, copy: int, state: Tensor | None) -> StateEdit:
    def change(value: Tensor) -> Tensor:
        changed = value.clone()
        changed[copy] = 0 if state is None else state.to(value)
        return changed

    return StateEdit(kind, step, change)
