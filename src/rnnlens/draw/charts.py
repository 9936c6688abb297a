"""Charts of what was measured: accuracy, confusion, reach, and how far two kinds are apart."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rnnlens.base.errors import RnnlensError
from rnnlens.draw.pen import check_matplotlib
from rnnlens.draw.printable import clip, printable, tail, width_of
from rnnlens.draw.sentences import names_of_two
from rnnlens.probe.semantics import offset

if TYPE_CHECKING:
    from rnnlens.search.disagreement import Disagreement

ENDINGS = (".svg", ".png", ".pdf")
_DOTS = 200  # an inch
_BAR, _LINE, _BASELINE = "#56b4e9", "#d55e00", "#666666"
_CUT = 4  # times the model's own perplexity: where bars are cut
_SIDE_BY_SIDE, _UPRIGHT = 80, 24  # letters below all bars, and in a name set upright
_LONGEST_NAME = 20  # letters of a label or kind
_LONGEST_ROW = 40  # letters of the name of a row of squares
_MOST_NAMED = 60  # labels at most that are named at the sides of a confusion matrix
_MOST_COUNTED = 20  # labels at most whose shares are written into the squares
_MOST_STEPS = 24  # columns of a reach at most whose shares are written into the squares
_WORDS = 14  # after which two kinds are furthest apart


def check_chart(path: Path) -> None:
    """Refuse a name that cannot be drawn, before anything is measured for it."""
    if path.suffix not in ENDINGS:
        endings = " or ".join(ENDINGS)
        raise RnnlensError(f"cannot draw {path.name}; give a name ending in {endings}")


@contextmanager
def _chart(path: Path, width: float, height: float, letters: int) -> Iterator[Any]:
    """A figure of so many inches, which is written in the format that the name ends in."""
    check_matplotlib()
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context({"svg.fonttype": "none", "pdf.fonttype": 42, "font.size": letters}):
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure
        try:
            figure.savefig(path, dpi=_DOTS)
        except OSError as error:
            raise RnnlensError(
                f"cannot write {path}: {error.strerror}; choose another place"
            ) from error


def write_accuracy(evaluation: dict[str, Any], path: Path) -> None:
    """The paper's figure: test perplexity of each kind's probe as bars, with lines for the model's
    own and for the unigram baseline.
    """
    check_matplotlib()
    rows = [score for score in evaluation.get("probes", ()) if score["semantic"] == "output"]
    if not rows:
        raise RnnlensError(
            "there are no probes of the semantic output to draw; fit them: rnnlens fit RUN"
        )
    own, unigram = rows[-1]["perplexity"] / rows[-1]["ratio"], rows[0]["unigram"]
    top = min(max(row["perplexity"] for row in rows) * 1.08, _CUT * own)
    with _chart(path, 7.2, 3.2, 9) as figure:
        axes = figure.add_subplot()
        for k, row in enumerate(rows):
            cut = row["perplexity"] > top
            axes.bar(k, min(row["perplexity"], top), color=_BAR, hatch="//" if cut else None)
            if (ends := row.get("intervals", {}).get("perplexity")) and not cut:
                axes.plot([k, k], [ends["low"], min(ends["high"], top)], color="#333333", lw=1)
            mark = "↑" if cut else ""
            height = min(max(row["perplexity"], ends["high"] if ends else 0), top)
            axes.text(k, height, f"{row['perplexity']:.0f}{mark}", ha="center", va="bottom", size=7)
        axes.axhline(own, color=_LINE, lw=1, label=f"the model's own, {own:.1f}")
        if unigram <= top:
            axes.axhline(unigram, color=_BASELINE, lw=1, ls="--", label=f"unigram, {unigram:.0f}")
        else:
            axes.plot([], [], color=_BASELINE, ls="--", label=f"unigram, {unigram:.0f} (above)")
        _name_bars(axes, [str(row["kind"]) for row in rows])
        _draw_use(axes, rows)
        axes.set_ylim(0, top * 1.06)
        axes.set_ylabel("test perplexity")
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, loc="upper right")


def _draw_use(axes: Any, rows: list[dict[str, Any]]) -> None:
    """Beside what is read, how much of it the model uses: a dot for each kind, on its own scale."""
    uses = [(k, row["used"]["used"]) for k, row in enumerate(rows) if row.get("used")]
    if not uses:
        return
    beside = axes.twinx()
    beside.plot(*zip(*uses, strict=True), "o", color="#333333", ms=4)
    for k, _ in uses:
        if ends := rows[k]["used"].get("intervals", {}).get("used"):
            beside.plot([k, k], [ends["low"], ends["high"]], color="#333333", lw=1)
    beside.set_ylim(0, 1.6)  # the dots stand below the legend
    beside.set_yticks([0, 0.5, 1])
    beside.set_ylabel("used (dots)", loc="bottom")
    beside.spines[["top", "left"]].set_visible(False)


def _name_bars(axes: Any, kinds: list[str]) -> None:
    """Each bar's kind below it, upright where names are too long to stand side by side."""
    names = [tail(printable(kind), lambda end: width_of(end) <= _UPRIGHT) for kind in kinds]
    upright = max(map(width_of, names)) > _SIDE_BY_SIDE / len(names)
    axes.set_xticks(range(len(names)), names, rotation=90 if upright else 0, parse_math=False)


