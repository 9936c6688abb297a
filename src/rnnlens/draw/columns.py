"""Which columns of a grid are drawn, by name: one by one, by layers, or a kind of every layer.

base/columns.js of the page understands the same names.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from rnnlens.base.errors import RnnlensError
from rnnlens.base.rules import count
from rnnlens.model.kinds import JOINED, PREDICTION

MANY = count("columns_at_first")  # with more than these, one column a layer is drawn at first
DEFAULT = "default"

Column = Mapping[str, Any]  # as a grid describes it


def chosen_columns(columns: Sequence[Column], kinds: str | Sequence[str] | None) -> list[int]:
    """Which columns to draw, in the grid's order."""
    names, wanted = column_names(columns), kind_names(kinds)
    for name in wanted:
        if name not in names:
            raise RnnlensError(f"the run has no kind {name!r}; it has {_known(columns)}")
    if not wanted:
        raise RnnlensError(f"no kinds are named; the run has {_known(columns)}")
    return sorted({k for name in wanted for k in names[name]})


def kind_names(kinds: str | Sequence[str] | None) -> list[str]:
    """The names that somebody has given, comma between or in a list."""
    given = [DEFAULT] if kinds is None else kinds.split(",") if isinstance(kinds, str) else kinds
    return [name.strip() for name in given if name.strip()]


def column_names(columns: Sequence[Column]) -> dict[str, list[int]]:
    """Every name with the columns that it stands for: `default`, `all`, `outputs`, `layer2` for all
    of a layer, `h` for the h of every layer, and the id of each, also where it is layer2.
    """
    ids = {column["id"]: [k] for k, column in enumerate(columns)}
    return {**_across_layers(columns), **_layers(columns), **ids, **_words(columns)}


def outputs(columns: Sequence[Column]) -> list[int]:
    """The input, the prediction, and of every layer what it gives to those above: of the kinds
    that a later layer is computed from the last, of the others the last of all; in both directions
    unless these are joined.
    """
    layers = {column["kind"]: column["layer"] for column in columns}
    given = {
        source
        for column in columns
        for source, _ in column["sources"]
        if layers.get(source, column["layer"]) < column["layer"]
    }
    found: dict[tuple[int, bool], int] = {}
    for k, column in enumerate(columns):
        place = column["layer"], column["reverse"]
        if column["kind"] in given or columns[found.get(place, k)]["kind"] not in given:
            found[place] = k
    joined = {column["layer"] for column in columns if column["letter"] == JOINED}
    return sorted(k for (layer, back), k in found.items() if not (back and layer in joined))


def last_layer(columns: Sequence[Column]) -> int:
    """The layer of the model's own prediction, or the one where it would be."""
    last = max(int(column["layer"]) for column in columns)
    return last if any(column["letter"] == PREDICTION for column in columns) else last + 1


def _words(columns: Sequence[Column]) -> dict[str, list[int]]:
    """What is called by one word."""
    return {
        DEFAULT: [k for k, column in enumerate(columns) if column["shown"]],
        "all": list(range(len(columns))),
        "outputs": outputs(columns),
    }


def _layers(columns: Sequence[Column]) -> dict[str, list[int]]:
    """Every layer; input and prediction are none."""
    last, layers = last_layer(columns), dict[str, list[int]]()
    for k, column in enumerate(columns):
        if 0 < column["layer"] < last:
            layers.setdefault(f"layer{column['layer']}", []).append(k)
    return layers


def _across_layers(columns: Sequence[Column]) -> dict[str, list[int]]:
    """Every kind of the layers: `h` for h1, h2; `c@-1` for what c was a timestep before; where it
    has no letter, `blocks.*.norm` for `blocks.3.norm`.
    """
    last, kinds = last_layer(columns), dict[str, list[int]]()
    for k, column in enumerate(columns):
        if 0 < column["layer"] < last:
            name = column["letter"] or re.sub(r"[0-9]+", "*", column["kind"])
            back = f"@-{column['back']}" if column["back"] else ""
            kinds.setdefault(f"{name}{back}", []).append(k)
    return kinds


def _known(columns: Sequence[Column]) -> str:
    """What can be given; of many columns no more than what they are called together."""
    several = ", ".join([*_words(columns), *_layers(columns), *_across_layers(columns)])
    if len(columns) > MANY:
        return f"{len(columns)} columns; give {several}, or one, such as {columns[-1]['id']}"
    return f"{', '.join(column['id'] for column in columns)}; or give {several}"
