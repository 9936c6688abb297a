"""docs/memories.md, its picture and the tables of docs/results.md have the numbers of
docs/memories.json, and what is told of them is so.
"""

import copy
import json
import math
import random
import re
import xml.etree.ElementTree as ET
from itertools import takewhile

import numpy as np
import pytest
from matplotlib import rc_context
from matplotlib.figure import Figure
from scripts.memories import picture, tables
from scripts.memories.picture import draw, main, mean_of
from scripts.memories.summary import ROLES
from scripts.memories.tables import range_of
from tests.shown import ROOT

from rnnlens.base.errors import RnnlensError
from rnnlens.model.network_config import WRITTEN

DOCS = ROOT / "docs"
PAGE, RESULTS = ((DOCS / name).read_text("utf-8") for name in ("memories.md", "results.md"))
CELLS = json.loads((DOCS / "memories.json").read_text("utf-8"))
NAMED = {WRITTEN.get(cell, cell.upper()): cell for cell in CELLS} | {"Elman": "rnn"}
OF_LANGUAGE = {cell: told for cell, told in CELLS.items() if "layers" in told}
SVG = "{http://www.w3.org/2000/svg}"


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
        assert row[3] == ", ".join(f"{value:.2f}" for value in cell["test"])
        assert row[4] == f"{mean_of(cell) / lstm:.2f}"
        assert int(row[1]) == len(cell["layers"])


def test_kinds_half_lives_and_shares_of_the_results_are_what_the_script_makes_of_them():
    for made in (tables.of_kinds(OF_LANGUAGE), tables.of_memories(OF_LANGUAGE)):
        assert "\n".join(made) in RESULTS


def test_how_far_seeds_are_apart_is_told_in_the_results():
    def most(*cells, layers=range(4), decay=False):
        return span(max(
            layer[role].get("apart", 0.0)
            for cell in cells for k, layer in enumerate(CELLS[cell]["layers"]) if k in layers
            for role in ROLES if role in layer
            and (decay or role != "decay")
        ))  # fmt: skip

    others = ("mamba", "rglru", "mlstm", "mamba2", "rwkv7", "deltanet")
    decays = span(max(layer["decay"]["apart"] for c in others for layer in CELLS[c]["layers"]))
    gla = CELLS["gla"]["layers"]
    said = " ".join(RESULTS.split())
    assert f"of sLSTM's by {most('slstm', decay=True)}, of minGRU's by {most('mingru')}," in said
    assert f"and DeltaNet's by {most(*others)} but for decays ({decays});" in said
    assert (
        f"of GLA's first and last layers by {most('gla', layers=(0, 3))}, of its second and third "
        f"by {most('gla', layers=(1, 2))}, but for decays "
        f"({span(max(layer['decay']['apart'] for layer in gla))})." in said
    )
    w3 = gla[2]["written"]
    assert f"w3 is at {span(w3['over'])} in three networks (1.437 to 1.451)" in said
    assert w3["apart"] == pytest.approx(1.451 - 1.437, abs=0.001)


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
        assert said == f"{mean_of(CELLS[cell]) / mean_of(CELLS['lstm']):.2f}"
    rows = table(PAGE, "| last layer | decay")
    assert len(rows) == len(OF_LANGUAGE)
    for row in rows:
        parts = zip(("decay", "written", "kept", "memory", "output"), row[1:], strict=True)
        for role, said in parts:
            cell = NAMED[row[0]]
            wanted = f"{span(of(cell, role))}, {span(of(cell, role, 'used'))}"
            assert said.replace("used ", "") == wanted, (row, role)


def test_what_the_page_tells_of_seeds():
    tests = [one["test"] for one in OF_LANGUAGE.values()]
    apart = [100 * (max(some) - min(some)) / float(np.mean(some)) for some in tests]
    assert told(f"Seeds of one cell differ by {span(*apart, digits=1)}%")
    ratios = sorted(mean_of(one) / mean_of(CELLS["lstm"]) for one in OF_LANGUAGE.values())
    assert told(f"the middle of this table, {span(*ratios[3:9])}, is hardly an order")


