"""Large batches: how a module is read is found out on a few of their sequences."""

from typing import Any

import pytest
import torch
from tests.letters import LanguageModel, Packed
from torch import Tensor, nn

from rnnlens.adapter import Adapter
from rnnlens.adapter.batches import Batch
from rnnlens.adapter.user_model import UserModel
from rnnlens.probe.inspect import inspect_module

V = 6
SEQUENCES, STEPS = 48, 60


def large(count: int = 1, sequences: int = SEQUENCES) -> list[tuple[Tensor, Tensor]]:
    made = torch.Generator().manual_seed(3)
    words = torch.randint(0, V, (count, sequences, STEPS + 1), generator=made)
    return [(rows[:, :-1], rows[:, 1:]) for rows in words]


def test_a_few_sequences_stand_for_a_large_batch():
    words, targets = large()[0]
    adapter = Adapter(LanguageModel())
    few = Batch.of(adapter.few_sequences((words, targets)))
    assert few.inputs.shape == few.targets.shape == (8, STEPS)
    chosen = torch.arange(8) * SEQUENCES // 8
    assert torch.equal(few.inputs, words[chosen])
    assert torch.equal(few.targets, targets[chosen])
    assert adapter.align(few) == Adapter(LanguageModel()).align((words, targets))


def test_a_small_batch_stays_as_it_is():
    pair = large(sequences=8)[0]
    assert Adapter(LanguageModel()).few_sequences(pair)[0] is pair[0]


class Mixing(LanguageModel):
    """Reads in every sequence what all others read, too."""

    def forward(self, words: Tensor) -> Any:
        x = self.embedding(words)
        return self.readout(self.recurrence(x + 0.1 * x.mean(0, keepdim=True))[0])


def test_sequences_that_are_read_otherwise_among_others_stay_together():
    pair = large()[0]
    assert Adapter(Mixing()).few_sequences(pair)[0] is pair[0]


def test_lengths_are_cut_with_the_words():
    words, targets = large()[0]
    lengths = STEPS - torch.arange(SEQUENCES)
    few = Batch.of(Adapter(Packed()).few_sequences(((words, lengths), targets)))
    chosen = torch.arange(8) * SEQUENCES // 8
    assert torch.equal(few.inputs[1], lengths[chosen])


class Fixed(nn.Module):
    """Takes no fewer sequences than it was made for."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.start = LanguageModel(), nn.Parameter(torch.zeros(SEQUENCES, 1, V))

    def forward(self, words: Tensor) -> Tensor:
        out: Tensor = self.inner(words) + self.start
        return out


def test_a_module_of_a_fixed_number_of_sequences_reads_whole_batches():
    pair = large()[0]
    assert Adapter(Fixed()).few_sequences(pair)[0] is pair[0]


@pytest.mark.filterwarnings("ignore")
def test_finding_out_how_a_module_is_read_reads_few_large_batches():
    module, train, seen = LanguageModel(), large(12), list[tuple[int, ...]]()
    module.register_forward_pre_hook(lambda _, given: seen.append(tuple(given[0].shape)))
    user = UserModel(module, labels=[f"w{k}" for k in range(V)])
    _, dataset, _ = inspect_module(user, {"train": train, "valid": train[:1]})
    # Two batches of which a few sequences are taken, and four that are compared with the unigram.
    assert seen.count((SEQUENCES, STEPS)) == 6
    stream = dataset.stream("train", "output")
    assert torch.equal(stream.given_frequencies(), stream.frequencies())
