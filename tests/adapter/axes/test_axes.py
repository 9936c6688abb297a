"""How targets lie beside states: brought into one order, and told by a batch."""

import warnings
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.letters import (
    BothWays,
    Classifier,
    Flipped,
    LanguageModel,
    Packed,
    Sorted,
    Turning,
    batches,
    trained,
)
from tests.sampling import sampled
from torch import Tensor, nn

from rnnlens.adapter import Adapter
from rnnlens.adapter.axes.axes import Axes
from rnnlens.adapter.batches import NONE, most_telling
from rnnlens.base.errors import RnnlensError
from rnnlens.model.traceable import Trace

ALL = ("x", *(f"{letter}1" for letter in "fioglsch"))


def axes(first: bool | None = None, whole: bool = False, steps: int = 1) -> Axes:
    return Axes(("x",), first, first, steps, whole)


def traced(steps: int, sequences: int, lengths: Tensor | None = None) -> Trace:
    return Trace({"x": torch.zeros(steps, sequences, 1)}, lengths)


sizes = st.integers(1, 5)


@given(sizes, sizes, st.booleans(), st.sampled_from(["2-D", "flat", "turned"]))
def test_targets_in_any_order_are_brought_into_time(steps, sequences, first, form):
    truth = torch.arange(steps * sequences).reshape(steps, sequences)
    targets = truth.T if first else truth
    if form == "flat":
        targets = targets.reshape(-1)
    elif form == "turned" and steps != sequences:
        targets = targets.T  # unlike the batch that told, and its shape tells
    if form == "flat" and sequences == steps * sequences:
        expected = targets.expand(steps, sequences)  # as good as one for a whole sequence
    else:
        expected = truth
    assert torch.equal(axes(first).in_time(targets, traced(steps, sequences)), expected)


@given(st.lists(st.integers(1, 5), min_size=1, max_size=5), st.integers(0, 3), st.booleans())
def test_what_lies_past_a_sequences_end_is_no_target(lengths, longer, first):
    steps, sequences = max(lengths), len(lengths)
    targets = torch.arange((steps + longer) * sequences).reshape(steps + longer, sequences)
    found = axes(first).in_time(
        targets.T if first else targets, traced(steps, sequences, torch.tensor(lengths))
    )
    for t in range(steps):
        for b in range(sequences):
            assert found[t, b] == (targets[t, b] if t < lengths[b] else NONE)


@given(sizes, sizes)
def test_one_target_for_a_whole_sequence_is_that_of_all_its_states(steps, sequences):
    targets = torch.arange(sequences)
    found = axes(None, whole=True).in_time(targets, traced(steps, sequences))
    assert torch.equal(found, targets[None].expand(steps, sequences))


@pytest.mark.parametrize("shape", [(3, 5), (4, 4), (5, 5), (3, 4, 1), (5,)])
def test_targets_that_do_not_fit_are_refused(shape):
    with pytest.raises(RnnlensError, match=r"do not fit states of 4 timesteps and 3 sequences"):
        axes().in_time(torch.zeros(shape), traced(4, 3))


def test_states_of_whole_sequences_are_counted_one_by_one():
    words, targets = torch.ones(4, 7, dtype=torch.long), torch.tensor([1, 2, -100, 0])
    assert axes(whole=True, steps=9).states_of((words, targets)) == 3 * 7
    assert axes(whole=True, steps=9).states_of((torch.zeros(4, 7), targets)) == 3 * 9
    each = targets[:, None].expand(4, 7)
    assert axes(steps=9).states_of((words, each)) == 3 * 7


@pytest.mark.slow
@pytest.mark.parametrize("sequences_first", [True, False])
@pytest.mark.parametrize("size", [7, 8])
@pytest.mark.parametrize("rounds", [0, 1])
@pytest.mark.parametrize("cell", [nn.LSTM, nn.RNN])
def test_a_language_model_is_known_by_its_words(sequences_first, size, rounds, cell):
    torch.manual_seed(0)
    data = batches(sequences_first, size=size)
    model = trained(LanguageModel(sequences_first, cell), data, rounds)
    told = Adapter(model).align(data[0])
    assert told.sequences_first is sequences_first
    assert told.follows
    assert not told.whole
    assert (told.steps, told.fed) == (7, (1, -1) if sequences_first else (-1, 1))
    assert told.kinds == (ALL if cell is nn.LSTM else ("x", "h1"))


def test_what_is_asked_of_a_word_itself_does_not_follow():
    words = batches()[0][0]
    assert not Adapter(LanguageModel()).align((words, words)).follows
    other = words.roll(1, 0)
    assert not Adapter(LanguageModel()).align((words, other)).follows


def sentences(shortest: int, longest: int) -> tuple[Tensor, Tensor]:
    """`<s> a b c` and `a b c </s>`, padded, as tutorials have them."""
    random = torch.Generator().manual_seed(0)
    lengths = torch.randint(shortest, longest + 1, (8,), generator=random).tolist()
    words = torch.zeros(8, longest + 1, dtype=torch.long)
    targets = torch.full_like(words, -100)
    for row, n in enumerate(lengths):
        start = int(torch.randint(4, (1,), generator=random))
        letters = 2 + (start + torch.arange(n)) % 4
        words[row, 0], words[row, 1 : n + 1] = 1, letters
        targets[row, :n], targets[row, n] = letters, 1
    return words, targets


