"""Who wrote this: which words have made a state say one label rather than another.

Three readings of each word, named for what they are. `stored` is the exact split of a memory over
the words that wrote it. `path` goes on down to the words, with gates held and every tanh as a line.
`without` is the truth: the text is read again without the word. What `without` has beyond `path`
runs through the gates.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic.dataclasses import dataclass as question
from torch import Tensor

from rnnlens.ask.json_types import Logits
from rnnlens.ask.memory import Direction, UnknownWayError, added, path, stored
from rnnlens.ask.questions import MOST_LABELS, STRICT, Name, OfState, Subjects, given, several
from rnnlens.base.errors import RnnlensError
from rnnlens.base.rules import count, message
from rnnlens.base.schema import rounded, sent, unsent
from rnnlens.base.tables import data_frame
from rnnlens.base.threads import one_thread
from rnnlens.draw.printable import clip, width_of
from rnnlens.labels.sets import number_of
from rnnlens.model.kinds import INPUT, JOINED, PREDICTION
from rnnlens.model.traceable import Trace
from rnnlens.reading.reading import Reading
from rnnlens.reading.subject import Subject

if TYPE_CHECKING:
    import pandas as pd

Parts = NDArray[np.float64]
_COLUMNS = 20_000  # words of all texts that are read side by side
_WIDEST = 18  # columns of a word in a table
_five = rounded(5)


@question(frozen=True, kw_only=True, config=STRICT)
class WrittenQuestion(OfState):
    """A state, and the labels whose difference is to be told by the words."""

    labels: tuple[Name, ...] = several(MOST_LABELS, "none: the most probable")
    against: tuple[Name, ...] = several(MOST_LABELS, "none: the most probable other")
    instead: Name | None = given(
        None, "the word that is read in a word's place; null: the unknown word"
    )


@dataclass(frozen=True)
class Contrast:
    """Labels and those against them; of several the mean of their logits counts."""

    labels: tuple[str, ...]
    against: tuple[str, ...]
    numbers: tuple[list[int], list[int]]

    @classmethod
    def of(
        cls,
        labels: Sequence[str],
        against: Sequence[str],
        distribution: Callable[[], NDArray[np.float64]],
        names: Sequence[str],
    ) -> "Contrast":
        """A contrast of labels by name; a side without any is the most probable label that does not
        stand on the other, given a state's distribution.
        """
        sides = [[number_of(label, names) for label in dict.fromkeys(side)]
                 for side in (labels, against)]  # fmt: skip
        if both := {*sides[0]} & {*sides[1]}:
            raise RnnlensError(message("against_itself", label=repr(names[min(both)])))
        p = None if all(sides) else distribution()
        for side in sides:
            if p is not None and not side:
                taken = {number for some in sides for number in some}
                order = np.argsort(-p, kind="stable")[: len(taken) + 1].tolist()
                side.extend([number for number in order if number not in taken][:1])
        if not all(sides):
            raise RnnlensError(message("one_label"))
        called = [tuple(names[number] for number in side) for side in sides]
        return cls(called[0], called[1], (sides[0], sides[1]))

    @property
    def every(self) -> list[int]:
        """The numbers of all labels of both sides."""
        return self.numbers[0] + self.numbers[1]

    def weights(self) -> NDArray[np.float64]:
        """What the logits of `every` are multiplied by, so that their sum is the contrast."""
        ours, theirs = map(len, self.numbers)
        return np.array([1 / ours] * ours + [-1 / theirs] * theirs)


@dataclass(frozen=True)
class Written:
    """Which words have made a state say `labels` rather than those `against` them.

    All numbers are in logits: `difference` is how far the labels are ahead. For every word of the
    text up to there,

    - `stored` is what stands in the memory since it was read: an exact split, which with
      `stored_rest` adds up to the difference. It is not the cause: what a word wrote depends on
      those before, and gates decide how much is kept.
    - `path` is what the word's own input comes to along all ways with gates held; with `path_rest`
      it adds up to the difference, too.
    - `without` is how much of the difference goes when the word is taken away and everything is
      read again: the truth. `instead` is the word that is read in its place; empty: it is left out.
    - `gates` is what of that runs through gates: `without` less `path`.

    `stored` and `path` are None where the model has no such thing; `note` says why.
    """

    labels: tuple[str, ...]
    against: tuple[str, ...]
    difference: Logits = sent("how far the labels are ahead", write=_five)
    without: Parts = sent(
        "what goes without the word, all read again", type=list[Logits | None], write=_five
    )
    instead: str = sent("the word that is read in a word's place; empty: left out")
    kind: str = unsent()
    step: int = unsent()
    words: tuple[str, ...] = unsent()
    stored: Parts | None = sent(
        "the exact split of the memory", type=list[Logits | None] | None, write=_five, default=None
    )
    stored_rest: Logits = sent(
        "which with all of `stored` makes the difference", write=_five, default=0.0
    )
    path: Parts | None = sent(
        "down to the words, with gates held", type=list[Logits | None] | None, write=_five,
        default=None,
    )  # fmt: skip
    path_rest: Logits = sent(
        "which with all of `path` makes the difference", write=_five, default=0.0
    )
    note: str = sent("why a reading is missing; empty: none is", default="")
    gates: Parts | None = sent(
        "what of `without` runs through gates", type=list[Logits | None] | None, write=_five,
        default=None,
    )  # fmt: skip

    @property
    def readings(self) -> dict[str, Parts]:
        """All readings that there are, by name."""
        named = {
            "stored": self.stored, "path": self.path, "without": self.without, "gates": self.gates,
        }  # fmt: skip
        return {name: values for name, values in named.items() if values is not None}

    @property
    def title(self) -> str:
        """What was asked, in words."""
        ours, theirs = " + ".join(self.labels), " + ".join(self.against)
        return f"{self.kind} after {self.words[self.step]!r}: {ours} against {theirs}"

    def to_pandas(self) -> "pd.DataFrame":
        """A row for every word: step, word and the readings."""
        return data_frame(
            {"step": step, "word": word}
            | {name: float(values[step]) for name, values in self.readings.items()}
            for step, word in enumerate(self.words)
        )

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """As a table for people."""
        readings = self.readings
        margin = min(_WIDEST, max(map(width_of, (*self.words, "the rest"))))
        lines = [f"{self.title}, {self.difference:+.2f}", _line("", margin, list(readings))]
        for step, word in enumerate(self.words):
            lines.append(_line(word, margin, [_said(v[step]) for v in readings.values()]))
        rests = {"stored": self.stored_rest, "path": self.path_rest}
        if self.path is not None:
            told = [_said(rests[name]) if name in rests else "" for name in readings]
            lines.append(_line("the rest", margin, told))
        return [*lines, self.note] if self.note else lines


def _said(value: float) -> str:
    return f"{value:+.2f}" if np.isfinite(value) else "-"


def _line(head: str, margin: int, cells: Sequence[str]) -> str:
    shown = clip(head, margin)
    numbers = "".join(cell.rjust(9) for cell in cells)
    return (" " * (margin - width_of(shown)) + shown + numbers).rstrip()


def written(subjects: Subjects, asked: WrittenQuestion) -> Written:
    """Which words have made a state say some labels rather than others."""
    reading, row = subjects.read(asked).state(asked.row)
    return written_by(reading, asked.column, row, asked.labels, asked.against, asked.instead)


def written_by(
    reading: Reading,
    column: str,
    row: int,
    labels: Sequence[str] = (),
    against: Sequence[str] = (),
    instead: str | None = None,
    distribution: Callable[[], NDArray[np.float64]] | None = None,
) -> Written:
    """The readings of every word for one state of a text; `distribution` gives what the state says,
    for who knows that already.
    """
    if reading.edits:
        raise RnnlensError(
            message(
                "written_edits",
                edits=", ".join(map(str, reading.made_edits))[: count("quoted_edit")],
            )
        )
    place = reading.column(column, row)
    kind, step = place.kind.id, row - place.back
    if step < 0:
        raise RnnlensError(message("unread_column", column=column))
    reading.subject.model.check()
    says = distribution or (lambda: reading.probabilities(column, row).numpy())
    contrast = Contrast.of(labels, against, says, reading.answers.names)
    state = _State(reading, kind, step, contrast)
    with one_thread():  # small products: threads would wait for each other
        return state.answer(_replacement(reading.subject, instead))


def _replacement(subject: Subject, instead: str | None) -> int | None:
    """The number of the word that is put in a word's place; None: words are left out."""
    if instead is None:
        return subject.session.vocabulary.unknown
    if instead not in subject.session.vocabulary.index:
        raise RnnlensError(f"the model does not read {instead!r}; give a word that it knows")
    return subject.session.vocabulary.index[instead]