def test_what_the_page_tells_of_what_they_cannot():
    def right(task, *cells):
        return span(*(end for cell in cells for end in CELLS[cell]["tasks"][task]))

    assert told(
        f"a memory of the same size that is only scaled (mLSTM, {right('parity', 'mlstm')})"
    )
    least, most = CELLS["rwkv7"]["tasks"]["products"]
    assert told(f"({span(most - 0.01)} and {span(most)}, the third {span(least)})")
    assert told(
        f"(mLSTM and RWKV-7 {right('recall', 'mlstm', 'rwkv7')}, "
        f"DeltaNet {right('recall', 'deltanet')}, Mamba-2 {right('recall', 'mamba2')};"
    )
    assert told(f"GLA's hardly more than these, {right('recall', 'gla')})")
    assert told(f"better than chance, .13 ({right('recall', 'lstm')}, and")


def test_how_many_networks_were_asked_is_told():
    assert {one["seeds"] for one in OF_LANGUAGE.values()} == {3}
    assert {layer["lasts"]["of"] for one in OF_LANGUAGE.values() for layer in one["layers"]} == {3}
    assert all(len(one["test"]) == 3 for one in OF_LANGUAGE.values())
    assert told("(means of three networks)")
    assert told("are of three networks of each cell, what is used of one;")
    every = [layer[role] for one in OF_LANGUAGE.values() for layer in one["layers"]
             for role in ROLES if role in layer]  # fmt: skip
    assert all("used" in part for part in every)


def listed(part, *cells):
    """What some cells have, as the page writes it."""
    *most, last = (span(part[cell]) for cell in cells)
    return f"{', '.join(most)} and {last}"


def span(*numbers, digits=2):
    """As the page writes the least to the most of some numbers."""
    return range_of(numbers, digits)


def test_what_the_page_tells_of_gates():
    decay, used, output = values("decay"), values("decay", "used"), values("output")
    cells = ("lstm", "minlstm", "mingru")
    assert told(f"hardly used*: {listed(decay, *cells)}, used at {listed(used, *cells)}.")
    assert all(decay[cell] - output[cell] < 0.1 for cell in cells)
    assert told(f"it tells less ({listed(decay, 'slstm', 'rglru')})")
    six = span(*(decay[cell] for cell in ("mamba2", "mlstm", "deltanet")), digits=1)
    assert told(f"six numbers a layer and say little ({six}), and so do RWKV-7's 72")
    assert told(f"RWKV-7's 72 ({span(decay['rwkv7'])})")


def test_what_the_page_tells_of_memories():
    memory, used = values("memory"), values("memory", "used")
    assert told(f"than any other's*: {span(used.pop('lstm'))}, where the others are used at "
                f"{span(*used.values())}.")  # fmt: skip
    best = sorted(used, key=lambda cell: memory[cell])[:2]
    assert best == ["gla", "rwkv7"] == sorted(used, key=lambda cell: -used[cell])[:2]
    assert told(f"GLA's and RWKV-7's ({listed(memory, *best)} of their own perplexity,")
    assert told(f"used most among the others ({listed(used, *best)}).")
    assert told(f"used at {span(*values('output', 'used').values())} everywhere.")


def test_what_the_page_tells_of_what_is_read_of_a_matrix():
    read, memory = values("read"), values("memory")
    four, two = ("deltanet", "mlstm", "rwkv7", "gla"), ("mamba", "mamba2")
    assert {cell for cell in read if of(cell, "memory", "kind").startswith("S")} == {*four, *two}
    assert all(read[cell] > 1.15 * memory[cell] for cell in four)
    assert all(abs(read[cell] - memory[cell]) < 0.05 for cell in two)
    ranges = [span(*(part[cell] for cell in four)) for part in (read, memory)]
    assert told(f"RWKV-7 and GLA ({ranges[0]}, and {ranges[1]}),")
    assert told(f"of Mamba and Mamba-2 ({listed(read, *two)}, and {listed(memory, *two)}),")
    first = [of("mamba2", part, layer=0) for part in ("read", "memory")]
    assert first[0] < first[1]
    assert told(f"more in Mamba-2's first ({span(first[0])}, and {span(first[1])}).")


