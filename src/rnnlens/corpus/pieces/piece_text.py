r"""Texts in pieces of words, drawn as people read them.

A blank in a piece is drawn as `▁`, a line's end as `↵`, a tab as `⇥`; bytes that are no whole
character, as pieces of others' scripts are, in hexadecimal: `\xE3\x81`. Where pieces mark in
another way that they go on, as WordPiece does, that mark is kept.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from difflib import SequenceMatcher
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from rnnlens.base.errors import RnnlensError
from rnnlens.base.rules import text as rule
from rnnlens.corpus.pieces.foreign import TRIED, encoder_of, pieces_of, written_as_json
from rnnlens.corpus.pieces.pattern import Pattern, UnknownPartError
from rnnlens.corpus.pieces.tokenizer import BYTES, MOST_TOKENS, Pieces, Style, Tokenizer

BLANK = rule("piece_blank")
#: A piece of a word, a mark that stands for no word, or, empty, a whole word.
Place = Literal["", "first", "inner", "last", "mark"]
_SIGNS = {" ": BLANK, BLANK: BLANK, "\n": "↵", "\t": "⇥", "\r": "␍"}
_BYTE = re.compile("<0x[0-9A-F]{2}>")
_LARGEST_FILE = 1 << 28
_HELD = ("Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp")  # categories that cannot be seen


@dataclass(frozen=True)
class PieceText:
    """How a text becomes pieces, and pieces a text again."""

    tokens: tuple[str, ...]  # as the tokenizer has them; empty: none has this number
    style: Style
    special: frozenset[int]  # the numbers of marks such as <s>
    encode: Callable[[str], list[int]]
    pieces: Pieces | None = None  # all of it, so that it can be kept
    why: str = ""  # what of it is not known, where it cannot

    @classmethod
    def of_pieces(cls, pieces: Pieces) -> "PieceText":
        """From what a run keeps."""
        special = frozenset(one.number for one in pieces.added if one.special)
        return cls(pieces.tokens, pieces.style, special, Tokenizer(pieces).encode, pieces)

    @classmethod
    def of(cls, tokenizer: Any) -> "PieceText":
        """From a tokenizer of `tokenizers` or `transformers`, or the path of its tokenizer.json."""
        if isinstance(tokenizer, PieceText):
            return tokenizer
        if isinstance(tokenizer, str | Path):
            return cls.of_pieces(_of_file(Path(tokenizer)))
        if not callable(getattr(tokenizer, "encode", None)):
            raise RnnlensError(
                f"tokenizer= is {type(tokenizer).__name__}; give a tokenizer of the libraries "
                "tokenizers or transformers, or the path of its tokenizer.json"
            )
        encode = encoder_of(tokenizer)
        why = ""
        try:
            kept = cls.of_pieces(pieces_of(written_as_json(tokenizer)))
            for text in TRIED:
                if _ours(kept.encode, text) != _theirs(encode, text):
                    raise UnknownPartError(f"something that splits {text!r} another way")  # noqa: TRY301
        except UnknownPartError as error:
            why = str(error)
        else:
            return kept
        tokens = _tokens_of(tokenizer)
        ids = getattr(tokenizer, "all_special_ids", ())
        special = frozenset(int(number) for number in ids or ())
        return cls(tokens, _style_of(tokens), special, lambda t: _theirs(encode, t), None, why)

    def to_keep(self) -> Pieces:
        """What a run keeps of it."""
        if self.pieces is None:
            raise RnnlensError(
                f"the tokenizer has {self.why}, which a run cannot keep; give one without that, or "
                "work with this lens as it is"
            )
        return self.pieces

    def to_page(self) -> dict[str, Any]:
        """All that engine/pieces.js needs, patterns as both languages read them; of each piece
        whether it may be joined in front and behind, or goes on by itself.
        """
        kept = asdict(self.to_keep())
        for steps in (kept["plain"], kept["steps"]):
            for step in steps:
                step["pattern"] = Pattern(step["pattern"], "tokenizers").plain
        words = self.style == "words"
        bits = [("0", "0") if words else tuple("01"[end] for end in ends) for ends in self._ends]
        prefix, suffix = self.to_keep().prefix, self.to_keep().suffix
        on = [words and not suffix and bool(prefix) and t.startswith(prefix) for t in self.tokens]
        if words and suffix:  # a piece goes on with any that does not end a word
            bits = [("1", "01"[not token.endswith(suffix)]) for token in self.tokens]
        first, last = ("".join(end) for end in zip(*bits, strict=True))
        kept["joins"] = {"first": first, "last": last, "on": "".join("01"[k] for k in on)}
        return kept

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The pieces as they are drawn, each with a name of its own."""
        names, taken = list[str](), set[str]()
        for number, token in enumerate(self.tokens):
            drawn = token if number in self.special else self._drawn(token)
            own = f"{drawn}#{number}" if token else f"<unused-{number}>"
            name = next((one for one in (drawn, token, own) if one and one not in taken), own)
            while name in taken:
                name += "'"
            names.append(name)
            taken.add(name)
        return tuple(names)

    def named(self, count: int, what: str) -> tuple[str, ...]:
        """Names for so many numbers: models have more than their tokenizers, for round figures."""
        if count < len(self.tokens):
            bare = "" if what == "reads" else (
                ", and the module with its readout where these are no logits but states"
                " (AutoModelForCausalLM, not AutoModel)"
            )  # fmt: skip
            raise RnnlensError(
                f"the tokenizer has {len(self.tokens):,} pieces and the module {what} {count:,}; "
                f"give the tokenizer that it was trained with{bare}"
            )
        return (*self.names, *(f"<unused-{k}>" for k in range(len(self.tokens), count)))

    def _drawn(self, token: str) -> str:
        if self._is_byte(token):  # which stands beside the letter that it may be
            return f"\\x{token[3:5]}"
        return "".join(_seen(token.encode() if self.style == "words" else self._bytes(token)))

    def _is_byte(self, token: str) -> bool:
        """Whether a piece is one byte of a letter that is no piece, `<0xE2>`."""
        return self.style == "spaces" and _BYTE.fullmatch(token) is not None

    def _bytes(self, token: str) -> bytes:
        """What a piece is written with, a blank in front included."""
        if self.style == "bytes":
            if all(letter in BYTES for letter in token):
                return bytes(BYTES[letter] for letter in token)
            return token.encode()
        if self.style == "spaces":
            if self._is_byte(token):
                return bytes.fromhex(token[3:5])
            return token.replace(BLANK, " ").encode()
        return token.encode()

    def goes_on(self, numbers: Sequence[int]) -> list[bool]:
        """Whether each piece of a text goes on with the word of the piece before it."""
        return [
            at > 0 and self._joins(numbers[at - 1], number) for at, number in enumerate(numbers)
        ]

    def places(self, numbers: Sequence[int]) -> list[Place]:
        """Which piece of its word each is."""
        on = [*self.goes_on(numbers), False]
        found = list[Place]()
        for at, number in enumerate(numbers):
            if on[at]:
                found.append("inner" if on[at + 1] else "last")
            else:
                found.append("first" if on[at + 1] else "mark" if number in self.special else "")
        return found

    def _joins(self, before: int, number: int) -> bool:
        if {before, number} & self.special or max(before, number) >= len(self.tokens):
            return False
        if self.style == "words":
            prefix = self.pieces.prefix if self.pieces else "##"
            suffix = self.pieces.suffix if self.pieces else ""
            if suffix:
                return not self.tokens[before].endswith(suffix)
            return bool(prefix) and self.tokens[number].startswith(prefix)
        last, first = self._ends[before][1], self._ends[number][0]
        return last and first

    @cached_property
    def _ends(self) -> list[tuple[bool, bool]]:
        """Of each piece, whether it begins and ends inside of a word."""
        ends = []
        for token in self.tokens:
            letters = self._bytes(token).decode(errors="surrogateescape")
            alone = letters == " "  # which belongs to the word behind it
            ends.append((_in_word(letters[:1]), alone or _in_word(letters[-1:])))
        return ends

    def written(self, numbers: Sequence[int]) -> str:
        """The text that pieces are of."""
        parts = list[bytes]()
        for at, number in enumerate(numbers):
            token = self.tokens[number] if number < len(self.tokens) else f"<unused-{number}>"
            if number in self.special or number >= len(self.tokens):
                parts.append(token.encode())
            elif self.style == "words":
                joined = at > 0 and self._joins(numbers[at - 1], number)
                parts.append((b"" if joined or not at else b" ") + self._plain_word(token).encode())
            else:
                parts.append(self._bytes(token))
        text = b"".join(parts).decode(errors="replace")
        in_front = self.pieces is not None and any(
            step.do == "front" and step.text in (" ", BLANK)
            for step in (*self.pieces.plain, *self.pieces.steps)
        )
        return text.removeprefix(" ") if in_front else text

    def given_back(self, numbers: Sequence[int]) -> float:
        """Which share of a text's pieces come again where it is written out and split anew: few, if
        another tokenizer has made them.
        """
        plain = [number for number in numbers if number not in self.special]
        again = self.encode(self.written(plain)) if plain else []
        return SequenceMatcher(None, plain, again, autojunk=False).ratio()

    def _plain_word(self, token: str) -> str:
        prefix, suffix = (self.pieces.prefix, self.pieces.suffix) if self.pieces else ("##", "")
        return token.removeprefix(prefix).removesuffix(suffix)


