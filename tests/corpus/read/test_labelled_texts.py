import gzip
from pathlib import Path

import pytest

from rnnlens.base.errors import RnnlensError
from rnnlens.corpus.read.formats import check_format, read, recognise
from rnnlens.corpus.read.task import Task

CSV = 'id,review,stars\n1,"A fine, quiet film.",4\n2,"Dull.\nAnd long.",1\n'
JSONL = '{"text": "good film", "label": "pos"}\n\n{"text": ["bad", "film"], "label": "neg"}\n'


def texts(path: Path, text: str = "", label: str = "") -> list[tuple[str, str]]:
    asked = Task("classify", text, label)
    found = []
    for sentence in read(str(path), task=asked):
        assert sentence.labels
        assert len(sentence.labels) == len(sentence.words)
        found.append((" ".join(sentence.words), sentence.labels[0]))
    return found


def file(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_label_tab_text(tmp_path):
    path = file(tmp_path, "a.tsv", '3\tIt \'s " fine "\n0\tdull\n')
    assert texts(path) == [('It \'s " fine "', "3"), ("dull", "0")]
    assert texts(path, "1", "2")[1] == ("0", "dull")
    assert texts(path, "1")[1] == ("0", "dull")
    zipped = tmp_path / "a.tsv.gz"
    zipped.write_bytes(gzip.compress(path.read_bytes()))
    assert texts(zipped) == texts(path)


def test_named_columns_quotes_and_punctuation(tmp_path):
    found = texts(file(tmp_path, "a.csv", CSV), "review", "stars")
    assert found == [("A fine , quiet film .", "4"), ("Dull . And long .", "1")]
    assert texts(file(tmp_path, "b.csv", "label,text\nx,good one\n")) == [("good one", "x")]


def test_lines_of_json(tmp_path):
    path = file(tmp_path, "a.jsonl", JSONL)
    assert texts(path) == [("good film", "pos"), ("bad film", "neg")]


def test_folders_and_files_that_are_named_for_labels(tmp_path):
    file(tmp_path, "review/pos/1.txt", "good\nfilm\n")
    file(tmp_path, "review/neg/1.txt", "bad film")
    assert texts(tmp_path / "review") == [("bad film", "neg"), ("good film", "pos")]
    file(tmp_path, "names/German.txt", "a b\n\nc d\n")
    assert texts(tmp_path / "names") == [("a b", "German"), ("c d", "German")]
    assert recognise(str(tmp_path / "names"), task="classify").reason == "by its being a folder"


def test_files_beside_folders_are_no_labels(tmp_path):
    for name in ("LICENSE", "README.md", "pos/1.txt", "neg/deep/er/1.txt"):
        file(tmp_path, name, "good film")
    assert [label for _, label in texts(tmp_path)] == ["er", "pos"]
    reason = recognise(str(tmp_path), task="classify").reason
    assert reason == "by its being a folder; left out, beside its folders: LICENSE and 1 more"


def test_all_texts_of_a_corpus_are_split_in_one_way(tmp_path):
    file(tmp_path, "train/a/1.txt", "a film that can't bore")  # by itself, split at blanks
    for number in range(2, 9):
        file(tmp_path, f"train/b/{number}.txt", "Dull, long, and it can't end.")
    file(tmp_path, "test/a/1.txt", "it can't be")
    asked = Task("classify").of_one_corpus()
    train, test = ([*read(str(tmp_path / name), task=asked)] for name in ("train", "test"))
    assert [sentence.words[-2] for sentence in train] == ["n't", *["end"] * 7]
    assert test[0].words == ("it", "ca", "n't", "be")


@pytest.mark.parametrize(
    ("name", "text", "columns", "said"),
    [
        ("a.csv", "1,good,x\n", (), "line 1: there are 3 columns; say which"),
        ("a.csv", CSV, (), "the first row, id, review, stars, looks like names of columns"),
        ("a.tsv", "label\tsentence\n1\tgood\n", (), "looks like names of columns; say which"),
        ("a.csv", CSV, ("text", "stars"), "no column 'text' for --text-column.*id, review, stars"),
        ("a.csv", CSV, ("review", "3"), "are a name and a number"),
        ("a.csv", CSV, ("2", "2"), "cannot be in the same column"),
        ("a.csv", CSV, ("2", "7"), "no column 7 for --label-column; there are 3"),
        ("a.csv", 'a,"b\n', (), ""),
        ("a.tsv", "x\ty\nz\n", (), "line 2: the first row has 2 columns and this one 1"),
        ("a.tsv", "x\ty\n\tz\n", (), "line 2: the text has no label"),
        ("a.jsonl", JSONL, ("body", ""), "line 1: there is no 'body' for --text-column; there is"),
        ("a.jsonl", '{"text": "a", "label": null}\n', (), "line 1: the text has no label"),
        ("a.jsonl", '{"text": "a", "label": 0.5}\n', (), "line 1: the label is 0.5; give a name"),
        ("a.jsonl", '{"text": 3, "label": 1}\n', (), "line 1: the text is int"),
        ("a.jsonl", JSONL + '{"text": "a", "label": 1}', (), "line 4: the label 1 is int, .* str"),
        ("a.jsonl", '{"text"\n', (), "line 1: .* is no JSON object; mend"),
        ("a.jsonl", "[1]\n", (), "is no JSON object; mend"),
        ("a.txt", "just a text\n", (), "has no columns of labels and texts"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(tmp_path, name, text, columns, said):
    path = file(tmp_path, name, text)
    if not said:
        assert texts(path) == [("b", "a")]
        return
    with pytest.raises(RnnlensError, match=said) as caught:
        texts(path, *columns)
    assert "\n" not in str(caught.value)


def test_formats_are_recognised_by_ending_or_content(tmp_path):
    for name, text, format_ in [
        ("a.tsv", "x", "tsv"), ("b", "0\tx", "tsv"), ("c", "0,x", "csv"), ("d", JSONL, "jsonl"),
    ]:  # fmt: skip
        assert recognise(str(file(tmp_path, name, text)), task="classify").format == format_
    with pytest.raises(RnnlensError, match="a folder with tables such as a"):
        recognise(str(tmp_path), task="classify")
    (tmp_path / "a.tsv").unlink()
    assert recognise(str(tmp_path), task="classify").format == "folders"


def test_a_format_belongs_to_a_task():
    check_format("columns", "tag")
    with pytest.raises(RnnlensError, match="--format csv is not for --task tag; choose auto, conl"):
        check_format("csv", "tag")
    with pytest.raises(RnnlensError, match="no task is called 'guess'; choose next, tag, classify"):
        check_format("auto", "guess")
