"""The grid of a sentence, as the JSON that everything that draws is given."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rnnlens.labels.colours import OTHER
from rnnlens.model.kinds import PREDICTION, Kind
from rnnlens.model.text import TextSide
from rnnlens.probe.semantics import base, shift
from rnnlens.reading.divergence import Difference
from rnnlens.reading.encoding import Encodings, Integers, Palette, significant

FORMAT, VERSION = "rnnlens-grid", 1


@dataclass(frozen=True)
class Column:
    """A kind as it is drawn: at its own timestep, or one back."""

    kind: Kind
    layer: int
    back: int = 0

    @property
    def id(self) -> str:
        """Also the name of an edge's source."""
        return f"{self.kind.id}@-{self.back}" if self.back else self.kind.id

    def to_json(self, perplexity: float | None, used: float | None = None) -> dict[str, Any]:
        """What the grid says of it."""
        kind = self.kind
        return {
            "id": self.id,
            "kind": kind.id,
            "letter": kind.letter,
            "part": kind.part,
            "reverse": kind.reverse,
            "back": self.back,
            "layer": self.layer,
            "name": f"previous {kind.name.removesuffix(' state')}" if self.back else kind.name,
            "symbol": kind.symbol,
            "equation": kind.equation,
            "sources": [(source.kind, source.back) for source in kind.sources],
            "shown": not kind.gate,
            "perplexity": perplexity,
            "used": None if used is None else round(used, 4),
        }


def asked_for(grid: Mapping[str, Any]) -> str:
    """What its states are asked about, in words."""
    semantic, follows = str(grid["semantic"]), bool(grid.get("follows", True))
    own = "number" if grid.get("scale") else "word" if follows else "label"
    name, steps = base(semantic), shift(semantic)
    names = {"output": f"next {own}" if follows else own, "input": "word just read"}
    later = f", {abs(steps)} {'later' if steps > 0 else 'earlier'}" if steps else ""
    return f"the {names.get(name, name)}{later}"


def paleness(grid: Mapping[str, Any]) -> str:
    """What a faded rectangle means."""
    if grid.get("scale"):
        return "the state tells less"
    return "less probable" if grid.get("several") else "groups mixed"


def last_layer(columns: Sequence[Mapping[str, Any]]) -> int:
    """The layer of the model's own prediction, or the one where it would be."""
    last = max(int(column["layer"]) for column in columns)
    return last if any(column["letter"] == PREDICTION for column in columns) else last + 1


def columns_of(
    kinds: Sequence[Kind], prediction: Kind | None, probed: Sequence[str]
) -> list[Column]:
    """Every column from input to output: the kinds that have probes, and `y`, if it is there.

    A kind that others read one step back has a second column before the first of them, where it is
    not the layer's output: that one stands in the row above for all to see.
    """
    made: list[Column] = []
    by_id = {kind.id: kind for kind in kinds}
    for kind in kinds:
        for source in kind.sources:
            earlier = Column(by_id[source.kind], kind.layer, 1) if source.back > 0 else None
            if earlier and source.kind in probed and not earlier.kind.output:
                made += [earlier] if earlier not in made else []
        if kind.id in probed:
            made.append(Column(kind, kind.layer))
    last = max(kind.layer for kind in kinds) + 1
    return [*made, *([Column(prediction, last)] if prediction else [])]


def edges_of(columns: Sequence[Column]) -> list[tuple[str, str]]:
    """Which columns feed which; a source `K@-1` without a column is K one row up, `K@+1` K one row
    down, which a layer that is read backwards has come from.
    """
    there = {column.kind.id for column in columns}
    return [
        (source.kind + (f"@{-source.back:+d}" if source.back else ""), column.kind.id)
        for column in columns
        for source in column.kind.sources
        if not column.back and source.kind in there
    ]


def words_json(
    words: Sequence[str], ids: Sequence[int], text: TextSide, palette: Palette, *, own: bool = True
) -> list[dict[str, Any]]:
    """The words of the text and what the model takes them for.

    `own`: the palette is for the labels of the model, which the words may be.
    """
    labels = text.labels_of(ids) if own else [-1] * len(ids)
    return [
        {
            "text": word,
            "label": text.name(number),
            "unknown": text.is_unknown(number),
            "group": palette.groups[palette.group_of[label]] if label >= 0 else OTHER,
            "value": next(iter(text.values(number)), None),
        }
        for word, number, label in zip(words, ids, labels, strict=True)
    ]


def states_json(
    made: Encodings, wanted: Integers, labels: Sequence[str], palette: Palette
) -> list[dict[str, Any]]:
    """What is drawn for each state."""
    tops = zip(made.labels.tolist(), significant(made.probabilities), strict=True)
    outcomes = zip(wanted.tolist(), significant(made.came), made.rank.tolist(), strict=True)
    return [
        {
            "colour": colour,
            "group": palette.groups[group],
            "share": share,
            "entropy": entropy,
            "top": [(labels[label], p) for label, p in zip(*top, strict=True)],
            "wanted": None if outcome[0] < 0 else (labels[outcome[0]], *outcome[1:]),
            "unread": False,
            "number": number,
        }
        for colour, group, share, entropy, top, outcome, number in zip(
            made.colours(palette),
            made.group.tolist(),
            significant(made.share),
            significant(made.entropy),
            tops,
            outcomes,
            _numbers(made),
            strict=True,
        )
    ]


def _numbers(made: Encodings) -> list[list[float] | None]:
    """The mean and the interval of each state, where labels are numbers."""
    if not made.numbers.shape[1]:
        return [None] * len(made.numbers)
    return [[float(f"{value:.5g}") for value in row] for row in made.numbers.tolist()]


def changes_json(change: Difference, labels: Sequence[str]) -> list[dict[str, Any]]:
    """What an edit has changed in each state: how far its prediction moved, and what had been the
    most probable label with its probability before and after.
    """
    numbers = zip(change.label.tolist(), significant(change.was), significant(change.now),
                  strict=True)  # fmt: skip
    return [
        {"bits": round(bits, 4), "before": (labels[label], was), "now": now}
        for bits, (label, was, now) in zip(change.bits.tolist(), numbers, strict=True)
    ]


def row_json(
    at: Mapping[tuple[str, int], dict[str, Any]], columns: Sequence[Column], row: int
) -> list[dict[str, Any] | None]:
    """The states of a row, by kind and timestep, None where one was not wanted; marked where no
    word was read into one yet.
    """
    states = [at.get((column.kind.id, row - column.back)) for column in columns]
    return [
        state and state | ({"unread": True} if row < column.back else {})
        for state, column in zip(states, columns, strict=True)
    ]


def labels_json(
    made: Encodings, wanted: Integers, labels: Sequence[str], palette: Palette
) -> dict[str, str]:
    """The group of every label that a state names."""
    named = {*made.labels.ravel().tolist(), *wanted[wanted >= 0].tolist()}
    groups, group_of = palette.groups, palette.group_of
    return {labels[label]: groups[group_of[label]] for label in sorted(named)}
