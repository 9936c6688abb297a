"""A single batch is split by its sequences, some of which are kept to measure with."""

from typing import Any

import pytest
import torch
from tests.letters import WORDS, LanguageModel, batches, trained
from torch import Tensor

import rnnlens
from rnnlens.base.errors import RnnlensError

pytestmark = pytest.mark.slow


class Ending(LanguageModel):
    """One prediction for a sequence."""

    def forward(self, words: Tensor) -> Any:
        made = super().forward(words)
        return made[:, -1] if self.recurrence.batch_first else made[-1]


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("form", ["rows", "flat", "whole"])
@pytest.mark.parametrize("size", [40, 7])
def test_one_large_batch_is_split_by_its_sequences(first, form, size):
    torch.manual_seed(0)
    words, targets = batches(first, count=1, size=size)[0]
    model: Any = LanguageModel(first)
    if form == "flat":
        targets = targets.reshape(-1)
    elif form == "whole":
        model, targets = Ending(first), (words if first else words.T)[:, 0]
    model = trained(model, [(words, targets)], 60)
    lens = rnnlens.fit(model, [(words, targets)], WORDS, inputs=WORDS, epochs=1)
    held = -(-size // 10)
    assert sum(lens.subject.session.vocabulary.counts) == 7 * (size - held)


def test_a_batch_of_one_sequence_cannot_be_split():
    data = batches(count=1, size=1)
    with pytest.raises(RnnlensError, match=r"too few batches .* give two or more, or give valid="):
        rnnlens.fit(LanguageModel(), data, WORDS, epochs=1)


def test_a_batch_whose_sequences_are_not_read_alone_is_not_split():
    class Mixed(LanguageModel):
        def forward(self, words: Tensor) -> Any:
            x = self.embedding(words)
            return self.readout(self.recurrence(x + x.mean((0, 1)))[0])

    with pytest.raises(RnnlensError, match="too few batches"):
        rnnlens.fit(Mixed(), batches(count=1), WORDS, epochs=1)
