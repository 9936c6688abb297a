"""What is read in a word's place: against plain NumPy, which reads the network's own file."""

from collections import Counter

import numpy as np
import pytest
import torch
from tests.ask.plain import Plain
from tests.fixtures import WORDS
from tests.letters import WORDS as LETTERS
from tests.letters import Classifier, batches

import rnnlens
from rnnlens.ask.stand_ins import StandIns
from rnnlens.base.errors import RnnlensError
from rnnlens.lens.open import opened
from rnnlens.run.folder import run_at

TEXT = "the old dog sees a bird ."
NAMES, TAGS = tuple(WORDS), dict(WORDS)
SIDES = ("dog", "old")


def contrast(plain, ids: list[int]) -> float:
    y = plain.logits(ids)[-1]
    return float(y[NAMES.index(SIDES[0])] - y[NAMES.index(SIDES[1])])


@pytest.fixture(scope="module")
def plain(formula):
    return Plain(formula)


def asked(lens, text=TEXT, **how):
    return lens(text)["y"][len(text.split()) - 1].written_by(SIDES[0], against=SIDES[1], **how)


@pytest.mark.parametrize("stand_in", ["tag", "model", "unknown", "left_out"])
def test_the_mean_and_its_interval_are_those_of_reading_each_stand_in(formula, plain, stand_in):
    written, ids = (
        asked(formula, stand_in=stand_in, draws=9, seed=3),
        [*map(NAMES.index, TEXT.split())],
    )
    real = contrast(plain, ids)
    assert written.difference == pytest.approx(real, abs=1e-5)
    assert written.stand_in == stand_in
    for k, word in enumerate(ids):
        puts: list[list[int]]
        if stand_in == "left_out":
            puts = [[]]
        elif stand_in == "unknown":
            puts = [[NAMES.index("UNK")]]
        else:
            puts = [[NAMES.index(name)] for name in written.drawn[k]]
            assert len(puts) == 9
            assert word not in [one for (one,) in puts]
            assert "UNK" not in written.drawn[k]
        lost = [real - contrast(plain, [*ids[:k], *put, *ids[k + 1 :]]) for put in puts]
        assert written.without[k] == pytest.approx(np.mean(lost), abs=1e-5)
        if len(lost) > 1:
            deviation = np.std(lost, ddof=1)
            assert written.spread[k] == pytest.approx(deviation, abs=1e-5)
            wide = 2.306004 * deviation / 3  # Student's, of eight degrees of freedom
            assert written.high[k] - written.low[k] == pytest.approx(2 * wide, rel=2e-3, abs=1e-5)
    assert (written.low is None) == (stand_in in ("unknown", "left_out"))


def test_words_of_the_same_tag_are_drawn_as_often_as_they_are_frequent(formula):
    counts = dict(zip(NAMES, range(len(NAMES), 0, -1), strict=True))
    drawn: Counter[str] = Counter()
    for seed in range(40):
        drawn.update(asked(formula, "the dog", stand_in="tag", draws=100, seed=seed).drawn[1])
    nouns = {
        name: count for name, count in counts.items() if TAGS[name] == "NOUN" and name != "dog"
    }
    assert set(drawn) == set(nouns)
    for name, count in nouns.items():
        assert drawn[name] / 4000 == pytest.approx(count / sum(nouns.values()), abs=0.03)


def test_words_that_the_model_expected_are_drawn_with_its_probabilities(formula, plain):
    ids = [NAMES.index(word) for word in ("the", "dog")]
    p = np.exp(plain.logits(ids)[0])
    p[[NAMES.index("UNK"), ids[1]]] = 0  # neither the unknown word nor the word itself
    drawn: Counter[str] = Counter()
    first: Counter[str] = Counter()
    for seed in range(40):
        written = asked(formula, "the dog", stand_in="model", draws=100, seed=seed)
        first.update(written.drawn[0])
        drawn.update(written.drawn[1])
    for name, share in zip(NAMES, p / p.sum(), strict=True):
        assert drawn[name] / 4000 == pytest.approx(share, abs=0.03)
    frequent = [name for name in NAMES if name not in ("the", "UNK")]
    total = sum(len(NAMES) - NAMES.index(name) for name in frequent)
    for name in frequent:  # before the first word nothing is expected
        share = (len(NAMES) - NAMES.index(name)) / total
        assert first[name] / 4000 == pytest.approx(share, abs=0.03)


