"""A model that is given texts: what was computed is kept, so that typing on costs one word. And
texts to begin with.
"""

import contextlib
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import islice
from threading import Lock
from typing import Any, Literal, Protocol

import torch
from torch import Tensor

from rnnlens.adapter.pair_side import ATTENTION
from rnnlens.base.errors import RnnlensError
from rnnlens.corpus.read import Sentence
from rnnlens.corpus.split import Split
from rnnlens.labels.sets import LabelSet
from rnnlens.model.cell import States
from rnnlens.model.kinds import PREDICTION, Kind
from rnnlens.model.lazy import joined, of_each
from rnnlens.model.text import Example, TextSide, column, states_in, text_states
from rnnlens.model.traceable import StateEdit, Trace, Traceable
from rnnlens.probe.data import Data, Sentences, of_batches
from rnnlens.probe.dataset import Dataset
from rnnlens.reading.two_texts import plain

_ROOM = 16 * 2**20  # bytes: thousands of prefixes
_ENTRY = 200  # bytes of bookkeeping for each
_SPLIT, _SHORT_TEXT = 128, 4_000  # texts whose words are at hand, and the characters of these


class Changes(Protocol):
    """Edits of one text, ready to be made."""

    @property
    def key(self) -> bytes:
        """Tells them from others."""

    def state_edits(self) -> list[StateEdit]:
        """What the model is given, for one trace."""

    def check_size(self, logits: Tensor) -> None:
        """Refuse what they have made of the logits where that is too large to go on with."""


