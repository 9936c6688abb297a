"""What was found in the laboratory, as a page in one file that loads nothing."""

from collections.abc import Mapping, Sequence
from html import escape

from rnnlens.draw.pen import mixed
from rnnlens.draw.printable import printable
from rnnlens.lab.by_kind import ByParadigm
from rnnlens.lab.lab_tables import between, rows_of, share, summary
from rnnlens.lab.laboratory import Lab

_MORE, _LESS = "#5e3c99", "#b35806"  # than what is usual: violet and orange, told apart by all eyes
STYLE = """
body { font: 14px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 92rem; padding: 0 1rem;
  color: #1c1c22; background: #fff }
h1 { font-size: 1.3rem } h2 { font-size: 1.05rem; margin-top: 2rem } h3 { font-size: .95rem }
h2::first-letter, h3::first-letter { text-transform: uppercase }
ul { padding-left: 1.1rem } h1 a { margin-left: 1.2rem; font-size: 14px; font-weight: normal }
table { border-collapse: collapse; font-variant-numeric: tabular-nums }
th, td { padding: .15rem .45rem; text-align: right; white-space: nowrap }
th:first-child { text-align: left; font-weight: normal }
thead th { border-bottom: 1px solid #9a9aa3; font-weight: 600 }
.condition th { padding-left: 1.6rem; color: #55555f }
.squares td { min-width: 1.5rem; text-align: center; font-size: 11px; padding: .3rem .1rem }
.squares th { padding: .15rem .3rem; font-size: 12px } .squares thead th { text-align: center }
.pair { display: flex; flex-wrap: wrap; gap: 0 2rem }
.pair > div { min-width: 0; max-width: 100% }
.dark { color: #fff }
.wide { overflow-x: auto }
nav { margin: .4rem 0; line-height: 2 } nav a, nav b { margin-right: .8rem; white-space: nowrap }
nav span { color: #55555f; margin-right: .8rem }
a { color: #5e3c99; text-underline-offset: .2em }
.squares th:first-child, table th:first-child { position: sticky; left: 0; background: #fff }
@media (max-width: 500px) { body { margin: 1rem auto; padding: 0 .7rem }
  nav a, nav b { display: inline-block; padding: .5rem 0 } th, td { padding: .2rem .35rem } }
p, li { max-width: 60rem }
"""


def lab_page(lab: Lab, by_kind: Sequence[ByParadigm] = (), tables: Sequence[str] = ()) -> str:
    """Accuracies, and what was measured of kinds: paradigms by kinds, then each one's words; and
    tables as a terminal has them.
    """
    title = f"{lab.subject.name} on {lab.items.suite.name}"
    parts = [f"<h1>{_text(title)}</h1>", *accuracies(lab)]
    for found in by_kind:
        parts += pictures(found, (None, *found.paradigms), kind_names(lab))
    lines = ("\n".join(map(_text, table.split("\n"))) for table in tables)
    parts += [f"<pre class=wide>{table}</pre>" for table in lines]
    return html_page(title, parts)


def html_page(title: str, parts: Sequence[str], style: str = "") -> str:
    """A page of some parts; `style` is where its style is, else it is in the page."""
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    looks = (
        f'<link rel="stylesheet" href="{style}">'
        if style
        else (
            f'<meta http-equiv="Content-Security-Policy" content="{policy}"><style>{STYLE}</style>'
        )
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="icon" href="data:,"><title>{_text(title)}</title>{looks}</head>\n<body>'
        + "\n".join(parts)
        + "</body></html>\n"
    )


def accuracies(lab: Lab, paradigm: str | None = None, *, conditions: bool = True) -> list[str]:
    """What was asked, and how often it is right: of all paradigms, or of one."""
    table = _accuracies(lab, paradigm, conditions)
    return [_list(summary(lab, lab.result)), f"<div class=wide>{table}</div>"]


def kind_names(lab: Lab) -> dict[str, str]:
    """What the kinds of a model are called, such as long-term memory for `l2`."""
    drawn = (column.kind for column in lab.subject.columns)  # with the prediction among them
    return {kind.id: kind.name for kind in (*lab.subject.model.kinds, *drawn)}


