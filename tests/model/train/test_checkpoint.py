"""A training stopped anywhere and continued from its file gives the very same weights."""

import math
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from rnnlens.base.errors import RnnlensError
from rnnlens.base.tensors import read_sealed, write_tensors
from rnnlens.corpus.batches import Split
from rnnlens.model.network import Network, NetworkConfig
from rnnlens.model.train.checkpoint import _Header, load_checkpoint, save_checkpoint
from rnnlens.model.train.training import Trainer, TrainingConfig


def never() -> bool:
    return False


def nothing() -> None:
    pass


@pytest.fixture
def trainer(random_split: Callable[..., Split]) -> Callable[..., Trainer]:
    """A trainer of 3 epochs, 5 steps each."""

    def make(cell: str = "lstm", width: int = 6) -> Trainer:
        config = TrainingConfig(epochs=3, batch=8)
        network = Network(NetworkConfig(cell, width), 12).initialise(0)
        return Trainer(
            network, random_split(), random_split(10, seed=1), config, torch.device("cpu")
        )

    return make


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
    tensors, header = read_sealed(path, _Header)
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
