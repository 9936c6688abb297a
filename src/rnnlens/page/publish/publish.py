"""A lens published: one file that reads whatever is typed, with nothing to install or to serve."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic.dataclasses import dataclass as question_class

from rnnlens.ask.grids import joined
from rnnlens.ask.grids import parts as grid_parts
from rnnlens.ask.questions import STRICT, OfRun, Text
from rnnlens.base.errors import RnnlensError, RnnlensWarning
from rnnlens.base.files import write_bytes
from rnnlens.draw.export import check_place
from rnnlens.page.bundle import embeddable
from rnnlens.page.publish.pack import Packed, packed
from rnnlens.page.publish.page import code_size, live_page
from rnnlens.page.publish.quantised import Precision
from rnnlens.reading.lines import Lines
from rnnlens.reading.subject import Subject

LARGE = 50_000_000  # bytes: what is longer on its way than people wait for a page
_WORTH = 50_000  # bytes of a part that is named
_AT_ONCE = 100  # rows of the first text that Python computes; the page goes on
_LONGEST_TITLE, _LONGEST_NOTE = 200, 5_000  # characters


@dataclass(frozen=True)
class Words:
    """What an author says on a published page."""

    title: str = ""  #: In place of the run's name.
    note: str = ""  #: A paragraph above the text.
    text: str | None = None  #: What is read first; the run's first example without it.


@question_class(frozen=True, kw_only=True, config=STRICT)
class PublishQuestion(OfRun):
    """A run to be published, and the text that its page reads first."""

    text: Text


@dataclass(frozen=True)
class Published:
    """A file that is ready to be written."""

    page: bytes
    sizes: dict[str, int]  #: Bytes by part, before they are packed into the file.

    def __str__(self) -> str:
        large = {name: size for name, size in self.sizes.items() if size >= _WORTH}
        parts = ", ".join(f"{name} {_megabytes(size)}" for name, size in large.items())
        return f"{_megabytes(len(self.page))}; before packing: {parts}"

    def write(self, path: Path) -> None:
        """Write it, whole or not at all; a large one is warned of."""
        if len(self.page) > LARGE:
            warnings.warn(
                f"{path.name} has {_megabytes(len(self.page))}, for which readers wait long; it is "
                "smaller with one --semantic, with --precision int8, and with probes that share "
                "their labels: rnnlens fit RUN --probe shared",
                RnnlensWarning, stacklevel=3,
            )  # fmt: skip
        write_bytes(path.resolve(), self.page)


def check(path: Path) -> None:
    """Refuse a file that cannot be written, before anything is computed."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise RnnlensError(f"cannot write {path.name}; give a name ending in .html")
    check_place(path)


def published(
    subject: Subject,
    semantics: Sequence[str] = (),
    precision: Precision = "int8",
    words: Words | None = None,
) -> Published:
    """The live page of a subject, with its probes for some semantics or for all."""
    words = _checked(words or Words())
    chosen = list(dict.fromkeys(semantics)) or list(subject.semantics)
    parts = _titled(packed(subject, chosen, precision), words.title)
    examples = subject.examples()
    text = examples[0] if words.text is None else words.text
    run = {**parts.manifest["run"], "examples": list(dict.fromkeys([text, *examples]))}
    lines = Lines.of(subject, text, chosen[0] if chosen else None)
    grid = joined(part for part, _ in grid_parts(lines, limit=_AT_ONCE))
    grid |= {"title": parts.manifest["title"], "semantics": chosen}
    page = live_page(parts, {"run": run, "grid": grid, "note": words.note})
    more = {"words": parts.manifest, "first rows": grid}
    sizes = parts.sizes | {name: len(embeddable(value).encode()) for name, value in more.items()}
    return Published(page, sizes | {"page": code_size()})


def _checked(words: Words) -> Words:
    """The same without blanks around title and note; an error where they are no short texts."""
    said = {}
    for name, text, most in (
        ("title", words.title, _LONGEST_TITLE), ("note", words.note, _LONGEST_NOTE),
    ):  # fmt: skip
        if not isinstance(text, str):
            raise RnnlensError(
                f"a text is wanted as {name}, and {type(text).__name__} given; give a str"
            )
        if len(text) > most:
            raise RnnlensError(
                f"a {name} of {len(text):,} characters is too long; give at most {most:,}"
            )
        said[name] = text.strip()
    return replace(words, **said)


def _titled(parts: Packed, title: str) -> Packed:
    """The same under its author's title."""
    if not title:
        return parts
    manifest: dict[str, Any] = {**parts.manifest, "title": title}
    for name in ("run", "accuracy"):
        if manifest[name]:
            manifest[name] = {**manifest[name], "title": title}
    return Packed(manifest, parts.blob, parts.sizes)


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"
