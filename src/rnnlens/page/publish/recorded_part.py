"""What a published file keeps of recorded states: some texts, with all that is known of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rnnlens.base.errors import RnnlensError
from rnnlens.base.pace import checkpoint
from rnnlens.base.rules import count
from rnnlens.page.publish.quantised import Tensors
from rnnlens.probe.semantics import base
from rnnlens.reading.subject import Subject
from rnnlens.reading.two_texts import plain, two_texts
from rnnlens.states.arrays import Floats
from rnnlens.states.recorded import RecordedStates

USUAL_BYTES = 12_000_000  # of states, where nobody says how many texts
MOST_BYTES = 200_000_000  # more than a browser is willing to hold beside its page
_BYTES = 2  # of a number
_LEAST = -100.0  # a logit below the largest, of which nothing is seen
_ODDS = float(count("odds"))  # beyond which no logarithm of odds is told


@dataclass(frozen=True)
class RecordedPart:
    """The texts that are kept, by their numbers."""

    subject: Subject
    model: RecordedStates
    numbers: tuple[int, ...]

    @classmethod
    def of(
        cls, subject: Subject, texts: int | None = None, shown: Sequence[str] = ()
    ) -> "RecordedPart | None":
        """Those of a subject: the texts that its page has `shown` itself, all of them, its
        examples, and the first that were recorded, as many as are asked for; None where there is a
        network.
        """
        model = subject.model
        if not isinstance(model, RecordedStates):
            if texts is not None:
                raise RnnlensError(
                    f"{subject.name} has a network, so that its page reads whatever is typed; "
                    "leave texts= (--texts) out"
                )
            return None
        kept = model.kept
        if texts is not None and not 1 <= texts <= len(kept):
            raise RnnlensError(f"{texts} texts cannot be kept; give 1 to {len(kept):,}")
        needed = dict.fromkeys(_numbers(subject, model, shown))
        if texts is not None and len(needed) > texts:
            raise RnnlensError(
                f"{texts} texts are to be kept, and what is read first and what the story shows "
                f"are {len(needed)}; give {len(needed)} at least: texts= (--texts)"
            )
        others = _numbers(subject, model, subject.examples())
        numbers, size = list[int](), 0
        for number in dict.fromkeys([*needed, *others, *range(texts or len(kept))]):
            more = len(kept.span(number)) * cls._row_bytes(model)
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
        return cls(subject, model, tuple(sorted(numbers)))

    @staticmethod
    def _row_bytes(model: RecordedStates) -> int:
        y = model.kept.y
        widths = [column.width for column in model.kept.kinds.values()]
        return _BYTES * sum([*widths, 0 if y is None else y.width])

    def __str__(self) -> str:
        rows = sum(len(self.model.kept.span(number)) for number in self.numbers)
        size = rows * self._row_bytes(self.model) / 1e6
        return (
            f"the page keeps {len(self.numbers):,} of {len(self.model.kept):,} recorded texts: "
            f"{rows:,} rows, about {size:,.1f} MB of states"
        )

    def texts(self, semantics: Sequence[str]) -> list[dict[str, Any]]:
        """What engine/recorded.js needs of each text."""
        side, kept = self.subject.session.text, self.model.kept
        asked = {base(semantic): self.subject.answers(semantic) for semantic in semantics}
        texts = []
        for number in self.numbers:
            checkpoint()
            ids = [*kept.span(number)]
            told = {name: side.told(ids, name, answers) for name, answers in asked.items()}
            texts.append({
                "number": number,
                "words": list(kept.words_of(number)),
                "came": side.came(ids),
                "unknown": [side.is_unknown(row) for row in ids],
                "told": {name: some for name, some in told.items() if some is not None},
            })  # fmt: skip
        return texts

    def states(self, tensors: Tensors) -> dict[str, Any]:
        """The states, in the place of a network."""
        kept = self.model.kept
        kinds = {
            kind: tensors.half("states", self._rows(column.rows))
            for kind, column in kept.kinds.items()
        }
        y = None
        if kept.y is not None:
            y = tensors.half("states", self._logits(self._rows(kept.y.rows)))
        none: dict[str, Any] = {"embedding": None, "layers": [], "tops": [], "maps": []}
        return {**none, "whole": False, "causal": False, "recorded": {"kinds": kinds, "own": y}}

    def _logits(self, y: Tensor) -> Tensor:
        """The network's own logits, such as half precision holds them. Those of sets are each read
        by itself, so that only those of which one label holds may be shifted.
        """
        if self.model.record.several:
            return y.clamp(-_ODDS, _ODDS)
        if y.shape[-1] == 1:
            return y
        return (y - y.amax(-1, keepdim=True)).clamp_min(_LEAST)

    def _rows(self, rows: Callable[[int, int], Floats]) -> Tensor:
        """Some rows of a kind, those of all texts one after the other."""
        spans = (self.model.kept.span(number) for number in self.numbers)
        return torch.from_numpy(np.concatenate([rows(s.start, s.stop) for s in spans]))


def _numbers(subject: Subject, model: RecordedStates, texts: Sequence[str]) -> list[int]:
    """Those of some texts, each of which may be two in braces."""
    known = subject.session.vocabulary.inputs
    every = [one for text in texts for one in two_texts(text, known) or (text,)]
    return [model.kept.number(plain(one, known)) for one in every if one.strip()]
