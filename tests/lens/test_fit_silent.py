"""No probe is worse than the frequencies of labels; where none is better, it is said."""

import math

import pytest
import torch
from tests.letters import WORDS, LanguageModel, V, batches
from torch import Tensor

import rnnlens
from rnnlens.ask.grids import described_columns
from rnnlens.cli.evaluate_command import tables


def chance(seed: int) -> list[tuple[Tensor, Tensor]]:
    """Labels that have nothing to do with what is read, some of them rare."""
    draw = torch.Generator().manual_seed(seed)
    shares = torch.tensor([0.4, 0.3, 0.2, 0.06, 0.03, 0.01])
    return [
        (words, torch.multinomial(shares.expand(8, V), 7, replacement=True, generator=draw))
        for words, _ in batches(seed=seed)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("probe", ["linear", "shared"])
@pytest.mark.parametrize("epochs", [0, 1, 8])
def test_no_probe_is_worse_than_the_frequencies(probe, epochs):
    torch.manual_seed(0)
    lens = rnnlens.fit(
        LanguageModel(), chance(0), WORDS, valid=chance(1), inputs=WORDS, probe=probe,
        epochs=epochs,
    )  # fmt: skip
    counts = torch.stack([targets for _, targets in chance(0)]).flatten().bincount(minlength=V) + 1
    wanted = torch.stack([targets for _, targets in chance(1)]).flatten()
    unigram = math.exp(-float((counts / counts.sum()).log()[wanted].mean()))
    for score in lens.evaluate(chance(1))[:-1]:
        assert score.perplexity <= unigram * (1 + 1e-5), score.kind
    silent = lens.subject.silent("output")
    assert len(silent) > len(lens.kinds) // 2
    kind = min(silent)
    grid = lens("a b c")
    assert grid[kind][1].silent
    assert abs(grid[kind][1].distribution() - (counts / counts.sum()).numpy()).max() < 1e-5
    columns = described_columns(lens.subject, "output")
    assert next(one for one in columns if one["kind"] == kind)["silent"]
    part = {"batches": 1, "pairs": 1, "perplexity": 2.0, "unigram": 3.0}
    measured = lens.evaluate(chance(1)).to_json("0" * 64)
    table = tables({**measured, "model": dict.fromkeys(("train", "valid", "test"), part)})[1]
    assert [line.split()[0] for line in table.splitlines() if "says nothing" in line] == [
        score["kind"] for score in measured["probes"] if score["kind"] in silent
    ]


@pytest.mark.slow
def test_kinds_that_tell_something_are_not_silent():
    torch.manual_seed(0)
    lens = rnnlens.fit(LanguageModel(), batches(), WORDS, epochs=20)
    assert not lens.subject.silent("output")
    assert not lens("a b c")["h1"][1].silent
