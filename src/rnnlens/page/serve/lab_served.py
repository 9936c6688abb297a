"""The laboratory as a page that a server sends: a suite that comes along, asked of a run."""

from collections.abc import Sequence
from functools import partial
from html import escape
from urllib.parse import quote_plus, urlencode

from rnnlens.ask.questions import Subjects
from rnnlens.base.errors import RnnlensError
from rnnlens.draw.printable import printable
from rnnlens.lab.lab_page import accuracies, html_page, kind_names, pictures
from rnnlens.lab.laboratory import lab
from rnnlens.lab.suite import built_in
from rnnlens.reading.subject import Subject

STYLE_AT = "/api/lab.css"
ITEMS, CONTRASTS = 20, 12  # of each template that are made, and contrasts of a paradigm
_ALL = "all paradigms"
_READ = (
    "First, what each part of the network can be <b>read</b> to prefer; then what the model "
    "<b>uses</b>: how much moves when that part's state is taken from the other sentence. Violet: "
    "the right form, or all of the difference; orange: the wrong one; white: neither. Point at a "
    "number for its interval, its control and how many items it is of."
)


def served_lab(
    subjects: Subjects, run: str | None, suite: str | None, paradigm: str | None
) -> tuple[str, int]:
    """The page of a run, a suite and a paradigm, None: all of them; and the status to send."""
    known = built_in()
    suite = known[0] if suite is None else suite
    run = next(iter(subjects)) if run is None else run  # its name here may not be the subject's own
    there = run if run in [*subjects] else next(iter(subjects))  # where links lead to
    head = [
        f'<h1>The laboratory <a href="/#run={quote_plus(there)}">to the lens</a></h1>',
        _links("model", {name: _at(name, suite, None) for name in subjects}, run),
        _links("suite", {name: _at(there, name, None) for name in known}, suite),
    ]
    status = 200
    try:
        parts = _asked(subjects[run], run, suite, paradigm)
    except RnnlensError as error:
        status = 404 if there != run else 400
        parts = [f"<p role=alert>{escape(printable(str(error)))}</p>"]
    title = f"The laboratory: {run[:60]} on {suite[:60]}"
    return html_page(title, [*head, *parts], STYLE_AT), status


def _asked(subject: Subject, run: str, suite: str, paradigm: str | None) -> list[str]:
    if suite not in built_in():  # and no file, whatever it is called
        raise RnnlensError(f"no suite {suite[:60]!r} comes along; choose one of those above")
    found = lab(subject, suite, most=ITEMS)
    found.quiet = True
    places = {_ALL: _at(run, suite, None)}
    places |= {one.paradigm: _at(run, suite, one.paradigm) for one in found.paradigms}
    if paradigm is not None and paradigm not in [*places][1:]:
        raise RnnlensError(
            f"there is no paradigm {paradigm[:60]!r} in the suite {suite}; choose the suite again"
        )
    note = (f"At most {ITEMS} ways to fill each template are asked here, and {CONTRASTS} contrasts "
            f"of a paradigm are interchanged; for all of them: rnnlens lab {run} {suite} --kinds "
            "--interchange")  # fmt: skip
    drawn, told = list[str](), accuracies(found, paradigm, conditions=paradigm is not None)
    most = CONTRASTS * (1 if paradigm else len(found.paradigms))
    for ask in (found.preferences, partial(found.interchange, most=most)):
        try:
            part = pictures(ask(paradigm=paradigm), [paradigm], kind_names(found))
        except RnnlensError as error:  # such as a suite in which there is nothing to interchange
            part = [f"<p>{escape(printable(str(error)))}</p>"]
        drawn.append(f"<div>{''.join(part)}</div>")
    return [_links("paradigm", places, paradigm or _ALL), f"<p>{_READ}</p>",
            f"<div class=pair>{''.join(drawn)}</div>", "<h2>How often it is right</h2>", *told,
            f"<p>{escape(note)}</p>"]  # fmt: skip


def _at(run: str, suite: str, paradigm: str | None) -> str:
    asked = {"run": run, "suite": suite} | ({"paradigm": paradigm} if paradigm else {})
    return f"/lab?{urlencode(asked)}"


def _links(title: str, places: dict[str, str], here: str) -> str:
    """Where one can go, and where one is."""
    shown: Sequence[str] = [
        f"<b>{escape(printable(name))}</b>" if name == here else
        f'<a href="{escape(place)}">{escape(printable(name))}</a>'
        for name, place in places.items()
    ]  # fmt: skip
    return f"<nav aria-label={title}><span>{title}</span>{' '.join(shown)}</nav>"
