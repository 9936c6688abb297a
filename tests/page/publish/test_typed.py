"""What people type is read by the published page's engine as Python reads it, and refused alike."""

import json
import math
import random
import struct
import subprocess
from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import pytest

from rnnlens.base.errors import RnnlensError
from rnnlens.labels.sets import number_of
from rnnlens.reading.edits import Edit
from rnnlens.reading.two_texts import aligned, two_texts

CALLS = Path(__file__).with_name("calls.js")
LABELS = (
    "the", "a", "they", "there", "then", "hat", "that", "what", "said", "sad", "UNK", "{", "}",
    "straße", "naïve", "🙂", "it's", 'so"', "long" * 60, "abab", "baba",
)  # fmt: skip
SPACES = " \t\n\x1c\x85\xa0\u2003\u3000"
KNOWN = [["a"], ["{", "}"], ["{", "|"], ["}"]]
HOSTILE = [
    "", "'", '"', "'\"", "\\", "\x00\x7f", "é", "e\u0301", "\u200b", "\ufeff", "🙂", "\ue000",
    "\u2028", "\xad", "a\tb\nc", "ß", "ſ", "İ", "ı", "ΟΔΟΣ", "٣", "٤٢", "𝟗",
]  # fmt: skip
NUMBERS = [
    "1", "-0", "1e5", "1_0", "1__0", "_1", "1.", ".5", ".", "1e", "inf", "-Infinity", "nan", "NaN",
    " 7 ", "\x1c7", "\ufeff7", "٣.٥", "0x10", "1e400", "1e-400", "+3", "1 2", "",
]  # fmt: skip
KINDS = ["l2", "c1", "encoder.h1<", "", "x", "l2 ", "🙂"]
UNITS = [
    "", "", "[0]", "[0,5-9]", "[ 3 ]", "[]", "[9-5]", "[٣-٥]", "[1-]", "[-1]", "[1,,2]", "[1-2-3]",
    "[1234567890-123]", "[0",
]  # fmt: skip
ROWS = ["1", "4", "0", "007", "12345678", "٣", "", "-1", "1.5"]
WAYS = [
    "=0", "=freeze", "=freezes", "+said", "-said", "+0.5:said", "-0:said", "+1:2:3", "+:x", "=@2",
    "=@0", "=@2:we ran", "=@2:", "=@x", "+\n", "*", "=",
    *(sign + number for sign in "=*" for number in
      [*NUMBERS, "0", "0.5", "0.1,0.2", "1,nan", "1e16", "123456789012", "-0.0"]),
]  # fmt: skip
PIECES = [
    "a", "b c", " ", "{", "}", "|", "{a|b}", "{ a }", "{|b}", "{a|}", "{a b|c}", "it's", "🙂",
    "{a|b|c}", "{|}", "\\", "\\{", "\\}", *SPACES, "x" * 31,
]  # fmt: skip


def called(calls: Sequence[Sequence[Any]]) -> list[dict[str, Any]]:
    """What the engine's functions give."""
    given = json.dumps(calls, ensure_ascii=True)
    answer = subprocess.run(
        ["node", str(CALLS)], input=given, capture_output=True, text=True, check=True, timeout=60
    )
    answers: list[dict[str, Any]] = json.loads(answer.stdout)
    return answers


def outcome(work: Callable[[], Any]) -> dict[str, Any]:
    """What Python gives, as JSON has it."""
    try:
        return {"gives": json.loads(json.dumps(work()))}
    except RnnlensError as error:
        return {"refuses": str(error)}


def some_edit(chance: random.Random) -> str:
    """An edit, or what somebody may take for one."""
    if chance.random() < 0.05:
        return chance.choice(HOSTILE) * 50
    kind, units, row, way = map(chance.choice, (KINDS, UNITS, ROWS, WAYS))
    return f"{kind}{units}@{row}{way}"


def some_text(chance: random.Random) -> str:
    """A text with braces, more or less as they should be."""
    return "".join(chance.choice(PIECES) for _ in range(chance.randint(1, 7)))


def some_words(chance: random.Random) -> list[str]:
    """Few words, which are often the same."""
    return [chance.choice("ab") + chance.choice("abc") for _ in range(chance.randint(0, 9))]


def some_numbers(chance: random.Random) -> list[float]:
    """Numbers of all sizes."""
    drawn = (struct.unpack("<d", chance.randbytes(8))[0] for _ in range(200))
    finite = [value for value in drawn if math.isfinite(value)]
    return [0.0, -0.0, 1.0, 1e16, 1e15, 1e-4, 1e-5, 123456789.0, 0.1, 5e-324, *finite]


def number(text: str) -> str | None:
    try:
        return repr(float(text))
    except ValueError:
        return None


def distinct(words: Sequence[str]) -> int:
    return len({word.casefold() for word in words})


def questions() -> Iterator[tuple[str, Callable[..., Any], tuple[Any, ...]]]:
    """Functions of the engine, the same in Python, and what both are given."""
    chance = random.Random(16)
    for _ in range(1500):
        yield "parse", lambda text: str(Edit.parse(text)), (some_edit(chance),)
        yield "twoTexts", two_texts, (some_text(chance), chance.choice(KNOWN))
    for _ in range(150):
        yield "aligned", aligned, (some_words(chance), some_words(chance))
    for word in ["teh", "tha", "saidd", "zzz", "long" * 50, "abababab", "ba", "it", *HOSTILE]:
        yield "closeMatches", get_close_matches, (word, LABELS)
        yield "numberOf", number_of, (word, LABELS)
        yield "repr", repr, (word,)
        yield "folded", distinct, ([word, "ss"],)
        yield "folded", distinct, ([word, "I"],)
        yield "folded", distinct, ([word, "οδος"],)
    for word in ("solidarity", "▁solidarity", "the", "solid", "so", "😀 a", "▁"):
        yield "numberOf", number_of, (word, ["▁solid", "▁sol", "▁s", "▁so", "arity", "▁the", "▁😀"])
    for label in LABELS:
        yield "numberOf", number_of, (label, LABELS)
    for text in NUMBERS:
        yield "float", number, (text,)
    for value in some_numbers(chance):
        yield "floatRepr", repr, (value,)
        for digits in (4, 6, 9):
            yield "general", lambda value, digits: f"{value:.{digits}g}", (value, digits)


@pytest.mark.slow
def test_what_is_typed_is_read_as_python_reads_it():
    asked = list(questions())
    answers = called([(name, *given) for name, _, given in asked])
    for (name, work, given), answer in zip(asked, answers, strict=True):
        assert answer == outcome(lambda: work(*given)), (name, *given)  # noqa: B023 - called here
    refused = [answer["refuses"] for answer in answers if "refuses" in answer]
    assert len(refused) > 500
    assert len(set(refused)) > 200
