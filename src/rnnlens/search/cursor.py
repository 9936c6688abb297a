"""A walk over the pieces of a question."""

import math
from typing import NoReturn

from rnnlens.search import tokens as t
from rnnlens.search.tokens import QueryError, Token

_DIGITS = 9  # of a whole number
_DEEPEST = 100  # conditions in one another


class Cursor:
    """The piece at hand, and those that follow."""

    def __init__(self, query: str, tokens: list[Token]) -> None:
        self.query, self.tokens, self.at, self.depth = query, tokens, 0, 0

    @property
    def here(self) -> Token:
        """The piece at hand."""
        return self.tokens[self.at]

    @property
    def following(self) -> Token:
        """The piece after it."""
        return self.tokens[min(self.at + 1, len(self.tokens) - 1)]

    def next(self) -> Token:
        """Take the piece at hand; at the end, stay there."""
        token = self.here
        self.at += token.sort != t.END
        return token

    def wrong(self, what: str, token: Token | None = None) -> QueryError:
        """An error that points at a piece, which is the one at hand unless given."""
        token = token or self.here
        at = f"character {token.place + 1}, {token.text!r}" if token.text else "its end"
        return QueryError(f"the question is wrong at {at}: {what}", self.query, token.place)

    def refuse(self, what: str, token: Token | None = None) -> NoReturn:
        """Raise that error."""
        raise self.wrong(what, token)

    def is_word(self, *words: str) -> bool:
        """Whether the piece at hand is one of some words of the grammar."""
        return self.here.sort == t.NAME and self.here.value.lower() in words

    def word(self, *words: str) -> str:
        """Take one of some words; empty where there is none of them."""
        return self.next().value.lower() if self.is_word(*words) else ""

    def need(self, *words: str) -> str:
        """Take one of some words, which must be there."""
        return self.word(*words) or self.refuse(f"{' or '.join(words)} belongs here")

    def sign(self, *signs: str) -> str:
        """Take one of some signs; empty where there is none of them."""
        is_there = self.here.sort == t.SIGN and self.here.value in signs
        return self.next().value if is_there else ""

    def deeper(self, by: int) -> None:
        """Note that a condition begins or ends, and refuse too many in one another."""
        self.depth += by
        if self.depth > _DEEPEST:
            raise self.wrong(f"more than {_DEEPEST} conditions stand in one another; ask less")

    def number(self) -> float:
        """Take a number; 40% is .4."""
        token = self.next()
        if token.sort != t.NUMBER:
            raise self.wrong("a number belongs here", token)
        share = token.value.endswith("%")
        number = float(token.value.rstrip("%")) / (100 if share else 1)
        if not math.isfinite(number):
            raise self.wrong("the number is too large; give a smaller one", token)
        return number

    def whole(self, least: int, most: int) -> int:
        """Take a whole number within bounds."""
        token = self.next()
        if token.sort != t.NUMBER or not token.value.isdecimal():
            raise self.wrong("a whole number belongs here", token)
        if len(token.value) > _DIGITS or not least <= int(token.value) <= most:
            raise self.wrong(f"a number from {least} to {most:,} belongs here", token)
        return int(token.value)

    def text(self) -> str:
        """Take a text, in quotes or a single word."""
        token = self.next()
        if token.sort not in (t.STRING, t.NAME, t.KIND, t.NUMBER):
            raise self.wrong('a text belongs here, such as "that"', token)
        return token.value

    def texts(self) -> tuple[str, ...]:
        """Take texts in braces."""
        return tuple(token.value for token in self.listed())

    def listed(self) -> list[Token]:
        """Take the pieces in braces, with commas between them."""
        if not self.sign("{"):
            raise self.wrong("{ belongs here, as in {was, were}")
        some = []
        while True:
            token = self.here
            self.text()
            some.append(token)
            if not self.sign(","):
                break
        if not self.sign("}"):
            raise self.wrong(", or } belongs here")
        return some
