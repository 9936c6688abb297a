"""A lens of recorded states says what plain arithmetic says, and needs no network."""

import json
import warnings

import numpy as np
import pytest
import torch
from tests import recorded

import rnnlens
from rnnlens.cli import main
from rnnlens.probe.recorded_data import PARTS, part_of

SEMANTICS = "output,short,size,traits,input,output+2"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return recorded.recorded(tmp_path_factory.mktemp("states") / "recorded")


@pytest.fixture(scope="module")
def lens(folder):
    return rnnlens.from_states(folder, semantic=SEMANTICS, epochs=20)


def test_grids_are_the_probes_on_the_recorded_states(lens):
    some = recorded.arrays()
    ends = np.cumsum(some["lengths"])
    grid = lens("#5")
    rows = slice(ends[4], ends[5])
    assert grid.words == [recorded.WORDS[k] for k in some["words"][rows]]
    for kind in ("x", "h1"):
        logits = lens.subject.probes.logits(kind, torch.from_numpy(some[kind][rows]))
        p = logits.double().softmax(-1).numpy()
        said = np.array([state.distribution() for state in grid[kind]])
        np.testing.assert_allclose(said, p, atol=1e-6)
        np.testing.assert_array_equal(grid[kind][1].vector(), some[kind][rows][1])


def test_what_came_is_known_under_every_semantic(lens):
    text = "the dog sees a cat ."
    assert [s.wanted and s.wanted[0] for s in lens(text)["h1"]] == [*text.split()[1:], None]
    ahead = lens(text, "output+2")["h1"]
    assert [s.wanted and s.wanted[0] for s in ahead] == [*text.split()[3:], None, None, None]
    assert [s.wanted[0] for s in lens(text, "input")["x"]] == text.split()
    short = [s.wanted[0] for s in lens(text, "short")["h1"]]
    assert short == ["yes", "no", "no", "yes", "no", "no"]
    number = lens.subject.session.text.kept.number(text)
    sizes = recorded.arrays()["targets.size"]
    first = lens.subject.session.text.kept.span(number)[0]
    scale = lens.subject.answers("size").scale
    bins = scale.bins(torch.from_numpy(sizes[first : first + 6])).tolist()
    assert [s.wanted[0] for s in lens(text, "size")["h1"]] == [scale.names[k] for k in bins]
    assert lens(text, "traits")["h1"][0].wanted is None  # a set is no one label


def test_scores_are_those_of_sequences_that_no_fit_has_seen(lens):
    some, probes = recorded.arrays(), lens.subject.probes
    lengths, starts = some["lengths"], np.cumsum(some["lengths"]) - some["lengths"]
    kept = lens.subject.model.kept
    chosen = np.flatnonzero(part_of(kept) == PARTS.index("test"))
    assert chosen.tolist() == list(range(5, 60, 10))
    rows = np.concatenate([np.arange(starts[k], starts[k] + lengths[k] - 1) for k in chosen])
    labels = [lens.labels.index(recorded.WORDS[w]) for w in some["words"][rows + 1]]
    evaluation = lens.evaluate()
    score = next(s for s in evaluation if (s.semantic, s.kind) == ("output", "h1"))
    logits = probes.logits("h1", torch.from_numpy(some["h1"][rows])).double()
    nll = torch.nn.functional.cross_entropy(logits, torch.tensor(labels))
    assert score.pairs == len(rows)
    assert score.perplexity == pytest.approx(float(nll.exp()), rel=1e-5)
    assert score.ratio is None  # there is no prediction of a network to compare with
    short = next(s for s in evaluation if (s.semantic, s.kind) == ("short", "x"))
    assert short.perplexity < short.unigram


def test_a_network_s_own_logits_are_its_prediction(tmp_path):
    some = recorded.arrays()
    words = some["words"]
    logits = 5.0 * np.eye(len(recorded.WORDS))[np.roll(words, -1)]  # it knows the next word
    ends = np.cumsum(some["lengths"])
    with rnnlens.record(tmp_path, words=recorded.WORDS) as to:
        for first, last in zip(ends - some["lengths"], ends, strict=True):
            here = slice(first, last)
            to.add({"h1": some["h1"][here]}, words[here], y=logits[here])
    lens = rnnlens.from_states(tmp_path, epochs=2)
    grid = lens("the dog sees a cat .")
    assert lens.kinds == ["h1", "y"]
    assert [state.top(1)[0][0] for state in grid["y"]][:5] == "dog sees a cat .".split()
    score = lens.evaluate()[-1]
    assert score.ratio is not None
    assert score.ratio > 1


