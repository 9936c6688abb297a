"""How the model goes on by itself, with edits and without."""

import pytest
import torch
from tests.fixtures import WORDS

from rnnlens.base.errors import RnnlensError
from rnnlens.model.traceable import StateEdit

TEXT = "the old dog sees a bird ."
LABELS = tuple(WORDS)


def test_the_model_goes_on_by_itself_before_and_after(formula):
    network, ids = formula.subject.model, formula.subject.session.vocabulary.encode(TEXT.split())
    written, read = [], list(ids)
    for _ in range(5):
        label = int(network.trace(torch.tensor(read)[:, None]).logits[-1, 0].argmax())
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
    assert edited.words[0] == LABELS[int(trace.logits[-1, 0].argmax())]
    assert edited.words != edited.before
    with pytest.raises(RnnlensError, match="201 words to go on with"):
        formula(TEXT).continuation(201)
