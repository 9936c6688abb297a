"""JSON lines, Parquet, and folders as `datasets` saves them."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.grammar import sentences

from rnnlens.base.errors import RnnlensError
from rnnlens.corpus.read import Sentence
from rnnlens.corpus.read.formats import read, recognise

DATA = list(sentences(12))
ROWS = [{"words": list(s.words), "upos": list(s.tags or ()), "id": k} for k, s in enumerate(DATA)]


def saved(folder, rows):
    """A folder as `Dataset.save_to_disk` makes it: Arrow streams, and JSON beside them."""
    folder.mkdir()
    (folder / "state.json").write_text("{}")
    (folder / "dataset_info.json").write_text("{}")
    half = len(rows) // 2
    for k, part in enumerate((rows[:half], rows[half:])):
        table = pa.Table.from_pylist(part)
        path = folder / f"data-{k:05d}-of-00002.arrow"
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as stream:
            stream.write_table(table, max_chunksize=2)
    return folder


def written(folder, format, rows):
    path = folder / f"corpus.{format}"
    if format == "jsonl":
        path.write_text("\n\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    elif format == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        return saved(folder / "corpus", rows)
    return path


@pytest.mark.parametrize("format", ["jsonl", "parquet", "arrow"])
def test_words_and_tags_are_read(tmp_path, format):
    path = written(tmp_path, format, ROWS)
    assert recognise(str(path)).format == format
    assert list(read(str(path))) == DATA


@pytest.mark.parametrize("format", ["jsonl", "parquet", "arrow"])
def test_texts_are_split_as_they_look(tmp_path, format):
    rows = [{"text": "The dog barks . It is old .\nThe cat sleeps ."}, {"text": "A bird ."}]
    path = written(tmp_path, format, rows)
    assert [len(s.words) for s in read(str(path))] == [8, 4, 3]
    texts = ("Mr. Smith saw the dog. It didn't bark, he said.", "The cat slept. It was late.",
             "They came home. He saw them, and left.")  # fmt: skip
    rows = [{"text": text} for text in texts]
    (tmp_path / "raw").mkdir()
    words = [s.words for s in read(str(written(tmp_path / "raw", format, rows)))]
    assert len(words) == 6
    assert words[1][:3] == ("It", "did", "n't")


def test_lines_of_json_are_recognised_by_their_look(tmp_path):
    path = tmp_path / "corpus"
    path.write_text("\n".join(json.dumps(row) for row in ROWS))
    assert recognise(str(path)) == ("jsonl", "its lines are JSON objects")
    path.write_text("{ a remark } in a text .\nanother line .\n")
    assert recognise(str(path)).format == "text"


def test_tags_that_are_no_names_are_left_out(tmp_path):
    rows = [{"tokens": ["the", "dog"], "pos_tags": [12, 21]}, {"tokens": ["a", "b"], "tags": ["?"]}]
    path = written(tmp_path, "jsonl", rows)
    assert list(read(str(path))) == [Sentence(("the", "dog")), Sentence(("a", "b"))]


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.jsonl", b'{"text": "a b ."}\n{"text"', "line 2: '{\"text\"' is no JSON object; mend"),
        ("a.jsonl", b'{"body": "a b ."}', "line 1: a record needs words or tokens .*; it has body"),
        ("a.jsonl", b"[1, 2]", r"line 1: '\[1, 2\]' is no JSON object"),
        ("a.parquet", b"PAR1 nothing", "cannot read .*a.parquet .*is the file whole"),
        ("a.arrow", b"nothing at all", "cannot read .*a.arrow .*is the file whole"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path, name, data, message):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(RnnlensError, match=message):
        list(read(str(tmp_path / name)))


def test_a_cut_parquet_file_is_refused(tmp_path):
    path = written(tmp_path, "parquet", ROWS)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(RnnlensError, match="is the file whole"):
        list(read(str(path)))
