"""What if a state were another: the text of an edit, what it does, and what it refuses."""

import contextlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.ask import naive
from tests.asks import grid_json, reading
from tests.fixtures import WORDS, formula_probes, wave

from rnnlens.ask.continuation import continuation
from rnnlens.base.errors import RnnlensError
from rnnlens.corpus.vocabulary import Vocabulary
from rnnlens.model.network import Network, NetworkConfig
from rnnlens.model.text import TextSide
from rnnlens.reading.changes import TextEdits
from rnnlens.reading.edits import Address, Edit
from rnnlens.reading.session import Session

TEXT = "the old dog sees a bird ."
LABELS = tuple(WORDS)
WAYS = ("set", "zero", "scale", "freeze", "swap", "push", "away", "vector")
GOLDEN = Path(__file__).parents[1] / "golden/edits.json"  # the page's parser reads it, too
CASES = json.loads(GOLDEN.read_text(encoding="utf-8"))


def written(case: dict[str, Any]) -> dict[str, Any]:
    """What an edit of the table of cases is, or why it is none."""
    try:
        edit = Edit.parse(case["text"])
    except RnnlensError as error:
        return {"refused": str(error)}
    swap = [edit.swap.step, edit.swap.text] if isinstance(edit.swap, Address) else None
    values: dict[str, Any] = {"units": edit.units and list(edit.units), "scale": edit.scale}
    values |= {"swap": swap, "set": list(edit.set) if isinstance(edit.set, tuple) else edit.set}
    if edit.label is not None:
        values |= {"label": edit.label, "strength": edit.strength}
    means = {"edit": str(edit), "kind": edit.kind, "row": edit.step + 1, "side": edit.side}
    return means | {name: value for name, value in values.items() if value is not None}


@pytest.mark.parametrize("case", CASES, ids=[case["text"][:40] for case in CASES])
def test_the_notation_is_that_of_the_table(case):
    assert {"text": case["text"], **written(case)} == case
    if "edit" in case:
        assert str(Edit.parse(case["edit"])) == case["edit"]


def test_an_edit_of_one_of_two_readings():
    assert str(Edit("l2", 3, zero=True, side="second")) == "l2@2:4=0"
    assert Edit("l2", 3, zero=True, side="second") != Edit("l2", 3, zero=True)
    with pytest.raises(RnnlensError, match="side of an edit of l2 is 'third'; give one of both"):
        Edit("l2", 3, zero=True, side="third")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "edit"),
    [
        ("l2@4=0", Edit("l2", 3, zero=True)),
        ("l2@4=0.5", Edit("l2", 3, set=0.5)),
        ("l2@4=-1,2.5", Edit("l2", 3, set=[-1, 2.5])),
        ("l2@4*0.5", Edit("l2", 3, scale=0.5)),
        ("encoder.h1<@12=freeze", Edit("encoder.h1<", 11, freeze=True)),
        ("l2@4+said", Edit("l2", 3, push="said")),
        ("l2@4-0.25:3:00", Edit("l2", 3, away="3:00", strength=0.25)),
        ("l2@4+1e-05:said", Edit("l2", 3, push="said", strength=1e-5)),
        ("l2@4-2.5e+20:said", Edit("l2", 3, away="said", strength=2.5e20)),
        ("l2@4+0.3333333333333333:said", Edit("l2", 3, push="said", strength=1 / 3)),
        ("l2@4+12345678.25:said", Edit("l2", 3, push="said", strength=12345678.25)),
        ("l2@4=@2", Edit("l2", 3, swap=Address(1))),
        ("l2@4=@2:a = b @ 3", Edit("l2", 3, swap=Address(1, "a = b @ 3"))),
        ("l2[0,5-7]@4=0", Edit("l2", 3, zero=True, units=[0, 5, 6, 7])),
    ],
)
def test_an_edit_is_a_short_text_and_back(text, edit):
    assert Edit.parse(text) == edit
    assert Edit.parse(str(edit)) == edit
    assert Edit.parse(str(edit)).strength == edit.strength
    assert hash(Edit.parse(text)) == hash(edit)


