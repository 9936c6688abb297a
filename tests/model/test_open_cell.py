"""Cells that nothing in the package knows: declared here, and all else goes by the declaration."""

from collections.abc import Iterator

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from tests.fixtures import formula_run
from torch import Tensor, sigmoid

import rnnlens
from rnnlens.ask.memory import Direction, path, stored
from rnnlens.base.errors import RnnlensError
from rnnlens.model.cell import CELLS, Cell, Change, States, Weights, register, unchanged
from rnnlens.model.kinds import BELOW, Edge, Kind, Memory
from rnnlens.model.network import Network, NetworkConfig
from rnnlens.model.traceable import StateEdit
from rnnlens.model.train.training import Trainer, TrainingConfig

TEXT = "the old dog sees a bird ."


class Bare(Cell):
    """A gated recurrent unit without recurrent weights (Feng and others, 2024)."""

    name = "bare"
    carried = ("h",)
    dropped = ("w_n",)
    holds = ("z", "d")
    kinds = (
        Kind("z", "update gate", "z", "z = σ(W_z x)", (Edge(BELOW),), range=(0.0, 1.0), gate=True),
        Kind("d", "decay", "d", "d = 1 - z", (Edge("z"),), range=(0.0, 1.0), gate=True),
        Kind("n", "candidate", "n", "n = W_n x", (Edge(BELOW),), gate=True),
        Kind("k", "kept memory", "k", "k = d ∘ h₋₁", (Edge("d"), Edge("h", 1))),
        Kind("w", "written memory", "w", "w = z ∘ n", (Edge("z"), Edge("n"))),
        Kind("h", "output state", "h", "h = k + w", (Edge("k"), Edge("w")), output=True,
             memory=Memory(decay="d", write="w", kept="k")),
    )  # fmt: skip

    def shapes(self, inputs: int, width: int) -> dict[str, tuple[int, ...]]:
        return {"w_z": (width, inputs), "b_z": (width,), "w_n": (width, inputs)}

    def start(self, w: Weights, batch: int) -> States:
        return {"h": w["w_z"].new_zeros(batch, len(w["w_z"]))}

    def step(self, a: Tensor, prev: States, w: Weights, edit: Change = unchanged) -> States:
        z = edit("z", sigmoid(F.linear(a, w["w_z"], w["b_z"])))
        d = edit("d", 1 - z)
        n = edit("n", F.linear(a, w["w_n"]))
        k = edit("k", d * prev["h"])
        written = edit("w", z * n)
        return {"z": z, "d": d, "n": n, "k": k, "w": written, "h": edit("h", k + written)}


class Delta(Cell):
    """A matrix as memory that is erased where it is written: S = S₋₁ + β k (v - k S₋₁)."""

    name = "delta"
    carried = ("m",)
    holds = ("q", "a", "b")
    keys = 2
    kinds = (
        Kind("q", "question", "q", "q = W_q x", (Edge(BELOW),)),
        Kind("a", "key", "a", "a = W_a x / |W_a x|", (Edge(BELOW),), range=(-1.0, 1.0)),
        Kind("v", "value", "v", "v = W_v x", (Edge(BELOW),)),
        Kind("b", "strength", "b", "b = σ(W_b x)", (Edge(BELOW),), range=(0.0, 1.0), gate=True),
        Kind("e", "kept memory", "e", "e = m₋₁ - b a (a m₋₁)",
             (Edge("a"), Edge("b"), Edge("m", 1))),
        Kind("w", "written memory", "w", "w = b a ⊗ v", (Edge("a"), Edge("b"), Edge("v"))),
        Kind("m", "memory", "m", "m = e + w", (Edge("e"), Edge("w")),
             memory=Memory(decay="b", write="w", kept="e")),
        Kind("o", "output state", "o", "o = q m", (Edge("q"), Edge("m")), output=True),
    )  # fmt: skip

    def shapes(self, inputs: int, width: int) -> dict[str, tuple[int, ...]]:
        keys = (self.keys, inputs)
        return {"w_q": keys, "w_a": keys, "w_v": (width, inputs), "w_b": (1, inputs)}

    def start(self, w: Weights, batch: int) -> States:
        return {"m": w["w_v"].new_zeros(batch, self.keys * len(w["w_v"]))}

    def step(self, a: Tensor, prev: States, w: Weights, edit: Change = unchanged) -> States:
        q = edit("q", F.linear(a, w["w_q"]))
        key = edit("a", F.normalize(F.linear(a, w["w_a"]), dim=-1))
        v = edit("v", F.linear(a, w["w_v"]))
        b = edit("b", sigmoid(F.linear(a, w["w_b"])))
        e = edit("e", self.carry("m", prev["m"], {"a": key, "b": b}, w))
        written = edit("w", ((b * key)[..., None] * v[..., None, :]).flatten(-2))
        m = edit("m", e + written)
        o = edit("o", (q[..., None] * self.rows(m)).sum(-2))
        return {"q": q, "a": key, "v": v, "b": b, "e": e, "w": written, "m": m, "o": o}

    def rows(self, memory: Tensor) -> Tensor:
        return memory.view(*memory.shape[:-1], self.keys, -1)

    def carry(self, memory: str, before: Tensor, now: States, w: Weights) -> Tensor:
        key, rows = now["a"], self.rows(before)
        erased = (key[..., None] * rows).sum(-2, keepdim=True)
        return (rows - (now["b"] * key)[..., None] * erased).flatten(-2)

    def carry_back(self, memory: str, through: Tensor, now: States, w: Weights) -> Tensor:
        return self.carry(memory, through, now, w)  # it is symmetric

    def read_back(self, through: Tensor, now: States, w: Weights) -> Tensor:
        return (now["q"][:, None] * through).flatten()