def test_what_the_page_tells_of_what_is_kept():
    assert told(f"in the last layers ({span(*values('kept').values())}), although")
    # The picture's alternative text.
    for cell, one in OF_LANGUAGE.items():
        for layer in one["layers"]:
            parts = {role: layer[role]["over"] for role in ROLES if role in layer}
            others = [v for role, v in parts.items() if role not in ("decay", "kept")]
            assert parts["kept"] > max(others), cell
    matrices = [layer for one in OF_LANGUAGE.values() for layer in one["layers"]
                if layer["memory"]["kind"].startswith("S")]  # fmt: skip
    assert sum(layer["decay"]["over"] < layer["kept"]["over"] for layer in matrices) == 1
    assert "higher still in all but one layer of the matrix memories" in PAGE


def test_what_the_page_tells_of_half_lives():
    def median(cell):
        return [end for layer in CELLS[cell]["layers"] for end in layer["lasts"]["median"]]

    def whole(cell):
        words = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine",
                 "ten")  # fmt: skip
        ends = [round(end) for end in (min(median(cell)), max(median(cell)))]
        return " to ".join(words[end] if end <= 10 else str(end) for end in ends)

    assert max(median("lstm")) == 0.5
    assert told("half of the LSTM's units lose half of what they hold within half a word")
    assert [round(min(median("mingru")), 1), round(max(median("mingru")))] == [1.5, 4]
    assert told("half of minGRU's within 1.5 to four")
    assert told(f"of Mamba's within {whole('mamba')}, of RWKV-7's within {whole('rwkv7')}")
    low, high = min(median("rglru")), max(median("rglru"))
    assert told(f"of RG-LRU's within {low:.0f} to {high:.0f}")
    low, high = CELLS["gla"]["layers"][1]["lasts"]["median"]
    assert told(f"of GLA's second layer within 30 and {high:.0f} in two networks and {low:.0f} in")


def test_what_the_page_tells_of_erasing():
    def shares(cell, what):
        return [end for layer in CELLS[cell]["layers"] for end in layer["lasts"][what]]

    def by_layer(cell, part, what):
        return " and ".join(span(layer[part][what]) for layer in CELLS[cell]["layers"])

    two = ("deltanet", "rwkv7")
    erased, decayed = ([span(*shares(cell, what)) for cell in two]
                       for what in ("erased", "decayed"))  # fmt: skip
    assert told(f"what DeltaNet erases is {erased[0]} as long as its memory, what RWKV-7 erases")
    others = [cell for cell in OF_LANGUAGE if not any(shares(cell, "erased"))]
    assert len(others) == len(OF_LANGUAGE) - 2
    lost = span(*(end for cell in others for end in shares(cell, "decayed")))
    assert told(f"RWKV-7 erases {erased[1]}; by decay these memories become {decayed[0]} and "
                f"{decayed[1]} shorter, the others {lost}.")  # fmt: skip
    assert all(layer["erased"]["over"] < layer["kept"]["over"]
               for cell in two for layer in CELLS[cell]["layers"])  # fmt: skip
    pairs = [f"{by_layer(cell, 'erased', 'over')} against {by_layer(cell, 'kept', 'over')}"
             for cell in two]  # fmt: skip
    assert told(f"(DeltaNet {pairs[0]}, RWKV-7 {pairs[1]}),")
    assert told(f"used at {', '.join(by_layer(cell, 'erased', 'used') for cell in two)}.")


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
    texts = [["".join(one.itertext()) for one in tree.iter(f"{SVG}text")] for tree in (made, there)]
    assert texts[0] == texts[1], "run: python -m scripts.memories.picture"
    assert {WRITTEN.get(cell, cell.upper()) for cell in OF_LANGUAGE} <= {*texts[1]}
    marks = [list(tree.iter(f"{SVG}use")) for tree in (made, there)]
    assert [one.get("style") for one in marks[0]] == [one.get("style") for one in marks[1]]
    places = [[float(one.get(at, 0)) for one in some for at in "xy"] for some in marks]
    np.testing.assert_allclose(places[0], places[1], atol=0.5)


