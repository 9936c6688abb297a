"""Sequences that are no text: one row of a batch, drawn, edited, compared, saved and loaded."""

import json
import warnings
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import rnnlens
from rnnlens.adapter.sequences import BINS, Given, Sequences, picture_of, steps_of
from rnnlens.base.errors import RnnlensError
from rnnlens.cli import main

LABELS = ["left", "right", "still"]


class Frames(nn.Module):
    """Reads frames (B, T, F) through an LSTM."""

    def __init__(self, features: int = 40, first: bool = True) -> None:
        super().__init__()
        self.recurrence = nn.LSTM(features, 6, batch_first=first)
        self.readout = nn.Linear(6, len(LABELS))

    def forward(self, frames: Tensor) -> Tensor:
        logits: Tensor = self.readout(self.recurrence(frames)[0])
        return logits


class Packed(nn.Module):
    """Reads frames and their lengths."""

    def __init__(self) -> None:
        super().__init__()
        self.recurrence = nn.GRU(40, 5, batch_first=True)
        self.readout = nn.Linear(5, len(LABELS))

    def forward(self, frames: Tensor, lengths: Tensor) -> Tensor:
        packed = nn.utils.rnn.pack_padded_sequence(
            frames, lengths, batch_first=True, enforce_sorted=False
        )
        states, _ = nn.utils.rnn.pad_packed_sequence(self.recurrence(packed)[0], batch_first=True)
        logits: Tensor = self.readout(states)
        return logits


def batches(features: int = 40, count: int = 6, steps: int = 9) -> list[tuple[Tensor, Tensor]]:
    generator = torch.Generator().manual_seed(0)
    frames = torch.randn(count, 5, steps, features, generator=generator)
    targets = torch.randint(3, (count, 5, steps), generator=generator)
    return list(zip(frames, targets, strict=True))


def fitted(module: nn.Module, given: list[Any], labels: list[str], epochs: int) -> rnnlens.Lens:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rnnlens.RnnlensWarning)  # that it is not trained
        return rnnlens.fit(module, given, labels, epochs=epochs)


@pytest.fixture(scope="module")
def module() -> nn.Module:
    torch.manual_seed(0)
    return Frames()


@pytest.fixture(scope="module")
def lens(module) -> rnnlens.Lens:
    return fitted(module, batches(), LABELS, epochs=1)


def test_a_row_of_a_batch_has_the_states_that_torch_gives_it(lens, module):
    frames, targets = batches()[1]
    grid = lens.grid((frames, targets), row=3)
    real = module.recurrence(frames[3:4])[0][0]
    for step in range(9):
        np.testing.assert_allclose(grid["h1"][step].vector(), real[step].detach(), atol=1e-6)
    p = module(frames[3:4])[0].softmax(-1).detach()
    assert grid["y"][4].top(1)[0][1] == pytest.approx(float(p[4].max()), abs=1e-5)


def test_what_was_right_comes_from_the_targets(lens):
    frames, targets = batches()[1]
    rows = lens.grid((frames, targets), row=2).json["rows"]
    assert [row[-1]["wanted"][0] for row in rows] == [LABELS[k] for k in targets[2].tolist()]
    unknown = lens.grid((frames, None), row=2).json["rows"]
    assert all(row[-1]["wanted"] is None for row in unknown)
    assert [row[-1]["top"] for row in unknown] == [row[-1]["top"] for row in rows]


def test_examples_are_sequences_where_nothing_can_be_typed(lens):
    assert lens.examples() == ["#0", "#1", "#2"]
    grid = lens("#1").json
    assert [word["text"] for word in grid["words"]] == [f"t{step}" for step in range(9)]
    assert all(len(word["picture"]) == BINS for word in grid["words"])


def test_steps_are_called_as_somebody_says(lens):
    batch = batches()[0]
    timed = lens.grid(batch, names=lambda t: f"{t / 100:.2f} s").json
    assert [word["text"] for word in timed["words"]][:2] == ["0.00 s", "0.01 s"]
    named = lens.grid(batch, names=list("abcdefghi"))
    assert named["h1"][8].word == "i"


def test_one_number_a_step_is_drawn_as_a_line_and_named_by_itself():
    lens = fitted(Frames(1), batches(1), LABELS, epochs=1)
    frames, targets = batches(1)[0]
    words = lens.grid((frames, targets), 1).json["words"]
    assert [word["value"] for word in words] == pytest.approx(frames[1, :, 0].tolist())
    assert [word["text"] for word in words] == [f"{v:.4g}" for v in frames[1, :, 0].tolist()]
    assert not any(word["picture"] for word in words)


