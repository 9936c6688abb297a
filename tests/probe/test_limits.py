"""Which states a probe has seen the like of."""

import json

import pytest
import torch
from tests import runfiles
from tests.fixtures import formula_run
from tests.probe.conftest import dataset_of

import rnnlens
from rnnlens.base.errors import RnnlensError
from rnnlens.cli import main
from rnnlens.draw.look import OUTSIDE
from rnnlens.probe.fit_loop import fit_probes
from rnnlens.probe.fitting import FitConfig
from rnnlens.probe.limits import limit_of, measured
from rnnlens.run.folder import Run, run_at


@pytest.fixture
def run(tmp_path):
    return Run(formula_run(tmp_path / "run"))


def test_one_state_in_a_thousand_is_beyond():
    low, high = limit_of(torch.arange(10_000.0) + 1)
    assert low == pytest.approx(0.95 * 6, rel=1e-4)
    assert high == pytest.approx(1.05 * 9_995, rel=1e-4)


def test_few_states_have_wider_limits_than_they_reach():
    sizes = torch.linspace(0.9, 1.1, 50)
    low, high = limit_of(sizes)
    assert 0.7 < low < 0.9
    assert 1.1 < high < 1.4


def test_states_that_never_vary_are_within():
    low, high = limit_of(torch.zeros(50))
    assert low <= 0 < high


@pytest.mark.parametrize("family", ["linear", "shared"])
def test_a_fit_measures_them_on_the_way(network, train, valid, family):
    dataset = dataset_of(network, train=train, valid=valid)
    probes = fit_probes(dataset, FitConfig(probe=family, epochs=1, rank=4, semantic="output,input"))
    assert probes.limits.keys() == {"output", "input"}
    later = measured(probes, dataset)
    for semantic, limits in probes.limits.items():
        for kind, limit in limits.items():
            assert later[semantic][kind] == pytest.approx(limit, rel=1e-3)
    stack = probes.stacks["output"]
    states = torch.cat([chunk.states["h2"] for chunk in dataset.stream("valid", "output").chunks()])
    low, high = probes.limits["output"]["h2"]
    sizes = stack.sizes(stack.kinds.index("h2"), states)
    assert ((sizes >= low) & (sizes <= high)).float().mean() > 0.99
    assert (stack.sizes(stack.kinds.index("h2"), 9 * states) > high).float().mean() > 0.9
    # Side by side, as the screen has them, they are the same.
    pieces = torch.cat([piece.sizes for piece in stack.pieces({"h2": states}, 40)])
    torch.testing.assert_close(pieces, sizes)
    written = json.loads(json.dumps(probes.to_json()))
    assert written["limits"]["output"]["h2"] == [low, high]


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"output": {"x": [0.5, 2.0]}}, "the limits of output are not of the kinds there are"),
        ({"input": {}}, "the limits of input are not of the kinds there are"),
        ([2.0, 0.5], "the limits of x are not in order"),
        ([1.0, 1.0], "the limits of x are not in order"),
        ([-1.0, 2.0], "limits.output.x.0: Input should be greater than or equal to 0"),
        ([0.5, 1e31], "limits.output.x.1"),
        (["0.5", "2"], "limits.output.x.0"),
        ([0.5], "limits.output.x"),
        ("wide", "limits"),
    ],
)
def test_limits_that_cannot_be_are_refused_in_a_line(run, limits, said):
    kinds = run.probes().kinds
    if isinstance(limits, list):
        limits = {"output": {kind: limits if kind == "x" else [0.5, 2.0] for kind in kinds}}
    runfiles.edit(run.path / "probes.json", limits=limits)
    with pytest.raises(RnnlensError) as refused:
        run.probes()
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
def test_limits_that_are_no_numbers_are_refused_in_a_line(run, word):
    run.write_limits({"output": dict.fromkeys(run.probes().kinds, (0.5, 2.0))})
    path = run.path / "probes.json"
    value = json.loads(path.read_text(encoding="utf-8"))
    del value["checksum"]
    path.write_text(json.dumps(value).replace("2.0", word, 1), encoding="utf-8")
    with pytest.raises(RnnlensError, match=r"probes\.json is damaged") as refused:
        run.probes()
    assert "\n" not in str(refused.value)


def test_limits_are_written_into_a_run_and_nothing_else_changes(run):
    before, sha = runfiles.contents(run.path / "probes.json"), run.probes_hash()
    limits = {"output": dict.fromkeys(run.probes().kinds, (0.5, 2.0))}
    run.write_limits(limits)
    assert run.probes().limits == limits
    assert run.probes_hash() == sha
    after = runfiles.contents(run.path / "probes.json")
    assert {name: after[name] for name in before} == before
    assert after.keys() - before.keys() == {"limits"}


def test_a_run_without_limits_says_nothing(formula):
    grid = formula("the old dogs see", edits=["c2@2=0", "h1@3=50"])
    assert all(state.outside is None for kind in grid for state in grid[kind])


def test_what_an_edit_brings_outside_is_said_and_not_coloured(capsys, tmp_path):
    lens = rnnlens.load("brackets")
    plain = lens("( [ ( ( ) ) ]")
    assert all(state.outside is None for kind in plain for state in plain[kind])
    grid = lens("( [ ( ( ) ) ]", edits=["c1@3*40", "c1@2=0"])
    far = grid["c1"][2].outside
    assert far is not None
    assert far[0] > far[2] > far[1] > 0
    near = grid["c1"][1].outside
    assert near is not None
    assert near[0] < near[1]
    assert grid["c1"][2].colour == "#ffffff"
    assert grid["y"][2].outside is None  # the model's own
    assert grid["c1@-1"][2].outside == near
    html = str(grid._repr_mimebundle_())
    assert OUTSIDE in html
    main(["show", "brackets", "( [ (", "--edit", "c1@2=0", "--kinds", "c1,y"])
    told = capsys.readouterr().out
    assert f"╳ {OUTSIDE}" in told
    grid.save(tmp_path / "grid.svg")
    assert OUTSIDE in (tmp_path / "grid.svg").read_text(encoding="utf-8")


def test_zero_is_outside_but_where_the_network_itself_begins_with_it():
    lens = rnnlens.load("english-news")
    text = "scientists have found a new planet near a very bright star ."
    grid = lens(text)
    assert all(state.outside is None for kind in grid for state in grid[kind])
    assert lens(text, edits=["c2@4=0"])["c2"][3].outside is not None  # it said noun, 67%
    assert lens(text, edits=["l2@4=0"])["l2"][3].outside is None  # as after every first word


@pytest.mark.parametrize("name", ["english-news", "english-tags", "brackets", "waves"])
def test_bundled_runs_have_limits(name):
    probes = run_at(name).probes()
    assert probes.limits.keys() == set(probes.semantics)
