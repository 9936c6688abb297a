"""Cells with a linear memory that networks are trained with: one after the other and all at once
they compute the same, and all that is asked of a cell follows from what they declare.
"""

from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.fixtures import formula_run
from torch import Tensor

import rnnlens
from rnnlens.ask.memory import Direction, path, stored
from rnnlens.model import linear
from rnnlens.model.block import Block
from rnnlens.model.cell import Cell, Change, Layer
from rnnlens.model.cells import CELLS
from rnnlens.model.cells.classic import TORCHS
from rnnlens.model.network import Network, NetworkConfig
from rnnlens.model.network_config import CELL_NAMES, HEADED, KEYED
from rnnlens.model.traceable import StateEdit
from rnnlens.model.train.dropout import Dropout, DropoutConfig
from rnnlens.model.train.training import Trainer, TrainingConfig, load_checkpoint, save_checkpoint

NAMES = [name for name in CELL_NAMES if CELLS[name] not in TORCHS.values()]
FEW = ("mingru", "deltanet")  # a vector and a matrix as memory, for what takes long
WORDS = torch.tensor([[3], [1], [4], [1], [5], [9]])
every = pytest.mark.parametrize("name", NAMES)
few = pytest.mark.parametrize(
    "name", [n if n in FEW else pytest.param(n, marks=pytest.mark.release) for n in NAMES]
)


def config(name: str, **options: object) -> NetworkConfig:
    heads = {"heads": 2} if name in HEADED else {}
    keys = {"keys": 3} if name in KEYED else {}
    return NetworkConfig(name, **{"width": 6, "embedding": 5, **heads, **keys, **options})  # type: ignore[arg-type]


def network_of(name: str) -> Network:
    made = Network(config(name), 12).initialise(0)
    return made.double().eval().requires_grad_(False)


def layer_of(name: str, inputs: int, seed: int = 0) -> Layer:
    """A layer of which no weight is zero."""
    layer = Layer(CELLS[name].sized(6, 2, 3), inputs, 6)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        layer.initialise(generator)
        for weight in layer.parameters():
            weight.add_(0.3 * torch.randn(weight.shape, generator=generator))
    return layer


def read(length: int, inputs: int, seed: int) -> Tensor:
    return torch.randn(length, 2, inputs, generator=torch.Generator().manual_seed(seed))


@every
@given(st.sampled_from([1, 2, 3, 7, 64, 65, 130]), st.sampled_from([6, 4]), st.integers(0, 2**31))
@example(130, 4, 0)  # more than are computed together
@settings(deadline=None, max_examples=4)
def test_all_timesteps_at_once_are_what_they_are_one_by_one(name, length, inputs, seed):
    layer, x = layer_of(name, inputs, seed), read(length, inputs, seed)
    for precision, near in ((torch.float32, 1e-5), (torch.float64, 1e-10)):
        w = {n: weight.detach().to(precision) for n, weight in layer.weights().items()}
        cell, start = layer.cell, layer.cell.start(w, 2)
        stepwise = cell._stepwise(x.to(precision), start, w, {})
        size = {kind: max(1.0, float(v.abs().max())) for kind, v in stepwise.items()}
        for by_kernel in (linear.computed_together, lambda _: True):  # as on CPU, CUDA
            with patch.object(linear, "computed_together", by_kernel):
                states = cell.states(x.to(precision), start, w)
                for kind, values in states.items():
                    assert float((values - stepwise[kind]).abs().max()) < near * size[kind], kind
        outputs = cell.outputs(x.to(precision), start, w)
        assert float((outputs - stepwise["h"]).abs().max()) < near * size["h"]


@every
@pytest.mark.parametrize("length", [5, pytest.param(70, marks=pytest.mark.release)])
def test_both_ways_have_the_same_gradients(name, length):
    layer, x = layer_of(name, 4).double(), read(length, 4, 1).double()
    weights = list(layer.parameters())
    ways = (
        layer.cell.outputs(x, layer.start(2), layer.weights()),
        layer.cell._stepwise(x, layer.start(2), layer.weights(), {})["h"],
    )
    slopes = [torch.autograd.grad(h.square().sum(), weights) for h in ways]
    for one, other in zip(*slopes, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-8, atol=1e-8)
    assert all(slope.abs().sum() for slope in slopes[0])  # no weight is idle


@every
def test_a_scan_goes_on_from_what_is_carried(name):
    layer, x = layer_of(name, 4), read(9, 4, 2)
    with torch.no_grad():
        whole = layer.cell.states(x, layer.start(2), layer.weights())
        carried = {kind: whole[kind][3] for kind in layer.cell.carried}
        rest = layer.cell.outputs(x[4:], carried, layer.weights())
    torch.testing.assert_close(rest, whole["h"][4:], rtol=0, atol=1e-5)


