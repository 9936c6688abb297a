"""Modules that sort their sequences by length before they read them."""

from typing import Any

import pytest
import torch
from tests.letters import LanguageModel, V, batches
from torch import Tensor
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from rnnlens.adapter import Adapter
from rnnlens.base.errors import RnnlensError


class Sorting(LanguageModel):
    """Sorts by length before it packs, as tutorials have it, and puts its logits back in order."""

    def __init__(self, early: bool = True, scale: float = 1.0, **options: Any) -> None:
        super().__init__(**options)
        self.early, self.scale = early, scale

    def forward(self, words: Tensor, lengths: Tensor) -> Any:  # type: ignore[override]
        lengths, order = lengths.sort(descending=True)
        x = self.embedding(words[order]) if self.early else self.embedding(words)[order]
        x = pack_padded_sequence(x * self.scale, lengths.cpu(), batch_first=True)
        read = pad_packed_sequence(self.recurrence(x)[0], batch_first=True)[0]
        return self.readout(read[order.argsort()])


LENGTHS = torch.tensor([2, 5, 4, 3, 2, 5, 1, 4])


@pytest.mark.slow
@pytest.mark.parametrize("early", [True, False])
@pytest.mark.parametrize("options", [{}, {"bidirectional": True, "num_layers": 2}])
def test_the_states_of_a_module_that_sorts_are_in_the_order_of_the_batch(early, options):
    torch.manual_seed(0)
    module = Sorting(early, **options)
    adapter = Adapter(module)
    for words, targets in batches()[:3]:
        trace = adapter.trace((words, LENGTHS))
        assert trace.lengths is not None
        assert trace.lengths.tolist() == LENGTHS.tolist()
        last = "2" if options else "1"
        tops = [trace.states[k] for k in (f"h{last}", f"h{last}<") if k in trace.states]
        valid = torch.arange(5)[:, None] < LENGTHS
        expected = module.readout(torch.cat(tops, -1))[valid]
        assert trace.logits is not None
        torch.testing.assert_close(trace.logits[valid], expected, rtol=0, atol=1e-5)
        x = module.embedding(words).transpose(0, 1)[:5]
        assert torch.equal(trace.states["x"][valid], x[valid])
        adapter.align(((words, LENGTHS), targets))


def test_a_module_whose_sorting_cannot_be_told_is_refused_and_the_remedy_works():
    words, targets = batches()[0]
    with pytest.raises(RnnlensError, match=r"it sorts|the module sorts .* enforce_sorted=False"):
        Adapter(Sorting(scale=2.0)).trace((words, LENGTHS))

    class Mended(Sorting):
        def forward(self, words: Tensor, lengths: Tensor) -> Any:  # type: ignore[override]
            x = self.embedding(words) * self.scale
            x = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
            return self.readout(pad_packed_sequence(self.recurrence(x)[0], batch_first=True)[0])

    module = Mended(scale=2.0)
    assert Adapter(module).align(((words, LENGTHS), targets)).words_first is True
    torch.testing.assert_close(module(words, LENGTHS), Sorting.forward(module, words, LENGTHS))


def test_padding_tells_how_a_module_sorts_that_counts_its_words_itself():
    class Counting(Sorting):
        def forward(self, words: Tensor) -> Any:  # type: ignore[override]
            return super().forward(words, (words != 0).sum(1))

    torch.manual_seed(0)
    module = Counting()
    words = batches()[0][0].masked_fill(torch.arange(7) >= LENGTHS[:, None], 0)
    trace = Adapter(module).trace(words)
    valid = torch.arange(5)[:, None] < LENGTHS
    x = module.embedding(words).transpose(0, 1)[:5]
    assert torch.equal(trace.states["x"][valid], x[valid])
    assert trace.logits is not None
    torch.testing.assert_close(trace.logits[valid], module.readout(trace.states["h1"])[valid])


def test_logits_that_stay_sorted_are_refused_and_the_remedy_works():
    class Left(Sorting):
        def forward(self, words: Tensor, lengths: Tensor) -> Any:  # type: ignore[override]
            order = lengths.sort(descending=True)[1]
            return {"scores": super().forward(words, lengths)[order], "order": order}

    words, targets = batches()[0]
    with pytest.raises(RnnlensError, match=r"in another order than it is fed; .* or in logits="):
        Adapter(Left(), labels=range(V)).align(((words, LENGTHS), targets))
    adapter = Adapter(Left(), logits=lambda made: made["scores"][made["order"].argsort()])
    assert adapter.align(((words, LENGTHS), targets)).words_first is True
