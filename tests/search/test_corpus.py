"""What the corpus page is told: answers with strips, pictures whose every mark is a question."""

import csv
import io
import json
import math
from typing import Any

import pytest
from tests.fixtures import formula_run
from tests.search.conftest import build

from rnnlens.base.errors import RnnlensError
from rnnlens.lens.open import opened
from rnnlens.run.folder import Run
from rnnlens.search.asking import as_group, as_kind, as_text, first_question
from rnnlens.search.corpus import CorpusView, similar_json
from rnnlens.search.pictures import PICTURES


@pytest.fixture(scope="module")
def corpus(indexed):
    return CorpusView(indexed)


def total(corpus: CorpusView, question: str) -> int:
    found = corpus.find(question, 0, 1)
    assert found["wrong"] is None, (question, found["wrong"])
    count: int = found["total"]
    return count


def test_examples_can_all_be_asked(corpus):
    about = corpus.about()
    assert len(about["examples"]) >= 8
    assert any("count by tag" in example["question"] for example in about["examples"])
    for example in about["examples"]:
        assert corpus.find(example["question"], 0, 3)["wrong"] is None
    assert about["words"] == corpus.find("", 0, 1)["total"]


def test_answers_come_a_few_at_a_time_with_strips_as_grids_draw_them(corpus, indexed, grids):
    question = "l2 entropy > 1 sort by surprisal desc"
    every = corpus.find(question, 0, 300)
    assert every["total"] == len(every["hits"]) > 12
    assert not every["more"]
    some = [corpus.find(question, first, 5) for first in (0, 5, 10)]
    assert [hit for part in some for hit in part["hits"]] == every["hits"][:15]
    assert all(part["more"] and part["total"] == every["total"] for part in some)
    assert corpus.find(question, 1000, 5)["hits"] == []
    for hit in every["hits"][:20]:
        grid = grids[hit["sentence"]]
        row = dict(zip(grid.kinds, grid.json["rows"][hit["position"]], strict=True))
        strip = dict(zip(corpus.about()["kinds"], hit["strip"], strict=True))
        for kind, (group, share, colour) in strip.items():
            assert group == row[kind]["group"]
            assert share == pytest.approx(row[kind]["share"], abs=1 / 256)
            far = [abs(int(colour[k : k + 2], 16) - int(row[kind]["colour"][k : k + 2], 16))
                   for k in (1, 3, 5)]  # fmt: skip
            assert max(far) <= 2  # shares are rounded
        assert [said["kind"] for said in hit["says"]] == ["l2"]
        assert hit["link"].startswith(f"#run={indexed.name}&text=")


def test_a_limit_of_the_question_is_kept(corpus):
    found = corpus.find("limit 7", 0, 5)
    assert (len(found["hits"]), found["more"]) == (5, True)
    rest = corpus.find("limit 7", 5, 5)
    assert (len(rest["hits"]), rest["more"]) == (2, False)


def test_counts_lead_to_their_words(corpus):
    for question in ("count by tag", "l2 disagrees with s2 or y entropy > 3 count by tag, y",
                     "y rank > 2 count by position", "count by y label, word"):  # fmt: skip
        found = corpus.find(question, 0, 6)
        lines = found["counts"]["lines"]
        assert found["hits"] == []
        assert found["total"] >= sum(line["count"] for line in lines)
        assert found["total"] == total(corpus, question.partition(" count by")[0]
                                       if not question.startswith("count") else "")  # fmt: skip
        for line in filter(lambda line: line["question"], lines):
            assert total(corpus, line["question"]) == line["count"]
            assert line["share"] == pytest.approx(line["count"] / line["words"])
    assert any(line["question"] for line in lines)


def test_groups_of_any_name_can_be_asked_for(tmp_path, corpus_file):
    run = Run(formula_run(tmp_path / "run", semantics="output"))
    odd = {
        "NOUN": "a, b `c`",
        "VERB": 'say "so" and or',
        "DET": "group",
        "PRON": "1 x",
        "ADJ": "l2",
    }
    plain = json.dumps(run.colours())
    for name, other in odd.items():
        plain = plain.replace(f'"{name}"', json.dumps(other))
    run.write_colours(json.loads(plain))
    lens: Any = opened(run)
    build(lens, corpus_file)
    corpus = CorpusView(lens)
    seen = set()
    for question in ("count by l2", "word = dog or word = dogs count by y, h1"):
        for line in corpus.find(question, 0, 100)["counts"]["lines"]:
            seen |= {*line["keys"]}
            assert total(corpus, line["question"]) == line["count"]
    assert "a, b `c`" in seen
    assert {*odd.values()} & {*corpus.index.names.groups} >= {"a, b `c`", "l2"}
    for group in corpus.index.names.groups:
        assert corpus.find(f"y expects {as_group(group)}", 0, 1)["wrong"] is None
    wrong = corpus.find('y expects group "NOUN"', 0, 1)["wrong"]
    assert "there is no such group" in wrong["error"]


def test_what_is_wrong_is_said_with_its_place(corpus):
    wrong = corpus.find("l2 expcts verb", 0, 5)["wrong"]
    assert wrong["place"] == 3
    assert "did you mean expects?" in wrong["error"]
    with pytest.raises(RnnlensError, match="did you mean expects"):
        corpus.table("l2 expcts verb")


def test_tables_are_saved_whole(corpus):
    table = corpus.table("word = dog")
    rows = list(csv.DictReader(io.StringIO(table["csv"])))
    assert len(rows) == table["rows"] == total(corpus, "word = dog")
    assert {row["word"] for row in rows} == {"dog"}
    assert not table["left_out"]


