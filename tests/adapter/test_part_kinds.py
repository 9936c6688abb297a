"""Kinds that are a part of another: one head of a memory."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import rnnlens
from rnnlens.base.errors import RnnlensError

WORDS = [f"w{n}" for n in range(6)]


class Heads(nn.Module):
    """A memory of two heads, 3 keys by 4 values each."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v = nn.Linear(8, 6), nn.Linear(8, 6), nn.Linear(8, 8)

    def parts(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"question": self.q(x).unflatten(-1, (2, 3)), "key": self.k(x).unflatten(-1, (2, 3)),
                "value": self.v(x).unflatten(-1, (2, 4)),
                "decay": x.new_full((*x.shape[:2], 2), 0.8)}  # fmt: skip

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v, a = self.parts(x).values()
        memory, reads = x.new_zeros(len(x), 2, 3, 4), []
        for t in range(x.shape[1]):
            memory = a[:, t, :, None, None] * memory + k[:, t, :, :, None] * v[:, t, :, None]
            reads.append((q[:, t, :, None] @ memory).flatten(1))
        return torch.stack(reads, 1)


WHERE: dict[str, Any] = {
    name: lambda layer, x, name=name: layer.parts(x)[name]
    for name in ("question", "key", "value", "decay")
}
OWN = rnnlens.Recurrence(Heads, **WHERE)


def lens_of(*kinds: str) -> rnnlens.Lens:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(6, 8), Heads(), nn.Linear(8, 6))
    ids = torch.randint(6, (4, 30, 7))
    batches = [(some[:, :-1], some[:, 1:]) for some in ids]
    return rnnlens.fit(model, batches, WORDS, recurrences=[OWN], kinds=kinds, epochs=1, questions=1)


@pytest.fixture(scope="module")
def lens() -> rnnlens.Lens:
    return lens_of("S1: b t (h:2* n)")


def test_each_head_has_its_own_states_and_questions(lens):
    grid = lens("w1 w2 w3")
    whole = grid["S1"][2].vector()
    assert np.array_equal(grid["S1.h0"][2].vector(), whole[:12])
    assert np.array_equal(grid["S1.h1"][2].vector(), whole[12:])
    assert grid["S1.h1"][2].top(1)
    asked = lens.subject.probes.stacks["output"].questions
    assert {kind: some.weight.shape for kind, some in asked.items()} == {
        "S1": (2, 3, 1), "S1.h0": (1, 3, 1), "S1.h1": (1, 3, 1)
    }  # fmt: skip


def test_an_edit_of_a_head_is_one_of_the_whole_memory(lens):
    text = "w1 w2 w3"
    grid, edited = lens(text), lens(text, edits=["S1.h1@2=0"])
    assert np.array_equal(edited["S1"][1].vector()[:12], grid["S1"][1].vector()[:12])
    assert not edited["S1"][1].vector()[12:].any()
    units = ",".join(str(unit) for unit in range(12, 24))
    same = lens(text, edits=[f"S1[{units}]@2=0"])
    assert np.array_equal(edited["S1"][2].vector(), same["S1"][2].vector())
    assert not np.array_equal(edited["S1"][2].vector(), grid["S1"][2].vector())


def test_heads_are_saved_and_read_again(lens, tmp_path):
    again = rnnlens.load(lens.save(tmp_path / "run"), model=lens.subject.model.user)
    for kind in ("S1", "S1.h0", "S1.h1"):
        assert lens("w1 w2")[kind][1].distribution() == pytest.approx(
            again("w1 w2")[kind][1].distribution(), abs=1e-6
        )


@pytest.mark.parametrize(("kinds", "said"), [
    ("S2: b t (h:2* n)", "neither a submodule nor a kind 'S2'"),
    ("S1: b t (h:5* n)", "is 24 long and not 5 x n"),
    ("S1: b t (h:2=2 n)", "h goes from 0 to 1"),
])  # fmt: skip
def test_what_is_no_part_is_refused_in_one_line(kinds, said):
    with pytest.raises(RnnlensError, match=said) as refused:
        lens_of(kinds)
    assert "\n" not in str(refused.value)
