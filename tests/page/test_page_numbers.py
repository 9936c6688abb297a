"""A forecaster on the page: the series beside its rows, distributions in cells and panel."""

import re

import pytest

from rnnlens.run.folder import run_at

TEXT = "#text=0.1+0.4+0.7+0.2005&at=h2:3"


def test_numbers_are_drawn_as_numbers(look, server):
    with server(run_at("waves").path) as address:
        screen = look(TEXT, at=address)
        screen.drawn(4)
        grid = screen.ask("api/grid", {"text": "0.1 0.4 0.7 0.2005", "limit": 100})
        assert screen.find(".row .word line").count() == 6  # to the rows above and below
        assert screen.find(".legend svg rect").count() == 16
        cell = screen.find(".row .state").first
        assert cell.locator(".bar").count() == 16
        column = [column["id"] for column in grid["columns"]].index("h2")
        mean, low, high = grid["rows"][2][column]["number"]
        drawn = screen.find(".panel svg[role=img]").first
        said = drawn.get_attribute("aria-label").replace("\u2212", "-")
        found = [float(number) for number in re.findall(r"-?[\d.]+(?!%)\b", said) if number != "80"]
        assert found == pytest.approx([mean, low, high], abs=0.006)
        came = screen.find(".panel dt:text-is('what came next') + dd")
        assert came.inner_text() == "0.2005"  # the number itself, to its last digit
        assert "next number" in screen.find("body").inner_text()
        screen.find("text=accuracy").first.click()
        assert "mean absolute error" in screen.find("th:last-child").first.inner_text()
