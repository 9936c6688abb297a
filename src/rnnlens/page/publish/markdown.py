"""Markdown as HTML in which nothing is the author's own markup: headings, paragraphs, emphasis,
code, lists, quotes, tables, links and pictures. Whatever else there is, raw HTML too, is text; only
comments are left out, as they are everywhere.

Each step looks at a character a bounded number of times, so that no text, however it is meant,
takes long.
"""

import html
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from rnnlens.base.errors import RnnlensError

_DEEPEST = 12  # quotes and lists within each other; what is deeper is text
_MOST_OPEN = 100  # brackets and stars that may still find their ends
_MOST_CELLS = 40  # of a row; wider ones are no tables
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})(.*)")
_HEADING = re.compile(r" {0,3}(#{1,6})(?: +(.*))?$")
_ITEM = re.compile(r"( {0,3})([-*+]|\d{1,9}[.)])(?:( +)|$)")
_RULED = re.compile(r"\|? *:?-+:? *(?:\| *:?-+:? *)*\|?$")
_PUNCTUATION = r"[!-/:-@\[-`{-~]"
_TOKEN = re.compile(
    rf"\\{_PUNCTUATION}|`+|!?\[|\*+|_+|\n|<https?://[^\s<>]*>"
    r"|\]\((?P<address><[^<>\n]*>|[^\s()<>]*(?:\([^\s()]*\)[^\s()<>]*)*)"
    r"""(?: +(?:"[^"\n]*"|'[^'\n]*'))?\)"""
    r"|\]|[^\\`!\[\]*_\n<]+|."
)


class Line(NamedTuple):
    """A line of a file."""

    number: int  # from 1
    text: str


class Links(Protocol):
    """Who knows where links lead, and refuses those that it does not want."""

    def link(self, address: str, line: int) -> str:
        """The attributes of an `a`."""

    def picture(self, address: str, line: int) -> str:
        """A picture as an address that holds it."""

    def view(self, address: str) -> bool:
        """Whether a link is a view, which its paragraph then has."""

    def fence(self, info: str, body: str, line: int) -> str | None:
        """What stands for a fence with these words behind it; None: the code itself."""


@dataclass
class _Open:
    """What has begun, and may end: a bracket, or a run of stars."""

    sign: str  # "[", "![", "*", "_"; "": no longer
    count: int
    piece: int  # where it stands in what is written
    at: int  # where it stands in the text
    tags: str = ""


def lines_of(text: str) -> list[Line]:
    """The lines of a text by number."""
    expanded = text.expandtabs(4).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return [Line(number, line) for number, line in enumerate(expanded, 1)]


