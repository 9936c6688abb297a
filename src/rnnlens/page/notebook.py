"""Grids and lenses as a notebook shows them: live where it has widgets, and a table that stays."""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from html import escape
from itertools import groupby
from typing import Any
from uuid import uuid4
from weakref import WeakKeyDictionary

from pydantic import TypeAdapter, ValidationError

from rnnlens.ask.answer import TABLE, Table
from rnnlens.ask.answer import answer as ask_answer
from rnnlens.ask.grids import GridQuestion
from rnnlens.ask.questions import Subjects
from rnnlens.base.errors import RnnlensError
from rnnlens.draw.columns import DEFAULT, MANY, last_layer
from rnnlens.draw.look import OUTSIDE, asked_for, bracketed, paleness
from rnnlens.draw.printable import clip, name_of, printable, tail, width_of
from rnnlens.page.bundle import WEB, bundle, compact
from rnnlens.reading.lines import Lines
from rnnlens.reading.subject import Subject

HINT = "for the live grid: pip install 'rnnlens[notebook]', and restart the kernel"

_FIRST_ROWS = 100  # that a widget begins with; it asks for the others
_STATIC_ROWS = 40  # of the table
_LONGEST_LABEL, _LONGEST_PATH = 16, 24
_INK = "#1b1b1f"
Bundle = tuple[dict[str, Any], dict[str, Any]]  # contents by their kinds, and what is said of them
_widgets: WeakKeyDictionary[object, Any] = WeakKeyDictionary()


def shown_grid(grid: object, lines: Lines, json: dict[str, Any]) -> Bundle:
    """What a notebook is given of a grid, by kind of content."""
    start = {**json, "rows": json["rows"][:_FIRST_ROWS]}
    subjects = Subjects.of(*(reading.subject for reading in lines.shown))
    return _shown(grid, subjects, repr(grid), {"grid": start, "typing": False, "examples": []})


def shown_lens(lens: object, subject: Subject) -> Bundle:
    """What a notebook is given of a lens: the first example, and a field for others."""
    examples, subjects = subject.examples(), Subjects.of(subject)
    columns = (DEFAULT,) if len(subject.columns) > MANY else None
    start = ask_answer(subjects, GridQuestion(text=examples[0], limit=_FIRST_ROWS, columns=columns))
    held = {"grid": start, "typing": True, "examples": examples}
    return _shown(lens, subjects, f"<lens {subject.title}>", held)


def _shown(shown: object, subjects: Subjects, said: str, start: dict[str, Any]) -> Bundle:
    """The widget's view and the table; the table alone where there are no widgets."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is not None and not hasattr(shell, "kernel"):  # IPython in a terminal
        return {"text/plain": said}, {}
    widget = _widget_of(shown, subjects, start)
    if widget is None:
        return {"text/html": table(start["grid"], HINT), "text/plain": f"{said}\n{HINT}"}, {}
    found = widget._repr_mimebundle_()
    data, metadata = found if isinstance(found, tuple) else (found, {})
    data = {**data, "text/plain": said}
    static = {"text/html": table(start["grid"], mark=widget.table), "text/plain": said}
    if shell is None:
        return {**data, **static}, metadata
    # An output of its own: reopened without its widget, a view shows an error and nothing else.
    # Where the widget is alive it hides the table.
    shell.display_pub.publish(static)
    return data, metadata


def _widget_of(shown: object, subjects: Subjects, start: dict[str, Any]) -> Any:
    """The widget of a grid or lens, one however often it is shown; None without anywidget."""
    try:
        made = _widget_class()
    except ImportError:
        return None
    if shown not in _widgets or _widgets[shown].comm is None:  # None: somebody closed it
        widget = made(start=_dumps(start), table=f"rnnlens-{uuid4().hex[:12]}")
        widget.on_msg(lambda _, message, __: widget.send(answer(subjects, message)))
        _widgets[shown] = widget
    return _widgets[shown]


@cache
def _widget_class() -> Any:
    """Made when first asked for, because anywidget may not be there."""
    import anywidget
    import traitlets

    class View(anywidget.AnyWidget):
        """A grid or a lens on a notebook's page."""

        _esm = module()
        # As text: copied by nobody on its way, so that no label is mistaken for anything else.
        start = traitlets.Unicode().tag(sync=True)
        table = traitlets.Unicode().tag(sync=True)  # class of the table that stands in for it

    return View


