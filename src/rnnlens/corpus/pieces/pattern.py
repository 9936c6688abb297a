r"""Regular expressions that split texts, written so that Python and a browser find the same.

A pattern comes in the language of Python's `re`, or in that of `tokenizers`, which differ in what
`\s`, `\w` and `^` are. It is read here and written anew in what both engines understand alike:
classes of characters are spelled out, no flags are left, no groups are kept. What has no such form
is refused by name. As patterns come with the runs of others, their time is limited.
"""

import re
import sys
from dataclasses import dataclass
from functools import cached_property, lru_cache
from time import perf_counter
from typing import TYPE_CHECKING, Literal

from rnnlens.base.errors import RnnlensError

if TYPE_CHECKING:
    import regex

LONGEST = 5_000  # characters of a pattern
_MOST_REPEATS = 1_000
_LARGEST = 20_000  # characters of a pattern in which every repetition is written out
_DEEPEST = 40  # groups in groups
_WIDEST = 400  # characters of a range of which both cases are spelled out
_SECONDS = 5.0  # for all that one text has to be searched for

Language = Literal["python", "tokenizers"]

_SPACES = "\\t-\\r\\x20\\x85\\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_CLASSES: dict[Language, dict[str, str]] = {
    "python": {"s": _SPACES + "\\x1c-\\x1f", "d": r"\p{Nd}", "w": r"\p{L}\p{N}\x5f"},
    "tokenizers": {
        "s": _SPACES, "d": r"\p{Nd}", "w": r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}", "h": "0-9a-fA-F",
    },
}  # fmt: skip
_ASCII = {"s": r"\t-\r\x20", "d": "0-9", "w": r"0-9A-Za-z\x5f"}
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "a": "\a", "0": "\0"}
_CATEGORIES = frozenset(
    "L Lu Ll Lt Lm Lo M Mn Mc Me N Nd Nl No P Pc Pd Ps Pe Pi Pf Po S Sm Sc Sk So Z Zs Zl Zp C Cc "
    "Cf Co Cn Alphabetic".split()
)
_SCRIPTS = frozenset(
    "Arabic Armenian Bengali Cyrillic Devanagari Ethiopic Georgian Greek Gujarati Han Hangul "
    "Hebrew Hiragana Kannada Katakana Khmer Lao Latin Malayalam Myanmar Oriya Sinhala Tamil "
    "Telugu Thai Tibetan".split()
)
_GAP = re.compile(r"[ \t\n\r\v\f]+|#[^\n]*")  # in a pattern with the flag x
_ALONE = re.compile(r"(\\x..|[^\\])(?:-\1)?", re.DOTALL)  # one character of a set
_CASED = frozenset({"Lu", "Ll", "Lt"})
_ALIKE = {"s": "\u017f", "k": "\u212a", "\u00e5": "\u212b"}  # that are letters of others' case


class UnknownPartError(Exception):
    """Something that has no form which Python and a browser read alike; says what."""


class Patience:
    """How long one text may be searched for yet, by all patterns together."""

    def __init__(self) -> None:
        self.seconds = self.left = _SECONDS


@dataclass(frozen=True)
class Pattern:
    """A regular expression; every match in a text that is not empty is one of its words."""

    written: str  # with its flags in front, `(?i)`
    language: Language = "python"

    @classmethod
    def of(cls, pattern: "re.Pattern[str]") -> "Pattern":
        """From what `re.compile` gives."""
        if not isinstance(pattern.pattern, str):
            raise UnknownPartError("bytes in place of text")
        letters = {"a": re.ASCII, "i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL,
                   "x": re.VERBOSE}  # fmt: skip
        flags = "".join(letter for letter, flag in letters.items() if pattern.flags & flag)
        text = re.sub(r"\A\(\?[aimsux]+\)", "", pattern.pattern)
        found = cls(f"(?{flags}){text}" if flags else text)
        _ = found.plain  # or say now what is not known
        return found

    @cached_property
    def plain(self) -> str:
        """The pattern as both engines read it; in a browser with the flag `u`."""
        return _Reader(self.written, self.language).whole()

    @cached_property
    def _compiled(self) -> "regex.Pattern[str]":
        import regex  # only what is split by patterns needs it

        return regex.compile(self.plain)

    def spans(self, text: str, patience: Patience | None = None) -> list[tuple[int, int]]:
        """Where its matches are, one after the other; `patience`: of what was searched before."""
        patience = patience or Patience()
        begun = perf_counter()
        try:
            found = self._compiled.finditer(text, timeout=max(patience.left, 1e-3))
            spans = [match.span() for match in found if match.end() > match.start()]
        except TimeoutError:
            patience.left = 0.0
        patience.left -= perf_counter() - begun
        if patience.left < 0:
            raise RnnlensError(
                f"the regular expression {self.written[:60]!r} takes longer than "
                f"{patience.seconds:g} s with a text of {len(text):,} characters; give a shorter "
                "text, or a simpler one"
            )
        return spans

    def __call__(self, text: str) -> list[str]:
        """The words of a text."""
        return [text[start:end] for start, end in self.spans(text)]


