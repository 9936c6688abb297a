"""Intervals of numbers hold what they say, at every step; checked with plain NumPy."""

import json
import shutil
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

import rnnlens
from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import write_json
from rnnlens.probe.coverage import FEW, widths_by_group
from rnnlens.reading.rows import encoded
from rnnlens.run.folder import Run, run_at
from rnnlens.waves import Forecaster, batches

PARTS = {"1 to 4": slice(0, 4), "5 to 15": slice(4, 15), "16 on": slice(15, None)}


def test_widths_are_the_quantiles_of_each_group():
    beyond = torch.rand(3000, generator=torch.Generator().manual_seed(0)).double()
    groups = torch.arange(3000) % 3
    for group, width in enumerate(widths_by_group(beyond, groups)):
        some = np.sort(beyond[groups == group].numpy())
        assert width == pytest.approx(some[int(np.ceil(0.8 * 1001)) - 1], rel=1e-3)


def test_groups_with_too_few_take_the_next_with_them_and_the_last_holds_on():
    beyond = torch.cat([torch.full((FEW // 2,), 4.0), torch.full((FEW,), 1.0), torch.ones(3)])
    groups = torch.cat([torch.full((FEW // 2,), 1), torch.full((FEW,), 2), torch.full((3,), 5)])
    assert widths_by_group(beyond, groups) == (4.0, 4.0, 4.0)
    assert widths_by_group(beyond[:9], groups[:9]) == ()


def held(lens, count: int, seed: int, kinds) -> dict[str, np.ndarray]:
    """Whether the right number lies in the interval that a grid has, (series, steps)."""
    found: dict[str, list[Any]] = {kind: [] for kind in kinds}
    for numbers, following in batches(count, seed):
        for read, right in zip(numbers.tolist(), following.numpy(), strict=True):
            grid = lens(" ".join(map(repr, read)))
            for kind in kinds:
                ends = np.array([state.number for state in grid[kind]])
                found[kind].append((ends[:, 1] <= right) & (right <= ends[:, 2]))
    return {kind: np.stack(some) for kind, some in found.items()}


@pytest.mark.release
def test_the_bundled_forecasters_intervals_hold_80_percent_at_every_step():
    lens = rnnlens.load("waves")
    kinds, count = ("y", "h2", "c1", "l2"), 200
    for kind, inside in held(lens, count, 1234, kinds).items():
        for name, part in PARTS.items():
            by_series = inside[:, part].mean(1)
            # Of these series, and of the 320 that the widths were found on.
            sure = 3 * by_series.std() * (1 / count + 1 / 320) ** 0.5 + 0.01
            assert abs(by_series.mean() - 0.8) < sure < 0.09, (kind, name, by_series.mean())


def test_the_forecasters_number_is_its_own():
    lens = rnnlens.load("waves")
    module = Forecaster()
    weights = run_at("waves").path / "model.safetensors"
    module.load_state_dict(load_file(weights))
    read = batches(1, 99)[0][0]
    with torch.no_grad():
        own = module(read)[0].numpy()
    grid = lens(" ".join(map(repr, read[0].tolist())))
    shown = np.array([state.number for state in grid["y"]])
    assert np.abs(shown[:, 0] / own - 1).max() < 6e-5  # five digits are shown
    exact = encoded(grid.reading, 0, len(own))
    numbers = [v for place, v in zip(exact.places, exact.encodings.numbers, strict=True)
               if place[0] == "y"]  # fmt: skip
    assert np.abs(np.array(numbers)[:, 0] - own).max() < 1e-5
    scale: Any = lens.subject.session.text.labels.scale
    means = [state.distribution() @ np.array(scale.middles) for state in grid["y"]]
    assert np.abs(np.array(means) - own).max() > 0.01  # the mean over the bins is another number


def test_probes_without_widths_open_and_say_that_intervals_are_not_calibrated():
    lens = rnnlens.load("waves")
    assert lens("0.1 0.4").json["scale"]["calibrated"]
    subject = lens.subject
    older = replace(run_at("waves").probes(), widths={})
    calibrated: Any = lens("0.1 0.4")["y"][0].number
    subject.probes, before = older, subject.probes
    try:
        subject.forget()
        grid = lens("0.1 0.4")
        assert not grid.json["scale"]["calibrated"]
        drawn: Any = grid["y"][0].number
        number, low, high = drawn
        assert number == calibrated[0]
        assert calibrated[2] - calibrated[1] > 2 * (high - low)
    finally:
        subject.probes = before
        subject.forget()


@pytest.mark.parametrize(
    "widths",
    [{"output": {"h1": [1.0]}}, {"other": {}}, {"output": {"y": [-1.0]}}, {"output": 3},
     {"output": {"h1": []}}, {"output": {"h1": [1.0] * 9}}],
)  # fmt: skip
def test_damaged_widths_are_refused(widths, tmp_path):
    shutil.copytree(run_at("waves").path, tmp_path / "waves")
    path = tmp_path / "waves" / "probes.json"
    described = json.loads(path.read_text())
    described.pop("checksum")
    whole = {**described["widths"]["output"]}
    if isinstance(some := widths.get("output"), dict) and len(some) == 1:
        widths = {"output": {**whole, **some}} if next(iter(some.values())) != [1.0] else widths
    write_json(path, {**described, "widths": widths})
    with pytest.raises(RnnlensError, match="fit anew"):
        Run(tmp_path / "waves").probes()
