"""How long memory lasts, in networks that forget at a known rate."""

import numpy as np
import pytest
import torch
from tests.lab.planted import SUITE, WIDTH, WORDS, planted

from rnnlens.base.errors import RnnlensError
from rnnlens.lab.half_lives import half_lives
from rnnlens.lab.lab_tables import half_life_table
from rnnlens.lab.prefixes import Reader


def forgetful(folder, kept):
    """A network whose memory keeps a share of all that its words have written, unit by unit."""
    lens, _ = planted(folder, 0)
    model = lens.subject.model
    weights = model.recurrent[0].weights()
    for name in ("w_x", "w_h", "b_x", "b_h"):
        weights[name].zero_()
    shares = torch.full((WIDTH,), kept)
    weights["b_x"][WIDTH : 2 * WIDTH] = (shares / (1 - shares)).log()
    generator = torch.Generator().manual_seed(1)
    weights["w_x"][2 * WIDTH : 3 * WIDTH] = torch.randn(WIDTH, 4, generator=generator) * 0.05
    model.embedding.copy_(torch.randn(len(WORDS), 4, generator=generator))
    return lens


@pytest.mark.parametrize("kept", [0.5, 0.8, 0.9])
def test_planted_half_lives_are_found(tmp_path, kept):
    lens = forgetful(tmp_path, kept)
    draw = np.random.default_rng(0)
    texts = [tuple(draw.integers(0, len(WORDS), 40).tolist()) for _ in range(200)]
    found = half_lives(Reader(lens.subject.model, lens.subject.session.text), texts, horizon=6)
    truth = np.log(2) / -np.log(kept)
    (memory,) = found.memories
    assert memory.kind == "c1"
    np.testing.assert_allclose(memory.units, truth, rtol=0.001)
    kinds = {one.kind: one for one in found.kinds}
    assert kinds["c1"].half_life == pytest.approx(truth, rel=0.05)
    assert kinds["x"].told[0] == pytest.approx(1, abs=1e-3)
    assert max(abs(one or 0.0) for one in kinds["x"].told[1:]) < 0.05
    assert kinds["x"].half_life is None or kinds["x"].half_life < 0.5
    assert found.words == 200 * 40
    assert (
        found.to_csv().splitlines()[0].startswith("kind,half_life,units_median,first_word,told 0")
    )
    assert found.to_json()["kinds"][0]["kind"] == "x"


def test_over_a_suite_and_what_is_too_little(tmp_path):
    path = tmp_path / "planted.suite"
    path.write_text(SUITE, encoding="utf-8")
    lab = planted(tmp_path, 3)[0].lab(path)
    found = lab.half_lives(["the author near the cars is"] * 60 + [["the", "keys"]] * 60, 3)
    assert (found.texts, found.words) == (120, 60 * 6 + 60 * 2)
    assert found.kinds[0].first == 0  # always the same word
    assert (found.ends, found.rows) == (60, 30 * 3)
    few = lab.half_lives(["the author near the cars is"] * 40, 3)
    assert (few.ends, few.rows, few.kinds[0].first) == (20, 20 * 3, None)
    assert "too few" in half_life_table(few)
    with pytest.raises(RnnlensError, match="2 words are too few"):
        lab.half_lives(["the author"])
    with pytest.raises(RnnlensError, match="1 to 100 words"):
        lab.half_lives(["the author is"] * 100, horizon=0)


def test_a_few_texts_are_told_of_too_and_what_is_too_large_is_left_out(tmp_path, monkeypatch):
    lens = forgetful(tmp_path, 0.8)
    draw = np.random.default_rng(0)
    texts = [tuple(draw.integers(0, len(WORDS), 40).tolist()) for _ in range(20)]
    model = lens.subject.model
    monkeypatch.setattr(type(model), "unprobed", {"g1": 16})
    found = half_lives(Reader(model, lens.subject.session.text), texts, horizon=4)
    kinds = {one.kind: one for one in found.kinds}
    assert kinds["x"].told[0] == pytest.approx(1, abs=1e-3)
    assert min(one or 0.0 for one in kinds["c1"].told) > 0.2
    assert found.left_out == ("g1",)
    assert "g1" not in kinds
    assert "too large to be asked: g1" in half_life_table(found)


def test_a_first_word_keeps_nothing_and_is_in_no_mean(tmp_path):
    lens = forgetful(tmp_path, 0.8)
    model = lens.subject.model
    first = WORDS.index("the")
    weights = model.recurrent[0].weights()
    model.embedding.zero_()
    model.embedding[first, 0] = 1.0
    weights["w_x"].zero_()
    weights["w_x"][WIDTH : 2 * WIDTH, 0] = -50.0  # the first word alone would erase all
    text = (first, *[first + 1] * 9)
    found = half_lives(Reader(model, lens.subject.session.text), [text] * 30, horizon=2)
    np.testing.assert_allclose(found.memories[0].units, np.log(2) / -np.log(0.8), rtol=0.001)