@pytest.fixture(autouse=True, params=[Bare, Delta])
def cell(request: pytest.FixtureRequest) -> Iterator[Cell]:
    made: Cell = register(request.param())
    yield made
    del CELLS[made.name]


@pytest.fixture
def network(cell: Cell) -> Network:
    made = Network(NetworkConfig(cell.name, width=4, embedding=3), 12).initialise(0)
    return made.double().eval().requires_grad_(False)


@pytest.fixture
def lens(cell: Cell, tmp_path) -> "rnnlens.Lens":
    return rnnlens.load(formula_run(tmp_path / "run", cell.name, family=""))


WORDS = torch.tensor([[3], [1], [4], [1], [5], [9]])


def test_its_kinds_stand_in_the_network(cell, network):
    ids = [kind.id for kind in network.kinds]
    assert ids == ["x", *(f"{kind.id}{n}" for n in (1, 2) for kind in cell.kinds)]
    by_id = {kind.id: kind for kind in network.kinds}
    output, memory = f"{cell.output.id}2", next(f"{letter}2" for letter in cell.memories)
    assert network.prediction.sources == (Edge(output),)
    assert by_id[memory].memory == next(iter(cell.memories.values())).placed(lambda one: one + "2")
    assert by_id[ids[1]].sources == (Edge("x"),)


def test_its_weights_are_those_it_declares(cell, network):
    names = {name for name, _ in network.recurrent[0].named_parameters()}
    assert names == set(cell.shapes(3, 4)) == set(network.recurrence[0].weights)
    assert all(w.abs().sum() for w in network.recurrent[0].parameters() if w.dim() > 1)
    again = Network(network.config, 12).initialise(0).double()
    assert all(map(torch.equal, network.parameters(), again.parameters()))


def test_a_trace_goes_on_where_another_ended(network):
    whole, first = network.trace(WORDS), network.trace(WORDS[:2])
    rest = network.trace(WORDS[2:], first.last)
    for kind in network.kinds:
        both = torch.cat([first.states[kind.id], rest.states[kind.id]])
        torch.testing.assert_close(both, whole.states[kind.id])


def test_an_edit_goes_on_from_where_it_is_made(cell, network):
    write = f"{next(iter(cell.memories.values())).write}1"
    real = network.trace(WORDS)
    edited = network.trace(WORDS, edits=[StateEdit(write, 2, torch.zeros_like)])
    assert not edited.states[write][2].any()
    assert torch.equal(edited.states[write][:2], real.states[write][:2])
    assert not torch.allclose(edited.prediction[5], real.prediction[5])


def test_its_memory_is_split_over_the_words_exactly(cell, network):
    trace, generator = network.trace(WORDS), torch.Generator().manual_seed(0)
    ((memory, carried),) = cell.memories.items()
    for letter in {memory, carried.kept, cell.output.id}:
        state = trace.states[f"{letter}2"][4, 0]
        weight = torch.randn(len(state), generator=generator, dtype=torch.float64)
        direction, real = Direction(f"{letter}2", 4, weight, 0.5), float(state @ weight) + 0.5
        parts, rest = stored(network.recurrence, trace.states, direction)
        assert parts.sum() + rest == pytest.approx(real, abs=1e-12)
        assert np.count_nonzero(parts) == (4 if letter == carried.kept else 5)
        parts, rest = path(network.recurrence, trace.states, direction, [])
        assert parts.sum() + rest == pytest.approx(real, abs=1e-12)


def test_it_trains(cell, random_split):
    network = Network(NetworkConfig(cell.name, width=6), 12).initialise(0)
    config = TrainingConfig(epochs=4, batch=8, learning_rate=0.05)
    split = random_split()
    trainer = Trainer(network, split, split, config, torch.device("cpu"))
    trainer.run(lambda: False, lambda: None)
    history = trainer.progress.history
    assert history[-1]["train"] < history[0]["train"]


def test_a_run_of_it_opens_and_answers(cell, lens):
    assert lens.subject.model.recurrence[0].cell is cell
    grid = lens(TEXT)
    written = grid["y"][6].written_by("dog", against="said")
    assert written.stored.sum() + written.stored_rest == pytest.approx(written.difference, abs=1e-4)
    assert written.path.sum() + written.path_rest == pytest.approx(written.difference, abs=1e-4)
    assert len(lens.subject.session.read([1, 2], 0, 2)[0]) == len(lens.subject.model.kinds) + 1


def test_a_file_of_it_is_refused_while_the_page_has_no_equations(cell, lens, tmp_path):
    with pytest.raises(RnnlensError, match=f"the page has no equations of the cell '{cell.name}'"):
        lens.publish(tmp_path / "lens.html")