def write_confusion(confusion: dict[str, Any] | None, path: Path) -> None:
    """Draw of each true label, a row, which share of it got each answer."""
    check_matplotlib()
    if confusion is None:
        raise RnnlensError(
            "there is no confusion matrix to draw: it is counted for networks that tag or classify "
            "with at most 256 labels; leave --confusion out"
        )
    names = [clip(name, _LONGEST_NAME) for name in confusion["labels"]]
    shares = [[count / max(1, sum(row)) for count in row] for row in confusion["counts"]]
    size = min(10.0, max(3.2, 1.6 + 0.32 * len(names)))
    with _chart(path, size + 0.6, size, 8) as figure:
        axes = figure.add_subplot()
        image = axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
        if len(names) <= _MOST_COUNTED:
            _write_squares(axes, shares, _hundredths, lambda share: share > 0.55)
        if len(names) <= _MOST_NAMED:
            places = range(len(names))
            axes.set_xticks(places, names, rotation=90, parse_math=False)
            axes.set_yticks(places, names, parse_math=False)
        axes.set_xlabel("answer")
        axes.set_ylabel("label")
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        figure.colorbar(image, ax=axes, shrink=0.7, label="share of the label's")


def _hundredths(share: float) -> str:
    """Nothing where there is none to speak of."""
    return f"{100 * share:.0f}" if share >= 0.005 else ""


