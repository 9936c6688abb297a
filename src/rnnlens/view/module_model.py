"""A lens's model that is a module of somebody's own."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

import torch
from torch import Tensor

from rnnlens.adapter import Adapter
from rnnlens.adapter.axes.targets import check_batches, most_telling
from rnnlens.adapter.user_model import Example, UserModel, UserRecord
from rnnlens.corpus.own import OwnVocabulary
from rnnlens.errors import RnnlensError
from rnnlens.model.cells import States
from rnnlens.model.kinds import prediction
from rnnlens.model.traceable import Trace
from rnnlens.probe.stream import OWN, Source
from rnnlens.probe.subject import NO_LOGITS, ModuleSubject
from rnnlens.view.models import Model


@dataclass(frozen=True)
class Live:
    """A module that can be given texts."""

    own: UserModel
    adapter: Adapter
    kinds: tuple[str, ...]  # those that are shown
    fed: tuple[int, ...] | None  # the shape of a text's numbers, where that is all it takes
    digest: str = ""  # of the weights that probes were just fitted to

    @classmethod
    def of(cls, own: UserModel, about: UserRecord, adapter: Adapter | None = None) -> "Live":
        """A module of which it is known how it is read."""
        kinds = tuple(kind.id for kind in about.kinds)
        return cls(own, adapter or own.adapter(), kinds, about.fed)

    def states(self, ids: Sequence[int]) -> States:
        """States (T, H) of every kind after each word, and the module's own logits as `y`."""
        traced = self.adapter.trace(self._prepared(list(ids)))
        if missing := [kind for kind in self.kinds if kind not in traced.states]:
            raise RnnlensError(
                f"the module has no kind {missing[0]}, which the probes were fitted to; read it as "
                "it was read then: kinds=, or the code of that time"
            )
        steps, batch, _ = traced.states[self.kinds[-1]].shape
        if traced.lengths is not None and steps > len(ids):  # past its end a text is padded
            steps = int(traced.lengths.max())
        if (steps, batch) != (len(ids), 1):
            raise RnnlensError(
                f"a text of {len(ids)} words was read as {batch} sequences of {steps} timesteps; "
                "give prepare= a function that makes one sequence of just these words"
            )
        states = {kind: traced.states[kind][:steps, 0].float().cpu() for kind in self.kinds}
        for kind, values in states.items():
            if len(values) != steps:
                raise RnnlensError(
                    f"of a text of {steps} words {kind} has {len(values)} states; give prepare= a "
                    "function after which each word has one"
                )
        states[OWN] = own_logits(traced)[:steps, 0].float().cpu().expand(len(ids), -1)
        return states

    def _prepared(self, ids: list[int]) -> Any:
        if self.own.prepare:
            made = self.own.prepare(ids)
            if made is None:
                raise RnnlensError("prepare= gave nothing; return what the module is fed")
            return made
        if self.fed is None:
            raise RnnlensError(
                "how a text is fed to the module is not known; give prepare= a function from the "
                "numbers of its words to what the module takes"
            )
        return torch.tensor(ids, device=self.own.device).reshape(self.fed)


class ModuleModel(Model):
    """What is known of a module, and the module itself once a new text is to be read."""

    causal = False  # nothing is known of what it does between its parts

    def __init__(
        self,
        about: UserRecord,
        vocabulary: OwnVocabulary,
        live: Callable[[], Live],
        examples: Sequence[Example] = (),
    ) -> None:
        self.about, self.vocabulary = about, vocabulary
        self.kinds, self.prediction = about.kinds, prediction(about.kinds)
        self.labels, self.counts = vocabulary.labels, vocabulary.counts
        self.description, self.follows = about.description, about.follows
        self.mark = about.settings.mark
        self.difference: float | None = about.difference
        self.examples: tuple[str, ...] = tuple(example.text for example in examples)
        self._split = {example.text: example.words for example in examples}
        self._kept = {example.ids: example.states for example in examples}
        self._make, self._live = live, None  # type: Callable[[], Live], Live | None
        self._last: tuple[tuple[int, ...], States] | None = None
        self._lock = Lock()  # two traces at once would hear each other

    @property
    def live(self) -> Live:
        """The module; of a run, its code is imported when it is first needed."""
        if self._live is None:
            self._live = self._make()
        return self._live

    def words(self, text: str) -> tuple[str, ...]:
        if text in self._split:
            return self._split[text]
        if not text:
            return ()
        with self._lock:
            found = self.live.own.words(text)
        words = tuple(found) if isinstance(found, Iterable) else (found,)
        if strange := [word for word in words if not isinstance(word, str)]:
            raise RnnlensError(f"words= gave {strange[0]!r}; give a function from a text to words")
        return words

    @property
    def device(self) -> torch.device:
        return self.live.adapter.device

    def encode(self, words: Iterable[str]) -> list[int]:
        return self.vocabulary.encode(words)

    def is_unknown(self, number: int) -> bool:
        return number == self.vocabulary.unknown

    def taken_for(self, number: int) -> str:
        return self.vocabulary.inputs[number]

    def example(self, text: str) -> Example:
        """A text with its states, to be kept."""
        words = self.words(text)
        ids = tuple(self.encode(words))
        return Example(text, words, ids, self._states(ids))

    def read(self, ids: Sequence[int], first: int, last: int) -> tuple[States, States]:
        states = self._states(tuple(ids))
        before = {
            kind: v[first - 1] if first else _start(kind, states) for kind, v in states.items()
        }
        return {kind: v[first:last] for kind, v in states.items()}, before

    def own(self, y: Tensor) -> Tensor:
        return y.contiguous()  # they are the module's logits already

    def source(self, data: list[Any]) -> Callable[[str], Source]:
        batches = check_batches(data, "batches", self.live.own.ignore_index)
        if not batches:
            raise RnnlensError("there are no batches to measure on; give some")
        adapter = self.live.adapter
        subject = ModuleSubject(
            adapter, adapter.align(*most_telling(batches)), {"test": batches}, len(self.labels),
            reads_labels=self.vocabulary.inputs == self.labels,
        )  # fmt: skip
        return lambda semantic: subject.source("test", semantic)

    def forget(self) -> None:
        self._last = None

    def _states(self, ids: tuple[int, ...]) -> States:
        if ids in self._kept:
            return self._kept[ids]
        with self._lock:
            if self._last is None or self._last[0] != ids:
                self._last = ids, self.live.states(ids)
            return self._last[1]


def _start(kind: str, states: States) -> Tensor:
    """A state before the first word: zeros, but for a cell what the forget gate was given."""
    part, dot, name = kind.rpartition(".")
    kept, gate = (states.get(f"{part}{dot}{letter}{name[1:]}") for letter in "lf")
    if name[0] != "c" or kept is None or gate is None:
        return torch.zeros_like(states[kind][0])
    return torch.where(gate[0] > 0, kept[0] / gate[0], 0)  # l = f * c, so c = l / f


def own_logits(traced: Trace) -> Tensor:
    """The module's own prediction, (T, B, V) or (1, B, V)."""
    if traced.logits is None:
        raise RnnlensError(NO_LOGITS)
    return traced.logits
