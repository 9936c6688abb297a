"""A tokenizer that a run keeps: how a text is split into pieces of words, without the library that
the tokenizer came from.

A text is cut at the tokens that were added, such as `<|endoftext|>`; steps make what lies between
plain and cut it into words; and a model makes pieces of each word.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Annotated, Literal

from annotated_types import Ge, Le, Len, MaxLen

from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import Count, Strict
from rnnlens.base.pace import checkpoint
from rnnlens.base.rules import count, message
from rnnlens.corpus.pieces.merging import Fallback, Likeliest, LongestFirst, Merges
from rnnlens.corpus.pieces.pattern import LONGEST, Patience, Pattern, UnknownPartError
from rnnlens.labels.sets import MOST_LABELS

MOST_TOKENS = 1_000_000
_MOST_STEPS = 50
_REMEMBERED = 16_384  # words of which the pieces are remembered
_SHORT = 200  # letters of a word that is remembered
_LONGEST_TOKEN = 500  # letters; real ones have up to 128
_SWOLLEN = count("swollen_text")  # times as long as a text all may be that steps make of it
_SHORTEST = count("short_text")  # characters of a text; a shorter one may become as long as this

Style = Literal["bytes", "spaces", "words"]
Behaviour = Literal["removed", "isolated", "contiguous", "merged_with_previous", "merged_with_next"]
_Text = Annotated[str, MaxLen(_LONGEST_TOKEN)]
_Number = Annotated[int, Ge(0), Le(MOST_LABELS)]


@dataclass(frozen=True)
class Step(Strict):
    """One thing that is done to a text before it is split into pieces.

    - `normal`: a Unicode form, NFC and so on, named by `text`; `lower`: small letters
    - `replace`: what `pattern` finds becomes `text`; `apart`: it stands between blanks
    - `front`: `text` is put in front, of the beginning alone if `first`, unless it is there; where
      `always`, in any case
    - `split`: words are cut where `pattern` finds something, which is then treated by `how`
    - `bytes`: every byte becomes a letter, as GPT-2 has them
    """

    do: Literal["normal", "lower", "replace", "apart", "front", "split", "bytes"]
    text: Annotated[str, MaxLen(100)] = ""
    pattern: Annotated[str, MaxLen(LONGEST)] = ""
    how: Behaviour = "isolated"
    inverted: bool = False  # whether what is found are the words, not what lies between
    first: bool = False
    always: bool = False

    def __post_init__(self) -> None:
        if self.do == "normal" and self.text not in ("NFC", "NFD", "NFKC", "NFKD"):
            raise ValueError(f"{self.text!r} is no form of Unicode")
        if self.pattern or self.do in ("replace", "apart", "split"):
            try:
                _ = self.found.plain
            except UnknownPartError as error:
                raise ValueError(f"a pattern with {error}, which is not known") from error

    @cached_property
    def found(self) -> Pattern:
        """What it looks for."""
        return Pattern(self.pattern, "tokenizers")


@dataclass(frozen=True)
class Added(Strict):
    """A token that is found in a text before anything else is done."""

    number: _Number
    text: Annotated[_Text, Len(1)]
    special: bool = False  # no part of what people write
    left: bool = False  # whether it takes the blanks before it, too
    right: bool = False  # and those behind
    alone: bool = False  # whether it is a word by itself
    normal: bool = False  # whether it is looked for once the text is plain
    inside: bool = True  # whether words may hold it, as another piece


@dataclass(frozen=True)
class Pieces(Strict):
    """Everything that splits a text; as a file, a run's tokenizer.json."""

    model: Literal["bpe", "unigram", "wordpiece", "wordlevel"]
    style: Style  # how pieces tell where words begin
    tokens: Annotated[tuple[_Text, ...], Len(1, MOST_TOKENS)]  # by number; empty: none has it
    plain: Annotated[tuple[Step, ...], MaxLen(_MOST_STEPS)] = ()  # what makes a text plain
    steps: Annotated[tuple[Step, ...], MaxLen(_MOST_STEPS)] = ()  # and cuts it into words
    added: Annotated[tuple[Added, ...], MaxLen(10_000)] = ()
    merges: Annotated[tuple[tuple[_Number, _Number], ...], MaxLen(MOST_TOKENS)] = ()
    scores: Annotated[tuple[float, ...], MaxLen(MOST_TOKENS)] = ()
    unknown: Count | None = None
    letters: bool = False  # whether unknown letters are written by their bytes, <0xE2>
    fused: bool = False  # whether unknown letters side by side are one
    whole: bool = False  # whether a word that is a piece is not merged
    prefix: Annotated[str, MaxLen(100)] = ""
    suffix: Annotated[str, MaxLen(100)] = ""
    most: Annotated[int, Ge(1), Le(1_000_000)] = 100  # letters of a word, of WordPiece

    def __post_init__(self) -> None:
        named = [token for token in self.tokens if token]
        if len(set(named)) != len(named):
            raise ValueError("two pieces are the same")
        count = len(self.tokens)
        if self.unknown is not None and self.unknown >= count:
            raise ValueError("the unknown piece is none of its pieces")
        if any(number >= count for pair in self.merges for number in pair):
            raise ValueError("a merge is of a piece that there is not")
        if any(one.number >= count or self.tokens[one.number] != one.text for one in self.added):
            raise ValueError("an added token is none of its pieces")
        if any(step.do in ("split", "bytes") for step in self.plain):
            raise ValueError("a text is cut into words before it is plain")
        if (self.model == "unigram") != bool(self.scores) or len(self.scores) not in (0, count):
            raise ValueError("there are not as many scores as pieces")


