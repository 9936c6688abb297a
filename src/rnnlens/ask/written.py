"""Who wrote this: which words have made a state say one label rather than another.

Three readings of each word, named for what they are. `stored` is the exact split of a memory over
the words that wrote it. `path` goes on down to the words, with gates held and every tanh as a line.
`without` reads the text again with something else in the word's place, and says what: where words
are drawn, it is the mean over these, with an interval. What `without` has beyond `path` runs
through the gates.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field, StrictInt
from pydantic.dataclasses import dataclass as question
from torch import Tensor

from rnnlens.ask.json_types import Count, Logits
from rnnlens.ask.memory import Direction, UnknownWayError, added, path, stored
from rnnlens.ask.questions import (
    MOST_LABELS,
    MOST_SEED,
    STRICT,
    Name,
    OfState,
    Subjects,
    Whole,
    given,
    several,
)
from rnnlens.ask.stand_ins import (
    DRAWS,
    LEAST_DRAWS,
    LEFT_OUT,
    MODEL,
    MOST_DRAWS,
    TAG,
    UNKNOWN,
    StandIn,
    StandIns,
)
from rnnlens.base.draws import half_width
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

if TYPE_CHECKING:
    import pandas as pd

Parts = NDArray[np.float64]
_COLUMNS = 20_000  # words of all texts that are read side by side
_BESIDE = 64  # texts that are read side by side where each begins at its first other word
_WIDEST = 18  # columns of a word in a table
_five = rounded(5)
_Numbers = list[Logits | None] | None  # of each word


@question(frozen=True, kw_only=True, config=STRICT)
class WrittenQuestion(OfState):
    """A state, and the labels whose difference is to be told by the words."""

    labels: tuple[Name, ...] = several(MOST_LABELS, "none: the most probable")
    against: tuple[Name, ...] = several(MOST_LABELS, "none: the most probable other")
    stand_in: Name | None = given(
        None, "what is read in a word's place: tag, model, unknown or left_out; null: the usual"
    )
    instead: Name | None = given(None, "a word that is read in a word's place; null: stand_in")
    draws: Annotated[StrictInt, Field(ge=LEAST_DRAWS, le=MOST_DRAWS), Whole] = given(
        DRAWS, "how many words are drawn for each, where they are drawn"
    )
    seed: Annotated[StrictInt, Field(ge=0, le=MOST_SEED), Whole] = given(
        0, "what is drawn: the same words for the same seed"
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
    - `without` is how much of the difference goes when something else is read in the word's place
      and everything is read again. What that was changes what is found: `stand_in` says it. `tag`
      and `model` draw `draws` other words for each, those of the same part of speech or those that
      the model expected; `without` is the mean over them, `low` to `high` its 95% interval and
      `spread` the deviation of one draw. `unknown` reads the word `instead`, as does a word that
      was named; `left_out` reads nothing there. NaN: nothing could stand in for the word.
    - `gates` is what of that runs through gates: `without` less `path`.

    `path` is against the same stand-ins as `without`: its rest is what they come to in all places,
    with the gates of this text. `stored` and `path` are None where the model has no such thing;
    `note` says why.
    """

    labels: tuple[str, ...]
    against: tuple[str, ...]
    difference: Logits = sent("how far the labels are ahead", write=_five)
    without: Parts = sent(
        "what goes where something else is read in the word's place: the mean over draws",
        type=list[Logits | None], write=_five,
    )  # fmt: skip
    kind: str = unsent()
    step: int = unsent()
    words: tuple[str, ...] = unsent()
    stand_in: str = sent(
        "what is read in a word's place: tag, model, unknown or left_out; empty: `instead`"
    )
    instead: str = sent("the one word that is read in a word's place; empty: none is")
    offered: tuple[str, ...] = sent("the stand-ins that there are for this text")
    draws: Count = sent("words that are drawn for each; 0: none is", default=0)
    drawn: tuple[tuple[str, ...], ...] = sent("these words, for each; none: none is", default=())
    low: Parts | None = sent(
        "of the 95% interval of `without`; null: nothing is drawn",
        type=_Numbers,
        write=_five,
        default=None,
    )
    high: Parts | None = sent("of the same interval", type=_Numbers, write=_five, default=None)
    spread: Parts | None = sent(
        "the deviation of a single draw from `without`", type=_Numbers, write=_five, default=None
    )
    stored: Parts | None = sent(
        "the exact split of the memory", type=_Numbers, write=_five, default=None
    )
    stored_rest: Logits = sent(
        "which with all of `stored` makes the difference", write=_five, default=0.0
    )
    path: Parts | None = sent(
        "down to the words, with gates held", type=_Numbers, write=_five, default=None
    )
    path_rest: Logits = sent(
        "which with all of `path` makes the difference", write=_five, default=0.0
    )
    note: str = sent("why a reading is missing; empty: none is", default="")
    gates: Parts | None = sent(
        "what of `without` runs through gates", type=_Numbers, write=_five, default=None
    )

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
        """A row for every word: step, word, the readings, and how sure `without` is."""
        drawn = {"low": self.low, "high": self.high, "spread": self.spread}
        there = self.readings | {name: some for name, some in drawn.items() if some is not None}
        return data_frame(
            {"step": step, "word": word}
            | {name: float(values[step]) for name, values in there.items()}
            for step, word in enumerate(self.words)
        )

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    @property
    def instead_of(self) -> str:
        """What is read in a word's place, in words."""
        if self.stand_in == LEFT_OUT:
            return "the word left out"
        if not self.draws:
            unknown = ", the unknown word," if self.stand_in == UNKNOWN else ""
            return f"{self.instead!r}{unknown} in its place"
        by = {TAG: "of the same tag", MODEL: "that the model expected"}[self.stand_in]
        return f"{self.draws} other words {by} in its place: mean and 95% interval"

    def lines(self) -> list[str]:
        """As a table for people."""
        readings = self.readings
        margin = min(_WIDEST, max(map(width_of, (*self.words, "the rest"))))
        width = None if self.low is None or self.high is None else (self.high - self.low) / 2
        columns: dict[str, list[str]] = {}
        for name, values in readings.items():
            columns[name] = [_said(value) for value in values]
            if name == "without" and width is not None:
                columns["±"] = [f"{one:.2f}" if np.isfinite(one) else "" for one in width]
        rests = {"stored": _said(self.stored_rest), "path": _said(self.path_rest)}
        lines = [f"{self.title}, {self.difference:+.2f}", _line("", margin, list(columns))]
        for step, word in enumerate(self.words):
            lines.append(_line(word, margin, [cells[step] for cells in columns.values()]))
        if rests.keys() & readings.keys():
            lines.append(_line("the rest", margin, [rests.get(name, "") for name in columns]))
        lines.append(f"without: read again with {self.instead_of}")
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
    return written_by(
        reading, asked.column, row, asked.labels, asked.against, asked.instead,
        stand_in=asked.stand_in, draws=asked.draws, seed=asked.seed,
    )  # fmt: skip


