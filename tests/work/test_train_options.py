"""`rnnlens train --preset quick`, and what a long training recommends."""

import numpy as np
import pytest
import torch

from rnnlens.base.errors import RnnlensError
from rnnlens.base.progress import Shorter
from rnnlens.cli import parser
from rnnlens.corpus.split import Split
from rnnlens.corpus.vocabulary import Vocabulary
from rnnlens.model.network_config import CELL_NAMES
from rnnlens.work import train_run
from rnnlens.work.recipes import PRESETS
from rnnlens.work.train_options import TrainOptions

CPU, CUDA = torch.device("cpu"), torch.device("cuda")
WORDS = Vocabulary(tuple(map(str, range(5000))), (1,) * 5000)


def shorter(line: str, device: torch.device) -> Shorter:
    args = parser().parse_args(["train", "corpus", "-o", "run", *line.split()])
    options = TrainOptions.of(vars(args), args.preset)
    return train_run.shorter(options, vars(args), WORDS, device)


def test_flags_go_before_the_preset():
    args = parser().parse_args("train corpus -o run --width 16 --preset quick".split())
    options = TrainOptions.of(vars(args), args.preset)
    assert options.network.width == 16
    assert options.network.layers == 2
    assert options.training.epochs == PRESETS["quick"]["epochs"]
    assert options.training.dropout_input == PRESETS["quick"]["dropout_input"]


def test_without_a_gpu_the_preset_is_recommended_where_it_saves_half_or_more():
    told = shorter("", CPU)
    assert told
    flag, share = told
    assert flag == "--preset quick"
    assert 0.05 < share < 0.25


@pytest.mark.parametrize(
    ("line", "device", "flag"),
    [
        ("", CUDA, "--epochs 10"),
        ("--preset quick", CPU, f"--epochs {PRESETS['quick']['epochs'] // 3}"),
        ("--width 24 --epochs 9", CPU, "--epochs 3"),
    ],
)
def test_elsewhere_fewer_epochs_are(line, device, flag):
    told = shorter(line, device)
    assert told
    assert told[0] == flag
    assert told[1] == pytest.approx(1 / 3, rel=0.05)


@pytest.mark.parametrize("cell", CELL_NAMES)
def test_every_cell_has_a_preset_for_a_cpu(cell):
    assert shorter(f"--cell {cell} --layers 2 --epochs 60", CPU) is not None
    assert TrainOptions.of({"cell": cell}, "quick").network.width == PRESETS["quick"]["width"]


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize(
    ("given", "rate", "decay"),
    [
        ({"cell": "gla"}, 4e-3, 0.5),
        ({"cell": "slstm"}, 4e-3, None),
        ({"task": "tag", "tied": False}, 3e-3, None),
        ({"cell": "gla", "learning_rate": 1e-3}, 1e-3, 0.5),
        ({}, None, None),
    ],
)
def test_rates_of_a_recipe_go_before_those_of_a_preset(preset, given, rate, decay):
    """They were chosen for what is trained, and a preset's for an LSTM that predicts words."""
    training = TrainOptions.of(given, preset).training
    usual = TrainOptions.of({}, preset).training
    assert training.learning_rate == (rate or usual.learning_rate)
    assert training.weight_decay == (decay or usual.weight_decay)
    assert training.epochs == usual.epochs


def test_a_preset_that_is_not_possible_is_not_recommended():
    told = shorter("--cell gla --heads 10", CPU)  # of which 300 is a multiple, and 128 is not
    assert told
    assert told[0].startswith("--epochs")


def test_a_single_epoch_has_nothing_to_save():
    assert shorter("--epochs 1", CUDA) is None


def test_much_memory_is_told_before_with_the_flags_that_help():
    options = TrainOptions.of({"min_count": 1, "batch": 64}, None)
    few, many = (Vocabulary(tuple(map(str, range(n))), (1,) * n) for n in (5_000, 600_000))
    starts = np.arange(0, 2_100 + 1, 21)
    train = Split(np.zeros(2_100, np.int64), starts)
    assert not train_run.memory_needed(options, few, train, CUDA)
    told = train_run.memory_needed(options, many, train, CUDA)
    # A matrix of 300 numbers a label eight times; and four numbers a label for 64 times 20 words.
    size = (600_000 * 300 * 8 + 4 * 64 * 20 * 600_000) * 4 / 1e9
    assert f"up to about {size:.0f} GB, 12 of them for a step over 600,000 labels" in told
    assert all(flag in told for flag in ("--min-count (now 1)", "--batch", "--longest", "--width"))
    assert "\n" not in told
    told = train_run.memory_needed(options, many, train, CPU)  # which has a block of 192 words
    assert "up to about 8 GB, 2 of them for a step" in told
    assert "--width" in told
    assert "--batch" not in told


def test_a_cell_has_its_recipe_where_neither_flag_nor_task_says_otherwise():
    plain, gla = TrainOptions.of({}), TrainOptions.of({"cell": "gla"})
    assert gla.training.weight_decay > plain.training.weight_decay
    assert TrainOptions.of({"cell": "lstm"}) == plain
    assert TrainOptions.of({"cell": "gla", "weight_decay": 0.0}).training.weight_decay == 0
    tagger = TrainOptions.of({"task": "tag"})
    assert TrainOptions.of({"task": "tag", "cell": "gla"}).training == tagger.training


def test_what_a_matrix_memory_takes_is_told_and_refused_with_the_flags_that_help():
    vocabulary = Vocabulary(tuple(map(str, range(5_000))), (1,) * 5_000)
    train = Split(np.zeros(12_800, np.int64), np.arange(0, 12_800 + 1, 100))
    options = TrainOptions.of({"cell": "mamba", "keys": 200}, None)
    # Two layers of 300 units of 200 numbers, after 99 words of 128 sentences, four times.
    size = 2 * 300 * 200 * 99 * 128 * 4 * 4 / 1e9
    told = train_run.memory_needed(options, vocabulary, train, CPU)
    assert f"{size:.0f} of them for a step" in told
    assert "--keys" in told
    options = TrainOptions.of({"cell": "mamba", "keys": 4096, "width": 2000}, None)
    with pytest.raises(RnnlensError, match="give a smaller --keys, --batch, --longest or --width"):
        train_run.refuse_too_large(options, vocabulary, train, CPU)


def test_a_network_that_reads_both_ways_holds_twice_as_much():
    train = Split(np.zeros(12_800, np.int64), np.arange(0, 12_800 + 1, 100))
    given = {"cell": "mamba", "keys": 200, "task": "tag"}
    one, both = (
        train_run._memories(TrainOptions.of({**given, "bidirectional": ways}), train)
        for ways in (False, True)
    )
    assert both == 2 * one


def test_a_gpu_is_asked_for_its_own_memory(monkeypatch):
    small = type("Properties", (), {"total_memory": 2**20})
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: small)
    vocabulary = Vocabulary(tuple(map(str, range(50))), (1,) * 50)
    train = Split(np.zeros(100, np.int64), np.arange(0, 100 + 1, 10))
    train_run.refuse_too_large(TrainOptions.of({}), vocabulary, train, CPU)
    with pytest.raises(RnnlensError, match=r"--cell lstm .* in 2 .* this GPU has 0; give"):
        train_run.refuse_too_large(TrainOptions.of({}), vocabulary, train, CUDA)
