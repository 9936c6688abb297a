"""What a lens says of one text: a grid of states, by kind and timestep.

>>> import rnnlens
>>> lens = rnnlens.load("english-news")
>>> grid = lens("we stand in solidarity")
>>> grid["h2"][3].top(1)[0][0]
'with'
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rnnlens.ask.ablation import RESAMPLED, ZERO, Ablated, ablated
from rnnlens.ask.continuation import Continued, continuation
from rnnlens.ask.decision import Decision, decision
from rnnlens.ask.follow import Followed, follow_all
from rnnlens.ask.grids import drawn_columns, grid_of
from rnnlens.ask.memories import with_cells
from rnnlens.ask.results import ByKind, Values
from rnnlens.ask.stand_ins import DRAWS
from rnnlens.ask.turns import Turns, all_turns
from rnnlens.base.errors import RnnlensError
from rnnlens.base.tables import data_frame
from rnnlens.draw import figure
from rnnlens.draw.columns import MANY
from rnnlens.draw.look import Look, changed_look
from rnnlens.lens.state import States
from rnnlens.model.kinds import PREDICTION
from rnnlens.page import saved_page
from rnnlens.reading.edits import Edit
from rnnlens.reading.lines import Lines
from rnnlens.reading.reading import BLOCK, Reading
from rnnlens.reading.subject import names
from rnnlens.reading.two_texts import Beside, escaped, in_one

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


class Drawn:
    """One or two readings that are drawn: `json` is all of it."""

    _lines: Lines

    @cached_property
    def json(self) -> dict[str, Any]:
        """Everything that is drawn."""
        return grid_of(self._lines)

    def part(self, kinds: str | Sequence[str] | None = None) -> dict[str, Any]:
        """As `json`, but of a network of many layers the states of some columns alone are computed,
        and others are None: those of `kinds`, as `save` takes them.
        """
        if "json" in vars(self) or len(self._lines.common.columns) <= MANY:
            return self.json
        columns = tuple(drawn_columns(self._lines, kinds))
        if columns not in self._parts:
            self._parts[columns] = grid_of(self._lines.showing(columns))
        return self._parts[columns]

    @cached_property
    def _parts(self) -> dict[tuple[str, ...], dict[str, Any]]:
        return {}

    def figure(
        self, look: Look | None = None, followed: Followed | None = None, **changes: Any
    ) -> "Figure":
        """A matplotlib figure of it. `changes` are fields of `Look`; `followed` is what `follow`
        gave, to be drawn instead of the bars.

        >>> grid.figure(kinds="outputs", bars=2)  # doctest: +SKIP
        """
        some, new = followed.to_json() if followed else None, changed_look(look, changes)
        return figure.build(with_cells(self.part(new.kinds), self._lines, new), new, some)

    def save(
        self,
        path: str | Path,
        look: Look | None = None,
        followed: Followed | None = None,
        **changes: Any,
    ) -> Path:
        """Write it and return the path. The ending says what: .svg .png .pdf .html .json.

        `changes` are fields of `Look`: `grid.save("figure.pdf", kinds="outputs", bars=5)`;
        `followed` is what `follow` gave, to be drawn instead of the bars.
        """
        some = followed.to_json() if followed else None
        new, ending = changed_look(look, changes), Path(path).suffix.lower()
        is_figure = ending in figure.ENDINGS
        drawn = with_cells(self.part(new.kinds), self._lines, new) if is_figure else self.json
        saved_page.save(drawn, Path(path), new, some)
        return Path(path)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:  # noqa: ARG002
        """What a notebook shows: the live grid, and a table that stays."""
        from rnnlens.page.notebook import shown_grid

        return shown_grid(self, self._lines, self.part())


class Grid(Drawn):
    """Every state of a text: `grid["h2"][3]` is the last output after the fourth word.

    `words` are those of the text, `kinds` the ids of the columns (with `c1@-1`, the cell one step
    back, and `y`, the model's own prediction), `labels` the names of all labels, `json` everything
    that is drawn, and `edits` what was changed while it was read. The length of a grid is its
    number of words; iterating gives its kinds.

    >>> import rnnlens
    >>> grid = rnnlens.load("english-news")("we stand in solidarity")
    >>> len(grid), grid.words[1]
    (4, 'stand')
    >>> [states[0][0] for states in grid["h2"].top(1)]
    ['have', 'up', 'the', 'with']
    """

    def __init__(self, reading: Reading) -> None:
        self._lines, self.reading = Lines.of_reading(reading), reading
        self.text, self.semantic, self.words = reading.text, reading.semantic, list(reading.words)
        self.kinds = [column.id for column in reading.columns]  # with c1@-1 and y
        self.labels = reading.answers.names
        self.edits: tuple[Edit, ...] = reading.made_edits
        self.part()  # what cannot be drawn is refused here

    def __getitem__(self, kind: str) -> States:
        bare = [one.id for one in self.reading.subject.model.kinds if one.id not in self.kinds]
        if kind not in (*self.kinds, *bare):
            raise RnnlensError(f"there is no kind {kind!r}; there is {', '.join(self.kinds)}")
        return States(self, kind)

    def __iter__(self) -> Iterator[str]:
        return iter(self.kinds)

    def __len__(self) -> int:
        return len(self.words)

    @property
    def source(self) -> list[str]:
        """Of a pair, the words of its source, which are the first rows; else none."""
        return self.words[: self.reading.source]

    @property
    def target(self) -> list[str]:
        """Of a pair, the words of its target, as the decoder reads them; else all words."""
        return self.words[self.reading.source :]

    @property
    def generated(self) -> bool:
        """Whether the network has written the target itself."""
        return self.reading.subject.session.text.generated(self.text)

    @cached_property
    def attention(self) -> NDArray[np.float64] | None:
        """Of a pair, how much each word of the target attends to each of the source, (T, S): rows
        sum to 1. Of several heads it is the mean. What it was used for is not said by it. None
        where there is no attention.
        """
        heads = self.attention_heads
        return None if heads is None else heads.mean(0)

    @cached_property
    def attention_heads(self) -> NDArray[np.float64] | None:
        """The same of each head, (heads, T, S)."""
        reading = self.reading
        weights = reading.subject.session.attention(reading.ids, reading.edits)
        return None if weights is None else weights.double().numpy()

    def follow(self, *labels: str, against: Sequence[str] = ()) -> Followed:
        """How probable labels are together in every state; exactly, over all labels.

        With others `against` them, the natural logarithm of the odds of the two sets.

        >>> import rnnlens
        >>> grid = rnnlens.load("english-news")("the dogs")
        >>> odds = grid.follow("are", "were", against=("is", "was"))
        >>> [bool(value > 0) for value in odds["h2"]]
        [False, True]
        """
        return follow_all(self._lines, labels, names(against))

    def decision(self, label: str | None = None) -> Decision:
        """When every kind makes up its mind: how probable a label of the whole text is after each
        word, and the word from which on it is the most probable; by default the model's answer.

        >>> import rnnlens
        >>> decision = rnnlens.load("english-news")("we stand in").decision("the")
        >>> decision.turned["y"]
        2
        """
        return decision(self.reading, label)

    def turns(self) -> Turns:
        """How far every state lies from those that feed it and from the row above.

        >>> import rnnlens
        >>> turns = rnnlens.load("english-news")("the dogs near the house").turns()
        >>> source, target, bits = turns.mean()[-1]
        >>> source, target
        ('c2', 'h2')
        """
        return all_turns(self._lines)

    def __sub__(self, other: "Grid") -> "Comparison":
        """What is different from another grid: of the same text with edits or without, of another
        text, or of another lens. How far does each state's prediction lie from the other's?

        >>> import rnnlens
        >>> lens = rnnlens.load("english-news")
        >>> edited = lens("the dogs near the house", edits=["c2@2=0"])
        >>> change = edited - lens("the dogs near the house")
        >>> [bool(bits) for bits in change["y"]]
        [False, True, True, True, True]
        """
        if not isinstance(other, Grid):
            return NotImplemented
        return Comparison.of(other.reading, self.reading)

    def continuation(self, words: int = 10, samples: int = 0, seed: int = 0) -> Continued:
        """How the model goes on: the words that it finds likeliest next, each read before the next
        is asked for, and as many samples as are wanted, the same for the same seed; with edits,
        after them and without them. Unknown words are left out.

        >>> import rnnlens
        >>> rnnlens.load("english-news")("we stand in solidarity").continuation(3).words
        ('with', 'the', 'people')
        """
        return continuation(self.reading, words, samples, seed)

    def ablated(
        self,
        kinds: Sequence[str] | None = None,
        at: int | None = None,
        by: str = RESAMPLED,
        others: Sequence[str] | None = None,
        draws: int = DRAWS,
        seed: int = 0,
    ) -> Ablated:
        """How far the prediction after word `at` (None: the last) moves without each state before
        it, one at a time, with something else in its place while the rest goes on.

        `by` says what: `resampled`, states of the same kind from `others`, `draws` of them;
        `mean`, the mean of these; or `zero`. `others` are texts, None: the run's own examples,
        which are few: give more where you can.

        >>> import rnnlens
        >>> grid = rnnlens.load("english-news")("we stand in solidarity")
        >>> ablated = grid.ablated(["l2", "h2"], by="mean")
        >>> [bool(bits > 0) for bits in ablated["h2"]]
        [True, True, True, True]
        """
        return ablated(self.reading, kinds, at, by, others, draws, seed)

    def zeroed(self, kinds: Sequence[str] | None = None, at: int | None = None) -> Ablated:
        """`ablated` with zero in the place of each state, a value that states seldom have."""
        return ablated(self.reading, kinds, at, ZERO)

    def to_numpy(self) -> dict[str, NDArray[np.float32]]:
        """The states themselves: of every kind its units after each word, (T, H); of a pair, after
        each word of its side.
        """
        session, reading = self.reading.subject.session, self.reading
        states = session.read(reading.ids, 0, len(reading.ids), reading.edits)[0]
        rows = {c.id: reading.rows_of(c.id, 0, len(reading.ids)) for c in reading.columns}
        return {c.id: states[c.id][rows[c.id].start : rows[c.id].stop].float().numpy()
                for c in reading.columns if c.id in states and c.id != PREDICTION}  # fmt: skip

    def to_pandas(self) -> "pd.DataFrame":
        """A row for every state; needs pandas.

        Columns: step, word, kind, layer; group, share and entropy; label and probability, of the
        most probable one; wanted, wanted_probability and wanted_rank, of the label that came.
        """
        rows = []
        for step, states in enumerate(self.json["rows"]):
            for column, state in zip(self.json["columns"], states, strict=True):
                if state is None:  # of a pair, a state of the other side
                    continue
                label, probability = state["top"][0]
                wanted = state["wanted"] or (None, None, None)
                rows.append(
                    {
                        "step": step, "word": self.words[step], "kind": column["id"],
                        "layer": column["layer"], "group": state["group"],
                        "share": state["share"], "entropy": state["entropy"],
                        "label": label, "probability": probability, "wanted": wanted[0],
                        "wanted_probability": wanted[1], "wanted_rank": wanted[2],
                    }
                )  # fmt: skip
        return data_frame(rows)

    def __repr__(self) -> str:
        title, edits = self.reading.subject.title, ", ".join(map(str, self.edits))
        edited = f", edited {edits[:60]}" if edits else ""
        return f"<grid of {len(self)} words x {len(self.kinds)} columns, {title}{edited}>"


@dataclass(frozen=True)
class Parting:
    """Where two texts part: how probable each kind finds the next word of either, to five digits.

    `row` is that of the comparison, `side` whose states these are: "both", or where the two have
    been read otherwise before, by edits say, "first" and "second". `probabilities` has, of each
    kind that is asked about the next word, those of the two; None where a text ends or its word is
    unknown.
    """

    row: int
    side: str
    words: tuple[str, str]
    probabilities: Mapping[str, tuple[float | None, float | None]]

    def __getitem__(self, kind: str) -> tuple[float | None, float | None]:
        if kind not in self.probabilities:
            known = ", ".join(self.probabilities)
            raise RnnlensError(f"{kind!r} is not asked about the next word; there is {known}")
        return self.probabilities[kind]


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Comparison(Drawn, ByKind):
    """What differs between two grids.

    `comparison["h2"][3]` is how far what h2 says in the fourth row lies from what it said before,
    the Jensen-Shannon divergence in bits: 0 is the same, 1 shares nothing. `values` has all, rows
    down and kinds across, with NaN where a word of one text stands beside none. `pairs` are the
    steps of the two grids that stand side by side in each row, None for such a gap; `words` are
    the words read there, of the grid after where it has one. `notes` say what is not compared.
    """

    _lines: Lines
    pairs: tuple[Beside, ...]  # a step before, and one after
    notes: tuple[str, ...]

    @classmethod
    def of(cls, before: Reading, after: Reading) -> "Comparison":
        """Every state of one reading beside that of another: rows by the words read, kinds by their
        ids, labels by their names.
        """
        if before.semantic != after.semantic:
            raise RnnlensError(
                f"one grid asks about {before.semantic!r}, the other about {after.semantic!r}; "
                "compare grids of one semantic"
            )
        if before.subject is not after.subject and before.subject.name == after.subject.name:
            after = replace(after, subject=after.subject.called(f"{after.subject.name}-2"))
        two = Lines.of_two((before, after), "")
        words = [
            (None if a is None else before.words[a], None if b is None else after.words[b])
            for a, b in two.beside
        ]
        text = in_one(words)
        if before.source or after.source:  # whose sign stands between words
            text = f"{{{before.text}|{after.text}}}"
        elif before.subject.session.text.pieces:  # which are no words between blanks
            text = f"{{{escaped(before.text, ())}|{escaped(after.text, ())}}}"
        elif before.subject is after.subject and all(a == b for a, b in words):
            text = f"{{{text}|{text}}}"  # which asks for one text beside itself
        lines = replace(two, text=text)
        bits = np.full((len(words), len(lines.columns)), np.nan)
        for first in range(0, len(words), BLOCK):
            apart = lines.differences(first, first + BLOCK)
            if apart:
                rows = lines.beside[first : first + BLOCK]
                here = [first + k for k, pair in enumerate(rows) if None not in pair]
                bits[here] = apart.bits.reshape(len(here), -1)
        return cls(
            words=tuple(str(a if b is None else b) for a, b in words),
            kinds=tuple(column.id for column in lines.columns), values=bits, _lines=lines,
            pairs=lines.beside, notes=lines.common.notes,
        )  # fmt: skip

    @property
    def before(self) -> Grid:
        """The grid that is compared with."""
        return Grid(self._lines.readings[0])

    @property
    def after(self) -> Grid:
        """The grid that is compared."""
        return Grid(self._lines.readings[1])

    @property
    def partings(self) -> tuple[Parting, ...]:
        """Where the two texts part, how probable each kind finds the next word of either.

        >>> import rnnlens
        >>> lens = rnnlens.load("english-news")
        >>> (parting,) = rnnlens.compare(lens, "the keys to the cabinet {is|are} here").partings
        >>> first, second = parting["y"]  # of "is" and of "are"
        >>> first > second
        True
        """
        rows = {beside: row for row, beside in enumerate(self.pairs)}
        return tuple(
            Parting(
                rows[line.rows], line.side, line.then,
                {kind: (pair[0], pair[1])
                 for kind, pair in zip(self.kinds, pairs, strict=True) if pair},
            )
            for line, pairs in zip(self._lines.lines, self.json["then"], strict=True)
            if line.then and pairs
        )  # fmt: skip

    def follow(self, *labels: str, against: str | Sequence[str] = ()) -> Values:
        """How much more probable labels have become in every state, (rows, K); with others
        `against` them, how much the logarithm of the odds has grown. NaN where there is a gap.
        """
        followed = [
            follow_all(Lines.of_reading(one), labels, names(against))
            for one in self._lines.readings
        ]
        before, after = (np.stack([one[kind] for kind in self.kinds], 1) for one in followed)
        change = np.full(self.values.shape, np.nan)
        for row, (a, b) in enumerate(self.pairs):
            if a is not None and b is not None:
                change[row] = after[b] - before[a]
        return change

    def groups(self) -> list[tuple[int, str, str, str]]:
        """Where another group dominates: the row, the kind, the group before and after."""
        return [
            (row, kind, before["group"], after["group"])
            for row in range(len(self.pairs))
            for kind in self.kinds
            for before, after in [self._states(row, kind)]
            if before and after and before["group"] != after["group"]
        ]

    def _row(self, step: int, kind: str, value: float) -> Mapping[str, Any]:
        """Of both grids the step, group, label and probability; nothing where there is a gap."""
        before, after = self._states(step, kind)
        steps = {"before_step": self.pairs[step][0], "after_step": self.pairs[step][1]}
        return {"bits": value} | steps | _top("before", before) | _top("after", after)

    def _states(self, row: int, kind: str) -> list[dict[str, Any] | None]:
        """What is drawn of the two states of a row; None where there is none."""
        column, shown = self.kinds.index(kind), self._shown
        return [
            None if step is None else shown[side, step][column]
            for side, step in enumerate(self.pairs[row])
        ]

    @cached_property
    def _shown(self) -> dict[tuple[int, int], list[dict[str, Any]]]:
        """The drawn states of each row of both readings."""
        rows: dict[tuple[int, int], list[dict[str, Any]]] = {}
        for line, states in zip(self._lines.lines, self.json["rows"], strict=True):
            for side in (0, 1) if line.side == "both" else (line.number,):
                if (row := line.rows[side]) is not None:
                    rows[side, row] = states
        return rows

    def __repr__(self) -> str:
        step, kind, bits = next(self._largest())
        most = f"{kind} after {self.words[step]!r}, {bits:.2f} bits"
        return f"<{len(self.words)} words x {len(self.kinds)} columns compared; most: {most}>"


def _top(when: str, state: Mapping[str, Any] | None) -> dict[str, object]:
    label, probability = state["top"][0] if state else (None, None)
    return {
        f"{when}_group": state["group"] if state else None,
        f"{when}_label": label,
        f"{when}_probability": probability,
    }
