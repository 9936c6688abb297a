from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from nltk.tokenize import NLTKWordTokenizer

from rnnlens.base.errors import RnnlensError
from rnnlens.corpus.read import Sentence, plain_text
from rnnlens.corpus.read.plain_text import (
    is_whole,
    number_mark,
    read_raw,
    read_tokenised,
    tokenised,
    words_of,
)


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
    ("sample", "expected"),
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
        ("mr. smith of smith & co. said it is late", True),
        ("a board meeting in nov. N of the u.s. group a. b. smith corp.", True),
        ("the calif. group " + "of one hundred words and more " * 20, True),
        ("The Calif. group of a few words", False),
        ("He said, <unk> is late.", True),
        ("the state @-@ of @-@ the @-@ art , it said", True),
    ],
)
def test_tokenised_text_is_told_by_punctuation_standing_apart(sample, expected):
    assert bool(tokenised(sample)) is expected


def words(folder: Path, text: str) -> list[str]:
    return [" ".join(s.words) for s in read_tokenised(written(folder, text), "utf-8")]


def test_the_end_of_a_sentence_may_be_written(tmp_path):
    assert words(tmp_path, "the dog <eos>\n it <unk> <eos> the end\n<eos>\n") == [
        "the dog",
        "it <unk>",
        "the end",
    ]


def test_of_wikitext_headings_are_left_out_and_words_joined(tmp_path):
    text = (
        " \n = Valkyria = \n \n = = Early = life = = \n"
        " The state @-@ of @-@ the @-@ art cost 1 @,@ 000 @.@ 5 = a lot . \n x = y \n"
    )
    assert words(tmp_path, text) == ["The state-of-the-art cost 1,000.5 = a lot .", "x = y"]


@pytest.mark.parametrize(
    ("sample", "mark"),
    [
        ("the N dogs of N <unk>", "N"),
        ("the dogs", ""),
        ("The N dogs", ""),
        ("the dogs of N.Y. in N", ""),
    ],
)
def test_a_capital_n_among_small_letters_stands_for_numbers(sample, mark):
    assert number_mark(sample) == mark


def test_sentences_of_a_long_text_are_learnt_from_a_part_of_it(tmp_path, monkeypatch):
    from nltk.tokenize.punkt import PunktTrainer

    learnt = []
    monkeypatch.setattr(PunktTrainer, "train", lambda _, part, finalize: learnt.append(part))
    monkeypatch.setattr(plain_text, "SAMPLE", 300)
    paragraphs = [f"The dog of paragraph {k} barks. It sleeps." for k in range(30)]
    assert len(raw(tmp_path, "\n\n".join(paragraphs))) == 60
    assert 100 < sum(map(len, learnt)) <= 300
    assert "paragraph 0 " in learnt[0]
    assert any(f"paragraph {k} " in learnt[-1] for k in range(20, 30))


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


def test_what_nltk_gives_up_on_is_told_in_one_line(tmp_path, monkeypatch):
    def slow(*_):
        raise TimeoutError("regular-expression match exceeded its 5.0s time limit")

    monkeypatch.setattr("nltk.tokenize.punkt.PunktSentenceTokenizer.tokenize", slow)
    with pytest.raises(RnnlensError, match="not split into sentences in reasonable time"):
        raw(tmp_path, ". " * 100)


def test_a_paragraph_of_many_letters_is_cut_after_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr("rnnlens.corpus.read.plain_text._LONGEST_PARAGRAPH", 60)
    text = "The dog barks. The cat sleeps. " * 6
    assert raw(tmp_path, text) == ["The dog barks .", "The cat sleeps ."] * 6
    assert len(raw(tmp_path, "a" * 200)) == 4


@given(st.from_regex(r"[A-Za-z]{1,8}(-[A-Za-z]{1,8}){0,2}", fullmatch=True))
@example("cannot")
@example("I-Gonna")
@example("wanna")
@example("can-not")
def test_what_is_whole_is_not_taken_apart_by_nltk(piece):
    if is_whole(piece):
        assert NLTKWordTokenizer().tokenize(piece) == [piece]


@pytest.mark.parametrize("piece", ["cannot", "I-GONNA", "don't", "U.S.", "a--b", "-a", "naïve", ""])
def test_what_may_be_taken_apart_is_not_whole(piece):
    assert not is_whole(piece)