def test_what_was_not_measured_is_explained_where_there_is_some(tmp_path):
    cells = copy.deepcopy(CELLS)
    del cells["gla"]["layers"][1]["kept"]["used"]
    for known, there in ((cells, True), (CELLS, False)):
        draw(known, tmp_path / "memories.svg")
        assert ("use not measured" in (tmp_path / "memories.svg").read_text("utf-8")) == there


def test_the_note_tells_of_what_was_measured_alone():
    def plain(cells):
        return " ".join(picture._explained(cells).split())

    every = plain(OF_LANGUAGE)
    for said in ("Half-life, in words", "Erased: ", "(chance: parity .50, S₃ .17, recall .13)."):
        assert said in every
    cells = copy.deepcopy({cell: CELLS[cell] for cell in ("lstm", "gla")})  # which erase nothing
    for told in cells.values():
        told["tasks"] = {"parity": told["tasks"]["parity"]}
    assert "Erased" not in plain(cells)
    assert plain(cells).endswith("(chance: parity .50).")
    for told in cells.values():
        told["tasks"] = {"brackets": [0.5, 0.5]}  # which no panel shows
    assert plain(cells).endswith("units or heads.")
    for told in cells.values():
        del told["layers"][-1]["lasts"]
    assert plain(cells) == ""


def test_the_note_touches_nothing():
    cells = copy.deepcopy(OF_LANGUAGE)
    del cells["gla"]["layers"][1]["kept"]["used"]  # so that the key is as long as it can be
    figure = Figure(figsize=picture._SIZE, layout="constrained")
    panels = figure.subplots(3, picture._ACROSS, sharex=True, sharey=True)
    for axes in (panels[0, 0], panels[1, -1], panels[2, 0]):
        picture.panel(axes, "gla", cells, lowest=axes is panels[2, 0])
    key, below = panels[:2, -1]
    with rc_context({"font.size": 8}):
        picture._key(key, cells)
    figure.draw_without_rendering()
    note = key.texts[0].get_window_extent()
    assert note.x1 < key.get_window_extent().x1
    assert note.y1 < key.get_legend().get_window_extent().y0
    assert note.y0 > max(text.get_window_extent().y1 for text in (below.title, *below.texts))


@pytest.mark.parametrize("over", [-1.0, 0.0, "3", None, math.nan, math.inf])
def test_a_perplexity_that_cannot_be_is_refused(tmp_path, over):
    cells = copy.deepcopy(CELLS)
    cells["gla"]["layers"][1]["kept"]["over"] = over
    path = tmp_path / "summary.json"
    path.write_text(json.dumps(cells))
    with pytest.raises(RnnlensError, match="is no summary of kinds"):
        picture.read(path)


def places(told, path=()):
    """Of every value within some."""
    for key in told if isinstance(told, dict) else range(len(told)):
        yield (*path, key)
        if isinstance(told[key], (dict, list)):
            yield from places(told[key], (*path, key))