def test_edits_go_on_from_where_they_are_made(lens, module):
    frames, targets = batches()[0]
    text = lens.grid((frames, targets), 1).json["text"]
    edited = lens(text, edits=["c1@4=0"])
    assert not edited["c1"][3].vector().any()
    rest = module.recurrence(frames[1:2, 4:5], (torch.zeros(1, 1, 6), torch.zeros(1, 1, 6)))
    np.testing.assert_allclose(edited["h1"][4].vector(), rest[0][0, 0].detach(), atol=1e-6)


def test_a_step_is_taken_away_by_leaving_it_out(lens, module):
    frames, targets = batches()[0]
    grid = lens.grid((frames, targets), 1)
    written = grid["y"][8].written_by("left", against="right")
    assert written.stand_in == "left_out"
    logits = module(frames[1:2])[0, 8].detach()
    less = module(torch.cat([frames[1:2, :2], frames[1:2, 3:]], 1))[0, 7].detach()
    assert written.difference == pytest.approx(float(logits[0] - logits[1]), abs=1e-5)
    wanted = float((logits[0] - logits[1]) - (less[0] - less[1]))
    assert written.without[2] == pytest.approx(wanted, abs=1e-5)
    assert written.stored.sum() + written.stored_rest == pytest.approx(written.difference, abs=1e-4)
    with pytest.raises(RnnlensError, match="no words, so that none can stand in"):
        grid["y"][8].written_by("left", against="right", stand_in="unknown")
    with pytest.raises(RnnlensError, match="cannot go on with its own"):
        grid.continuation(3)


def test_two_sequences_stand_side_by_side(lens):
    both = lens.compare("{#0|#1}").json
    assert [side["text"] for side in both["sides"]] == ["#0", "#1"]


def test_lengths_say_where_a_sequence_ends():
    torch.manual_seed(0)
    module, given = Packed(), []
    for frames, targets in batches():
        lengths = torch.tensor([9, 4, 7, 9, 5])
        there = torch.arange(9) < lengths[:, None]
        given.append(((frames, lengths), targets.masked_fill(~there, -1)))
    lens = fitted(module, given, LABELS, epochs=1)
    grid = lens.grid(given[0], row=1)
    assert len(grid.json["rows"]) == 4
    frames, lengths = given[0][0]
    real = module.recurrence(frames[1:2, :4])[0][0]
    np.testing.assert_allclose(grid["h1"][3].vector(), real[3].detach(), atol=1e-6)


def test_only_real_steps_of_a_padded_sequence_are_drawn(tmp_path):
    torch.manual_seed(0)
    module, given = Frames(), []
    for frames, targets in batches():
        padded = torch.cat([torch.zeros(5, 3, 40), frames], 1)
        given.append((padded, torch.cat([torch.full((5, 3), -1), targets], 1)))
    lens = fitted(module, given, LABELS, epochs=1)
    grid = lens.grid(given[0], row=1)
    assert len(grid.json["rows"]) == 9
    real = module.recurrence(given[0][0][1:2])[0][0]  # the padding is read, and not drawn
    np.testing.assert_allclose(grid["h1"][0].vector(), real[3].detach(), atol=1e-6)
    assert [row[-1]["wanted"][0] for row in grid.json["rows"]] == [
        LABELS[k] for k in given[0][1][1, 3:].tolist()
    ]
    lens.save(tmp_path / "run")
    again = rnnlens.load(tmp_path / "run", model=module)
    edit = ["c1@4=0"]
    assert again("#0", edits=edit).json["rows"] == lens("#0", edits=edit).json["rows"]
    with pytest.raises(RnnlensError, match="padding around it"):
        grid["y"][8].written_by("left", against="right")


def test_time_may_come_first():
    torch.manual_seed(0)
    module = Frames(first=False)
    turned = [(frames.transpose(0, 1), targets.T) for frames, targets in batches()]
    lens = fitted(module, turned, LABELS, epochs=1)
    grid = lens.grid(turned[0], row=2)
    real = module.recurrence(turned[0][0][:, 2:3])[0][:, 0]
    np.testing.assert_allclose(grid["h1"][5].vector(), real[5].detach(), atol=1e-6)


