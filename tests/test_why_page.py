"""The tables of docs/why.md are what the bundled model says, and what is told of them is so."""

import re

import numpy as np
import pytest
from scripts.why import PAGE, answers


@pytest.fixture(scope="module")
def tables():
    return list(answers(PAGE.read_text(encoding="utf-8")))


def test_every_table_is_up_to_date(tables):
    assert len(tables) == 3
    for written, table in tables:
        made, there = ("\n".join(written.lines()), table.rstrip("\n"))
        number = r"[+-]\d+\.\d\d"
        assert re.sub(number, "#", made) == re.sub(number, "#", there), "run: scripts/why.py"
        values = [[float(v) for v in re.findall(number, text)] for text in (made, there)]
        np.testing.assert_allclose(values[0], values[1], rtol=0, atol=0.02)


def test_what_the_page_tells_of_them(tables):
    quote, agreement, question = (written for written, _ in tables)
    assert quote.words[quote.path.argmax()] == quote.words[quote.without.argmax()] == "``"
    assert quote.words[quote.stored.argmax()] == ","
    assert abs(quote.path[-1]) < 0.1 < quote.gates[-1]
    leaders, of, country = (agreement.words.index(word) for word in ("leaders", "of", "country"))
    assert agreement.without.argmax() == agreement.path.argmax() == leaders
    assert agreement.stored[leaders] < agreement.without[leaders] / 5
    assert agreement.gates[of] > agreement.path[of]
    assert abs(agreement.stored[country]) > agreement.stored[leaders]
    assert question.path[1] > 1 > question.without[1]
    assert question.words[question.without.argmax()] == "what"
