"""`rnnlens train --preset quick`, and what a long training recommends."""

import pytest
import torch

from rnnlens.base.progress import Shorter
from rnnlens.cli import order as orders
from rnnlens.cli import parser
from rnnlens.cli.order import PRESETS, Order
from rnnlens.corpus.vocabulary import Vocabulary

CPU, CUDA = torch.device("cpu"), torch.device("cuda")
WORDS = Vocabulary(tuple(map(str, range(5000))), (1,) * 5000)


def shorter(line: str, device: torch.device) -> Shorter:
    args = parser().parse_args(["train", "corpus", "-o", "run", *line.split()])
    quick = Order.of(args, "quick")
    return orders.shorter(Order.of(args, args.preset), quick, WORDS, device)


def test_flags_go_before_the_preset():
    args = parser().parse_args("train corpus -o run --width 16 --preset quick".split())
    order = Order.of(args, args.preset)
    assert order.network.width == 16
    assert order.network.layers == 2
    assert order.training.epochs == PRESETS["quick"]["epochs"]
    assert order.training.dropout_input == PRESETS["quick"]["dropout_input"]


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


def test_a_single_epoch_has_nothing_to_save():
    assert shorter("--epochs 1", CUDA) is None
