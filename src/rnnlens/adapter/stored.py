"""A user's module by its record: it is made when it is first needed, and read as it was then."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from threading import RLock
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from rnnlens.adapter import modules
from rnnlens.adapter.adapter import Adapter
from rnnlens.adapter.attention import hear
from rnnlens.adapter.axes.axes import is_part, some_sequences
from rnnlens.adapter.batches import (
    NONE,
    OUTPUT,
    Batch,
    check_batches,
    check_forms,
    form_of,
    most_telling,
)
from rnnlens.adapter.module_record import ModuleRecord
from rnnlens.adapter.pair_side import ATTENTION, SIGN, PairSide
from rnnlens.adapter.sequences import Sequences, SequenceSide, can_be_read, is_sequence
from rnnlens.adapter.source import PairBatch, pairs_of
from rnnlens.adapter.structure import anatomy_of
from rnnlens.adapter.texts import MOST_STEPS, TextBatch
from rnnlens.adapter.user_model import UserModel, user_model, user_model_at, users_code
from rnnlens.base.errors import RnnlensError
from rnnlens.base.rules import count
from rnnlens.base.tensors import digest
from rnnlens.corpus.pieces.piece_text import PieceText
from rnnlens.corpus.vocabulary import Vocabulary
from rnnlens.labels.sets import LabelSet
from rnnlens.model.cell import States
from rnnlens.model.kinds import Kind
from rnnlens.model.lazy import at_hand, joined
from rnnlens.model.text import (
    Example,
    Splitting,
    TextSide,
    decode_numbers,
    split_numbers,
    text_states,
)
from rnnlens.model.traceable import Anatomy, Readout, RecurrentLayer, StateEdit, Trace, Traceable
from rnnlens.model.transition import Matrix

MOST_GENERATED = count("generated_words")


class StoredModule(Traceable):
    """A user's module by its record; the module itself is made when it is first needed."""

    def __init__(
        self, record: ModuleRecord, make: Callable[[], Adapter], pieces: PieceText | None = None
    ) -> None:
        """`pieces`: what splits texts into pieces of words, where something does."""
        self.record, self._make, self.pieces = record, make, pieces
        self._adapter: Adapter | None = None
        self._watch: modules.Watch | None = None  # of the module's weights, once it is made
        self._lock = RLock()  # two traces at once would record each other's calls

    @property
    def adapter(self) -> Adapter:
        """The module with every kind readable."""
        with self._lock:
            if self._adapter is None:
                with torch.inference_mode(False):  # else its weights could not be differentiated by
                    self._adapter = self._make()
                self._watch = modules.Watch(self._adapter.module)
            return self._adapter

    @property
    def user(self) -> UserModel:
        """The module as its user gives it."""
        return self.adapter.user

    @property
    def kinds(self) -> tuple[Kind, ...]:
        return self.record.kinds

    @property
    def unprobed(self) -> dict[str, int]:
        return self.adapter.unprobed

    @property
    def matrices(self) -> dict[str, Matrix]:
        known = {kind.id for kind in self.kinds}
        return {kind: m for kind, m in self.adapter.matrices.items() if kind in known}

    @property
    def source_kinds(self) -> frozenset[str]:  # type: ignore[override]
        return frozenset(self.record.source.kinds) if self.record.source else frozenset()

    @property
    def generates(self) -> bool:  # type: ignore[override]
        return self.record.source is not None and not self.record.source.stuck

    @property
    def end(self) -> int | None:  # type: ignore[override]
        return self.record.source.end if self.record.source else None

    @property
    def attention_name(self) -> str:
        return self.record.source.attention if self.record.source else ""

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

    @property
    def padding(self) -> int | None:
        """The number of padding in the module's embedding; None where it has none."""
        embedding = modules.embedding(self.adapter.module)
        return None if embedding is None else embedding.padding_idx

    def classifier(self) -> Readout | None:
        return None if self.record.scale else self.start()

    def start(self) -> Readout | None:
        with self._lock:
            readout = self.adapter.classifier()
        known = {kind.id for kind in self.kinds}  # a module may have more kinds than its record
        return readout if readout and readout.kind in known else None

    @property
    def recurrence(self) -> tuple[RecurrentLayer, ...]:
        known = {kind.id for kind in self.kinds}  # an encoder has states beside other words
        every = self.adapter.recurrence
        return tuple(one for one in every if {*one.ids.values(), *one.below} <= known)

    def anatomy(self) -> Anatomy:
        if self.record.source:
            raise RnnlensError("it reads a source beside its target, by code of its own")
        if self.record.padding or self.record.first:
            raise RnnlensError(
                "something else than a text's words is read in front of it or behind"
            )
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
        text = batch if isinstance(batch, TextBatch) else None
        pair = batch if isinstance(batch, PairBatch) else None
        fed = batch.inputs if isinstance(batch, TextBatch | PairBatch) else batch
        if pair:
            edits = pair.moved(edits, self.source_kinds)
        with self._lock:
            if text and edits:
                before = at_hand(self.adapter.trace(fed).states) if text.first < 0 else {}
                edits = text.moved(edits, max(map(len, before.values()), default=MOST_STEPS))
            trace = self.adapter.trace(fed, start, edits)
        trace = self.own(trace)
        if self.record.source and not pair:
            return self._with_source(fed, trace)
        return pair.of(trace, self.source_kinds) if pair else text.of(trace) if text else trace

    def own(self, trace: Trace) -> Trace:
        """A trace of the adapter's with the kinds that probes were fitted to."""
        if missing := [kind.id for kind in self.kinds if kind.id not in trace.states]:
            raise RnnlensError(
                f"the module has no kind {missing[0]}, which the probes were fitted to; read it as "
                "it was read then: kinds=, or the code of that time"
            )
        kinds = [kind.id for kind in self.kinds]
        states = joined(kinds, (trace.states, {kind: kind for kind in kinds}))
        return replace(trace, states=states, predict=self.predict)

    def _with_source(self, inputs: Any, trace: Trace) -> Trace:
        """A batch of pairs, in which states of the source stand beside targets."""
        assert self.record.source is not None  # noqa: S101 - only then
        steps = min(len(v) for kind, v in trace.states.items() if kind not in self.source_kinds)
        drawn = self.record.source.drawn(inputs, trace, steps)
        return replace(trace, states={kind: drawn.get(kind, v) for kind, v in trace.states.items()})

    def attention(self, batch: Any, edits: Sequence[StateEdit] = ()) -> Tensor | None:
        source = self.record.source
        if not source or not source.attention or not isinstance(batch, PairBatch):
            return None
        with self._lock:
            heard = hear(self.adapter.module, lambda: self.trace(batch, edits=edits))
        found = heard.weights(source.attention, batch.source, batch.target, source.lie)
        return found if found is not None and len(found) == source.heads else None

    def in_time(self, labels: Tensor, trace: Callable[[], Trace]) -> Tensor:
        return self.adapter.in_time(labels, trace)

    def batches(
        self, user_batches: Sequence[Any], others: Mapping[str, LabelSet] | None = None
    ) -> list[Batch]:
        batches = self._checked(user_batches, others or {})
        with self._lock:
            self.adapter.align(*most_telling(batches))
        return batches

    def _checked(self, user_batches: Sequence[Any], others: Mapping[str, LabelSet]) -> list[Batch]:
        """Batches whose targets are of the forms that probes were fitted to."""
        counts = {name: len(one) for name, one in others.items() if one.several}
        counts[OUTPUT] = self.record.labels
        plain = [self._unwrapped(pair) for pair in user_batches]
        batches = check_batches(plain, "batches", self.user.ignore_index, counts)
        forms = {name: _form(one, len(one)) for name, one in others.items()}
        own = {OUTPUT: _form(self.record, self.record.labels)} if self.predicts else {}
        check_forms(batches, {**own, **forms}, "these batches")
        return batches

    def _unwrapped(self, pair: Any) -> Any:
        """A text with its targets, beside all of whose timesteps there are targets, or none."""
        text = pair[0] if isinstance(pair, tuple | list) and len(pair) == 2 else None
        if not isinstance(text, TextBatch):
            return pair
        with self._lock:
            states = at_hand(self.adapter.trace(text.inputs).states)
            steps = max(len(v) for v in states.values())
        first = text.place(steps)
        none = float("nan") if pair[1].is_floating_point() else NONE
        return text.inputs, F.pad(pair[1], (first, steps - first - text.count), value=none)

    @property
    def sequences_first(self) -> bool | None:
        """Whether sequences come before timesteps in what the module is fed, as far as is known."""
        return self.adapter.axes.sequences_first if self.adapter.axes else None

    def alone(self, pair: Any, row: int, others: Mapping[str, LabelSet]) -> tuple[Batch, Trace]:
        """One sequence of a batch, which is a pair of what the module is fed and its targets, and
        its trace; refused where the module reads it otherwise than among the others.
        """
        with self._lock:
            batch = self._with_targets(pair, others)
            trace, axes = self.adapter.trace(batch.inputs), self.adapter.axes
            assert axes is not None  # noqa: S101 - from `_with_targets`
            count = trace.states[axes.kinds[-1]].shape[1]
            if not isinstance(row, int) or not 0 <= row < count:
                raise RnnlensError(
                    f"row= is {row!r} and the batch has {count} sequences; give 0 to {count - 1}"
                )
            if count == 1:
                return batch, trace
            chosen = torch.tensor([row])
            one = some_sequences(batch, chosen, axes, trace)
            alone = self.adapter.trace(one.inputs)
            if not is_part(trace, alone, chosen, axes.kinds):
                raise RnnlensError(
                    f"the module reads sequence {row} otherwise among the others of its batch than "
                    "alone, so that it cannot be drawn by itself; give a batch of this one"
                )
            return one, alone

    def _with_targets(self, pair: Any, others: Mapping[str, LabelSet]) -> Batch:
        """A batch whose targets may be None: nothing is then known to be right."""
        if isinstance(pair, Batch):
            return pair
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise RnnlensError(
                "a batch is a pair: what the module is fed, and its targets; give (inputs, "
                "targets), or (inputs, None)"
            )
        if pair[1] is not None:
            if self.adapter.axes is None:
                return self.batches([pair], others)[0]
            return self._checked([pair], others)[0]
        axes = self.adapter.axes
        if axes is None:
            raise RnnlensError(
                "nothing tells yet how the module's sequences lie; give the targets, too: "
                "lens.grid((inputs, targets))"
            )
        states = self.adapter.trace(pair[0]).states[axes.kinds[-1]]
        none = torch.full(states.shape[:2], NONE)  # (T, B)
        targets = none[0] if axes.whole else none.T if axes.targets_first else none
        return Batch(pair[0], targets if axes.rows or axes.whole else targets.flatten())

    def words(self, inputs: Any, targets: Tensor) -> Tensor | None:
        return self.adapter.words(inputs, targets)

    def count(self, inputs: Any, targets: Tensor) -> int:
        return self.adapter.count(inputs, targets)

    def check(self) -> None:
        if self._watch is not None and not self._watch.is_unchanged():
            raise RnnlensError(
                "the module has changed since its probes were fitted, so that these no longer say "
                "what it does; fit anew"
            )

    def on(self, device: torch.device) -> "StoredModule":
        """The module, moved to a device."""
        self.user.module.to(device)
        return self

    @property
    def label_count(self) -> int:
        """How many labels the module predicts."""
        return self.record.labels

    def found_at(
        self, where: str, vocabulary: Vocabulary, examples: Sequence[Example]
    ) -> "StoredModule":
        record, weights = replace(self.record, factory=where), self.user.weights()
        adapter = restored(record, where, weights, (vocabulary, examples), where, self.pieces)
        return StoredModule(record, lambda: adapter, self.pieces)

    def text(self, vocabulary: Vocabulary) -> TextSide:
        """How a text is given to the module."""
        record = self.record
        rule: Splitting | None = "numbers" if record.features else "blanks"
        splitter, pieces = record.settings.splitter, self.pieces
        if pieces:
            rule = "pieces"
            if len(vocabulary.inputs) < len(pieces.tokens):
                raise RnnlensError(
                    f"the tokenizer has {len(pieces.tokens):,} pieces and the vocabulary names "
                    f"{len(vocabulary.inputs):,}; restore both"
                )
        elif splitter:
            rule = "letters" if record.settings.letters else "pattern"
        elif "words" in record.settings.functions:
            rule = None

        def split(text: str) -> Any:
            with self._lock:
                if rule == "numbers":
                    return split_numbers(text, record.features)
                if pieces:
                    return [vocabulary.inputs[number] for number in pieces.encode(text)]
                return splitter(text) if splitter else self.user.split(text)

        begin = None if record.begin is None else vocabulary.inputs[record.begin]
        sequences = Sequences(record.features)

        if record.source:
            return self._pair_side(vocabulary, split, rule, begin)

        def batch(ids: Sequence[int]) -> Any:
            given = sequences.batch(ids)
            return self._prepared(ids) if given is None else given

        return SequenceSide(
            vocabulary, split, batch, record.follows, mark=record.settings.mark,
            answers=record.answers(vocabulary.labels), features=record.features, splitting=rule,
            begin=begin, pattern=record.settings.pattern, pieces=pieces, sequences=sequences,
        )  # fmt: skip

    def _pair_side(
        self, vocabulary: Vocabulary, split: Callable[[str], Any], rule: Splitting | None,
        begin: str | None,
    ) -> PairSide:  # fmt: skip
        """How a pair is given to the module."""
        record = self.record
        assert record.source is not None  # noqa: S101 - only then
        source = Vocabulary.of_user(record.source.names, record.source.counts, record.source.names)

        def batch(ids: Sequence[int]) -> PairBatch:
            return self.pair(*side.split_ids(ids))

        def attend(ids: Sequence[int]) -> States:
            weights = self.attention(batch(ids))
            return {} if weights is None else {ATTENTION: weights}

        side = PairSide(
            vocabulary, split, batch, record.follows, answers=record.answers(vocabulary.labels),
            splitting=rule, begin=begin, source=source, generate=self.generated, attend=attend,
            pieces=self.pieces,
        )  # fmt: skip
        return side

    def pair(self, source: Sequence[int], target: Sequence[int]) -> PairBatch:
        """What the module is fed for the numbers of a source's words and of a target's."""
        if not source or not target:
            missing = "source" if not source else "target"
            raise RnnlensError(f"there is no {missing}; write source {SIGN} target")
        return PairBatch(self.fed_pair(source, target), len(source), len(target))

    def fed_pair(self, source: Sequence[int], target: Sequence[int]) -> Any:
        """What the module is fed for a pair."""
        record = self.record.source
        assert record is not None  # noqa: S101 - only then
        if self.user.prepare is None:
            return record.inputs(source, target, self.device)
        with users_code("prepare="):
            return self.user.prepare(list(source), list(target))

    def pairs(self, batch: Batch) -> Iterator[tuple[list[int], list[int]]]:
        """The words of each pair of a batch by their numbers, source and target."""
        record, axes = self.record.source, self.adapter.axes
        assert record is not None  # noqa: S101 - only then
        first = axes is None or axes.sequences_first is not False
        for _, source, target in pairs_of(batch, record, record.pad, first):
            yield source, target

    def generated(self, source: Sequence[int]) -> list[int]:
        """The words that the module writes for a source, the likeliest each time, from the one that
        begins every target to the one that ends it, or until there are many.
        """
        record, begin = self.record.source, self.record.begin
        assert record is not None  # noqa: S101 - only then
        if record.stuck or begin is None:
            raise RnnlensError(
                f"no target is given, and the module cannot write one by itself: {record.stuck}; "
                f"write source {SIGN} target"
            )
        target = [begin]
        with torch.no_grad():
            while len(target) <= MOST_GENERATED:
                y = self.trace(self.pair(source, target)).prediction
                label = int(y[-1, 0].argmax())
                if label == record.end:
                    break
                target.append(label)
        return target

    def reads_texts(self, vocabulary: Vocabulary) -> bool:
        """Whether a text can be made into a batch: its words have names, and how they are fed is
        known.
        """
        record = self.record
        fed = record.source.fed if record.source else record.fed
        return bool((vocabulary.inputs or record.features) and (fed or self.user.prepare))

    def _prepared(self, ids: Sequence[int]) -> Any:
        """The numbers of a text's words as the module is fed them."""
        features = self.record.features
        read: list[Any] = list(ids)
        if features:
            rows = [decode_numbers(number, features) for number in ids]
            read = [row[0] for row in rows] if features == 1 else rows
        first = self.record.first
        if self.record.padding:
            read, first = self.record.padding.around(read)
        fed = self.fed(read)
        around = first or self.record.padding
        return TextBatch(fed, len(ids), first) if around else fed

    def fed(self, read: Sequence[Any]) -> Any:
        """What the module is fed for these words, or numbers."""
        features = self.record.features
        if self.user.prepare:
            with users_code("prepare="):
                batch = self.user.prepare(list(read))
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