@every
def test_kinds_are_declared_whole(name):
    cell = CELLS[name]
    ids = [kind.id for kind in cell.kinds]
    assert len({*ids}) == len(ids)
    assert ids[-1] == cell.output.id == "h"
    assert {*cell.carried, *cell.holds} <= {*ids}
    assert all(edge.kind in {*ids, "below"} for kind in cell.kinds for edge in kind.sources)
    layer = layer_of(name, 4)
    with torch.no_grad():
        states = layer.cell.states(read(5, 4, 3), layer.start(2), layer.weights())
    for kind in cell.kinds:
        torch.testing.assert_close(kind.within(states[kind.id]), states[kind.id], atol=1e-6, rtol=0)


@every
def test_an_edge_is_there_for_all_that_a_kind_is_computed_from(name):
    """What changes in a timestep when a kind is changed are the kinds that its edges lead to."""
    cell, layer, x = CELLS[name], layer_of(name, 6).double(), read(4, 6, 4).double()
    with torch.no_grad():
        real = layer.cell.states(x, layer.start(2), layer.weights())
        for kind in cell.kinds:
            edited = layer.cell.states(x, layer.start(2), layer.weights(), {2: _moving(kind.id)})
            reached = {kind.id}
            for other in cell.kinds:
                edges = [edge.kind for edge in other.sources if not edge.back]
                if reached & {*edges}:
                    reached.add(other.id)
            moved = {k for k in real if not torch.allclose(edited[k][2], real[k][2], atol=1e-10)}
            assert moved <= reached, (kind.id, moved - reached)
            direct = {k.id for k in cell.kinds if any(e == kind.id for e in _now(k))}
            assert direct - {*"mab" * ("m" in real)} <= moved, kind.id  # of two, m is the larger
            assert all(torch.allclose(edited[k][:2], real[k][:2]) for k in real)
            # The maximum only keeps numbers small; by mLSTM's divisor all of a head is divided, and
            # each head is normed after it.
            if kind.id in {*cell.carried} - {"m", "n" if name == "mlstm" else "m"}:
                assert not torch.allclose(edited["h"][3], real["h"][3], atol=1e-10)


def _moving(kind: str) -> Change:
    return lambda letter, value: value + 0.05 if letter == kind else value


def _now(kind: "rnnlens.Kind") -> list[str]:
    return [edge.kind for edge in kind.sources if not edge.back]


@every
def test_its_memory_is_split_over_the_words_exactly(name):
    network, generator = network_of(name), torch.Generator().manual_seed(0)
    trace, cell = network.trace(WORDS), network.recurrence[0].cell
    memory, carried = next(iter(cell.memories.items()))
    assert cell.read_kind == next((k.id for k in cell.kinds if k.id == "r" != memory), "")
    for letter in {memory, carried.kept, cell.read_kind, cell.output.id} - {""}:
        state = trace.states[f"{letter}2"][4, 0]
        weight = torch.randn(len(state), generator=generator, dtype=torch.float64)
        direction, real = Direction(f"{letter}2", 4, weight, 0.5), float(state @ weight) + 0.5
        parts, rest = stored(network.recurrence, trace.states, direction)
        assert parts.sum() + rest == pytest.approx(real, abs=1e-10)
        assert np.count_nonzero(parts) == (4 if letter == carried.kept else 5)
        if letter == cell.read_kind:
            direct = name in ("mamba", "mamba2")  # D u is read beside the memory
            assert (rest != pytest.approx(0.5, abs=1e-10)) == direct
        if letter == cell.output.id:
            assert rest != pytest.approx(0.5)  # what goes around the memory
        parts, rest = path(network.recurrence, trace.states, direction, [])
        assert parts.sum() + rest == pytest.approx(real, abs=1e-10)


@every
def test_a_trace_goes_on_where_another_ended(name):
    network = network_of(name)
    whole, first = network.trace(WORDS), network.trace(WORDS[:2])
    rest = network.trace(WORDS[2:], first.last)
    for kind in network.kinds:
        both = torch.cat([first.states[kind.id], rest.states[kind.id]])
        torch.testing.assert_close(both, whole.states[kind.id])


@every
def test_an_edit_goes_on_from_where_it_is_made(name):
    network = network_of(name)
    write = f"{next(iter(network.recurrence[0].cell.memories.values())).write}1"
    real = network.trace(WORDS)
    edited = network.trace(WORDS, edits=[StateEdit(write, 2, torch.zeros_like)])
    assert not edited.states[write][2].any()
    torch.testing.assert_close(edited.states[write][:2], real.states[write][:2])
    assert not torch.allclose(edited.prediction[5], real.prediction[5], rtol=0, atol=1e-9)


