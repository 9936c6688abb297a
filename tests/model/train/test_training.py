"""Training learns, repeats itself exactly, stops in time and refuses to go on with nonsense."""

import itertools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.sampling import sampled

from rnnlens.base.errors import RnnlensError
from rnnlens.base.tensors import read_sealed, write_tensors
from rnnlens.corpus.split import Split
from rnnlens.labels.sets import LabelSet
from rnnlens.model import softmax
from rnnlens.model.network import Network, NetworkConfig
from rnnlens.model.train import training
from rnnlens.model.train.perplexity import model_perplexity
from rnnlens.model.train.training import (
    CheckpointHeader,
    Trainer,
    TrainingConfig,
    load_checkpoint,
    save_checkpoint,
)

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

    def make(cell: str = "lstm", width: int = 6, **changes: Any) -> Trainer:
        config = TrainingConfig(**{"epochs": 3, "batch": 8, **changes})
        network = Network(NetworkConfig(cell, width), 12).initialise(config.seed)
        return Trainer(network, random_split(), random_split(10, seed=1), config, CPU)

    return make


@pytest.mark.slow
@pytest.mark.parametrize("cell", sampled(["lstm", "gru", "rnn"], "lstm"))
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


@pytest.mark.slow
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


@pytest.fixture
def saved(trainer: Callable[..., Trainer], tmp_path: Path) -> Path:
    """The checkpoint of a training stopped in its second epoch."""
    path, steps = tmp_path / "checkpoint.safetensors", iter(range(7))
    made = trainer()
    made.run(lambda: next(steps) == 6, nothing)
    save_checkpoint(made, path, "this")
    return path


@pytest.mark.slow
@pytest.mark.parametrize("cell", ["lstm", "gru", "rnn"])
@pytest.mark.parametrize("stop_after", [1, 4, 5, 7, 15])
def test_continuing_from_a_checkpoint_is_bit_identical(trainer, tmp_path, cell, stop_after):
    whole, begun, continued = trainer(cell), trainer(cell), trainer(cell)
    whole.run(never, nothing)
    steps = iter(range(1, 100))
    assert not begun.run(lambda: next(steps) == stop_after, nothing)
    save_checkpoint(begun, tmp_path / "c", "this")
    load_checkpoint(continued, tmp_path / "c", "this")
    assert continued.progress == begun.progress
    assert continued.run(never, nothing)
    assert continued.progress == whole.progress
    for part in ("network", "average"):
        for name, p in getattr(whole, part).state_dict().items():
            assert torch.equal(getattr(continued, part).state_dict()[name], p)
    assert all(torch.equal(continued.best[name], p) for name, p in whole.best.items())


def test_a_checkpoint_before_the_first_step_continues_from_the_start(trainer, tmp_path):
    whole, continued = trainer(), trainer()
    save_checkpoint(whole, tmp_path / "c", "this")
    load_checkpoint(continued, tmp_path / "c", "this")
    assert continued.progress.best is None
    whole.run(never, nothing)
    continued.run(never, nothing)
    assert all(torch.equal(continued.best[name], p) for name, p in whole.best.items())


def test_loading_shares_no_memory_with_what_is_trained_on(trainer, saved):
    made = trainer()
    load_checkpoint(made, saved, "this")
    best = {name: p.clone() for name, p in made.best.items()}
    steps = iter(range(10))
    made.run(lambda: next(steps) == 1, nothing)
    assert all(torch.equal(made.best[name], p) for name, p in best.items())


def test_the_checkpoint_of_another_training_is_refused(trainer, saved):
    with pytest.raises(RnnlensError, match="belongs to another training; delete it or"):
        load_checkpoint(trainer(), saved, "that")


