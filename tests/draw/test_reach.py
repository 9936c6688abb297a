"""The figure of how far kinds reach."""

import pytest

from rnnlens.base.errors import RnnlensError
from rnnlens.draw.reach import write_reach

ROWS = [
    {"semantic": f"output{step}", "kind": kind, "perplexity": p, "unigram": 50.0}
    for step, kind, p in (
        ("-1", "h1", 5.0), ("", "h1", 25.0), ("+1", "h1", 60.0),
        ("-1", "$x$", 10.0), ("", "$x$", None),
    )
]  # fmt: skip


def test_each_kind_is_a_row_and_each_word_around_a_column(tmp_path):
    write_reach(ROWS, tmp_path / "reach.svg")
    drawn = (tmp_path / "reach.svg").read_text()
    for text in ("0", "+1", "+2", "h1", "$x$", "0.10", "0.50", "1.20", "0.20", "-"):
        assert f">{text}<" in drawn, text


def test_a_far_horizon_is_drawn_without_numbers(tmp_path):
    rows = [{**ROWS[0], "semantic": f"output+{step}"} for step in range(1, 101)]
    write_reach(rows, tmp_path / "reach.svg")
    drawn = (tmp_path / "reach.svg").read_text()
    assert ">0.10<" not in drawn
    assert ">+2<" in drawn
    assert ">+3<" not in drawn


def test_what_cannot_be_drawn_or_written_is_one_line(tmp_path):
    with pytest.raises(RnnlensError, match="no probes whose reach"):
        write_reach([], tmp_path / "reach.svg")
    with pytest.raises(RnnlensError, match="cannot write"):
        write_reach(ROWS, tmp_path / "missing" / "reach.svg")
