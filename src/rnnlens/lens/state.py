"""States of a text that was read: what each says, and where it comes from."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, overload

import numpy as np
from numpy.typing import NDArray

from rnnlens.ask.asked import MemoryAnswer, MemoryTold, told_of, told_of_rows
from rnnlens.ask.stand_ins import DRAWS
from rnnlens.ask.state_pairs import state_divergence
from rnnlens.ask.written import Written, written_by
from rnnlens.base.errors import RnnlensError
from rnnlens.labels.sets import number_of
from rnnlens.model.kinds import PREDICTION
from rnnlens.model.transition import Transition
from rnnlens.reading.edits import Address
from rnnlens.reading.reading import Reading
from rnnlens.reading.subject import names
from rnnlens.search.answers import Near, Nearness
from rnnlens.search.similar import similar

Label = tuple[str, float]  # and its probability


class DrawnReading(Protocol):
    """A reading, and what is drawn of it."""

    reading: Reading

    def part(self, kinds: str | Sequence[str] | None) -> Mapping[str, Any]:
        """What is drawn of some columns."""


class State:
    """One state: a kind at one timestep, and the distribution over labels its probe gives.

    >>> import rnnlens
    >>> state = rnnlens.load("english-news")("we stand in solidarity")["h2"][3]
    >>> state.word, state.wanted, state.group
    ('solidarity', None, 'OTHER')
    >>> state.rank("with"), round(state.probability("with"), 2), round(state.entropy(), 1)
    (1, 0.91, 0.8)
    """

    def __init__(self, grid: DrawnReading, column: str, step: int) -> None:
        self.grid, self.column, self.step = grid, column, step
        self.reading = grid.reading
        self._place = self.reading.place(column, step)
        found = [k for k, one in enumerate(self.reading.columns) if one == self._place]
        self._bare: Mapping[str, Any] = grid.part([column])["rows"][step][found[0]] if found else {}
        self._distribution: NDArray[np.float64] | None = None

    @property
    def _drawn(self) -> Mapping[str, Any]:
        self._check_probe()
        return self._bare

    def _check_probe(self) -> None:
        if not self._bare:
            raise RnnlensError(
                f"{self.column} has no probe, so that it says nothing of labels; its numbers are "
                "its vector(), and edits of it are read by other kinds"
            )

    @property
    def _labels(self) -> Sequence[str]:
        return self.reading.answers.names

    @property
    def word(self) -> str:
        """The word read at this step."""
        return self.reading.words[self.step]

    @property
    def group(self) -> str:
        """The dominant group among the top 10% of labels."""
        return str(self._drawn["group"])

    @property
    def share(self) -> float:
        """How much of their probability that group holds."""
        return float(self._drawn["share"])

    @property
    def colour(self) -> str:
        """The colour of the rectangle, as #rrggbb."""
        return str(self._drawn["colour"])

    @property
    def wanted(self) -> tuple[str, float, int] | None:
        """The label that really came, its probability and its rank; None where the text ends."""
        found = self._drawn["wanted"]
        return None if found is None else (found[0], found[1], found[2])

    @property
    def unread(self) -> bool:
        """Whether no word was read into it yet, so that what it says means nothing."""
        return bool(self._drawn["unread"])

    @property
    def silent(self) -> bool:
        """Whether no probe of its kind was better than the frequencies of the labels, so that it
        says the same of every state.
        """
        return self.kind in self.reading.subject.silent(self.reading.semantic)

    @property
    def outside(self) -> tuple[float, float, float] | None:
        """Where the state is unlike those that its probe was fitted on, so that what it says means
        little: its size, the root mean square of its standardised units, and the range of at
        least 99.9% of held-out states. None where it is like them, and where that is not known.
        """
        found = self._drawn["outside"]
        return None if found is None else (found[0], found[1], found[2])

    def distribution(self) -> NDArray[np.float64]:
        """The probability of every label, in the order of `grid.labels`."""
        self._check_probe()
        if self._distribution is None:
            self._distribution = self.reading.probabilities(self.column, self.step).numpy()
        return self._distribution

    @property
    def number(self) -> tuple[float, float, float] | None:
        """Where labels are numbers, the mean, of `y` the model's own number, and the interval that
        holds 80%; else None.
        """
        found = self._drawn["number"]
        return None if found is None else (found[0], found[1], found[2])

    @property
    def kind(self) -> str:
        """The id of its kind; that of `c1@-1` is `c1`."""
        return self._place.kind.id

    @property
    def address(self) -> Address | None:
        """Where an edit finds it again; None where edits have made it what it is."""
        back = self.step - self._place.back
        return None if self.reading.edits else Address(back, self.reading.text)

    def vector(self) -> NDArray[np.float32]:
        """The state itself: a number for each of its units."""
        if self._place.kind.id == PREDICTION:
            raise RnnlensError("y is a prediction and has no units; ask for its distribution()")
        units: NDArray[np.float32] = self.reading.vector(self.column, self.step).numpy()
        return units

    def half_life(self) -> NDArray[np.float32]:
        """Of a memory: after how many steps half of it would be left, were every step like this
        one, for each of its units or heads; infinite where nothing decays. What a delta rule
        erases is left out, and so is the scale by the largest exponent in `a` of RWKV-4 and xLSTM,
        whose decay is that of the gate.

        >>> import rnnlens
        >>> grid = rnnlens.load("english-news")("we stand in solidarity")
        >>> grid["c2"][3].half_life().shape
        (300,)
        """
        model, step = self.reading.subject.model, self.step - self._place.back
        decay = model.decay(self._place.kind, lambda kind: self.reading.vector(kind, step))
        if decay is None:
            known = [kind.id for kind in model.kinds if kind.memory]
            raise RnnlensError(
                f"{self.column} is no memory, so that nothing of it decays; memories are "
                f"{', '.join(known) or 'not to be had'}"
            )
        lives: NDArray[np.float32] = Transition(decay).half_life.numpy()
        return lives

    def memory(self) -> MemoryTold:
        """Of a memory, what needs no probe: its norm, the effective rank of a matrix, and how long
        it lasts.

        >>> import rnnlens
        >>> grid = rnnlens.load("english-news")("we stand in solidarity")
        >>> grid["c2"][3].memory().rank  # it is no matrix
        ()
        """
        return told_of(self.reading, self.column, self.step)

    def asked(self, word: str) -> MemoryAnswer:
        """Of a memory that is a matrix, what it would answer if `word` came next.

        The text up to this word is read with `word` behind it, and the layer's question is taken
        from there; the memory is as it is here, before `word` makes it decay and writes to it. What
        is read so is told by the probe of the layer's read.
        """
        found = told_of(self.reading, self.column, self.step, word).asked
        assert found is not None  # noqa: S101 - of a word there is an answer, or an error
        return found

    def written_by(
        self,
        *labels: str,
        against: str | Sequence[str] = (),
        instead: str | None = None,
        stand_in: str | None = None,
        draws: int = DRAWS,
        seed: int = 0,
    ) -> Written:
        """Which words have made it say `labels` rather than those `against` them.

        Without labels, the most probable is taken against the next; with labels alone, these are
        taken against the most probable other one. `stand_in` says what is read in a word's place
        where the text is read without it: other words of the same tag (`tag`), or such as the model
        expected there (`model`), `draws` of them for each word, the same for the same seed; the
        unknown word (`unknown`); or nothing (`left_out`). Without it the first of these that there
        is. `instead` is one word that stands in for all.

        >>> import rnnlens
        >>> grid = rnnlens.load("english-news")("the dogs near the house")
        >>> written = grid["c2"][4].written_by("were", against="was")
        >>> max(zip(written.without, written.words))[1]
        'dogs'
        """
        self._check_probe()
        return written_by(
            self.reading, self.column, self.step, labels, names(against), instead,
            self.distribution, stand_in=stand_in, draws=draws, seed=seed,
        )  # fmt: skip

    def top(self, k: int = 5) -> list[Label]:
        """The most probable labels and their probabilities."""
        p = self.distribution()
        order = np.argsort(-p, kind="stable")[: max(0, k)]
        return [(self._labels[i], float(p[i])) for i in order]

    def entropy(self) -> float:
        """The entropy of the distribution, in bits."""
        p = self.distribution()
        return float(-(p[p > 0] * np.log2(p[p > 0])).sum())

    def probability(self, label: str) -> float:
        """The probability of one label."""
        return float(self.distribution()[number_of(label, self._labels)])

    def rank(self, label: str) -> int:
        """The rank of one label; 1 is the most probable."""
        p = self.distribution()
        return int((p > p[number_of(label, self._labels)]).sum()) + 1

    def divergence(self, other: "State") -> float:
        """Jensen-Shannon, in bits: 0 is the same prediction, 1 shares nothing with it."""
        return state_divergence(
            (self.reading, self.column, self.step), (other.reading, other.column, other.step)
        )

    def similar(
        self, count: int = 10, by: Nearness = "cosine", index: str | Path | None = None
    ) -> list[Near]:
        """The nearest states of the same kind in the corpus that the run's index is of, which
        keeps states: `rnnlens index RUN --states int8`.

        `by` cosine: of the states, standardised; by divergence: of what they predict. `index` is
        the folder of the index, where it is not in the run's.
        """
        return list(similar(self.reading, self._place, self.step, count, by, index).near)

    def __repr__(self) -> str:
        if not self._bare:
            return f"<{self.column} after {self.word!r}: {len(self.vector())} numbers, no probe>"
        top = ", ".join(f"{label} {p:.0%}" for label, p in self.top(3))
        return f"<{self.column} after {self.word!r}: {top}>"


