from pathlib import Path

import pytest

from rnnlens.corpus.read.text import looks_tokenised, read_raw, read_tokenised, words_of
from rnnlens.corpus.sentence import Sentence


def written(folder: Path, text: str) -> Path:
    path = folder / "news.txt"
    path.write_text(text, encoding="utf-8")
    return path


def raw(folder: Path, text: str) -> list[str]:
    sentences = list(read_raw(written(folder, text), "utf-8"))
    assert all(sentence.tags is None for sentence in sentences)
    return [" ".join(sentence.words) for sentence in sentences]


def test_tokenised_text_is_a_sentence_a_line_split_at_white_space(tmp_path):
    path = written(tmp_path, "The dog barks .\n\n  a\tb  c\u00a0d \n   \nDr. No's\n")
    assert list(read_tokenised(path, "utf-8")) == [
        Sentence(("The", "dog", "barks", ".")),
        Sentence(("a", "b", "c", "d")),
        Sentence(("Dr.", "No's")),
    ]


def test_raw_text_is_split_into_sentences_of_penn_tokens(tmp_path):
    text = "The dog can't see. It's late, isn't it? Prices rose 3.5% (again)! They go."
    assert raw(tmp_path, text) == [
        "The dog ca n't see .",
        "It 's late , is n't it ?",
        "Prices rose 3.5 % ( again ) !",
        "They go .",
    ]


@pytest.mark.parametrize(
    "sentence",
    [
        "Dr. Smith came home .",
        "We saw Mr. and Mrs. Jones .",
        "It was Sen. Brown who spoke .",
        "They met on Jan. 5 in St. Louis .",
        "Some fruit , e.g. apples , fell .",
        "He rose at 5 a.m. every day .",
    ],
)
def test_abbreviations_do_not_end_a_sentence(tmp_path, sentence):
    plain = sentence.replace(" .", ".").replace(" ,", ",")
    assert raw(tmp_path, f"{plain} Then we left.") == [sentence, "Then we left ."]


def test_quotation_marks_become_penn_quotes(tmp_path):
    text = '"We stand," he said, "in solidarity." Nobody spoke.'
    assert raw(tmp_path, text) == [
        "`` We stand , '' he said , `` in solidarity . ''",
        "Nobody spoke .",
    ]


def test_a_sentence_runs_over_lines_but_not_over_paragraphs(tmp_path):
    text = "A headline without a stop\n\nThe dog\nbarks\nloudly. It\nsleeps.\n \n\nThe end"
    assert raw(tmp_path, text) == [
        "A headline without a stop",
        "The dog barks loudly .",
        "It sleeps .",
        "The end",
    ]


@pytest.mark.parametrize("text", ["", "\n \n\n"])
def test_raw_text_without_words_has_no_sentence(tmp_path, text):
    assert raw(tmp_path, text) == []


@pytest.mark.parametrize(
    ("text", "tokenised"),
    [
        ("The dog barks .", True),
        ("The dog, which barks, sleeps.", False),
        ("the dog barks", True),
        ("", True),
        ("Dr. Smith came home , he said .", True),
        ("He came. She left . And so on.", False),
        ("`` We stand , '' he said .", True),
        ('"We stand," he said.', False),
        ("rates of 3.5 and 7. rose", True),
    ],
)
def test_tokenised_text_is_told_by_punctuation_standing_apart(text, tokenised):
    assert looks_tokenised(text) is tokenised


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("we stand in solidarity", "we stand in solidarity"),
        ("The dog barks.", "The dog barks ."),
        ("He can't stay, sadly.", "He ca n't stay , sadly ."),
        ("He ca n't stay , sadly .", "He ca n't stay , sadly ."),
        ("  two   spaces ", "two spaces"),
        ("", ""),
    ],
)
def test_typed_sentences_are_tokenised_unless_they_are_already(typed, words):
    known = {"ca", "n't", "stay", ",", "."}
    assert " ".join(words_of(typed, known.__contains__)) == words


def test_words_the_vocabulary_knows_are_never_taken_apart():
    known = {"don't", "u.s."}
    assert words_of("don't the U.S.", lambda word: word.lower() in known) == (
        "don't",
        "the",
        "U.S.",
    )
    assert words_of("don't", set().__contains__) == ("do", "n't")