class Session:
    """A model and its text side; safe to use from several threads.

    A causal model continues from the longest prefix it has read; of any other the last two texts
    are kept, and the examples whose states came with its run.
    """

    def __init__(
        self, model: Traceable, text: TextSide, examples: Sequence[Example | str] | None = None
    ) -> None:
        """`examples`: texts to begin with, with their states or without; None: whatever the
        vocabulary knows.
        """
        self.model, self.text, self.vocabulary = model, text, text.vocabulary
        self.memory = Prefixes(model, text.batch)
        self.examples = (
            None
            if examples is None
            else tuple(one if isinstance(one, str) else one.text for one in examples)
        )
        kept = [text.restore(one) for one in examples or () if isinstance(one, Example)]
        self._split = {example.text: example.words for example in kept}
        self._split_last = lru_cache(_SPLIT)(text.words)
        self._numbers = {example.text: list(example.ids) for example in kept}
        self._kept = {example.ids: example.states for example in kept if example.states}
        self._beside = {example.ids: example.beside for example in kept if example.states}
        # Of the last two texts, which may be compared row by row: as they are, and with edits.
        self._last: tuple[tuple[tuple[int, ...], States], ...] = ()
        self._changed: tuple[tuple[tuple[bytes, tuple[int, ...]], States], ...] = ()

    @property
    def answer(self) -> Literal["last", "mean"] | None:
        """How the answer for a whole text follows from what is said at its words: it is said at the
        last, or is the mean where all of the text is known at each; None: words have the labels.
        """
        labels = self.text.labels
        if not self.vocabulary.of_texts or labels.several or labels.scale:
            return None
        return "last" if self.model.causal else "mean"

    def words(self, text: str) -> tuple[str, ...]:
        """The words of a text somebody typed; whoever types on is asked about the text before, so
        that those that a rule of ours has split last are at hand.
        """
        if text in self._split:
            return self._split[text]
        ours = self.text.splitting is not None and len(text) <= _SHORT_TEXT
        return self._split_last(text) if ours else self.text.words(text)

    def numbers(self, text: str, words: Sequence[str]) -> list[int]:
        """The numbers of the first words of a text."""
        if text in self._numbers and len(words) == len(self._numbers[text]):
            return list(self._numbers[text])
        return self.text.numbers(plain(text, self.vocabulary.inputs), words)

    def attention(self, ids: Sequence[int], edits: Changes | None = None) -> Tensor | None:
        """The weights (heads, T, S) that each word of a target is read with, over its source."""
        kept = self._beside.get(tuple(ids))
        if kept is not None and not edits:
            weights = kept.get(ATTENTION)
            return weights[None] if weights is not None and weights.dim() == 2 else weights
        if not self.model.attention_name or not self.text.sources(ids):
            return None
        return self.model.attention(self.text.batch(ids), edits.state_edits() if edits else ())

    def read(
        self, ids: Sequence[int], first: int, last: int, edits: Changes | None = None
    ) -> tuple[States, States]:
        """States (T, H) of every kind and of `y` after the words first..last-1, and the kinds that
        others read one step back as they were before `first`.

        With `edits` on the way, nothing is kept but the last two texts that were read so.
        """
        looked_at = not first  # of the rows after it states are at hand, or it is looked at below
        if looked_at:
            self.model.check()
        if self.model.causal and not edits:
            return self.memory.read(ids, first, last)
        whole = tuple(ids)
        states = self._edited(whole, edits, looked_at) if edits else self._states(whole, looked_at)
        if first or not edits:
            by_id = {kind.id: kind for kind in self.model.kinds}
            there = joined(by_id, (states, {kind: kind for kind in by_id}))
            before = of_each(
                there, lambda k, v: v[first - 1] if first else self._start(by_id[k], states)
            )
        else:
            before = self.read(ids, 0, 1)[1]  # before the first word nothing is edited
        return of_each(states, lambda _, values: values[first:last]), before

    def example(self, text: str) -> Example:
        """A text with its states, to be kept."""
        words = self.words(text)
        ids = tuple(self.numbers(text, words))
        return Example(text, words, ids, self._states(ids), self.text.beside(ids))

    def dataset(
        self, splits: Mapping[str, Sequence[Any]], answers: Mapping[str, LabelSet] | None = None
    ) -> Dataset:
        """Data to be measured on, by split: sentences, as texts or lists of words, or a user's
        batches.

        `answers`: what is asked, by semantic, where that is not a label of the model.
        """
        self.model.check()
        names = self.vocabulary
        data = {name: self._data(some, answers or {}) for name, some in splits.items()}
        return Dataset(
            self.model, data, len(names),
            reads_labels=names.inputs == names.labels, follows=self.text.follows,
            answers={"output": self.text.labels, **(answers or {})}, of_texts=names.of_texts,
        )  # fmt: skip

    def _data(self, data: Sequence[Any], others: Mapping[str, LabelSet]) -> Data:
        if not data:
            raise RnnlensError("there is nothing to measure on; give some sentences or batches")
        if not all(isinstance(one, str) or _is_words(one) for one in data):
            return self._aligned(data, others)
        words = [self.words(one) if isinstance(one, str) else one for one in data]
        sentences = [self.text.encode(some) for some in words if len(some) > 1]
        if not self.text.follows:
            raise RnnlensError(
                "sentences do not tell the labels that this model predicts; give batches, pairs of "
                "what it is fed and its targets"
            )
        if not sentences:
            raise RnnlensError("no sentence has a word that follows another; give longer ones")
        if self.text.side_by_side:
            return Sentences(Split.joined(sentences))
        if self.text.mark is not None:  # what is fed is shifted already
            return self._aligned([(self.text.batch(s), torch.tensor(s)) for s in sentences])
        return self._aligned([(self.text.batch(s[:-1]), self._targets(s[1:])) for s in sentences])

    def _targets(self, ids: Sequence[int]) -> Tensor:
        """What a model is to predict of these words, or of these numbers."""
        if self.text.features:
            return torch.tensor([self.text.values(number)[0] for number in ids])
        return torch.tensor(list(ids))

    def _aligned(self, pairs: Sequence[Any], others: Mapping[str, LabelSet] | None = None) -> Data:
        return of_batches(self.model, self.model.batches(pairs, others))

    def forget(self) -> None:
        """Have nothing at hand any more."""
        self.memory.forget()
        self._last = self._changed = ()

    def _edited(self, ids: tuple[int, ...], edits: Changes, looked_at: bool) -> States:
        key = (edits.key, ids)
        held = next((states for one, states in self._changed if one == key), None)
        if held is None:  # two at once compute the same twice
            if not looked_at:
                self.model.check()
            held = text_states(self.model, self.text, ids, edits.state_edits())
            self._changed = (*self._changed[-1:], (key, held))
        return held

    def note(self, ids: tuple[int, ...], trace: Trace) -> None:
        """Have the states of a text at hand which somebody else has read."""
        self._last = (*self._last[-1:], (ids, states_in(trace, self.model, ids)))

    def _states(self, ids: tuple[int, ...], looked_at: bool = False) -> States:
        """The states of a text; the model has been `looked_at`, whether it has changed, or is now
        before it reads.
        """
        if ids in self._kept:
            return self._kept[ids]
        held = next((states for one, states in self._last if one == ids), None)
        if held is None:  # two at once compute the same twice
            if not looked_at:
                self.model.check()
            held = text_states(self.model, self.text, ids)
            self._last = (*self._last[-1:], (ids, held))
        return held

    def _start(self, kind: Kind, states: States) -> Tensor:
        """A state before the first word: zeros, but for a memory what was kept of it."""
        memory, nothing = kind.memory, torch.zeros_like(states[kind.id][0])
        if memory is None or not {memory.decay, memory.kept} <= states.keys():
            return nothing
        decay = states[memory.decay][0]
        if decay.shape != nothing.shape or memory.erased:  # a matrix, which begins with nothing
            return nothing
        return torch.where(decay > 0, states[memory.kept][0] / decay, 0)  # kept = decay * before


