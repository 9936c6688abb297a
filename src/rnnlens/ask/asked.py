"""What there is to say of a memory without a probe of it, and what it would answer if a word came
next: **asked by w**.

A layer whose memory is a matrix asks it, at every word, by that word's question, and what is read
goes on. So one may ask the memory as it is after some word by another word's question: the text up
to there is read with that word behind it, the layer's question is taken from there, and the memory
from before it, undecayed and without what the word itself writes. The answer is a vector like those
that the layer reads, and the read's own probe says what it tells of labels. It is what would be
read, no cause of anything.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic.dataclasses import dataclass as question
from torch import Tensor

from rnnlens.ask.json_types import Count, Probability, Size
from rnnlens.ask.questions import STRICT, Name, OfState, Subjects, given
from rnnlens.base.errors import RnnlensError
from rnnlens.base.rules import count, message
from rnnlens.base.schema import rounded, sent, unsent
from rnnlens.labels.sets import BLANK, nearest, number_of
from rnnlens.model.block import Block
from rnnlens.model.cell import States, Weights
from rnnlens.model.kinds import Kind
from rnnlens.model.linear import LinearCell
from rnnlens.model.traceable import RecurrentLayer
from rnnlens.model.transition import Matrix, Transition
from rnnlens.reading.changes import TextEdits
from rnnlens.reading.reading import BLOCK, Reading

CONTEXTS = count("asked_contexts")  # other places from which the same word is asked, at most
_TOP = count("asked_labels")  # labels that are told
_LEAST = 1e-30
_FEW = 10  # heads or units of which the shortest and the longest half-life are told
_number = rounded(4)
Floats = NDArray[np.float64]


@question(frozen=True, kw_only=True, config=STRICT)
class MemoryQuestion(OfState):
    """A memory: how large it is, how long it lasts, and what it answers to a word."""

    word: Name | None = given(None, "that comes next, by whose question it is asked")


@dataclass(frozen=True, eq=False)
class MemoryAnswer:
    """What a memory would answer if a word came next.

    `labels` are the most probable by the probe of `read`, the kind that the layer reads by. The
    question depends on what came before the word: `agree` of `contexts` other places of the text
    would, with the word read there, ask such that the same label comes first.
    """

    word: str
    read: str = sent("the kind whose probe says what the answer tells")
    labels: tuple[tuple[str, float], ...] = sent(
        "the most probable",
        type=list[tuple[str, Probability]],
        write=lambda some: [[name, _number(p)] for name, p in some],
    )
    seen: int | None = sent(
        "how often the word came in training; null: not counted", type=Count | None
    )
    agree: int = sent("of the other places, how many ask for the same first label", type=Count)
    contexts: int = sent("other places of the text that were tried", type=Count)
    vector: Floats = unsent()
    distribution: Floats = unsent()

    def top(self, k: int = _TOP) -> list[tuple[str, float]]:
        """The most probable labels and their probabilities, five at most."""
        return list(self.labels[: max(0, k)])

    def __repr__(self) -> str:
        told = ", ".join(f"{name} {p:.0%}" for name, p in self.top(3))
        sure = f"; first from {self.agree} of {self.contexts} other places" if self.contexts else ""
        return f"asked by {self.word!r}: {told}{sure}"


@dataclass(frozen=True, eq=False)
class MemoryTold:
    """What a memory is without a probe: numbers of each head, of a vector of the whole.

    `norm` is its length; `rank`, of a matrix, how many directions it has in effect: the exponential
    of the entropy of its singular values as shares, 1 where it holds one pair; `half_life` in how
    many words half of it would be gone, were every word like this one, infinite where nothing
    decays. Each of `lasting` heads or units has one: of ten at most these are the shortest, the
    median and the longest; of more a tenth have less than the first and a tenth more than the last.
    """

    norm: tuple[float, ...] = sent("of each head", type=list[Size], write=_number)
    rank: tuple[float, ...] = sent(
        "of each head; none: it is no matrix", type=list[Size], write=_number
    )
    half_life: tuple[float, float, float] | None = sent(
        "of ten heads or units at most the shortest, the median and the longest, of more their "
        "first tenth, median and last tenth; null within: infinite",
        type=list[Size | None] | None, write=_number,
    )  # fmt: skip
    lasting: int = sent("heads or units that each have a half-life", type=Count)
    asked: MemoryAnswer | None = sent("what it answers to the word; null: none was given")

    def __repr__(self) -> str:
        parts = [f"norm {np.linalg.norm(self.norm):.3g}"]
        if self.rank:
            parts.append(f"effective rank {np.mean(self.rank):.2f}")
        if self.half_life:
            parts.append(f"half-life {self._lasts(*self.half_life)}")
        return ", ".join([*parts, *([repr(self.asked)] if self.asked else [])])

    def _lasts(self, low: float, middle: float, high: float) -> str:
        """The half-life in words: one number where all have the same."""
        if low == high:
            return f"{middle:.3g} words"
        each = f"{self.lasting} {'heads' if self.lasting == len(self.norm) else 'units'}"
        of = each if self.lasting <= _FEW else f"the middle four fifths of {each}"
        return f"{low:.3g} to {high:.3g} words of {of}, median {middle:.3g}"


def memory_told(subjects: Subjects, asked: MemoryQuestion) -> MemoryTold:
    """What a memory is, and what it answers to a word."""
    return told_of(subjects.read_one(asked), asked.column, asked.row, asked.word)


def told_of(reading: Reading, column: str, row: int, word: str | None = None) -> MemoryTold:
    """What the memory of a column is after a word, and what it answers to another."""
    return told_of_rows(reading, column, range(row, row + 1), word)[0]


def told_of_rows(
    reading: Reading, column: str, rows: range, word: str | None = None
) -> list[MemoryTold]:
    """What the memory of a column is in rows that follow each other, and what it answers to a word
    in each: many rows are read at once.
    """
    parts = (rows[first : first + BLOCK] for first in range(0, len(rows), BLOCK))
    return [one for part in parts for one in _told_at_once(reading, column, part, word)]


@torch.inference_mode()
def _told_at_once(reading: Reading, column: str, rows: range, word: str | None) -> list[MemoryTold]:
    place = reading.place(column, rows[-1])
    model, kind = reading.subject.model, place.kind
    if kind.memory is None:
        known = ", ".join(one.id for one in model.kinds if one.memory) or message("no_memories")
        raise RnnlensError(message("no_memory_column", column=column, known=known))
    first = max(0, rows[0] - place.back)
    states, before = reading.subject.session.read(reading.ids, first, rows[-1] + 1, reading.edits)
    values = states[kind.id].double()
    if rows[0] < place.back:  # before the first word
        values = torch.cat([before[kind.id][None].double(), values])
    values = values[: len(rows)]
    at = [max(0, row - place.back) - first for row in rows]
    decay = model.decay(kind, lambda one: states[one][at])
    lives = None if decay is None else Transition(decay.double()).half_life.flatten(1)
    matrix = model.matrices.get(kind.id)
    norms = (values[:, None] if matrix is None else matrix.shaped(values).flatten(2)).norm(dim=2)
    ranks = None if matrix is None else effective_ranks(matrix, values).tolist()
    back = range(rows.start - place.back, rows.stop - place.back)
    answers = None if word is None else answers_to(reading, kind, back, word)
    return [
        MemoryTold(
            tuple(norms[k].tolist()),
            () if ranks is None else tuple(ranks[k]),
            None if lives is None else _shares(lives[k]),
            0 if lives is None else lives.shape[1],
            None if answers is None else answers[k],
        )
        for k in range(len(rows))
    ]


def effective_ranks(matrix: Matrix, states: Tensor) -> Tensor:
    """Of each head of memories (..., numbers), the exponential of the entropy of its singular
    values, (..., heads).
    """
    values = torch.linalg.svdvals(matrix.shaped(states.double()))
    total = values.sum(-1, keepdim=True)
    shares = values / total.clamp_min(_LEAST)
    entropy = -(shares * shares.clamp_min(_LEAST).log()).sum(-1)
    return torch.where(total[..., 0] > 0, entropy.exp(), torch.zeros_like(entropy))


def _shares(lives: Tensor) -> tuple[float, float, float]:
    """Of ten at most the shortest, the median and the longest; of more the outer tenths."""
    ordered = lives.sort().values.tolist()
    last = len(ordered) - 1
    middle = (ordered[last // 2] + ordered[-(-last // 2)]) / 2
    return ordered[last // _FEW], middle, ordered[last - last // _FEW]


def answers_to(reading: Reading, kind: Kind, rows: range, word: str) -> list[MemoryAnswer]:
    """What a memory would answer after each of some rows if a word came next."""
    subject = reading.subject
    layer, probes = _asked_layer(reading, kind), subject.shown_probes
    cell, weights = _memory_of(layer)
    number, seen = _known(reading, word)
    read = layer.ids[cell.output.id]
    if probes is None or read not in probes.kinds:
        raise RnnlensError(message("asked_unprobed", read=read, kind=kind.id))
    if rows[0] < 0:
        raise RnnlensError(message("asked_before", kind=kind.id))
    asked = [[row, *_others(row)] for row in rows]  # by the question of a word behind these
    places = sorted({*chain.from_iterable(asked)})
    memories = [k for k, some in enumerate(asked) for _ in some]
    questions = [places.index(one) for some in asked for one in some]
    states, _ = subject.session.read(reading.ids, rows[0], rows[-1] + 1, reading.edits)
    at = {one: states[layer.ids[one]][memories].cpu() for one in cell.carried}
    behind = _behind(reading, places, number, [layer.ids[one] for one in cell.given])
    now = {one: behind[layer.ids[one]][questions].cpu() for one in cell.given}
    now |= {one: values for one, values in at.items() if one not in cell.memories}
    answers = cell.flat(cell.output.id, cell.read(cell.wide(at), cell.wide(now), weights))
    logits = probes.logits(read, answers.float(), reading.semantic).double()
    shares = reading.answers.probabilities(logits)
    labels, first = reading.answers.names, shares.argmax(1).tolist()
    found = []
    for row in range(len(rows)):
        own, *others = (k for k, one in enumerate(memories) if one == row)
        order = shares[own].argsort(descending=True, stable=True)[:_TOP].tolist()
        found.append(MemoryAnswer(
            word, read, tuple((labels[one], float(shares[own, one])) for one in order), seen,
            sum(first[k] == first[own] for k in others), len(others),
            answers[own].double().numpy(), shares[own].numpy(),
        ))  # fmt: skip
    return found


def _asked_layer(reading: Reading, kind: Kind) -> RecurrentLayer:
    """The layer of a memory that is a matrix."""
    model = reading.subject.model
    for layer in model.recurrence:
        letter = next((one for one in layer.cell.memories if layer.ids[one] == kind.id), None)
        if letter and layer.cell.matrix(letter):
            return layer
    known = ", ".join(model.matrices)
    remedy = message("asked_matrices", known=known) if known else message("no_matrices")
    raise RnnlensError(message("asked_vector", kind=kind.id, remedy=remedy))


def _memory_of(layer: RecurrentLayer) -> tuple[LinearCell, Weights]:
    """The recurrence of a layer's memory, and what it computes with beside kinds."""
    cell, weights = layer.cell, {name: w.detach().cpu() for name, w in layer.weights.items()}
    if isinstance(cell, Block):
        return cell.inner, cell.constants(weights)
    assert isinstance(cell, LinearCell)  # noqa: S101 - as all others with such a memory are
    return cell, weights


