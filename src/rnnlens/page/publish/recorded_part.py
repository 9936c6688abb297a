"""What a published file keeps where nothing can be typed: some texts of recorded states, or some
sequences of a user's batches, with all that is known of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from rnnlens.adapter.sequences import SequenceSide
from rnnlens.base.errors import RnnlensError
from rnnlens.base.pace import checkpoint
from rnnlens.base.rules import count
from rnnlens.model.cell import States
from rnnlens.model.kinds import PREDICTION
from rnnlens.page.publish.quantised import Tensors
from rnnlens.probe.semantics import base
from rnnlens.reading.session import Session
from rnnlens.reading.subject import Subject
from rnnlens.reading.two_texts import plain, two_texts
from rnnlens.states.recorded import RecordedStates

USUAL_BYTES = 12_000_000  # of states, where nobody says how many texts
MOST_BYTES = 200_000_000  # more than a browser is willing to hold beside its page
_BYTES = 2  # of a number
_LEAST = -100.0  # a logit below the largest, of which nothing is seen
_ODDS = float(count("odds"))  # beyond which no logarithm of odds is told


class _Texts(Protocol):
    """Texts that can be kept, by their numbers."""

    what: str  # they are called

    def __len__(self) -> int: ...

    def number(self, text: str) -> int:
        """That of a text."""

    def ids(self, number: int) -> list[int]:
        """The numbers of a text's words."""

    @property
    def width(self) -> int:
        """Numbers that the states of one word have, all kinds together."""

    def states(self, numbers: Sequence[int]) -> States:
        """Of every kind and of y, the rows of these texts one after the other."""


@dataclass(frozen=True)
class _Recorded:
    """Texts whose states were recorded."""

    model: RecordedStates
    what = "recorded texts"

    def __len__(self) -> int:
        return len(self.model.kept)

    def number(self, text: str) -> int:
        return self.model.kept.number(text)

    def ids(self, number: int) -> list[int]:
        return [*self.model.kept.span(number)]

    @property
    def width(self) -> int:
        y = self.model.kept.y
        widths = [column.width for column in self.model.kept.kinds.values()]
        return sum([*widths, 0 if y is None else y.width])

    def states(self, numbers: Sequence[int]) -> States:
        kept = self.model.kept
        spans = [kept.span(number) for number in numbers]
        every = {**kept.kinds, **({} if kept.y is None else {PREDICTION: kept.y})}
        return {
            kind: torch.from_numpy(np.concatenate([one.rows(s.start, s.stop) for s in spans]))
            for kind, one in every.items()
        }


class _Given:
    """Sequences of a user's batches, whose states its module has, or its run has kept."""

    what = "sequences"

    def __init__(self, session: Session, side: SequenceSide) -> None:
        self.session, self.side = session, side

    def __len__(self) -> int:
        return len(self.side.sequences.every)

    def number(self, text: str) -> int:
        number = self.side.sequences.asked(text, self.side.vocabulary.index)
        if number is None:
            raise RnnlensError(
                f"{text[:60]!r} is typed, and a page of sequences keeps those that were given; "
                "name one, such as #0"
            )
        return number

    def ids(self, number: int) -> list[int]:
        return self.side.sequences.numbers(number)

    @cached_property
    def width(self) -> int:
        return sum(values.shape[-1] for values in self._read(0).values())

    def _read(self, number: int) -> States:
        ids = self.ids(number)
        return dict(self.session.read(ids, 0, len(ids))[0])

    def states(self, numbers: Sequence[int]) -> States:
        every: list[Mapping[str, Tensor]] = []
        for number in numbers:
            checkpoint()
            every.append(self._read(number))
        return {kind: torch.cat([one[kind].float() for one in every]) for kind in every[0]}


def _texts_of(subject: Subject) -> _Texts | None:
    """What a page of a subject keeps; None: it computes whatever is typed."""
    model, session = subject.model, subject.session
    if isinstance(model, RecordedStates):
        return _Recorded(model)
    read = [session.numbers(one, session.words(one)) for one in subject.examples()]
    side = session.text
    typed = not any(read) or any(side.are_words(ids) for ids in read if ids)
    return _Given(session, side) if isinstance(side, SequenceSide) and not typed else None


