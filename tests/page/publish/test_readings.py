"""What the published page's engine answers beyond plain grids is what Python answers: edits, two
texts side by side, labels that are followed, turns, divergences, continuations, who wrote a state.
"""

import base64
import json
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from tests.asks import grid_json
from tests.fixtures import formula_run
from tests.letters import WORDS as LETTERS
from tests.letters import Classifier, batches
from tests.page.publish.asking import Chance, apart, asked_python
from tests.page.publish.engine import answered
from tests.page.publish.lenses import LINEAR, of_cells, of_linear, of_others, of_sets

import rnnlens
from rnnlens.lens.lens import Lens
from rnnlens.lens.open import opened
from rnnlens.page.publish.pack import packed
from rnnlens.page.publish.quantised import Tensors
from rnnlens.run.folder import Run, run_at

QUESTIONS = 24  # of each lens


@pytest.fixture
def exact(monkeypatch):
    """Lenses are packed in single precision, so that nothing is rounded."""
    monkeypatch.setattr(Tensors, "half", Tensors.exact)


@pytest.fixture
def lenses(tmp_path):
    """One of each sort."""
    sorts = [("lstm", "shared"), ("gru", "linear"), ("rnn", "shared")]
    formulas = {
        cell: opened(Run(formula_run(tmp_path / cell, cell, family))) for cell, family in sorts
    }
    linear = [of_linear(tmp_path, cell) for cell in ("minlstm", "deltanet")]
    bundled = [opened(run_at(name)) for name in ("english-tags", "brackets", "waves")]
    pairs = [(words, words[:, 0] % 2) for words, _ in batches(count=4, size=6)]
    with torch.random.fork_rng():
        whole = rnnlens.fit(Classifier(labels=2), pairs, ["even", "odd"], inputs=LETTERS, epochs=1)
    others = [of_sets(formulas["gru"]), of_others(formulas["lstm"]), whole]
    return [*formulas.values(), *linear, *others, *bundled]


def asked_engine(lenses: Sequence[Lens], asked: Sequence[tuple[int, str, Any]], wasm: bool) -> Any:
    """What the engine answers."""
    packs = [packed(lens.subject, lens.semantics, "fp16") for lens in lenses]
    sent = [{"manifest": p.manifest, "blob": base64.b64encode(p.blob).decode()} for p in packs]
    return answered("grids.mjs", {"lenses": sent, "ways": [wasm], "questions": asked})


def wrong(lenses: Sequence[Lens], asked: Sequence[tuple[int, str, Any]], answers: Any) -> Any:
    """What the engine has answered otherwise than Python, but for what a file does not hold."""
    return [
        (lenses[k].name, path, question, where)
        for (k, path, question), answer in zip(asked, answers, strict=True)
        if (where := apart(answer, asked_python(lenses[k], path, question)))
        and "this file does not hold" not in json.dumps(answer)
    ]


@pytest.mark.slow
@pytest.mark.usefixtures("exact")
def test_readings_are_those_of_python(lenses):
    asked: list[tuple[int, str, Any]] = []
    for k, lens in enumerate(lenses):
        chance = Chance(lens, seed=k)
        asked += [(k, *chance.question()) for _ in range(QUESTIONS)]
    answers = asked_engine(lenses, asked, wasm=True)
    assert wrong(lenses, asked, answers) == []
    every = ("grid", "divergence", "follow", "turns", "written", "continue")
    outcomes = {(path, *answer) for (_, path, _), answer in zip(asked, answers, strict=True)}
    both = {(f"api/{name}", way) for name in every for way in ("gives", "refuses")}
    assert outcomes == {*both, ("api/labels", "gives")}


@pytest.mark.slow
@pytest.mark.usefixtures("exact")
@of_cells
def test_who_wrote_memories_and_outputs(cells, tmp_path):
    """Of every memory, of what was kept of it and read, and of every output: stored, by a path."""
    lenses = [of_linear(tmp_path, cell, "output") for cell in cells]
    asked: list[tuple[int, str, Any]] = []
    for k, lens in enumerate(lenses):
        kinds = [kind for kind in lens.subject.model.kinds if kind.layer == 2]
        told = [one for kind in kinds if kind.memory for one in (kind.memory.kept, kind.id)]
        told += [kind.id for kind in kinds if kind.name == "read"]
        for column in (*told, "h2", "a2"):
            there = {"text": "the dog sees a bird .", "column": column, "row": 5}
            asked.append((k, "api/written", {**there, "stand_in": "unknown"}))
    answers = asked_engine(lenses, asked, wasm=True)
    assert wrong(lenses, asked, answers) == []
    for (_, _, question), answer in zip(asked, answers, strict=True):
        given, told = answer["gives"], question["column"] != "a2"
        assert (given["stored"] is not None, given["path"] is not None) == (told, told)


