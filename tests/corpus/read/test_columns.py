from pathlib import Path

import pytest

from rnnlens.base.errors import RnnlensError
from rnnlens.corpus.read.columns import read_columns
from rnnlens.corpus.read.formats import read, recognise
from rnnlens.corpus.read.labels import Asked
from rnnlens.corpus.sentence import Sentence

CONLL = "-DOCSTART- -X- O O\n\nEU NNP B-NP B-ORG\nrejects VBZ B-VP O\n\n\n# # B-NP O\n5 CD I-NP O\n"
EU, HASH = ("EU", "rejects"), ("#", "5")


def sentences(folder: Path, text: str, words: str = "", labels: str = "") -> list[Sentence]:
    path = folder / "columns"
    path.write_text(text)
    return list(read_columns(path, "utf-8", Asked("tag", words, labels)))


def test_the_last_column_is_the_label_unless_another_is_asked_for(tmp_path):
    last = [Sentence(EU, None, ("B-ORG", "O")), Sentence(HASH, None, ("O", "O"))]
    assert sentences(tmp_path, CONLL) == last
    assert sentences(tmp_path, CONLL.replace(" ", "\t")) == last
    second = [Sentence(EU, None, ("NNP", "VBZ")), Sentence(HASH, None, ("#", "CD"))]
    assert sentences(tmp_path, CONLL, "", "2") == second
    assert sentences(tmp_path, CONLL, "2", "1")[0] == Sentence(("NNP", "VBZ"), None, EU)


def test_comments_as_wide_as_the_table_are_no_words(tmp_path):
    text = "EU NNP B-NP B-ORG\n\n# sent_id = 2\n# a = b\nGerman JJ B-NP B-MISC\n"
    assert [one.words for one in sentences(tmp_path, text)] == [("EU",), ("German",)]
    text = "a\tX\n\n# newpar\nb\tX\n"
    assert [one.words for one in sentences(tmp_path, text)] == [("a",), ("b",)]


def test_columns_can_be_named_by_the_file(tmp_path):
    text = "# global.columns = FORM UPOS NER\n# text = a b\na\tDET\tO\nb\tX\tO\n"
    assert sentences(tmp_path, text, "form", "upos") == [
        Sentence(("a", "b"), None, ("DET", "X"))
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "columns", "said"),
    [
        (CONLL, ("", "5"), "line 3: there is no column 5 for --label-column, but 4"),
        (CONLL, ("", "ner"), "line 3: the columns have no names, --label-column 'ner' is none"),
        ("# global.columns = FORM POS\na X\n", ("", "ner"), "no column 'ner'.*FORM, POS"),
        ("a X\nb\n", (), "line 2: the first word has 2 columns and this one 1"),
        ("a\tX\nb\t\n", (), "line 2: 'b' has no label"),
        ("alone\n", (), "column 1 of 1 cannot hold both"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path, text, columns, said):
    with pytest.raises(RnnlensError, match=said):
        sentences(tmp_path, text, *columns)


def test_tags_of_treebanks_are_labels_too(tmp_path):
    tree, conllu = tmp_path / "a.mrg", tmp_path / "a.conllu"
    tree.write_text("( (S (NP (DT the) (NN dog)) (VP (VBZ barks))) )")
    conllu.write_text(
        "1\tthe\tthe\tDET\tDT\t_\t2\tdet\t_\t_\n2\tdog\tdog\tNOUN\t_\t_\t0\troot\t_\t_\n"
    )

    def labels(path: Path, label: str) -> tuple[str, ...] | None:
        return next(read(str(path), asked=Asked("tag", "", label))).labels

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
