"""A word a line: CoNLL-U, and words with labels in columns."""

import gzip
from pathlib import Path

import pytest

from rnnlens.base.errors import RnnlensError
from rnnlens.corpus.read import Sentence
from rnnlens.corpus.read.conll import read_columns, read_conllu
from rnnlens.corpus.read.formats import read, recognise
from rnnlens.corpus.read.task import Task


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


CONLL = "-DOCSTART- -X- O O\n\nEU NNP B-NP B-ORG\nrejects VBZ B-VP O\n\n\n# # B-NP O\n5 CD I-NP O\n"
EU, HASH = ("EU", "rejects"), ("#", "5")


def column_sentences(folder: Path, text: str, words: str = "", labels: str = "") -> list[Sentence]:
    path = folder / "columns"
    path.write_text(text)
    return list(read_columns(path, "utf-8", Task("tag", words, labels)))


def test_the_last_column_is_the_label_unless_another_is_asked_for(tmp_path):
    last = [Sentence(EU, None, ("B-ORG", "O")), Sentence(HASH, None, ("O", "O"))]
    assert column_sentences(tmp_path, CONLL) == last
    assert column_sentences(tmp_path, CONLL.replace(" ", "\t")) == last
    second = [Sentence(EU, None, ("NNP", "VBZ")), Sentence(HASH, None, ("#", "CD"))]
    assert column_sentences(tmp_path, CONLL, "", "2") == second
    assert column_sentences(tmp_path, CONLL, "2", "1")[0] == Sentence(("NNP", "VBZ"), None, EU)


def test_comments_as_wide_as_the_table_are_no_words(tmp_path):
    text = "EU NNP B-NP B-ORG\n\n# sent_id = 2\n# a = b\nGerman JJ B-NP B-MISC\n"
    assert [one.words for one in column_sentences(tmp_path, text)] == [("EU",), ("German",)]
    text = "a\tX\n\n# newpar\nb\tX\n"
    assert [one.words for one in column_sentences(tmp_path, text)] == [("a",), ("b",)]


def test_columns_can_be_named_by_the_file(tmp_path):
    text = "# global.columns = FORM UPOS NER\n# text = a b\na\tDET\tO\nb\tX\tO\n"
    assert column_sentences(tmp_path, text, "form", "upos") == [
        Sentence(("a", "b"), None, ("DET", "X"))
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "columns", "said"),
    [
        (CONLL, ("", "5"), "line 3: there is no column 5 for --label-column; there are 4"),
        (CONLL, ("", "ner"), "line 3: the columns have no names, and --label-column is 'ner'"),
        ("# global.columns = FORM POS\na X\n", ("", "ner"), "no column 'ner'.*FORM, POS"),
        ("a X\nb\n", (), "line 2: the first word has 2 columns and this one 1"),
        ("a\tX\nb\t\n", (), "line 2: 'b' has no label"),
        ("alone\n", (), "column 1 of 1 cannot hold both"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path, text, columns, said):
    with pytest.raises(RnnlensError, match=said):
        column_sentences(tmp_path, text, *columns)


def test_tags_of_treebanks_are_labels_too(tmp_path):
    tree, conllu = tmp_path / "a.mrg", tmp_path / "a.conllu"
    tree.write_text("( (S (NP (DT the) (NN dog)) (VP (VBZ barks))) )")
    conllu.write_text(
        "1\tthe\tthe\tDET\tDT\t_\t2\tdet\t_\t_\n2\tdog\tdog\tNOUN\t_\t_\t0\troot\t_\t_\n"
    )

    def labels(path: Path, label: str) -> tuple[str, ...] | None:
        return next(read(str(path), task=Task("tag", "", label))).labels

    assert labels(tree, "") == ("DET", "NOUN", "VERB")
    assert labels(tree, "xpos") == ("DT", "NN", "VBZ")
    assert labels(conllu, "") == ("DET", "NOUN")
    assert labels(conllu, "deprel") == ("det", "root")
    with pytest.raises(RnnlensError, match=r"line 2: 'dog' has no label; .*--label-column"):
        labels(conllu, "xpos")
    with pytest.raises(RnnlensError, match="no column 'ner' for --label-column; there is id, form"):
        labels(conllu, "ner")
    with pytest.raises(RnnlensError, match="upos, and the tags of their source, xpos"):
        labels(tree, "ner")


def test_a_word_a_line_is_recognised_where_words_are_tagged(tmp_path):
    path = tmp_path / "train.txt"
    path.write_text(CONLL)
    assert recognise(str(path), task="tag").format == "columns"
    assert recognise(str(path)).format != "columns"
