"""What a lens says of one text: a grid of states, by kind and timestep.

>>> import rnnlens
>>> lens = rnnlens.load("english-news")
>>> grid = lens("we stand in solidarity")
>>> grid["h2"][3].top(1)[0][0]
'with'
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import torch
from numpy.typing import NDArray

from rnnlens.errors import RnnlensError
from rnnlens.view import saving
from rnnlens.view.divergence import jensen_shannon
from rnnlens.view.draw import figure
from rnnlens.view.follow import Followed, Sides, follow_all, number_of
from rnnlens.view.frames import data_frame
from rnnlens.view.saving import Look
from rnnlens.view.source import GridSource
from rnnlens.view.turns import Turns, turn_parts

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


Label = tuple[str, float]  # and its probability


class State:
    """One state: a kind at one timestep, and the distribution over labels its probe gives.

    >>> import rnnlens
    >>> state = rnnlens.load("english-news")("we stand in solidarity")["h2"][3]
    >>> state.word, state.wanted, state.group
    ('solidarity', None, 'OTHER')
    >>> state.rank("with"), round(state.probability("with"), 2), round(state.entropy(), 1)
    (1, 0.91, 0.8)
    """

    def __init__(self, grid: "Grid", column: str, step: int) -> None:
        self.grid, self.column, self.step = grid, column, step
        self._drawn: dict[str, Any] = grid.json["rows"][step][grid.kinds.index(column)]
        self._distribution: NDArray[np.float64] | None = None

    @property
    def word(self) -> str:
        """The word read at this step."""
        return self.grid.words[self.step]

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

    def distribution(self) -> NDArray[np.float64]:
        """The probability of every label, in the order of `grid.labels`."""
        if self._distribution is None:
            grid = self.grid
            asked = grid.lens.request(grid.text, grid.semantic, None)
            logits = grid.lens.logits(asked, self.column, self.step)
            self._distribution = logits.double().softmax(0).numpy()
        return self._distribution

    def top(self, k: int = 5) -> list[Label]:
        """The most probable labels and their probabilities."""
        p = self.distribution()
        order = np.argsort(-p, kind="stable")[: max(0, k)]
        return [(self.grid.labels[i], float(p[i])) for i in order]

    def entropy(self) -> float:
        """The entropy of the distribution, in bits."""
        p = self.distribution()
        return float(-(p[p > 0] * np.log2(p[p > 0])).sum())

    def probability(self, label: str) -> float:
        """The probability of one label."""
        return float(self.distribution()[self.grid.number(label)])

    def rank(self, label: str) -> int:
        """The rank of one label; 1 is the most probable."""
        p = self.distribution()
        return int((p > p[self.grid.number(label)]).sum()) + 1

    def divergence(self, other: "State") -> float:
        """Jensen-Shannon, in bits: 0 is the same prediction, 1 shares nothing with it."""
        if self.grid.labels != other.grid.labels:
            raise RnnlensError("states of runs with different labels cannot be compared")
        mine, theirs = (torch.from_numpy(s.distribution()) for s in (self, other))
        return jensen_shannon(mine, theirs)

    def __repr__(self) -> str:
        top = ", ".join(f"{label} {p:.0%}" for label, p in self.top(3))
        return f"<{self.column} after {self.word!r}: {top}>"


class States(Sequence[State]):
    """All states of one kind, by timestep: a sequence of `State`."""

    def __init__(self, grid: "Grid", column: str) -> None:
        self.grid, self.column = grid, column
        self._states = [State(grid, column, step) for step in range(len(grid.words))]

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

    def divergence(self, other: "States") -> list[float]:
        """Step by step, in bits; as far as both go."""
        return [a.divergence(b) for a, b in zip(self, other, strict=False)]

    def __repr__(self) -> str:
        return f"<{self.column}: {len(self)} states>"


class Grid:
    """Every state of a text: `grid["h2"][3]` is the last output after the fourth word.

    `words` are those of the text, `kinds` the ids of the columns (with `c1@-1`, the cell one step
    back, and `y`, the model's own prediction), `labels` the names of all labels, `json` everything
    that is drawn. The length of a grid is its number of words; iterating gives its kinds.

    >>> import rnnlens
    >>> grid = rnnlens.load("english-news")("we stand in solidarity")
    >>> len(grid), grid.words[1]
    (4, 'stand')
    >>> [states[0][0] for states in grid["h2"].top(1)]
    ['have', 'up', 'the', 'with']
    """

    def __init__(self, lens: GridSource, json: dict[str, Any]) -> None:
        self.lens, self.json = lens, json
        self.text, self.semantic = str(json["text"]), str(json["semantic"])
        self.words = [str(word["text"]) for word in json["words"]]
        self.kinds = [str(column["id"]) for column in json["columns"]]  # with c1@-1 and y
        self.labels = lens.labels

    def __getitem__(self, kind: str) -> States:
        if kind not in self.kinds:
            raise RnnlensError(f"there is no kind {kind!r}; there is {', '.join(self.kinds)}")
        return States(self, kind)

    def __iter__(self) -> Iterator[str]:
        return iter(self.kinds)

    def __len__(self) -> int:
        return len(self.words)

    def number(self, label: str) -> int:
        """A label's place in a distribution."""
        return number_of(label, self.labels)

    def follow(self, *labels: str, against: Sequence[str] = ()) -> Followed:
        """How probable labels are together in every state; exactly, over all labels.

        With others `against` them, the natural logarithm of the odds of the two sets.

        >>> import rnnlens
        >>> grid = rnnlens.load("english-news")("the dogs")
        >>> odds = grid.follow("are", "were", against=("is", "was"))
        >>> [bool(value > 0) for value in odds["h2"]]
        [False, True]
        """
        sides = Sides.of(labels, (against,) if isinstance(against, str) else against, self.labels)
        asked = self.lens.request(self.text, self.semantic, None)
        values = follow_all(self.lens, asked, sides)
        return Followed(sides.labels, sides.against, tuple(self.words), tuple(self.kinds), values)

    def turns(self) -> Turns:
        """How far every state lies from those that feed it and from the row above.

        >>> import rnnlens
        >>> turns = rnnlens.load("english-news")("the dogs near the house").turns()
        >>> source, target, bits = turns.mean()[-1]
        >>> source, target
        ('c2', 'h2')
        """
        asked = self.lens.request(self.text, self.semantic, None)
        return Turns(self.words, self.kinds, self.json["edges"], turn_parts(self.lens, asked))

    def to_pandas(self) -> "pd.DataFrame":
        """A row for every state; needs pandas.

        Columns: step, word, kind, layer; group, share and entropy; label and probability, of the
        most probable one; wanted, wanted_probability and wanted_rank, of the label that came.
        """
        rows = []
        for step, states in enumerate(self.json["rows"]):
            for column, state in zip(self.json["columns"], states, strict=True):
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

    def figure(
        self, look: Look | None = None, followed: Followed | None = None, **changes: Any
    ) -> "Figure":
        """A matplotlib figure of it. `changes` are fields of `Look`; `followed` is what `follow`
        gave, to be drawn instead of the bars.

        >>> grid.figure(kinds="outputs", bars=2)  # doctest: +SKIP
        """
        look = _changed(look, changes)
        numbers = followed.to_json() if followed else None
        drawn, numbers = saving.some_rows(self.json, look.rows, numbers)
        return figure.build(drawn, saving.style(drawn, look, numbers))

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
        drawn = followed.to_json() if followed else None
        saving.save(self.json, Path(path), _changed(look, changes), drawn)
        return Path(path)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:  # noqa: ARG002
        """What a notebook shows: the live grid, and a table that stays."""
        from rnnlens.view.page.notebook import shown_grid

        return shown_grid(self, self.lens, self.json)

    def __repr__(self) -> str:
        title = self.json["title"]
        return f"<grid of {len(self)} words x {len(self.kinds)} columns, {title}>"


def _changed(look: Look | None, changes: dict[str, Any]) -> Look:
    known = asdict(Look())
    for name in changes:
        if name not in known:
            raise RnnlensError(f"nothing about the look is called {name!r}; {', '.join(known)} are")
    made = replace(look or Look(), **changes)
    saving.check_look(made)
    return made
