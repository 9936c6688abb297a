"""How the model goes on by itself, with edits and without."""

import math
import re

import numpy as np
import pytest
import torch
from tests.fixtures import WORDS

import rnnlens
from rnnlens.ask.continuation import noise
from rnnlens.base.errors import RnnlensError
from rnnlens.model.traceable import StateEdit

TEXT = "the old dog sees a bird ."
LABELS = tuple(WORDS)


def without_unknown(logits):
    """What a model says last, without the label of unknown words."""
    last = logits[-1, 0].double().clone()
    last[LABELS.index("UNK")] = -torch.inf
    return last


def test_the_model_goes_on_by_itself_before_and_after(formula):
    network, ids = formula.subject.model, formula.subject.session.vocabulary.encode(TEXT.split())
    written, read = [], list(ids)
    for _ in range(5):
        label = int(without_unknown(network.trace(torch.tensor(read)[:, None]).logits).argmax())
        written.append(LABELS[label])
        read.append(label)
    plain = formula(TEXT).continuation(5)
    assert (list(plain.words), list(plain.before), str(plain)) == (
        written,
        written,
        " ".join(written),
    )
    edited = formula(TEXT, edits=["c2@7*-3"]).continuation(5)
    assert list(edited.before) == written
    trace = network.trace(
        torch.tensor(ids)[:, None],
        edits=[StateEdit("c2", 6, lambda v: v * -3)],
    )
    assert edited.words[0] == LABELS[int(without_unknown(trace.logits).argmax())]
    assert edited.words != edited.before
    with pytest.raises(RnnlensError, match="201 words to go on with"):
        formula(TEXT).continuation(201)


def noise_of(seed: int, sample: int, step: int, label: int) -> float:
    """The noise of one label, by whole numbers of Python."""

    def mixed(x: int) -> int:
        x = (x ^ (x >> 16)) * 0x7FEB352D % 2**32
        x = (x ^ (x >> 15)) * 0x846CA68B % 2**32
        return x ^ (x >> 16)

    begin = mixed(mixed(mixed(seed) ^ sample) ^ step)
    bits = mixed((begin + label * 0x9E3779B9) % 2**32)
    return -math.log(-math.log((bits + 0.5) / 2**32))


def test_a_sample_is_what_a_plain_loop_draws(formula):
    network, ids = formula.subject.model, formula.subject.session.vocabulary.encode(TEXT.split())
    seed, wanted = 2**32 - 5, []
    for sample in range(3):
        read = list(ids)
        for step in range(4):
            logits = without_unknown(network.trace(torch.tensor(read)[:, None]).logits).tolist()
            drawn = [x + noise_of(seed, sample, step, k) for k, x in enumerate(logits)]
            read.append(drawn.index(max(drawn)))
        wanted.append(tuple(LABELS[label] for label in read[len(ids) :]))
    goes_on = formula(TEXT).continuation(4, samples=3, seed=seed)
    assert goes_on.samples == goes_on.samples_before == tuple(wanted)
    assert goes_on.left_out == "UNK"
    assert f"sample 3: {' '.join(wanted[2])}" in str(goes_on)
    assert formula(TEXT).continuation(4, samples=3, seed=1).samples != tuple(wanted)
    edited = formula(TEXT, edits=["c2@7*-3"]).continuation(4, samples=3, seed=seed)
    assert edited.samples_before == tuple(wanted)
    assert edited.samples != edited.samples_before
    assert f"sample after 1: {' '.join(edited.samples[0])}" in edited.lines()


def test_labels_are_drawn_as_often_as_they_are_probable():
    logits = torch.tensor([0.0, 1.0, 2.0, -1.0])
    drawn = [(noise(seed, 20, step, 4) + logits.numpy()).argmax(1)
             for seed in range(50) for step in range(20)]  # fmt: skip
    often = np.bincount(np.concatenate(drawn), minlength=4) / 20_000
    assert often == pytest.approx(logits.softmax(0).numpy(), abs=0.01)


def test_where_nothing_is_carried_or_numbers_follow_it_goes_on_too(formulas):
    waves = rnnlens.load("waves")("0.1 0.2 0.3").continuation(3, samples=2)
    assert (len(waves.words), waves.samples, waves.left_out) == (3, (), None)
    tags = rnnlens.load("english-tags")("the dog")
    with pytest.raises(RnnlensError, match="does not predict the words that it reads"):
        tags.continuation(3, samples=2)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"samples": 10**9}, "1000000000 samples: give a number from 0 to 20"),
        ({"samples": -1}, "-1 samples: give a number from 0 to 20"),
        ({"seed": 2**32}, "the seed is 4294967296: give a whole number from 0 to 4,294,967,295"),
        ({"seed": -1}, "the seed is -1: give a whole number"),
        ({"seed": 1.5}, "the seed is 1.5: give a whole number"),
        ({"seed": True}, "the seed is True: give a whole number"),
        ({"seed": 10**5000}, "the seed is beyond 10^20"),
        ({"words": 0}, "0 words to go on with"),
    ],
)
def test_numbers_beyond_what_is_computed_are_refused(formula, asked, told):
    with pytest.raises(RnnlensError, match=re.escape(told)) as refused:
        formula(TEXT).continuation(**asked)
    assert len(str(refused.value)) < 140
