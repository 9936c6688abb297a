"""Tokenizers are kept and split texts as their library does."""

import json
import random
import time
from dataclasses import asdict
from typing import Any

import pytest
from tests.corpus.pieces import made

from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import read_json, write_json
from rnnlens.base.pace import paced
from rnnlens.corpus.pieces.foreign import pieces_of
from rnnlens.corpus.pieces.pattern import UnknownPartError
from rnnlens.corpus.pieces.piece_text import PieceText
from rnnlens.corpus.pieces.tokenizer import Added, Pieces, Step, Tokenizer

GOLDEN = json.loads(made.GOLDEN.read_text(encoding="utf-8"))


def piece_text(name: str) -> PieceText:
    return PieceText.of_pieces(pieces_of(json.dumps(GOLDEN[name]["tokenizer"])))


@pytest.mark.parametrize("name", GOLDEN)
def test_texts_are_split_as_by_the_library(name, tmp_path):
    pieces = pieces_of(json.dumps(GOLDEN[name]["tokenizer"]))
    write_json(tmp_path / "tokenizer.json", asdict(pieces))
    again = read_json(tmp_path / "tokenizer.json", Pieces)
    assert again == pieces
    tokenizer = Tokenizer(again)
    for text, numbers in GOLDEN[name]["texts"]:
        assert tokenizer.encode(text) == numbers, text


@pytest.mark.parametrize("name", GOLDEN)
def test_half_a_character_is_read_as_one_that_is_unknown(name):
    tokenizer = Tokenizer(pieces_of(json.dumps(GOLDEN[name]["tokenizer"])))
    assert tokenizer.encode("a\ud800b") == tokenizer.encode("a\ufffdb")


