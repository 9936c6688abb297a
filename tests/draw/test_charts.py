"""Charts of what was measured."""

import re

import pytest

from rnnlens.base.errors import RnnlensError
from rnnlens.draw.charts import write_accuracy, write_reach


def drawn(tmp_path, kinds):
    scores = [
        {"kind": kind, "semantic": "output", "perplexity": 12.0, "ratio": 1.2, "unigram": 20.0}
        for kind in kinds
    ]
    write_accuracy({"probes": scores}, tmp_path / "figure.svg")
    return (tmp_path / "figure.svg").read_text(encoding="utf-8")


def names(svg):
    """The names below the bars, and whether each is set upright."""
    axis = svg[svg.index('id="matplotlib.axis_1"') : svg.index('id="matplotlib.axis_2"')]
    found = re.findall(r"<text ([^>]*)>(.*?)</text>", axis)
    return [(text, "rotate(-90)" in how) for how, text in found]


def test_short_names_stand_side_by_side(tmp_path):
    assert names(drawn(tmp_path, ["x", "c1", "h1"])) == [("x", False), ("c1", False), ("h1", False)]


@pytest.mark.parametrize("start", ["backbone.encoder.layers", "a.backbone.encoder.layers"])
def test_long_paths_are_upright_and_cut_in_front(tmp_path, start):
    found = names(drawn(tmp_path, [f"{start}.{k}" for k in range(12)]))
    assert [text for text, _ in found] == [f"…encoder.layers.{k}" for k in range(12)]
    assert all(upright for _, upright in found)


def test_names_are_no_mathematics(tmp_path):
    assert names(drawn(tmp_path, ["$x^2$", "<b>"])) == [("$x^2$", False), ("&lt;b&gt;", False)]


def test_what_is_used_stands_beside_what_is_read(tmp_path):
    rows = [
        {"kind": kind, "semantic": "output", "perplexity": 12.0, "ratio": 1.2, "unigram": 20.0,
         "used": used}
        for kind, used in (("x", {"used": 0.6}), ("f1", {"used": 0.03}), ("part", None))
    ]  # fmt: skip
    write_accuracy({"probes": rows}, tmp_path / "used.svg")
    svg = (tmp_path / "used.svg").read_text(encoding="utf-8")
    assert "used (dots)" in svg
    assert "used (dots)" not in drawn(tmp_path, ["x"])


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
