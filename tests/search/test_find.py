"""Answers as people and programs get them."""

import csv
import io
import json
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.fixtures import formula_run
from tests.search.conftest import build, corpus_text, total
from tests.search.test_similar import TEXT, nearest

import rnnlens
from rnnlens.base.errors import RnnlensError
from rnnlens.lens.open import opened
from rnnlens.reading.links import link
from rnnlens.run.folder import Run
from rnnlens.search import find as find_module
from rnnlens.search import sql, store
from rnnlens.search.build import clear
from rnnlens.search.find import CorpusPage
from rnnlens.search.language import as_group
from rnnlens.search.similar import WAYS
from rnnlens.search.store import Deadline, Index

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
        assert hit["l2"].group == drawn["group"]
        assert hit["l2"].label == drawn["top"][0][0]
        assert hit.text == grid.text
        assert hit.link == link(grid.text, "l2", hit.position)
        assert repr(hit) == f"<{hit.marked()}>"
        with pytest.raises(RnnlensError, match="names the kinds l2; name h1 in it too"):
            hit["h1"]
    assert repr(answer).startswith(f"<{answer.total:,} of {answer.words:,} words (")


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
    lens: Any = opened(indexed.subject.run)
    lens.subject.run = None
    with pytest.raises(RnnlensError, match="is of no run yet; save it"):
        lens.find("count")


@pytest.mark.slow
def test_an_index_made_anew_is_seen(tmp_path, corpus_file):
    lens: Any = opened(Run(formula_run(tmp_path / "run")))
    build(lens, corpus_file)
    before = lens.find("count").total
    other = tmp_path / "other.conllu"
    other.write_text(corpus_text(3, seed=5))
    clear(lens.subject.run.path / "index")
    build(lens, other)
    assert lens.find("count").total != before


def test_a_sentence_with_braces_opens_as_itself(tmp_path):
    lens: Any = opened(Run(formula_run(tmp_path / "run")))
    corpus = tmp_path / "braces.txt"
    corpus.write_text("the dog {sees|see} a bird\nshe } said\n")
    build(lens, corpus)
    hits = list(lens.find("position = 2"))
    assert [hit.word for hit in hits] == ["{", "said"]
    for hit in hits:
        assert lens(hit.text).words == list(hit.words)
        assert hit.link == link(hit.text, "y", 2)
    assert "text=she+%5C%7D+said" in hits[1].link


def test_a_bundled_lens_without_one_says_that_it_has_no_index():
    with pytest.raises(RnnlensError, match="has no index; make one"):
        rnnlens.load("english-tags").find("count")


@pytest.mark.slow
def test_examples_can_all_be_asked(page):
    about = page.about()
    assert len(about.examples) >= 8
    assert any("count by tag" in example.question for example in about.examples)
    for example in about.examples:
        assert page.find(example.question, 0, 3).wrong is None
    assert about.words == page.find("", 0, 1).total


def test_answers_come_a_few_at_a_time_with_strips_as_grids_draw_them(page, indexed, grids):
    question = "l2 entropy > 1 sort by surprisal desc"
    every = page.find(question, 0, 300)
    assert every.total == len(every.hits) > 12
    assert not every.more
    some = [page.find(question, first, 5) for first in (0, 5, 10)]
    assert sum((part.hits for part in some), ()) == every.hits[:15]
    assert all(part.more and part.total == every.total for part in some)
    assert page.find(question, 1000, 5).hits == ()
    for hit in every.hits[:20]:
        grid = grids[hit.sentence]
        row = dict(zip(grid.kinds, grid.json["rows"][hit.position], strict=True))
        strip = dict(zip(page.about().kinds, hit.strip, strict=True))
        for kind, (group, share, colour) in strip.items():
            assert group == row[kind]["group"]
            assert share == pytest.approx(row[kind]["share"], abs=1 / 256)
            far = [abs(int(colour[k : k + 2], 16) - int(row[kind]["colour"][k : k + 2], 16))
                   for k in (1, 3, 5)]  # fmt: skip
            assert max(far) <= 2  # shares are rounded
        assert [said.kind for said in hit.says] == ["l2"]
        assert hit.link.startswith(f"#run={indexed.name}&text=")


def test_a_limit_of_the_question_is_kept(page):
    found = page.find("limit 7", 0, 5)
    assert (len(found.hits), found.more) == (5, True)
    rest = page.find("limit 7", 5, 5)
    assert (len(rest.hits), rest.more) == (2, False)


@pytest.mark.slow
def test_counts_lead_to_their_words(page):
    for question in ("count by tag", "l2 disagrees with s2 or y entropy > 3 count by tag, y",
                     "y rank > 2 count by position", "count by y label, word"):  # fmt: skip
        found = page.find(question, 0, 6)
        lines = found.counts.lines
        assert found.hits == ()
        assert found.total >= sum(line.count for line in lines)
        assert found.total == total(page, question.partition(" count by")[0]
                                       if not question.startswith("count") else "")  # fmt: skip
        for line in filter(lambda line: line.question, lines):
            assert total(page, line.question) == line.count
            assert line.share == pytest.approx(line.count / line.words)
    assert any(line.question for line in lines)


