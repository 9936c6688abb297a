"""Where two kinds disagree, as a table for people, a page of links and a figure."""

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from rnnlens.draw.chart import save_chart
from rnnlens.draw.figure import check_matplotlib
from rnnlens.draw.visible import clip, printable, width_of

if TYPE_CHECKING:
    from rnnlens.search.disagreement import Disagreement, Sentence

_WORDS = 14  # in the figure
_LABEL = 14  # columns of a label in the table
_STYLE = """\
body { font: 14px/1.45 system-ui, sans-serif; margin: 2em; color-scheme: light dark; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 4px 14px 4px 0; border-top: 1px solid #8884; text-align: left; }
td { vertical-align: top; }
caption { text-align: left; padding-bottom: 8px; } b { text-decoration: underline; }"""


def names(found: "Disagreement") -> tuple[str, str]:
    """What the two are called: by their kinds where they are of one run."""
    first, second = found.ends
    if first.lens is second.lens:
        return first.kind, second.kind
    if first.kind == second.kind:
        return first.lens.name, second.lens.name
    return f"{first.lens.name} {first.kind}", f"{second.lens.name} {second.kind}"


def title(found: "Disagreement") -> str:
    """What is compared, in words."""
    first, second = found.ends
    kind = f", {first.kind}" if first.kind == second.kind and first.kind != "y" else ""
    run = f" of {first.lens.name}" if first.lens is second.lens else ""
    where = f"{len(found.bits):,} words in {len(found.sentences):,} sentences"
    mean = f"{found.bits.mean():.3f} bits apart on average"
    return f"{' and '.join(names(found))}{run}{kind}: {mean} over {where}"


def table(found: "Disagreement", top: Sequence["Sentence"], width: int) -> str:
    """The sentences as lines; the word after which the two are furthest apart is in brackets."""
    head = [
        f"{'bits':>5} {'most':>5}  ",
        *(clip(name, _LABEL).ljust(_LABEL + 1) for name in names(found)),
    ]
    lines = [printable(title(found)), "", "".join([*head, "sentence"])]
    for one in top:
        said = "".join(_padded(label, _LABEL) + " " for label in one.said)
        words = [f"[{w}]" if k == one.step else w for k, w in enumerate(one.words)]
        start = f"{one.bits:5.2f} {one.most:5.2f}  {said}"
        lines.append(start + clip(" ".join(words), max(20, width - width_of(start))))
    return "\n".join([*lines, *("" + printable(note) for note in found.notes)])


def _padded(text: str, width: int) -> str:
    shown = clip(text, width)
    return shown + " " * (width - width_of(shown))


def page(found: "Disagreement", top: Sequence["Sentence"], links: Sequence[str], hint: str) -> str:
    """The table as HTML whose sentences are links to the grid."""
    heads = [
        "mean bits",
        "most",
        *names(found),
        "sentence; the two are furthest apart after the word underlined",
    ]
    rows = [
        f"<tr><td>{one.bits:.3f}</td><td>{one.most:.3f}</td>"
        + "".join(f"<td>{escape(printable(label))}</td>" for label in one.said)
        + f'<td><a href="{escape(link)}">{_sentence(one)}</a></td></tr>'
        for one, link in zip(top, links, strict=True)
    ]
    return "\n".join([
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>rnnlens compare</title>',
        f"<style>{_STYLE}</style></head><body><p>{escape(hint)}</p>",
        f"<table><caption>{escape(printable(title(found)))}</caption><thead><tr>",
        *(f'<th scope="col">{escape(printable(head))}</th>' for head in heads),
        "</tr></thead><tbody>", *rows, "</tbody></table>",
        *(f"<p>{escape(printable(note))}</p>" for note in found.notes),
        "</body></html>", "",
    ])  # fmt: skip


def _sentence(one: "Sentence") -> str:
    words = [escape(printable(word)) for word in one.words]
    words[one.step] = f"<b>{words[one.step]}</b>"
    return f"<bdi>{' '.join(words)}</bdi>"


def write_figure(found: "Disagreement", path: Path) -> None:
    """How far apart the two are, over all words, and the words after which they are furthest."""
    check_matplotlib()
    import matplotlib as mpl
    from matplotlib.figure import Figure

    words = found.by_word(min(10, max(1, len(found.bits) // 1000)))[:_WORDS][::-1]
    with mpl.rc_context({"svg.fonttype": "none", "pdf.fonttype": 42, "font.size": 9}):
        figure = Figure(figsize=(7.2, 3.2), layout="constrained")
        left, right = figure.subplots(1, 2)
        left.hist(found.bits, bins=50, range=(0, 1), color="#56b4e9")
        left.axvline(
            found.bits.mean(), color="#d55e00", lw=1, label=f"mean, {found.bits.mean():.3f}"
        )
        left.set_yscale("log")
        left.set_xlabel("Jensen-Shannon divergence, bits")
        left.set_ylabel("words read")
        left.legend(frameon=False)
        right.barh(
            [printable(word) for word, *_ in words], [mean for _, mean, _ in words], color="#56b4e9"
        )
        right.set_xlabel("mean bits after the word")
        for axes in (left, right):
            axes.spines[["top", "right"]].set_visible(False)
        figure.suptitle(" against ".join(names(found)), parse_math=False, size=10)
        save_chart(figure, path)
