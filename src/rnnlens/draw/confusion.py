"""The confusion matrix of a network that tags or classifies, as a figure."""

from pathlib import Path
from typing import Any

from rnnlens.base.errors import RnnlensError
from rnnlens.draw.chart import save_chart
from rnnlens.draw.visible import clip

_NAMED = 60  # labels at most that are named at the sides
_NUMBERED = 20  # labels at most whose shares are written into the squares
_LONGEST = 20  # letters of a name
_DARK = 0.55  # the share from which writing on a square is white


def write_confusion(confusion: dict[str, Any] | None, path: Path) -> None:
    """Draw of each true label, a row, which share of it got each answer."""
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError as error:
        raise RnnlensError(
            "figures need matplotlib; install it: pip install 'rnnlens[figure]'"
        ) from error
    if confusion is None:
        raise RnnlensError(
            "there is no confusion of labels to draw: it is counted of networks that tag or "
            "classify, with at most 256 labels"
        )
    names = [clip(name, _LONGEST) for name in confusion["labels"]]
    shares = [[count / max(1, sum(row)) for count in row] for row in confusion["counts"]]
    size = min(10.0, max(3.2, 1.6 + 0.32 * len(names)))
    with mpl.rc_context({"svg.fonttype": "none", "pdf.fonttype": 42, "font.size": 8}):
        figure = Figure(figsize=(size + 0.6, size), layout="constrained")
        axes = figure.add_subplot()
        image = axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
        if len(names) <= _NUMBERED:
            _write_shares(axes, shares)
        if len(names) <= _NAMED:
            places = range(len(names))
            axes.set_xticks(places, names, rotation=90, parse_math=False)
            axes.set_yticks(places, names, parse_math=False)
        axes.set_xlabel("answer")
        axes.set_ylabel("label")
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        figure.colorbar(image, ax=axes, shrink=0.7, label="share of the label's")
        save_chart(figure, path)


def _write_shares(axes: Any, shares: list[list[float]]) -> None:
    """The share of each square in it, in hundredths; nothing where there is none to speak of."""
    for row, values in enumerate(shares):
        for place, share in enumerate(values):
            if share >= 0.005:
                ink = "white" if share > _DARK else "black"
                text = f"{100 * share:.0f}"
                axes.text(place, row, text, ha="center", va="center", color=ink, size=6)
