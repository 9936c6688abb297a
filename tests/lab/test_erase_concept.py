"""A concept erased over a corpus, in a network in which it is known what is responsible."""

import random

import numpy as np
import pytest
import torch
from tests.lab.planted import NOUNS, OTHERS, SUITE, planted

from rnnlens.base.errors import RnnlensError
from rnnlens.corpus.read import Sentence
from rnnlens.lab.concept import read_sentences, told_concept
from rnnlens.lab.erase_concept import Told, fitted, told
from rnnlens.model.traceable import StateEdit


def sentences(count):
    """Subjects of either number, with tags: a subject's noun is tagged SUBJ."""
    draw, found = random.Random(3), []
    for _ in range(count):
        words = [
            "the",
            draw.choice(NOUNS) + draw.choice(["", "s"]),
            "near",
            "the",
            draw.choice(OTHERS) + draw.choice(["", "s"]),
            draw.choice(["is", "are"]),
        ]
        found.append(Sentence(tuple(words), ("DET", "SUBJ", "ADP", "DET", "NOUN", "AUX")))
    return found


def plural(sentence):
    """The number of the subject, from the subject on."""
    return [None, *[sentence.words[1].endswith("s")] * 4, None]


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    path = tmp_path_factory.mktemp("concept") / "planted.suite"
    path.write_text(SUITE, encoding="utf-8")
    return planted(path.parent, 0)[0].lab(path)


def test_a_tag_is_erased_so_that_a_fresh_probe_reads_the_majority(lab):
    found = lab.erase_concept(sentences(900), "SUBJ", kinds="c1")
    (row,) = found.kinds
    assert (found.learnt_from, found.probed, found.asked) == (1800, 1800, 1800)
    assert found.majority == pytest.approx(5 / 6)
    assert row.read > 0.99
    assert row.read_after < found.majority + 0.01
    assert row.balanced_after < 0.65
    assert row.balanced_low is not None
    assert row.balanced_low <= row.balanced_after <= (row.balanced_high or 0)
    assert row.balanced_high - row.balanced_low < 0.2
    assert row.balanced_control == pytest.approx(0.5, abs=0.15)
    assert row.rank == 1
    assert row.accuracy == row.accuracy_after == 1.0  # which noun is the subject's is used earlier
    assert found.to_json()["kinds"][0]["kind"] == "c1"
    assert found.to_csv().startswith("kind,rank,read,read_after,low,high,balanced")


def test_a_balanced_share_and_its_interval_are_those_of_texts():
    draw = np.random.default_rng(0)
    counts = draw.integers(1, 9, (200, 2))  # words of each sort in each text
    right = draw.binomial(counts, [0.7, 0.4])
    found = Told(np.zeros(200), np.ones(200), np.stack([right, counts], -1).astype(float))
    want = (right.sum(0) / counts.sum(0)).mean()
    assert found.balanced == pytest.approx(want)
    drawn = [draw.integers(0, 200, 200) for _ in range(2000)]
    means = [(right[k].sum(0) / counts[k].sum(0)).mean() for k in drawn]
    assert found.sure is not None
    assert found.sure.low == pytest.approx(np.quantile(means, 0.025), abs=0.01)
    assert found.sure.high == pytest.approx(np.quantile(means, 0.975), abs=0.01)


def test_what_the_suite_is_about_takes_its_accuracy_and_chance_does_not(lab):
    found = lab.erase_concept(sentences(900), plural, kinds="c1")
    (row,) = found.kinds
    assert row.read > 0.99
    # Carried from word to word it is written anew in other directions: one map leaves some of it.
    assert row.balanced_after < 0.95
    assert row.accuracy == 1.0
    assert row.accuracy_after < 0.75
    assert row.accuracy_control > 0.95
    # Which way predictions move as a whole depends on how a processor rounded in training.
    assert abs(row.loss_after - row.loss) > 2 * abs(row.loss_control - row.loss)
    assert found.items == len(lab.items.items)


