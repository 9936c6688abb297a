"""The engine reads texts as Python does, hostile ones too."""

import json
import random
import re
import unicodedata
from dataclasses import replace
from pathlib import Path

import pytest
from tests.corpus.pieces import made
from tests.corpus.pieces.test_tokenizer import GOLDEN, piece_text
from tests.page.publish.engine import engine_readings, python_reading

from rnnlens.base.errors import RnnlensError
from rnnlens.corpus.pieces.pattern import Pattern
from rnnlens.corpus.pieces.piece_text import PieceText
from rnnlens.corpus.pieces.tokenizer import Added, Pieces, Step
from rnnlens.corpus.vocabulary import Vocabulary
from rnnlens.labels.sets import LabelSet, Scale
from rnnlens.model.text import TextSide, column, split_numbers
from rnnlens.page.publish.pack import text_json
from rnnlens.run.folder import run_at

WORDS = tuple(
    "the of said can not é straße 's n't `` '' , . UNK NUM one ὀδυσσεύς i̇ u.s. $ cannot".split()
)
VOCABULARIES = {
    "folded": Vocabulary(WORDS, (1,) * len(WORDS), frozenset(["one", "two"])),
    "as it is": Vocabulary(WORDS, (1,) * len(WORDS), lowercase=False, numbers=False),
    "without unknown words": Vocabulary.of_user(("a", "b", "é"), (1, 1, 1), ("a", "b", "é")),
}
HOSTILE = json.loads((Path(__file__).parent / "hostile.json").read_text(encoding="utf-8"))
PIECES = [  # that rules look for, and letters that languages take for each other
    *"'\"`.,:;()[]<>-*!?%$ ",
    *map(chr, (0xA0, 0xAB, 0xBB, 0xBD, 0x130, 0x131, 0x17F, 0x301, 0x663)),
    *map(chr, (0x200D, 0x2013, 0x2014, 0x2018, 0x2019, 0x201C, 0x201D, 0x212A)),
    *"s S t n not can wan na ll re 't is 1 23 é ǆ ß".split(),
]  # fmt: skip


def random_texts(seed: int, count: int) -> list[str]:
    chance = random.Random(seed)
    known = (chr(k) for k in range(1, 0x11000) if unicodedata.category(chr(k)) not in ("Cn", "Cs"))
    anything = list(known)
    texts = ["".join(chance.choices(PIECES, k=chance.randint(1, 12))) for _ in range(count)]
    return texts + ["".join(chance.choices(anything, k=20)) for _ in range(count // 4)]


def assert_alike(side: TextSide, texts: list[str]) -> None:
    for text, reading in zip(texts, engine_readings(side, texts), strict=True):
        assert reading == python_reading(side, text), ascii(text)


@pytest.mark.slow
@pytest.mark.parametrize("name", VOCABULARIES)
def test_hostile_texts_are_read_alike(name):
    side = TextSide.of_words(VOCABULARIES[name])
    assert_alike(side, HOSTILE["words"] + random_texts(1, 1000))


@pytest.mark.slow
def test_the_bundled_vocabulary_is_read_alike():
    side = TextSide.of_words(run_at("english-news").vocabulary())
    text = "We can't stand, he'd said; it's the O'Neills' 3rd $5.50 café -- NOT two-thirds!"
    assert_alike(side, [text, *HOSTILE["words"]])


@pytest.mark.slow
def test_marks_and_blanks_are_read_alike():
    words = ("<s>", "a", "b.", "<unk>")
    user = Vocabulary.of_user(words, (1,) * 4, words)
    side = TextSide(user, str.split, column, mark=0, splitting="blanks")
    assert_alike(side, ["a b. c", "", "\x1ca\x85b.\u3000", "a\ufeff b."])
    assert_alike(replace(side, follows=False), ["a b. c"])


@pytest.mark.slow
@pytest.mark.parametrize(
    "pattern", [r"\w+|[^\w\s]", r"(?i)[a-c\s]+|\bs\d*", r"[^\W\d_]++|(?>'|\S)$|^.", "(?m)^\\S.*?$"]
)
def test_what_a_pattern_finds_is_found_alike(pattern):
    words = ("a", "<unk>")
    user = Vocabulary.of_user(words, (1,) * 2, words)
    rule = Pattern.of(re.compile(pattern))
    side = TextSide(user, rule, column, splitting="pattern", pattern=rule.written)
    assert_alike(side, HOSTILE["words"] + random_texts(2, 500))


@pytest.mark.slow
@pytest.mark.parametrize("name", GOLDEN)
def test_pieces_are_found_alike(name):
    pieces = piece_text(name)
    names = pieces.names
    side = TextSide(
        Vocabulary.of_user(names, (1,) * len(names), names),
        lambda text: [names[number] for number in pieces.encode(text)],
        column,
        splitting="pieces",
        pieces=pieces,
    )
    texts = [text for text, _ in GOLDEN[name]["texts"]]
    assert_alike(side, [*texts, *HOSTILE["words"], *made.texts(300, seed=3)])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("plain", "steps", "refused"),
    [
        ((Step("replace", "a" * 6, "a"),) * 12, (), 5),
        ((), (Step("split", pattern="a"), Step("front", "ab" * 20, always=True)), 2),
        ((Step("replace", "😀" * 31, "a"),), (), 0),  # which is two characters to a browser
        ((Step("replace", "😀" * 33, "a"),), (), 2),
    ],
)
def test_a_text_that_steps_swell_is_refused_alike(plain, steps, refused):
    added = (Added(1, "b"), Added(2, "c", normal=True))
    pieces = PieceText.of_pieces(
        Pieces("wordlevel", "words", ("a", "b", "c"), plain, steps, added, unknown=1)
    )
    names = pieces.names
    side = TextSide(
        Vocabulary.of_user(names, (1,) * len(names), names),
        lambda text: [names[number] for number in pieces.encode(text)],
        column,
        splitting="pieces",
        pieces=pieces,
    )
    texts = ["a", "ba" * 20, "a" * 1000, "aab" * 600, "a" * 1200 + "😀"]
    assert_alike(side, texts)
    assert sum("refused" in python_reading(side, text) for text in texts) == refused


@pytest.mark.slow
@pytest.mark.parametrize("features", [1, 2])
def test_numbers_are_read_alike(features):
    scale = Scale((-2.0, -1.0, 0.0, 0.5, 3.0), (-1.5, -0.5, 0.2, 1.0))
    names = Vocabulary.of_user(scale.names, (1,) * 4, ())
    side = TextSide(
        names, lambda text: split_numbers(text, features), column,
        answers=LabelSet(scale.names, scale=scale), features=features, splitting="numbers",
    )  # fmt: skip
    chance = random.Random(0)
    values = [0.0, -0.0, 1000.5, 1001.5, 12345, 1234.5, -1233.5, 0.00012345, 1e-5, 1e20, 1e-44]
    values += [chance.uniform(-3, 3) * 10 ** chance.randint(-8, 8) for _ in range(300)]
    assert_alike(side, HOSTILE["numbers"] + [f"{value!r},{value!r}" for value in values])


def test_a_users_way_to_split_is_refused():
    user = Vocabulary.of_user(("a",), (1,), ("a",))
    with pytest.raises(RnnlensError, match="function of its user's"):
        text_json(TextSide(user, list, column))
