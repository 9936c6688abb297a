"""A user's module with the record of how it is read, which needs no import of its code."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from threading import RLock
from typing import Any

import torch
from torch import Tensor

from rnnlens.adapter import modules
from rnnlens.adapter.adapter import Adapter
from rnnlens.adapter.anatomy import anatomy_of
from rnnlens.adapter.axes.targets import LABELS, Batch, most_telling, sets_of
from rnnlens.adapter.user_batches import OUTPUT, check_batches, check_forms
from rnnlens.adapter.user_model import UserModel, user_model, user_model_at
from rnnlens.adapter.user_record import UserRecord
from rnnlens.base.errors import RnnlensError
from rnnlens.base.tensors import digest
from rnnlens.corpus.vocabulary import Vocabulary
from rnnlens.labels.sets import LabelSet
from rnnlens.model import numbers
from rnnlens.model.cell import States
from rnnlens.model.kinds import Kind
from rnnlens.model.text import Example, Splitting, TextSide, text_states
from rnnlens.model.traceable import Anatomy, Readout, RecurrentLayer, StateEdit, Trace, Traceable


class KnownModule(Traceable):
    """A module and its record; the module itself is made when it is first needed."""

    def __init__(self, record: UserRecord, make: Callable[[], tuple[UserModel, Adapter]]) -> None:
        self.record, self._make = record, make
        self._live: tuple[UserModel, Adapter] | None = None
        self._fingerprint = ""
        self._lock = RLock()  # two traces at once would record each other's calls

    @property
    def user(self) -> UserModel:
        """The module as its user gives it."""
        return self._pair()[0]

    @property
    def adapter(self) -> Adapter:
        """The module with every kind readable."""
        return self._pair()[1]

    def _pair(self) -> tuple[UserModel, Adapter]:
        with self._lock:
            if self._live is None:
                with torch.inference_mode(False):  # else its weights could not be differentiated by
                    self._live = self._make()
                self._fingerprint = modules.fingerprint(self._live[1].module)
            return self._live

    @property
    def kinds(self) -> tuple[Kind, ...]:
        return self.record.kinds

    @property
    def carried(self) -> tuple[str, ...]:
        return ()

    @property
    def device(self) -> torch.device:
        return self.adapter.device

    @property
    def code(self) -> str:
        return self.record.factory

    @property
    def description(self) -> str:
        return self.record.description

    @property
    def difference(self) -> float | None:
        return self.record.difference

    def classifier(self) -> Readout | None:
        return None if self.record.scale else self.start()

    def start(self) -> Readout | None:
        with self._lock:
            readout = self.adapter.classifier()
        known = {kind.id for kind in self.kinds}  # a module may have more kinds than its record
        return readout if readout and readout.kind in known else None

    @property
    def recurrence(self) -> tuple[RecurrentLayer, ...]:
        return self.adapter.recurrence

    def anatomy(self) -> Anatomy:
        readout = self.start() if self.predicts else None
        if self.predicts and readout is None:
            raise RnnlensError("its prediction is no linear map of one of its states")
        words = not self.record.features
        with self._lock:
            adapter = self.adapter
            return anatomy_of(adapter.module, self.kinds, adapter.recurrence, readout, words)

    @property
    def predicts(self) -> bool:  # type: ignore[override]
        return self.record.predicts

    def predict(self, y: Tensor) -> Tensor:
        return self.record.scale.logits(y) if self.record.scale else y.contiguous()

    def trace(
        self, batch: Any, start: States | None = None, edits: Sequence[StateEdit] = ()
    ) -> Trace:
        with self._lock:
            trace = self.adapter.trace(batch, start, edits)
        if missing := [kind.id for kind in self.kinds if kind.id not in trace.states]:
            raise RnnlensError(
                f"the module has no kind {missing[0]}, which the probes were fitted to; read it as "
                "it was read then: kinds=, or the code of that time"
            )
        return replace(trace, predict=self.predict)

    def in_time(self, labels: Tensor, trace: Callable[[], Trace]) -> Tensor:
        return self.adapter.in_time(labels, trace)

    def batches(
        self, given: Sequence[Any], others: Mapping[str, LabelSet] | None = None
    ) -> list[Batch]:
        asked = others or {}
        counts = {name: len(one) for name, one in asked.items() if one.several}
        counts[OUTPUT] = self.record.labels
        batches = check_batches(given, "batches", self.user.ignore_index, counts)
        if batches[0].sort != self.record.sort:
            raise RnnlensError(
                f"the targets of these batches are for a module that predicts {batches[0].sort}, "
                f"and the probes were fitted to one that predicts {self.record.sort}; give targets "
                "as for fit"
            )
        check_forms(batches, {name: _form(one) for name, one in asked.items()}, "these batches")
        with self._lock:
            self.adapter.align(*most_telling(batches))
        return batches

    def words(self, inputs: Any, targets: Tensor) -> Tensor | None:
        return self.adapter.words(inputs, targets)

    def count(self, inputs: Any, targets: Tensor) -> int:
        return self.adapter.count(inputs, targets)

    def check(self) -> None:
        live = self._live
        if live is not None and modules.fingerprint(live[1].module) != self._fingerprint:
            raise RnnlensError(
                "the module has changed since its probes were fitted, so that these no longer say "
                "what it does; fit anew"
            )

    def on(self, device: torch.device) -> "KnownModule":
        """The same module, moved to a device."""
        self.user.module.to(device)
        return self

    @property
    def label_count(self) -> int:
        """How many labels the module predicts."""
        return self.record.labels

    def found_at(
        self, where: str, vocabulary: Vocabulary, examples: Sequence[Example]
    ) -> "KnownModule":
        user = replace(user_model_at(where).copied(), sort=self.record.sort)
        user.put(self.user.weights())
        record, adapter = replace(self.record, factory=where), user.adapter()
        known = KnownModule(record, lambda: (user, adapter))
        known.check_reading(vocabulary, examples, where)
        return known

    def check_reading(self, vocabulary: Vocabulary, examples: Sequence[Example], what: str) -> None:
        """Refuse a module that does not read as the one that probes were fitted to."""
        for example in examples:
            words = self.text(vocabulary).words(example.text)
            states = text_states(self, self.text(vocabulary), example.ids)
            wrong = [kind for kind, v in example.states.items() if not _close(v, states[kind])]
            if words != example.words or wrong:
                how = f"its {wrong[0]} differs" if wrong else f"it takes {words} for its words"
                raise RnnlensError(
                    f"{what} gives a module that reads {example.text!r} otherwise than the one "
                    f"that was fitted: {how}; give that module, or fit anew"
                )

    def text(self, vocabulary: Vocabulary) -> TextSide:
        """How a text is given to the module."""
        record = self.record
        rule: Splitting | None = "numbers" if record.features else "blanks"
        if "words" in record.settings.functions:
            rule = None

        def split(text: str) -> Any:
            with self._lock:
                if rule == "numbers":
                    return numbers.split(text, record.features)
                return self.user.words(text)

        return TextSide(
            vocabulary, split, self._prepared, record.follows, mark=record.settings.mark,
            answers=record.answers(vocabulary.labels), features=record.features, splitting=rule,
        )  # fmt: skip

    def _prepared(self, ids: Sequence[int]) -> Any:
        """The numbers of a text's words as the module is fed them."""
        features = self.record.features
        read: list[Any] = list(ids)
        if features:
            rows = [numbers.decode(number, features) for number in ids]
            read = [row[0] for row in rows] if features == 1 else rows
        if self.user.prepare:
            batch = self.user.prepare(read)
            if batch is None:
                raise RnnlensError("prepare= gave nothing; return what the module is fed")
            return batch
        if self.record.fed is None:
            raise RnnlensError(
                "how a text is fed to the module is not known; give prepare= a function from the "
                "numbers of its words to what the module takes"
            )
        dtype = modules.dtype(self.user.module) if features else None
        return torch.tensor(read, dtype=dtype, device=self.device).reshape(self.record.fed)


def found_again(
    record: UserRecord, model: Any, sha: str, weights: Mapping[str, Tensor]
) -> UserModel:
    """The user's module of a run: `model`, or what it names as `package.module:factory`.

    Its weights must have the hash `sha`; a factory's module is given the run's `weights`.
    """
    named = isinstance(model, str)
    user = user_model_at(model) if named else user_model(model, "model=")
    if named:
        user = replace(user, sort=record.sort)
    else:
        user = user.read_as(record.settings, record.labels, record.sort)
    if digest(user.weights()) == sha:
        return user
    if not named:  # the user still works with this very module: nothing is put into it
        raise RnnlensError(
            "the module given is not the one of this run: its weights differ; load the weights of "
            "that time into it, or fit anew"
        )
    user = user.copied()  # the factory may give the same module to others
    user.put(weights)
    return user


def _form(answers: LabelSet) -> str:
    """What targets are that have these answers."""
    return "numbers" if answers.scale else sets_of(len(answers)) if answers.several else LABELS


def _close(a: Tensor, b: Tensor) -> bool:
    """Whether states are the same but for rounding, also of another device or half precision."""
    return a.shape == b.shape and bool(torch.allclose(a, b, rtol=3e-2, atol=3e-3))
