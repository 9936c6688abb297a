"""One picture of how memories differ, of what `python -m scripts.memories` has summed up.

    python -m scripts.memories.picture docs/memories.json docs/memories.svg

A panel for each cell, the LSTM first, then those nearest to it in perplexity. From left to right
stand the parts of a layer as data passes them, upwards how much worse their probes are than the
network itself; later layers are darker, and behind them stands the LSTM's last. A dot is as full as
what is read there is used.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from textwrap import fill
from typing import Annotated, Any

import numpy as np
from pydantic import Field, TypeAdapter
from pydantic.dataclasses import dataclass
from scripts.memories.summary import ROLES
from scripts.memories.tables import range_of

from rnnlens.base.errors import RnnlensError
from rnnlens.draw.charts import check_chart
from rnnlens.draw.pen import check_matplotlib
from rnnlens.model.network_config import WRITTEN

_TASKS = {"parity": "parity", "products": "S₃", "recall": "recall"}
_NAMES = {"embedding": "word", "sum": "sum", "read": "read"}  # of parts, where it is another
_LAYERS = ("#a6cee3", "#62a8d1", "#2a7ab5", "#08426f")  # the last of a network is the darkest
_OTHER, _TEXT = "#b8b8b8", "#333333"
_ACROSS, _SIZE, _DOTS = 4, (9.0, 8.2), 160
_LEAST, _MOST = 0.92, 6.5  # of perplexities over the network's own, unless some are less
_TICKS, _BELOW = (1, 1.5, 2, 3, 4, 6), (0.2, 0.5)
_POWERS = tuple(10.0**power for power in range(-8, 1))  # where the others would touch each other
_SMALL: dict[str, Any] = {"fontsize": 7, "color": "#555555", "in_layout": False}
_ABOVE: dict[str, Any] = {**_SMALL, "xycoords": "axes fraction", "textcoords": "offset points"}
_MEASURE = "scripts.memories FOLDER --corpus CORPUS"
_CHANCE = {"parity": ".50", "products": ".17", "recall": ".13"}
_WIDE = 37  # letters of a line that stay within a panel


_Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
_Ends = tuple[float, float]


@dataclass
class _Part:
    kind: str
    over: _Positive
    used: Annotated[float, Field(allow_inf_nan=False)] = 0.0


@dataclass
class _Lasts:
    of: int
    median: _Ends
    erased: _Ends


@dataclass
class _Cell:
    """What a summary has to say of a cell, as far as it is drawn."""

    tasks: dict[str, _Ends]
    test: Annotated[list[_Positive], Field(min_length=1)] | None = None
    seeds: Annotated[int, Field(ge=0)] = 0
    layers: list[dict[str, _Part | _Lasts]] = field(default_factory=list)

    def __post_init__(self) -> None:
        parts = all(isinstance(layer.get(role, _NONE), _Part) for layer in self.layers
                    for role in ROLES)  # fmt: skip
        lasts = all(isinstance(layer.get("lasts", _LASTS), _Lasts) for layer in self.layers)
        if not (parts and lasts) or (self.seeds and not (self.layers and self.test)):
            raise ValueError("parts are missing")


_NONE, _LASTS = _Part("", 1.0), _Lasts(0, (0.0, 0.0), (0.0, 0.0))
_SUMMARY = TypeAdapter(dict[str, _Cell])


def mean_of(cell: Mapping[str, Any]) -> float:
    """The mean test perplexity of a cell's networks."""
    return float(np.mean(cell["test"]))


def read(path: Path) -> dict[str, dict[str, Any]]:
    """A summary; an error where it is none, or has no kinds of any cell."""
    try:
        text = path.read_text(encoding="utf-8")
        known = _SUMMARY.validate_json(text, strict=True)
        cells: dict[str, dict[str, Any]] = json.loads(text)
    except FileNotFoundError as error:
        raise RnnlensError(f"{path} is missing; python -m {_MEASURE} writes one") from error
    except (OSError, ValueError):
        known = {}
    if any(cell.seeds for cell in known.values()):
        return cells
    if any(cell.layers for cell in known.values()):
        raise RnnlensError(f"{path} has no kinds; measure them with --parts kinds")
    if any(cell.tasks for cell in known.values()):
        raise RnnlensError(f"{path} has tasks alone; measure kinds with --corpus CORPUS")
    raise RnnlensError(f"{path} is no summary of kinds; python -m {_MEASURE} writes one")


