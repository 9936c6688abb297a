"""A story: prose in Markdown whose links are views, so that the lens beside it shows what is told.

Each view is checked against the lens that it is told of, with the rules of the page: a kind, a
word, a label or an edit that there is not is refused with the number of its line.
"""

import base64
import gzip
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from rnnlens.ask.follow import Sides
from rnnlens.ask.grids import drawn_columns
from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import damaged
from rnnlens.base.rules import message
from rnnlens.page.publish.markdown import Renderer
from rnnlens.page.view_link import decoded
from rnnlens.reading.lines import Lines
from rnnlens.reading.subject import Subject

_LONGEST = 500_000  # bytes of prose
_MOST_VIEWS = 500
_LARGEST_PICTURE, _PICTURES = 2_000_000, 4_000_000  # bytes of one, and of all
_TYPES = {
    ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif",
    ".webp": "image/webp", ".svg": "image/svg+xml",
}  # fmt: skip
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:|//", flags=re.IGNORECASE)
_AWAY = ("https://", "http://", "mailto:")
_LENS = re.compile(r"\{lens\}(?: +\S+)?")
_ABSENT = "a published file has {what}; leave {key}= out"


@dataclass
class Story:
    """Prose as HTML, and the views that it leads to."""

    path: Path
    title: str = ""  #: Its first heading.
    html: str = ""
    views: list[tuple[dict[str, Any], int]] = field(default_factory=list)  #: Each with its line.
    _anchors: list[tuple[str, int]] = field(default_factory=list)
    _pictures: int = 0  # bytes of all

    @classmethod
    def read(cls, path: Path) -> "Story":
        """The story of a Markdown file."""
        story = cls(path)
        text, renderer = _prose(path), Renderer(story)
        try:
            story.html = renderer.render(text)
            story._check_anchors(renderer.anchors)
        except RnnlensError as error:
            raise RnnlensError(f"{path.name} {error}") from error
        story.title = renderer.title
        return story

    @property
    def first(self) -> dict[str, Any]:
        """What the view names that it begins with."""
        return self.views[0][0] if self.views else {}

    @property
    def texts(self) -> list[str]:
        """What its views read, and their pins."""
        views = [view for view, _ in self.views]
        named = [one.get("text") for view in views for one in (view, *view.get("pins", ()))]
        return [text for text in named if text is not None]

    def check(self, subject: Subject, semantics: Sequence[str], text: str) -> None:
        """Refuse a view that the lens cannot show; `text` is read where a view names none."""
        for view, line in self.views:
            try:
                _check(view, subject, semantics, text)
            except RnnlensError as error:
                raise RnnlensError(f"{self.path.name} line {line}: {error}") from error

    def view(self, address: str) -> bool:
        """Whether a link is a view."""
        return address.startswith("#") and "=" in address

    def link(self, address: str, line: int) -> str:
        """The attributes of a link."""
        if self.view(address):
            self._take(address, line)
            return f'class="view" href="{escape(address)}"'
        if address.startswith("#"):
            self._anchors.append((unquote(address[1:]), line))
            return f'href="#story-{escape(unquote(address[1:]))}"'
        if address.lower().startswith(_AWAY) and address.isprintable():
            return f'href="{escape(address)}" target="_blank" rel="noopener noreferrer"'
        if not address or _SCHEME.match(address) or not address.isprintable():
            raise RnnlensError(
                f"line {line}: the link {address[:60]!r} leads nowhere that is safe; give a view "
                "such as #text=we+stand, or an address with https://"
            )
        return f'href="{escape(address)}"'

    def picture(self, address: str, line: int) -> str:
        """A picture of the story's folder, as the file holds it."""
        path = self.path.parent / unquote(address)
        sort = _TYPES.get(path.suffix.lower())
        if _SCHEME.match(address) or sort is None:
            known = ", ".join(_TYPES)
            raise RnnlensError(
                f"line {line}: the picture {address[:60]!r} cannot be put into the file; give one "
                f"beside the story that ends in {known}"
            )
        data = _bytes(path, f"line {line}: ", _LARGEST_PICTURE)
        self._pictures += len(data)
        if self._pictures > _PICTURES:
            raise RnnlensError(
                f"line {line}: the pictures have more than {_PICTURES // 10**6} MB; give fewer or "
                "smaller ones"
            )
        if sort == _TYPES[".svg"]:  # a tenth as long; story.js unpacks it
            sort, data = "application/gzip", gzip.compress(data, mtime=0)
        return f"data:{sort};base64,{base64.b64encode(data).decode()}"

    def fence(self, info: str, body: str, line: int) -> str | None:
        """A fence `{lens}` is a view; one that says what else is made of the page is left out."""
        if info == "{story}" or info.startswith("{story} "):
            return ""
        if not _LENS.fullmatch(info):
            return None
        parts = [part.strip() for part in body.splitlines()]
        address = "#" + "".join(part for part in parts if not part.startswith(":"))
        link = self.link(address, line)
        return f'<p data-view="{escape(address)}"><a {link}>Show this in the lens</a></p>'

    def _check_anchors(self, known: set[str]) -> None:
        for anchor, line in self._anchors:
            if anchor not in known:
                raise RnnlensError(
                    f"line {line}: no heading is called #{anchor}; a view has a name and a value, "
                    "such as #text=we+stand"
                )

    def _take(self, address: str, line: int) -> None:
        try:
            view = decoded(address)
        except RnnlensError as error:
            raise RnnlensError(f"line {line}: {error}") from error
        self.views.append((view, line))
        if len(self.views) > _MOST_VIEWS:
            raise RnnlensError(
                f"line {line}: a story of more than {_MOST_VIEWS} views is too long; make two of it"
            )


