"""Training learns, repeats itself exactly, stops in time and refuses to go on with nonsense."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

from rnnlens.base.errors import RnnlensError
from rnnlens.corpus.batches import Split
from rnnlens.labels.sets import LabelSet
from rnnlens.model.network import Network, NetworkConfig
from rnnlens.model.train import training
from rnnlens.model.train.perplexity import model_perplexity
from rnnlens.model.train.training import Trainer, TrainingConfig

CPU = torch.device("cpu")
NOTHING_DROPPED: dict[str, Any] = dict.fromkeys(
    (f"dropout_{where}" for where in ("words", "input", "hidden", "output", "weight")), 0.0
)
Weights = dict[str, torch.Tensor]


def never() -> bool:
    return False


def nothing() -> None:
    pass


def after_each_step(note: Callable[[], object]) -> Callable[[], bool]:
    """A `stop` that looks and never stops."""

    def stop() -> bool:
        note()
        return False

    return stop


def copied(network: Network) -> Weights:
    return {name: p.clone() for name, p in network.state_dict().items()}


def equal(a: Weights, b: Weights) -> bool:
    return all(torch.equal(a[name], b[name]) for name in a)


@pytest.fixture
def trainer(random_split: Callable[..., Split]) -> Callable[..., Trainer]:
    """A trainer on 40 random sentences, 5 steps an epoch."""

    def make(**changes: Any) -> Trainer:
        config = TrainingConfig(**{"epochs": 3, "batch": 8, **changes})
        network = Network(NetworkConfig("lstm", width=6), 12).initialise(config.seed)
        return Trainer(network, random_split(), random_split(10, seed=1), config, CPU)

    return make


@pytest.mark.slow
@pytest.mark.parametrize("cell", ["lstm", "gru", "rnn"])
def test_a_grammar_is_learnt_far_better_than_by_counting_words(cell, corpus):
    network = Network(NetworkConfig(cell, width=32), len(corpus.vocabulary)).initialise(0)
    config = TrainingConfig(epochs=8, batch=8, learning_rate=0.03, average=0.9)
    made = Trainer(network, corpus.splits["train"], corpus.splits["valid"], config, CPU)
    assert made.run(never, nothing)
    prior = LabelSet.numbered(len(torch.tensor(corpus.vocabulary.counts))).prior(
        torch.tensor(corpus.vocabulary.counts)
    )
    unigram = math.exp(-prior[corpus.splits["valid"].targets()].mean())
    assert made.progress.best is not None
    assert made.progress.best < unigram / 3


def test_same_seed_same_weights_other_seed_others(trainer):
    def trained(seed: int) -> Weights:
        made = trainer(seed=seed)
        made.run(never, nothing)
        return copied(made.average)

    first = trained(0)
    assert equal(first, trained(0))
    assert not equal(first, trained(1))


def test_order_and_dropout_differ_between_epochs(trainer, monkeypatch):
    made, seen = trainer(epochs=2), []
    begin = made.dropout.begin

    def seeded(seed: int, *rest: Any) -> None:
        seen.append(seed)
        begin(seed, *rest)

    monkeypatch.setattr(made.dropout, "begin", seeded)
    orders = []
    shuffled = Split.shuffled

    def noted(split: Split, size: int, seed: tuple[int, ...]) -> Any:
        orders.append(tuple(itertools.chain(*shuffled(split, size, seed))))
        return shuffled(split, size, seed)

    monkeypatch.setattr(Split, "shuffled", noted)
    made.run(never, nothing)
    assert len(set(seen)) == 10
    assert orders[0] != orders[1]
    assert sorted(orders[0]) == list(range(40))


def test_stopping_in_memory_and_going_on_changes_nothing(trainer):
    whole, halting = trainer(), trainer()
    whole.run(never, nothing)
    stops = itertools.cycle([False, False, True])
    halts = sum(not done for done in iter(lambda: halting.run(lambda: next(stops), nothing), True))
    assert halts == 5
    assert equal(copied(whole.average), copied(halting.average))
    assert equal(whole.best, halting.best)
    assert whole.progress == halting.progress


def test_early_stopping_keeps_the_weights_of_the_best_epoch(trainer, monkeypatch):
    scores = iter([9.0, 7.0, 5.0, 6.0, 5.0, 8.0, 1.0])
    monkeypatch.setattr(training, "model_perplexity", lambda *_: next(scores))
    made, after = trainer(epochs=7, patience=3), []
    assert made.run(never, lambda: after.append(copied(made.average)))
    assert (made.progress.epoch, made.progress.best_epoch, made.progress.best) == (6, 3, 5.0)
    assert equal(made.best, after[2])
    assert not equal(made.best, after[5])
    assert made.finished


def test_without_early_stopping_every_epoch_runs(trainer):
    made, calls = trainer(epochs=4, patience=4), []
    made.run(never, lambda: calls.append(made.progress.epoch))
    assert calls == [1, 2, 3, 4]
    assert [record["epoch"] for record in made.progress.history] == calls
    best = min(made.progress.history, key=lambda record: record["valid"])
    assert (made.progress.best_epoch, made.progress.best) == (best["epoch"], best["valid"])


@pytest.mark.parametrize("warmup", [0.0, 0.2, 0.4])
def test_the_learning_rate_rises_in_a_line_and_falls_in_half_a_cosine(trainer, warmup):
    made = trainer(epochs=4, patience=4, learning_rate=0.5, warmup=warmup)
    rates: list[float] = []
    made.run(after_each_step(lambda: rates.append(made.rate.item())), nothing)
    peak, total = round(warmup * 20), 20
    rise = [0.5 * k / peak for k in range(1, peak)]
    fall = [
        0.25 * (1 + math.cos(math.pi * (k - peak) / (total - peak)))
        for k in range(max(peak, 1), total + 1)
    ]
    assert rates == pytest.approx(rise + fall, abs=1e-6)


def test_training_perplexity_is_that_of_the_words_seen_in_the_epoch(trainer):
    made = trainer(epochs=2, learning_rate=1e-30, weight_decay=0.0, **NOTHING_DROPPED)
    expected = model_perplexity(made.network, made.train, CPU)
    seen: list[int] = []
    made.run(after_each_step(lambda: seen.append(made.progress.seen)), nothing)
    for epoch in (seen[:5], seen[5:]):
        assert epoch[-1] == made.train.pairs
        assert epoch == sorted(set(epoch))
    shown = [record["train"] for record in made.progress.history]
    assert shown == pytest.approx([expected] * 2, rel=1e-5)


def test_averaged_weights_follow_the_trained_ones(trainer):
    made, expected, done = trainer(average=0.3), copied(trainer().network), itertools.count()

    def follow() -> None:
        k = next(done)
        decay = min(0.3, (1 + k) / (10 + k))
        for name, p in made.network.state_dict().items():
            expected[name] = decay * expected[name] + (1 - decay) * p

    made.run(after_each_step(follow), nothing)
    for name, p in made.average.state_dict().items():
        torch.testing.assert_close(p, expected[name], rtol=1e-5, atol=1e-6)
    assert not equal(copied(made.average), copied(made.network))


def test_average_zero_is_the_weights_themselves(trainer):
    made = trainer(average=0.0)
    made.run(never, nothing)
    for name, p in made.network.state_dict().items():
        torch.testing.assert_close(made.average.state_dict()[name], p)


def test_gradients_are_clipped(trainer):
    made, norms = trainer(clip=1e-3, epochs=1), []

    def measure() -> None:
        norms.append(torch.cat([p.grad.flatten() for p in made.parameters]).norm().item())

    made.run(after_each_step(measure), nothing)
    assert norms == pytest.approx([1e-3] * 5, rel=1e-3)


def test_an_absurd_learning_rate_ends_in_an_error_that_says_what_to_do(trainer):
    with pytest.raises(RnnlensError, match=r"epoch 1, step 5; .*--learning-rate \(now 1e\+30\)"):
        trainer(learning_rate=1e30).run(never, nothing)


def test_weights_that_are_no_numbers_are_not_for_saving(trainer):
    made = trainer()
    made.check_weights()
    with torch.no_grad():
        made.network.bias[0] = math.nan
    with pytest.raises(RnnlensError, match="weights stopped being numbers in epoch 1"):
        made.check_weights()


def test_a_model_lost_without_a_nan_is_noticed_at_validation(trainer):
    with pytest.raises(RnnlensError, match="validation perplexity is inf in epoch 1"):
        trainer(learning_rate=1e4).run(never, nothing)


def test_a_poisoned_weight_is_noticed_at_the_next_look(trainer):
    made = trainer()
    made.check_finite()
    with torch.no_grad():
        made.network.bias[0] = math.nan
    with pytest.raises(RnnlensError, match="the loss is nan in epoch 1, step 1"):
        made.run(after_each_step(made.check_finite), nothing)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *itertools.product(["epochs", "batch", "patience"], [0, -1, 10**9]),
        *itertools.product(["learning_rate", "clip"], [0.0, -1.0, math.nan, math.inf]),
        *itertools.product(["warmup", "average"], [-0.1, 1.0, math.nan]),
        ("weight_decay", -1.0),
        ("weight_decay", math.nan),
        ("seed", -1),
        ("seed", 2**63),
        ("dropout_input", 1.0),
    ],
)
def test_values_that_cannot_work_are_refused_by_their_flag(trainer, name, value):
    with pytest.raises(RnnlensError, match=f"^--{name.replace('_', '-')} "):
        trainer(**{name: value})