def module() -> str:
    """The ES module that anywidget loads: the page's own modules and their style."""
    inside = bundle("notebook.js").removeprefix("(() => {\n").removesuffix("})();\n")
    inside = compact(inside)  # a notebook that keeps the state of widgets keeps it for each
    given = f'bundled$["notebook.js"].render(given, {json.dumps(style())})'
    return f"{inside}export default {{ render: (given) => {given} }};\n"


def style() -> str:
    """The page's style and what differs; what depends on the window's width, on the widget's."""
    page, own = ((WEB / name).read_text(encoding="utf-8") for name in ("style.css", "notebook.css"))
    page = page.replace(", (max-height: 560px)", "")  # a notebook's window says nothing of a cell
    for edge in ("max-width", "min-width"):
        page = page.replace(f"@media ({edge}:", f"@container ({edge}:")
    return page + own


def answer(subjects: Subjects, message: Any, table: Table = TABLE) -> dict[str, str]:
    """The answer to a question of the widget, which asks what the page asks the server."""
    number = str(message.get("id")) if isinstance(message, dict) else ""
    try:
        return {"id": number, "answer": _dumps(_answered(subjects, message, table))}
    except RnnlensError as error:
        return {"id": number, "error": str(error)}
    except Exception as error:  # noqa: BLE001 - unanswered, the widget would wait for ever
        said = " ".join(str(error).split())
        return {"id": number, "error": f"the kernel failed: {type(error).__name__}: {said[:200]}"}


def _answered(subjects: Subjects, message: Mapping[str, Any], table: Table) -> Any:
    entry = table.get(str(message["path"]).removeprefix("api/"))
    if entry is None:
        raise RnnlensError(f"a widget asked for {message['path']!r}; restart the kernel")
    try:
        question = TypeAdapter(entry.question).validate_python(message["body"])
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        said = first["msg"] if first["type"] == "long" else f"{where}: {first['msg']}"
        raise RnnlensError(said) from error
    return ask_answer(subjects, question, table)


def _dumps(value: Any) -> str:
    return json.dumps(value, allow_nan=False, separators=(",", ":"))  # ASCII: sent by anything


# The table: no script, no picture, and readable where a host takes the colours away.


def table(grid: Mapping[str, Any], hint: str = "", mark: str = "rnnlens") -> str:
    """The grid as HTML that needs nothing: each state's most probable label on its colour."""
    columns = [k for k, column in enumerate(grid["columns"]) if column["shown"]]
    grid = bracketed(grid)
    words, rows = grid["words"], grid["rows"][:_STATIC_ROWS]
    lines = [
        # Neither dollars nor anything else in a word is mathematics.
        f'<div class="{mark} mathjax_ignore tex2jax_ignore">',
        f"<p><b>{_safe(grid['title'])}</b> · what each state says of {asked_for(grid)}</p>",
        '<table style="font-size:12px"><thead>',
        *_headings(grid, columns),
        "</thead><tbody>",
        *(_row(grid, word, row, columns) for word, row in zip(words, rows, strict=False)),
        "</tbody></table>",
    ]
    if left := len(words) - len(rows):
        lines.append(f"<p>… and {left:,} more word{'s' * (left > 1)}</p>")
    lines.append(f"<p><small>{_legend(grid)}</small></p>")
    lines += [f"<p><small>{escape(hint)}</small></p>"] if hint else []
    return "\n".join([*lines, "</div>"])


