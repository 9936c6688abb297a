"""What cells of memories show in figures and in the terminal is what the memory itself says."""

import re

import numpy as np
import pytest

import rnnlens
from rnnlens.ask.answer import answer
from rnnlens.ask.figures import FigureQuestion
from rnnlens.ask.memories import with_cells
from rnnlens.ask.questions import Subjects
from rnnlens.base.errors import RnnlensError
from rnnlens.draw import terminal
from rnnlens.draw.cells import brief, cells_key
from rnnlens.draw.look import Look, changed_look

TEXT = "b 3 d 7 b 5 ? b"


@pytest.fixture(scope="module")
def grid():
    return rnnlens.load("recall")(TEXT)


def drawn(grid, look, width=200):
    """A terminal's lines."""
    part = with_cells(grid.part(look.kinds), grid._lines, look)
    return terminal.draw(part, look, width=width).splitlines()


@pytest.mark.parametrize(("number", "said"), [
    (1, "1"), (2.345, "2.35"), (999.4, "999"), (999.6, "1K"), (284_321, "284K"), (6.54e6, "6.54M"),
    (float("inf"), "∞"), (0, "0"),
])  # fmt: skip
def test_numbers_are_brief(number, said):
    assert brief(number) == said


@pytest.mark.parametrize(("which", "of", "name"), [
    ("norm", lambda told: np.linalg.norm(told.norm), "norm"),
    ("rank", lambda told: np.mean(told.rank), "effective rank"),
    ("half_life", lambda told: told.half_life[1], "median half-lif…"),
])  # fmt: skip
def test_the_terminal_has_the_numbers_of_the_memory(grid, which, of, name):
    lines = drawn(grid, Look(kinds=("S1", "y"), memories=which))
    assert lines[4].split()[0] in name.split()[0]
    numbers = [brief(of(told)) for told in grid["S1"].memory()]
    rows = [line.split()[2] for line in lines[5:13]]
    assert rows == numbers
    assert cells_key(with_cells(grid.part(), grid._lines, Look(memories=which)), False) in " ".join(
        lines
    )


def test_the_terminal_has_what_a_memory_would_answer(grid):
    lines = drawn(grid, Look(kinds=("S1",), asked="b", bars=2))
    assert "asked by b" in lines[4]
    answers = [one.top(2) for one in grid["S1"].asked("b")]
    firsts = [answers[row][0][0] for row in range(8)]
    shown = [re.split(r"\s+", lines[5 + 3 * row].strip()) for row in range(8)]
    assert [line[2] for line in shown] == firsts
    assert "asked by b = what it would answer" in "\n".join(lines)


def svg(grid, **changes):
    """The texts of a figure."""
    return {one.get_text() for one in grid.figure(**changes).findobj(match=_is_text)}


def _is_text(one):
    return hasattr(one, "get_text")


def test_a_figure_says_in_head_and_key_what_it_draws(grid):
    shown = svg(grid, memories="rank")
    assert "effective rank" in shown
    assert "S1: effective rank, bar = of the largest in the column" in shown
    assert {brief(float(np.mean(told.rank))) for told in grid["S1"].memory()} <= shown
    asked = svg(grid, asked="b", kinds=("S1",), symbols=True, key=False)
    assert "asked by b" in asked
    assert {one.top(1)[0][0] for one in grid["S1"].asked("b")} <= asked


def test_rows_of_a_figure_have_their_own_cells(grid):
    shown = svg(grid, memories="norm", kinds=("S1",), rows="7-8")
    numbers = [brief(float(np.linalg.norm(told.norm))) for told in grid["S1"].memory()]
    assert {*numbers[6:]} <= shown
    assert not {*numbers[:2]} & shown


def test_the_page_has_figures_of_what_its_cells_show(grid):
    subjects = Subjects.of(grid.reading.subject)
    plain, told = (
        answer(subjects, FigureQuestion(text=TEXT, kinds=("S1",), rows="3-4", memories=which))
        for which in (None, "norm")
    )
    assert told["data"] != plain["data"]


@pytest.mark.parametrize(("changes", "said"), [
    ({"memories": "size"}, "memories 'size': give norm, rank, half_life, or leave it out"),
    ({"memories": "norm", "asked": "b"}, "cells of memories show norm or what 'b' is answered"),
])  # fmt: skip
def test_what_means_nothing_is_refused(changes, said):
    with pytest.raises(RnnlensError, match=said):
        changed_look(None, changes)


def test_cells_without_a_matrix_are_refused(grid, tmp_path):
    with pytest.raises(RnnlensError, match=r"show norm: no memory .* drawn; draw them, kinds=S1"):
        grid.figure(memories="norm", kinds=("r1", "y"))
    with pytest.raises(RnnlensError, match=r"asked by b: no memory .*; the network has none"):
        rnnlens.load("english-news")("we stand").figure(asked="b")
    for ending in ("html", "json"):
        with pytest.raises(RnnlensError, match="nor anything else for the cells of memories"):
            grid.save(tmp_path / f"grid.{ending}", memories="norm")