def test_edits_that_do_otherwise_are_others():
    texts = ["l2@4=0", "l2@3=0", "c2@4=0", "l2@4*0", "l2@4+said", "l2@4-said", "l2@4+0.5:said"]
    assert len({Edit.parse(text) for text in texts}) == len(texts)
    assert Edit("l2", 3, scale=1.0000001) != Edit("l2", 3, scale=1)


@given(st.text(max_size=30))
@settings(max_examples=5 * settings().max_examples)
def test_whatever_is_typed_is_an_edit_or_one_line(text):
    with contextlib.suppress(RnnlensError):
        edit = Edit.parse(f"l2@{text}")
        assert Edit.parse(str(edit)) == edit


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "is given nothing; give one of set="),
        ({"zero": True, "scale": 0.0}, "is given zero= and scale="),
        ({"set": "much"}, "set= of an edit is 'much'; give a finite number"),
        ({"set": [0.0, float("nan")]}, "give a finite number"),
        ({"scale": [1, 2]}, "are one number each"),
        ({"push": "dog", "strength": 0}, "give one above 0"),
        ({"zero": True, "units": [-1]}, "give numbers of units, from 0"),
        ({"zero": True, "units": [False, True]}, "give numbers of units, from 0"),
        ({"zero": True, "units": "57"}, "give numbers of units, from 0"),
        ({"zero": True, "units": [1.9]}, "give numbers of units, from 0"),
        ({"set": 10**400}, "give a finite number"),
        ({"zero": True, "step": -1}, "give a word's number, from 0"),
        ({"swap": 3}, "swap= of an edit of l2 is int; give a state of a grid"),
    ],
)
def test_what_means_nothing_is_refused(given, said):
    with pytest.raises(RnnlensError, match=said):
        Edit("l2", **{"step": 0, **given})


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        ("q2@1=0", "'q2' is no kind that could be edited; there is x, f1"),
        ("y@1=0", "'y' is the model's output: nothing reads it, so it cannot be edited"),
        ("l2@8=0", "is about word 8, and the text has 7 words"),
        ("l2[4]@1=0", "l2 has 4 units, from 0; there is no unit 4"),
        ("l2[4]@1+dog", "l2 has 4 units, from 0; there is no unit 4"),
        ("l2@1=1,2", "2 numbers cannot be put in the place of 4 units of l2"),
        ("l2@1+dgo", "there is no label 'dgo'; the nearest: 'dog'"),
        ("l2@1=freeze", "before the first word that l2 reads"),
        ("l2@1=@9", "is about word 9"),
        ("l2@1=@3:the dog", "is about word 3, and 'the dog' has 2 words"),
        ("l2@1=1e38", "l2@1=1e[+]38 makes numbers that are too large .* make the edit smaller"),
        ("h2@7=-3e37", "make the edit smaller"),
        ("x@1*1e300", "make the edit smaller"),
        ("c1@2+1e38:dog", "make the edit smaller"),
        ("l2@1", "is no edit; write it like l2@4=0"),
        (3, "an edit is int; give rnnlens.Edit"),
    ],
)
def test_what_is_not_there_is_one_line(formula, edit, said):
    with pytest.raises(RnnlensError, match=said):
        formula(TEXT, edits=[edit])


def test_an_edit_that_is_too_large_is_refused_wherever_it_is_asked_about(formula):
    text, edits = "the dog", ["h2@2=1e38"]
    asked = reading(formula, text, edits=edits)
    for ask in (
        lambda: asked.logits("y", 1),
        lambda: continuation(asked, 2),
        lambda: grid_json(formula, text, edits=edits),
    ):
        with pytest.raises(RnnlensError, match="make the edit smaller"):
            ask()
    assert grid_json(formula, text, edits=["h2@2=1e20"])["rows"]


def test_states_of_other_kinds_and_widths_are_not_swapped(formula, formulas):
    grid = formula(TEXT)
    with pytest.raises(RnnlensError, match="a state of h1 cannot stand in the place of one of l2"):
        Edit("l2", 1, swap=grid["h1"][0])
    with pytest.raises(RnnlensError, match="y is a prediction and has no units"):
        grid["y"][0].vector()
    other = formula(TEXT)["x"][2]
    assert len(other.vector()) == 3
    with pytest.raises(RnnlensError, match="3 numbers cannot be put in the place of 4"):
        formulas["gru"](TEXT, edits=[Edit("h1", 1, set=other.vector())])


