import gzip
from pathlib import Path

import pytest
from tests.grammar import conllu, sentences

from rnnlens.base.errors import RnnlensError
from rnnlens.corpus.read import Sentence
from rnnlens.corpus.read.formats import FORMATS, READERS, TABLES, read, recognise

CONLLU = conllu(3)
BRACKETS = "( (S (NP (DT the) (NN dog)) (VP (VBZ barks)) (. .)) )\n"
TOKENISED = "The dog barks .\nThe cat sleeps , too .\n"
RAW = "The dog barks. The cat sleeps, too.\n"


def written(folder: Path, name: str, text: str, encoding: str = "utf-8") -> str:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(text.encode(encoding))
    return str(path)


@pytest.mark.parametrize(
    ("name", "text", "format"),
    [
        ("a.conllu", TOKENISED, "conllu"),
        ("a.mrg", TOKENISED, "brackets"),
        ("a", CONLLU, "conllu"),
        ("a.txt", "# sent_id = 1\n\n# text = a\n" + CONLLU, "conllu"),
        ("a.txt", "\ufeff# sent_id = 1\n" + CONLLU, "conllu"),
        ("a", BRACKETS, "brackets"),
        ("a", "\n  " + BRACKETS, "brackets"),
        ("a", "\ufeff" + BRACKETS, "brackets"),
        ("a.conll", TOKENISED, "text"),
        ("a", TOKENISED, "text"),
        ("a", "the dog barks\nthe cat sleeps\n", "text"),
        ("a", RAW, "raw"),
        ("a", "(A remark.) " + RAW, "raw"),
        ("a", "(A remark.)\n" + TOKENISED, "text"),
        ("a", "one\ttwo\tthree\n", "text"),
        ("a", "", "text"),
    ],
)
def test_the_format_is_told_by_name_and_else_by_content(tmp_path, name, text, format):
    assert recognise(written(tmp_path, name, text)).format == format


@pytest.mark.parametrize("name", ["a.conllu.gz", "a.gz"])
def test_gzipped_sources_are_recognised_alike(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(gzip.compress(CONLLU.encode()))
    assert recognise(str(path)).format == "conllu"
    assert list(read(str(path))) == list(sentences(3))


def test_the_content_is_looked_at_in_the_encoding_given(tmp_path):
    source = written(tmp_path, "a", CONLLU, "utf-16")
    assert recognise(source, "utf-16").format == "conllu"
    assert list(read(source, "auto", "utf-16")) == list(sentences(3))


def test_an_unknown_encoding_is_refused_while_recognising(tmp_path):
    with pytest.raises(RnnlensError, match="no encoding is called 'klingon'"):
        recognise(written(tmp_path, "a", RAW), "klingon")


def test_nltk_sources_are_told_by_their_prefix():
    assert recognise("nltk:brown").format == "nltk"


@pytest.mark.parametrize(
    ("format", "text", "expected"),
    [
        ("text", "It's late.", [Sentence(("It's", "late."))]),
        ("raw", "It's late .", [Sentence(("It", "'s", "late", "."))]),
        ("brackets", "(S (NN dog))", [Sentence(("dog",), ("NOUN",))]),
        ("conllu", CONLLU, list(sentences(3))),
    ],
)
@pytest.mark.parametrize("name", ["a.mrg", "a.conllu", "a.txt"])
def test_a_format_that_is_given_overrides_the_name_and_the_content(
    tmp_path, name, format, text, expected
):
    assert list(read(written(tmp_path, name, text), format)) == expected


def test_every_format_but_auto_has_a_reader():
    assert FORMATS["next"] == (
        "auto", "text", "raw", "conllu", "brackets", "jsonl", "parquet", "arrow"
    )  # fmt: skip
    assert {*READERS, *TABLES} == set().union(*FORMATS.values()) - {"auto"}


def test_a_folder_of_text_is_read_whole_in_order_of_name(tmp_path):
    written(tmp_path, "b.txt", "third .\n")
    written(tmp_path, "a/2.txt", "second .\n")
    written(tmp_path, "a/1.md", "first .\n")
    assert [s.words[0] for s in read(str(tmp_path))] == ["first", "second", "third"]


@pytest.mark.parametrize("ending", [".conllu", ".conllu.gz"])
def test_a_folder_of_conllu_is_read_without_what_lies_beside_it(tmp_path, ending):
    data = CONLLU.encode()
    path = tmp_path / f"part{ending}"
    path.write_bytes(gzip.compress(data) if ending.endswith("gz") else data)
    written(tmp_path, "LICENSE", "All rights reserved.")
    assert recognise(str(tmp_path)).format == "conllu"
    assert list(read(str(tmp_path))) == list(sentences(3))


def test_a_folder_without_telling_names_is_read_whole_in_the_format_given(tmp_path):
    written(tmp_path, "1", BRACKETS)
    written(tmp_path, "2", BRACKETS)
    assert len(list(read(str(tmp_path), "brackets"))) == 2


@pytest.mark.parametrize("use", [recognise, lambda source: list(read(source))])
def test_a_missing_source_is_refused(tmp_path, use):
    with pytest.raises(RnnlensError, match="no corpus at"):
        use(str(tmp_path / "nowhere"))


@pytest.mark.parametrize(
    ("text", "format_"),
    [
        ("(CNN) -- The mayor spoke. He left.\n", "raw"),
        ("( (S (NP (DT the)) ) )\n", "brackets"),
        ("(S\n  (NP (NN dog)))\n", "brackets"),
        ("(\n (S (NN dog)))\n", "brackets"),
    ],
)
def test_a_remark_in_brackets_is_no_tree(tmp_path, text, format_):
    path = tmp_path / "corpus"
    path.write_text(text)
    assert recognise(str(path)).format == format_


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("a.conllu", "", "by its ending"),
        ("a", CONLLU, "its lines have 10 fields"),
        ("a", BRACKETS, "it begins with a tree"),
        ("a", TOKENISED, "a sentence a line, for punctuation stands apart"),
        ("a", "mr. smith <unk> the dog\n", "a sentence a line, for it has <unk>"),
        ("a", "the dog barks\n", "a sentence a line, for it has no punctuation"),
        ("a", RAW, "running text, for punctuation clings to words"),
    ],
)
def test_it_is_said_why_a_source_is_taken_for_what_it_is(tmp_path, name, text, reason):
    assert recognise(written(tmp_path, name, text)).reason == reason


def test_an_empty_name_is_no_corpus():
    with pytest.raises(RnnlensError, match="empty name"):
        recognise("")