def draw(cells: Mapping[str, Mapping[str, Any]], path: Path) -> None:
    """Draw what was measured of cells on language, and write it down."""
    check_matplotlib()
    import matplotlib as mpl
    from matplotlib.figure import Figure

    asked = {cell: told for cell, told in cells.items() if told.get("seeds")}
    order = sorted(asked, key=lambda cell: (cell != "lstm", mean_of(asked[cell])))
    down = -(-(len(order) + 1) // _ACROSS)
    style: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": "memories", "font.size": 8,
             "axes.spines.top": False, "axes.spines.right": False, "text.color": _TEXT}  # fmt: skip
    with mpl.rc_context(style):
        figure = Figure(figsize=_SIZE, layout="constrained")
        panels = figure.subplots(down, _ACROSS, sharex=True, sharey=True).flatten()
        shown: list[str | None] = [*order]
        shown.insert(min(_ACROSS - 1, len(order)), None)  # the key ends the first row
        for number, axes in enumerate(panels):
            cell = shown[number] if number < len(shown) else None
            if cell:
                panel(axes, cell, asked, lowest=number >= len(shown) - _ACROSS)
            elif number < len(shown):
                _key(axes, asked)
            else:
                axes.set_axis_off()
        figure.supylabel("perplexity of a probe over the network's own", fontsize=9)
        figure.savefig(path, dpi=_DOTS, metadata={"Date": None} if path.suffix == ".svg" else None)


def panel(axes: Any, cell: str, cells: Mapping[str, Mapping[str, Any]], *, lowest: bool) -> None:
    """Draw a cell; the lowest panels name the parts."""
    told, lstm = cells[cell], cells.get("lstm")
    if lstm and cell != "lstm":
        _line(axes, lstm["layers"], -1, color=_OTHER, lw=1, zorder=1)
    layers = told["layers"]
    for number, layer in enumerate(layers):
        colour = _LAYERS[max(0, number + len(_LAYERS) - len(layers))]
        _line(axes, layers, number, color=colour, lw=1.4, zorder=2)
        _dots(axes, layer, colour)
    axes.axhline(1, color=_OTHER, lw=0.6, ls=":", zorder=0)
    axes.set_yscale("log")
    least = _least(cells)
    ticks = [tick for tick in ((*_BELOW, *_TICKS) if least > 0.1 else _POWERS) if tick >= least]
    axes.set_ylim(least, _MOST)
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_xlim(-0.5, len(ROLES) - 0.5)
    names = [_NAMES.get(role, role) for role in ROLES]
    axes.set_xticks(range(len(ROLES)), names, rotation=60, ha="right", rotation_mode="anchor")
    axes.tick_params(axis="x", length=2, labelbottom=lowest)
    _title(axes, cell, cells)


def _least(cells: Mapping[str, Mapping[str, Any]]) -> float:
    """Where panels begin: what some probe says better than its network is to be seen, too."""
    over = (part["over"] for told in cells.values() for layer in told["layers"]
            for role, part in layer.items() if role in ROLES)  # fmt: skip
    return float(min([_LEAST, *(0.95 * value for value in over)]))


def _line(axes: Any, layers: Sequence[Mapping[str, Any]], number: int, **look: Any) -> None:
    """The parts of a layer, joined where nothing is missing between."""
    there = [k for k, role in enumerate(ROLES) if any(role in layer for layer in layers)]
    values = [layers[number].get(ROLES[k], {}).get("over", np.nan) for k in there]
    axes.plot(there, np.minimum(values, _MOST), **look)


def _dots(axes: Any, layer: Mapping[str, Any], colour: str) -> None:
    """A dot for each part, as full as it is used; a cross where that was not measured, an arrow
    where the part stands above the panel.
    """
    for place, role in enumerate(ROLES):
        if role not in layer:
            continue
        value, used = layer[role]["over"], layer[role].get("used")
        if value > _MOST or used is None:
            mark = "^" if value > _MOST else "x"
            axes.plot(place, min(value, _MOST), mark, color=colour, ms=4, mew=1.2, zorder=3)
        else:
            axes.plot(place, value, "o", color="white", mec=colour, ms=6, zorder=3)
            share = min(1.0, max(0.0, used))
            axes.plot(place, value, "o", color=colour, ms=6, alpha=share, mew=0, zorder=4)


