"""The lens: what a run says of a sentence, whole and in increments."""

import json
import shutil
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.alike import alike
from tests.asks import grid_json, grid_parts
from tests.models import fresh

from rnnlens.base.errors import RnnlensError
from rnnlens.lens.lens import Lens
from rnnlens.lens.open import opened
from rnnlens.probe.semantics import offset
from rnnlens.reading.reading import LONGEST, LONGEST_TEXT
from rnnlens.reading.subject import Subject
from rnnlens.run.folder import Run

WORDS = ["the", "dog", "sees", "she", ".", "zyzzyva", "3", "<b>"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["formula", "linear", "gru", "rnn"])
def test_states_are_what_the_probes_say(formula, formulas, name):
    lens = formula if name == "formula" else formulas[name]
    text = "the dog sees zyzzyva ."
    ids = lens.subject.session.vocabulary.encode(text.split())
    trace = lens.subject.model.trace(torch.tensor(ids)[:, None])
    for semantic in lens.semantics:
        grid = grid_json(lens, text, semantic)
        for t, row in enumerate(grid["rows"]):
            for column, state in zip(grid["columns"], row, strict=True):
                kind, at = column["kind"], t - column["back"]
                if kind == "y":
                    logits = trace.logits[at, 0]
                else:
                    values = trace.states[kind]
                    vector = values[at, 0] if at >= 0 else torch.zeros(values.shape[2])
                    logits = lens.subject.probes.logits(kind, vector, semantic)
                p = logits.double().softmax(0)
                order = p.argsort(descending=True)[:20].tolist()
                assert [label for label, _ in state["top"]] == [
                    lens.subject.session.vocabulary.labels[k] for k in order
                ]
                assert [q for _, q in state["top"]] == pytest.approx(
                    p[order].tolist(), rel=1e-4, abs=1e-7
                )
                when = at + (1 if kind == "y" else offset(semantic))
                if 0 <= when < len(ids):
                    label, probability, rank = state["wanted"]
                    assert label == lens.subject.session.vocabulary.labels[ids[when]]
                    assert probability == pytest.approx(float(p[ids[when]]), rel=1e-4)
                    assert rank == 1 + int((p > p[ids[when]]).sum())
                else:
                    assert state["wanted"] is None


def test_the_previous_cell_is_the_cell_of_the_row_above(formula):
    grid = grid_json(formula, "the dog sees")
    ids = [column["id"] for column in grid["columns"]]
    for cell in ("c1", "c2"):
        for t in (1, 2):
            assert grid["rows"][t][ids.index(f"{cell}@-1")] == grid["rows"][t - 1][ids.index(cell)]
    assert grid["rows"][0][ids.index("c1@-1")]["wanted"][0] == "the"


def test_y_is_asked_about_the_next_word_under_every_semantic(formula):
    for semantic in formula.semantics:
        grid = grid_json(formula, "the dog sees", semantic)
        wanted = [row[-1]["wanted"] for row in grid["rows"]]
        assert [w and w[0] for w in wanted] == ["dog", "sees", None]


def test_without_probes_only_the_models_own_prediction_is_drawn(formulas):
    grid = grid_json(formulas["bare"], "the dog")
    assert [len(row) for row in grid["rows"]] == [1, 1]
    assert (grid["semantics"], grid["semantic"]) == ([], "output")


texts = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(st.tuples(texts, st.integers(1, 6)), min_size=1, max_size=6), st.data())
def test_increments_give_the_whole_grid(formula, formulas, edits, data):
    """Whatever was typed before: keeping rows before `from` and appending gives the grid."""
    lens = data.draw(st.sampled_from([formula, *formulas.values()]))
    semantic = data.draw(st.sampled_from(lens.semantics or ("output",)))
    held: list[list[dict[str, Any]]] = []
    previous = ""
    for text, limit in edits:
        asks = 0
        while True:
            part = grid_json(lens, text, semantic, None, previous, len(held), limit)
            assert part["from"] <= len(held)
            assert len(part["rows"]) <= limit
            held, previous = held[: part["from"]] + part["rows"], text
            asks += 1
            if len(held) >= len(part["words"]):
                break
            assert part["rows"], "no progress"
        whole = grid_json(lens, text, semantic)
        assert whole["from"] == 0
        alike(held, whole["rows"])
        assert asks <= len(part["words"]) // limit + 2


def test_one_more_word_computes_one_row_and_sends_two(formula):
    session = fresh(formula)
    lens, memory = (
        Lens(Subject("again", session, formula.palettes, formula.subject.probes)),
        session.memory,
    )
    text = " ".join(["the dog sees ."] * 50)
    grid_json(lens, text)
    read, computed = memory.steps, lens.subject.recent.computed
    part = grid_json(lens, f"{text} she", previous=text, have=200)
    assert (part["from"], len(part["rows"])) == (199, 2)  # the row before wants another word now
    assert (memory.steps - read, lens.subject.recent.computed - computed) == (1, 1)


