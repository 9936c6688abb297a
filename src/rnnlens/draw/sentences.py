"""The sentences on which two kinds disagree, as a table for people and as a page of links."""

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from rnnlens.draw.printable import clip, padded, printable, width_of
from rnnlens.model.kinds import PREDICTION

if TYPE_CHECKING:
    from rnnlens.search.disagreement import DisagreedSentence, Disagreement

_LABEL = 14  # columns of a label in the table
_STYLE = """\
body { font: 14px/1.45 system-ui, sans-serif; margin: 2em; color-scheme: light dark; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 4px 14px 4px 0; border-top: 1px solid #8884; text-align: left; }
td { vertical-align: top; }
caption { text-align: left; padding-bottom: 8px; } b { text-decoration: underline; }"""


def names_of_two(disagreement: "Disagreement") -> tuple[str, str]:
    """What the two are called: by their kinds where they are of one run."""
    first, second = disagreement.ends
    if first.subject is second.subject:
        return first.kind, second.kind
    if first.kind == second.kind:
        return first.subject.name, second.subject.name
    return f"{first.subject.name} {first.kind}", f"{second.subject.name} {second.kind}"


def _title(disagreement: "Disagreement") -> str:
    """What is compared, in words."""
    first, second = disagreement.ends
    kind = f", {first.kind}" if first.kind == second.kind and first.kind != PREDICTION else ""
    run = f" of {first.subject.name}" if first.subject is second.subject else ""
    where = f"{len(disagreement.bits):,} words in {len(disagreement.sentences):,} sentences"
    who = " and ".join(names_of_two(disagreement))
    return f"{who}{run}{kind}: {disagreement.told()} over {where}"


def notes_of(disagreement: "Disagreement") -> tuple[str, ...]:
    """What is not compared or not listed."""
    from rnnlens.search.disagreement import LEAST_WORDS

    short = disagreement.short()
    left_out = f"{short:,} sentences of fewer than {LEAST_WORDS} words are compared and not listed"
    again = len(disagreement.sentences) > len({*disagreement.sentences})
    once = "a sentence that comes several times is listed once: ×3 is three times"
    return (*disagreement.notes, *((left_out,) if short else ()), *((once,) if again else ()))


def sentence_table(
    disagreement: "Disagreement", top: Sequence["DisagreedSentence"], width: int
) -> str:
    """The sentences as lines; the word after which the two are furthest apart is in brackets."""
    head = [
        f"{'bits':>5} {'most':>5}  ",
        *(clip(name, _LABEL).ljust(_LABEL + 1) for name in names_of_two(disagreement)),
    ]
    lines = [printable(_title(disagreement)), "", "".join([*head, "sentence"])]
    for one in top:
        labels = "".join(padded(label, _LABEL) + " " for label in one.said)
        words = [f"[{w}]" if k == one.step else w for k, w in enumerate(one.words)]
        start = f"{one.bits:5.2f} {one.most:5.2f}  {labels}"
        times = f"  {_times(one)}" if one.times > 1 else ""
        room = max(20, width - width_of(start) - width_of(times))
        lines.append(start + clip(" ".join(words), room) + times)
    return "\n".join([*lines, *(printable(note) for note in notes_of(disagreement))])


def sentence_page(
    disagreement: "Disagreement",
    top: Sequence["DisagreedSentence"],
    links: Sequence[str],
    hint: str,
) -> str:
    """The table as HTML whose sentences are links to the grid."""
    heads = [
        "mean bits",
        "most",
        *names_of_two(disagreement),
        "sentence; the two are furthest apart after the word underlined",
    ]
    rows = [
        f"<tr><td>{one.bits:.3f}</td><td>{one.most:.3f}</td>"
        + "".join(f"<td>{escape(printable(label))}</td>" for label in one.said)
        + f'<td><a href="{escape(link)}">{_sentence(one)}</a>'
        + (f" {_times(one)}</td></tr>" if one.times > 1 else "</td></tr>")
        for one, link in zip(top, links, strict=True)
    ]
    return "\n".join([
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>rnnlens compare</title>',
        f"<style>{_STYLE}</style></head><body><p>{escape(hint)}</p>",
        f"<table><caption>{escape(printable(_title(disagreement)))}</caption><thead><tr>",
        *(f'<th scope="col">{escape(printable(head))}</th>' for head in heads),
        "</tr></thead><tbody>", *rows, "</tbody></table>",
        *(f"<p>{escape(printable(note))}</p>" for note in notes_of(disagreement)),
        "</body></html>", "",
    ])  # fmt: skip


def _times(one: "DisagreedSentence") -> str:
    """How often a sentence comes."""
    return f"×{one.times:,}"


def _sentence(one: "DisagreedSentence") -> str:
    words = [escape(printable(word)) for word in one.words]
    words[one.step] = f"<b>{words[one.step]}</b>"
    return f"<bdi>{' '.join(words)}</bdi>"