def written_by(
    reading: Reading,
    column: str,
    row: int,
    labels: Sequence[str] = (),
    against: Sequence[str] = (),
    instead: str | None = None,
    distribution: Callable[[], NDArray[np.float64]] | None = None,
    *,
    stand_in: str | None = None,
    draws: int = DRAWS,
    seed: int = 0,
) -> Written:
    """The readings of every word for one state of a text; `distribution` gives what the state says,
    for who knows that already.
    """
    reading.subject.model.check_reads("which words have written a state")
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
        return state.answer(state.stand_ins.of(stand_in, instead, draws, seed))


class _State:
    """One state of a text, and the labels that it is asked about."""

    def __init__(self, reading: Reading, kind: str, step: int, contrast: Contrast) -> None:
        self.subject, self.kind, self.step, self.contrast = reading.subject, kind, step, contrast
        self.model, self.side = self.subject.model, self.subject.session.text
        self.semantic = reading.semantic
        # Words after the state have no part in it, where none is read before its time.
        self.ids = reading.ids[: step + 1] if self.model.causal else list(reading.ids)
        self.words = reading.words[: len(self.ids)]
        self.stand_ins = StandIns(self.subject, self.ids)

    @torch.no_grad()
    def answer(self, stand_in: StandIn | None) -> Written:
        """Every reading that there is, and why another is missing; without a stand-in no text is
        read again.
        """
        trace = self.model.trace(self.side.batch(self.ids))
        real = float(self.value(trace, self.step)[0])
        chosen = stand_in or StandIn(LEFT_OUT)
        words = self.stand_ins.drawn(chosen, trace)
        again = self._again(real, chosen, words, trace) if stand_in else _Again([()])
        written = Written(
            self.contrast.labels, self.contrast.against, real, again.mean, self.kind, self.step,
            self.words, chosen.name, chosen.word or "",
            self.stand_ins.offered,
        )  # fmt: skip
        if chosen.draws:
            named = tuple(tuple(self.side.name(word) for word in some) for some in words)
            written = replace(
                written, draws=chosen.draws, drawn=named, low=again.mean - again.half_width,
                high=again.mean + again.half_width, spread=again.spread,
            )  # fmt: skip
        written = self._split(written, trace, again.inputs)
        return written if stand_in else replace(written, note=message("no_other_word"))

    def _split(
        self, written: Written, trace: Trace, inputs: Sequence[Mapping[str, Tensor]]
    ) -> Written:
        """With the readings that add up, as far as there are any."""
        if self.side.mark is not None:
            return replace(written, note=message("written_mark"))
        if self.side.sources(self.ids):
            return replace(written, note=message("written_pair"))
        layers, states = self.model.recurrence, trace.states
        try:
            directions = self._directions(trace)
            parts, rest = added(path(layers, states, one, inputs) for one in directions)
            gates = written.without - parts
            written = replace(written, path=parts, path_rest=rest, gates=gates)
        except UnknownWayError as unknown:
            written = replace(written, note=str(unknown))
        try:  # what is stored can be known where no path down to the words is
            parts, rest = added(stored(layers, states, one) for one in self._directions(trace))
            return replace(written, stored=parts, stored_rest=rest)
        except UnknownWayError as unknown:
            return replace(written, note=str(unknown))

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

    def _again(
        self, real: float, chosen: StandIn, words: Sequence[Sequence[int]], trace: Trace
    ) -> "_Again":
        """The text with each word's stand-ins in its place; what is drawn twice is read once."""
        texts = [
            (place, put)
            for place, some in enumerate(words)
            for put in (dict.fromkeys(some) if not chosen.leaves_out else (None,))
            if put is not None or self.side.may_lack(self.ids, place)
        ]
        found: dict[tuple[int, int | None], tuple[float, dict[str, Tensor]]] = {}
        for beside in self._at_once(texts):
            found |= self._read_again(beside, trace)
        if chosen.leaves_out:
            left = {place: found[place, None][0] for place, _ in texts}
            return _Again([[real - left[at]] if at in left else [] for at in range(len(words))])
        lost, inputs = [], []
        for place, some in enumerate(words):
            lost.append([real - found[place, put][0] for put in some])
            # With gates held all is linear: several stand-ins come to what their mean does.
            read = [found[place, put][1] for put in some] or [self._inputs(trace, place, 0)]
            inputs.append({x: torch.stack([one[x] for one in read]).double().mean(0)
                           for x in self._leaves})  # fmt: skip
        return _Again(lost, inputs)

    def _read_again(
        self, texts: Sequence[tuple[int, int | None]], trace: Trace
    ) -> dict[tuple[int, int | None], tuple[float, dict[str, Tensor]]]:
        """The contrast, and what is read in the word's place, with one word or none in another's
        place; what was read before the first of these places is not read again.
        """
        ids = [self._with(*one) for one in texts]
        places = [self._place(*one) for one in texts]
        begin = min(texts[0][0], *places) if self._continues else 0
        start = {kind: trace.states[kind][begin - 1].expand(len(ids), -1).contiguous()
                 for kind in self.model.carried} if begin else None  # fmt: skip
        read = self.model.trace(self._batch([some[begin:] for some in ids]), start)
        values = {step: self.value(read, step - begin) for step in {*places}}
        return {
            (place, put): (
                float(values[step][at]),
                {} if put is None else self._inputs(read, place - begin, at),
            )
            for at, ((place, put), step) in enumerate(zip(texts, places, strict=True))
        }

    def _inputs(self, trace: Trace, step: int, at: int) -> dict[str, Tensor]:
        """What is read at a step of one of the texts of a trace."""
        return {x: trace.states[x][step, at] for x in self._leaves}

    @property
    def _leaves(self) -> list[str]:
        """The kinds that the words themselves are."""
        return [kind.id for kind in self.model.kinds if kind.letter == INPUT]

    @property
    def _continues(self) -> bool:
        """Whether a text can be read on from a word in the middle, beside others."""
        return self.model.causal and self.side.side_by_side and self.side.mark is None

    def _with(self, place: int, put: int | None) -> list[int]:
        """The text with another word in a place, or none; a state beside the mark that is read
        first has not read its own word.
        """
        if put is None and self.side.mark is not None and place == self.step:
            return list(self.ids)
        return [*self.ids[:place], *([] if put is None else [put]), *self.ids[place + 1 :]]

    def _place(self, place: int, put: int | None) -> int:
        """Where the state stands in the text without a word: one earlier where it is left out, but
        for the state's own word, before which a layer that reads backwards has read the next one.
        """
        if put is not None or place > self.step:
            return self.step
        if place == self.step and self.side.mark is not None:
            return self.step
        if place == self.step and self._is_reverse():
            return min(self.step, len(self.ids) - 2)
        return max(0, self.step - 1)

    def _is_reverse(self) -> bool:
        return any(kind.reverse for kind in self.model.kinds if kind.id == self.kind)

    def _at_once(
        self, texts: Sequence[tuple[int, int | None]]
    ) -> Iterator[Sequence[tuple[int, int | None]]]:
        """As many texts as are read side by side."""
        size = 1
        if self.side.side_by_side:
            size = min(_BESIDE if self._continues else len(texts), _COLUMNS // len(self.ids))
        for first in range(0, len(texts), max(1, size)):
            yield texts[first : first + max(1, size)]

    def _batch(self, texts: Sequence[Sequence[int]]) -> Any:
        if len(texts) == 1:
            return self.side.batch(texts[0])
        return torch.cat([self.side.batch(text) for text in texts], 1)


class _Again:
    """What a text lost where it was read again, for each word once for every draw."""

    def __init__(
        self, lost: Sequence[Sequence[float]], inputs: Sequence[Mapping[str, Tensor]] = ()
    ) -> None:
        self.inputs = inputs
        self.mean = np.array([np.mean(some) if some else np.nan for some in lost])
        self.spread = np.array([np.std(some, ddof=1) if len(some) > 1 else np.nan for some in lost])
        each = zip(self.spread, lost, strict=True)
        self.half_width = np.array([half_width(spread, max(2, len(some))) for spread, some in each])