def made(cell: str, layers: int, seed: int) -> Network:
    """A network in float64 whose weights depend on a number."""
    config = NetworkConfig(cell, width=4, layers=layers, embedding=3)
    network = Network(config, len(LABELS)).eval().requires_grad_(False).double()
    for k, weight in enumerate(network.parameters()):
        weight.copy_(wave(tuple(weight.shape), 1.5, seed / 97 + k / 19))
    return network


def edit_of(way: str, kind: str, step: int, units: tuple[int, ...] | None) -> Edit:
    width = 3 if kind == "x" else 4
    ways: dict[str, dict[str, Any]] = {
        "set": {"set": 0.3}, "zero": {"zero": True}, "scale": {"scale": -1.5},
        "freeze": {"freeze": True}, "swap": {"swap": Address(2, "she sees dogs")},
        "push": {"push": "dog", "strength": 0.7}, "away": {"away": "dog"},
        "vector": {"set": [0.1 * k for k in range(len(units) if units else width)]},
    }  # fmt: skip
    return Edit(kind, step, units=units, **ways[way])


def expected(edit: Edit, kind: str, network: Network, session: Session, probes) -> naive.Change:
    """What the edit means, written apart."""
    chosen = list(edit.units) if edit.units else slice(None)
    row, spread = probes.rows(kind, [LABELS.index("dog")])[0][0].numpy(), probes.spreads[kind]
    pattern = np.zeros(len(row))
    pattern[chosen] = (spread.covariance.double().numpy() @ row)[chosen]
    push = pattern / np.linalg.norm(pattern) * spread.size * edit.strength

    def change(at: str, step: int, value: np.ndarray, earlier: list[np.ndarray]) -> np.ndarray:
        if (at, step) != (edit.kind, edit.step):
            return value
        value = value.copy()
        if edit.label:
            value = value + push * (1 if edit.push else -1)
            low, high = (0, 1) if at[0] in "fiorz" else (-1, 1) if at[0] in "gn" else (None, None)
            return value if low is None else np.clip(value, low, high)
        if edit.freeze:
            value[chosen] = earlier[step - 1][chosen]
        elif edit.swap:
            ids = session.vocabulary.encode(["she", "sees", "dogs"])
            value[chosen] = naive.read(network, ids, lambda _k, _s, v, _e: v)[at][2][chosen]
        elif edit.scale is not None:
            value[chosen] *= edit.scale
        else:
            value[chosen] = 0 if edit.zero else edit.set
        return value

    return change


@pytest.mark.slow
@given(
    st.sampled_from(["lstm", "gru", "rnn"]), st.integers(1, 2), st.integers(0, 50),
    st.sampled_from(WAYS), st.integers(1, 5), st.sampled_from([None, (0, 2)]), st.data(),
)  # fmt: skip
@settings(max_examples=3 * settings().max_examples)
def test_an_edited_text_is_what_a_loop_written_apart_gives(
    cell, layers, seed, way, step, units, data
):
    network = made(cell, layers, seed)
    probes = formula_probes(network, "linear", ("output",))
    session = Session(network, TextSide.of_words(Vocabulary(LABELS, (1,) * len(LABELS))))
    kind = data.draw(st.sampled_from([kind.id for kind in network.kinds]))
    edit = edit_of(way, kind, step, units)
    ids = session.vocabulary.encode(session.words(TEXT))
    edits = TextEdits.of((edit,), session, probes, ids, "output")
    trace = network.trace(session.text.batch(ids), edits=edits.state_edits())
    states = naive.read(network, ids, expected(edit, kind, network, session, probes))
    tolerance = 1e-6 if edit.label else 1e-10  # a spread is kept in single precision
    for name, values in states.items():
        np.testing.assert_allclose(
            trace.states[name][:, 0].numpy(), values, rtol=0, atol=tolerance, err_msg=name
        )