def _title(axes: Any, cell: str, cells: Mapping[str, Mapping[str, Any]]) -> None:
    """What stands above a panel: how good the network is, how long its last memory lasts, and how
    often it is right at twice the length of a task.
    """
    told, name = cells[cell], WRITTEN.get(cell, cell.upper())
    head = f"perplexity {mean_of(told):.0f}"
    if "lstm" in cells and cell != "lstm":
        head += f", {mean_of(told) / mean_of(cells['lstm']):.2f} of the LSTM's"
    axes.set_title(name, loc="left", fontsize=10, fontweight="bold", pad=27)
    of = f"probes of {told['seeds']} of {len(told['test'])} seeds"
    axes.annotate(of, (1, 1), (0, 27), ha="right", **_ABOVE)
    axes.annotate(head, (0, 1), (0, 18), **_ABOVE)
    if lasts := told["layers"][-1].get("lasts"):
        erased = f", {_said(lasts['erased'])} erased" if max(lasts["erased"]) else ""
        of = f" (of {lasts['of']})" if lasts["of"] != told["seeds"] else ""
        said = f"half-life {_said(lasts['median'], 1)} words{of}{erased}"
        axes.annotate(said, (0, 1), (0, 10), **_ABOVE)
    right = [f"{short} {_said(told['tasks'][task])}" for task, short in _TASKS.items()
             if task in told["tasks"]]  # fmt: skip
    axes.annotate("  ".join(right), (0, 1), (0, 2), **_ABOVE)


def _said(ends: Sequence[float], digits: int = 2) -> str:
    """The least to the most of some networks."""
    return range_of(ends, digits).replace(" to ", "–")


def _key(axes: Any, cells: Mapping[str, Mapping[str, Any]]) -> None:
    """How to read the panels."""
    from matplotlib.lines import Line2D

    dark = _LAYERS[-1]
    looks: dict[str, dict[str, Any]] = {
        "darker: a later layer": {"color": dark},
        "the LSTM's last layer": {"color": _OTHER},
        "all of what is read is used": {"color": dark, "marker": "o", "lw": 0},
        "nothing of it is used": {"color": dark, "marker": "o", "lw": 0, "mfc": "white"},
    }
    parts = [layer[role] for told in cells.values() for layer in told["layers"]
             for role in ROLES if role in layer]  # fmt: skip
    if any("used" not in part for part in parts):
        looks["use not measured"] = {"color": dark, "marker": "x", "lw": 0, "ms": 4}
    axes.set_axis_off()
    handles = [Line2D([], [], label=label, **look) for label, look in looks.items()]
    axes.legend(handles=handles, frameon=False, loc="upper left", labelspacing=0.8)
    axes.text(0.02, 0.42, _explained(cells), va="top", transform=axes.transAxes, **_SMALL)


def _explained(cells: Mapping[str, Mapping[str, Any]]) -> str:
    """What the titles of panels tell, as far as some panel does."""
    said = list[str]()
    last = [told["layers"][-1] for told in cells.values()]
    lasts = [layer["lasts"] for layer in last if "lasts" in layer]
    if lasts:
        said.append("Half-life, in words: the median of the last memory's units or heads.")
    if any(max(one["erased"]) for one in lasts):
        said.append("Erased: at each word, by the delta rule.")
    chance = [f"{short}\N{NO-BREAK SPACE}{_CHANCE[task]}" for task, short in _TASKS.items()
              if any(task in told["tasks"] for told in cells.values())]  # fmt: skip
    if chance:
        said.append("Right answers at twice the length learnt from, least to most of the networks "
                    f"(chance: {', '.join(chance)}).")  # fmt: skip
    return fill(" ".join(said), _WIDE)


def main() -> None:
    """Draw what a file has."""
    parser = argparse.ArgumentParser(
        prog="python -m scripts.memories.picture",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("summary", type=Path, help="summary.json of what was measured")
    parser.add_argument("picture", type=Path, help=".svg, .png or .pdf")
    args = parser.parse_args()
    try:
        check_chart(args.picture)
        draw(read(args.summary), args.picture)
    except OSError as error:  # of the picture
        sys.exit(f"cannot write {args.picture}: {error.strerror}; choose another place")
    except RnnlensError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
