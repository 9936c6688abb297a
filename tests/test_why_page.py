"""The tables of docs/why.md are what the bundled model says, and what is told of them is so."""

import re

import numpy as np
import pytest
from scripts.why import PAGE, answers

import rnnlens


@pytest.fixture(scope="module")
def tables():
    return list(answers(PAGE.read_text(encoding="utf-8")))


def test_every_table_is_up_to_date(tables):
    assert len(tables) == 3
    for written, table in tables:
        made, there = ("\n".join(written.lines()), table.rstrip("\n"))
        number = r"[+±-]\d+\.\d\d"
        assert re.sub(number, "#", made) == re.sub(number, "#", there), "run: scripts/why.py"
        values = [[float(v.strip("±")) for v in re.findall(number, text)] for text in (made, there)]
        np.testing.assert_allclose(values[0], values[1], rtol=0, atol=0.02)


def first_of(written, leave=0):
    """The word that counts most, without the last ones."""
    values = written.without[: len(written.without) - leave]
    return written.words[int(values.argmax())]


def test_what_the_page_tells_of_the_quotation(tables):
    quote = tables[0][0]
    assert all(1.5 < value < 2.5 for value in quote.without("``"))
    assert quote.usual.difference == pytest.approx(2.17, abs=0.01)
    assert {first_of(written, leave=1) for written in quote.by.values()} == {"``"}
    assert quote.usual.words[quote.usual.path.argmax()] == "``"
    assert quote.usual.words[quote.usual.stored.argmax()] == ","
    by_tag, by_model, unknown, left_out = quote.without(",")
    assert by_tag < by_model < 0 < unknown < left_out
    for drawn in ("tag", "model"):
        assert quote.by[drawn].high[-1] < 0, "surely"
    assert quote.by["tag"].drawn[-1].count(".") > 40


def test_what_the_page_tells_of_agreement(tables):
    agreement = tables[1][0]
    usual, (leaders, of, country) = agreement.usual, (1, 2, 4)
    assert min(agreement.without("leaders")) > 2
    assert max(agreement.without("country")) < -1
    assert {first_of(written) for written in agreement.by.values()} == {"leaders"}
    assert usual.path.argmax() == leaders
    assert usual.stored[leaders] < usual.without[leaders] / 5
    assert abs(usual.stored[country]) > 2 * usual.stored[leaders]
    assert usual.without[of] == pytest.approx(usual.without[leaders] / 2, abs=0.1)
    state = rnnlens.load("english-news")("the leaders of the country")["y"][4]
    for word in ("in", "from"):
        assert state.written_by("have", against="has", instead=word).without[of] < -0.3


def test_what_the_page_tells_of_the_question(tables):
    question = tables[2][0]
    assert min(question.without("what")) > 0.5
    firsts = {name: first_of(written) for name, written in question.by.items()}
    assert firsts == {"tag": "what", "model": "what", "unknown": "what", "left_out": "do"}
    for written in question.by.values():
        assert written.path[1] > written.without[1]
    assert question.usual.path[1] > 1
    assert abs(question.without("do")[0]) < 0.1


def test_the_rest_of_a_path_is_not_what_a_text_of_stand_ins_says(tables):
    lens = rnnlens.load("english-news")
    for written, _ in tables:
        usual = written.usual
        unknown = lens(" ".join(["UNK"] * len(usual.words)))["y"][-1]
        alone = unknown.written_by(*usual.labels, against=usual.against).difference
        assert usual.path_rest - alone > 0.5


def test_what_the_page_tells_of_a_gate_that_is_set_to_zero():
    grid = rnnlens.load("english-news")("the dogs near the house")
    zero, mean, drawn = (grid.ablated(["o2", "h2"], by=by) for by in ("zero", "mean", "resampled"))
    last = [float(found["o2"][-1]) for found in (zero, mean, drawn)]
    assert last == pytest.approx([0.78, 0.01, 0.03], abs=0.005)
    assert zero["h2"][-1] == pytest.approx(last[0])
    assert min(found["h2"][-1] for found in (zero, mean, drawn)) > 0.4
    assert drawn.low is not None
    assert drawn.high is not None
    assert drawn.low[-1, 1] > drawn.high[-1, 0]
