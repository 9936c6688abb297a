"""`rnnlens show --rows --kinds layer2`: a part of a grid, for a paper."""

import xml.etree.ElementTree as ET

import pytest
from tests.fixtures import formula_run

import rnnlens
from rnnlens.base.errors import RnnlensError
from rnnlens.draw.columns import chosen_columns
from rnnlens.draw.look import row_numbers
from rnnlens.draw.printable import percent

SENTENCE = "the old dogs see a bird ."


@pytest.fixture
def run(tmp_path):
    return formula_run(tmp_path / "tiny")


def test_rows_are_taken_by_the_numbers_that_are_drawn(command, run):
    code, shown, said = command(
        "show", run, SENTENCE, "--rows", "3-4,7", "--kinds", "l2,y", "--width", "100"
    )
    assert (code, said) == (0, "")
    words = [line.split()[0] for line in shown.split("\n")[5:8]]
    assert words == ["dogs", "see", "."]


def test_a_figure_keeps_the_numbers_of_its_rows(run):
    grid = rnnlens.load(run)(SENTENCE)
    drawn = grid.figure(rows="5-6", kinds="layer2").axes[0].texts
    texts = [t.get_text() for t in drawn]
    words = min(t.get_position()[0] for t in drawn if t.get_text() == "bird")
    assert [t.get_text() for t in drawn if t.get_position()[0] < words] == ["5", "6", "noun"]
    assert {"a", "bird"} <= set(texts)
    assert "layer 2" in texts
    assert not {"layer 1", "model"} & set(texts)
    followed = grid.follow("dogs")
    part = [t.get_text() for t in grid.figure(rows="5", kinds="y", followed=followed).axes[0].texts]
    assert percent(followed["y"][4]) in part


@pytest.mark.slow
def test_the_teaser_of_the_paper(command, run, tmp_path):
    path = tmp_path / "teaser.svg"
    flags = ["--rows", "3-4", "--kinds", "layer2", "--width", "3.4", "-o", path]
    assert command("show", run, SENTENCE, *flags).code == 0
    width = ET.fromstring(path.read_bytes()).attrib["width"]
    assert float(width.removesuffix("pt")) == pytest.approx(3.4 * 72, abs=0.5)


def test_a_layer_is_all_its_kinds(run):
    columns = rnnlens.load(run)("the").json["columns"]
    layer = [columns[k]["id"] for k in chosen_columns(columns, "layer2")]
    assert layer == ["f2", "i2", "o2", "g2", "c2@-1", "l2", "s2", "c2", "h2"]
    both = [columns[k]["id"] for k in chosen_columns(columns, "y,layer1,x")]
    assert (both[0], both[-1], len(both)) == ("x", "y", 11)
    with pytest.raises(
        RnnlensError, match=r"no kind 'layer3'; it has x, .*outputs, layer1, layer2"
    ):
        chosen_columns(columns, "layer3")


@pytest.mark.parametrize(
    ("rows", "taken"), [("1", [0]), ("2-3", [1, 2]), ("4-", [3, 4]), ("5,1-2,2", [0, 1, 4])]
)
def test_numbers_and_spans(rows, taken):
    assert row_numbers(rows, 5) == taken


@pytest.mark.parametrize("rows", ["0", "6", "3-2", "-2", "a", "1-6", "1,,2", "1--2", "²"])
def test_rows_that_there_are_not_are_refused(command, run, rows):
    with pytest.raises(RnnlensError, match="give numbers from 1 to 5, such as 4-5"):
        row_numbers(rows, 5)
    code, shown, said = command("show", run, "the old dogs see a", f"--rows={rows}")
    assert (code, shown, said.count("\n")) == (2, "", 1)


@pytest.mark.parametrize("ending", [".html", ".json"])
@pytest.mark.parametrize("flags", [("--rows", "1"), ("--follow", "dog")])
def test_files_that_hold_everything_take_no_part(command, run, tmp_path, ending, flags):
    path = tmp_path / f"all{ending}"
    code, _, said = command("show", run, SENTENCE, *flags, "-o", path)
    assert (code, path.exists()) == (2, False)
    assert f"a {ending} file holds the whole grid" in said