class _Reader:
    """Reads a pattern once from left to right, and writes it anew."""

    def __init__(self, text: str, language: Language) -> None:
        if len(text) > LONGEST:
            raise UnknownPartError(f"more than {LONGEST:,} characters")
        self.text, self.at, self.language = text, 0, language
        self.deep = self.kept = self.size = 0
        self.flags = ""
        # Of what was read last: whether it may be empty, and be so where it might be longer.
        self.empty = self.hasty = False

    def whole(self) -> str:
        if flags := re.match(r"\(\?([aimsux]+)\)", self.text):
            self.flags, self.at = flags[1], flags.end()
        if self.language != "python" and set(self.flags) - {"i"}:
            raise UnknownPartError(f"the flags {self.flags!r}")
        written = self._alternatives()
        if self.at < len(self.text):
            raise UnknownPartError("a bracket ) that was not opened")
        if self.hasty:  # then engines differ in where they look next
            raise UnknownPartError("matches that are empty where longer ones are there")
        return written

    def _peek(self, ahead: str) -> bool:
        return self.text.startswith(ahead, self.at)

    def _take(self, ahead: str) -> bool:
        there = self._peek(ahead)
        self.at += len(ahead) if there else 0
        return there

    def _next(self) -> str:
        if self.at >= len(self.text):
            raise UnknownPartError("an end before all brackets are closed")
        self.at += 1
        return self.text[self.at - 1]

    def _alternatives(self) -> str:
        branches, empty, hasty = [self._branch()], self.empty, self.hasty
        while self._take("|"):
            hasty = hasty or empty
            branches.append(self._branch())
            empty, hasty = empty or self.empty, hasty or self.hasty
        self.empty, self.hasty = empty, hasty
        return "|".join(branches)

    def _branch(self) -> str:
        parts: list[str] = []
        empty, hasty = True, False
        self._skip_gaps()
        while self.at < len(self.text) and not self._peek("|") and not self._peek(")"):
            before = self.size
            parts.append(self._repeated(self._atom(), before))
            empty, hasty = empty and self.empty, hasty or self.hasty
            self._skip_gaps()
        self.empty, self.hasty = empty, empty and hasty
        return "".join(parts)

    def _skip_gaps(self) -> None:
        """Go on to what means something, where blanks and remarks do not."""
        while "x" in self.flags and (gap := _GAP.match(self.text, self.at)):
            self.at = gap.end()

    def _repeated(self, atom: str, before: int) -> str:
        """An atom with what says how often it is there; it begins at a size."""
        self._skip_gaps()
        found = re.compile(r"[*+?]|\{(\d*)(,?)(\d*)\}").match(self.text, self.at)
        literal = ("{}",) if self.language == "python" else ("{}", "{,}")
        if not found or found[0] in literal:
            return atom
        self.at, sign = found.end(), found[0]
        if sign[0] == "{":
            least, most = int(found[1] or 0), int(found[3] or 0)
            if max(least, most) > _MOST_REPEATS or (found[3] and least > most):
                raise UnknownPartError(f"the repetition {sign}")
            sign = f"{{{least}{found[2]}{found[3]}}}"
            self.empty = self.empty or not least
            self.size = before + (self.size - before) * max(least, most, 1)
            if self.size > _LARGEST:
                raise UnknownPartError(f"repetitions of repetitions, {sign}")
        self.empty = self.empty or sign in "*?"
        if self._take("?"):
            self.hasty = self.empty
            return f"{atom}{sign}?"
        if self._peek("+"):
            if sign[0] == "{" and self.language != "python":
                raise UnknownPartError(f"{sign}+")  # which repeats what was repeated there
            if "(?:(?=(" in atom:  # whose numbers would be others
                raise UnknownPartError(f"{sign}+ around what is not tried again, either")
            self.at += 1
            self.kept += 1
            return _kept_whole(atom + sign, self.kept)
        if self._peek("*") or re.compile(r"\{\d*,?\d*\}").match(self.text, self.at):
            raise UnknownPartError(f"two repetitions side by side, {sign}{self.text[self.at]}")
        return atom + sign

    def _atom(self) -> str:
        character = self._next()
        self.size += 1
        self.empty = self.hasty = False
        if character == "(":
            return self._group()
        if character == "[":
            return self._set()
        if character == "\\":
            return self._escape()
        if character in "*+?":
            raise UnknownPartError(f"{character} with nothing before it")
        if character == ".":
            line = _set_of(r"\x0a", [], True)
            return rf"(?:{line}|\x0a)" if "s" in self.flags else line
        if character in "^$":
            return self._edge(character)
        return self._letter(character)

    def _edge(self, sign: str) -> str:
        """Where a text begins or ends, or a line of it."""
        self.empty = True
        if self.language != "python" or "m" in self.flags:
            return r"(?<![^\x0a])" if sign == "^" else r"(?![^\x0a])"
        return r"(?<![^\x0a]|\x0a)" if sign == "^" else r"(?=\x0a?(?![^\x0a]|\x0a))"

    def _group(self) -> str:
        self.deep += 1
        if self.deep > _DEEPEST:
            raise UnknownPartError(f"more than {_DEEPEST} brackets in each other")
        before, opening = self.flags, "(?:"
        atomic = False
        if self._take("?"):
            begin = re.compile(r":|=|!|<=|<!|>|i:|P?<[A-Za-z_]\w*>").match(self.text, self.at)
            if not begin:
                raise UnknownPartError(f"(?{self.text[self.at : self.at + 3]}")
            self.at, atomic = begin.end(), begin[0] == ">"
            if begin[0] in ("=", "!", "<=", "<!"):
                opening = f"(?{begin[0]}"
            elif begin[0] == "i:":
                self.flags += "i"
        self.kept += atomic  # whatever is kept inside has a later number
        number = self.kept
        inside = self._alternatives()
        if not self._take(")"):
            raise UnknownPartError("a bracket ( that is not closed")
        self.flags, self.deep = before, self.deep - 1
        if "<" in opening and self.kept > number:  # which is read backwards there
            raise UnknownPartError(f"what is not tried again in {opening}")
        if opening != "(?:":
            self.empty, self.hasty = True, False
        return _kept_whole(inside, number) if atomic else f"{opening}{inside})"

    def _escape(self) -> str:
        letter = self._next()
        if (found := self._class(letter)) is not None:
            negated, members = found
            return f"[{'^' if negated else ''}{members}]"
        if letter in "bB" and self.language == "python":
            self.empty = True
            word = _ASCII["w"] if "a" in self.flags else _CLASSES["python"]["w"]
            here = f"(?<=[{word}])(?![{word}])|(?<![{word}])(?=[{word}])"
            return f"(?:{here})" if letter == "b" else f"(?!{here})"
        if letter in "AzZ" and (letter != "Z" or self.language == "python"):
            self.empty = True
            return r"(?<![^\x0a]|\x0a)" if letter == "A" else r"(?![^\x0a]|\x0a)"
        return self._letter(self._character(letter))

    def _class(self, letter: str) -> tuple[bool, str] | None:
        r"""The class that an escape stands for, and whether all others are meant; None: none."""
        known = _ASCII if "a" in self.flags else _CLASSES[self.language]
        if letter.lower() in known and letter in "sSdDwWhH":
            return letter.isupper(), known[letter.lower()]
        if letter not in "pP" or self.language == "python":
            return None
        found = re.compile(r"\{(\^?)([A-Za-z_]+)\}|([A-Z])").match(self.text, self.at)
        name = (found[2] or found[3]) if found else ""
        if not found or name not in _CATEGORIES | _SCRIPTS:
            raise UnknownPartError(f"\\{letter}{self.text[self.at : self.at + 12]}")
        if "i" in self.flags and name in _CASED:
            raise UnknownPartError(f"\\p{{{name}}} where case does not count")
        self.at = found.end()
        members = f"\\p{{{name}}}" if name in _CATEGORIES else f"\\p{{Script={name}}}"
        return (letter == "P") != (found[1] == "^"), members

    def _character(self, letter: str) -> str:
        """The character that an escape stands for."""
        if letter in _CONTROLS:
            if letter == "0" and re.compile(r"\d").match(self.text, self.at):
                raise UnknownPartError("a character by its octal number")
            return _CONTROLS[letter]
        if letter in "xuU":
            count = {"x": 2, "u": 4, "U": 8}[letter]
            found = re.compile(rf"([0-9a-fA-F]{{{count}}})|\{{([0-9a-fA-F]+)\}}").match(
                self.text, self.at
            )
            number = int(found[1] or found[2], 16) if found else -1
            if not found or number > 0x10FFFF:
                raise UnknownPartError(f"\\{letter}")
            self.at = found.end()
            return chr(number)
        if letter.isascii() and letter.isalnum():
            raise UnknownPartError(f"\\{letter}")
        return letter

    def _set(self) -> str:
        negated = self._take("^")
        inside: list[str] = []
        others: list[str] = []  # classes all of whose others are meant
        first = True
        while first or not self._peek("]"):
            first = False
            character = self._next()
            if self._outside(character):
                raise UnknownPartError("a set of characters in another")
            found = None
            if character == "\\":
                letter = self._next()
                found = self._class(letter)
                if found is None:
                    character = "\b" if letter == "b" else self._character(letter)
            if found is not None:
                (others if found[0] else inside).append(found[1])
                continue
            if self._peek("-") and not self.text.startswith("-]", self.at):
                self.at += 1
                inside.append(self._range(character, self._end_of_range()))
            else:
                inside.append(self._letters(character))
        self.at += 1
        return _set_of("".join(inside), others, negated)

    def _outside(self, character: str) -> bool:
        """Whether a set begins in a set, or is taken from another, as `tokenizers` has it."""
        twice = character == "&" and self._peek(character)
        return self.language != "python" and (character == "[" or twice)

    def _end_of_range(self) -> str:
        character = self._next()
        if character != "\\":
            return character
        letter = self._next()
        if self._class(letter) is not None:
            raise UnknownPartError(f"a range up to \\{letter}")
        return self._character(letter)

    def _range(self, low: str, high: str) -> str:
        if low > high:
            raise UnknownPartError(f"the range {low}-{high}")
        written = f"{_plain(low)}-{_plain(high)}"
        if "i" not in self.flags:
            return written
        if ord(high) - ord(low) >= _WIDEST:
            raise UnknownPartError(f"the range {low}-{high} where case does not count")
        both = {c for one in range(ord(low), ord(high) + 1) for c in self._cases(chr(one))}
        return "".join(map(_plain, sorted(both)))

    def _letters(self, character: str) -> str:
        """A character, or all its cases where these do not count."""
        return "".join(map(_plain, sorted(self._cases(character))))

    def _cases(self, character: str) -> frozenset[str]:
        """A character with those that are taken for it."""
        if "i" not in self.flags:
            return frozenset(character)
        if self.language == "python":
            return _cases_of_python(character, "a" in self.flags)
        return _cases(character)

    def _letter(self, character: str) -> str:
        letters = self._letters(character)
        return f"[{letters}]" if len(self._cases(character)) > 1 else letters