class Tokenizer:
    """Splits texts by what `Pieces` says."""

    def __init__(self, pieces: Pieces) -> None:
        self.pieces = pieces
        apart = {one.number for one in pieces.added if not one.inside}
        self._numbers = {
            token: number
            for number, token in enumerate(pieces.tokens)
            if token and number not in apart
        }
        self._model = self._made()
        self._remembered = lru_cache(_REMEMBERED)(lambda word: tuple(self._model(word)))

    def _made(self) -> Callable[[str], list[int]]:
        pieces, numbers = self.pieces, self._numbers
        letters = None
        if pieces.letters:
            names = [f"<0x{byte:02X}>" for byte in range(256)]
            if all(name in numbers for name in names):
                letters = tuple(numbers[name] for name in names)
        fallback = Fallback(pieces.unknown, letters, pieces.fused)
        longest = max(map(len, numbers), default=1)
        if pieces.model == "bpe":
            return Merges(numbers, self._rules(), fallback, pieces.prefix, pieces.suffix,
                          pieces.whole)  # fmt: skip
        if pieces.model == "unigram":
            least = min((pieces.scores[number] for number in numbers.values()), default=0.0)
            return Likeliest(numbers, pieces.scores, fallback, longest, least)
        prefix = pieces.prefix if pieces.model == "wordpiece" else None
        return LongestFirst(numbers, fallback, prefix, pieces.most, longest)

    def _rules(self) -> dict[tuple[int, int], tuple[int, int]]:
        """Of every pair its rank and what it becomes."""
        tokens, cut = self.pieces.tokens, len(self.pieces.prefix)
        rules: dict[tuple[int, int], tuple[int, int]] = {}
        for rank, (left, right) in enumerate(self.pieces.merges):
            new = self._numbers.get(tokens[left] + tokens[right][cut:])
            if new is not None:
                rules[left, right] = (rank, new)
        return rules

    def encode(self, text: str) -> list[int]:
        """The numbers of a text's pieces."""
        text = _HALVES.sub("\ufffd", text)
        found: list[int] = []
        work = _Work(len(text))
        for part, number, first in self._cut(text, True, self._added[0]):
            if number is not None:
                found.append(number)
                continue
            plain = part
            for step in self.pieces.plain:
                plain = _made_plain(step, plain, first, work)
                work.grown(len(plain))
            work.done += len(plain)
            for inner, other, begins in self._cut(plain, first, self._added[1]):
                found += self._words(inner, begins, work) if other is None else [other]
        return found

    def _words(self, text: str, first: bool, work: "_Work") -> Iterator[int]:
        words, length = [(text, first)] if text else [], 0
        for step in self.pieces.steps:
            before, words, length = words, list[tuple[str, bool]](), 0
            for word, begins in before:
                checkpoint()
                cuts = _cut_up(step, word, begins, work)
                length += sum(len(cut) for cut, _ in cuts)
                work.grown(length)
                words += cuts
        work.done += length
        for word, _ in words:
            checkpoint()
            yield from self._remembered(word) if len(word) <= _SHORT else self._model(word)

    @staticmethod
    def _cut(
        text: str, first: bool, tokens: dict[str, Added]
    ) -> Iterator[tuple[str, int | None, bool]]:
        """A text with the tokens that were added apart, which have their numbers."""
        end = 0
        for start, stop, token in _found(tokens, text) if tokens else ():
            begin, end_before = max(end, start), end
            end = max(end, stop)
            if begin > end_before:
                yield text[end_before:begin], None, first and end_before == 0
            yield text[begin:end], token.number, False
        if end < len(text):
            yield text[end:], None, first and end == 0

    @cached_property
    def _added(self) -> tuple[dict[str, Added], dict[str, Added]]:
        """The added tokens by what they look like: in a text as it is, and once it is plain."""
        plain = {}
        work = _Work(sum(len(one.text) for one in self.pieces.added))
        for one in self.pieces.added:
            if one.normal:
                checkpoint()
                text = one.text
                for step in self.pieces.plain:
                    text = _made_plain(step, text, True, work)
                    work.grown(len(text))
                work.done += len(text)
                plain[text or one.text] = one
        return {one.text: one for one in self.pieces.added if not one.normal}, plain


