"""The model that comes with the package, and what is said of it."""

import json
import re
import shutil
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
import torch

import rnnlens
from rnnlens.base.errors import RnnlensError
from rnnlens.page.publish.pack import packed
from rnnlens.reading.encoding import encode
from rnnlens.run.folder import BUNDLED, Run, bundled, run_at
from rnnlens.search.store import Index

PACKAGE = Path(rnnlens.__file__).parent
RESULTS = Path(__file__).parents[1] / "docs/results.md"
FOLDER = PACKAGE / "bundled" / BUNDLED
EVALUATION = json.loads((FOLDER / "evaluation.json").read_text())
CARD = (FOLDER / "README.md").read_text()


def test_the_package_stays_small():
    files = [p for p in PACKAGE.rglob("*") if p.is_file() and "__pycache__" not in p.parts]
    assert sum(p.stat().st_size for p in files) < 34_000_000


def test_the_card_says_what_was_measured():
    for semantic, digits in (("output", 1), ("input", 2)):
        measured = [s for s in EVALUATION["probes"] if s["semantic"] == semantic]
        line = re.search(rf"^\| {semantic} \| (.*) \|$", CARD, re.MULTILINE)
        assert line
        assert line[1].split(" | ") == [f"{s['perplexity']:.{digits}f}" for s in measured]
    test = EVALUATION["model"]["test"]
    assert f"{test['perplexity']:.2f} on {test['pairs']:,} words" in CARD
    assert f"{test['unigram']:.2f}" in CARD


def test_it_is_whole_and_predicts():
    run = run_at(BUNDLED)
    assert run.probes().semantics == ("output", "input")
    lens = rnnlens.load(BUNDLED)
    grid = lens("`` we stand in solidarity , '' she")
    assert grid["y"][-1].top(1)[0][0] == "said"
    assert grid["h2"][-1].group == "VERB"
    assert lens("she", "input")["h2"][0].top(1)[0][0] == "she"


def test_a_run_of_that_name_comes_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run_at(BUNDLED).path == FOLDER
    (tmp_path / BUNDLED).mkdir()
    (tmp_path / BUNDLED / "run.json").write_text("{}")
    assert run_at(BUNDLED).path == Path(BUNDLED)


def test_the_forecaster_is_small_and_its_card_says_what_was_measured():
    folder = PACKAGE / "bundled" / "waves"
    assert sum(path.stat().st_size for path in folder.iterdir()) < 1_000_000
    card, found = (folder / "README.md").read_text(), json.loads(
        (folder / "evaluation.json").read_text()
    )  # fmt: skip
    for semantic in ("output", "output+4", "output-4"):
        measured = [s for s in found["probes"] if s["semantic"] == semantic]
        line = re.search(rf"^\| {re.escape(semantic)} \| (.*) \|$", card, re.MULTILINE)
        assert line
        assert line[1].split(" | ") == [f"{s['perplexity']:.2f}" for s in measured]
    error = measured[0]["error"] and found["probes"][0]["error"]
    assert f"| mean absolute error | {error['model']:.3f} on 640" in card
    assert f"always the mean: {error['constant']:.3f}" in card
    own = found["model"]["test"]["perplexity"]
    last = next(s for s in found["probes"] if s["kind"] == "h2")
    assert last["perplexity"] < 1.03 * own


@pytest.mark.parametrize("name", ["english-tags", "brackets", "brackets-rglru", "recall"])
def test_the_cards_of_small_networks_say_what_was_measured(name):
    folder = PACKAGE / "bundled" / name
    card = (folder / "README.md").read_text()
    found = json.loads((folder / "evaluation.json").read_text())
    line = re.search(r"^\| output \| (.*) \|$", card, re.MULTILINE)
    assert line
    assert line[1].split(" | ") == [f"{s['perplexity']:.2f}" for s in found["probes"]]
    test = found["model"]["test"]
    assert f"{test['perplexity']:.2f}" in card
    assert f"{test['unigram']:.2f}" in card
    if "accuracy" in test:
        assert f"| accuracy | {100 * test['accuracy']:.2f}% of {test['pairs']:,} test words" in card
    # Of past inputs, which nothing reads until the next word, no push gains anything.
    told = [score for score in found["probes"] if not score["kind"].startswith("p")]
    assert sum(score["used"] is not None for score in told) >= len(told) - 1
    prediction = rnnlens.load(name).subject.model.prediction
    assert found["probes"][-1]["kind"] == prediction.sources[0].kind
    assert found["probes"][-1]["ratio"] < 1.03  # of what the prediction reads


def test_small_networks_say_what_they_have_learnt():
    tags = rnnlens.load("english-tags")("She can open the can .")
    assert [tags["y"][t].top(1)[0][0] for t in (1, 4)] == ["AUX", "NOUN"]
    lens = rnnlens.load("brackets")
    assert lens.examples()[0] == "[ ( ) ]"
    after = {text: lens(text)["y"][-1] for text in ("( [", "[ (", "( ( ( ( [ ( [ ] )")}
    assert after["( ["].probability("]") > 100 * after["( ["].probability(")")
    assert after["[ ("].probability(")") > 100 * after["[ ("].probability("]")
    assert after["( ( ( ( [ ( [ ] )"].top(1)[0][0] == ")"  # deeper than any in training: wrong


