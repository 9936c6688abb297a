"""The paper's figure: test perplexity of each kind's probe, as bars."""

from pathlib import Path
from typing import Any

from rnnlens.base.errors import RnnlensError
from rnnlens.draw.chart import save_chart
from rnnlens.draw.visible import printable, tail, width_of

_CUT = 4  # times the model's own perplexity: where bars are cut
_ROOM, _UPRIGHT = 80, 24  # letters side by side below all bars, and in a name set upright
_ENDINGS = (".svg", ".png", ".pdf")


def check_figure(path: Path) -> None:
    """Refuse a name that cannot be drawn, before anything is measured for it."""
    if path.suffix not in _ENDINGS:
        endings = " or ".join(_ENDINGS)
        raise RnnlensError(f"cannot draw {path.name}; give a name ending in {endings}")


def write_figure(evaluation: dict[str, Any], path: Path) -> None:
    """Bars for each kind, lines for the model's own and for the unigram baseline."""
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError as error:
        raise RnnlensError(
            "figures need matplotlib; install it: pip install 'rnnlens[figure]'"
        ) from error
    rows = [score for score in evaluation.get("probes", ()) if score["semantic"] == "output"]
    if not rows:
        raise RnnlensError("there are no probes of the semantic output to draw; rnnlens fit RUN")
    own, unigram = rows[-1]["perplexity"] / rows[-1]["ratio"], rows[0]["unigram"]
    top = min(max(row["perplexity"] for row in rows) * 1.08, _CUT * own)
    with mpl.rc_context({"svg.fonttype": "none", "pdf.fonttype": 42, "font.size": 9}):
        figure = Figure(figsize=(7.2, 3.2), layout="constrained")
        axes = figure.add_subplot()
        for k, row in enumerate(rows):
            cut = row["perplexity"] > top
            axes.bar(k, min(row["perplexity"], top), color="#56b4e9", hatch="//" if cut else None)
            mark = "↑" if cut else ""
            height = min(row["perplexity"], top)
            axes.text(k, height, f"{row['perplexity']:.0f}{mark}", ha="center", va="bottom", size=7)
        axes.axhline(own, color="#d55e00", lw=1, label=f"the model's own, {own:.1f}")
        if unigram <= top:
            axes.axhline(unigram, color="#666666", lw=1, ls="--", label=f"unigram, {unigram:.0f}")
        else:
            axes.plot([], [], color="#666666", ls="--", label=f"unigram, {unigram:.0f} (above)")
        _name_bars(axes, [str(row["kind"]) for row in rows])
        _draw_use(axes, rows)
        axes.set_ylim(0, top * 1.06)
        axes.set_ylabel("test perplexity")
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, loc="upper right")
        save_chart(figure, path)


def _draw_use(axes: Any, rows: list[dict[str, Any]]) -> None:
    """Beside what is read, how much of it the model uses: a dot for each kind, on its own scale."""
    uses = [(k, row["used"]["used"]) for k, row in enumerate(rows) if row.get("used")]
    if not uses:
        return
    beside = axes.twinx()
    beside.plot(*zip(*uses, strict=True), "o", color="#333333", ms=4)
    beside.set_ylim(0, 1.6)  # the dots stand below the legend
    beside.set_yticks([0, 0.5, 1])
    beside.set_ylabel("used (dots)", loc="bottom")
    beside.spines[["top", "left"]].set_visible(False)


def _name_bars(axes: Any, kinds: list[str]) -> None:
    """Each bar's kind below it, upright where names are too long to stand side by side."""
    names = [tail(printable(kind), lambda end: width_of(end) <= _UPRIGHT) for kind in kinds]
    upright = max(map(width_of, names)) > _ROOM / len(names)
    axes.set_xticks(range(len(names)), names, rotation=90 if upright else 0, parse_math=False)