class _Work:
    """What may be done for one text, of which steps of a stranger's run can make any amount."""

    def __init__(self, length: int) -> None:
        self.patience = Patience()
        self.most, self.done = _SWOLLEN * max(length, _SHORTEST), 0  # characters

    def grown(self, length: int) -> None:
        """Refuse what a step has made too long of it, with what was made of it before."""
        if self.done + length > self.most:
            raise RnnlensError(message("swollen", most=f"{self.most:,}"))


_HALVES = re.compile("[\ud800-\udfff]")  # of characters, which nothing can be made of
_BLANK = r"[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"
_BLANKS = re.compile(rf"{_BLANK}+")


def _found(tokens: dict[str, Added], text: str) -> Iterator[tuple[int, int, Added]]:
    """Added tokens in a text from left to right, the longest of those that begin together."""
    end = 0
    for match in _any_of(tuple(tokens)).finditer(text):
        checkpoint()
        token, (start, stop) = tokens[match[0]], match.span()
        beside = text[start - 1 : start] + "\n" + text[stop : stop + 1]
        if token.alone and any(map(_is_letter, beside)):
            continue
        while token.left and start > end and _BLANKS.match(text, start - 1):
            start -= 1
        if token.right and (behind := _BLANKS.match(text, stop)):
            stop = behind.end()
        end = stop
        yield start, stop, token


def _is_letter(character: str) -> bool:
    """Whether a character is part of a word."""
    return character.isalnum() or unicodedata.category(character) in ("Mn", "Mc", "Me", "Pc")


@lru_cache(16)
def _any_of(texts: tuple[str, ...]) -> "re.Pattern[str]":
    return re.compile("|".join(map(re.escape, sorted(texts, key=len, reverse=True))))


def _made_plain(step: Step, text: str, first: bool, work: _Work) -> str:
    """A text after one step."""
    match step.do:
        case "normal":
            return unicodedata.normalize(step.text, text)  # type: ignore[arg-type]
        case "lower":
            return "".join(letter.lower() for letter in text)
        case "front":
            there = not text or (not step.always and text.startswith(step.text))
            return text if there or (step.first and not first) else step.text + text
        case "bytes":
            return "".join(LETTERS[byte] for byte in text.encode())
    pieces, end = list[str](), 0
    for start, stop in step.found.spans(text, work.patience):
        pieces += [text[end:start], f" {text[start:stop]} " if step.do == "apart" else step.text]
        end = stop
    return "".join([*pieces, text[end:]])


def _cut_up(step: Step, word: str, first: bool, work: _Work) -> list[tuple[str, bool]]:
    """What one step makes of a word: words, each with whether the text begins with it."""
    if step.do != "split":
        return [(_made_plain(step, word, first, work), first)]
    parts: list[tuple[int, int, bool]] = []
    end = 0
    for start, stop in step.found.spans(word, work.patience):
        if start > end:
            parts.append((end, start, step.inverted))
        parts.append((start, stop, not step.inverted))
        end = stop
    if end < len(word):
        parts.append((end, len(word), step.inverted))
    return [(word[a:b], first and a == 0) for a, b in _joined(parts, step.how)]


def _joined(parts: list[tuple[int, int, bool]], how: Behaviour) -> list[tuple[int, int]]:
    """Parts of a word, some of which were found, as words."""
    if how == "removed":
        return [(a, b) for a, b, found in parts if not found]
    words: list[tuple[int, int]] = []
    before: bool | None = None
    if how == "merged_with_next":
        for a, b, found in reversed(parts):
            if found and before is False:
                words[-1] = (a, words[-1][1])
            else:
                words.append((a, b))
            before = found
        return words[::-1]
    for a, b, found in parts:
        with_last = how == "contiguous" and found == before
        with_last = with_last or (how == "merged_with_previous" and found and before is False)
        if with_last:
            words[-1] = (words[-1][0], b)
        else:
            words.append((a, b))
        before = found
    return words


def _byte_letters() -> tuple[str, ...]:
    """A visible letter for each byte, as GPT-2 has them."""
    own = {*range(33, 127), *range(161, 173), *range(174, 256)}
    others = iter(range(256, 512))
    return tuple(chr(byte if byte in own else next(others)) for byte in range(256))


LETTERS = _byte_letters()
BYTES = {letter: byte for byte, letter in enumerate(LETTERS)}