def _is_words(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(word, str) for word in value)


class Prefixes:
    """What a model carries from word to word, kept for prefixes that were read before: a text is
    read on from the longest that is known. Safe to use from several threads.
    """

    def __init__(
        self, model: Traceable, batch: Callable[[Sequence[int]], Any] = column, room: int = _ROOM
    ) -> None:
        """`batch` makes numbers of words into what the model is given."""
        self.model, self.batch, self.room = model, batch, room
        self.steps = 0  # words read so far, for those who measure
        self._known: OrderedDict[bytes, int] = OrderedDict()  # prefix -> its row of `_rows`
        self._rows: Tensor | None = None  # (entries, width) what is carried after each prefix
        self._start: States = {}  # what is carried before the first word, (1, H) each
        self._lock = Lock()

    def read(self, ids: Sequence[int], first: int, last: int) -> tuple[States, States]:
        """States (T, H) of every kind and `y` after the words first..last-1, and what was carried
        into `first`.
        """
        keys = prefixes(ids)[: last + 1]
        start, carried = self._longest(keys[: first + 1])
        trace = self.model.trace(self.batch(ids[start:last]), carried or None)
        self.steps += last - start
        flat = {kind: values[:, 0] for kind, values in _with_prediction(trace).items()}
        zeros = self._before(trace)  # before anything is kept that is read by its widths
        self._keep(keys[start + 1 :], flat)
        rows = first - start
        before = {kind: v[0] for kind, v in (carried or zeros).items()}
        if rows:
            before = {kind: flat[kind][rows - 1] for kind in self.model.carried}
        return {kind: values[rows:] for kind, values in flat.items()}, before

    def forget(self) -> None:
        """Know no prefix any more."""
        with self._lock:
            self._known.clear()
            self._rows = None

    def _before(self, trace: Trace) -> States:
        """What is carried before the first word: nothing has been read, so that all is zero."""
        if not self._start:
            self._start = {kind: torch.zeros_like(v) for kind, v in trace.last.items()}
        return self._start

    def _longest(self, keys: Sequence[bytes]) -> tuple[int, States]:
        """The longest known prefix among these, and what is carried after it."""
        with self._lock:
            for length in range(len(keys) - 1, 0, -1):
                if self._rows is not None and (row := self._known.get(keys[length])) is not None:
                    self._known.move_to_end(keys[length])
                    held = self._rows[row].clone()  # the row is another prefix's before long
                    widths = [self._start[kind].shape[1] for kind in self.model.carried]
                    parts = zip(self.model.carried, held.split(widths), strict=True)
                    return length, {kind: part[None] for kind, part in parts}
        return 0, {}

    def _keep(self, keys: Sequence[bytes], states: States) -> None:
        """Remember what is carried after each prefix; those not used for longest are forgotten."""
        if not keys:
            return
        carried = torch.cat([states[kind] for kind in self.model.carried], 1)
        with self._lock:
            rows = self._room_for(carried)
            for key, values in zip(keys[-len(rows) :], carried[-len(rows) :], strict=True):
                row = self._known.pop(key, None)
                if row is None:
                    full = len(self._known) == len(rows)
                    row = self._known.popitem(last=False)[1] if full else len(self._known)
                rows[row] = values
                self._known[key] = row

    def _room_for(self, carried: Tensor) -> Tensor:
        """All rows in one tensor, whose pages are taken as they are first written.

        A small tensor for each prefix would, once old ones go, leave the heap full of holes.
        """
        if self._rows is None:
            width = carried.shape[1]
            entries = max(2, self.room // (carried.element_size() * width + _ENTRY))
            with torch.inference_mode(False):  # so that it can be written in either mode
                self._rows = carried.new_empty(entries, width)
        return self._rows


def _with_prediction(trace: Trace) -> States:
    return trace.states if trace.y is None else {**trace.states, PREDICTION: trace.y}


def prefixes(ids: Sequence[int]) -> tuple[bytes, ...]:
    """A digest for every prefix, each made from the one before; the empty prefix is first."""
    return _prefixes(tuple(ids))


@lru_cache(4)  # rows and what is carried are looked up by the same
def _prefixes(ids: tuple[int, ...]) -> tuple[bytes, ...]:
    keys = [b""]
    for label in ids:
        size = max(4, (label.bit_length() + 7) // 8)  # a step of several numbers has more bits
        keys.append(blake2b(keys[-1] + label.to_bytes(size, "little"), digest_size=16).digest())
    return tuple(keys)


_EXAMPLES = (  # for runs that have none of their own
    "`` we stand in solidarity , '' she emphasized .",  # the paper's
    "the president said that the government will not change the law .",
    "many people in the city were not able to leave their homes .",
    "he was the first man who walked on the moon .",
    "if you want to know more about the company , visit their website .",
    "`` the old teacher follows the birds , '' she said .",  # of the tests' grammar
    "the dogs near the old house see a bird .",
)
EXAMPLES, SHORT, LONG = 3, 4, 12  # texts that a run of a user's module keeps, and their words
LONG_SERIES = 48  # numbers, which say less each than a word does
TEXTS = 6  # that a run keeps where their states can be computed at any time
_LOOKED_AT = 2000  # sentences, from which the best are taken
_UNKNOWN = 0.1  # share of words that an example may have


def examples_of(session: Session) -> list[str]:
    """The run's own, else those whose words its vocabulary has, else the best of them."""
    if session.examples is not None:
        return list(session.examples) or [""]

    def strange(text: str) -> float:
        return _strange(session.text.encode(text.split()), session.text)

    return [text for text in _EXAMPLES if strange(text) < _UNKNOWN] or [min(_EXAMPLES, key=strange)]


def chosen_examples(sentences: Iterable[Sentence], side: TextSide, most: int) -> list[Example]:
    """Some test sentences that the model can read, without their states.

    Neither short nor long ones, and such as have few unknown words, if there are any.
    """
    some = [sentence.words for sentence in islice(sentences, _LOOKED_AT)]
    middling = [words for words in some if SHORT <= len(words) <= LONG]
    read: dict[str, Example] = {}
    known: list[Example] = []
    chosen = middling or sorted(some, key=len)
    for text in dict.fromkeys(" ".join(words[:LONG]) for words in chosen):
        with contextlib.suppress(RnnlensError):
            split = side.words(text)
            if numbers := tuple(side.encode(split)):
                read[text] = Example(text, split, numbers, {})
                known += [read[text]] if _strange(numbers, side) < _UNKNOWN else []
        if len(known) == most:
            break
    return (known or list(read.values()))[:most]


def _strange(numbers: Iterable[int], side: TextSide) -> float:
    """The share of words that the model does not know."""
    unknown = [side.is_unknown(number) for number in numbers]
    return sum(unknown) / len(unknown)
