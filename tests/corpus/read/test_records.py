"""JSON lines, Parquet, and folders as `datasets` saves them."""

import json
import re
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.grammar import sentences

from rnnlens.base.errors import RnnlensError
from rnnlens.corpus.read import Sentence, table_rows, text_files
from rnnlens.corpus.read.formats import read, recognise
from rnnlens.corpus.read.task import CLASSIFY, WORDS, Task

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


def streamed(path, table, **options):
    how = pa.ipc.IpcWriteOptions(**options)
    with (
        pa.OSFile(str(path), "wb") as file,
        pa.ipc.new_stream(file, table.schema, options=how) as s,
    ):
        s.write_table(table)
    return path


def of_arrow(path, table):
    return streamed(path.with_suffix(".arrow"), table)


def of_parquet(path, table):
    pq.write_table(table, path.with_suffix(".parquet"), compression="zstd")
    return path.with_suffix(".parquet")


@pytest.mark.parametrize("write", [of_arrow, of_parquet])
@pytest.mark.parametrize("listed", [False, True])
def test_the_row_of_a_text_that_is_no_utf8_is_told(tmp_path, write, listed):
    good = [b"a dog .", b"a cat ."] * 3000
    binary = pa.array([*good, b"caf\xe9 .", b"a bird ."], pa.binary())
    texts = _unchecked(binary)
    if listed:
        texts = pa.ListArray.from_arrays(pa.array(range(len(texts) + 1), pa.int32()), texts)
    path = write(tmp_path / "a", pa.table({"words" if listed else "text": texts}))
    with pytest.raises(RnnlensError, match=r"row 6001: its text is no UTF-8; write the file anew$"):
        list(read(str(path)))


def _unchecked(binary):
    """Bytes as if they were text."""
    return pa.Array.from_buffers(pa.string(), len(binary), binary.buffers())


@pytest.mark.parametrize("task", [WORDS, Task(CLASSIFY)])
def test_the_line_of_half_a_character_is_told(tmp_path, task):
    path = tmp_path / "a.jsonl"
    row = '{"text": "a dog %s .", "label": "x"}\n'
    path.write_text(row % r"\ud83d\ude00" + row % r"\\ud83d", encoding="utf-8")
    assert len(list(read(str(path), task=task))) == 2
    path.write_text(row % r"\ud83d\ude00" + row % r"\ud83d", encoding="utf-8")
    with pytest.raises(RnnlensError, match=r"line 2: it has half of a character, such as \\ud83d"):
        list(read(str(path), task=task))


BOMBS = {
    "a long text": lambda: {"text": pa.array(["a dog sees " * 9_000_000], pa.large_string())},
    "a dictionary that unfolds": lambda: {"text": _repeated("a dog sees " * 42_000, 4_000)},
    "rows": lambda: {"text": _repeated("a", 12_000_000)},
    "words": lambda: {"words": pa.ListArray.from_arrays([0, 12_000_000], _nothing(12_000_000))},
}  # fmt: skip


def _repeated(text, times):
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(times, np.int32)), [text])


def _nothing(count):
    return pa.nulls(count, pa.string())


# Reads files, and tells what the first error is and how many MB that took in the largest process.
READER = """
import resource, sys
from rnnlens.base.errors import RnnlensError
from rnnlens.corpus.read.formats import read
for path in sys.argv[1:]:
    try:
        print("read", sum(1 for _ in read(path)))
    except RnnlensError as error:
        print(error)
here = int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0])
print(max(here, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) >> 10)
"""


@pytest.mark.slow
def test_a_small_table_that_unfolds_to_much_is_refused_in_little_memory(tmp_path):
    tables = {name: pa.table(make()) for name, make in BOMBS.items()}
    paths = [of_parquet(tmp_path / name, table) for name, table in tables.items()]
    assert all(path.stat().st_size < 200_000 for path in paths)
    folder = tmp_path / "saved"
    folder.mkdir()
    streamed(folder / "data-00000-of-00001.arrow", tables["a long text"], compression="zstd")
    made = [sys.executable, "-c", READER, *map(str, [*paths, folder])]
    *lines, memory = subprocess.check_output(made, text=True).splitlines()
    assert len(lines) == 5
    for line in lines:
        assert re.search(r"holds more than 67 MB, [\d,]+ times its size, .* give --swelling$", line)
    assert int(memory) < 1024


def test_swelling_reads_it_all_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(text_files, "_SMALL", 1 << 20)
    path = of_parquet(tmp_path / "a", pa.table({"text": _repeated("a dog sees " * 4_200, 30)}))
    with pytest.raises(RnnlensError, match="give --swelling"):
        list(read(str(path)))
    assert sum(1 for _ in read(str(path), swelling=10**5)) == 30


def test_a_process_that_ends_while_it_reads_takes_nothing_with_it(tmp_path, monkeypatch):
    crashing = tmp_path / "crashing.py"
    crashing.write_text('import os; print(\'{"text": "a b ."}\', flush=True); os.abort()')
    monkeypatch.setattr(table_rows, "__file__", str(crashing))
    with pytest.raises(RnnlensError, match=r"ended the process that read it\); is the file whole"):
        list(read(str(written(tmp_path, "parquet", ROWS))))


def test_a_column_that_occurs_twice_is_refused(tmp_path):
    table = pa.table([["a dog ."], ["a cat ."]], names=["text", "text"])
    for write in (of_arrow, of_parquet):
        with pytest.raises(RnnlensError, match=r"\(2 columns are called text\)|[Mm]ultiple"):
            list(read(str(write(tmp_path / "a", table))))


def test_columns_that_hold_no_text_are_passed_over(tmp_path):
    table = pa.table(
        {"text": [1, 2], "content": ["a dog sees .", "a cat sleeps ."], "tags": [b"x"] * 2}
    )
    for write in (of_arrow, of_parquet):
        assert [len(s.words) for s in read(str(write(tmp_path / "a", table)))] == [4, 4]


def test_texts_by_number_are_read_as_others(tmp_path):
    for sort in (pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())):
        texts = pa.array(["a dog sees .", None, "a cat sleeps ."], pa.string()).cast(sort)
        words = pa.array([["a", "dog"], None, ["b", "c"]], pa.large_list(pa.string()))
        for table in (pa.table({"text": texts}), pa.table({"tokens": words})):
            path = of_arrow(tmp_path / "a", table)
            assert len(list(read(str(path)))) == 2
