"""Where predictions turn, against divergences written out in float64."""

import math
import sys

import numpy as np
import pytest

from rnnlens.base.errors import RnnlensError

TEXT = "the old dogs see a bird"


@pytest.fixture(scope="module")
def grid(formula):
    return formula(TEXT)


@pytest.fixture(scope="module")
def turns(grid):
    return grid.turns()


def divergence(a, b):
    """Jensen-Shannon as it is defined: the mean divergence from the middle."""
    p, q = a.distribution(), b.distribution()
    middle = (p + q) / 2
    return sum(0.5 * float((d * np.log2(d / middle)).sum()) for d in (p, q))


def state(grid, name, step):
    """`K@-1` is K one step back, whether there is a column for it or not."""
    kind, _, back = name.partition("@")
    at = step + int(back or 0)
    return grid[kind][at] if 0 <= at < len(grid) else None


@pytest.mark.slow
@pytest.mark.parametrize("run", ["formula", "gru", "rnn", "linear"])
def test_every_edge_is_as_long_as_its_ends_are_apart(formula, formulas, run):
    grid = {"formula": formula, **formulas}[run](TEXT)
    turns = grid.turns()
    assert list(turns.edges) == [tuple(edge) for edge in grid.json["edges"]]
    assert turns.across.shape == (6, len(turns.edges))
    for k, (source, target) in enumerate(turns.edges):
        for step in range(6):
            one, other = state(grid, source, step), state(grid, target, step)
            if one is None:
                assert math.isnan(turns.across[step, k])
            else:
                expected = divergence(one, other)
                assert turns.across[step, k] == pytest.approx(expected, abs=1e-6)


def test_every_state_is_compared_with_the_one_above(grid, turns):
    for k, kind in enumerate(grid.kinds):
        first = 2 if kind.endswith("@-1") else 1  # what nothing was read into is no state
        assert np.isnan(turns.above[:first, k]).all()
        for step in range(first, 6):
            expected = divergence(grid[kind][step], grid[kind][step - 1])
            assert turns.above[step, k] == pytest.approx(expected, abs=1e-6)


def test_surprisal_is_that_of_the_word_that_came_after(grid, turns):
    for step, word in enumerate(grid.words[1:]):
        expected = -math.log2(grid["y"][step].probability(word))
        assert turns.surprisal[step] == pytest.approx(expected, rel=1e-5)
    assert math.isnan(turns.surprisal[-1])


def test_another_semantic_has_other_turns_but_the_same_surprisal(formula, turns):
    other = formula(TEXT, "input").turns()
    assert other.surprisal[:-1] == pytest.approx(turns.surprisal[:-1])
    assert not np.allclose(other.across[1:], turns.across[1:])


@pytest.mark.slow
def test_long_texts_are_compared_across_the_steps_of_computing(formula):
    grid = formula("the old dogs see a bird , " * 4)
    turns = grid.turns()
    kind = grid.kinds.index("c2@-1")
    edge = turns.edges.index(("h1@-1", "f1"))
    for step in (7, 8, 9, 15, 16, 17):
        above = divergence(grid["c2@-1"][step], grid["c2@-1"][step - 1])
        assert turns.above[step, kind] == pytest.approx(above, abs=1e-6)
        across = divergence(grid["h1"][step - 1], grid["f1"][step])
        assert turns.across[step, edge] == pytest.approx(across, abs=1e-6)


def test_edges_are_ranked(grid, turns):
    ranked = turns.ranked()
    assert [turn.bits for turn in ranked] == sorted((t.bits for t in ranked), reverse=True)
    assert len(ranked) == int((~np.isnan(turns.across)).sum())
    first = ranked[0]
    one, other = state(grid, first.source, first.step), state(grid, first.target, first.step)
    assert first.bits == pytest.approx(divergence(one, other), abs=1e-6)
    assert first.word == grid.words[first.step]
    assert turns.ranked(3) == ranked[:3]
    means = {(source, target): bits for source, target, bits in turns.mean()}
    column = turns.across[:, turns.edges.index(("c1@-1", "l1"))]
    assert means["c1@-1", "l1"] == pytest.approx(np.nanmean(column))
    assert list(means.values()) == sorted(means.values(), reverse=True)


def test_they_read_well(turns, monkeypatch):
    lines = repr(turns).split("\n")
    assert lines[0] == "turns of 6 words across 33 edges; the largest:"
    assert len(lines) == 11
    first = turns.ranked(1)[0]
    shown = f"  {first.bits:.2f} bits  {first.source} to {first.target} after {first.word!r}"
    assert lines[1] == shown
    pytest.importorskip("pandas")
    table = turns.to_pandas()
    assert list(table.step) == sorted(table.step)
    assert list(table.columns) == ["source", "target", "step", "word", "bits"]
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(RnnlensError, match=r"pip install 'rnnlens\[pandas\]'"):
        turns.to_pandas()


def test_without_probes_only_the_prediction_is_there(formulas):
    turns = formulas["bare"](TEXT).turns()
    assert turns.edges == ()
    assert turns.ranked() == turns.mean() == []
    assert turns.above.shape == (6, 1)
    assert formulas["bare"]("").turns().surprisal.shape == (0,)