def write_reach(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Draw of each kind, a row, which share of the labels' unigram perplexity is left for the word
    so many words away: the darker, the more the kind tells of it.
    """
    check_matplotlib()
    if not rows:
        raise RnnlensError(
            "there are no probes whose reach could be drawn; fit them: rnnlens fit RUN"
        )
    kinds = list(dict.fromkeys(str(row["kind"]) for row in rows))
    steps = sorted({offset(row["semantic"]) for row in rows})
    left = [[math.nan] * len(steps) for _ in kinds]
    for row in rows:
        if row["perplexity"] is not None:
            share = row["perplexity"] / row["unigram"]
            left[kinds.index(str(row["kind"]))][steps.index(offset(row["semantic"]))] = share
    width, height = min(12.0, 1.4 + 0.45 * len(steps)), min(40.0, 0.9 + 0.2 * len(kinds))
    with _chart(path, max(3.6, width), max(2.2, height), 8) as figure:
        axes = figure.add_subplot()
        image = axes.imshow(left, cmap="Blues_r", vmin=0, vmax=1, aspect="auto")
        if len(steps) <= _MOST_STEPS:
            _write_squares(axes, left, _share_left, lambda share: share < 0.45)
        named = range(0, len(steps), -(-len(steps) // _MOST_STEPS))
        axes.set_xticks(named, [f"{steps[k]:+d}" if steps[k] else "0" for k in named])
        names = [clip(kind, _LONGEST_NAME) for kind in kinds]
        axes.set_yticks(range(len(kinds)), names, parse_math=False)
        axes.set_xlabel("words after the one just read")
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        figure.colorbar(image, ax=axes, label="perplexity over unigram", pad=0.02)


@dataclass(frozen=True)
class Squares:
    """A number for each row and column, to be drawn as squares."""

    title: str
    rows: Sequence[str]
    columns: Sequence[str]
    values: Sequence[Sequence[float]]
    usual: float = 0.0  # what is drawn white: where nothing is found
    none: str = ""  # what is written where there is no number


def write_squares(panels: Sequence[Squares], path: Path) -> None:
    """Draw tables of numbers below each other: the darker, the further from what is usual."""
    check_matplotlib()
    wide = max(len(one.columns) for one in panels)
    tall = [0.75 + 0.2 * len(one.rows) for one in panels]
    with _chart(path, min(14.0, 3.0 + 0.36 * wide), min(60.0, sum(tall)), 8) as figure:
        every = figure.subplots(len(panels), 1, squeeze=False, height_ratios=tall)[:, 0]
        for axes, one in zip(every, panels, strict=True):
            reach = max(1 - one.usual, one.usual)
            axes.imshow(one.values, cmap="PuOr", vmin=one.usual - reach, vmax=one.usual + reach,
                        aspect="auto")  # fmt: skip
            values = [[float(value) for value in row] for row in one.values]
            written = partial(_two_digits, none=one.none)
            _write_squares(axes, values, written, partial(_is_far, one.usual, 0.55 * reach))
            names = [clip(name, _LONGEST_ROW) for name in one.rows]
            axes.set_yticks(range(len(names)), names, parse_math=False)
            kinds = [clip(name, _LONGEST_NAME) for name in one.columns]
            axes.set_xticks(range(len(kinds)), kinds, parse_math=False)
            axes.set_title(one.title, loc="left", parse_math=False, fontsize=8)
            axes.tick_params(length=0)
            axes.spines[:].set_visible(False)


def _is_far(usual: float, least: float, value: float) -> bool:
    return abs(value - usual) > least


def _two_digits(value: float, none: str) -> str:
    if math.isnan(value):
        return none
    return f"{value + 0:.2f}".replace("-0.00", "0.00").replace("0.", ".")


def _share_left(share: float) -> str:
    """A dash where it was not measured."""
    return "-" if math.isnan(share) else f"{share:.2f}"


def _write_squares(
    axes: Any,
    shares: list[list[float]],
    written: Callable[[float], str],
    is_dark: Callable[[float], bool],
) -> None:
    """The share of each square in it, in white where the square is dark."""
    for row, values in enumerate(shares):
        for place, share in enumerate(values):
            ink = "white" if is_dark(share) else "black"
            axes.text(place, row, written(share), ha="center", va="center", color=ink, size=6)


def write_disagreement(disagreement: "Disagreement", path: Path) -> None:
    """How far apart two kinds are, over all words, and the words after which they are furthest."""
    bits = disagreement.bits
    words = disagreement.by_word(min(10, max(1, len(bits) // 1000)))[:_WORDS][::-1]
    with _chart(path, 7.2, 3.2, 9) as figure:
        left, right = figure.subplots(1, 2)
        left.hist(bits, bins=50, range=(0, 1), color=_BAR)
        left.axvline(bits.mean(), color=_LINE, lw=1, label=f"mean, {bits.mean():.3f}")
        left.set_yscale("log")
        left.set_xlabel("Jensen-Shannon divergence, bits")
        left.set_ylabel("words read")
        left.legend(frameon=False)
        names = [printable(word) for word, *_ in words]
        right.barh(names, [mean for _, mean, _ in words], color=_BAR)
        right.set_xlabel("mean bits after the word")
        for axes in (left, right):
            axes.spines[["top", "right"]].set_visible(False)
        figure.suptitle(" against ".join(names_of_two(disagreement)), parse_math=False, size=10)