@pytest.mark.slow
@pytest.mark.usefixtures("exact")
@of_cells
def test_what_a_memory_is_and_answers_is_what_python_says(cells, tmp_path, formula):
    """Of matrices and vectors: norm, rank and half-life, and *asked by w*, or why it is not."""
    lenses = [*(of_linear(tmp_path, cell, "output") for cell in cells), formula]
    text = "the dog sees a bird she said"
    asked: list[tuple[int, str, Any]] = []
    for k, lens in enumerate(lenses):
        memories = [kind for kind in lens.subject.model.kinds if kind.memory]
        for kind in memories:
            of_kind = {"text": text, "column": kind.id}
            asked += [(k, "api/memory", {**of_kind, "row": row}) for row in (0, 6)]
            asked.append((k, "api/memory", {**of_kind, "row": 6, "word": "dogs"}))
        edited = {"text": text, "column": memories[-1].id, "row": 4, "word": "old"}
        asked.append((k, "api/memory", {**edited, "edits": [f"{memories[0].id}@2=0.5"]}))
        asked.append((k, "api/memories", {"text": text, "first": 1, "limit": 4}))
    for more in (
        {"word": "dogs"}, {"word": "dgo"}, {"columns": ["q1"]}, {"columns": ["S9"]},
        {"text": "the {dog|old dog} sees", "word": "old"}, {"edits": ["S1@2=0.5"], "word": "old"},
    ):  # fmt: skip
        asked.append((cells.index("gla"), "api/memories", {"text": text, **more}))
    there = {"text": text, "row": 2}
    for badly in (
        {"column": "S1", "word": "dgo"}, {"column": "S1", "word": "xyzzy"}, {"column": "q1"},
        {"column": "S9"}, {"column": "S1", "row": 99}, {"column": "S1", "text": "{a|the} dog"},
    ):  # fmt: skip
        asked.append((cells.index("gla"), "api/memory", {**there, **badly}))
    answers = asked_engine(lenses, asked, wasm=True)
    assert wrong(lenses, asked, answers) == []
    columns = [one["gives"]["columns"] for one in answers if "columns" in one.get("gives", {})]
    assert {len(some) for some in columns} >= {0, 4}  # of vectors, and of two layers
    told = [one["gives"] for one in answers if "norm" in one.get("gives", {})]
    assert (
        {bool(one["asked"]) for one in told} == {bool(one["rank"]) for one in told} == {True, False}
    )
    assert sum("refuses" in one for one in answers[-6:]) == 6


@pytest.mark.release
@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("cell", LINEAR)
def test_more_readings_of_linear_memories_are_those_of_python(cell, tmp_path):
    lens = of_linear(tmp_path, cell)
    chance = Chance(lens, seed=1)
    asked = [(0, *chance.question()) for _ in range(2 * QUESTIONS)]
    assert wrong([lens], asked, asked_engine([lens], asked, wasm=True)) == []


@pytest.mark.slow
def test_what_is_too_large_and_what_follows_two_texts():
    """An edit beyond numbers is refused for what it is; after a pair any text is read again."""
    lenses = [opened(run_at(name)) for name in ("brackets", "waves")]
    grids: list[tuple[int, str, Any]] = [
        (0, "api/grid", {"text": "( [ ]", "edits": [edit]})
        for edit in ("h1@2=1e30", "c1@2=1e38", "x@2=1e37", "c1@2*1e38", "h1@2=2")
    ]
    after = {"text": "1 2 3", "previous": "1 2 3 {4|5}", "have": 3}
    beyond = {"text": "1 2 3", "first": 9, "labels": [lenses[1].labels[0]]}
    asked = [*grids, (1, "api/grid", after), (1, "api/follow", beyond)]
    answers = asked_engine(lenses, asked, wasm=True)
    right = [asked_python(lenses[k], path, question) for k, path, question in asked]
    assert [apart(*both) for both in zip(answers, right, strict=True)] == [""] * len(asked)
    assert "make the edit smaller" in answers[0]["refuses"]
    assert len(answers[5]["gives"]["rows"]) == 3
    assert answers[6]["gives"]["rows"] == []


@pytest.mark.release
def test_samples_are_pythons_also_of_a_file_in_half_precision():
    """The noise is the same to the last bit but one, so that other words are drawn only where two
    are as good for all that rounding tells; here, in half precision, nowhere.
    """
    lens = opened(run_at("english-news"))
    texts = ("we stand in solidarity", "the keys to the cabinet", "yesterday she")
    asked = [
        (0, "api/continue", {"text": text, "words": 12, "samples": 5, "seed": seed, "edits": edits})
        for text in texts
        for seed in (0, 1, 2**32 - 1)
        for edits in ([], ["c2@2=0"])
    ]
    words = [
        (0, "api/written", {"text": text, "column": "y", "row": 2, "stand_in": name, "seed": 3})
        for text in texts[:2]
        for name in ("tag", "model", "unknown", "left_out")
    ]
    every = asked_engine([lens], [*asked, *words], wasm=True)
    answers, found = every[: len(asked)], every[len(asked) :]
    for answer, (_, path, question) in zip(found, words, strict=True):  # words that stand in
        given, expected = answer["gives"], asked_python(lens, path, question)["gives"]
        assert given["drawn"] == expected["drawn"]
        assert given["without"] == pytest.approx(expected["without"], abs=0.02)
        if expected["low"]:
            assert given["low"] == pytest.approx(expected["low"], abs=0.03)
    right = [asked_python(lens, path, question) for _, path, question in asked]
    same = [a == b for mine, ours in zip(answers, right, strict=True)
            for name in ("samples", "samples_before")
            for a, b in zip(mine["gives"][name], ours["gives"][name], strict=True)]  # fmt: skip
    assert len(same) == 2 * 5 * len(asked)
    assert all(same)
    assert all("UNK" not in words for a in answers for words in a["gives"]["samples"])


@pytest.mark.slow
def test_a_file_holds_one_run(formula):
    there = {"text": "the dog"}
    asked = [
        (0, "api/grid", {**there, "run": "other"}),
        (0, "api/turns", {**there, "beside": "it's"}),
    ]
    refused = [answer["refuses"] for answer in asked_engine([formula], asked, wasm=False)]
    assert refused == [
        "no run is called 'other'; there is formula",
        'no run is called "it\'s"; there is formula',
    ]
    both = {**there, "beside": "formula"}  # itself
    (answer,) = asked_engine([formula], [(0, "api/grid", both)], wasm=False)
    grid = grid_json(formula, "the dog", beside=formula)
    assert apart(answer["gives"], json.loads(json.dumps(grid))) == ""