def restored(
    record: ModuleRecord,
    model: Any,
    weights: Mapping[str, Tensor],
    texts: tuple[Vocabulary, Sequence[Example]],
    what: str,
    pieces: PieceText | None = None,
) -> Adapter:
    """The user's module that a record is of: `model`, or what it names as package.module:factory.

    A module must have the record's weights; one that a factory gives is given the `weights`. It
    must read the `texts` as when probes were fitted; `what` names it in messages.
    """
    if isinstance(model, str):
        user = user_model_at(model)
        if digest(user.weights()) != record.sha256:
            user = user.with_weights(weights)
    else:
        user = record.settings.completed(user_model(model, "model="), record.labels)
        if record.source and user.source is None:
            user = replace(user, source=record.source.names)
        # The user still works with this very module: nothing is put into it.
        if digest(user.weights()) != record.sha256:
            raise RnnlensError(
                "the module given is not the one of this run: its weights differ; load the weights "
                "of that time into it, or fit anew"
            )
    adapter = Adapter(user, sort=record.sort)
    _check_reading(StoredModule(record, lambda: adapter, pieces), *texts, what)
    return adapter


def _check_reading(
    model: StoredModule, vocabulary: Vocabulary, examples: Sequence[Example], what: str
) -> None:
    """Refuse a module that does not read as the one that probes were fitted to."""
    text = model.text(vocabulary)
    for kept in examples:
        example = text.restore(kept)
        if is_sequence(example.text, vocabulary.inputs) and not can_be_read(example):
            continue
        words, states = text.words(example.text), text_states(model, text, example.ids)
        wrong = [kind for kind, v in example.states.items() if not _close(v, states[kind])]
        if words != example.words or wrong:
            how = f"its {wrong[0]} differs" if wrong else f"it takes {words} for its words"
            raise RnnlensError(
                f"{what} gives a module that reads {example.text!r} otherwise than the one that "
                f"was fitted: {how}; give that module, or fit anew"
            )


def _form(labels: LabelSet | ModuleRecord, count: int) -> str:
    """What targets are that are asked for so many labels."""
    return form_of(labels.scale is not None, count if labels.several else 0)


def _close(a: Tensor, b: Tensor) -> bool:
    """Whether states are the same but for rounding, also of another device or half precision."""
    return a.shape == b.shape and bool(torch.allclose(a, b, rtol=3e-2, atol=3e-3))