@pytest.mark.parametrize("concept", ["SUBJ", "next:NOUN", "near", "next:near"])
def test_tags_and_words_are_told_of_what_is_read_or_comes(lab, concept):
    name = concept.removeprefix("next:")
    read = read_sentences(lab.subject, sentences(6))
    made = told_concept(lab.subject, read, concept)
    at = {"SUBJ": 1, "near": 2, "NOUN": 4}[name] - concept.startswith("next:")
    for text in made.parts[0]:
        want = [0] * 6
        want[at] = 1
        if concept.startswith("next:"):
            want[-1] = -1
        assert text.labels.tolist() == want
    assert ("comes next" in made.about) == concept.startswith("next:")
    held, chance = (np.concatenate([one.labels for one in some[0]])
                    for some in (made.parts, made.by_chance))  # fmt: skip
    assert (chance >= 0).tolist() == (held >= 0).tolist()


def test_a_fresh_probe_is_one_of_other_texts(lab):
    """Of the texts that were learned from nothing is left; of others little."""
    made = told_concept(lab.subject, read_sentences(lab.subject, sentences(600)), "SUBJ")
    eraser = fitted(lab.reader, made.parts[0], "h1")
    erasing = lab.reader.editing("h1", eraser)
    own = told(erasing, made.parts[0], made.parts[0], "h1")
    assert own.share == pytest.approx(5 / 6, abs=0.02)
    assert told(lab.reader, made.parts[1], made.parts[2], "h1").share > 0.99


def test_reading_with_an_edit_is_what_a_whole_trace_says(lab):
    ids = [0, 1, 13, 0, 9]
    model = lab.subject.model
    edits = [StateEdit("c1", t, lambda v: v * 0.5) for t in range(5)]
    want = model.trace(torch.tensor(ids)[:, None], edits=edits)
    reader = lab.reader.editing("c1", lambda v: v * 0.5)
    for _, level in reader.levels([ids], ["c1", "h1"]):
        for kind in ("c1", "h1"):
            torch.testing.assert_close(level.states[kind][0], want.states[kind][level.depth - 1, 0])


def test_the_contrast_of_a_suite_is_a_concept(lab):
    found = lab.erase_concept(sentences(30), "contrast", kinds="c1")
    assert "contrast" in found.about
    assert found.majority == pytest.approx(0.5, abs=0.01)
    assert found.kinds[0].accuracy_after < 0.8


def test_what_cannot_be_erased_is_refused_in_one_line(lab):
    some = sentences(30)
    for given, texts, why in (
        ("QQ", some, "no tag of the corpus, no group of labels and no word 'QQ'"),
        (lambda one: [True], some, "told of 1 words of a sentence that has 6"),
        ("SUBJ", some[:2], "too few"),
        ("SUBJ", some, "30 or more of each"),
    ):
        with pytest.raises(RnnlensError) as error:
            lab.erase_concept(texts, given)
        assert why in str(error.value)
        assert "\n" not in str(error.value)
    with pytest.raises(RnnlensError, match="from 1 up"):
        lab.erase_concept(some, "SUBJ", most=0)
    with pytest.raises(RnnlensError, match="no kind"):
        lab.erase_concept(sentences(300), "SUBJ", kinds="q")


def test_a_concept_of_chance_is_not_the_concept_itself(lab):
    few = [Sentence(("the", "near") * 3) for _ in range(120)]
    with pytest.raises(RnnlensError, match="of the 2 different words of the texts none are"):
        lab.erase_concept(few, "near", kinds="c1")


def test_strange_tags_are_listed_in_one_line_and_any_number_of_texts_may_be_asked_for(lab):
    strange = [Sentence(("the", "near"), (f"\n{k}" + "y" * 99, "\x1b[31m")) for k in range(300)]
    with pytest.raises(RnnlensError, match="no word 'Q'") as error:
        lab.erase_concept(strange, "Q", most=10**30)
    assert str(error.value).isprintable()
    assert len(str(error.value)) < 800
