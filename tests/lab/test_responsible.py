"""Units, directions and erasure, in networks in which it is known what is responsible."""

import numpy as np
import pytest
import torch
from tests.lab.planted import SUITE, planted

from rnnlens.base.errors import RnnlensError
from rnnlens.lab.contrasts import contrasts, forms
from rnnlens.lab.erase import _Group as Group
from rnnlens.lab.erase import _Left as Left
from rnnlens.lab.erase import _moments as moments
from rnnlens.lab.erase import left_to_read
from rnnlens.lab.going_on import Contexts
from rnnlens.lab.interchange import by_length
from rnnlens.lab.lab_tables import direction_table
from rnnlens.lab.subspace import MEANS, found_direction
from rnnlens.lab.units import margins
from rnnlens.model.traceable import StateEdit
from rnnlens.probe.erasure import leace


@pytest.fixture(scope="module")
def suite(tmp_path_factory):
    path = tmp_path_factory.mktemp("planted") / "planted.suite"
    path.write_text(SUITE, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def one(suite):
    lens, unit = planted(suite.parent, 0)
    return lens.lab(suite), unit


def test_planted_units_are_found_first(suite, tmp_path):
    found = []
    for seed in range(20):
        lens, unit = planted(tmp_path, seed)
        lab = lens.lab(suite)
        assert lab.accuracy == 1.0
        best = lab.units(top=2).units
        found.append({(row.kind, row.unit) for row in best} == {("c1", unit), ("h1", unit)})
    assert found == [True] * 20


def test_what_becomes_of_the_suite_is_confirmed_on_other_items(one):
    lab, unit = one
    found = lab.units(top=3)
    first = found.units[0]
    assert (found.about, found.accuracy) == ("items", 1.0)
    assert 0.2 <= first.accuracy <= 0.8  # a coin
    assert first.low > 2
    assert abs(found.random) < 0.2 * first.held_out
    assert abs(found.units[2].held_out) < 0.2 * first.held_out
    assert found.to_json()["units"][0]["unit"] == unit
    assert len(found.effects["c1"]) == 16
    assert found.to_csv().startswith("kind,unit,effect,held_out,low,high,accuracy,others\n")


def test_without_a_unit_is_what_whole_traces_say(one):
    lab, unit = one
    some, model = forms(lab.items.items)[:6], lab.subject.model
    words = torch.tensor([item.context for item in some]).T
    mean = model.trace(words).states["c1"][..., unit].mean()

    def put(state):
        other = state.clone()
        other[:, unit] = mean
        return other

    edits = [StateEdit("c1", step, put) for step in range(len(words))]
    logits = model.trace(words, edits=edits).logits[-1]
    want = [float(row[item.right] - row[item.wrong])
            for row, item in zip(logits, some, strict=True)]  # fmt: skip
    np.testing.assert_allclose(margins(model, some, "c1", unit), want, atol=1e-5)


@pytest.mark.parametrize("name", ["formula", "gru", "rnn"])
def test_going_on_is_what_whole_traces_say(formula, formulas, name):
    lens = formula if name == "formula" else formulas[name]
    model = lens.subject.model
    words = torch.tensor([[0, 1, 2], [3, 4, 5], [6, 7, 8], [2, 9, 1]])
    contexts = Contexts(model, words)
    assert contexts.layers  # only what is above is computed
    for kind in [kind.id for kind in model.kinds]:
        for step in range(4):
            for always in (False, True):
                steps = range(step, 4) if always else [step]
                edits = [StateEdit(kind, t, lambda v: v * 0.5 + 0.1) for t in steps]
                want = model.trace(words, edits=edits).prediction[-1]
                got = contexts.after(kind, step, lambda v: v * 0.5 + 0.1, always=always)
                torch.testing.assert_close(got, want, atol=1e-6, rtol=1e-5)


def test_directions_are_the_planted_one_and_a_placebo_is_not(one):
    lab, unit = one
    found = lab.directions(kinds="c1")
    rows = {row.way: row for row in found.rows}
    assert found.accuracy == 1.0
    for way in ("difference of means", "learned"):
        assert rows[way].moved == pytest.approx(1, abs=0.1)
    for way in ("placebo", "random"):
        assert abs(rows[way].moved) < 0.6  # in 16 dimensions, of which one decides
        assert rows[way].accuracy == 1.0
    assert rows["whole state"].accuracy is None
    some = contrasts(lab.items.items)
    along = found_direction(lab.subject.model, some, "c1", MEANS)
    assert abs(float(along[unit])) > 0.9


def test_directions_move_no_share_of_no_difference(one, monkeypatch):
    lab, _ = one
    readout = lab.subject.model.readout
    monkeypatch.setattr(readout, "data", torch.zeros_like(readout))
    found = lab.directions(kinds="c1")
    assert {(row.moved, row.low, row.high) for row in found.rows} == {(None, None, None)}
    assert found.to_json()["rows"][0]["moved"] is None
    assert "do not separate" in direction_table(found)


def test_erasing_leaves_a_probe_little_and_takes_the_accuracy(one):
    lab, _ = one
    found = lab.erase(kinds="c1")
    (row,) = found.kinds
    assert (found.learnt_from, found.probed, found.contrasts) == (10, 10, 12)
    assert row.read > 0.95
    # By a probe of other contexts than were learned from, of which it is half by construction.
    assert 0.4 < row.read_after < 0.75
    assert row.read_after != row.majority
    assert row.accuracy == 1.0
    assert row.accuracy_after < 0.75
    assert row.accuracy_random > 0.95
    assert row.rank == 1
    assert abs(row.loss_after - row.loss) < 0.5
    assert lab.erase(kinds="c1").to_csv().count("\n") == 2


def test_erasers_are_learned_from_states_that_those_before_have_changed(one):
    """Word by word as the recurrence goes on: against contexts that are read whole each time."""
    lab, _ = one
    (some,) = by_length(contrasts(lab.items.items))
    group = Group(lab.subject.model, some)
    erasers = group.erasers("c1")
    assert [*erasers] == [*range(some[0].begin, len(some[0].first))]
    for step, eraser in erasers.items():
        edits = [StateEdit("c1", t, erasers[t]) for t in erasers if t < step]
        states = lab.subject.model.trace(group.words, edits=edits).states["c1"][step].double()
        mean, covariance = moments(states)
        across = (states - mean).T @ (group.sides - 0.5) / len(states)
        want = leace(mean, covariance, torch.stack([across, -across], 1))
        torch.testing.assert_close(eraser.taken, want.taken, atol=1e-6, rtol=1e-4)


def test_nothing_is_left_of_the_contexts_that_were_learned_from(one):
    lab, _ = one
    some = contrasts(lab.items.items)
    assert left_to_read(lab.reader, some, some, some, "c1") == pytest.approx(0.5, abs=1e-9)
    few = some[:10]  # of which some nouns are more frequent than others
    other = left_to_read(lab.reader, few, some, some, "c1")
    assert other > 0.55  # a probe of contexts that it knows, and the erasure not


def test_what_is_read_has_an_interval_over_pairs_of_contexts(one):
    lab, _ = one
    some = contrasts(lab.items.items)
    group = [Group(lab.subject.model, there) for there in by_length(some)]
    left = Left.of(group, group, "c1", {})
    assert left.read > 0.95
    assert left.sure is not None
    assert left.sure.low <= left.read <= left.sure.high


def test_a_unit_is_followed_over_a_text(one, formula, suite):
    lab, unit = one
    found = lab.unit("c1", unit, "the author near the cars")
    assert found.words == ("the", "author", "near", "the", "cars")
    assert set(found.values) == {"f1", "i1", "o1", "g1", "l1", "s1", "c1", "h1"}
    assert found.values["c1"][0] == pytest.approx(0, abs=1e-3)
    assert min(found.values["c1"][1:]) > 0.9  # written by the subject, and kept
    assert found.more == ()  # a run without probes
    path = suite.parent / "small.suite"
    path.write_text("the {dog|dogs} {sees|see}\n")
    said = formula.lab(path).unit("c2", 1, "the dog")
    weights = formula.subject.probes.rows("c2", range(len(formula.labels)))[0][:, 1]
    assert said.more[0] == formula.labels[int(weights.argmax())]
    assert said.less[0] == formula.labels[int(weights.argmin())]
    with pytest.raises(RnnlensError, match="it has 16, from 0"):
        lab.unit("c1", 16, "the author")
    with pytest.raises(RnnlensError, match="there is no kind 'q'"):
        lab.unit("q", 0, "the author")
    with pytest.raises(RnnlensError, match="give a text"):
        lab.unit("c1", 0, " ")


def test_too_little_to_go_by_is_refused(one, formula, tmp_path):
    lab, _ = one
    with pytest.raises(RnnlensError, match="there is no paradigm 'x'"):
        lab.units(paradigm="x")
    with pytest.raises(RnnlensError, match="from 1 up"):
        lab.units(top=0)
    with pytest.raises(RnnlensError, match="'q9' is no kind"):
        lab.units(kinds="q9")
    path = tmp_path / "few.suite"
    path.write_text("the {dog|dogs} {sees|see}\n")
    few = formula.lab(path)
    for ask in (few.units, few.directions, few.erase):
        with pytest.raises(RnnlensError, match="too few"):
            ask()
