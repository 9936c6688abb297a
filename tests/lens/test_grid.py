"""The grid as Python sees it, against the JSON and the probes themselves."""

import doctest
import json
import sys

import numpy as np
import pytest
import torch
from tests.asks import reading

import rnnlens
from rnnlens.base.errors import RnnlensError

TEXT = "the old dogs see a bird"


@pytest.fixture(scope="module")
def grid(formula):
    return formula(TEXT)


def test_states_are_found_by_kind_and_step(grid, formula):
    assert grid.words == TEXT.split()
    assert list(grid) == grid.kinds == [column.id for column in formula.subject.columns]
    assert len(grid) == len(grid["h2"]) == 6
    state = grid["l2"][-1]
    assert (state.column, state.word) == ("l2", "bird")
    assert [s.word for s in grid["l2"][1:3]] == ["old", "dogs"]


@pytest.mark.parametrize("column", ["x", "c1@-1", "l2", "y"])
def test_distributions_are_the_probes(grid, formula, column):
    asked = reading(formula, TEXT, None, None)
    trace = formula.subject.model.trace(torch.tensor(asked.ids)[:, None])
    for step, state in enumerate(grid[column]):
        if column == "y":
            logits = trace.logits[step, 0]
        else:
            kind, back = column.removesuffix("@-1"), column.endswith("@-1")
            states = trace.states[kind][:, 0]
            vector = states[step - back] if step >= back else torch.zeros_like(states[0])
            logits = formula.subject.probes.logits(kind, vector, grid.semantic)
        np.testing.assert_allclose(state.distribution(), logits.softmax(0).numpy(), rtol=1e-4)


def test_what_is_asked_of_a_state_agrees_with_what_is_drawn(grid):
    for column, states in enumerate(zip(*grid.json["rows"], strict=True)):
        for step, drawn in enumerate(states):
            state = grid[grid.kinds[column]][step]
            assert state.entropy() == pytest.approx(drawn["entropy"], rel=1e-3)
            assert state.top(1)[0][1] == pytest.approx(drawn["top"][0][1], rel=1e-3)
            assert (state.colour, state.group) == (drawn["colour"], drawn["group"])
            assert state.share == drawn["share"]
            if drawn["wanted"]:
                label, probability, rank = drawn["wanted"]
                assert state.wanted == (label, probability, rank)
                assert state.probability(label) == pytest.approx(probability, rel=1e-3)
                assert state.rank(label) == rank


def test_columns_answer_for_all_their_steps(grid):
    h, c = grid["h2"], grid["c2"]
    assert h.entropy() == [state.entropy() for state in h]
    assert h.top(2)[3] == h[3].top(2)
    assert h.rank("see") == [state.rank("see") for state in h]
    apart = h.divergence(c)
    assert len(apart) == 6
    assert all(0 <= bits <= 1 for bits in apart)
    assert h.divergence(h) == pytest.approx([0] * 6, abs=1e-9)
    assert c[2].divergence(h[1]) == pytest.approx(h[1].divergence(c[2]))


def test_pandas_has_a_row_for_every_state(grid):
    pytest.importorskip("pandas")
    table = grid.to_pandas()
    assert len(table) == 6 * len(grid.kinds)
    row = table[(table.kind == "l2") & (table.step == 3)].iloc[0]
    state = grid["l2"][3]
    assert (row.word, row.group, row.label) == ("see", state.group, state.top(1)[0][0])
    assert (row.wanted, row.wanted_rank) == (state.wanted[0], state.wanted[2])


def test_pandas_is_asked_for_where_it_is_missing(grid, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(RnnlensError, match=r"pip install 'rnnlens\[pandas\]'"):
        grid.to_pandas()


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["svg", "png", "pdf", "html", "json"])
def test_saving_goes_by_the_ending(grid, tmp_path, ending):
    path = grid.save(tmp_path / f"grid.{ending}", kinds=["x", "h2"])
    assert path.stat().st_size > 1000
    if ending == "json":
        assert json.loads(path.read_text()) == json.loads(json.dumps(grid.json))


def test_a_figure_grows_with_its_columns(grid):
    one, all_of_them = grid.figure(kinds=["h2"]), grid.figure(kinds="all")
    assert all_of_them.get_figwidth() > 3 * one.get_figwidth()


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda grid: grid["q9"], "there is no kind 'q9'; there is x, f1"),
        (lambda grid: grid["h2"][0].rank("zyzzyva"), "there is no label 'zyzzyva'"),
        (lambda grid: grid.save("grid.gif"), "cannot write grid.gif"),
        (lambda grid: grid.figure(size=3), "a look has no field 'size'; it has kinds"),
        (lambda grid: grid.figure(bars=0), "0 bars: give a number"),
        (lambda grid: grid.figure(density="loose"), "no density is called 'loose'"),
        (lambda grid: rnnlens.load("nowhere"), "no run at nowhere"),
    ],
)
def test_bad_questions_are_answered_in_one_line(grid, ask, message):
    with pytest.raises(RnnlensError) as caught:
        ask(grid)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_states_of_other_labels_are_not_compared(grid):
    other = rnnlens.load("english-news")("we")
    with pytest.raises(RnnlensError, match="different labels"):
        grid["h2"][0].divergence(other["h2"][0])


def test_sentences_of_ones_own_are_measured(formula):
    scores = formula.evaluate([TEXT, TEXT.split(), ""])
    assert {score.semantic for score in scores} == set(formula.semantics)
    again = formula.evaluate([TEXT])
    for one, two in zip(again, scores, strict=True):
        assert two.pairs == 2 * one.pairs
        assert two.perplexity == pytest.approx(one.perplexity, rel=1e-5)


def test_names_are_listed_and_found():
    for name in rnnlens.__all__:
        assert getattr(rnnlens, name)
    assert set(dir(rnnlens)) >= {"load", "Lens", "Grid"}
    with pytest.raises(AttributeError):
        _ = rnnlens.nothing


@pytest.mark.slow
@pytest.mark.parametrize("module", ["rnnlens", "rnnlens.lens.grid"])
def test_examples_in_docstrings_are_true(module):
    found = doctest.testmod(__import__(module, fromlist=["_"]), raise_on_error=False)
    assert found.attempted
    assert not found.failed