def _safe(text: str, width: int = 200) -> str:
    """Text that is nothing but text in HTML."""
    return escape(clip(text, width))


def _isolated(text: str) -> str:
    """The text in marks that keep its direction of writing from what stands beside it."""
    return escape(text) if text.isascii() else f"<bdi>{escape(text)}</bdi>"


def _percent(probability: float) -> str:
    return f"{probability:.0%}" if probability >= 0.005 else "&lt;1%"


def _headings(grid: Mapping[str, Any], columns: Iterable[int]) -> Iterator[str]:
    """Layers above, below them the symbols and names of their kinds."""
    described = [grid["columns"][k] for k in columns]
    last = last_layer(grid["columns"])
    layers = [(layer, len(list(members))) for layer, members in
              groupby(described, lambda column: int(column["layer"]))]  # fmt: skip
    named = {0: "input", last: "model"}
    left = 'align="left" style="text-align:left"'
    above = "".join(
        f'<th colspan="{count}" {left}>{named.get(layer, f"layer {layer}")}</th>'
        for layer, count in layers
    )
    below = "".join(f"<th {left}>{_heading(column)}</th>" for column in described)
    yield f"<tr><th></th>{above}</tr>"
    yield f"<tr><th></th>{below}</tr>"


def _heading(column: Mapping[str, Any]) -> str:
    """A kind's symbol and name; of a submodule's output, the end of its path."""
    if not column["letter"]:
        path = tail(printable(column["name"]), lambda end: width_of(end) <= _LONGEST_PATH)
        return f"<small>{escape(path)}</small>"
    before = "<sub>t−1</sub>" * column["back"]
    return f"<i>{_safe(column['symbol'])}</i>{before}<br><small>{_safe(column['name'])}</small>"


def _row(
    grid: Mapping[str, Any],
    word: Mapping[str, Any],
    states: list[Mapping[str, Any]],
    columns: Iterable[int],
) -> str:
    mark = " ?" if word["unknown"] else ""
    side = f"border-right:4px solid {grid['groups'].get(word['group'], 'transparent')}"
    cells = [f'<th align="right" style="{side}">{_isolated(clip(word["text"], 24))}{mark}</th>']
    for k in columns:
        if states[k] is None:  # of a pair, the other side
            cells.append("<td></td>")
            continue
        if states[k]["unread"]:
            void = "nothing read" if states[k]["top"] else ""
            cells.append(f'<td style="text-align:left"><small>{void}</small></td>')
            continue
        if states[k].get("outside"):
            cells.append(f'<td style="text-align:left"><small>{OUTSIDE}</small></td>')
            continue
        label, probability = states[k]["top"][0]
        colour = states[k]["colour"]
        ground = f"background:{colour};color:{_ink_on(colour)};text-align:left"
        name = name_of(label, grid)
        said = _isolated(clip(name or label, _LONGEST_LABEL))
        shown = f"{f'<i>{said}</i>' if name else said}&nbsp;{_percent(probability)}"
        cells.append(f'<td style="{ground}">{shown}</td>')
    return f"<tr>{''.join(cells)}</tr>"


def _legend(grid: Mapping[str, Any]) -> str:
    entries = [
        f'<span style="background:{colour};color:{_ink_on(colour)}">'
        f"&nbsp;{_safe(group.lower())}&nbsp;</span>"
        for group, colour in grid["groups"].items()
    ]
    entries.append(f"faded = {paleness(grid)}")
    entries += ["? = unknown word"] if any(word["unknown"] for word in grid["words"]) else []
    said = "each state's most probable label, on the colour of the leading group"
    return f"{said}: {' '.join(entries)}"


def _ink_on(colour: str) -> str:
    """Black or white, whichever is read more easily on a colour #rrggbb."""
    r, g, b = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
    return "#000" if 0.299 * r + 0.587 * g + 0.114 * b > 128 else "#fff"
