"""The model that comes with the package, and what is said of it."""

import json
import re
from pathlib import Path

import pytest

import rnnlens
from rnnlens.run import BUNDLED, run_at

PACKAGE = Path(rnnlens.__file__).parent
FOLDER = PACKAGE / "bundled" / BUNDLED
EVALUATION = json.loads((FOLDER / "evaluation.json").read_text())
CARD = (FOLDER / "README.md").read_text()


def test_the_package_stays_small():
    files = [p for p in PACKAGE.rglob("*") if p.is_file() and "__pycache__" not in p.parts]
    assert sum(p.stat().st_size for p in files) < 30_000_000


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


def test_a_folder_of_that_name_comes_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run_at(BUNDLED).path == FOLDER
    (tmp_path / BUNDLED).mkdir()
    assert run_at(BUNDLED).path == Path(BUNDLED)


@pytest.mark.parametrize("word", ["AMALGUM", "CC BY 2.5", "CC BY 4.0", "Wikinews", "Apache-2.0"])
def test_the_card_gives_credit(word):
    assert word in CARD
