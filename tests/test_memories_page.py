"""docs/memories.md, its picture and the tables of docs/results.md have the numbers of
docs/memories.json, and what is told of them is so.
"""

import json
import re
import xml.etree.ElementTree as ET
from itertools import takewhile

import numpy as np
import pytest
from scripts.memories.picture import draw, mean_of
from scripts.memories.summary import ROLES, roles
from tests.shown import ROOT

from rnnlens.model.network_config import WRITTEN

DOCS = ROOT / "docs"
PAGE, RESULTS = ((DOCS / name).read_text("utf-8") for name in ("memories.md", "results.md"))
CELLS = json.loads((DOCS / "memories.json").read_text("utf-8"))
NAMED = {WRITTEN.get(cell, cell.upper()): cell for cell in CELLS} | {"Elman": "rnn"}
OF_LANGUAGE = {cell: told for cell, told in CELLS.items() if "layers" in told}
SEEDS = {1: "one", 2: "two", 3: "three"}


def table(page, head):
    """The rows of the table whose heads begin so."""
    lines = takewhile(lambda line: line.startswith("|"), page[page.index(head) :].splitlines())
    return [[said.strip() for said in line.strip("|").split("|")] for line in lines][2:]


def ends(said):
    """The least and the most of what is told of some networks."""
    values = [float(value) for value in re.findall(r"-?\d*\.?\d+", said)]
    return [min(values), max(values)]


def of(cell, role, what="over", layer=-1):
    return OF_LANGUAGE[cell]["layers"][layer].get(role, {}).get(what)


def values(role, what="over"):
    """Of the last layer of every cell."""
    found = {cell: of(cell, role, what) for cell in OF_LANGUAGE}
    return {cell: value for cell, value in found.items() if value is not None}


def told(*parts):
    """Whether the page says this, whatever lines it is broken into."""
    return " ".join(parts) in " ".join(PAGE.split())


def test_perplexities_are_those_of_the_results():
    rows = table(RESULTS, "| cell | layers | weights")
    assert {NAMED[row[0]] for row in rows} == OF_LANGUAGE.keys()
    lstm = mean_of(CELLS["lstm"])
    for row in rows:
        cell = CELLS[NAMED[row[0]]]
        assert [float(v) for v in row[3].split(", ")] == cell["test"]
        assert float(row[4]) == pytest.approx(mean_of(cell) / lstm, abs=0.0051)
        assert int(row[1]) == len(cell["layers"])


def test_kinds_are_those_of_the_results():
    rows = table(RESULTS, "| | embedding | decay | written")
    shown = ("embedding", "decay", "written", "kept", "memory", "read", "sum", "output")
    assert len(rows) == sum(len(cell["layers"]) for cell in OF_LANGUAGE.values())
    cell, number = "", 0
    for row in rows:
        name = re.match(r"([\w-]+)(?: \(.+\))?, (?:layer )?1", row[0])
        cell, number = (NAMED[name[1]], 1) if name else (cell, number + 1)
        layer = OF_LANGUAGE[cell]["layers"][number - 1]
        for role, said in zip(shown, row[1:], strict=True):
            found = re.fullmatch(r"(?:[cfSls] )?(\d*\.\d+)(?: \((-?\.\d+)\))?", said)
            assert (role in layer) == bool(found), (row, role)
            if found:
                assert layer[role]["over"] == float(found[1])
                assert layer[role]["kind"] == roles(cell, number)[role]
                assert layer[role].get("used") == (float(found[2]) if found[2] else None)


def test_half_lives_and_shares_are_those_of_the_results():
    rows = table(RESULTS, "| | half-life in words")
    assert len(rows) == len(OF_LANGUAGE)
    for row in rows:
        layers = CELLS[NAMED[row[0].split()[0]]]["layers"]
        lives = row[1].split("; ")
        assert len(lives) == len(layers)
        for layer, said in zip(layers, lives, strict=True):
            lasts = layer["lasts"]
            edges = [ends(one) for one in said.split(", ")]
            assert edges == [lasts["low"], lasts["median"], lasts["high"]]
        for what, said in zip(("decayed", "erased", "written"), row[2:], strict=True):
            every = [end for layer in layers for end in layer["lasts"][what]]
            assert ends(said if said != "-" else "0") == [min(every), max(every)]


def test_tasks_are_those_of_the_results():
    rows = table(RESULTS, "| | parity | products in S₃ | recall of a pair")
    assert rows[0][0] == "chance"
    assert {NAMED[row[0]] for row in rows[1:]} == CELLS.keys()
    for row in rows[1:]:
        for task, said in zip(("parity", "products", "recall", "brackets"), row[1:], strict=True):
            assert ends(said.split("; ")[1].replace("⁴", "")) == CELLS[NAMED[row[0]]]["tasks"][task]


def test_the_pages_own_tables_are_those_of_the_results():
    heads, line = table(PAGE, "| LSTM | minLSTM")[0], PAGE[PAGE.index("| LSTM | minLSTM") :]
    cells = [NAMED[name.strip()] for name in line.splitlines()[0].strip("|").split("|")]
    for cell, said in zip(cells, heads, strict=True):
        assert float(said) == pytest.approx(mean_of(CELLS[cell]) / mean_of(CELLS["lstm"]), abs=6e-3)
    rows = table(PAGE, "| last layer | decay")
    assert len(rows) == len(OF_LANGUAGE)
    for row in rows:
        parts = zip(("decay", "written", "kept", "memory", "output"), row[1:], strict=True)
        for role, said in parts:
            numbers = [float(v) for v in re.findall(r"-?\d*\.\d+", said)]
            cell = NAMED[row[0]]
            wanted = [of(cell, role), of(cell, role, "used")]
            assert numbers == [v for v in wanted if v is not None], (row, role)


