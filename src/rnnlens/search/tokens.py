"""The pieces of a question, and the errors that point at one."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from rnnlens.base.errors import RnnlensError

NUMBER, STRING, NAME, KIND, SIGN, STEP, END = (
    "number", "string", "name", "kind", "sign", "step", "end"
)  # fmt: skip
LONGEST = 10_000  # characters of a question
_BROKEN = re.compile("[\ud800-\udfff]")  # what Python makes of bytes that are no text
_SPACE = re.compile(r"\s+")
_NUMBER = re.compile(r"-?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?%?(?=[\s(){},=<>!]|\Z)")
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"|\'((?:[^\'\\]|\\.)*)\'')
_QUOTED_KIND = re.compile(r"`([^`]*)`")
_SIGN = re.compile(r"<=|>=|!=|[(){},=<>]")
_STEP = re.compile(r"@([-+]\d+)")
_NAME = re.compile(r"[^\s(){},=<>!\"`@]+")
_AFTER = re.compile(r"[\s(){},=<>!@]|\Z")


class QueryError(RnnlensError):
    """A question that cannot be answered, and the place in it that is wrong."""

    def __init__(self, message: str, query: str = "", place: int = 0) -> None:
        super().__init__(message)
        self.query, self.place = query, place

    def pointed(self) -> str:
        """The question on one line, and a caret under the place on the next."""
        return f"{_flat(self.query)}\n{' ' * self.place}^"


def _flat(query: str) -> str:
    """A question on one line, every character in its place."""
    return re.sub(r"\s", " ", query)


@dataclass(frozen=True)
class Token:
    """A piece of a question."""

    sort: str
    value: str
    place: int  # of its first character
    text: str  # as it is written


def tokens(query: str, kinds: Iterable[str]) -> Iterator[Token]:
    """The pieces of a question; names of kinds may hold signs, as `h1<` does."""
    if len(query) > LONGEST:
        raise QueryError(f"a question of {len(query):,} characters is too long; ask less at once")
    if broken := _BROKEN.search(query):
        raise QueryError(f"character {broken.start() + 1} is no text in UTF-8; write it anew")
    known = sorted(kinds, key=len, reverse=True)
    at = 0
    while at < len(query):
        if space := _SPACE.match(query, at):
            at = space.end()
            continue
        token = _token(query, at, known)
        if token is None:
            raise QueryError(
                f"character {at + 1}, {query[at]!r}, belongs to no word, number or sign; "
                "texts stand in quotes", query, at,
            )  # fmt: skip
        yield token
        at += len(token.text)
    yield Token(END, "", len(query), "")


def _token(query: str, at: int, kinds: Sequence[str]) -> Token | None:
    for kind in kinds:
        if query.startswith(kind, at) and _AFTER.match(query, at + len(kind)):
            return Token(KIND, kind, at, kind)
    if found := _STRING.match(query, at):
        inner = found[1] if found[1] is not None else found[2]
        return Token(STRING, re.sub(r"\\(.)", r"\1", inner), at, found[0])
    if found := _QUOTED_KIND.match(query, at):
        return Token(KIND, found[1], at, found[0])
    for sort, pattern in ((NUMBER, _NUMBER), (SIGN, _SIGN), (STEP, _STEP), (NAME, _NAME)):
        if found := pattern.match(query, at):
            value = found[1] if sort == STEP else found[0]
            return Token(sort, value, at, found[0])
    return None


def nearest(name: str, there: Iterable[str], count: int = 3) -> list[str]:
    """The names that are there and most like one that is not."""
    by_lower = {one.lower(): one for one in there}
    return [by_lower[one] for one in get_close_matches(name.lower(), by_lower, count, 0.5)]


def proposed(name: str, there: Sequence[str]) -> str:
    """What to write instead: the nearest names, or some that are there."""
    close = nearest(name, there)
    if close:
        return f"did you mean {' or '.join(close)}?"
    few = ", ".join(there[:20])
    return f"there is {few}{', ...' if len(there) > 20 else ''}"