@every
def test_it_reads_both_ways(name):
    network = Network(config(name, bidirectional=True, tied=False), 4, 12).initialise(0)
    network = network.double().eval().requires_grad_(False)
    lengths = torch.tensor([6, 4])
    batch = torch.cat([WORDS, WORDS.flip(0)], 1)
    both = network.trace((batch, lengths))
    alone = network.trace((batch[:4, 1:], lengths[1:]))
    for kind in network.kinds:
        torch.testing.assert_close(both.states[kind.id][:4, 1:], alone.states[kind.id])
    hidden = network.hidden(batch, lengths=lengths)
    torch.testing.assert_close(hidden, both.prediction)


@few
def test_it_learns(name, random_split):
    network = Network(config(name), 12).initialise(0)
    split = random_split()
    options = TrainingConfig(epochs=4, batch=8, learning_rate=0.05)
    trainer = Trainer(network, split, split, options, torch.device("cpu"))
    trainer.run(lambda: False, lambda: None)
    history = trainer.progress.history
    assert history[-1]["train"] < history[0]["train"]


@few
@pytest.mark.slow
def test_continuing_a_training_is_bit_identical(name, random_split, tmp_path):
    def trainer() -> Trainer:
        network, split = Network(config(name), 12).initialise(0), random_split()
        return Trainer(
            network, split, split, TrainingConfig(epochs=2, batch=8), torch.device("cpu")
        )

    whole, begun, continued = trainer(), trainer(), trainer()
    whole.run(lambda: False, lambda: None)
    steps = iter(range(100))
    begun.run(lambda: next(steps) == 2, lambda: None)
    save_checkpoint(begun, tmp_path / "c", "this")
    load_checkpoint(continued, tmp_path / "c", "this")
    continued.run(lambda: False, lambda: None)
    assert all(torch.equal(p, continued.best[key]) for key, p in whole.best.items())


@few
def test_processes_that_share_a_batch_have_the_gradients_of_one(name, random_split):
    network, split = Network(config(name), 12).initialise(0).double().train(), random_split()
    dropout = Dropout(DropoutConfig(), torch.device("cpu"))

    def slopes(rank: int, count: int) -> list[Tensor]:
        batch = split.batch(np.arange(7), rank, count)
        dropout.begin(3, batch.columns, batch.sentences)
        hidden = network.hidden(batch.inputs, dropout, batch.lengths)
        logits = network.predict(hidden.flatten(0, 1))
        nll = F.cross_entropy(logits, batch.targets.flatten(), reduction="sum")
        return list(torch.autograd.grad(nll, list(network.parameters())))

    for whole, *shares in zip(slopes(0, 1), slopes(0, 2), slopes(1, 2), strict=True):
        torch.testing.assert_close(shares[0] + shares[1], whole, rtol=1e-8, atol=1e-10)


@every
def test_weight_decay_leaves_alone_what_the_cell_keeps_from_it(name, random_split):
    network = Network(config(name), 12).initialise(0)
    trainer = Trainer(
        network, random_split(), random_split(), TrainingConfig(), torch.device("cpu")
    )
    decayed, kept = trainer.optimiser.groups
    named = {id(p): n.rpartition(".")[2] for n, p in network.named_parameters()}
    assert {named[id(p)] for p in kept.parameters} <= {*CELLS[name].undecayed}
    assert kept.weight_decay == 0 < decayed.weight_decay
    assert len(kept.parameters) + len(decayed.parameters) == len(named)


def test_what_is_too_large_for_a_linear_probe_is_named_and_memories_are_asked():
    network = Network(config("gla", width=300, heads=6, keys=50), 12)
    assert network.unprobed == {f"{k}{n}": 15_000 for n in (1, 2) for k in "kw"}
    assert not Network(config("gla", width=300, heads=0, keys=0), 12).unprobed


@few
def test_a_run_of_it_opens_and_answers(name, tmp_path):
    path = formula_run(tmp_path / "run", name, family="", **_parts(name))
    grid = rnnlens.load(path)("the old dog sees a bird .")
    written: Any = grid["y"][6].written_by("dog", against="said")
    assert written.stored.sum() + written.stored_rest == pytest.approx(written.difference, abs=1e-4)
    assert written.path.sum() + written.path_rest == pytest.approx(written.difference, abs=1e-4)


def _parts(name: str) -> dict[str, Any]:
    made = config(name)
    return {"heads": made.heads, "keys": made.keys}


def test_blocks_and_others_are_told_apart():
    assert {name for name in NAMES if isinstance(CELLS[name], Block)} == {*NAMES} - {"slstm"}
    assert all(isinstance(CELLS[name], Cell) for name in NAMES)