@pytest.mark.parametrize(("shortest", "longest"), [(1, 2), (2, 4), (2, 20)])
def test_short_sentences_are_those_of_a_language_model(shortest, longest):
    told = Adapter(LanguageModel()).align(sentences(shortest, longest))
    assert told.follows
    assert told.sequences_first


@pytest.mark.slow
def test_without_words_the_modules_own_prediction_tells():
    class OneHot(LanguageModel):
        def forward(self, words: Tensor) -> Any:
            return self.readout(self.recurrence(words @ self.embedding.weight)[0])

    torch.manual_seed(0)
    for sequences_first in (True, False):
        data = [(F.one_hot(x, 6).float(), t) for x, t in batches(sequences_first, size=7)]
        told = Adapter(trained(OneHot(sequences_first), data)).align(data[0])
        assert told.sequences_first is sequences_first
        assert told.fed == ((1, -1, 6) if sequences_first else (-1, 1, 6))
        assert not told.follows


def test_one_target_a_sequence():
    for size in (7, 8):
        words = batches(size=size)[0][0]
        told = Adapter(Classifier()).align((words, words[:, 0]))
        assert told.whole
        assert told.sequences_first
        assert (told.steps, told.fed, told.follows) == (7, (1, -1), False)


@pytest.mark.parametrize(
    ("module", "said"), [(Flipped(), "reads from the end"), (Sorted(True), "sorts its sequences")]
)
@pytest.mark.parametrize("size", [5, 7, 9])
def test_states_in_another_order_than_targets_are_refused(module, said, size):
    with pytest.raises(RnnlensError, match=said):
        Adapter(module).align(batches(size=size)[1])


def test_a_part_that_flips_is_left_out():
    with pytest.warns(UserWarning, match=r"beside the module's targets: back\.x, back\.r1, .*h1$"):
        told = Adapter(BothWays()).align(batches()[0])
    assert told.kinds == ("x", *(f"there.{letter}1" for letter in "rznkwh"))


class Pooled(nn.Module):
    """The second part reads every other state; the prediction is of the first or of the last."""

    def __init__(self, whole: bool) -> None:
        super().__init__()
        self.embedding, self.whole = nn.Embedding(6, 7), whole
        self.one, self.two = nn.RNN(7, 9, batch_first=True), nn.RNN(9, 9, batch_first=True)
        self.readout = nn.Linear(9, 6)

    def forward(self, words: Tensor) -> Any:
        every, _ = self.one(self.embedding(words))
        other, _ = self.two(every[:, ::2])
        return self.readout(other[:, -1] if self.whole else every)


def test_a_part_with_other_timesteps_is_left_out():
    words, targets = batches()[0]
    with pytest.warns(UserWarning, match=r"targets: two.x, two.h1$"):
        told = Adapter(Pooled(whole=False)).align((words, targets))
    assert told.kinds == ("x", "one.h1")
    with pytest.warns(UserWarning, match=r"targets: two.x, two.h1$"):
        told = Adapter(Pooled(whole=True)).align((words, words[:, 0]))
    assert told.kinds == ("x", "one.h1")
    assert (told.whole, told.steps) == (True, 7)


def test_padding_to_a_fixed_length_is_of_no_meaning():
    words, targets = batches()[0]
    lengths = torch.tensor([2, 5, 4, 3, 2, 5, 1, 4])
    adapter = Adapter(Packed())
    told = adapter.align(((words, lengths), targets))
    assert (told.sequences_first, told.steps, told.follows) == (True, 5, True)
    found = told.in_time(targets, adapter.trace((words, lengths)))
    assert (found >= 0).sum(0).tolist() == lengths.tolist()
    for b, n in enumerate(lengths.tolist()):
        assert torch.equal(found[:n, b], targets[b, :n])


@pytest.mark.slow
@pytest.mark.parametrize("flat", sampled([True, False], True))
@settings(deadline=None)
@given(steps=st.integers(2, 5), sequences=st.integers(2, 5))
def test_the_logits_of_a_turning_module_are_beside_its_states(flat, steps, sequences):
    torch.manual_seed(0)
    module = Turning(flat)
    adapter = Adapter(module)
    words, targets = batches(size=sequences, length=steps)[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert adapter.align((words, targets)).sequences_first
    read = adapter.trace(words)
    torch.testing.assert_close(read.logits, module.readout(read.states["h1"]), rtol=0, atol=1e-5)


def test_a_module_that_sorts_shows_it_in_a_batch_that_is_out_of_order():
    """The largest batch may be in order by chance; the one with most padding is looked at too."""
    large = torch.tensor([[1, 2, 3, 1], [2, 3, 4, 2], [3, 4, 5, 3], [4, 5, 1, 4]])
    small = torch.tensor([[1, 2, 5], [2, 3, 1], [3, 4, 2]])
    ragged = small.masked_fill(torch.tensor([[False, False, True]] * 3), NONE)
    made = [(large, large), (small, ragged), (large[:2], large[:2])]
    assert [len(inputs) for inputs, _ in most_telling(made)] == [4, 3, 2]
    Adapter(Sorted(True)).align(made[0])
    with pytest.raises(RnnlensError, match="sorts its sequences"):
        Adapter(Sorted(True)).align(*most_telling(made))