@pytest.mark.slow
def test_groups_of_any_name_can_be_asked_for(tmp_path, corpus_file):
    run = Run(formula_run(tmp_path / "run", semantics="output"))
    odd = {
        "ADJ": "a, b `c`",
        "VERB": 'say "so" and or',
        "DET": "group",
        "PRON": "1 x",
        "NOUN": "l2",
    }
    plain = json.dumps(run.colours())
    for name, other in odd.items():
        plain = plain.replace(f'"{name}"', json.dumps(other))
    run.write_colours(json.loads(plain))
    lens: Any = opened(run)
    build(lens, corpus_file)
    page: Any = CorpusPage(lens.subject)
    seen = set()
    for question in ("count by l2", "word = dog or word = dogs count by y, h1"):
        for line in page.find(question, 0, 100).counts.lines:
            seen |= {*line.keys}
            assert total(page, line.question) == line.count
    assert "a, b `c`" in seen
    assert {*odd.values()} & {*page.index.names.groups} >= {"a, b `c`", "l2"}
    for group in page.index.names.groups:
        assert page.find(f"y expects {as_group(group)}", 0, 1).wrong is None
    wrong = page.find('y expects group "NOUN"', 0, 1).wrong
    assert "there is no such group" in wrong.error


def test_what_is_wrong_is_said_with_its_place(page):
    wrong = page.find("l2 expcts verb", 0, 5).wrong
    assert wrong.place == 3
    assert "did you mean expects?" in wrong.error
    with pytest.raises(RnnlensError, match="did you mean expects"):
        page.table("l2 expcts verb")


def test_tables_are_saved_whole(page):
    table = page.table("word = dog")
    rows = list(csv.DictReader(io.StringIO(table.csv)))
    assert len(rows) == table.rows == total(page, "word = dog")
    assert {row["word"] for row in rows} == {"dog"}
    assert not table.left_out


@pytest.mark.slow
def test_colours_of_other_groups_under_the_same_name_are_refused(tmp_path, corpus_file):
    run = Run(formula_run(tmp_path / "run"))
    colours = run.colours()
    first = next(iter(colours["groupings"].values()))
    run.write_colours({**colours, "groupings": {"own": first}})
    build(opened(run), corpus_file)
    assert CorpusPage(opened(run).subject).about().groups == first["colours"]
    mine = tmp_path / "mine.json"
    mine.write_text(json.dumps({"colours": {"OTHER": "#123456"}, "groups": {}}))
    with pytest.raises(RnnlensError, match="the colours called own have other groups"):
        CorpusPage(opened(run, mine).subject)


LATE = "took more than 0 seconds; ask for less"


def test_questions_and_neighbours_are_given_up(page, monkeypatch):
    monkeypatch.setattr(store, "SECONDS", 0.0)
    for ask in (
        lambda: page.find("y rank = 1", 0, 3),
        lambda: page.table("count by word"),
        *(lambda by=by: nearest(page.subject, TEXT, "h2", 1, 3, by) for by in WAYS),
    ):
        with pytest.raises(RnnlensError, match=LATE):
            ask()


def test_one_deadline_for_all_that_an_answer_takes(page, monkeypatch):
    seen, ask = [], Index.ask

    def watched(self, sql, deadline=None):
        seen.append(deadline)
        return ask(self, sql, deadline)

    monkeypatch.setattr(Index, "ask", watched)
    page.find("y rank = 1", 0, 3)
    assert len(seen) >= 3
    assert len(set(map(id, seen))) == 1
    assert isinstance(seen[0], Deadline)


def test_a_table_that_is_just_full_leaves_nothing_out(page, monkeypatch):
    count = page.find("", 0, 1).total
    for most, rows, left_out in ((count, count, False), (count - 1, count - 1, True)):
        monkeypatch.setattr(find_module, "MOST_ROWS", most)
        table = page.table("")
        assert (table.rows, table.left_out) == (rows, left_out)
        assert len(table.csv.splitlines()) == rows + 1


@pytest.fixture(scope="module")
def with_capitals(tmp_path_factory, corpus_file):
    """A lens of a cell whose kinds differ in capitals alone: keys, K1, and what is kept, k1."""
    folder = tmp_path_factory.mktemp("capitals") / "run"
    lens = opened(Run(formula_run(folder, "deltanet", layers=1, heads=2, keys=2)))
    assert {"k1", "K1"} <= {*lens.kinds}
    build(lens, corpus_file)
    return lens


@pytest.mark.parametrize(
    ("question", "column"),
    [
        ("{} rank <= 3", "{}_rank"),
        ("{} came > .01", "{}_came"),
        ("sort by {} surprisal limit 5", "{}_came"),
        ("{} agrees with y", "{}_group"),
        ("count by {}", "{}_group"),
        ("count by {} label", "{}_label1"),
        ("{} entropy > 1", "{}_entropy"),
        ("{} share > .1 and {} lead > 0", "{}_share"),
        ("{} expects noun", "{}_group"),
    ],
)
def test_every_question_may_name_a_kind_with_a_capital(with_capitals, question, column):
    for kind, name in (("k1", "k1"), ("K1", "capital_K1")):
        answer = with_capitals.find(question.format(kind, kind))
        assert f'"{column.format(name)}"' in answer.sql
        assert '"K1_' not in answer.sql  # which a database takes for k1's
        assert answer.table.num_rows >= 0


def test_parts_of_speech_are_counted_of_the_kind_that_is_named(with_capitals):
    index = CorpusPage(with_capitals.subject).index
    rows = index.ask(sql.disagreements_by_tag([("K1", "k1")], 5)).to_pylist()
    assert sum(row["n0"] for row in rows) > 0  # of k1 and itself it would be none
