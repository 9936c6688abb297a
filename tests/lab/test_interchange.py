"""What moves with a state, and what kinds prefer: against whole traces and probes by hand."""

from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from tests.sampling import sampled

from rnnlens.base.errors import RnnlensError
from rnnlens.draw.charts import write_squares
from rnnlens.lab.by_kind import by_paradigm, separates
from rnnlens.lab.contrasts import contrasts, forms
from rnnlens.lab.interchange import drawn
from rnnlens.lab.lab_page import pictures
from rnnlens.lab.lab_tables import kind_table, squares
from rnnlens.lab.shuffled import shuffled
from rnnlens.model.traceable import StateEdit

SUITE = """N.sg: dog, bird, she
N.pl: dogs, said, now
A: old, small, very
paradigm: number
the {A} {N.sg|N.pl} in the {N.sg} {sees|see}
paradigm: word
{she|dog} {A} in <now> ,
"""


@pytest.fixture(scope="module")
def suite(tmp_path_factory):
    path = tmp_path_factory.mktemp("suites") / "mine.suite"
    path.write_text(SUITE, encoding="utf-8")
    return path


@pytest.fixture
def every_share(monkeypatch):
    """Shares also of differences that are next to none: a network by formula has hardly others."""
    monkeypatch.setattr("rnnlens.lab.by_kind.separates", lambda differences: True)


def lens_of(name, formula, formulas):
    return formula if name == "lstm" else formulas[name]


def _put(other, _state):
    return other


@torch.no_grad()
def by_hand(lens, one, kind, step):
    """How much of a contrast moves with a kind's state at a step, from whole traces."""
    model = lens.subject.model

    def apart(trace):
        log_p = trace.logits[-1, 0].double().log_softmax(-1)
        return float(log_p[one.right] - (log_p[one.wrong] if one.wrong >= 0 else 0))

    words = [torch.tensor(ids)[:, None] for ids in (one.first, one.second)]
    traces = [model.trace(some) for some in words]
    d = [apart(trace) for trace in traces]
    moved = []
    for side in (0, 1):
        other = traces[1 - side].states[kind][step]
        edited = model.trace(words[side], edits=[StateEdit(kind, step, partial(_put, other))])
        moved.append((d[side] - apart(edited)) * (1 - 2 * side))
    return np.mean(moved), d[0] - d[1]


@pytest.mark.usefixtures("every_share")
@pytest.mark.parametrize("name", sampled(["lstm", "gru", "rnn"], "lstm"))
def test_what_moves_is_that_of_whole_traces(formula, formulas, suite, name):
    lens = lens_of(name, formula, formulas)
    lab = lens.lab(suite)
    found = lab.interchange()
    for paradigm in ("number", "word"):
        some = [one for one in contrasts(lab.items.items) if one.paradigm == paradigm]
        steps = len(some[0].first)
        assert found.array(paradigm).shape == (steps - some[0].begin, len(found.kinds))
        for kind in found.kinds:
            for step in range(some[0].begin, steps):
                moved, whole = np.array([by_hand(lens, one, kind, step) for one in some]).sum(0)
                value = found.at(paradigm, kind, steps - step).value
                assert value * whole == pytest.approx(moved, abs=1e-4 * len(some))
    top = lens.subject.model.kinds[-1].id
    assert found.at("number", top).value == pytest.approx(1, abs=1e-4)  # all is in it


@pytest.mark.usefixtures("every_share")
def test_a_state_of_its_own_sort_is_the_control(formula, suite):
    found = formula.lab(suite).interchange(kinds="x")
    # The word before is the same for both: another such word moves nothing of what is asked.
    last = found.at("number", "x", 3)
    assert last.value == pytest.approx(0, abs=1e-6)
    assert last.control is not None
    assert found.at("number", "x", 4).value == pytest.approx(1, abs=1e-4)


@pytest.mark.usefixtures("every_share")
def test_what_is_alone_of_its_sort_has_no_control(formula, tmp_path):
    path = tmp_path / "alone.suite"
    # The same contexts with two verbs: each is the only one of its sort.
    path.write_text("V.sg: sees, said\nV.pl: see, now\nthe {dog|dogs} {V.sg|V.pl}\n")
    found = formula.lab(path).interchange()
    assert {one.items for one in found.values} == {2}
    assert {one.control for one in found.values} == {None}
    assert "control" not in kind_table(found).split("\n", 1)[1].rsplit("\n", 1)[0]


@pytest.mark.usefixtures("every_share")
def test_tables_tell_how_many_and_the_control(formula, suite):
    found = formula.lab(suite).interchange(kinds="x")
    lines = kind_table(found, "number").splitlines()
    one = found.at("number", "x")
    assert lines[1].split() == ["number", "items", "x"]
    shown = [f"{share:.2f}".replace("-0.00", "0.00") for share in (one.value, one.control)]
    assert lines[-3].split()[1:] == [f"{one.items}", shown[0]]
    assert lines[-2].split() == ["control", shown[1]]


@pytest.mark.usefixtures("every_share")
def test_weights_in_another_order_are_a_control(formula, suite):
    model: Any = formula.subject.model
    other: Any = shuffled(model, 3)
    for a, b in zip(model.parameters(), other.parameters(), strict=True):
        assert torch.equal(a.flatten().sort()[0], b.flatten().sort()[0])
        assert not torch.equal(a, b)
    found = formula.lab(suite).interchange(untrained=True)
    assert "untrained" in kind_table(found).splitlines()[0]
    assert found.at("number", "h2").value == pytest.approx(1, abs=1e-4)


