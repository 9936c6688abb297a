import gzip
from pathlib import Path

import pytest

from rnnlens.base.errors import RnnlensError
from rnnlens.corpus.read.conllu import read_conllu
from rnnlens.corpus.sentence import Sentence


def row(index: object, form: str, upos: str = "NOUN", xpos: str = "_") -> str:
    return f"{index}\t{form}\tlemma\t{upos}\t{xpos}\t_\t0\troot\t_\t_\n"


def sentences(
    folder: Path, text: str | bytes, name: str = "c.conllu", encoding: str = "utf-8"
) -> list[Sentence]:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return list(read_conllu(path, encoding))


DOGS = row(1, "Dogs") + row(2, "bark", "VERB") + row(3, ".", "PUNCT")
READ = Sentence(("Dogs", "bark", "."), ("NOUN", "VERB", "PUNCT"))


def test_words_come_with_their_universal_tags(tmp_path):
    assert sentences(tmp_path, DOGS + "\n" + row(1, "Yes", "INTJ") + "\n") == [
        READ,
        Sentence(("Yes",), ("INTJ",)),
    ]


@pytest.mark.parametrize(
    ("upos", "xpos", "expected"),
    [
        ("AUX", "VBZ", "AUX"),
        ("_", "VBZ", "VERB"),
        ("_", "NN-TL", "NOUN"),
        ("_", "CD", "NUM"),
        ("CONJ", "_", "CCONJ"),
        ("_", "%&", "X"),
        ("_", "_", "X"),
    ],
)
def test_the_language_specific_tag_stands_in_for_a_missing_universal_one(
    tmp_path, upos, xpos, expected
):
    text = row(1, "the", "DET") + row(2, "thing", upos, xpos)
    assert sentences(tmp_path, text) == [Sentence(("the", "thing"), ("DET", expected))]


def test_a_sentence_without_any_tag_is_untagged(tmp_path):
    text = row(1, "two", "_") + row(2, "dogs", "_") + "\n" + DOGS
    assert sentences(tmp_path, text) == [Sentence(("two", "dogs"), None), READ]


def test_multiword_ranges_give_way_to_their_words_and_empty_nodes_are_left_out(tmp_path):
    text = (
        row("1-2", "du", "_")
        + row(1, "de", "ADP")
        + row(2, "le", "DET")
        + row("2.1", "ghost", "VERB")
        + row(3, "chien")
    )
    assert sentences(tmp_path, text) == [Sentence(("de", "le", "chien"), ("ADP", "DET", "NOUN"))]


def test_an_empty_node_may_stand_before_the_first_word(tmp_path):
    assert sentences(tmp_path, row("0.1", "ghost") + DOGS) == [READ]


def test_comments_are_skipped_and_do_not_end_a_sentence(tmp_path):
    text = "# newdoc\n# text\n" + DOGS.replace("\n", "\n# a comment\n") + "\n# at the end\n"
    assert sentences(tmp_path, text) == [READ]


def test_a_word_that_is_a_hash_sign_is_a_word(tmp_path):
    assert sentences(tmp_path, row(1, "#", "SYM") + row(2, "one", "NUM"))[0].words == ("#", "one")


def test_a_form_may_hold_a_space(tmp_path):
    assert sentences(tmp_path, row(1, "10 000", "NUM"))[0].words == ("10 000",)


@pytest.mark.parametrize(
    "text",
    [
        DOGS,
        DOGS.rstrip("\n"),
        DOGS + "\n",
        "\n\n" + DOGS + "\n\n\n",
        DOGS + "   \n",
        DOGS.replace("\n", "\r\n") + "\r\n",
        "\ufeff" + DOGS,
        "\ufeff# comment\n" + DOGS,
    ],
)
def test_white_space_around_sentences_and_byte_order_marks_do_not_matter(tmp_path, text):
    assert sentences(tmp_path, text) == [READ]


def test_a_gzipped_file_reads_as_the_plain_one(tmp_path):
    assert sentences(tmp_path, gzip.compress(DOGS.encode()), "c.conllu.gz") == [READ]


def test_latin_1_is_read_when_named(tmp_path):
    data = row(1, "café").encode("latin-1")
    assert sentences(tmp_path, data, encoding="latin-1")[0].words == ("café",)
    with pytest.raises(RnnlensError, match="is not utf-8"):
        sentences(tmp_path, data)


@pytest.mark.parametrize(
    ("bad", "complaint"),
    [
        ("2\tbark\t_\tVERB\n", r"line 4: .*10 fields .*has 4"),
        ("just text\n", r"line 4: .*10 fields .*has 1"),
        (row(2, "bark").rstrip("\n") + "\t_\n", r"line 4: .*has 11"),
        (row("two", "bark"), r"line 4: 'two' is no word number"),
        (row("", "bark"), r"line 4: '' is no word number"),
        (row("1-", "bark"), r"line 4: '1-' is no word number"),
        (row("1-2-3", "bark"), r"line 4: '1-2-3' is no word number"),
    ],
)
def test_a_broken_line_is_named_by_its_number(tmp_path, bad, complaint):
    with pytest.raises(RnnlensError, match=complaint) as caught:
        sentences(tmp_path, "# comment\n\n" + row(1, "Dogs") + bad)
    assert "c.conllu" in str(caught.value)


def test_sentences_before_a_broken_line_are_given_first(tmp_path):
    path = tmp_path / "c.conllu"
    path.write_text(DOGS + "\nbroken\n")
    stream = read_conllu(path, "utf-8")
    assert next(stream) == READ
    with pytest.raises(RnnlensError, match="line 5"):
        next(stream)