def spoil(path: Path, how: str) -> None:
    tensors, header = read_sealed(path, CheckpointHeader)
    if how == "truncated":
        path.write_bytes(path.read_bytes()[:-40])
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "no metadata":
        write_tensors(path, tensors)
    elif how == "a flipped bit":
        data = bytearray(path.read_bytes())
        data[-100] ^= 1
        path.write_bytes(data)
    elif how == "odd progress":
        header.progress.epoch = "one"  # type: ignore[assignment]
        write_tensors(path, tensors, header)
    elif how == "beyond the end":
        header.progress.epoch = 10**6
        write_tensors(path, tensors, header)
    elif how == "no number":
        tensors["best.bias"][0] = math.nan
        write_tensors(path, tensors, header)
    elif how == "a tensor less":
        del tensors["best.bias"]
        write_tensors(path, tensors, header)
    elif how == "missing":
        path.unlink()


@pytest.mark.parametrize(
    "how",
    [
        "truncated",
        "empty",
        "no metadata",
        "a flipped bit",
        "odd progress",
        "beyond the end",
        "no number",
        "a tensor less",
        "missing",
    ],
)
def test_a_damaged_checkpoint_is_refused(trainer, saved, how):
    spoil(saved, how)
    with pytest.raises(RnnlensError, match=r"checkpoint\.safetensors is (damaged|missing)"):
        load_checkpoint(trainer(), saved, "this")


def test_weights_of_another_width_are_refused(trainer, saved):
    with pytest.raises(RnnlensError, match="is damaged"):
        load_checkpoint(trainer(width=7), saved, "this")


def after_an_epoch(task: str, split: Split, **shape: Any) -> Weights:
    """The weights that an epoch leaves, where `task` is "next" or that of a label a word."""
    words, labels = (None, 12) if task == "next" else (12, 5)
    if labels == 5:
        split = Split(split.ids, split.starts, split.ids % 5)
    network = Network(NetworkConfig("lstm", 6, **shape), labels, words).initialise(0)
    config = TrainingConfig(epochs=1, batch=8)
    Trainer(network, split, split, config, CPU).run(never, nothing)
    return copied(network)


@pytest.mark.parametrize(
    ("task", "shape"),
    [
        ("next", {}),
        ("next", {"tied": False}),
        ("tag", {"tied": False}),
        ("tag", {"tied": False, "bidirectional": True}),
    ],
    ids=["tied", "untied", "labels", "both ways"],
)
def test_a_loss_by_blocks_trains_as_autograds_does(task, shape, random_split, monkeypatch):
    monkeypatch.setattr(softmax, "_LOGITS", 0)
    monkeypatch.setattr(softmax, "_ROWS", 16)
    ours = after_an_epoch(task, random_split(), **shape)
    monkeypatch.setattr(softmax, "_LOGITS", 2**20)
    plain = after_an_epoch(task, random_split(), **shape)
    assert not equal(ours, plain)  # they were not computed in the same way
    for name, weight in plain.items():
        torch.testing.assert_close(ours[name], weight, rtol=1e-4, atol=1e-4)


def trained_on_a_gpu(cell: str, *, graphed: bool) -> dict[str, torch.Tensor]:
    random = np.random.default_rng(0)
    starts = np.concatenate([[0], np.cumsum(random.integers(3, 9, 200))])
    split = Split(random.integers(0, 50, starts[-1]), starts)
    network = Network(NetworkConfig(cell, width=24), 50).initialise(1)
    trainer = Trainer(
        network, split, split, TrainingConfig(epochs=3, batch=16), torch.device("cuda")
    )
    if not graphed:
        trainer.compute = trainer._compute
    trainer.run(lambda: False, lambda: None)
    return {name: p.cpu() for name, p in trainer.average.named_parameters()}


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("cell", ["lstm", "gru", "rnn"])
def test_replayed_steps_equal_plain_steps(cell):
    replayed, plain = trained_on_a_gpu(cell, graphed=True), trained_on_a_gpu(cell, graphed=False)
    for name in plain:
        torch.testing.assert_close(replayed[name], plain[name], rtol=0, atol=0)
