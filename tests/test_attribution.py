"""The scoreboard of readings: exact Shapley values, and words that are stored by construction."""

import numpy as np
import torch
from benchmarks.attribution import METHODS, by_construction, keeper, shapley


def test_shapley_values_share_out_the_whole_and_treat_words_alike():
    subject = keeper("lstm", 0)
    ids = [5, 1, 7, 5]
    values = shapley(subject.model, ids, (1, 2), 0)
    readout = subject.classifier
    assert readout is not None
    weight = readout.weight[1] - readout.weight[2]
    logits = [
        float(subject.model.trace(torch.tensor(some)[:, None]).prediction[-1, 0] @ weight)
        for some in (ids, [0] * 4)
    ]
    assert np.isclose(values.sum(), logits[0] - logits[1], atol=1e-5)
    orders = [[1, 0], [0, 1]]  # of two words: both ways of adding one after the other
    alone = shapley(subject.model, [1, 7], (1, 2), 0)
    expected = np.zeros(2)
    for order in orders:
        read, before = [0, 0], None
        for word in [None, *order]:
            if word is not None:
                read[word] = [1, 7][word]
            now = float(subject.model.trace(torch.tensor(read)[:, None]).prediction[-1, 0] @ weight)
            if word is not None and before is not None:
                expected[word] += (now - before) / 2
            before = now
    np.testing.assert_allclose(alone, expected, atol=1e-5)


def test_the_word_that_was_stored_is_named_by_what_is_stored_and_by_reading_again():
    for cell in ("lstm", "gru"):
        right = by_construction(cell, 8)
        assert list(right) == list(METHODS)
        assert right["stored"] == right["path"] == right["without"] == 1
