"""When a network makes up its mind about a text: how probable its answer is after every word, and
the word from which on it is the most probable label.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rnnlens.ask.results import ByKind
from rnnlens.base.errors import RnnlensError
from rnnlens.draw.printable import clip, percent, printable, width_of
from rnnlens.labels.sets import number_of
from rnnlens.model.kinds import PREDICTION
from rnnlens.reading.reading import Reading
from rnnlens.reading.rows import each_state, table_of


@dataclass(frozen=True, eq=False, kw_only=True)
class Decision(ByKind):
    """A label of a whole text, and how sure of it every kind is after each word.

    `decision["h2"][3]` is the label's probability by the kind `h2` after the fourth word, and
    `decision.turned["h2"]` the word, by its number, from which on it is the most probable label up
    to the end; None where it is not at the end.
    """

    label: str
    turned: dict[str, int | None]

    def _row(self, step: int, kind: str, value: float) -> Mapping[str, Any]:
        return {"probability": value, "turned": self.turned[kind] == step}

    def __repr__(self) -> str:
        """A line for each kind: from which word on it says the label, and how surely at the end."""
        wide = max(map(width_of, self.kinds), default=0)
        lines = [f"{printable(self.label)}, and the word from which on each kind says so"]
        for k, kind in enumerate(self.kinds):
            step = self.turned[kind]
            word = "-" if step is None else f"{step + 1} {clip(self.words[step], 18)}"
            end = percent(float(self.values[-1, k])) if len(self.values) else ""
            lines.append(f"  {kind:<{wide}}  {end:>6}  {word}")
        return "\n".join(lines)


def decision(reading: Reading, label: str | None = None) -> Decision:
    """The decision for a label; by default, for the network's own answer."""
    if not reading.ids:
        raise RnnlensError("there is no word to decide by; give a text")
    answers = reading.answers
    if answers.several or answers.scale:
        raise RnnlensError("a decision is for one label of many; ask for what states say: follow()")
    number = answer_to(reading) if label is None else number_of(label, answers.names)

    def work(_: int, logits: Tensor) -> tuple[Tensor, Tensor]:
        exact = logits.double().log_softmax(1)
        return exact[:, number].exp(), exact.argmax(1) == number

    rows: list[list[tuple[float, bool | None]]] = []
    for first, last in reading.blocks():
        parts = each_state(reading, first, last, work)
        p, leads = (torch.cat(some).tolist() for some in zip(*parts, strict=True))
        pairs: list[tuple[float, bool | None]] = list(zip(p, leads, strict=True))
        rows += table_of(reading, reading.columns, first, last, pairs, (math.nan, None))
    turned = {c.id: since([row[k][1] for row in rows]) for k, c in enumerate(reading.columns)}
    return Decision(
        words=reading.words, kinds=tuple(turned), label=answers.names[number], turned=turned,
        values=np.array([[p for p, _ in row] for row in rows]),
    )  # fmt: skip


def answer_to(reading: Reading) -> int:
    """The number of the label that is the network's answer for a whole text."""
    session = reading.subject.session
    if session.answer is None:
        raise RnnlensError(
            "the labels of this model are of single words, so that there is no answer for a text; "
            "name the label that is to be looked at"
        )
    y = session.read(reading.ids, 0, len(reading.ids), reading.edits)[0][PREDICTION]
    with torch.inference_mode():
        p = session.model.predict(y).softmax(-1)  # (T, V)
    return int((p[-1] if session.answer == "last" else p.mean(0)).argmax())


def since(leads: Sequence[bool | None]) -> int | None:
    """The first step from which on something holds up to the end; None where it does not there.
    Steps without a state, at which nothing is known of it, do not count.
    """
    known = [(step, holds) for step, holds in enumerate(leads) if holds is not None]
    if not known or not known[-1][1]:
        return None
    return max((step + 1 for step, holds in known if not holds), default=known[0][0])


def answer_line(grid: Mapping[str, Any]) -> str:
    """The answer for a text and since when it is, in a line; empty where a text has none."""
    rows = grid["rows"]
    if not grid.get("answer") or not rows or len(rows) < len(grid["words"]):
        return ""
    tops = [row[-1]["top"] for row in rows]  # of the prediction
    sums: dict[str, float] = {}
    for top in tops if grid["answer"] == "mean" else tops[-1:]:
        for name, p in top:
            sums[name] = sums.get(name, 0.0) + p
    label = max(sums, key=lambda name: sums[name])
    step = since([top[0][0] == label for top in tops])
    line = f"the answer is {printable(label)}"
    if step is None:
        return line
    word = clip(grid["words"][step]["text"], 18)
    return f"{line}, the most probable from {word} on" if step else f"{line} from the first word on"
