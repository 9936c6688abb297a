"""Changing single words tells how they lie beside the states, where shapes do not."""

from typing import Any, NamedTuple

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.letters import BothWays, Flipped, LanguageModel, Packed, Sorted, Turning
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from rnnlens.adapter import Adapter
from rnnlens.adapter.axes.alignment import aligned
from rnnlens.base.errors import RnnlensError


def words_like(*shape: int) -> Tensor:
    """Neighbours always differ, so that there is something to exchange."""
    return 1 + torch.arange(torch.Size(shape).numel()).reshape(shape) % 5


def told(
    module: nn.Module, words: Tensor, batch: Any = None, there: Tensor | None = None, **how: Any
) -> Any:
    batch = words if batch is None else batch
    there = torch.ones_like(words).bool() if there is None else there
    return aligned(Adapter(module, **how), batch, words, there)


def _lengths(module: nn.Module, batch: Any) -> Any:
    return module(batch[0], torch.tensor(batch[1]))


@pytest.mark.slow
@given(
    st.integers(1, 6), st.integers(1, 6), st.booleans(), st.booleans(),
    st.sampled_from([nn.LSTM, nn.GRU]), st.integers(0, 99),
)  # fmt: skip
@settings(max_examples=40, deadline=None)
def test_the_order_is_that_of_the_module(sequences, steps, first, both, cell, seed):
    torch.manual_seed(seed)
    module = LanguageModel(first, cell, bidirectional=both)
    words = words_like(sequences, steps) if first else words_like(steps, sequences)
    found = told(module, words)
    assert found.sequences_first is (first if sequences * steps > 1 else None)
    assert not found.astray
    assert found.readers is None or {"x", "h1"} <= found.readers


@pytest.mark.slow
@given(st.integers(2, 5), st.integers(2, 5), st.booleans(), st.data())
@settings(max_examples=25, deadline=None)
def test_words_without_a_target_tell_as_well(sequences, steps, first, data):
    shape = (sequences, steps) if first else (steps, sequences)
    words, there = words_like(*shape), torch.zeros(shape, dtype=torch.bool)
    there[tuple(data.draw(st.integers(0, n - 1)) for n in shape)] = True
    assert told(LanguageModel(first), words, there=there).sequences_first is first


class SortedByLength(LanguageModel):
    """As many a tutorial has it, before packing could sort; what it reads is no plain embedding."""

    def forward(self, words: Tensor, lengths: Tensor) -> Any:  # type: ignore[override]
        lengths, order = lengths.sort(descending=True, stable=True)
        x = pack_padded_sequence(self.embedding(words[order]).tanh(), lengths, batch_first=True)
        read = pad_packed_sequence(self.recurrence(x)[0], batch_first=True)[0]
        return self.readout(read[order.argsort()])


def test_padding_that_looks_like_words_hides_nothing():
    """All but the first sequence is padding after two words at most."""
    words, lengths = words_like(9, 40), torch.tensor([40, 2, 2, 1, 2, 2, 1, 2, 2])
    with pytest.raises(RnnlensError, match=r"it sorts its sequences, .* enforce_sorted=False"):
        told(SortedByLength(), words, (words, lengths.tolist()), feed=_lengths)
    found = told(Packed(), words, (words, lengths))
    assert (found.sequences_first, found.astray) == (True, frozenset())


@pytest.mark.parametrize("flat", [True, False])
@pytest.mark.parametrize(("sequences", "steps"), [(5, 5), (4, 6), (2, 2)])
def test_the_order_of_the_logits_is_settled_on_the_way(flat, sequences, steps):
    torch.manual_seed(0)
    module, words = Turning(flat), words_like(sequences, steps)
    adapter = Adapter(module)
    aligned(adapter, words, words, torch.ones_like(words).bool())
    traced = adapter.trace(words)
    assert traced.logits is not None
    expected = module.readout(traced.states["h1"])
    torch.testing.assert_close(traced.logits, expected, rtol=0, atol=1e-5)


def test_the_order_of_a_named_output_is_settled_too():
    torch.manual_seed(0)
    module, words = Turning(flat=False), words_like(5, 5)
    adapter = Adapter(module, kinds=["readout.0"])
    aligned(adapter, words, words, torch.ones_like(words).bool())
    states = adapter.trace(words).states
    torch.testing.assert_close(states["readout.0"], module.readout[0](states["h1"]))


@pytest.mark.parametrize(("sequences", "steps"), [(8, 7), (5, 5), (9, 3), (3, 9), (2, 2), (2, 6)])
@pytest.mark.parametrize("both", [True, False])
def test_a_module_that_flips_its_sequences_is_refused(sequences, steps, both):
    with pytest.raises(RnnlensError, match=r"reads word \[\d, \d\] .* in x: it reads from the end"):
        told(Flipped(bidirectional=both), words_like(sequences, steps))


def test_a_module_that_sorts_its_sequences_is_refused():
    words = torch.tensor([[1, 2, 5], [1, 2, 4], [3, 2, 3], [1, 5, 2]])
    with pytest.raises(RnnlensError, match=r"reads word \[\d, \d\] .* it sorts its sequences"):
        told(Sorted(scaled=True), words)
    told(Sorted(scaled=True), words.flip(0))  # is sorted already
    assert told(Sorted(), words).sequences_first is True  # what it reads tells how it sorted


@pytest.mark.parametrize(("sequences", "steps"), [(8, 7), (5, 5), (9, 3), (3, 9)])
def test_a_second_part_that_flips_is_told_apart(sequences, steps):
    found = told(BothWays(), words_like(sequences, steps))
    assert found.sequences_first is True
    assert found.astray == {f"back.{letter}" for letter in "x r1 z1 n1 k1 w1 h1".split()}


def test_sequences_that_are_mixed_tell_nothing():
    class Mixed(LanguageModel):
        def forward(self, words: Tensor) -> Any:
            x = self.embedding(words)
            return self.readout(self.recurrence(x + x.mean((0, 1)))[0])

    found = told(Mixed(), words_like(4, 5))
    assert (found.sequences_first, found.astray) == (None, frozenset())


def test_a_batch_of_one_word_tells_nothing():
    assert told(LanguageModel(), torch.ones(4, 5, dtype=torch.long)).sequences_first is None


class Fed(NamedTuple):
    scale: float
    words: Tensor


class Scaled(LanguageModel):
    def forward(self, scale: float, words: Tensor) -> Any:  # type: ignore[override]
        assert isinstance(scale, float)
        return super().forward(words) * scale


@pytest.mark.parametrize(
    "batch", [lambda words: (2.0, words), lambda words: [2.0, words], lambda words: Fed(2.0, words),
              lambda words: {"scale": 2.0, "words": words}]
)  # fmt: skip
def test_words_are_changed_wherever_they_are_in_a_batch(batch):
    words = words_like(4, 4)
    kept, fed = words.clone(), batch(words)
    assert told(Scaled(), words, fed).sequences_first is True
    assert torch.equal(words, kept)


def test_nothing_stays_assumed_and_the_module_is_as_before():
    adapter, words = Adapter(LanguageModel()), words_like(5, 5)
    before = adapter.trace(words).logits
    aligned(adapter, words, words, torch.ones_like(words).bool())
    assert before is not None
    torch.testing.assert_close(adapter.trace(words).logits, before)
    assert adapter.orders._assumed is None