@dataclass(frozen=True)
class RecordedPart:
    """The texts that are kept, by their numbers."""

    subject: Subject
    kept: _Texts
    numbers: tuple[int, ...]

    @classmethod
    def of(
        cls, subject: Subject, texts: int | None = None, shown: Sequence[str] = ()
    ) -> "RecordedPart | None":
        """Those of a subject: the texts that its page has `shown` itself, all of them, its
        examples, and the first that were recorded, as many as are asked for; None where there is a
        network.
        """
        kept = _texts_of(subject)
        if kept is None:
            if texts is not None:
                raise RnnlensError(
                    f"{subject.name} has a network, so that its page reads whatever is typed; "
                    "leave texts= (--texts) out"
                )
            return None
        if texts is not None and not 1 <= texts <= len(kept):
            raise RnnlensError(f"{texts} texts cannot be kept; give 1 to {len(kept):,}")
        needed = dict.fromkeys(_numbers(subject, kept, shown))
        if texts is not None and len(needed) > texts:
            raise RnnlensError(
                f"{texts} texts are to be kept, and what is read first and what the story shows "
                f"are {len(needed)}; give {len(needed)} at least: texts= (--texts)"
            )
        others = _numbers(subject, kept, subject.examples())
        numbers, size = list[int](), 0
        for number in dict.fromkeys([*needed, *others, *range(texts or len(kept))]):
            more = len(kept.ids(number)) * _BYTES * kept.width
            full = texts is None and size + more > USUAL_BYTES and numbers
            if len(numbers) == texts or (full and number not in needed):
                break
            numbers.append(number)
            size += more
        if size > MOST_BYTES:
            raise RnnlensError(
                f"{len(numbers):,} texts have {size / 1e6:,.0f} MB of states, and a page holds "
                f"{MOST_BYTES / 1e6:,.0f} MB at most; give fewer: texts= (--texts)"
            )
        return cls(subject, kept, tuple(sorted(numbers)))

    def __str__(self) -> str:
        rows = sum(len(self.kept.ids(number)) for number in self.numbers)
        size = rows * _BYTES * self.kept.width / 1e6
        return (
            f"the page keeps {len(self.numbers):,} of {len(self.kept):,} {self.kept.what}: "
            f"{rows:,} rows, about {size:,.1f} MB of states"
        )

    def texts(self, semantics: Sequence[str]) -> list[dict[str, Any]]:
        """What engine/recorded.js needs of each text."""
        side = self.subject.session.text
        asked = {base(semantic): self.subject.answers(semantic) for semantic in semantics}
        texts = []
        for number in self.numbers:
            checkpoint()
            ids = self.kept.ids(number)
            told = {name: side.told(ids, name, answers) for name, answers in asked.items()}
            texts.append({
                "number": number,
                "words": [side.name(row) for row in ids],
                "came": side.came(ids),
                "unknown": [side.is_unknown(row) for row in ids],
                "told": {name: some for name, some in told.items() if some is not None},
                "values": [list(side.values(row)) for row in ids],
                "pictures": [list(side.picture(row)) for row in ids],
            })  # fmt: skip
        return texts

    def states(self, tensors: Tensors) -> dict[str, Any]:
        """The states, in the place of a network."""
        every = self.kept.states(self.numbers)
        y = every.pop(PREDICTION, None)
        kinds = {kind: tensors.half("states", values) for kind, values in every.items()}
        own = None if y is None else tensors.half("states", self._logits(y))
        none: dict[str, Any] = {"embedding": None, "layers": [], "tops": [], "maps": []}
        return {**none, "whole": False, "causal": False, "recorded": {"kinds": kinds, "own": own}}

    def _logits(self, y: Tensor) -> Tensor:
        """The network's own logits, such as half precision holds them. Those of sets are each read
        by itself, so that only those of which one label holds may be shifted.
        """
        if self.subject.session.text.labels.several:
            return y.clamp(-_ODDS, _ODDS)
        if y.shape[-1] == 1:
            return y
        return (y - y.amax(-1, keepdim=True)).clamp_min(_LEAST)


def _numbers(subject: Subject, kept: _Texts, texts: Sequence[str]) -> list[int]:
    """Those of some texts, each of which may be two in braces."""
    known = subject.session.vocabulary.inputs
    every = [one for text in texts for one in two_texts(text, known) or (text,)]
    return [kept.number(plain(one, known)) for one in every if one.strip()]