def _in_word(letter: str) -> bool:
    """Whether a character is inside of a word; half a character is."""
    if not letter:
        return False
    half = 0xDC80 <= ord(letter) <= 0xDCFF
    return half or letter.isalnum() or unicodedata.category(letter)[0] == "M"


def _seen(data: bytes) -> Iterator[str]:
    """What is seen of bytes: letters as they are, blanks by signs, all else by its numbers."""
    for letter in data.decode(errors="surrogateescape"):
        if 0xDC80 <= ord(letter) <= 0xDCFF:
            yield f"\\x{ord(letter) - 0xDC00:02X}"
        elif letter in _SIGNS:
            yield _SIGNS[letter]
        elif unicodedata.category(letter) in _HELD:
            yield "".join(f"\\x{byte:02X}" for byte in letter.encode())
        else:
            yield letter


def _ours(encode: Callable[[str], list[int]], text: str) -> list[int]:
    """What the form that a run would keep makes of a text."""
    try:
        return encode(text)
    except RnnlensError as error:
        raise UnknownPartError(f"something of which is said: {error}") from error


def _theirs(encode: Callable[[str], list[int]], text: str) -> list[int]:
    """What the library makes of a text."""
    try:
        return encode(text)
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        raise RnnlensError(
            f"the tokenizer cannot split {text[:40]!r} ({type(error).__name__}: {reason}); give a "
            "text that it reads"
        ) from error