def test_a_saved_run_draws_them_again_and_with_the_module_edits_them(lens, module, tmp_path):
    lens.save(tmp_path / "run")
    without = rnnlens.load(tmp_path / "run")
    assert without.examples() == ["#0", "#1", "#2"]
    now, then = without("#1").json, lens("#1").json
    assert now["rows"] == then["rows"]
    assert now["words"][2]["picture"] == pytest.approx(then["words"][2]["picture"], abs=1e-6)
    with pytest.raises(RnnlensError, match="code"):
        without("#1", edits=["c1@4=0"])
    again = rnnlens.load(tmp_path / "run", model=module)
    edited = again("#1", edits=["c1@4=0"]).json["rows"]
    assert edited == lens("#1", edits=["c1@4=0"]).json["rows"]
    assert main(["show", str(tmp_path / "run"), "#1", "-o", str(tmp_path / "grid.json")]) == 0
    assert json.loads((tmp_path / "grid.json").read_text())["text"] == "#1"


def test_what_a_run_keeps_of_a_sequence_is_checked(lens, tmp_path):
    from rnnlens.adapter.sequences import check_kept

    lens.save(tmp_path / "run")
    sound = {"labels.output": torch.zeros(9, dtype=torch.int64), "picture": torch.zeros(9, 4)}
    check_kept(sound, 9, 3)
    for wrong in (
        {"labels.output": torch.full((9,), 3)},
        {"labels.output": torch.zeros(8, dtype=torch.int64)},
        {"labels.output": torch.zeros(9)},
        {"picture": torch.full((9, 4), 1.5)},
        {"picture": torch.full((9, 4), torch.nan)},
        {"picture": torch.zeros(9, 10_000)},
        {"inputs": torch.full((1, 9, 4), torch.inf)},
        {"other": torch.zeros(9)},
    ):
        with pytest.raises(ValueError, match="not such as a sequence has"):
            check_kept(wrong, 9, 3)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (lambda lens: lens.grid(batches()[0], 5), "row= is 5 and the batch has 5 sequences"),
        (lambda lens: lens.grid(batches()[0], -1), "row= is -1"),
        (lambda lens: lens.grid(batches()[0], 1.0), "row= is 1.0"),
        (lambda lens: lens.grid(batches()[0][0]), "a batch is a pair"),
        (lambda lens: lens.grid(batches()[0], names=["a"]), "gives 1 names and the sequence has 9"),
        (lambda lens: lens.grid(batches()[0], names=range(9)), "give a str for each"),
        (lambda lens: lens("#999"), "no sequence #999 was given; there are #0 to #"),
        (lambda _: rnnlens.load("english-news").grid(batches()[0]), "reads typed texts"),
    ],
)
def test_bad_input_gets_one_line(lens, given, said):
    with pytest.raises(RnnlensError, match=said) as error:
        given(lens)
    assert "\n" not in str(error.value)


def test_steps_of_two_sequences_are_not_read_as_one():
    every = Sequences(0)
    frames = torch.zeros(1, 2, 3)
    for _ in range(2):
        every.give(Given(frames, ("a", "b")))
    first, second = every.numbers(0), every.numbers(1)
    assert every.batch(first) is frames
    assert every.batch([3, 4]) is None
    with pytest.raises(RnnlensError, match="two sequences"):
        every.batch([first[0], second[0]])


def test_a_step_is_left_out_of_all_that_has_steps():
    lengths, frames = torch.tensor([4]), torch.arange(4.0)[None, :, None]
    one = Given((frames, lengths), tuple("abcd"))
    some, length = one.of([0, 2, 3])
    assert some[0, :, 0].tolist() == [0, 2, 3]
    assert length.tolist() == [3]
    with pytest.raises(RnnlensError, match="no tensor that the module is fed has 4 steps"):
        Given(torch.zeros(1, 7), tuple("abcd")).of([0, 1])


def test_a_picture_has_few_numbers_from_0_to_1():
    steps = steps_of(torch.linspace(-3, 5, 2 * 100).view(1, 2, 100), 2, True)
    picture = np.array(picture_of(steps))
    assert picture.shape == (2, BINS)
    assert picture.min() == 0
    assert picture.max() == 1
    assert (np.diff(picture.ravel()) > 0).all()
    assert picture_of(torch.zeros(3, 2).double()) == ((0.0, 0.0),) * 3
