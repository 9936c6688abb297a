"""Two kinds of states over a whole corpus: where do they disagree most?"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rnnlens.base.errors import RnnlensError
from rnnlens.base.intervals import Interval, interval
from rnnlens.base.tables import data_frame
from rnnlens.base.threads import one_thread, pool
from rnnlens.model.kinds import PREDICTION
from rnnlens.reading.lines import Common
from rnnlens.reading.links import link
from rnnlens.reading.subject import Subject
from rnnlens.search.corpus_pass import traced

if TYPE_CHECKING:
    import pandas as pd

_AT_ONCE = 1024  # words that are read together, about
_PIECE = 256  # pairs of states whose logits are computed at once
_BLOCK = 64  # of which so many are compared at once: they stay in the processor's cache
LEAST_WORDS = 4  # of a sentence that is listed: the mean of fewer words is that of any one
Values = NDArray[np.float64]
Integers = NDArray[np.int64]
Advance = Callable[[int], object]


class End(NamedTuple):
    """What is compared: a kind of a subject."""

    subject: Subject
    kind: str


class DisagreedSentence(NamedTuple):
    """A sentence on which two kinds disagree."""

    words: tuple[str, ...]
    bits: float  #: Mean divergence over its words.
    step: int  #: Of the word after which they are furthest apart.
    most: float  #: The divergence there.
    said: tuple[str, str]  #: The most probable label of each there.
    times: int = 1  #: How often the corpus has it.


@dataclass(frozen=True)
class Disagreement:
    """How far apart two kinds are after every word of a corpus, in bits of Jensen-Shannon."""

    ends: tuple[End, End]
    semantic: str
    sentences: tuple[tuple[str, ...], ...]
    starts: Integers  # (S + 1,) where each sentence begins among all words
    bits: Values  # (words,)
    notes: tuple[str, ...]  # what is not compared
    states: tuple[Tensor, Tensor]  # (words, H) of both

    @property
    def mean(self) -> Values:
        """Of each sentence, (S,)."""
        means: Values = np.add.reduceat(self.bits, self.starts[:-1]) / np.diff(self.starts)
        return means

    @property
    def interval(self) -> Interval | None:
        """Between which numbers the mean over all words lies, by resampling sentences; None: these
        are too few to say.
        """
        return interval(np.add.reduceat(self.bits, self.starts[:-1]), np.diff(self.starts))

    def short(self, least: int = LEAST_WORDS) -> int:
        """How many sentences are too short for `top`."""
        long = np.diff(self.starts) >= least
        return int((~long).sum()) if long.any() else 0

    def top(self, count: int = 50, least: int = LEAST_WORDS) -> list[DisagreedSentence]:
        """The sentences of so many words at `least` on which the two disagree most, by their mean;
        of a corpus of shorter ones, any. One that comes several times is told once.
        """
        means, long = self.mean, np.diff(self.starts) >= least
        times = Counter(self.sentences)
        listed = dict[tuple[str, ...], int]()  # the first place of each
        for k in np.argsort(-np.where(long | ~long.any(), means, -1), kind="stable"):
            if len(listed) == count:
                break
            if long[k] or not long.any():
                listed.setdefault(self.sentences[k], int(k))
        return [self._sentence(k, means[k], times[words]) for words, k in listed.items()]

    def _sentence(self, number: int, mean: float, times: int) -> DisagreedSentence:
        first, last = self.starts[number], self.starts[number + 1]
        step = int(self.bits[first:last].argmax())
        most = float(self.bits[first + step])
        said = self.said(0, first + step), self.said(1, first + step)
        return DisagreedSentence(self.sentences[number], float(mean), step, most, said, times)

    @torch.inference_mode()
    def said(self, side: int, place: int) -> str:
        """The label that the first (0) or the second (1) finds most probable after a word, by its
        place among all.
        """
        end = self.ends[side]
        logits = _logits(end, self.states[side][place : place + 1], self.semantic)
        return end.subject.answers(self.semantic).names[int(logits[0].argmax())]

    def link(self, sentence: DisagreedSentence) -> str:
        """What opens the page at the place of most disagreement of a sentence: two runs side by
        side, or two kinds of one run pinned.
        """
        first, second = self.ends
        text, row = " ".join(sentence.words), sentence.step
        semantic = "" if self.semantic == "output" else self.semantic
        if first.subject is second.subject:
            pins = [(end.kind, row) for end in self.ends]
            run = first.subject.name
            return link(text, second.kind, row, run=run, semantic=semantic, pins=pins)
        kinds = [end.kind for end in self.ends if end.kind != PREDICTION]
        return link(
            text,
            second.kind,
            2 * row + 1,  # each word has a line of the first and one of the second
            run=first.subject.name,
            beside=second.subject.name,
            semantic=semantic,
            kinds=list(dict.fromkeys([*kinds, PREDICTION])) if kinds else (),
        )

    def by_word(self, least: int = 10) -> list[tuple[str, float, int]]:
        """Words that were read at least so often, with the mean divergence after them and how often
        they were read, the largest first.
        """
        words = np.array([word.casefold() for sentence in self.sentences for word in sentence])
        names, number = np.unique(words, return_inverse=True)
        counts = np.bincount(number)
        means = np.bincount(number, self.bits) / counts
        often = np.flatnonzero(counts >= least)
        order = often[np.argsort(-means[often], kind="stable")]
        return [(str(names[k]), float(means[k]), int(counts[k])) for k in order]

    def to_pandas(self) -> "pd.DataFrame":
        """A row for every word: sentence, step, word, bits."""
        return data_frame(
            {"sentence": s, "step": step, "word": word, "bits": float(self.bits[first + step])}
            for s, (first, sentence) in enumerate(zip(self.starts, self.sentences, strict=False))
            for step, word in enumerate(sentence)
        )

    def __repr__(self) -> str:
        names = " and ".join(f"{end.kind} of {end.subject.name}" for end in self.ends)
        return f"<{names} over {len(self.bits):,} words: {self.told()}>"

    def told(self) -> str:
        """How far apart they are on average, and how sure that is."""
        sure = self.interval
        between = f" (95%: {sure.low:.3f} to {sure.high:.3f})" if sure else ""
        return f"{self.bits.mean():.3f} bits apart on average{between}"


def disagreement(
    first: End,
    second: End,
    sentences: Iterable[Sequence[str]],
    semantic: str | None = None,
    advance: Advance = int,
) -> Disagreement:
    """How far apart two kinds are after every word of some sentences, given as words.

    `advance` is told the number of words after each that are read and compared, each counting once
    for reading by either and once for comparing.
    """
    given = tuple(tuple(sentence) for sentence in sentences if len(sentence))
    if not given:
        raise RnnlensError("there is nothing to compare on; give some sentences")
    ends = (first, second)
    asked = _semantic(ends, semantic)
    common = Common.of(first.subject, second.subject, asked)
    states = [_states(end, given, advance) for end in ends]
    bits = _apart(ends, states, common, asked, advance)
    starts = np.cumsum([0, *map(len, given)])
    return Disagreement(ends, asked, given, starts, bits, common.notes, (states[0], states[1]))


def _semantic(ends: Sequence[End], semantic: str | None) -> str:
    """The semantic that both are asked about; kinds that there are not are refused."""
    for subject, kind in ends:
        known = (*(subject.probes.kinds if subject.probes else ()), PREDICTION)
        if kind not in known:
            raise RnnlensError(
                f"{subject.name} has no probes of {kind!r}; it has {', '.join(known)}"
            )
    asked = [subject.check_semantic(semantic) for subject, _ in ends]
    if any(kind == PREDICTION for _, kind in ends) and asked[0] != "output":
        raise RnnlensError(
            f"y is the model's own prediction, and the semantic {asked[0]!r} asks for another "
            "label; name output, or other kinds"
        )
    return asked[0]


def _states(end: End, sentences: Sequence[Sequence[str]], advance: Advance) -> Tensor:
    """The states of a kind after every word, in the order of the sentences, (words, H)."""
    subject, kind = end
    side = subject.session.text
    ids = [side.encode(list(words)) for words in sentences]
    states = torch.empty(0)
    for some in traced(subject.model, side, ids, torch.device("cpu"), (kind,), _AT_ONCE):
        values = some.states[kind]
        if not len(states):
            states = values.new_empty(sum(map(len, ids)), values.shape[-1])
        states[torch.from_numpy(some.rows)] = values
        advance(len(values))
    return states


def _logits(end: End, states: Tensor, semantic: str) -> Tensor:
    """What states say of every label, (N, V)."""
    subject, kind = end
    if kind == PREDICTION or subject.probes is None:
        return subject.model.predict(states)
    return subject.probes.logits(kind, states, semantic)


def _apart(
    ends: Sequence[End],
    states: Sequence[Tensor],
    common: Common,
    semantic: str,
    advance: Advance,
) -> Values:
    """The divergence of each pair of states."""

    def work(start: int) -> Values:
        with one_thread(), torch.inference_mode():  # neither carries over to other threads
            before, after = (
                _logits(end, states[k][start : start + _PIECE], semantic)
                for k, end in enumerate(ends)
            )
            blocks = zip(after.split(_BLOCK), before.split(_BLOCK), strict=True)
            return np.concatenate([common.bits(*block) for block in blocks])

    parts = []
    for part in pool().map(work, range(0, len(states[0]), _PIECE)):
        parts.append(part)
        advance(len(part))
    return np.concatenate(parts)
