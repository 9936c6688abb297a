"""Who wrote this: which words have made a state say one label rather than another.

Three readings of each word, named for what they are. `stored` is the exact split of a memory over
the words that wrote it. `path` goes on down to the words, with gates held and every tanh as a line.
`without` is the truth: the text is read again without the word. What `without` has beyond `path`
runs through the gates.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rnnlens.ask.contrast import Contrast
from rnnlens.ask.memory import Direction, UnknownWayError, added, path, stored
from rnnlens.ask.result import Written
from rnnlens.base.errors import RnnlensError
from rnnlens.base.threads import one_thread
from rnnlens.model.kinds import INPUT, JOINED, PREDICTION
from rnnlens.model.traceable import Trace
from rnnlens.reading.rows import Request
from rnnlens.reading.source import GridSource

_COLUMNS = 20_000  # words of all texts that are read side by side


def written_by(
    lens: GridSource,
    asked: Request,
    column: str,
    row: int,
    contrast: Contrast,
    instead: str | None = None,
) -> Written:
    """The readings of every word for one state of a text."""
    if asked.edits:
        raise RnnlensError(
            "which words wrote a state is told of texts without edits, and this grid has some "
            f"({', '.join(map(str, asked.edits.edits))[:80]}); ask the grid of the same text "
            "without them"
        )
    found = lens.column(asked, column, row)
    kind, step = found.kind.id, row - found.back
    if step < 0:
        raise RnnlensError(f"nothing is read into {column} of the first row yet; ask a later one")
    lens.model.check()
    question = _Question(lens, asked, kind, step, contrast)
    with one_thread():  # small products: threads would wait for each other
        return question.answer(replace_with(lens, instead))


def written_json(
    lens: GridSource,
    text: str,
    semantic: str | None,
    column: str,
    row: int,
    labels: Sequence[str] = (),
    against: Sequence[str] = (),
) -> dict[str, Any]:
    """What the server answers."""
    asked = lens.request(text, semantic, None)
    logits = lens.logits(asked, column, row).double()
    distribution = asked.answers.probabilities(logits).numpy()
    contrast = Contrast.of(labels, against, distribution, asked.answers.names)
    return written_by(lens, asked, column, row, contrast).to_json()


def replace_with(lens: GridSource, instead: str | None) -> int | None:
    """The number of the word that is put in a word's place; None: words are left out."""
    if instead is None:
        return lens.session.vocabulary.unknown
    if instead not in lens.session.vocabulary.index:
        raise RnnlensError(f"the model does not read {instead!r}; give a word that it knows")
    return lens.session.vocabulary.index[instead]


class _Question:
    """One state of a text, and the labels that it is asked about."""

    def __init__(
        self, lens: GridSource, asked: Request, kind: str, step: int, contrast: Contrast
    ) -> None:
        self.lens, self.kind, self.step, self.contrast = lens, kind, step, contrast
        self.model, self.side, self.semantic = lens.model, lens.session.text, asked.semantic
        # Words after the state have no part in it, where none is read before its time.
        self.ids = asked.ids[: step + 1] if self.model.causal else list(asked.ids)
        self.words = asked.words[: len(self.ids)]

    @torch.no_grad()
    def answer(self, instead: int | None) -> Written:
        """Every reading that there is, and why another is missing."""
        trace = self.model.trace(self.side.batch(self.ids))
        real = float(self.value(trace, self.step)[0])
        without, inputs = self._without(real, instead)
        name = "" if instead is None else self.side.name(instead)
        written = Written(
            self.kind, self.step, self.words, self.contrast.labels, self.contrast.against, real,
            without, name,
        )  # fmt: skip
        if self.side.mark is not None:
            told = "the model reads a mark first, so that its states are not beside the words that "
            return replace(written, note=f"{told}they have read; `without` is the truth")
        try:
            directions = self._directions(trace)
        except UnknownWayError as unknown:
            return replace(written, note=str(unknown))
        try:
            layers, states = self.model.recurrence, trace.states
            parts, rest = added(path(layers, states, one, inputs) for one in directions)
            written = replace(written, path=parts, path_rest=rest)
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
            readout = self.lens.classifier
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
        if self.kind != PREDICTION and self.lens.probes is not None:
            return self.lens.probes.rows(self.kind, labels, self.semantic)
        readout = self.lens.classifier
        if readout is None:
            raise UnknownWayError(
                "the model's prediction was found to be no linear map of one of its states, so "
                "that it cannot be split; `without` is the truth"
            )
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
