"""Pieces are drawn as people read them, joined where they are one word, and written back."""

import pytest
from tests.corpus.pieces.test_tokenizer import GOLDEN, piece_text

from rnnlens.base.errors import RnnlensError
from rnnlens.corpus.pieces.piece_text import PieceText
from rnnlens.corpus.pieces.tokenizer import Added, Pieces, Step


def byte_level(*tokens: str) -> PieceText:
    return PieceText.of_pieces(Pieces("bpe", "bytes", tokens, steps=(Step("bytes"),)))


def test_blanks_and_bytes_can_be_seen():
    text = byte_level("the", "Ġthe", "Ċ", "ĉ", "č", "ĠæĹ", "¥", "ĠĠ", "Âł", "▁", "Ġ", "Ã©", "")
    assert text.names == (
        "the", "▁the", "↵", "⇥", "␍", "▁\\xE6\\x97", "\\xA5", "▁▁", "\\xC2\\xA0", "▁", "Ġ", "é",
        "<unused-12>",
    )  # fmt: skip
    assert text.written([0, 1, 5, 6, 11]) == "the the 日é"
    spaces = PieceText.of_pieces(Pieces("bpe", "spaces", ("▁a", "<0xE6>", "<s>", "a")))
    assert spaces.names == ("▁a", "\\xE6", "<s>", "a")


def test_names_are_each_their_own():
    text = byte_level("ĠA", "▁A", "Ġ▁A", "x")
    assert len({*text.names}) == 4
    assert text.names[0] == "▁A"


@pytest.mark.parametrize("name", ["qwen", "llama", "unigram", "bert"])
def test_pieces_of_one_word_are_joined(name):
    text = piece_text(name)
    numbers = text.encode("Unbelievably, 42 cats sat")
    words = list[str]()
    for number, goes_on in zip(numbers, text.goes_on(numbers), strict=True):
        piece = text.names[number].removeprefix("▁").removeprefix("##")
        if goes_on:
            words[-1] += piece
        else:
            words.append(piece)
    if name != "qwen":  # which has a piece for each digit
        assert [word.lower() for word in words if word] == [
            "unbelievably", ",", "42", "cats", "sat"
        ]  # fmt: skip
    assert words[-2:] == ["cats", "sat"]
    assert text.written(numbers).lower() == (
        "unbelievably , 42 cats sat" if name == "bert" else "unbelievably, 42 cats sat"
    )


def test_marks_join_nothing_and_are_written_as_they_are():
    pieces = Pieces(
        "bpe", "bytes", ("a", "b", "<s>"), steps=(Step("bytes"),), added=(Added(2, "<s>", True),)
    )
    text = PieceText.of_pieces(pieces)
    assert text.encode("a<s>b") == [0, 2, 1]
    assert text.goes_on([0, 2, 1, 0]) == [False, False, False, True]
    assert text.written([0, 2, 1]) == "a<s>b"


def test_a_half_character_belongs_to_its_word():
    text = byte_level("æĹ", "¥", "Ġx", ",")
    assert text.goes_on([0, 1, 2, 3, 1]) == [False, True, False, False, False]


@pytest.mark.parametrize("name", GOLDEN)
def test_texts_are_written_back(name):
    text = piece_text(name)
    for some in ("the words of a text", "one two, three."):
        numbers = text.encode(some)
        assert text.encode(text.written(numbers)) == numbers


def test_a_model_may_have_more_numbers_than_its_tokenizer_and_not_fewer():
    text = byte_level("a", "b")
    assert text.named(4, "reads") == ("a", "b", "<unused-2>", "<unused-3>")
    with pytest.raises(RnnlensError, match="has 2 pieces and the module reads 1; give the tok"):
        text.named(1, "reads")


def test_hostile_pieces_have_names_too():
    text = byte_level("<unused-3>", "<unused-3>'", "x#4", "", "", "x")
    assert len({*text.names}) == 6
    empty = Pieces("unigram", "spaces", ("", ""), scores=(0.0, 0.0))
    assert PieceText.of_pieces(empty).encode("a b") == []