def _of_file(path: Path) -> Pieces:
    try:
        if path.stat().st_size > _LARGEST_FILE:
            raise RnnlensError(f"{path} is larger than {_LARGEST_FILE:,} bytes; give another")
        return pieces_of(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise RnnlensError(f"cannot read {path}: {reason}; give a tokenizer.json") from error
    except UnknownPartError as error:
        raise RnnlensError(f"{path} has {error}, which is not known; give another") from error


def _tokens_of(tokenizer: Any) -> tuple[str, ...]:
    """The tokens of a library's tokenizer by their numbers."""
    if not callable(getattr(tokenizer, "get_vocab", None)):
        raise RnnlensError(
            f"the tokenizer, a {type(tokenizer).__name__}, has no get_vocab, so that its pieces "
            "have no names; give one of the libraries tokenizers or transformers"
        )
    found = {int(number): str(token) for token, number in tokenizer.get_vocab().items()}
    if not found or min(found) < 0 or max(found) >= MOST_TOKENS:
        raise RnnlensError(
            f"the tokenizer has {len(found):,} pieces, numbered up to {max(found, default=0):,}; "
            f"give one with 1 to {MOST_TOKENS:,}"
        )
    return tuple(found.get(number, "") for number in range(max(found) + 1))


def _style_of(tokens: Sequence[str]) -> Style:
    """How pieces tell where words begin, by the mark that most of them have."""
    bytes_, spaces = (sum(t.startswith(sign) for t in tokens) for sign in ("\u0120", BLANK))
    if max(bytes_, spaces) * 20 < len(tokens):
        return "words"
    return "bytes" if bytes_ >= spaces else "spaces"