def _prose(path: Path) -> str:
    data = _bytes(path, "", _LONGEST)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise RnnlensError(
            f"{path.name} line {line}: that is no text in UTF-8; save the story as UTF-8"
        ) from error


def _bytes(path: Path, where: str, most: int) -> bytes:
    """What a file holds, unless it is too much."""
    try:
        if not path.is_file():
            there = "is no file" if path.exists() else "is not there"
            raise RnnlensError(f"{where}{path} {there}; give the name of one")
        with path.open("rb") as file:
            data = file.read(most + 1)
    except (OSError, ValueError) as error:
        raise damaged(path, error, "give another file") from error
    if len(data) > most:
        raise RnnlensError(
            f"{where}{path.name} has more than {most / 1e6:g} MB; give a shorter one"
        )
    return data


def _check(view: dict[str, Any], subject: Subject, semantics: Sequence[str], text: str) -> None:
    """Refuse what the page of this lens would not show."""
    run, beside, page = view.get("run"), view.get("beside"), view.get("page")
    if run not in (None, subject.name):
        raise RnnlensError(_ABSENT.format(what=f"one run, {subject.name}", key="run"))
    if beside is not None:
        raise RnnlensError(_ABSENT.format(what=f"one run, {subject.name}", key="beside"))
    if page == "corpus" or view.get("find") is not None:
        raise RnnlensError(_ABSENT.format(what="no corpus", key="find" if page is None else "page"))
    first = semantics[0] if semantics else None
    semantic = view.get("semantic") or first
    _check_semantic(semantic, semantics, subject)
    shown = view.get("text")
    lines = Lines.of(
        subject, text if shown is None else shown, semantic, view.get("palette"),
        view.get("edits", ()),
    )  # fmt: skip
    lines.check_length()
    if kinds := view.get("kinds"):
        drawn_columns(lines, kinds)
    if focus := view.get("focus"):
        _check_place(lines, focus)
    for followed in (view.get("follow"), view.get("contrast")):
        if followed:
            Sides.of(followed["labels"], followed["against"], lines.shown[0].answers.names)
    for pin in view.get("pins", ()):
        _check_pin(pin, lines, subject, semantics)


def _check_semantic(semantic: str | None, semantics: Sequence[str], subject: Subject) -> None:
    if semantic is not None and semantic not in semantics:
        subject.check_semantic(semantic)
        known = ", ".join(semantics)
        raise RnnlensError(f"the file has no probes for the semantic {semantic!r}; it has {known}")


def _check_pin(
    pin: dict[str, Any], lines: Lines, subject: Subject, semantics: Sequence[str]
) -> None:
    if pin["run"] not in (None, subject.name):
        raise RnnlensError(_ABSENT.format(what=f"one run, {subject.name}", key="pin"))
    semantic = pin["semantic"] or lines.shown[0].semantic
    if pin["semantic"] is not None:
        _check_semantic(semantic, semantics, subject)
    other = pin["text"] is not None or pin["semantic"] is not None
    text = lines.text if pin["text"] is None else pin["text"]
    _check_place(Lines.of(subject, text, semantic) if other else lines, pin)


def _check_place(lines: Lines, place: dict[str, Any]) -> None:
    """Refuse a state that a grid has not."""
    _check_column(lines, place["column"])
    if place["row"] >= len(lines.lines):
        row, count = place["row"] + 1, len(lines.lines)
        raise RnnlensError(f"the link points at word {row}; give one up to {count}")


def _check_column(lines: Lines, column: str) -> None:
    known = [one.id for one in lines.columns]
    if column not in known:
        run = lines.shown[0].subject.name
        raise RnnlensError(
            message("no_column", run=run, column=repr(column), known=", ".join(known))
        )