def _known(reading: Reading, word: str) -> tuple[int, int | None]:
    """The number of a word, and how often it came in training; an error where it never did."""
    side = reading.subject.session.text
    if side.mark is not None or side.features or reading.source:
        raise RnnlensError(message("asked_mark"))
    inputs = side.vocabulary.inputs
    if word not in inputs and BLANK + word not in inputs:
        near = " or ".join(map(repr, nearest(word, inputs)))
        like = message("asked_like", near=near) if near else message("asked_unlike")
        raise RnnlensError(message("asked_word", word=repr(word), like=like))
    number = number_of(word, inputs)
    counted = side.follows and inputs == side.vocabulary.labels
    seen = int(side.vocabulary.counts[number]) if counted else None
    if seen == 0:
        raise RnnlensError(message("asked_unseen", word=repr(word)))
    return number, seen


def _others(row: int) -> list[int]:
    """Other rows of the text after which the word is asked, too, spread over it."""
    some = min(CONTEXTS, row)
    return [k * row // some for k in range(some)]


def _behind(
    reading: Reading, places: Sequence[int], number: int, kinds: Sequence[str]
) -> dict[str, Tensor]:
    """States (N, H) of kinds at a word that stands behind each of some rows of a text."""
    session, model = reading.subject.session, reading.subject.model
    if model.causal and session.text.side_by_side:  # it goes on from all rows in one step
        first, last = places[0], places[-1] + 1
        states, _ = session.read(reading.ids, first, last, reading.edits)
        rows = [one - first for one in places]
        start = {kind: states[kind][rows] for kind in model.carried}
        trace = model.trace(torch.full((1, len(rows)), number), start)
        return {kind: trace.states[kind][0] for kind in kinds}
    found = [_behind_one(reading, place, number) for place in places]
    return {kind: torch.stack([states[kind][0] for states in found]) for kind in kinds}


def _behind_one(reading: Reading, upto: int, number: int) -> States:
    """States at a word that stands behind the row `upto`."""
    session, probes = reading.subject.session, reading.subject.probes
    ids = [*reading.ids[: upto + 1], number]
    edits = tuple(one for one in reading.made_edits if one.step <= upto)
    changes = TextEdits.of(edits, session, probes, ids, reading.semantic) if edits else None
    return session.read(ids, len(ids) - 1, len(ids), changes)[0]