def slug(heading: str) -> str:
    """The name by which links find a heading, as code hosts make it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


class Renderer:
    """Markdown to HTML. After that `title` is the first heading, and `anchors` are all of them."""

    def __init__(self, links: Links) -> None:
        self.links = links
        self.title = ""
        self.anchors: set[str] = set()
        self._named: defaultdict[str, int] = defaultdict(int)  # headings alike are numbered

    def render(self, text: str) -> str:
        """A whole text."""
        return "\n".join(self._blocks(lines_of(text), 0))

    def _blocks(self, lines: Sequence[Line], depth: int) -> Iterator[str]:
        at = 0
        while at < len(lines):
            if not lines[at].text.strip():
                at += 1
                continue
            at, block = self._block(lines, at, depth)
            if block:
                yield block

    def _block(self, lines: Sequence[Line], at: int, depth: int) -> tuple[int, str]:
        """The block that begins at a line, and where the next one may."""
        text = lines[at].text
        if depth < _DEEPEST and text.lstrip().startswith(">"):
            return self._quote(lines, at, depth)
        if depth < _DEEPEST and _ITEM.match(text) and not _is_rule(text):
            return self._list(lines, at, depth)
        return self._leaf(lines, at) or self._paragraph(lines, at)

    def _leaf(self, lines: Sequence[Line], at: int) -> tuple[int, str] | None:
        """A block that is neither a paragraph nor has others in it."""
        line, block = lines[at], None
        if line.text.lstrip().startswith("<!--"):
            block = _after_comment(lines, at), ""
        elif fence := _FENCE.match(line.text):
            block = self._fence(lines, at, fence)
        elif heading := _HEADING.match(line.text):
            words = Line(line.number, _without_closing(heading[2] or ""))
            block = at + 1, self._heading(len(heading[1]), [words])
        elif _is_rule(line.text):
            block = at + 1, "<hr>"
        elif line.text.startswith("    "):
            block = _indented(lines, at)
        elif _is_table(lines, at):
            block = self._table(lines, at)
        return block

    def _fence(self, lines: Sequence[Line], at: int, fence: re.Match[str]) -> tuple[int, str]:
        sign, info = fence[1], fence[2].strip()
        end = re.compile(rf" {{0,3}}{re.escape(sign[0])}{{{len(sign)},}} *$")
        last = next((k for k in range(at + 1, len(lines)) if end.match(lines[k].text)), len(lines))
        body = "\n".join(line.text for line in lines[at + 1 : last])
        instead = self.links.fence(info, body, lines[at].number)
        return last + 1, _code(body) if instead is None else instead

    def _heading(self, level: int, lines: list[Line]) -> str:
        words = "\n".join(line.text for line in lines)
        name = base = slug(words)
        while name in self.anchors:
            self._named[base] += 1
            name = f"{base}-{self._named[base]}"
        self.anchors.add(name)
        inside, view = self._inline(lines)
        self.title = self.title or html.unescape(re.sub(r"<[^>]*>", "", inside))
        return f'<h{level} id="story-{html.escape(name)}"{view}>{inside}</h{level}>'

    def _quote(self, lines: Sequence[Line], at: int, depth: int) -> tuple[int, str]:
        inside: list[Line] = []
        while at < len(lines) and (text := lines[at].text.lstrip()).startswith(">"):
            inside.append(Line(lines[at].number, re.sub("^> ?", "", text)))
            at += 1
        parts = "\n".join(self._blocks(inside, depth + 1))
        return at, f"<blockquote>{parts}</blockquote>"

    def _list(self, lines: Sequence[Line], at: int, depth: int) -> tuple[int, str]:
        sign = _kind(_ITEM.match(lines[at].text))
        first = re.match(r" *(\d+)", lines[at].text)
        items: list[list[Line]] = []
        loose = blank = False
        while at < len(lines):
            item = _ITEM.match(lines[at].text)
            if _kind(item) != sign or item is None or _is_rule(lines[at].text):
                break
            loose |= blank
            width = item.end() if 0 < len(item[3] or "") < 5 else item.end(2) + 1
            own = [Line(lines[at].number, lines[at].text[width:])]
            at, blank = at + 1, False
            while at < len(lines):
                text = lines[at].text
                if not text.strip():
                    blank = True
                elif text.startswith(" " * width):
                    loose |= blank
                    own += [Line(lines[at].number, "")] if blank else []
                    own.append(Line(lines[at].number, text[width:]))
                    blank = False
                elif blank or self._begins(lines, at) or _kind(_ITEM.match(text)) == sign:
                    break
                else:
                    own.append(Line(lines[at].number, text.strip()))
                at += 1
            items.append(own)
        tag = "ol" if first else "ul"
        start = f' start="{int(first[1])}"' if first and int(first[1]) != 1 else ""
        parts = "".join(self._item(item, loose, depth) for item in items)
        return at, f"<{tag}{start}>{parts}</{tag}>"

    def _item(self, lines: list[Line], loose: bool, depth: int) -> str:
        """An item of a list; in a dense one its first paragraph is the item itself."""
        end = next((k for k, line in enumerate(lines) if self._ends(lines, k, line)), len(lines))
        if loose or end == 0:
            return f"<li>{''.join(self._blocks(lines, depth + 1))}</li>"
        inside, view = self._inline(lines[:end])
        return f"<li{view}>{inside}{''.join(self._blocks(lines[end:], depth + 1))}</li>"

    def _ends(self, lines: list[Line], at: int, line: Line) -> bool:
        return not line.text.strip() or self._begins(lines, at)

    def _table(self, lines: Sequence[Line], at: int) -> tuple[int, str]:
        heads, ends = _cells(lines[at].text), _cells(lines[at + 1].text)
        sides = [' class="right"' if end[1:].endswith(":") else "" for end in ends]

        def row(line: Line, tag: str) -> str:
            cells, views = [], ""
            texts = _cells(line.text)
            for text, side in zip([*texts, *[""] * len(heads)][: len(heads)], sides, strict=True):
                inside, view = self._inline([Line(line.number, text)])
                views = views or view
                cells.append(f"<{tag}{side}>{inside}</{tag}>")
            return f"<tr{views}>{''.join(cells)}</tr>"

        head = row(lines[at], "th") if any(heads) else ""
        at, rows = at + 2, []
        while at < len(lines) and lines[at].text.strip() and not self._begins(lines, at):
            rows.append(row(lines[at], "td"))
            at += 1
        top = f"<thead>{head}</thead>" if head else ""
        table = f"<table>{top}<tbody>{''.join(rows)}</tbody></table>"
        return at, f'<div class="wide" tabindex="0" role="group" aria-label="a table">{table}</div>'

    def _paragraph(self, lines: Sequence[Line], at: int) -> tuple[int, str]:
        first = at
        while (
            at < len(lines)
            and lines[at].text.strip()
            and (at == first or not self._begins(lines, at))
        ):
            if at > first and (level := _underline(lines[at].text)):
                return at + 1, self._heading(level, list(lines[first:at]))
            at += 1
        inside, view = self._inline(lines[first:at])
        return at, f"<p{view}>{inside}</p>"

    def _begins(self, lines: Sequence[Line], at: int) -> bool:
        """Whether another block begins within a paragraph."""
        text = lines[at].text
        item = _ITEM.match(text)
        listed = item is not None and bool(item[3]) and item[2].rstrip(".)") in ("-", "*", "+", "1")
        ruled = _is_rule(text) and not _underline(text)
        return bool(
            listed or ruled or _HEADING.match(text) or _FENCE.match(text) or _is_table(lines, at)
        ) or text.lstrip().startswith((">", "<!--"))

    def _inline(self, lines: Sequence[Line]) -> tuple[str, str]:
        """Text with what is in it, and the attribute of a block that has a view."""
        return _Inline(self.links, lines).written()


class _Inline:
    """The text of one block."""

    def __init__(self, links: Links, lines: Sequence[Line]) -> None:
        self.links, self.lines = links, lines
        self.breaks = {k for k, line in enumerate(lines) if line.text.endswith(("  ", "\\"))}
        stripped = (line.text.strip() for line in lines)
        self.text = "\n".join(text.removesuffix("\\") for text in stripped)
        self.row = 0
        self.view = ""
        self.out: list[str] = []
        self.open: list[_Open] = []
        self.ticks: dict[int, list[int]] = defaultdict(list)
        for found in re.finditer("`+", self.text):
            self.ticks[len(found[0])].append(found.start())

    @property
    def line(self) -> int:
        """The number of the line that is written."""
        return self.lines[self.row].number if self.lines else 0

    def written(self) -> tuple[str, str]:
        """HTML, and the attribute of a block that has a view."""
        at = 0
        while found := _TOKEN.match(self.text, at):
            at = self._take(found)
        view = f' data-view="{html.escape(self.view)}"' if self.view else ""
        return "".join(self.out), view

    def _take(self, found: re.Match[str]) -> int:
        """Write a piece; where the next one begins."""
        piece, end = found[0], found.end()
        if piece[0] == "\\" and len(piece) == 2:
            self.out.append(html.escape(piece[1]))
        elif piece == "\n":
            self.out.append("<br>\n" if self.row in self.breaks else "\n")
            self.row += 1
        elif piece[0] == "`":
            return self._ticked(found)
        elif piece in ("[", "!["):
            self._begin(_Open(piece, 1, len(self.out), found.start()), piece)
        elif piece[0] == "]":
            self._close(found)
        elif piece[0] in "*_":
            self._emphasis(found)
        elif piece[0] == "<" and len(piece) > 1:
            address = piece[1:-1]
            self.out.append(f"<a {self.links.link(address, self.line)}>{html.escape(address)}</a>")
        else:
            self.out.append(html.escape(html.unescape(piece)))
        return end

    def _begin(self, opened: _Open, written: str) -> None:
        self.out.append(written)
        if len(self.open) < _MOST_OPEN:
            self.open.append(opened)

    def _ticked(self, found: re.Match[str]) -> int:
        """Code, where as many ticks end it."""
        starts, size = self.ticks[len(found[0])], len(found[0])
        after = bisect_right(starts, found.start())
        if after == len(starts):
            self.out.append(found[0])
            return found.end()
        code = self.text[found.end() : starts[after]]
        self.row += code.count("\n")
        code = code.replace("\n", " ")
        if code.strip() and code[0] == code[-1] == " ":
            code = code[1:-1]
        self.out.append(f"<code>{html.escape(code)}</code>")
        return starts[after] + size

    def _close(self, found: re.Match[str]) -> None:
        """A bracket ends: a link, a picture, or nothing."""
        at = next((k for k in reversed(range(len(self.open))) if "[" in self.open[k].sign), None)
        opened = None if at is None else self.open[at]
        del self.open[at if at is not None else len(self.open) :]
        address = found["address"]
        if opened is None or address is None:
            self.out.append(html.escape(found[0]))
            return
        address = html.unescape(address.strip("<>"))
        if opened.sign == "![":
            said = re.sub(r"[*_`\[\]\n]+", " ", self.text[opened.at + 2 : found.start()])
            del self.out[opened.piece :]
            source = self.links.picture(address, self.line)
            self.out.append(f'<img src="{html.escape(source)}" alt="{html.escape(said)}">')
            return
        for other in self.open:  # no link stands within another
            other.sign = "" if other.sign == "[" else other.sign
        self.out[opened.piece] = f"<a {self.links.link(address, self.line)}>"
        self.out.append("</a>")
        if not self.view and self.links.view(address):
            self.view = address

    def _emphasis(self, found: re.Match[str]) -> None:
        sign, count = found[0][0], len(found[0])
        before = self.text[found.start() - 1] if found.start() else " "
        after = self.text[found.end()] if found.end() < len(self.text) else " "
        closes, opens = not before.isspace(), not after.isspace()
        if sign == "_":
            closes, opens = closes and not after.isalnum(), opens and not before.isalnum()
        while closes and count:
            at = self._opener(sign)
            if at is None:
                break
            opened = self.open[at]
            size = 2 if min(count, opened.count) > 1 else 1
            tag = "strong" if size == 2 else "em"
            opened.count, count = opened.count - size, count - size
            opened.tags = f"<{tag}>{opened.tags}"
            self.out[opened.piece] = sign * opened.count + opened.tags
            self.out.append(f"</{tag}>")
            del self.open[at + bool(opened.count) :]
        if not count:
            return
        if opens:
            self._begin(_Open(sign, count, len(self.out), found.start()), sign * count)
        else:
            self.out.append(sign * count)

    def _opener(self, sign: str) -> int | None:
        """The last run of a sign, within the same brackets."""
        for at in reversed(range(len(self.open))):
            if "[" in self.open[at].sign:
                return None
            if self.open[at].sign == sign:
                return at
        return None


def _kind(item: re.Match[str] | None) -> str:
    """Which list an item belongs to: - and *, 1. and 1) are different ones."""
    return item[2][-1] if item else ""


def _code(text: str) -> str:
    return f'<pre tabindex="0"><code>{html.escape(text)}</code></pre>'


def _is_rule(text: str) -> bool:
    signs = text.replace(" ", "")
    return len(signs) > 2 and signs[0] in "-*_" and signs.count(signs[0]) == len(signs)


def _without_closing(heading: str) -> str:
    """A heading without the signs that may stand behind it."""
    words = heading.rstrip()
    bare = words.rstrip("#")
    return bare.rstrip() if not bare or bare.endswith(" ") else words


def _underline(text: str) -> int:
    """The level of a heading that a line is drawn under."""
    signs = text.strip()
    if signs and signs.count(signs[0]) == len(signs):
        return {"=": 1, "-": 2}.get(signs[0], 0)
    return 0


def _indented(lines: Sequence[Line], at: int) -> tuple[int, str]:
    """Code that is moved to the right."""
    first = last = at
    while at < len(lines) and (lines[at].text.startswith("    ") or not lines[at].text.strip()):
        last = at if lines[at].text.strip() else last
        at += 1
    return last + 1, _code("\n".join(line.text[4:] for line in lines[first : last + 1]))


def _after_comment(lines: Sequence[Line], at: int) -> int:
    """The line after a comment's last."""
    for end in range(at, len(lines)):
        if "-->" in lines[end].text:
            return end + 1
    raise RnnlensError(f"line {lines[at].number}: a comment never ends; close it with -->")


def _cells(text: str) -> list[str]:
    """The cells of a row of a table."""
    parts = re.split(r"(?<!\\)\|", text.strip())
    parts = parts[1:] if len(parts) > 1 and not parts[0].strip() else parts
    parts = parts[:-1] if len(parts) > 1 and not parts[-1].strip() else parts
    return [part.replace("\\|", "|").strip() for part in parts]


def _is_table(lines: Sequence[Line], at: int) -> bool:
    """Whether a line is the head of a table, with a rule under it that has as many cells."""
    if (
        "|" not in lines[at].text
        or at + 1 == len(lines)
        or not _RULED.match(lines[at + 1].text.strip())
    ):
        return False
    return "|" in lines[at + 1].text and (
        len(_cells(lines[at].text)) == len(_cells(lines[at + 1].text)) <= _MOST_CELLS
    )
