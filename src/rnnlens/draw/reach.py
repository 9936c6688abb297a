"""How far back and forward kinds reach, as a figure."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rnnlens.base.errors import RnnlensError
from rnnlens.draw.chart import save_chart
from rnnlens.draw.visible import clip
from rnnlens.probe.semantics import offset

_LONGEST = 20  # letters of a kind's name
_NUMBERED = 24  # columns at most whose shares are written into the squares
_DARK = 0.45  # the share below which writing on a square is white


def write_reach(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Draw of each kind, a row, which share of the labels' unigram perplexity is left for the word
    so many words away: the darker, the more the kind tells of it.
    """
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError as error:
        raise RnnlensError(
            "figures need matplotlib; install it: pip install 'rnnlens[figure]'"
        ) from error
    if not rows:
        raise RnnlensError("there are no probes whose reach could be drawn; rnnlens fit RUN")
    kinds = list(dict.fromkeys(str(row["kind"]) for row in rows))
    steps = sorted({offset(row["semantic"]) for row in rows})
    left = [[math.nan] * len(steps) for _ in kinds]
    for row in rows:
        if row["perplexity"] is not None:
            share = row["perplexity"] / row["unigram"]
            left[kinds.index(str(row["kind"]))][steps.index(offset(row["semantic"]))] = share
    size = min(12.0, 1.4 + 0.45 * len(steps)), min(40.0, 0.9 + 0.2 * len(kinds))
    with mpl.rc_context({"svg.fonttype": "none", "pdf.fonttype": 42, "font.size": 8}):
        figure = Figure(figsize=(max(3.6, size[0]), max(2.2, size[1])), layout="constrained")
        axes = figure.add_subplot()
        image = axes.imshow(left, cmap="Blues_r", vmin=0, vmax=1, aspect="auto")
        if len(steps) <= _NUMBERED:
            _write_shares(axes, left)
        named = range(0, len(steps), -(-len(steps) // _NUMBERED))
        axes.set_xticks(named, [f"{steps[k]:+d}" if steps[k] else "0" for k in named])
        names = [clip(kind, _LONGEST) for kind in kinds]
        axes.set_yticks(range(len(kinds)), names, parse_math=False)
        axes.set_xlabel("words after the one just read")
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        figure.colorbar(image, ax=axes, label="perplexity over unigram", pad=0.02)
        save_chart(figure, path)


def _write_shares(axes: Any, shares: list[list[float]]) -> None:
    """The share of each square in it, in hundredths; a dash where it was not measured."""
    for row, values in enumerate(shares):
        for place, share in enumerate(values):
            ink = "white" if share < _DARK else "black"
            text = "-" if math.isnan(share) else f"{share:.2f}"
            axes.text(place, row, text, ha="center", va="center", color=ink, size=6)
