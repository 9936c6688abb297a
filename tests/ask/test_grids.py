"""The Grid JSON: its columns, its edges, and one whole grid as it must be."""

import json
import os
from pathlib import Path

import pytest
import torch
from pydantic import TypeAdapter
from tests.asks import grid_json
from tests.letters import LanguageModel

from rnnlens.adapter import Adapter
from rnnlens.ask.grids import edge_names
from rnnlens.ask.json_types import Grid
from rnnlens.model.cells.classic import GRU, LSTM
from rnnlens.model.kinds import Kind, Place, drawn, placed, prediction
from rnnlens.reading.subject import columns_of

GOLDEN = Path(__file__).parents[1] / "golden" / "grid.json"
TEXT = '`` the old dog sees 3 zyzzyva <b> "'


def ids(lens):
    return [column["id"] for column in grid_json(lens, "the dog")["columns"]]


def as_json(lens, text=TEXT, **options):
    return json.loads(json.dumps(grid_json(lens, text, **options), allow_nan=False))


def assert_alike(ours, theirs, where="grid"):
    """Equal, numbers to 1e-4 and colours to one step of a channel."""
    if isinstance(theirs, dict):
        assert list(ours) == list(theirs), where
        for key in theirs:
            assert_alike(ours[key], theirs[key], f"{where}.{key}")
    elif isinstance(theirs, list):
        assert len(ours) == len(theirs), where
        for k, pair in enumerate(zip(ours, theirs, strict=True)):
            assert_alike(*pair, f"{where}[{k}]")
    elif isinstance(theirs, float):
        assert ours == pytest.approx(theirs, rel=1e-4, abs=1e-4), where
    elif where.endswith(".colour"):
        channels = [[int(c[k : k + 2], 16) for k in (1, 3, 5)] for c in (ours, theirs)]
        assert max(abs(a - b) for a, b in zip(*channels, strict=True)) <= 1, where
    else:
        assert ours == theirs, where


def test_columns_run_from_input_to_output(formula, formulas):
    layer = "f{0} i{0} o{0} g{0} c{0}@-1 l{0} s{0} c{0} h{0}"
    assert ids(formula) == ["x", *layer.format(1).split(), *layer.format(2).split(), "y"]
    gru = "r1 z1 n1 k1 w1 h1 r2 z2 n2 k2 w2 h2"
    assert ids(formulas["gru"]) == ["x", *gru.split(), "y"]
    assert ids(formulas["rnn"]) == ["x", "h1", "h2", "y"]
    assert ids(formulas["bare"]) == ["y"]


def test_gates_and_candidates_are_shown_when_asked_for(formula, formulas):
    def aside(lens):
        return {c["id"] for c in grid_json(lens, "a")["columns"] if not c["shown"]}

    again = {"c1@-1", "c2@-1"}  # which the row above shows already
    assert aside(formula) == {"f1", "i1", "o1", "g1", "f2", "i2", "o2", "g2"} | again
    assert aside(formulas["gru"]) == {"r1", "z1", "n1", "r2", "z2", "n2"}
    assert aside(formulas["rnn"]) == set()


def test_layers_number_the_columns(formula):
    layers = {c["id"]: c["layer"] for c in grid_json(formula, "a")["columns"]}
    assert (layers["x"], layers["c1@-1"], layers["h2"], layers["y"]) == (0, 1, 2, 3)


def test_the_previous_cell_is_named_as_such(formula):
    found = next(c for c in grid_json(formula, "a")["columns"] if c["id"] == "c2@-1")
    assert (found["kind"], found["back"], found["name"]) == ("c2", 1, "previous cell")
    assert found["symbol"] == "c"


def test_edges_say_what_feeds_what(formula, formulas):
    edges = grid_json(formula, "a")["edges"]
    assert ("x", "f1") in edges
    assert ("h1@-1", "f1") in edges
    assert ("c1@-1", "l1") in edges
    assert ("h1", "g2") in edges
    assert ("l2", "c2") in edges
    assert ("h2", "y") in edges
    columns = set(ids(formula))
    assert {target for _, target in edges} == columns - {"x", "c1@-1", "c2@-1"}
    assert {source.split("@")[0] for source, _ in edges} <= columns
    assert grid_json(formulas["bare"], "a")["edges"] == []


def both_ways(layers=1, without=()):
    """The columns and edges of an LSTM that reads in both directions."""
    adapter = Adapter(LanguageModel(bidirectional=True, num_layers=layers))
    adapter.trace(torch.ones(2, 3, dtype=torch.long))
    probed = [kind.id for kind in adapter.kinds if kind.id not in without]
    kinds = drawn(adapter.kinds, probed)
    columns = columns_of(kinds, prediction(kinds), probed)
    return [c.id for c in columns], edge_names(columns)