def test_a_damaged_summary_is_refused_or_drawn(tmp_path):
    """Some value is gone or another, in many ways: it is never anything else."""
    path, chance, seen = tmp_path / "summary.json", random.Random(0), set()
    for _ in range(40):
        cells = copy.deepcopy(CELLS)
        *where, last = chance.choice(list(places(CELLS)))
        within = cells
        for key in where:
            within = within[key]
        if chance.random() < 0.4:
            del within[last]
        else:
            others: list[object] = [None, "x", [], {}, -1, 0, math.nan, math.inf, 1e300, [1.0, 2.0]]
            within[last] = chance.choice(others)
        path.write_text(json.dumps(cells))
        try:
            asked = {cell: told for cell, told in picture.read(path).items() if told.get("seeds")}
        except RnnlensError:
            seen.add("refused")
            continue
        for cell in asked:
            picture.panel(Figure().subplots(), cell, asked, lowest=False)
        seen.add("drawn")
    assert seen == {"refused", "drawn"}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (None, "is missing; python -m scripts.memories FOLDER --corpus CORPUS writes one"),
        ('{"gru": {"tasks": {"parity": [0.5, 0.5]}}}',
         "has tasks alone; measure kinds with --corpus CORPUS"),
        ('{"gru": {"test": [9.0], "seeds": 0, "layers": [{}], "tasks": {}}}',
         "has no kinds; measure them with --parts kinds"),
    ],
)  # fmt: skip
def test_what_a_summary_lacks_is_told(tmp_path, text, told, monkeypatch):
    path = tmp_path / "summary.json"
    if text is not None:
        path.write_text(text)
    monkeypatch.setattr("sys.argv", ["picture", str(path), str(tmp_path / "one.svg")])
    with pytest.raises(SystemExit) as ended:
        main()
    assert str(ended.value) == f"{path} {told}"


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"lstm": {"seeds": 1}}', "folder"])
def test_what_is_no_summary_is_one_line(tmp_path, text, monkeypatch, capsys):
    path, picture = tmp_path / "summary.json", tmp_path / "one.svg"
    if text == "folder":
        path.mkdir()
    else:
        path.write_text(text)
    monkeypatch.setattr("sys.argv", ["picture", str(path), str(picture)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert str(ended.value).startswith(f"{path} is no summary of kinds")
    assert "\n" not in str(ended.value)
    assert not picture.exists()


def test_what_is_above_a_panel_or_missing_is_drawn():
    """As a new measurement may be: five layers, a probe that is far off, and none of a part."""
    [first, _] = CELLS["lstm"]["layers"]
    far = {**first, "kept": {"kind": "l1", "over": 33_514.0}}
    missing = {role: part for role, part in first.items() if role != "written"}
    cells = {"lstm": {**CELLS["lstm"], "layers": [first, far, missing, first, first]}}
    axes = Figure().subplots()
    picture.panel(axes, "lstm", cells, lowest=True)
    top = axes.get_ylim()[1]
    marks = [(line.get_marker(), *np.array(line.get_ydata())) for line in axes.lines
             if line.get_marker() not in ("None", None)]  # fmt: skip
    assert [mark for mark in marks if mark[0] == "^"] == [("^", top)]
    assert all(value <= top for _, value in marks)
    every = [np.array(line.get_ydata()) for line in axes.lines]
    lines = [values for values in every if len(values) > 2]
    assert len(lines) == 5
    assert [int(np.isnan(line).sum()) for line in lines] == [0, 0, 1, 0, 0]
    assert max(lines[1]) == top


@pytest.mark.parametrize(
    ("over", "ticks"), [(1.2, [1, 1.5]), (0.3, [0.5, 1]), (0.004, [0.01, 0.1])]
)
def test_what_is_below_the_network_itself_is_within_its_panel(over, ticks):
    """As of a network that has hardly learnt: its probes say more than it does."""
    cells = copy.deepcopy({cell: CELLS[cell] for cell in ("lstm", "gla")})
    cells["gla"]["layers"][0]["kept"]["over"] = over
    limits = set()
    for cell in cells:  # all panels have the same
        axes = Figure().subplots()
        picture.panel(axes, cell, cells, lowest=True)
        limits.add(axes.get_ylim())
        assert list(axes.get_yticks())[:2] == pytest.approx(ticks)
    [(least, _)] = limits
    assert least == (picture._LEAST if over > 1 else 0.95 * over)


def test_a_picture_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    path = tmp_path / "none" / "one.svg"
    monkeypatch.setattr("sys.argv", ["picture", str(DOCS / "memories.json"), str(path)])
    with pytest.raises(SystemExit, match=f"cannot write {path}: No such file"):
        main()
