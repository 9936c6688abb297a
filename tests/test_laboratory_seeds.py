"""What several seeds show: what counts as shown, and that it needs few packages."""

import json
import runpy
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.fixtures import formula_run

from rnnlens.lens.open import opened
from rnnlens.run.folder import Run

SCRIPT = Path(__file__).parents[1] / "scripts" / "laboratory_seeds.py"
SUITE = "N.sg: dog\nN.pl: dogs\nA: old, small, very\nthe {A} {N.sg|N.pl} {sees|see}\n"
# What a machine with a GPU has, and what torch brings along, if anything of it is asked for.
BARE = """
import sys, runpy
from importlib.abc import MetaPathFinder
class Refuse(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pydantic", "nltk", "matplotlib", "fastapi", "pandas"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Refuse())
script = runpy.run_path(sys.argv[1])
from pathlib import Path
pieces = {piece: [piece] for piece in "the old small very dog dogs sees see".split()}
subject = script["subject_of"](Path(sys.argv[2]), "cpu", pieces)
found = script["lab"](subject, sys.argv[3])
print(found.paradigms[0].accuracy, len(found.preferences().kinds), found.erase is not None)
"""


@pytest.fixture(scope="module")
def script():
    return SimpleNamespace(**runpy.run_path(str(SCRIPT)))


def test_it_needs_few_packages_and_finds_what_a_lens_does(tmp_path):
    run, suite = formula_run(tmp_path / "formula"), tmp_path / "my.suite"
    suite.write_text(SUITE, encoding="utf-8")
    words = [sys.executable, "-c", BARE, SCRIPT, run, suite]
    said = subprocess.run(words, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr
    lab = opened(Run(run)).lab(suite)
    want = f"{lab.paradigms[0].accuracy} {len(lab.preferences().kinds)} True\n"
    assert said.stdout == want


def test_what_is_found_is_kept_part_by_part_and_not_computed_again(script, tmp_path):
    run = formula_run(tmp_path / "formula")
    asked, calls = SimpleNamespace(run=str(run)), []

    def first(_):
        calls.append("first")
        yield script.Row("a", 0.25)

    def second(_):
        calls.append("second")
        if len(calls) < 3:
            raise KeyboardInterrupt
        yield script.Row("b", 2.0, "words", True)

    script.found.__globals__["PARTS"] = {"first": first, "second": second}
    with pytest.raises(KeyboardInterrupt):
        script.found(asked, tmp_path)
    rows = script.found(asked, tmp_path)
    assert calls == ["first", "second", "second"]
    assert rows == [script.Row("a", 0.25), script.Row("b", 2.0, "words", True)]
    (kept,) = tmp_path.glob("formula-*.json")
    assert [*json.loads(kept.read_text())] == ["first", "second"]


def test_what_did_not_replicate_is_told(script):
    def agree(*rows):
        return script.agree([row and script.Row("a", *row) for row in rows])

    assert agree((0.9, "share", True), (0.4, "share", True)) == "yes"
    assert agree((0.9, "share", True), (0.4, "share", False)) == "did not replicate: 1 of 2"
    assert agree((0.50,), (0.54,)) == "within 0.05"
    assert agree((0.50,), (0.61,)) == "0.11 apart"
    assert agree((2.0, "words"), (2.4, "words")) == "within 0.5"
    assert agree((0.5,), None) == agree((0.5,), (None,)) == "not all have it"
    assert agree(("174", "name"), ("3", "name")) == ""


def test_where_there_is_no_share_nothing_replicates(script):
    ways = ("difference of means", "learned", "placebo", "random")
    none = SimpleNamespace(value=None)
    lab = SimpleNamespace(
        interchange=lambda **_: SimpleNamespace(at=lambda *_: none),
        directions=lambda *_, **__: SimpleNamespace(
            rows=[SimpleNamespace(way=way, moved=None) for way in ways]
        ),
    )
    asked = SimpleNamespace(lab=lab)
    rows = [*script.interchange(asked), *script.directions(asked)]
    assert len(rows) == 13
    assert {script.shown(row) for row in rows} == {"-"}
    assert {script.agree([row, row]) for row in rows} == {"not all have it"}
    assert not any(row.holds for row in rows)