def test_a_reverse_layer_has_no_column_for_what_it_has_yet_to_read():
    layer = "f{0} i{0} o{0} g{0} c{0}@-1 l{0} s{0} c{0} h{0}"
    back = "f{0}< i{0}< o{0}< g{0}< l{0}< s{0}< c{0}< h{0}<"
    expected = f"{layer} {back}"
    columns, _ = both_ways(2)
    assert columns == ["x", *expected.format(1).split(), *expected.format(2).split(), "j2", "y"]


def test_a_reverse_layer_comes_from_the_row_below():
    _, edges = both_ways(2)
    for gate in "f1< i1< o1< g1<".split():
        assert ("h1<@+1", gate) in edges
        assert ("x", gate) in edges
    assert ("c1<@+1", "l1<") in edges
    assert ("c1@-1", "l1") in edges
    assert ("h1@-1", "f1") in edges
    assert not [edge for edge in edges if edge[0].endswith("<@-1") or edge[0] == "h1@+1"]
    assert {("h1", "f2<"), ("h1<", "f2"), ("h1", "g2"), ("h1<", "g2<")} <= set(edges)
    assert [source for source, target in edges if target == "j2"] == ["h2", "h2<"]
    assert [source for source, target in edges if target == "y"] == ["j2"]
    _, edges = both_ways(2, without=("j2",))  # fitted before there was such a kind
    assert [source for source, target in edges if target == "y"] == ["h2", "h2<"]


def test_a_kind_without_a_column_feeds_nothing():
    columns, edges = both_ways(without=("c1", "h1<", "j1"))
    assert "c1@-1" not in columns
    named = {source.split("@")[0] for source, _ in edges} | {target for _, target in edges}
    assert not named & {"c1", "h1<"}
    assert [source for source, target in edges if target == "y"] == ["h1"]


def test_perplexities_are_those_of_the_evaluation(formula):
    columns = {c["id"]: c["perplexity"] for c in grid_json(formula, "a")["columns"]}
    assert (columns["x"], columns["f1"], columns["y"]) == (20.0, 19.0, 9.5)
    assert columns["c1@-1"] == columns["c1"]
    assert grid_json(formula, "a", semantic="input")["columns"][0]["perplexity"] is None


def test_words_say_what_the_network_takes_them_for(formula):
    words = grid_json(formula, "The dog sees 3 zyzzyva")["words"]
    assert [word["text"] for word in words] == ["The", "dog", "sees", "3", "zyzzyva"]
    assert [word["label"] for word in words] == ["the", "dog", "sees", "NUM", "UNK"]
    assert [word["unknown"] for word in words] == [False, False, False, False, True]
    assert [word["group"] for word in words] == ["FUNCTION", "NOUN", "VERB", "OTHER", "OTHER"]


def test_every_label_named_has_its_group(formula):
    grid = grid_json(formula, TEXT)
    states = [state for row in grid["rows"] for state in row]
    named = {label for state in states for label, _ in state["top"]}
    named |= {state["wanted"][0] for state in states if state["wanted"]}
    assert set(grid["labels"]) == named
    assert set(grid["labels"].values()) <= set(grid["groups"])


def test_what_no_word_was_read_into_is_marked(formula, formulas):
    for lens in (formula, formulas["gru"]):
        grid = grid_json(lens, TEXT)
        for row, states in enumerate(grid["rows"]):
            for column, state in zip(grid["columns"], states, strict=True):
                assert state["unread"] is (row == 0 and column["back"] == 1)
    part = grid_json(formula, TEXT, previous=TEXT, have=2, limit=1)
    assert not any(state["unread"] for state in part["rows"][0])
    assert formula(TEXT)["c2@-1"][0].unread
    assert not formula(TEXT)["c2@-1"][1].unread


def test_the_golden_grid(formula):
    """The one grid that Python and JavaScript both assert; RNNLENS_GOLDEN=1 writes it anew."""
    made = as_json(formula)
    if os.environ.get("RNNLENS_GOLDEN"):
        rows = ",\n".join(json.dumps(row, ensure_ascii=False) for row in made["rows"])
        head = json.dumps({**made, "rows": []}, ensure_ascii=False).removesuffix("[]}")
        GOLDEN.write_text(f"{head}[\n{rows}\n]}}\n", encoding="utf-8")
    assert_alike(made, json.loads(GOLDEN.read_text(encoding="utf-8")))


def test_the_published_schema_is_that_of_the_grid(formula, formulas):
    for lens in (formula, *formulas.values()):
        for text in ("", "the dog sees"):
            made = as_json(lens, text)
            TypeAdapter(Grid).validate_python(made)
            assert set(made) == {*Grid.__annotations__}


@pytest.mark.parametrize("cell", [LSTM, GRU])
def test_gates_and_candidates_are_set_aside(cell):
    place = Place(2, ("encoder.h1",), "encoder", reverse=True)
    aside = {kind.id for kind in (placed(kind, place) for kind in cell.kinds) if kind.gate}
    assert aside == {f"encoder.{letter}2<" for letter in ("fiog" if cell is LSTM else "rzn")}
    assert not Kind("f", "f", "f", "output of f", (), 1).gate
