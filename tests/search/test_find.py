"""Answers as people and programs get them."""

import csv
import json
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.fixtures import formula_run

import rnnlens
from rnnlens.base.errors import RnnlensError
from rnnlens.lens.open import opened
from rnnlens.run.folder import Run
from rnnlens.search.find import link_to

QUESTION = 'word = "dog" and l2 entropy > 1'


def test_an_answer_has_the_sentence_and_what_the_kinds_say(indexed, grids):
    answer = indexed.find(QUESTION)
    assert answer.total == len(answer) > 0
    for hit in answer:
        grid = grids[hit.sentence]
        assert list(hit.words) == grid.words
        assert hit.word == "dog"
        assert f"[{hit.word}]" in hit.marked()
        drawn = grid.json["rows"][hit.position][grid.kinds.index("l2")]
        assert hit.says["l2"].group == drawn["group"]
        assert hit.says["l2"].label == drawn["top"][0][0]
        assert hit.text == grid.text
        assert hit.link == link_to(grid.text, hit.position, "l2")
        assert repr(hit) == f"<{hit.marked()}>"
    assert repr(answer).startswith(f"<{answer.total:,} of {answer.words:,} words (")


def test_links_are_written_as_the_page_writes_them():
    assert link_to("a b", 1, "h1<") == "#text=a+b&at=h1%3C:2"
    assert link_to("50% & + = #é", 0, "a,b", "my run") == (
        "#run=my+run&text=50%25+%26+%2B+%3D+%23%C3%A9&at=a%2Cb:1"
    )
    assert link_to("a", 0, semantic="output+1") == "#text=a&semantic=output%2B1&at=y:1"


def test_tables_are_written_as_they_are(indexed, tmp_path):
    answer = indexed.find(QUESTION)
    rows = answer.table.to_pylist()
    assert [row["word"] for row in rows] == ["dog"] * len(answer)
    assert list(rows[0])[-2:] == ["text", "link"]
    assert list(answer.to_pandas()["l2_label"]) == [row["l2_label"] for row in rows]
    with answer.save(tmp_path / "found.csv").open(newline="") as file:
        read = list(csv.DictReader(file))
    assert [int(row["sentence"]) for row in read] == [row["sentence"] for row in rows]
    assert [row["text"] for row in read] == [row["text"] for row in rows]
    plain = json.loads(answer.save(tmp_path / "found.json").read_text())
    assert [row["l2_group"] for row in plain] == [row["l2_group"] for row in rows]
    assert pq.read_table(answer.save(tmp_path / "found.parquet")).to_pylist() == rows
    with pytest.raises(RnnlensError, match=r"ends in \.csv, \.json, \.parquet"):
        answer.save(tmp_path / "found.xlsx")
    nothing = indexed.find("word = nothing")
    assert (len(nothing), nothing.total, list(nothing)) == (0, 0, [])
    assert nothing.table.column_names[:2] == ["sentence", "position"]


def test_a_lens_that_was_not_saved_has_no_index(indexed):
    lens: Any = opened(indexed.run)
    lens.run = None
    with pytest.raises(RnnlensError, match="is of no run yet; save it"):
        lens.find("count")


def test_an_index_made_anew_is_seen(tmp_path, corpus_file):
    from tests.search.conftest import build, corpus_text

    from rnnlens.search.build import clear

    lens: Any = opened(Run(formula_run(tmp_path / "run")))
    build(lens, corpus_file)
    before = lens.find("count").total
    other = tmp_path / "other.conllu"
    other.write_text(corpus_text(3, seed=5))
    clear(lens.run.path / "index")
    build(lens, other)
    assert lens.find("count").total != before


def test_a_sentence_with_braces_opens_as_itself(tmp_path):
    from tests.search.conftest import build

    lens: Any = opened(Run(formula_run(tmp_path / "run")))
    corpus = tmp_path / "braces.txt"
    corpus.write_text("the dog {sees|see} a bird\nshe } said\n")
    build(lens, corpus)
    hits = list(lens.find("position = 2"))
    assert [hit.word for hit in hits] == ["{", "said"]
    for hit in hits:
        assert lens(hit.text).words == list(hit.words)
        assert hit.link == link_to(hit.text, 2, "y")
    assert "text=she+%5C%7D+said" in hits[1].link


def test_the_bundled_lens_says_that_it_has_no_index():
    with pytest.raises(RnnlensError, match="has no index; make one"):
        rnnlens.load("english-news").find("count")
