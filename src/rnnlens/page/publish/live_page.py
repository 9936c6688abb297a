"""A lens published: one file of HTML that reads whatever is typed, with nothing to install, to
serve or to fetch from elsewhere.
"""

import hashlib
import json
import warnings
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
from pydantic.dataclasses import dataclass as question_class

from rnnlens.ask.grids import joined
from rnnlens.ask.grids import parts as grid_parts
from rnnlens.ask.questions import STRICT, OfRun, Text
from rnnlens.base.errors import RnnlensError, RnnlensWarning
from rnnlens.base.files import write_bytes
from rnnlens.base.pace import checkpoint
from rnnlens.base.progress import to_stderr
from rnnlens.model.cells.classic import TORCHS
from rnnlens.page.bundle import embeddable, inline, small_script, source_hash
from rnnlens.page.publish.pack import Packed, packed
from rnnlens.page.publish.precisions import Precision
from rnnlens.page.publish.recorded_part import RecordedPart
from rnnlens.page.publish.story import Story
from rnnlens.reading.lines import Lines
from rnnlens.reading.subject import Subject

LARGE = 50_000_000  # bytes: what is longer on its way than people wait for a page
_WORTH = 50_000  # bytes of a part that is named
_AT_ONCE = 100  # rows of the first text that Python computes; the page goes on
_LONGEST_TITLE, _LONGEST_NOTE = 200, 5_000  # characters

# First a line that says what is wrong where nothing else does: its script removes it, unless the
# file was cut before its end or changed since. The script comes before what is large, so that
# something is drawn while the rest is on its way.
# What only layers with a linear memory need; engine/network.js looks whether there are such.
_LINEAR = frozenset({"engine/blocks.js", "engine/recurrences.js"})
_SHELL = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="rnnlens">
<title>{title}</title>
</head>
<body>
<noscript>rnnlens draws with JavaScript, which this browser does not run.</noscript>
<p id="opening">loading the lens … If this line stays, the file is damaged or cut short, or the \
browser is older than 2023: get the file again, or open it in another browser.</p>
<style>{style}</style>
{story}<script type="application/json" id="head">{head}</script>
<script>{script}</script>
<script type="text/plain" id="engine">{engine}</script>
<script type="text/plain" id="manifest">{manifest}</script>
<script type="text/plain" id="weights">{weights}</script>
</body>
</html>
"""
_VOID = ("br", "hr", "img")  # elements of a story that have no end
_PIECE = 7 << 14  # bytes that are written at once, so that large lenses take no more memory
_CODES = np.arange(128, dtype=np.uint8)
_CODES[[0, ord("\r"), ord("<")]] = range(ord("À"), ord("À") + 3)


@dataclass(frozen=True)
class Words:
    """What an author says on a published page."""

    title: str = ""  #: In place of the run's name.
    note: str = ""  #: A paragraph above the text.
    text: str | None = None  #: What is read first; the run's first example without it.
    story: Path | None = None  #: Markdown whose links are views; the first is shown first.


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


def published(
    subject: Subject,
    semantics: Sequence[str] = (),
    precision: Precision = "int8",
    words: Words | None = None,
    texts: int | None = None,
) -> Published:
    """The live page of a subject, with its probes for some semantics or for all. Of recorded states
    it keeps as many `texts`, the first read and those of the story among them.
    """
    words = _checked(words or Words())
    chosen = list(dict.fromkeys(semantics)) or list(subject.semantics)
    story = None if words.story is None else Story.read(words.story)
    examples, first = subject.examples(), story.first if story else {}
    usual = words.text if words.text is not None else first.get("text")
    usual = examples[0] if usual is None else usual
    if story:
        story.check(subject, chosen, usual)
    recorded = RecordedPart.of(subject, texts, [usual, *(story.texts if story else ())])
    if recorded:
        to_stderr(str(recorded))
    parts = packed(subject, chosen, precision, recorded)
    parts = _titled(parts, words.title or (story.title if story else ""))
    run = {**parts.manifest["run"], "examples": list(dict.fromkeys([usual, *examples]))}
    text, edits = first.get("text"), first.get("edits", [])
    lines = Lines.of(
        subject, usual if text is None else text,
        first.get("semantic") or (chosen[0] if chosen else None), first.get("palette"), edits,
    )  # fmt: skip
    grid = joined(part for part, _ in grid_parts(lines, limit=_AT_ONCE))
    grid |= {"title": parts.manifest["title"], "semantics": chosen, "reads": recorded is None}
    asked = {"palette": first.get("palette"), "edits": edits}
    head = {"run": run, "grid": grid, "note": words.note, "first": asked}
    page = live_page(parts, head, story.html if story else "")
    more = {"words": parts.manifest, "first rows": grid}
    sizes = parts.sizes | {name: len(embeddable(value).encode()) for name, value in more.items()}
    sizes |= {"story": len(story.html.encode())} if story else {}
    return Published(page, sizes | {"page": code_size()})


def _checked(words: Words) -> Words:
    """An author's words without blanks around title and note; an error where these are no texts."""
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
    return replace(words, title=said["title"], note=said["note"])