@pytest.mark.release
@pytest.mark.parametrize("name", made.EVERY)
def test_thousands_of_texts_are_split_as_by_the_library(name):
    pytest.importorskip("tokenizers")
    theirs = made.made(name)
    ours = PieceText.of(theirs)
    assert ours.pieces is not None, ours.why
    for text in made.texts(3000, seed=1):
        assert ours.encode(text) == theirs.encode(text, add_special_tokens=False).ids, text


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ({"normalizer": {"type": "Nmt"}}, "the normalizer Nmt"),
        ({"normalizer": {"type": "Precompiled", "precompiled_charsmap": "AA=="}}, "Precompiled"),
        ({"normalizer": {"type": "NFC", "new": 1}}, "the normalizer NFC with 'new'"),
        ({"pre_tokenizer": {"type": "UnicodeScripts"}}, "the pre-tokenizer UnicodeScripts"),
        ({"pre_tokenizer": {"type": "Split", "pattern": {"Regex": r"(a)\1"}, "behavior": "Removed",
                            "invert": False}}, "a pattern with"),
        ({"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "a"}, "behavior": "Halved"}},
         "behavior 'Halved'"),
        ({"decoder": {"type": "Strange"}}, "the decoder Strange"),
        ({"model": {"type": "Neural", "vocab": {"a": 0}}}, "the model Neural"),
        ({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": [], "dropout": 0.1}}, "dropout"),
        ({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a b"]}}, "KeyError"),
        ({"model": {"type": "WordLevel", "vocab": {"a": 10**9}}}, "numbers up to"),
        ({"model": 3}, "a model that is int"),
        ({"normalizer": 3}, "AttributeError"), ({"normalizer": {"type": "Strip"}}, "KeyError"),
        ({"normalizer": {"type": "Prepend", "prepend": 3}}, "plain.0.text: .*valid string"),
        ({"decoder": {"type": "Sequence", "decoders": 3}}, "TypeError"),
        ({"model": {"type": "WordLevel", "vocab": {"a": "x"}}}, "ValueError"),
        ({"model": {"type": "WordLevel", "vocab": {"a" * 501: 0}}}, "tokens.0: .*at most 500"),
    ],
)  # fmt: skip
def test_a_part_that_is_not_known_is_named(part, said):
    whole = {**GOLDEN["qwen"]["tokenizer"], **part}
    if part.get("model"):
        whole["added_tokens"] = []
    with pytest.raises(UnknownPartError, match=said):
        pieces_of(json.dumps(whole))


@pytest.mark.parametrize(
    "text", ["", "[]", "3", "{", '{"model": {}}', '{"model": {"vocab": 3}}', "[" * 100_000]
)
def test_what_is_no_tokenizer_is_refused(text, tmp_path):
    with pytest.raises(UnknownPartError):
        pieces_of(text)
    path = tmp_path / "tokenizer.json"
    path.write_text(text)
    with pytest.raises(RnnlensError, match="which is not known"):
        PieceText.of(path)
    with pytest.raises(RnnlensError, match="cannot read"):
        PieceText.of(tmp_path / "none.json")
    with pytest.raises(RnnlensError, match="tokenizer= is int"):
        PieceText.of(3)


@pytest.mark.parametrize(
    "change",
    [
        {"tokens": ("a", "a")}, {"unknown": 9}, {"merges": ((0, 9),)}, {"scores": (0.0, 1.0)},
        {"model": "unigram"}, {"added": ({"number": 1, "text": "c"},)},
        {"steps": ({"do": "split", "pattern": "(" * 50},)}, {"plain": ({"do": "bytes"},)},
        {"plain": ({"do": "normal", "text": "NFX"},)}, {"tokens": ("a", 3)}, {"more": 1},
        {"steps": ({"do": "split", "pattern": "(a{900}){900}"},)},
    ],
)  # fmt: skip
def test_a_strangers_file_is_refused_in_one_line(tmp_path, change):
    sound = asdict(Pieces("bpe", "words", ("a", "b")))
    write_json(tmp_path / "tokenizer.json", sound)
    assert read_json(tmp_path / "tokenizer.json", Pieces).tokens == ("a", "b")
    write_json(tmp_path / "tokenizer.json", {**sound, **change})
    with pytest.raises(RnnlensError, match=r"tokenizer\.json") as caught:
        read_json(tmp_path / "tokenizer.json", Pieces)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["qwen", "unigram", "bert", "llama"])
def test_a_librarys_mutated_files_are_refused_in_one_line_or_read(name, tmp_path, monkeypatch):
    monkeypatch.setattr("rnnlens.corpus.pieces.pattern._SECONDS", 0.5)
    sound, path, chance = GOLDEN[name]["tokenizer"], tmp_path / "t.json", random.Random(0)
    read = 0
    for _ in range(200):
        # What is long is left as it is more often, so that all that is short is met.
        part = chance.choice([*sound])
        path.write_text(json.dumps({**sound, part: spoilt(sound[part], chance)}), encoding="utf-8")
        try:
            PieceText.of(path).encode("The old (aaaaaaaaab) naïve 日本 <s>\n")
        except RnnlensError as error:
            assert "\n" not in str(error)  # noqa: PT017
            continue
        read += 1
    assert 5 < read < 195


class Library:
    """A tokenizer of somebody's library that does not say what it does."""

    def __init__(self, words: list[str]) -> None:
        self.words = words
        self.all_special_ids = [0]

    def get_vocab(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.words)}

    def encode(self, text: str, add_special_tokens: bool = True) -> list[int]:
        if "!" in text:
            raise ValueError("no signs")
        return [0] * add_special_tokens + [self.words.index(word) for word in text.split()]


def test_an_unknown_library_splits_as_long_as_it_is_there():
    ours = PieceText.of(Library(["<s>", "a", "b"]))
    assert ours.encode("a b a") == [1, 2, 1]
    assert ours.names == ("<s>", "a", "b")
    with pytest.raises(RnnlensError, match=r"a Library, which does not say .* a run cannot keep"):
        ours.to_keep()
    with pytest.raises(RnnlensError, match=r"cannot split 'a!' \(ValueError: no signs\)"):
        ours.encode("a!")


@pytest.mark.parametrize(
    ("normal", "why"),
    [
        ({"type": "Replace", "pattern": {"Regex": r"(a)\1"}, "content": ""}, "a pattern with"),
        (3, "AttributeError"),
        ({"type": "Sequence", "normalizers": [
            {"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 9}] * 9}, "more than"),
    ],
)  # fmt: skip
def test_a_library_with_a_part_that_is_not_known_goes_on_working(normal, why):
    class Telling(Library):
        def to_str(self) -> str:
            return json.dumps(
                {"model": {"type": "WordLevel", "vocab": self.get_vocab(), "unk_token": "<s>"},
                 "normalizer": normal}
            )  # fmt: skip

        def encode(self, text: str, add_special_tokens: bool = True) -> list[int]:
            return [self.words.index(w) if w in self.words else 0 for w in text.split()]

    ours = PieceText.of(Telling(["<s>", "a", "b"]))
    assert ours.encode("a b a") == [1, 2, 1]
    with pytest.raises(RnnlensError, match=f"{why}.* a run cannot keep"):
        ours.to_keep()


@pytest.mark.release
def test_what_splits_otherwise_than_its_library_is_not_kept():
    pytest.importorskip("tokenizers")
    theirs = made.made("gpt2")

    class Shouting:
        def to_str(self) -> Any:
            return theirs.to_str()

        def get_vocab(self) -> Any:
            return theirs.get_vocab()

        def encode(self, text: str, add_special_tokens: bool = True) -> object:
            return theirs.encode(text.upper(), add_special_tokens=add_special_tokens)

    ours = PieceText.of(Shouting())
    assert ours.pieces is None
    assert ours.encode("the") == theirs.encode("THE").ids
    with pytest.raises(RnnlensError, match="something that splits"):
        ours.to_keep()


def splitting(*steps: Step, plain: tuple[Step, ...] = (), added: tuple[Added, ...] = ()) -> Any:
    """A tokenizer of two letters with these steps."""
    pieces = Pieces("wordlevel", "words", ("a", "b"), plain, steps, added, unknown=1)
    return Tokenizer(pieces).encode


TENFOLD = Step("replace", "a" * 10, "a")


@pytest.mark.parametrize(
    "encode",
    [
        splitting(plain=(TENFOLD,) * 12),
        splitting(*[TENFOLD] * 12),
        splitting(Step("split", pattern="a"), Step("front", "b" * 40, always=True)),
        splitting(plain=(TENFOLD,) * 12, added=(Added(0, "a", normal=True),)),
        splitting(plain=(TENFOLD, TENFOLD), added=(Added(1, "b"),)),
    ],
)
def test_a_text_that_steps_swell_is_refused_in_one_line(encode):
    with pytest.raises(
        RnnlensError, match=r"makes more than [\d,]+ characters of the text"
    ) as told:
        encode("a" * 990 + "ba" * 1000)
    assert "\n" not in str(told.value)


def test_all_searches_for_one_text_have_one_limit_of_time(monkeypatch):
    monkeypatch.setattr("rnnlens.corpus.pieces.pattern._SECONDS", 0.3)
    hard = Step("split", pattern="(?:a+a+)+d", how="removed")
    encode = splitting(Step("split", pattern="c", how="removed"), hard)
    word = "a" * 100 + "c"
    assert encode(word) == [1]  # in far less
    begun = time.perf_counter()
    with pytest.raises(RnnlensError, match=r"takes longer than 0\.3 s"):
        encode(word * 1000)
    assert time.perf_counter() - begun < 3  # and not for each word anew


class Impatient:
    """A server that gives up work which goes on."""

    waited = 0.0

    def __init__(self) -> None:
        self.left = 50

    def checkpoint(self) -> None:
        self.left -= 1
        if not self.left:
            raise RnnlensError("this took more than")

    def leave(self) -> None:
        """Nothing."""


@pytest.mark.parametrize("model", ["bpe", "unigram", "wordpiece", "wordlevel"])
def test_a_servers_limit_ends_the_splitting_of_a_text(model):
    scores = (0.0,) * 4 if model == "unigram" else ()
    cut = (Step("split", pattern="b"),) if model == "wordlevel" else ()
    pieces = Pieces(
        model, "words", ("a", "b", "##a", "aa"), (), cut, (), ((0, 0),), scores,
        prefix="##" if model == "wordpiece" else "", most=10_000,
    )  # fmt: skip
    with pytest.raises(RnnlensError, match="this took"), paced(Impatient()):
        Tokenizer(pieces).encode("ab" * 100 if cut else "a" * 500)


STRANGE: list[Any] = [
    None, True, -1, 0, 10**9, 1.5, "", "a", "(", "(a+)+$", "[", "\ud800", "▁" * 3000, [], {}, [0],
    [[0, 1]],
]  # fmt: skip


def spoilt(value: Any, chance: random.Random) -> Any:
    """A value with something else somewhere in it."""
    if isinstance(value, dict | list) and value and chance.random() < 0.9:
        keys = [*value] if isinstance(value, dict) else [*range(len(value))]
        key = chance.choice(keys)
        made: Any = value.copy()
        made[key] = spoilt(value[key], chance)
        return made
    return chance.choice(STRANGE)


@pytest.mark.parametrize("name", ["qwen", "unigram", "bert"])
def test_mutated_files_are_refused_or_split_something(name, tmp_path, monkeypatch):
    monkeypatch.setattr("rnnlens.corpus.pieces.pattern._SECONDS", 0.5)
    sound = json.loads(json.dumps(asdict(pieces_of(json.dumps(GOLDEN[name]["tokenizer"])))))
    path, chance, read = tmp_path / "tokenizer.json", random.Random(0), 0
    for _ in range(150):
        path.write_text(json.dumps(spoilt(sound, chance)), encoding="utf-8")
        try:
            text = PieceText.of_pieces(read_json(path, Pieces))
            numbers = text.encode("The old (aaaaaaaaaaaaaaaaaaaaaaaaaaaaaab) naïve 日本 <s>\n")
        except RnnlensError:
            continue
        assert all(0 <= number < len(text.tokens) for number in numbers)
        assert len(text.places(numbers)) == len(numbers)
        assert isinstance(text.written(numbers), str)
        assert len({*text.names}) == len(text.tokens)
        read += 1
    assert read > 5