def test_the_same_question_has_the_same_answer_and_another_seed_another(formula):
    once, again, other = (asked(formula, seed=seed) for seed in (0, 0, 1))
    assert once.drawn == again.drawn
    np.testing.assert_array_equal(once.without, again.without)
    assert once.drawn != other.drawn
    assert (once.stand_in, once.draws, once.offered) == (
        "tag", 12, ("tag", "model", "unknown", "left_out"),
    )  # fmt: skip


def test_what_stands_alone_in_its_tag_is_not_read_without(formula):
    written = asked(formula, "she sees", stand_in="tag")  # the only pronoun
    assert written.drawn[0] == ()
    assert np.isnan(written.without[0])
    assert np.isfinite(written.without[1])
    assert written.path.sum() + written.path_rest == pytest.approx(written.difference, abs=1e-4)
    assert written.path[0] == 0
    (line,) = [line for line in repr(written).splitlines() if line.split()[0] == "she"]
    assert line.split()[3] == "-"


@pytest.mark.parametrize("stand_in", ["tag", "model", "unknown"])
def test_the_rest_of_a_path_is_what_its_stand_ins_come_to_with_the_gates_of_the_text(
    formula, plain, stand_in
):
    """Which is not what a text of them says, where gates are others."""
    written, ids = asked(formula, stand_in=stand_in), [*map(NAMES.index, TEXT.split())]
    words = plain.w["embedding"]
    names = written.drawn or [["UNK"]] * len(ids)
    others = np.array([words[[NAMES.index(name) for name in some]].mean(0) for some in names])
    top = plain.readout(plain.held(words[ids], others))[-1]
    rest = float(top[NAMES.index(SIDES[0])] - top[NAMES.index(SIDES[1])])
    assert written.path_rest == pytest.approx(rest, abs=1e-5)
    again = plain.readout(plain.top(others))[-1]
    alone = float(again[NAMES.index(SIDES[0])] - again[NAMES.index(SIDES[1])])
    assert abs(rest - alone) > 1e-4
    assert written.path.sum() + written.path_rest == pytest.approx(written.difference, abs=1e-4)


def test_what_there_is_not_is_one_line_that_names_the_rest(formula):
    tagger, brackets, waves = (
        opened(run_at(name)) for name in ("english-tags", "brackets", "waves")
    )
    cases = [
        (tagger, "we stand", "tag", "english-tags have no tags.* unknown, left_out"),
        (tagger, "we stand", "model", "does not predict the words.* unknown, left_out"),
        (brackets, "( [", "tag", "brackets have no tags.*: model, unknown, left_out"),
        (waves, "1 2", "unknown", "no word for unknown words.*: left_out"),
        (waves, "1", "left_out", "one word, .*: none"),
        (formula, "dog", "left_out", "one word, .*: tag, model, unknown"),
        (formula, "dog " * 101, "tag", "each of 101 words, and they are for 100.*: unknown, left"),
        (formula, "dog", "nobody", "'nobody' is no stand-in for a word; there is tag, model"),
    ]
    for lens, text, stand_in, told in cases:
        state = lens(text)["y"][-1]
        with pytest.raises(RnnlensError, match=told) as refused:
            state.written_by(stand_in=stand_in)
        assert "\n" not in str(refused.value)
    for draws in (7, 101, 2.5, True):
        with pytest.raises(RnnlensError, match="draws for each word: give a whole number from 8"):
            formula("the dog")["y"][1].written_by(draws=draws)
    for seed in (-1, 2**32):
        with pytest.raises(RnnlensError, match="the seed is"):
            formula("the dog")["y"][1].written_by(seed=seed)


def test_the_usual_stand_in_is_the_first_that_there_is(formula):
    usual = {
        run: opened(run_at(run))(text)["y"][1].written_by().stand_in
        for run, text in (("english-tags", "we stand"), ("brackets", "( ["), ("waves", "1 2"))
    }
    assert usual == {"english-tags": "unknown", "brackets": "model", "waves": "left_out"}
    assert asked(formula, "dog " * 101).stand_in == "unknown"
    alone = opened(run_at("waves"))("1")["y"][0].written_by()
    assert np.isnan(alone.without).all()
    assert alone.note.startswith("nothing could stand in for the only word")
    with torch.random.fork_rng():
        pairs = [(words, words[:, 0] % 2) for words, _ in batches(count=4, size=6)]
        lens = rnnlens.fit(Classifier(labels=2), pairs, ["even", "odd"], inputs=LETTERS, epochs=1)
    assert "tag" not in StandIns(lens.subject, [0, 1]).offered