class _State:
    """One state of a text, and the labels that it is asked about."""

    def __init__(self, reading: Reading, kind: str, step: int, contrast: Contrast) -> None:
        self.subject, self.kind, self.step, self.contrast = reading.subject, kind, step, contrast
        self.model, self.side = self.subject.model, self.subject.session.text
        self.semantic = reading.semantic
        # Words after the state have no part in it, where none is read before its time.
        self.ids = reading.ids[: step + 1] if self.model.causal else list(reading.ids)
        self.words = reading.words[: len(self.ids)]

    @torch.no_grad()
    def answer(self, instead: int | None) -> Written:
        """Every reading that there is, and why another is missing."""
        trace = self.model.trace(self.side.batch(self.ids))
        real = float(self.value(trace, self.step)[0])
        without, inputs = self._without(real, instead)
        name = "" if instead is None else self.side.name(instead)
        written = Written(
            self.contrast.labels, self.contrast.against, real, without, name, self.kind, self.step,
            self.words,
        )  # fmt: skip
        if self.side.mark is not None:
            return replace(written, note=message("written_mark"))
        try:
            directions = self._directions(trace)
        except UnknownWayError as unknown:
            return replace(written, note=str(unknown))
        try:
            layers, states = self.model.recurrence, trace.states
            parts, rest = added(path(layers, states, one, inputs) for one in directions)
            written = replace(written, path=parts, path_rest=rest, gates=without - parts)
            parts, rest = added(stored(layers, states, one) for one in directions)
            written = replace(written, stored=parts, stored_rest=rest)
        except UnknownWayError as unknown:
            return replace(written, note=str(unknown))
        return written

    def _directions(self, trace: Trace) -> list[Direction]:
        """The states that the contrast is a linear map of, and that map: one state, or the two that
        are joined in it.
        """
        weights, constants = self._rows()
        mix = torch.from_numpy(self.contrast.weights())
        kind, step = self.kind, self.step
        if kind == PREDICTION:
            readout = self.subject.classifier
            kind = readout.kind if readout else kind
            if len(trace.prediction) == 1 < len(self.ids):  # one for the whole text
                back = next(k.reverse for k in self.model.kinds if k.id == kind)
                step = 0 if back else len(self.ids) - 1
        whole = Direction(kind, step, mix @ weights, float(mix @ constants))
        read = next((k for k in self.model.kinds if k.id == kind and k.letter == JOINED), None)
        return whole.split([edge.kind for edge in read.sources]) if read else [whole]

    def _rows(self) -> tuple[Tensor, Tensor]:
        """The linear map from the state to the labels' logits."""
        labels = self.contrast.every
        if self.kind != PREDICTION and self.subject.probes is not None:
            return self.subject.probes.rows(self.kind, labels, self.semantic)
        readout = self.subject.classifier
        if readout is None:
            raise UnknownWayError(message("written_prediction"))
        return readout.weight[labels].double().cpu(), readout.bias[labels].double().cpu()

    def value(self, trace: Trace, step: int) -> NDArray[np.float64]:
        """The contrast in the state of each sequence of a trace, (B,)."""
        if self.kind == PREDICTION:
            y = trace.prediction
            logits = self.model.predict(y[step if len(y) > 1 else 0])[:, self.contrast.every]
        else:
            weights, constants = self._rows()
            logits = trace.states[self.kind][step].double().cpu() @ weights.T + constants
        values: NDArray[np.float64] = logits.double().cpu().numpy() @ self.contrast.weights()
        return values

    def _without(
        self, real: float, instead: int | None
    ) -> tuple[NDArray[np.float64], list[dict[str, Tensor]]]:
        """How much less the contrast is without each word, and what is read in its place."""
        if instead is None and len(self.ids) == 1:
            return np.array([np.nan]), []
        values: list[float] = []
        inputs: list[dict[str, Tensor]] = []
        leaves = [kind.id for kind in self.model.kinds if kind.letter == INPUT]
        for first, texts in self._texts(instead):
            trace = self.model.trace(self._batch(texts))
            places = [self._place(word, instead) for word in range(first, first + len(texts))]
            found = {step: self.value(trace, step) for step in {*places}}
            values += [float(found[step][at]) for at, step in enumerate(places)]
            if instead is not None:
                words = enumerate(range(first, first + len(texts)))
                inputs += [{x: trace.states[x][t, at] for x in leaves} for at, t in words]
        return real - np.array(values), inputs

    def _place(self, word: int, instead: int | None) -> int:
        """Where the state stands in the text without a word: one earlier where it is left out, but
        for the state's own word, before which a layer that reads backwards has read the next one.
        """
        if instead is not None or word > self.step:
            return self.step
        if word == self.step and self._is_reverse():
            return min(self.step, len(self.ids) - 2)
        return max(0, self.step - 1)

    def _is_reverse(self) -> bool:
        return any(kind.reverse for kind in self.model.kinds if kind.id == self.kind)

    def _texts(self, instead: int | None) -> Iterator[tuple[int, list[list[int]]]]:
        """The text without each of its words in turn, as many at once as the model can read."""
        put = [] if instead is None else [instead]
        every = [[*self.ids[:k], *put, *self.ids[k + 1 :]] for k in range(len(self.ids))]
        size = max(1, _COLUMNS // len(self.ids)) if self.side.side_by_side else 1
        for first in range(0, len(every), size):
            yield first, every[first : first + size]

    def _batch(self, texts: Sequence[Sequence[int]]) -> Any:
        if len(texts) == 1:
            return self.side.batch(texts[0])
        return torch.cat([self.side.batch(text) for text in texts], 1)
