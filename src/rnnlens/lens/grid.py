"""What a lens says of one text: a grid of states, by kind and timestep.

>>> import rnnlens
>>> lens = rnnlens.load("english-news")
>>> grid = lens("we stand in solidarity")
>>> grid["h2"][3].top(1)[0][0]
'with'
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rnnlens.ask.ablation import Zeroed, zeroed
from rnnlens.ask.comparison import Comparison, compared
from rnnlens.ask.continuation import Continuation, continuation
from rnnlens.ask.decision import Decision, decision
from rnnlens.ask.follow import Followed, Sides, follow_all
from rnnlens.ask.turns import Turns, turn_parts
from rnnlens.base.errors import RnnlensError
from rnnlens.base.tables import data_frame
from rnnlens.draw import figure
from rnnlens.draw.look import Look, changed_look
from rnnlens.lens.state import Reading, States
from rnnlens.page.saved_page import save

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


class Grid(Reading):
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

    def __getitem__(self, kind: str) -> States:
        if kind not in self.kinds:
            raise RnnlensError(f"there is no kind {kind!r}; there is {', '.join(self.kinds)}")
        return States(self, kind)

    def __iter__(self) -> Iterator[str]:
        return iter(self.kinds)

    def __len__(self) -> int:
        return len(self.words)

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
        values = follow_all(self.lens, self.asked(), sides)
        return Followed(sides.labels, sides.against, tuple(self.words), tuple(self.kinds), values)

    def decision(self, label: str | None = None) -> Decision:
        """When every kind makes up its mind: how probable a label of the whole text is after each
        word, and the word from which on it is the most probable; by default the model's answer.

        >>> import rnnlens
        >>> decision = rnnlens.load("english-news")("we stand in").decision("the")
        >>> decision.turned["y"]
        2
        """
        return decision(self.lens, self.asked(), label)

    def turns(self) -> Turns:
        """How far every state lies from those that feed it and from the row above.

        >>> import rnnlens
        >>> turns = rnnlens.load("english-news")("the dogs near the house").turns()
        >>> source, target, bits = turns.mean()[-1]
        >>> source, target
        ('c2', 'h2')
        """
        parts = turn_parts(self.lens, self.asked())
        return Turns(self.words, self.kinds, self.json["edges"], parts)

    def compare(self, other: "Grid") -> Comparison:
        """What is different from another grid: of the same text with edits or without, of another
        text, or of another lens. How far does each state's prediction lie from the other's?

        >>> import rnnlens
        >>> lens = rnnlens.load("english-news")
        >>> edited = lens("the dogs near the house", edits=["c2@2=0"])
        >>> change = edited - lens("the dogs near the house")
        >>> [bool(bits) for bits in change["y"]]
        [False, True, True, True, True]
        """
        return compared(self, other)

    def __sub__(self, other: "Grid") -> Comparison:
        return self.compare(other) if isinstance(other, Grid) else NotImplemented

    def continuation(self, words: int = 10) -> Continuation:
        """The words that the model itself finds likeliest next, each read before the next is
        asked for; with edits, after them and without them.

        >>> import rnnlens
        >>> rnnlens.load("english-news")("we stand in solidarity").continuation(3).words
        ['with', 'the', 'people']
        """
        return continuation(self.lens, self.asked(), words)

    def zeroed(self, kinds: Sequence[str] | None = None, at: int | None = None) -> Zeroed:
        """How far the prediction after word `at` (None: the last) moves without each state before
        it, one at a time, set to zero while the rest goes on.

        >>> import rnnlens
        >>> grid = rnnlens.load("english-news")("we stand in solidarity")
        >>> without = grid.zeroed(["l2", "h2"])
        >>> [bool(bits > 0) for bits in without["h2"]]
        [True, True, True, True]
        """
        if self.edits:
            raise RnnlensError("states are set to zero in a text without edits; leave them out")
        return zeroed(self.lens, self.asked(), kinds, at)

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
        numbers = followed.to_json() if followed else None
        return figure.build(self.json, changed_look(look, changes), numbers)

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
        numbers = followed.to_json() if followed else None
        save(self.json, Path(path), changed_look(look, changes), numbers)
        return Path(path)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:  # noqa: ARG002
        """What a notebook shows: the live grid, and a table that stays."""
        from rnnlens.page.notebook import shown_grid

        return shown_grid(self, self.lens, self.json)

    def __repr__(self) -> str:
        title, edits = self.json["title"], ", ".join(map(str, self.edits))
        edited = f", edited {edits[:60]}" if edits else ""
        return f"<grid of {len(self)} words x {len(self.kinds)} columns, {title}{edited}>"