def test_preferences_are_those_of_the_probes(formula, suite):
    lab = formula.lab(suite)
    found = lab.preferences()
    some = [one for one in forms(lab.items.items) if one.paradigm == "number"]
    assert found.kinds[-1] == "y"
    steps = len(some[0].context)
    want = np.zeros((steps, len(found.kinds)))
    for one in some:
        trace = formula.subject.model.trace(torch.tensor(one.context)[:, None])
        for k, kind in enumerate(found.kinds):
            logits = trace.logits
            if kind != "y":
                logits = formula.subject.probes.logits(kind, trace.states[kind])
            logits = logits[:, 0]
            want[:, k] += (logits[:, one.right] > logits[:, one.wrong]).numpy()
    np.testing.assert_allclose(found.array("number"), want / len(some), atol=1e-9)
    assert found.words["number"][0] == "the"
    assert found.words["number"][2].endswith("…")


def test_a_model_without_probes_is_asked_itself(formulas, suite):
    found = formulas["bare"].lab(suite).preferences()
    assert found.kinds == ("y",)
    assert "no probes" in found.notes[0]


def test_what_cannot_be_interchanged_is_refused(formula, suite, tmp_path):
    lab = formula.lab(suite)
    with pytest.raises(RnnlensError, match="'q9' is no kind that could be edited"):
        lab.interchange(kinds=["q9"])
    path = tmp_path / "one.suite"
    path.write_text("the dog {sees|see} now\n")
    with pytest.raises(RnnlensError, match="give a template with two choices"):
        formula.lab(path).interchange()
    with pytest.raises(RnnlensError, match="nothing was measured of q9"):
        lab.preferences().at("number", "q9")


def test_few_contrasts_are_of_all_paradigms(formula, suite):
    some = contrasts(formula.lab(suite).items.items)
    few = drawn(some, 5)
    assert len(few) == 5
    assert {one.paradigm for one in few} == {"number", "word"}
    assert drawn(some, 10_000) == some
    lab = formula.lab(suite)
    for ask in (lab.interchange, lab.directions, lab.erase):
        with pytest.raises(RnnlensError, match="most=-3: give"):
            ask(most=-3)
        with pytest.raises(RnnlensError, match="seed=-1: give"):
            ask(seed=-1)
    with pytest.raises(RnnlensError, match="seed=-1: give"):
        lab.units(seed=-1)


def test_a_share_of_all_items_is_not_wholly_sure():
    ones = np.ones((40, 1, 1))
    one = by_paradigm("share", ["k"], {"p": (ones, ones)}, {"p": ("w",)}, 0.5).at("p", "k")
    assert one.low == pytest.approx(40 / (40 + 1.96**2), abs=1e-4)
    assert one.high == 1.0


def test_shares_have_intervals_over_items():
    random = np.random.default_rng(0)
    whole = random.uniform(1, 2, (200, 1, 1))
    moved = 0.3 * whole + random.normal(0, 0.5, whole.shape)
    found = by_paradigm("share", ["k"], {"p": (moved, whole)}, {"p": ("w",)}, 0.0)
    one = found.at("p", "k")
    assert one.value == pytest.approx(float(moved.sum() / whole.sum()))
    spread = 1.96 * 0.5 / np.sqrt(200) / 1.5
    assert one.low is not None
    assert one.high is not None
    assert one.high - one.low == pytest.approx(2 * spread, rel=0.15)
    assert found.to_csv().splitlines()[0] == "paradigm,kind,before,items,value,low,high,control"


def test_of_no_difference_there_is_no_share(tmp_path):
    """Where contexts are as good as alike, what moves over it would be any number."""
    random = np.random.default_rng(0)
    alike, apart = random.normal(0, 1, (30, 2, 1)), random.normal(1, 1, (30, 2, 1))
    alike -= alike.mean(0) - 1e-3  # whose sum is none, and not quite
    moved = random.normal(0, 1, (30, 2, 1))
    given = {"weak": (moved, alike), "strong": (moved, apart)}
    words = {"weak": ("a", "b"), "strong": ("a", "b")}
    found = by_paradigm("share", ["k"], given, words, 0.0, given)
    one, other = found.at("weak", "k"), found.at("strong", "k")
    assert (one.value, one.low, one.high, one.control, one.items) == (None, None, None, None, 30)
    assert other.value == pytest.approx(float(moved[:, 0].sum() / apart[:, 0].sum()))
    assert np.isnan(found.array("weak")).all()
    assert found.to_json()["values"][0]["value"] is None
    assert found.to_csv().splitlines()[1] == "weak,k,1,30,,,,"
    table = kind_table(found)
    assert table.splitlines()[2].split() == ["weak", "30", "-"]
    assert "do not separate" in table
    assert "(contrasts): weak (30)" in table
    page = "".join(pictures(found, [None, "weak"], {}))
    assert page.count('title="k: the pair does not separate here, 30 items">–</td>') == 3
    assert page.count("bgcolor=") == 1
    assert "do not separate" in page
    write_squares([squares(found), squares(found, "strong")], tmp_path / "a.svg")
    drawn = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert drawn.count("–: the pairs do not separate") == 1
    assert ">–</text>" in drawn


def test_pairs_separate_where_their_difference_is_no_chance():
    assert separates(np.array([2.0]))  # of one pair its own difference is all there is
    assert not separates(np.array([1e-3]))
    assert not separates(np.array([]))
    assert not separates(np.array([3.0, -2.0, 1.0, -1.5]))
    assert separates(np.array([1.0, 1.2, 0.8, 1.1]))
    assert not separates(np.full(1000, 5e-3))  # sure, and nothing to speak of