def _kept_whole(inside: str, number: int) -> str:
    """What is never tried again with less: found ahead, and then taken as it was found."""
    return f"(?:(?=({inside}))\\{number})"


def _set_of(inside: str, others: list[str], negated: bool) -> str:
    """A set of characters, of which some stand for all that is not in a class."""
    if not others:
        if not inside:
            raise UnknownPartError("an empty set of characters")
        if negated and _ALONE.fullmatch(inside):  # of `[^a]|[^b]` regex makes `[^ab]`
            inside *= 2
        return f"[{'^' if negated else ''}{inside}]"
    if not negated:
        return f"(?:{'|'.join([f'[{inside}]'] * bool(inside) + [f'[^{o}]' for o in others])})"
    *first, last = others
    ahead = [f"(?![{inside}])"] * bool(inside) + [f"(?=[{other}])" for other in first]
    return f"(?:{''.join(ahead)}[{last}])"


def _plain(character: str) -> str:
    """A character that means itself, in a set and outside."""
    if 0xD800 <= ord(character) < 0xE000:
        raise UnknownPartError("half of a surrogate pair")
    if character.isascii() and not character.isalnum():
        return f"\\x{ord(character):02x}"
    return character


def _cases(character: str) -> frozenset[str]:
    """A character with those that differ from it in case alone."""
    every = {character, character.lower(), character.upper()}
    every |= {other for one in every for other in (_ALIKE.get(one, one), one.lower())}
    return frozenset(one for one in every if len(one) == 1)


@lru_cache(4096)
def _cases_of_python(character: str, ascii_alone: bool) -> frozenset[str]:
    """A character with those that Python's `re` takes for it, which has rules of its own."""
    flags = re.IGNORECASE | (re.ASCII if ascii_alone else re.NOFLAG)
    return frozenset((character, *re.compile(re.escape(character), flags).findall(_cased())))


@lru_cache(1)
def _cased() -> str:
    """All characters that have another case."""
    every = map(chr, range(sys.maxunicode + 1))
    return "".join(one for one in every if one.lower() != one or one.upper() != one)