def pictures(found: ByParadigm, which: Sequence[str | None], names: Mapping[str, str]) -> list[str]:
    """Numbers of kinds as squares: of paradigms' words, or, None, of all paradigms at the last."""
    squares = [_squares(found, paradigm, names) for paradigm in which]
    return [f"<h2>{_text(found.name)}</h2>", _list(found.notes), *squares]


def _text(text: str) -> str:
    return escape(printable(text))


def _list(lines: Sequence[str]) -> str:
    return "<ul>" + "".join(f"<li>{_text(line)}</li>" for line in lines) + "</ul>"


def _accuracies(lab: Lab, which: str | None, conditions: bool) -> str:
    models = list(dict.fromkeys(name for row in lab.paradigms for name in row.published))
    heads = ["", "right", "95%", "items", "words known", "bits", *models]
    head = "".join(f"<th>{_text(name)}</th>" for name in heads)
    rows = []
    for paradigm in lab.paradigms:
        if which not in (None, paradigm.paradigm):
            continue
        beside = [one for one in lab.conditions
                  if conditions and one.paradigm == paradigm.paradigm]  # fmt: skip
        for one in (paradigm, *beside):
            cells = [share(one.accuracy), between(one.low, one.high), f"{one.items:,}",
                     "" if one.known is None else share(one.known),
                     "" if one.margin is None else f"{one.margin:+.2f}",
                     *(share(one.published[m]) if m in one.published else "" for m in models)
                     ]  # fmt: skip
            sort = ' class="condition"' if one.condition else ""
            rows.append(f"<tr{sort}><th>{_text(one.condition or one.paradigm)}</th>"
                        + "".join(f"<td>{_text(cell)}</td>" for cell in cells) + "</tr>"
                        )  # fmt: skip
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _squares(found: ByParadigm, paradigm: str | None, kind_names: Mapping[str, str]) -> str:
    names, values = rows_of(found, paradigm)
    title = "At the last word before the critical one" if paradigm is None else paradigm
    head = "<th></th>" + "".join(
        f'<th title="{_text(kind_names.get(kind, kind))}">{_text(kind)}</th>'
        for kind in found.kinds
    )
    rows = []
    for place, name in enumerate(names):
        which = name if paradigm is None else paradigm
        before = 1 if paradigm is None else len(values) - place
        cells = [_square(found, which, kind, before) for kind in found.kinds]
        rows.append(f"<tr><th>{_text(name)}</th>{''.join(cells)}</tr>")
    return (f"<h3>{_text(title)}</h3><div class=wide><table class=squares><thead><tr>{head}</tr>"
            f"</thead><tbody>{''.join(rows)}</tbody></table></div>")  # fmt: skip


def _square(found: ByParadigm, paradigm: str, kind: str, before: int) -> str:
    """A number on its colour; how sure it is, and its control, where one points at it."""
    one = found.cells.get((paradigm, kind, before))
    if one is None:
        return "<td></td>"
    if (value := one.value) is None:
        none = f"{kind}: the pair does not separate here, {one.items} items"
        return f'<td title="{_text(none)}">–</td>'
    reach = max(1 - found.usual, found.usual)
    far = min(1.0, abs(value - found.usual) / reach)
    colour = mixed(_MORE if value > found.usual else _LESS, far)
    about = [f"{kind}: {value:.3f}", f"{one.items} items"]
    about += [f"{one.low:.3f} to {one.high:.3f}"] if one.low is not None and one.high is not None \
        else []  # fmt: skip
    about += [f"control {one.control:.3f}"] if one.control is not None else []
    # An attribute, and no style: pages that are served may have styles in files alone.
    ink = " class=dark" if far > 0.55 else ""
    return (f'<td bgcolor="{colour}"{ink} title="{_text(", ".join(about))}">'
            f"{_short(value)}</td>")  # fmt: skip


def _short(value: float) -> str:
    """A share in two digits; what is next to nothing has no sign."""
    return f"{value:.2f}".replace("-0.00", "0.00").replace("0.", ".", 1)
