"""A lens's model that is a module of somebody's own."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

import torch
from torch import Tensor

from rnnlens.corpus.own import OwnVocabulary
from rnnlens.errors import RnnlensError
from rnnlens.model.adapter import Adapter, Traced
from rnnlens.model.cells import States
from rnnlens.model.kinds import output
from rnnlens.model.own import Example, OwnModel, OwnRecord
from rnnlens.probe.module_states import ModuleStates, check_batches
from rnnlens.probe.stream import OWN, Source
from rnnlens.probe.subject import CHUNK, NO_LOGITS
from rnnlens.view.models import Model


@dataclass(frozen=True)
class Live:
    """A module that can be given texts."""

    own: OwnModel
    adapter: Adapter
    fed: tuple[int, ...] | None  # the shape of a text's numbers, where that is all it takes

    def states(self, ids: Sequence[int]) -> States:
        """States (T, H) of every kind after each word, and the module's own logits as `y`."""
        traced = self.adapter.trace(self._prepared(list(ids)))
        steps, batch, _ = next(iter(traced.states.values())).shape
        if (steps, batch) != (len(ids), 1):
            raise RnnlensError(
                f"a text of {len(ids)} words was read as {batch} sequences of {steps} timesteps; "
                "give prepare= a function that makes one sequence of it"
            )
        states = {kind: v[:, 0].float().cpu() for kind, v in traced.states.items()}
        states[OWN] = own_logits(traced)[:, 0].float().cpu().expand(len(ids), -1)
        return states

    def _prepared(self, ids: list[int]) -> Any:
        if self.own.prepare:
            return self.own.prepare(ids)
        if self.fed is None:
            raise RnnlensError(
                "how a text is fed to the module is not known; give prepare= a function from the "
                "numbers of its words to what the module takes"
            )
        parameter = next(self.own.module.parameters(), None)
        device = parameter.device if parameter is not None else None
        return torch.tensor(ids, device=device).reshape(self.fed)


class ModuleModel(Model):
    """What is known of a module, and the module itself once a new text is to be read."""

    causal = False  # nothing is known of what it does between its parts

    def __init__(
        self,
        about: OwnRecord,
        vocabulary: OwnVocabulary,
        live: Callable[[], Live],
        examples: Sequence[Example] = (),
    ) -> None:
        self.about, self.vocabulary = about, vocabulary
        self.kinds, self.prediction = about.kinds, output(about.kinds[-1].id)
        self.labels, self.counts = vocabulary.labels, vocabulary.counts
        self.description, self.follows = about.description, about.follows
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
        if not text.strip():
            return ()
        with self._lock:
            return tuple(map(str, self.live.own.words(text)))

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
            kind: v[first - 1] if first else torch.zeros_like(v[0]) for kind, v in states.items()
        }
        return {kind: v[first:last] for kind, v in states.items()}, before

    def own(self, y: Tensor) -> Tensor:
        return y.contiguous()  # they are the module's logits already

    def source(self, data: list[Any]) -> Callable[[str], Source]:
        check_batches(data)
        adapter = self.live.adapter
        return lambda semantic: ModuleStates(
            adapter, data, semantic, len(self.labels), CHUNK, with_own=True
        )

    def forget(self) -> None:
        self._last = None

    def _states(self, ids: tuple[int, ...]) -> States:
        if ids in self._kept:
            return self._kept[ids]
        with self._lock:
            if self._last is None or self._last[0] != ids:
                self._last = ids, self.live.states(ids)
            return self._last[1]


def own_logits(traced: Traced) -> Tensor:
    """The module's own prediction, (T, B, V) or (1, B, V)."""
    if traced.logits is None:
        raise RnnlensError(NO_LOGITS)
    return traced.logits