def _titled(parts: Packed, title: str) -> Packed:
    """What a file holds, under its author's title."""
    if not title:
        return parts
    manifest: dict[str, Any] = {**parts.manifest, "title": title}
    for name in ("run", "accuracy"):
        if manifest[name]:
            manifest[name] = {**manifest[name], "title": title}
    return Packed(manifest, parts.blob, parts.sizes)


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"


def live_page(packed: Packed, head: dict[str, Any], story: str = "") -> bytes:
    """The whole file; `head` is shown before the engine is ready, beside a story where it has one,
    which is HTML.
    """
    style, without = _styles(), _needless(packed.manifest["network"])
    held = {
        "engine": small_script("worker.js", without).encode(),
        "manifest": json.dumps(packed.manifest, allow_nan=False).encode(),
        "weights": packed.blob,
    }
    inside = f"\n{story}\n" if story else ""
    sizes = {name: len(data) for name, data in held.items()}
    first = _whole(embeddable({**head, "sizes": sizes}))
    policy = (
        "default-src 'none'; script-src {script} 'wasm-unsafe-eval'; "
        f"style-src {source_hash(style)}; worker-src blob:; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )
    vouched = {name: _sum(data) for name, data in held.items()} | {
        "policy": _sum(policy.format(script="").encode()),
        "style": _sum(style.encode()),
        "head": _sum(first.encode()),
        "story": _sum(outline(inside).encode()) if story else "",
    }
    script = f"const VOUCHED = {json.dumps(vouched)};\n{small_script('published.js', without)}"
    return _SHELL.format(
        policy=policy.format(script=source_hash(script)),
        title=escape(f"rnnlens · {head['run']['title']}"),
        style=style,
        story=f'<article id="story" class="story">{inside}</article>\n' if story else "",
        head=first,
        script=script,
        **{name: _zipped(data) for name, data in held.items()},
    ).encode("utf-8", "replace")


def _needless(network: dict[str, Any]) -> frozenset[str]:
    """The modules with equations that no layer of this network has."""
    own = {layer["cell"] for layer in network.get("layers", ())}
    return _LINEAR if own <= {cell.name for cell in TORCHS.values()} else frozenset()


def _sum(data: bytes) -> str:
    """As net/vouched.js has it of what it finds."""
    return hashlib.sha256(data).hexdigest()


def _whole(text: str) -> str:
    """A text without half characters, which no file holds."""
    return text.encode("utf-8", "replace").decode()


class _Outline(HTMLParser):
    """What HTML holds, element by element, as `outline` of net/vouched.js has it."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = sorted(f"\0{name}={value or ''}" for name, value in attrs)
        self.parts += [f"\0<{tag}", *names, "\0>"]
        if tag in _VOID:
            self.parts.append("\0/")

    def handle_endtag(self, tag: str) -> None:  # noqa: ARG002 - what is ours ends in order
        self.parts.append("\0/")

    def handle_data(self, data: str) -> None:
        self.parts.append(data)


def outline(html: str) -> str:
    """All that some HTML holds, in one text that does not depend on how it is written."""
    parser = _Outline()
    parser.feed(_whole(html))
    parser.close()
    return "".join(parser.parts)


def code_size() -> int:
    """Bytes of the page itself: style, page and engine."""
    parts = _styles(), small_script("published.js"), small_script("worker.js")
    return sum(len(part.encode()) for part in parts)


def _styles() -> str:
    return inline("style.css") + inline("published.css")


def _zipped(data: bytes) -> str:
    """As net/unzip.js reads it; the same bytes give the same text."""
    packer = zlib.compressobj(9, wbits=16 + zlib.MAX_WBITS)  # gzip's, without a date
    pieces = []
    for at in range(0, len(data), _PIECE):
        checkpoint()
        pieces.append(packer.compress(data[at : at + _PIECE]))
    return seven_bits(b"".join([*pieces, packer.flush()]))


def seven_bits(data: bytes) -> str:
    """Bytes as text that HTML leaves as it is, seven bits a character: it takes an eighth less room
    than base64. The characters are those of ASCII but for three, which one of Latin-1 stands for.
    """
    return "".join(_seven_bits(data[at : at + _PIECE]) for at in range(0, len(data), _PIECE))


def _seven_bits(data: bytes) -> str:
    checkpoint()
    blocks = np.frombuffer(data + bytes(-len(data) % 7), np.uint8).reshape(-1, 7).astype(np.uint64)
    number = (blocks << np.arange(48, -1, -8, dtype=np.uint64)).sum(1, dtype=np.uint64)  # 56 bits
    codes = (number[:, None] >> np.arange(49, -1, -7, dtype=np.uint64)) & np.uint64(127)
    text: str = _CODES[codes.astype(np.uint8).ravel()].tobytes().decode("latin-1")
    return text[: -(-8 * len(data) // 7)]