def test_how_many_networks_were_asked_is_told():
    by_count = {count: {c for c, one in OF_LANGUAGE.items() if one["seeds"] == count}
                for count in SEEDS}  # fmt: skip
    assert by_count[3] == {"lstm", "minlstm"}
    assert by_count[2] == {"slstm", "mingru", "gla"}
    assert told("three seeds of LSTM and minLSTM, two of sLSTM, minGRU and GLA, one of the others")
    assert all(len(one["test"]) == 3 for one in OF_LANGUAGE.values())
    unused = {cell for cell in OF_LANGUAGE if of(cell, "output", "used") is None}
    assert unused == {"deltanet", "gla", "rglru", "mamba", "mlstm", "rwkv7"}
    assert told("DeltaNet, GLA, RG-LRU, Mamba, mLSTM and RWKV-7")


def test_what_the_page_tells_of_parts():
    decay, kept, memory = (values(role) for role in ("decay", "kept", "memory"))
    used = values("decay", "used")
    assert (decay["lstm"], used["lstm"]) == (1.12, 0.07)
    assert [decay["mingru"], decay["minlstm"]] == [1.05, 1.07]
    assert max(used["mingru"], used["minlstm"]) < 0
    of_heads = [decay[cell] for cell in ("mamba2", "mlstm", "deltanet")]
    assert [min(of_heads), max(of_heads)] == [4.11, 4.94]
    assert told("there is little to read (4.1 to 4.9)")
    others = [memory[cell] for cell in ("slstm", "mingru", "minlstm", "mamba2")]
    assert [min(others), max(others)] == [1.12, 1.45]
    assert all(0.4 < values("memory", "used")[c] < 0.6 for c in ("slstm", "mingru", "minlstm"))
    assert told("are at 1.12 to 1.45, used by half")
    assert [memory["gla"], memory["rwkv7"]] == [1.02, 1.07]
    assert [min(kept.values()), max(kept.values())] == [1.67, 3.10]
    assert told("little of the next word everywhere* (1.67 to 3.10)")
    for cell in OF_LANGUAGE:  # the picture's alternative text
        worst = max(of(cell, role) for role in ROLES if of(cell, role) and role != "decay")
        assert worst == kept[cell], cell


def test_what_the_page_tells_of_how_long_memories_last():
    def median(cell):
        every = [layer["lasts"]["median"] for layer in CELLS[cell]["layers"]]
        return [min(low for low, _ in every), max(high for _, high in every)]

    assert median("lstm")[1] <= 0.5
    assert told("half of the LSTM's units lose half of what they hold within half a word")
    wanted = {"mingru": (1.5, 4), "mamba": (5.9, 7), "rwkv7": (4.6, 10), "rglru": (7.9, 96)}
    for cell, (low, high) in wanted.items():
        assert low <= median(cell)[0] <= median(cell)[1] <= high, cell
    assert CELLS["gla"]["layers"][1]["lasts"]["median"] == [30, 45]
    taken = {cell: [layer["lasts"] for layer in one["layers"]] for cell, one in OF_LANGUAGE.items()}
    for cell, lasts in taken.items():
        erased, decayed = ([end for one in lasts for end in one[what]]
                           for what in ("erased", "decayed"))  # fmt: skip
        if cell in ("deltanet", "rwkv7"):
            assert min(erased) > max(decayed)
        else:
            assert not any(erased)
            assert 0.01 <= min(decayed) <= max(decayed) <= 0.36


def test_what_the_page_tells_of_tasks():
    for row in table(PAGE, "| | parity | products of permutations")[1:]:
        cells = [NAMED[name] for name in row[0].split(", ")]
        for task, said in zip(("parity", "products", "recall"), row[1:], strict=True):
            groups = said.split(", ")
            if len(groups) != len(cells):  # all alike, or every network of one cell
                groups = [said] * len(cells)
            for cell, group in zip(cells, groups, strict=True):
                assert ends(group) == CELLS[cell]["tasks"][task], (cell, task)


def test_the_picture_is_of_these_numbers(tmp_path):
    draw(CELLS, tmp_path / "memories.svg")
    made, there = (ET.parse(folder / "memories.svg") for folder in (tmp_path, DOCS))
    texts = [["".join(one.itertext()) for one in tree.iter("{http://www.w3.org/2000/svg}text")]
             for tree in (made, there)]  # fmt: skip
    assert texts[0] == texts[1], "run: python -m scripts.memories.picture"
    assert {WRITTEN.get(cell, cell.upper()) for cell in OF_LANGUAGE} <= {*texts[1]}
    places = [
        [float(v) for use in tree.iter("{http://www.w3.org/2000/svg}use")
         for v in (use.get("x", 0), use.get("y", 0))]
        for tree in (made, there)
    ]  # fmt: skip
    np.testing.assert_allclose(places[0], places[1], atol=0.5)
