"""What the published page's engine answers beyond plain grids is what Python answers: edits, two
texts side by side, labels that are followed, turns, divergences, continuations, who wrote a state.
"""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.view.conftest import formula_run
from tests.view.publish.asking import Chance, Question, apart, asked_python

from rnnlens.run import Run, run_at
from rnnlens.view.lens import Lens
from rnnlens.view.opening import opened
from rnnlens.view.publish.pack import packed
from rnnlens.view.publish.quantised import Tensors

ANSWERS = Path(__file__).with_name("answers.js")


@pytest.fixture
def exact(monkeypatch):
    """Lenses are packed in single precision, so that nothing is rounded."""
    monkeypatch.setattr(Tensors, "half", Tensors.exact)


def asked_engine(lens: Lens, asked: list[Question], folder: Path) -> list[dict[str, Any]]:
    """What the engine answers."""
    pack = packed(lens, lens.semantics, "fp16")
    manifest, blob = folder / "manifest.json", folder / "tensors"
    manifest.write_text(json.dumps(pack.manifest), encoding="utf-8")
    blob.write_bytes(pack.blob)
    answer = subprocess.run(
        ["node", str(ANSWERS), str(manifest), str(blob)], input=json.dumps(asked),
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert answer.returncode == 0, answer.stderr
    answers: list[dict[str, Any]] = json.loads(answer.stdout)
    return answers


def wrong_answers(lens: Lens, asked: list[Question], folder: Path) -> list[Any]:
    """The questions that the engine answers otherwise than Python, and where."""
    pairs = zip(asked, asked_engine(lens, asked, folder), strict=True)
    found = ((one, apart(answer, asked_python(lens, *one))) for one, answer in pairs)
    return [(*one, where) for one, where in found if where]


FORMULAS = [("lstm", "shared", 1), ("gru", "linear", 2), ("rnn", "shared", 3)]


@pytest.mark.slow
@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize(("cell", "family", "seed"), FORMULAS)
def test_readings_are_those_of_python(tmp_path, cell, family, seed):
    lens = opened(Run(formula_run(tmp_path / cell, cell, family)))
    chance = Chance(lens, seed)
    assert wrong_answers(lens, [chance.question() for _ in range(150)], tmp_path) == []


@pytest.mark.slow
@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("name", ["english-tags", "brackets"])
def test_readings_of_bundled_runs_are_those_of_python(tmp_path, name):
    lens = opened(run_at(name))
    chance = Chance(lens, 4)
    assert wrong_answers(lens, [chance.question() for _ in range(80)], tmp_path) == []