class States(Sequence[State]):
    """All states of one kind, by timestep: a sequence of `State`.

    Of a pair, a kind has those of its side: the first of `decoder.h1` is that of the target's first
    word.
    """

    def __init__(self, grid: DrawnReading, column: str) -> None:
        self.grid, self.column = grid, column
        reading = grid.reading
        place = next((one for one in reading.columns if one.id == column), None)
        rows = (row for row in range(len(reading.words)) if not place or reading.shows(place, row))
        self._states = [State(grid, column, row) for row in rows]

    @overload
    def __getitem__(self, at: int) -> State: ...
    @overload
    def __getitem__(self, at: slice) -> list[State]: ...
    def __getitem__(self, at: int | slice) -> State | list[State]:
        return self._states[at]

    def __len__(self) -> int:
        return len(self._states)

    def top(self, k: int = 5) -> list[list[Label]]:
        """The most probable labels at every timestep."""
        return [state.top(k) for state in self]

    def entropy(self) -> list[float]:
        """The entropy at every timestep, in bits."""
        return [state.entropy() for state in self]

    def rank(self, label: str) -> list[int]:
        """The rank of one label at every timestep."""
        return [state.rank(label) for state in self]

    def memory(self) -> list[MemoryTold]:
        """What the memory is at every timestep: norm, effective rank and half-life.

        >>> import rnnlens
        >>> grid = rnnlens.load("recall")("b 3 d 7 b 5 ? b")
        >>> [round(one.rank[0], 1) for one in grid["S1"].memory()][:2]
        [1.0, 1.1]
        """
        return self._told()

    def asked(self, word: str) -> list[MemoryAnswer]:
        """What the memory would answer at every timestep if a word came next."""
        found = (one.asked for one in self._told(word))
        return [one for one in found if one is not None]

    def _told(self, word: str | None = None) -> list[MemoryTold]:
        rows = range(self[0].step, self[-1].step + 1) if self else range(0)
        return told_of_rows(self.grid.reading, self.column, rows, word)

    def divergence(self, other: "States") -> list[float]:
        """Step by step, in bits; as far as both go."""
        return [a.divergence(b) for a, b in zip(self, other, strict=False)]

    def __repr__(self) -> str:
        return f"<{self.column}: {len(self)} states>"