def test_an_edit_in_the_middle_sends_only_what_follows(formula):
    previous, text = "the dog sees the bird .", "the dog said the bird ."
    part = grid_json(formula, text, previous=previous, have=6)
    assert (part["from"], len(part["rows"])) == (1, 5)
    assert grid_json(formula, text, "output+1", None, previous, 6)["from"] == 0
    assert grid_json(formula, text, "input", None, previous, 6)["from"] == 1


@pytest.mark.parametrize(
    ("text", "have", "first"),
    [("the dog", 2, 2), ("the dog", 1, 1), ("the dog", 99, 2), ("the", 2, 0), ("", 2, 0)],
)
def test_what_is_at_hand_is_not_sent(formula, text, have, first):
    part = grid_json(formula, text, previous="the dog", have=have)
    assert part["from"] == first
    assert len(part["rows"]) == len(part["words"]) - first


def test_another_unknown_word_changes_no_row(formula):
    part = grid_json(formula, "the blarg sees", previous="the zyzzyva sees", have=3)
    assert part["rows"] == []
    assert part["words"][1]["text"] == "blarg"


@pytest.mark.parametrize(
    "text",
    ["", " ", "a", "\x00\x07", "😀 \u202eشكرا", "a\tb\nc", "<img src=x onerror=alert(1)>", "\"'\\"],
)
def test_odd_text_is_drawn(formula, text):
    grid = grid_json(formula, text)
    assert len(grid["rows"]) == len(grid["words"])
    assert json.loads(json.dumps(grid))["text"] == text


@pytest.mark.slow
def test_the_longest_text_is_drawn_and_a_longer_one_refused(formulas):
    lens = formulas["rnn"]
    assert len(grid_json(lens, "the " * LONGEST)["rows"]) == LONGEST
    with pytest.raises(RnnlensError, match=f"2,001 words are too many; give at most {LONGEST:,}"):
        grid_json(lens, "the " * (LONGEST + 1))
    with pytest.raises(RnnlensError, match="20,001 characters are too many"):
        lens("x" * (LONGEST_TEXT + 1))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"semantic": "output+9"}, "has no probes for the semantic 'output\\+9'; it has output"),
        ({"palette": "pink"}, "has no palette 'pink'; it has classes, coarse, universal"),
    ],
)
def test_what_a_run_does_not_have_is_said(formula, options, said):
    with pytest.raises(RnnlensError, match=said):
        grid_json(formula, "a", **options)


def test_examples_are_sentences_the_vocabulary_knows(formula):
    assert formula.examples() == ["the dogs near the old house see a bird ."]  # the best of them


def test_pieces_may_be_computed_elsewhere(formula, monkeypatch):
    monkeypatch.setattr("rnnlens.reading.rows._FEW", 0)  # else they are too few for that
    calls = []

    def backwards(work, numbers):
        calls.append(list(numbers))
        return [work(k) for k in reversed(calls[-1])][::-1]

    lens = Lens(Subject("again", fresh(formula), formula.palettes, formula.subject.probes))
    lens.subject.parallel = backwards
    alike(grid_json(lens, "the dog sees .")["rows"], grid_json(formula, "the dog sees .")["rows"])
    assert len(calls[0]) > 1


@pytest.mark.parametrize("name", ["evaluation.json", "colours.json"])
def test_a_damaged_file_is_one_clear_line(formula, tmp_path, trained_run, name):
    copy = shutil.copytree(trained_run, tmp_path / "copy")
    (copy / name).write_text('{"model": {"test": {}}, "groupings": 3}')
    with pytest.raises(RnnlensError, match=name) as problem:
        opened(Run(copy))
    assert "\n" not in str(problem.value)


def test_an_own_grouping_is_the_default(trained_run, tmp_path):
    path = tmp_path / "mine.json"
    path.write_text('{"colours": {"ANIMAL": "#123456"}, "groups": {"dog": "ANIMAL"}}')
    grid = grid_json(opened(Run(trained_run), path), "the dog")
    assert (grid["palette"], grid["palettes"][0]) == ("own", "own")
    assert grid["words"][1]["group"] == "ANIMAL"


def test_a_vocabulary_of_another_model_is_refused(run_copy):
    run = Run(run_copy)
    vocabulary = run.vocabulary()
    more = replace(vocabulary, labels=(*vocabulary.labels, "new"), counts=(*vocabulary.counts, 1))
    run.write_vocabulary(more)
    with pytest.raises(RnnlensError, match="restore both"):
        opened(run)


def test_shares_are_of_the_top_labels(formula):
    grid = grid_json(formula, "the dog sees she said .")
    shares = np.array([state["share"] for row in grid["rows"] for state in row])
    assert ((shares > 0) & (shares <= 1)).all()
    assert len(set(shares.tolist())) > 10


def test_rows_that_nobody_waits_for_come_in_brief_steps(formula):
    text = "the dog " * 20
    rows = [len(part["rows"]) for part, _ in grid_parts(formula, text)]
    assert rows == [24, 16]
    rows = [len(part["rows"]) for part, _ in grid_parts(formula, text, previous=text, have=10)]
    assert rows == [8, 8, 8, 6]