def test_every_mark_of_a_picture_counts_the_words_that_its_question_finds(corpus):
    words = corpus.about()["words"]
    shown = {name: corpus.picture(name) for name in PICTURES}
    matrix = shown["disagreement"]["disagreement"]
    assert len(matrix["pairs"]) == math.comb(len(matrix["kinds"]), 2)
    for pair in matrix["pairs"][::17]:
        assert total(corpus, pair["question"]) == round(pair["groups"] * words)
        assert total(corpus, pair["label_question"]) == round(pair["labels"] * words)
    edges = shown["turns"]["turns"]["edges"]
    assert [edge["bits"] for edge in edges] == sorted((e["bits"] for e in edges), reverse=True)
    sorts = {(edge["kind"], edge["other"]): edge["sort"] for edge in edges}
    assert (sorts["c2", "l2"], sorts["l2", "s2"], sorts["c2", "c2@-1"]) == (
        "feeds", "beside", "step")  # fmt: skip
    for edge in edges[::7]:
        assert total(corpus, edge["question"]) == edge["far"]
    density = shown["surprise"]["surprise"]
    assert sum(cell["words"] for cell in density["cells"]) == total(corpus, "surprisal >= 0")
    for cell in density["cells"][::9]:
        assert total(corpus, cell["question"]) == cell["words"]
    tags = shown["tags"]["tags"]["pairs"]
    assert [(pair["kind"], pair["other"]) for pair in tags] == [("l1", "s1"), ("l2", "s2")]
    for tag in tags[1]["tags"][:4]:
        assert total(corpus, tag["question"]) == tag["count"]
    assert "rnnlens eval" in shown["reach"]["missing"]
    assert corpus.picture("turns") is shown["turns"]  # computed once
    with pytest.raises(RnnlensError, match="there is no picture 'nothing'; there is disagreement"):
        corpus.picture("nothing")


def test_reach_is_what_was_measured(tmp_path, corpus_file):
    run = Run(formula_run(tmp_path / "a run"))
    lens: Any = opened(run)
    build(lens, corpus_file)
    missing = CorpusView(lens).picture("reach")["missing"]
    assert f"rnnlens eval '{run.path}' --horizon 4, and open the page again" in missing
    rows = [
        {"semantic": f"output{n:+d}" if n else "output", "kind": kind, "perplexity": ppl,
         "unigram": 16.0}
        for n, ppl in ((-1, 4.0), (0, 16.0), (1, None)) for kind in ("l2", "h2")
    ]  # fmt: skip
    own = {"test": {"perplexity": 9.5, "unigram": 21.0}}
    run.write_evaluation({"model": own, "probes": [], "reach": rows})
    cells = CorpusView(lens).picture("reach")["reach"]["cells"]
    assert [(cell["steps"], cell["told"]) for cell in cells[::2]] == [(0, 0.5), (1, 0), (2, None)]
    assert [cell["question"] for cell in cells[:4]] == ["", "", "l2 rank = 1", "h2 rank = 1"]
    assert opened(run).scores.evaluation()["reach"] == rows


def test_a_network_without_memories_or_tags_says_what_is_missing(tmp_path):
    lens: Any = opened(Run(formula_run(tmp_path / "run", "rnn", semantics="output")))
    plain = tmp_path / "plain.txt"
    plain.write_text("the dog sees a bird\nshe said now\n")
    build(lens, plain)
    corpus = CorpusView(lens)
    assert "no two memories" in corpus.picture("tags")["missing"]
    assert corpus.picture("turns")["turns"]["edges"]
    examples = [example["question"] for example in corpus.about()["examples"]]
    for question in examples:
        assert corpus.find(question, 0, 3)["wrong"] is None
    assert examples
    assert not [question for question in examples if "tag" in question]
    assert first_question(corpus.index) == "y rank = 1 count by word"


def test_states_like_one_of_a_text(indexed, grids):
    text = grids[3].text
    found = similar_json(indexed, text, None, "l2", 1, 4, "cosine")
    nearest = found["near"][0]
    assert (nearest["sentence"], nearest["position"]) == (3, 1)
    assert nearest["distance"] == pytest.approx(0, abs=1e-3)
    back = similar_json(indexed, text, None, "c2@-1", 1, 4, "divergence")
    assert back["kind"] == "c2"
    assert (back["near"][0]["sentence"], back["near"][0]["position"]) == (3, 0)
    with pytest.raises(RnnlensError, match="nothing is read into c2@-1 of the first row"):
        similar_json(indexed, text, None, "c2@-1", 0, 4, "cosine")


def test_colours_of_other_groups_under_the_same_name_are_refused(tmp_path, corpus_file):
    run = Run(formula_run(tmp_path / "run"))
    colours = run.colours()
    first = next(iter(colours["groupings"].values()))
    run.write_colours({**colours, "groupings": {"own": first}})
    build(opened(run), corpus_file)
    assert CorpusView(opened(run)).about()["groups"] == first["colours"]
    mine = tmp_path / "mine.json"
    mine.write_text(json.dumps({"colours": {"OTHER": "#123456"}, "groups": {}}))
    with pytest.raises(RnnlensError, match="the colours called own have other groups"):
        CorpusView(opened(run, mine))


def test_names_are_written_as_questions_want_them():
    assert [as_kind(kind) for kind in ("l2", "h1<", "word", "a b")] == [
        "l2", "h1<", "`word`", "`a b`"]  # fmt: skip
    assert [as_group(name) for name in ("NOUN", "a b", "2")] == [
        "NOUN", 'group "a b"', 'group "2"']  # fmt: skip
    assert as_text('say "\\"') == '"say \\"\\\\\\""'
