"""Pictures of a whole corpus: every mark is a question, and what is missing is said."""

import math
from typing import Any

import pytest
from tests.fixtures import formula_run
from tests.search.conftest import build, total

from rnnlens.base.errors import RnnlensError
from rnnlens.lens.open import opened
from rnnlens.run.folder import Run
from rnnlens.search import pictures
from rnnlens.search.find import CorpusPage
from rnnlens.search.language import first_question
from rnnlens.search.pictures import PICTURES
from rnnlens.search.store import index_of

LATE = "took more than 0 seconds; ask for less"


def drawn(subject: Any, name: Any) -> Any:
    return pictures.picture(subject, name)


@pytest.mark.slow
def test_every_mark_of_a_picture_counts_the_words_that_its_question_finds(page):
    words = page.about().words
    shown = {name: drawn(page.subject, name) for name in PICTURES}
    matrix = shown["disagreement"].disagreement
    assert len(matrix.pairs) == math.comb(len(matrix.kinds), 2)
    for pair in matrix.pairs[::17]:
        for question, measured in (
            (pair.question, pair.groups),
            (pair.clear_question, pair.clear),
            (pair.label_question, pair.labels),
        ):
            assert total(page, question) == round(measured.share * words)
            assert measured.low <= measured.share <= measured.high
        assert pair.clear.share <= pair.groups.share
    edges = shown["turns"].turns.edges
    assert [edge.bits for edge in edges] == sorted((e.bits for e in edges), reverse=True)
    sorts = {(edge.kind, edge.other): edge.sort for edge in edges}
    assert (sorts["c2", "l2"], sorts["l2", "s2"], sorts["c2", "c2@-1"]) == (
        "feeds", "beside", "step")  # fmt: skip
    for edge in edges[::7]:
        assert total(page, edge.question) == edge.far
    density = shown["surprise"].surprise
    assert sum(cell.words for cell in density.cells) == total(page, "surprisal >= 0")
    for cell in density.cells[::9]:
        assert total(page, cell.question) == cell.words
    tags = shown["tags"].tags.pairs
    assert [(pair.kind, pair.other) for pair in tags] == [("l1", "s1"), ("l2", "s2")]
    for tag in tags[1].tags[:4]:
        assert total(page, tag.question) == tag.count
    assert "rnnlens eval" in shown["reach"].missing
    assert drawn(page.subject, "turns") is shown["turns"]  # computed once
    with pytest.raises(RnnlensError, match="there is no picture 'nothing'; there is disagreement"):
        drawn(page.subject, "nothing")


def test_reach_is_what_was_measured(tmp_path, corpus_file):
    run = Run(formula_run(tmp_path / "a run"))
    lens: Any = opened(run)
    build(lens, corpus_file)
    missing = drawn(lens.subject, "reach").missing
    assert f"rnnlens eval '{run.path}' --horizon 4, and open the page again" in missing
    rows = [
        {"semantic": f"output{n:+d}" if n else "output", "kind": kind, "perplexity": ppl,
         "unigram": 16.0}
        for n, ppl in ((-1, 4.0), (0, 16.0), (1, None)) for kind in ("l2", "h2")
    ]  # fmt: skip
    own = {"test": {"perplexity": 9.5, "unigram": 21.0}}
    run.write_evaluation({"model": own, "probes": [], "reach": rows})
    cells = drawn(lens.subject, "reach").reach.cells
    assert [(cell.steps, cell.told) for cell in cells[::2]] == [(0, 0.5), (1, 0), (2, None)]
    assert [cell.question for cell in cells[:4]] == ["", "", "l2 rank = 1", "h2 rank = 1"]
    assert opened(run).subject.scores.evaluation()["reach"] == rows


def test_a_network_without_memories_or_tags_says_what_is_missing(tmp_path):
    lens: Any = opened(Run(formula_run(tmp_path / "run", "rnn", semantics="output")))
    plain = tmp_path / "plain.txt"
    plain.write_text("the dog sees a bird\nshe said now\n")
    build(lens, plain)
    page = CorpusPage(lens.subject)
    assert "no two memories" in drawn(page.subject, "tags").missing
    assert drawn(page.subject, "turns").turns.edges
    examples = [example.question for example in page.about().examples]
    for question in examples:
        assert page.find(question, 0, 3).wrong is None
    assert examples
    assert not [question for question in examples if "tag" in question]
    assert first_question(follows=True, tagged=page.index.has_tags) == "y rank = 1 count by word"


@pytest.mark.parametrize("name", ["disagreement", "turns", "surprise", "tags"])
def test_pictures_are_given_up(fresh, monkeypatch, name):
    monkeypatch.setattr(pictures, "SECONDS", 0.0)
    with pytest.raises(RnnlensError, match=LATE):
        drawn(fresh.subject, name)
    monkeypatch.undo()
    assert getattr(drawn(fresh.subject, name), name)


def test_edges_that_are_not_ranked_are_counted(fresh, monkeypatch):
    monkeypatch.setattr(pictures, "MOST_PAIRS", 3)
    turns = drawn(fresh.subject, "turns").turns
    assert len(turns.edges) == 3
    assert turns.left_out == len(index_of(fresh.subject).contents.pairs) - 3 > 0
