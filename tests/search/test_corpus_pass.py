"""The one pass over a corpus: states are those of each sentence alone, in their places."""

import numpy as np
import pytest
import torch
from tests.search.conftest import CPU

from rnnlens.model.text import text_states
from rnnlens.search.corpus_pass import labels_after, labels_right, traced

TEXTS = (
    "the old dog sees a bird",
    "now",
    "she said so",
    "dogs see the small bird now .",
    "the dog",
)


@pytest.mark.parametrize("kinds", [None, ("h2", "y")])
def test_states_are_those_of_each_sentence_alone(formula, kinds):
    side = formula.subject.session.text
    sentences = [side.encode(text.split()) for text in TEXTS]
    alone = [text_states(formula.subject.model, side, ids) for ids in sentences]
    every = {kind: torch.cat([states[kind] for states in alone]) for kind in alone[0]}
    batches = list(traced(formula.subject.model, side, sentences, CPU, kinds, words=6))
    assert len(batches) > 2
    rows = np.concatenate([batch.rows for batch in batches])
    assert sorted(rows) == list(range(sum(map(len, sentences))))
    for batch in batches:
        assert sum(map(len, batch.sentences)) == len(batch.rows)
        assert set(batch.states) == set(kinds or every)
        for kind, states in batch.states.items():
            torch.testing.assert_close(states, every[kind][batch.rows], rtol=0, atol=1e-5)


def test_labels_are_those_so_many_words_later(formula):
    side = formula.subject.session.text
    sentences = [side.encode(text.split()) for text in TEXTS[1:3]]
    (now,), (she, said, so) = sentences
    assert labels_after(side, sentences, 1).tolist() == [-1, said, so, -1]
    assert labels_after(side, sentences, 0).tolist() == [now, she, said, so]
    assert labels_after(side, sentences, -2).tolist() == [-1, -1, -1, she]


@pytest.mark.parametrize("told", [(), (0,), (0, 1)])
def test_labels_that_texts_tell_stand_beside_those_of_texts_that_tell_none(
    formula, monkeypatch, told
):
    """As those of each text alone."""
    side, answers = formula.subject.session.text, formula.subject.answers("output")
    sentences = [side.encode(text.split()) for text in TEXTS[1:3]]
    say = {tuple(sentences[k]): [k + 5] * len(sentences[k]) for k in told}
    monkeypatch.setattr(type(side), "told", lambda _, ids, *__: say.get(tuple(ids)))
    together = labels_right(side, sentences, "output", answers)
    alone = [labels_right(side, [ids], "output", answers) for ids in sentences]
    assert together.tolist() == np.concatenate(alone).tolist()
    assert together.tolist()[0] == (5 if 0 in told else -1)
    assert together.tolist()[1] == (6 if 1 in told else sentences[1][1])