def test_compare_follow_and_turns(lens):
    first, second = (lens(text).words for text in ("#0", "#1"))
    comparison = rnnlens.compare(lens, "{#0|#1}")
    pairs = [(first[i], second[j]) for i, j in comparison.pairs if None not in (i, j)]
    assert (".", ".") in pairs
    assert {i for i, _ in comparison.pairs} >= {*range(len(first))}
    assert lens("#5").follow("cat").values.shape == (len(lens("#5").words), 2)
    assert "across 2 edges" in str(lens("#5").turns())  # of each kind, from its step before
    both = rnnlens.compare(lens("#0"), lens("#0"))
    assert float(both["h1"].max()) < 1e-6


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda lens: lens("a dog flies"), "no recorded text reads 'a dog flies'"),
        (lambda lens: lens("#77"), "there is no text #77; there is #0 to #59"),
        (lambda lens: lens("#3", edits=["h1@2=0"]), "an edit needs a network"),
        (lambda lens: lens("#3")["h1"][1].written_by("cat"), "written a state needs a network"),
        (lambda lens: lens("#3").continuation(2), "how a text goes on needs a network"),
        (
            lambda lens: lens("#3").zeroed(),
            "putting another state in the place of one needs a network",
        ),
        (lambda lens: lens.evaluate(used=True), "what is used of a state needs a network"),
        (lambda lens: lens.evaluate(["a cat"]), "leave data out"),
    ],
)
def test_what_needs_a_network_says_so(lens, ask, said):
    with pytest.raises(rnnlens.RnnlensError, match=said) as error:
        ask(lens)
    assert "\n" not in str(error.value)


def test_a_grid_is_saved_as_a_page_and_drawn_in_a_notebook(lens, tmp_path):
    lens("#5").save(tmp_path / "grid.html")
    assert "sees" in (tmp_path / "grid.html").read_text(encoding="utf-8")
    assert lens._repr_mimebundle_() is not None


def test_a_saved_lens_is_the_same_and_knows_where_its_states_are(lens, folder, tmp_path):
    run = lens.save(tmp_path / "run")
    again = rnnlens.load(run)
    assert again.semantics == lens.semantics
    for semantic in lens.semantics:
        one, other = lens("#7", semantic)["h1"], again("#7", semantic)["h1"]
        for a, b in zip(one, other, strict=True):
            np.testing.assert_allclose(a.distribution(), b.distribution(), atol=1e-6)
    assert [s.perplexity for s in again.evaluate()] == pytest.approx(
        [s.perplexity for s in lens.evaluate()], rel=1e-5
    )
    elsewhere = folder.rename(folder.with_name("elsewhere"))
    try:
        with pytest.raises(rnnlens.RnnlensError, match=r"were at .* and are not there; say where"):
            rnnlens.load(run)
        assert rnnlens.load(run, model=elsewhere)("#7").words == lens("#7").words
        strange = recorded.recorded(tmp_path / "other", recorded.arrays(seed=3))
        with pytest.raises(rnnlens.RnnlensError, match="are not those that this run was made of"):
            rnnlens.load(run, model=strange)
    finally:
        elsewhere.rename(folder)


@pytest.mark.parametrize(
    ("states", "said"),
    [
        ({"h": np.zeros((40, 3))}, "neither words nor targets"),
        ({"h": np.zeros((40, 3)), "y": np.zeros((40, 7)), "words": np.arange(40) % 5}, "7 logits"),
        (
            {"h": np.full((40, 3), np.nan), "words": np.arange(40) % 5},
            "holds nan, which is no",
        ),
        ({"h": np.zeros((2, 3)), "words": np.arange(2)}, "too few to learn from"),
    ],
)
def test_states_that_cannot_be_asked(tmp_path, states, said):
    np.savez(tmp_path / "states.npz", **states)
    with pytest.raises(rnnlens.RnnlensError, match=said):
        rnnlens.from_states(tmp_path)


def test_unknown_options_and_semantics_are_named(folder):
    with pytest.raises(rnnlens.RnnlensError, match="from_states"):
        rnnlens.from_states(folder, epoch=3)
    with pytest.raises(rnnlens.RnnlensError, match=r"is no semantic here; give .*short"):
        rnnlens.from_states(folder, semantic="tag")


@pytest.mark.slow
def test_the_commands_take_recorded_states(folder, tmp_path, capsys):
    run = tmp_path / "run"
    assert main(["fit", "--recorded", str(folder), "-o", str(run), "--epochs", "3"]) == 0
    assert "60 sequences" in capsys.readouterr().out
    assert main(["eval", str(run), "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)
    assert {"short", "size", "traits"} <= {row["semantic"] for row in scores["probes"]}
    assert main(["show", str(run), "#5"]) == 0
    assert "sees" in capsys.readouterr().out
    assert main(["fit", str(run), "--epochs", "1", "--semantic", "output"]) == 0  # fitted anew
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert rnnlens.load(run).semantics == ("output",)
    assert main(["show", str(run), "nothing of this"]) == 2
    assert "no recorded text reads" in capsys.readouterr().err
    assert main(["fit", "--recorded", str(folder)]) == 2
    assert main(["fit", str(run), "--end", "."]) == 2
