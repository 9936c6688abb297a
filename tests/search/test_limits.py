"""Answers that would take too long are given up, and what is left out is said."""

import pytest
import torch
from tests.search.test_similar import TEXT

from rnnlens.base.errors import RnnlensError
from rnnlens.search import corpus as corpus_module
from rnnlens.search import nearest, pictures, similar
from rnnlens.search.corpus import CorpusView, similar_json
from rnnlens.search.deadline import Deadline
from rnnlens.search.index import Index
from rnnlens.search.tokens import QueryError

LATE = "took more than 0 seconds; ask for less"


@pytest.fixture
def view(indexed):
    """With an index of its own, which holds no pictures yet."""
    view = CorpusView(indexed)
    view.index = Index.of(indexed.run)
    return view


@pytest.mark.parametrize("name", ["disagreement", "turns", "surprise", "tags"])
def test_pictures_are_given_up(view, monkeypatch, name):
    monkeypatch.setattr(pictures, "SECONDS", 0.0)
    with pytest.raises(RnnlensError, match=LATE):
        view.picture(name)
    monkeypatch.undo()
    assert view.picture(name)[name]


def test_questions_and_neighbours_are_given_up(indexed, view, monkeypatch):
    monkeypatch.setattr(corpus_module, "SECONDS", 0.0)
    for ask in (
        lambda: view.find("y rank = 1", 0, 3),
        lambda: view.table("count by word"),
        *(lambda by=by: similar_json(indexed, TEXT, None, "h2", 1, 3, by) for by in similar.WAYS),
    ):
        with pytest.raises(RnnlensError, match=LATE):
            ask()


def test_the_clock_is_looked_at_between_blocks_of_states(indexed, view):
    stack = indexed.probes.stacks["output"]
    kept = nearest.Kept(view.index, "l2", stack.widths[stack.kinds.index("l2")])
    p = torch.ones(len(indexed.labels)).softmax(0).double().numpy()
    assert nearest.by_divergence(kept, stack, p, 2)[0]  # what it reads first is read
    with pytest.raises(RnnlensError, match=LATE):
        nearest.by_divergence(kept, stack, p, 2, Deadline(0))


def test_one_deadline_for_all_that_an_answer_takes(view, monkeypatch):
    seen, ask = [], Index.ask

    def watched(self, sql, deadline=None):
        seen.append(deadline)
        return ask(self, sql, deadline)

    monkeypatch.setattr(Index, "ask", watched)
    view.find("y rank = 1", 0, 3)
    assert len(seen) >= 3
    assert len(set(map(id, seen))) == 1
    assert isinstance(seen[0], Deadline)


def test_ranges_in_one_another_are_bounded(view):
    parsed = view.index.parsed
    assert parsed("within 1000 tag = NOUN and within 40 (within 12 word = dog)").condition
    with pytest.raises(QueryError, match="look at 4,000 rows, more than 2,000; give smaller") as e:
        parsed("within 40 before within 50 word = dog")
    assert e.value.place == len("within 40 before within ")


def test_a_table_that_is_just_full_leaves_nothing_out(view, monkeypatch):
    count = view.find("", 0, 1)["total"]
    for most, rows, left_out in ((count, count, False), (count - 1, count - 1, True)):
        monkeypatch.setattr(corpus_module, "MOST_ROWS", most)
        table = view.table("")
        assert (table["rows"], table["left_out"]) == (rows, left_out)
        assert len(table["csv"].splitlines()) == rows + 1


def test_edges_that_are_not_ranked_are_counted(view, monkeypatch):
    monkeypatch.setattr(pictures, "MOST_PAIRS", 3)
    turns = view.picture("turns")["turns"]
    assert len(turns["edges"]) == 3
    assert turns["left_out"] == len(view.index.contents.pairs) - 3 > 0


def test_the_states_of_a_few_kinds_are_held_in_few_bytes(indexed, view):
    widths = dict(zip(*(getattr(indexed.probes.stacks["output"], n) for n in ("kinds", "widths")),
                      strict=True))  # fmt: skip
    for kind in ("l1", "l2", "h2", "l2"):
        kept = similar._kept_of(view.index, kind, widths[kind])
    assert list(similar._kept[view.index]) == ["h2", "l2"]
    labels, shares = kept.tops()
    assert (labels.dtype.itemsize, shares.dtype.itemsize) == (2, 4)
    assert kept.tops()[0] is labels