def test_an_edit_that_changes_nothing_gives_the_same_grid(formula):
    formula.subject.forget()  # what is read in parts differs in the last digit
    plain = formula(TEXT)
    for edit in ("c1@3*1", "x@2*1", "f1@7*1"):
        edited = formula(TEXT, edits=[edit])
        assert edited.json["rows"] == plain.json["rows"]
        assert not (edited - plain).values.any()
    for swap in (Edit("l2", 4, swap=plain["l2"][4]), "f1@2=@2", f"f1@2=@2:{TEXT}"):
        assert (formula(TEXT, edits=[swap]) - plain).values.max() < 1e-6


def test_a_grid_knows_its_edits_and_what_they_change(formula):
    plain, edited = formula(TEXT), formula(TEXT, edits=[Edit("c2", 2, zero=True)])
    assert [str(edit) for edit in edited.edits] == edited.json["edits"] == ["c2@3=0"]
    assert "edited c2@3=0" in repr(edited)
    assert not edited["c2"][2].vector().any()
    assert plain.json["edits"] == plain.json["changes"] == []
    change = edited - plain
    assert not change.values[:2].any()  # nothing before it
    assert change["c2"][2] > 0
    assert change["y"][6] > 0
    for step in range(len(edited)):
        for k, kind in enumerate(edited.kinds):
            told = edited.json["changes"][step][k]
            bits = edited[kind][step].divergence(plain[kind][step])
            assert told["bits"] == pytest.approx(bits, abs=1e-4)
            assert change.values[step, k] == pytest.approx(bits, abs=1e-5)
            label, was = told["before"]
            assert (label, was) == pytest.approx(tuple(plain.json["rows"][step][k]["top"][0]))
            assert told["now"] == pytest.approx(edited[kind][step].probability(label), rel=1e-3)
    moved = change.follow("dog")
    assert moved[3][edited.kinds.index("h2")] == pytest.approx(
        edited["h2"][3].probability("dog") - plain["h2"][3].probability("dog"), abs=1e-6
    )
    for step, kind, before, after in change.groups():
        assert (before, after) == (plain[kind][step].group, edited[kind][step].group)


def test_edited_rows_are_never_taken_for_others(formula):
    formula.subject.forget()
    plain = grid_json(formula, TEXT)["rows"]
    edited = grid_json(formula, TEXT, edits=["c1@2=0"])["rows"]
    assert edited != plain
    assert grid_json(formula, TEXT)["rows"] == plain
    other = grid_json(formula, TEXT, edits=["c1@2=0.5"])["rows"]
    assert other not in (plain, edited)
    assert grid_json(formula, TEXT, edits=["c1@2=0"])["rows"] == edited
    longer = grid_json(formula, TEXT + " now")["rows"]
    formula.subject.forget()
    assert grid_json(formula, TEXT + " now")["rows"] == longer


def test_only_rows_that_differ_are_sent_to_whom_has_the_others(formula):
    whole = grid_json(formula, TEXT, edits=["c1@4=0"])
    part = grid_json(formula, TEXT, previous=TEXT, have=7, edits=["c1@4=0"])
    assert (part["from"], part["rows"]) == (3, whole["rows"][3:])
    assert part["changes"] == whole["changes"][3:]
    same = grid_json(
        formula, TEXT, previous=TEXT, have=7, edits=["c1@4=0"], previous_edits=["c1@4=0"]
    )
    assert same["rows"] == []
    undone = grid_json(formula, TEXT, previous=TEXT, have=7, previous_edits=["c1@4=0"])
    plain = grid_json(formula, TEXT)["rows"][3:]
    assert [[state["top"][0][0] for state in row] for row in undone["rows"]] == [
        [state["top"][0][0] for state in row] for row in plain
    ]


def test_grids_that_have_nothing_in_common_are_not_compared(formula):
    with pytest.raises(RnnlensError, match="one of the two texts is empty"):
        formula("") - formula(TEXT)
    with pytest.raises(TypeError):
        formula(TEXT) - 1


def test_to_pandas(formula):
    pytest.importorskip("pandas")
    frame = (formula(TEXT, edits=["c2@3=0"]) - formula(TEXT)).to_pandas()
    assert len(frame) == len(TEXT.split()) * len(formula.subject.columns)
    assert frame[frame.step == 1].bits.sum() == 0
    assert frame[frame.step == 3].bits.sum() > 0
