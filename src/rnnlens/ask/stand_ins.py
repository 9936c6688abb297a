"""What is read in a word's place where a text is read without it.

No stand-in is neutral, and which one is taken changes what is found. `tag` draws other words of the
same part of speech, as frequent ones as often as they are; `model` draws other words from what the
model itself expected there; `unknown` is the word for unknown words; `left_out` leaves the place
out. A word never stands in for itself, nor does the unknown word where words are drawn.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray

from rnnlens.ask.questions import MOST_SEED, check_whole
from rnnlens.base.draws import uniform, weighted
from rnnlens.base.errors import RnnlensError
from rnnlens.base.rules import count, message, texts
from rnnlens.labels.colours import TAGS
from rnnlens.model.traceable import Trace
from rnnlens.reading.subject import Subject

STAND_INS = texts("stand_ins")  # the usual one first
TAG, MODEL, UNKNOWN, LEFT_OUT = STAND_INS
WORD = ""  # one that was named
DRAWS, LEAST_DRAWS, MOST_DRAWS = count("draws"), count("least_draws"), count("most_draws")


@dataclass(frozen=True)
class StandIn:
    """What stands in for the words of a text: its name, one word for all, or how many are drawn."""

    name: str  # one of the stand-ins; empty: a word that was named
    word: str | None = None  # that stands in for all; None: none does
    draws: int = 0  # words that stand in for each, one after the other; 0: none is drawn
    seed: int = 0

    @property
    def leaves_out(self) -> bool:
        """Whether nothing is read in a word's place."""
        return self.name == LEFT_OUT


class StandIns:
    """Which stand-ins there are for the words of a text, and the words that they are."""

    def __init__(self, subject: Subject, ids: Sequence[int]) -> None:
        self.subject, self.ids = subject, ids
        self.words = subject.session.vocabulary

    @cached_property
    def offered(self) -> tuple[str, ...]:
        """Their names, the usual one first."""
        return tuple(name for name in STAND_INS if not self._why_not(name))

    def of(
        self, name: str | None, instead: str | None = None, draws: int = DRAWS, seed: int = 0
    ) -> StandIn | None:
        """The one that is asked for, by its name or as a word; None: the usual one, if there is any
        at all.
        """
        check_whole("stand_in_draws", draws, LEAST_DRAWS, MOST_DRAWS)
        check_whole("continuation_seed", seed, 0, MOST_SEED)
        if instead is not None:
            if name is not None:
                raise RnnlensError(message("stand_in_both"))
            side = self.subject.session.text
            there = any(side.stand_in(instead, number) is not None for number in self.ids)
            if not there or side.features or not side.are_words(self.ids):
                raise RnnlensError(message("stand_in_word", word=repr(instead)))
            return StandIn(WORD, instead)
        known = ", ".join(self.offered) or "none"
        if name is None:
            if not self.offered:
                return None
            name = self.offered[0]
        if name not in STAND_INS:
            raise RnnlensError(message("no_stand_in", stand_in=repr(name), known=known))
        if why := self._why_not(name):
            values = {"count": len(self.ids), "most": count("drawn_words")}
            raise RnnlensError(message(why, run=self.subject.name, known=known, **values))
        if name in (TAG, MODEL):
            return StandIn(name, draws=draws, seed=seed)
        words = self.subject.session.vocabulary
        unknown = "" if words.unknown is None else words.inputs[words.unknown]
        return StandIn(name, unknown if name == UNKNOWN else None)

    def drawn(self, stand_in: StandIn, trace: Trace) -> list[list[int]]:
        """The words that stand in for each word of the text, which was read as `trace`: one for
        each draw, none where there is no other word, or where none is read.
        """
        if stand_in.leaves_out:
            return [[] for _ in self.ids]
        if stand_in.word is not None:
            side, word = self.subject.session.text, stand_in.word or None
            found = (side.stand_in(word if stand_in.name == WORD else None, n) for n in self.ids)
            return [[] if one is None else [one] for one in found]
        weights = self._of_tag if stand_in.name == TAG else self._expected(trace)
        return [self._some(stand_in, t, weights(t)) for t in range(len(self.ids))]

    def _some(self, stand_in: StandIn, step: int, weights: NDArray[np.float64]) -> list[int]:
        if not weights.any():
            return []
        unknown = self.subject.session.text.stand_in(None, self.ids[step])
        weights[self.ids[step]] = 0
        if unknown is not None:
            weights[unknown] = 0
        if not weights.any():
            return []
        shares = uniform(stand_in.seed, stand_in.draws, step, 1)[:, 0]
        return [int(word) for word in weighted(weights, shares)]

    def _of_tag(self, step: int) -> NDArray[np.float64]:
        """How often each word is drawn for a word, by its tag."""
        tags = self.subject.palettes[TAGS].group_of
        return np.where(tags == tags[self.ids[step]], self._frequencies, 0)

    def _expected(self, trace: Trace) -> Callable[[int], NDArray[np.float64]]:
        """How often each word is drawn by what the model expected: before the first word, where it
        expects nothing yet, and in a source, by how frequent words are.
        """
        begins = self.subject.session.text.mark is not None
        logits = self.subject.model.predict(trace.prediction[:, 0]).double().cpu()
        p = torch.softmax(logits, -1).numpy()

        def weights(step: int) -> NDArray[np.float64]:
            apart = self.subject.session.text.frequencies(self.ids[step])
            if apart is not None:
                return np.array(apart, np.float64)
            if not step and not begins:
                return self._frequencies.copy()
            expected: NDArray[np.float64] = p[step if begins else step - 1].copy()
            return expected

        return weights

    @cached_property
    def _frequencies(self) -> NDArray[np.float64]:
        counts = np.array(self.words.counts, np.float64)
        return counts if counts.any() else np.ones(len(counts))

    def _why_not(self, name: str) -> str:
        """The message that says why there is no such stand-in; empty: there is."""
        session = self.subject.session
        reads_labels = self.words.words is None and not session.text.features
        if name == LEFT_OUT:
            return "" if len(self.ids) > 1 else "stand_in_left_out"
        if not session.text.are_words(self.ids):
            return "stand_in_steps"
        if name == UNKNOWN:
            known = any(session.text.stand_in(None, number) is not None for number in self.ids)
            return "" if known and not session.text.features else "stand_in_unknown"
        model, paired = self.subject.model, session.text.sources(self.ids) > 0
        if name == TAG and not (reads_labels and TAGS in self.subject.palettes and not paired):
            return "stand_in_tag"
        stepwise = model.generates if paired else model.causal
        expects = reads_labels and session.text.follows and stepwise and model.predicts
        if name == MODEL and not expects:
            return "stand_in_model"
        return "stand_in_long" if len(self.ids) > count("drawn_words") else ""