def test_a_matrix_recalls_what_it_was_given_and_says_who_gave_it():
    lens, text = rnnlens.load("recall"), "b 3 d 7 b 5 ? b"
    grid, unerased = lens(text), lens(text, edits=["e1@6=0"])
    assert grid["y"][7].top(1)[0][0] == "5"
    assert unerased["y"][7].probability("3") > 100 * grid["y"][7].probability("3")
    assert "`e1@6=0`): then 5 has 61% and the old 3 has 39%" in card_of("recall")
    assert [round(100 * unerased["y"][7].probability(label)) for label in "53"] == [61, 39]
    stored = grid["h1"][7].written_by("5", against="3").stored
    assert stored is not None
    assert round(stored[5], 1) == 9.9
    assert max(abs(part) for k, part in enumerate(stored) if k != 5) < 0.2
    assert grid["S1"][6].asked("b").top(1)[0][0] == "5"
    assert lens("b 3 d 7 ?")["S1"][4].asked("b").top(1)[0][0] == "3"


def test_two_memories_of_brackets_can_be_compared():
    lens = rnnlens.load("brackets-rglru")
    for text, closes in (("( [", "]"), ("[ (", ")"), ("( [ ( ( ) )", "]")):
        assert lens(text)["y"][-1].top(1)[0][0] == closes
    assert rnnlens.load("brackets").subject.labels == lens.subject.labels


def card_of(name: str) -> str:
    return (PACKAGE / "bundled" / name / "README.md").read_text()


def test_the_forecaster_reads_new_numbers_without_anybodys_trust():
    assert bundled()[0] == BUNDLED
    assert "waves" in bundled()
    grid = rnnlens.load("waves")("0.1 0.4 0.6 0.7")
    _, low, high = grid["h2"][3].number or (0, 0, 0)
    assert -1.9 < low < high < 1.9
    written = grid["c2"][3].written_by()  # by gradients, after a grid that wants none
    assert len(written.without) == 4
    assert written.stored is not None


@pytest.mark.parametrize("word", ["AMALGUM", "CC BY 2.5", "CC BY 4.0", "Wikinews", "Apache-2.0"])
def test_the_card_gives_credit(word):
    assert word in CARD


def test_the_index_that_comes_along_is_of_the_run_and_answers():
    """It is made anew by scripts/bundle.py whenever the run's model, probes or groups change."""
    index = Index.of(run_at(BUNDLED))
    contents = index.contents
    assert (contents.splits, contents.source) == (("test",), "amalgum_news.conllu.gz")
    assert 3_000 < index.manifest.rows <= 6_500
    assert contents.map_kinds == contents.kinds[:-1]
    assert contents.palette == next(iter(run_at(BUNDLED).colours()["groupings"]))
    lens = rnnlens.load(BUNDLED)
    assert lens.find("l2 disagrees with s2 count by tag").total > 1000
    assert f"{index.manifest.rows:,} words" in CARD
    attribution = (FOLDER / "index" / "README.md").read_text()
    for licence in ("CC BY 2.5", "CC BY 4.0", "Wikinews", "AMALGUM"):
        assert licence in attribution
        assert licence in CARD


def test_a_folder_that_cannot_be_written_to_answers(tmp_path):
    folder = shutil.copytree(FOLDER, tmp_path / "run")
    before = sorted(path.name for path in folder.rglob("*"))
    for path in (folder / "index", folder):
        path.chmod(0o555)
    try:
        assert rnnlens.load(folder).find("y rank = 1 count").total > 500
        assert sorted(path.name for path in folder.rglob("*")) == before
    finally:
        for path in (folder, folder / "index"):
            path.chmod(0o755)


def test_a_run_that_is_fitted_elsewhere_does_not_take_the_index(tmp_path):
    lens = rnnlens.load(BUNDLED)
    copy = Run(lens.save(tmp_path / "saved"))
    assert not copy.has_index()
    shutil.copytree(FOLDER / "index", copy.path / "index")
    probes = copy.probes()
    probes.stacks["output"].map[0, 0, 0] += 1
    copy.write_probes(probes, asdict(copy.fit_config()))
    with pytest.raises(RnnlensError, match="is of another fit of its probes; make it anew"):
        Index.of(copy)


def test_what_knows_nothing_is_white_in_every_palette():
    subject = rnnlens.load(BUNDLED).subject
    assert subject.probes
    counts = subject.probes.counts["output"].double() + 1
    nothing = torch.stack([(counts / counts.sum()).log().float(), torch.zeros(len(counts))])
    shares = {
        name: encode(nothing, palette, np.full(2, -1)).share.tolist()
        for name, palette in subject.palettes_for("output").items()
    }
    for name in ("classes", "coarse", "universal"):
        assert shares[name] == pytest.approx([0, 0], abs=0.02)
    assert shares["coarse/paper"] == pytest.approx([0.495, 0.529], abs=1e-3)


def test_a_published_file_says_what_its_rounding_costs():
    subject = rnnlens.load("brackets").subject
    said = [packed(subject, ["output"], how).manifest["accuracy"]["rounding"]
            for how in ("int8", "fp16")]  # fmt: skip
    assert "another label is the most probable in 0.76%" in said[0]
    assert "no most probable label" in said[1]
    assert "another top label in 0.76% (`output`) and 0.13%" in RESULTS.read_text("utf-8")
