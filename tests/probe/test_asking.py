"""Questions to memories that are matrices: their gradients, what is learned, and the files."""

import math
from types import SimpleNamespace

import pytest
import torch
from tests.recalling import planted, recall_example
from torch import Tensor

import rnnlens
from rnnlens.base.errors import RnnlensError
from rnnlens.labels.sets import LabelSet
from rnnlens.model.network import Network, NetworkConfig
from rnnlens.model.transition import Matrix
from rnnlens.probe import asking
from rnnlens.probe.asking import _Bilinear, _Memory
from rnnlens.probe.dataset import Chunk, Dataset
from rnnlens.probe.families import Linear, Shared
from rnnlens.probe.fit_config import FitConfig
from rnnlens.probe.fitting import at_once
from rnnlens.probe.memory_questions import Questions, how_many
from rnnlens.probe.needs import Needs
from rnnlens.probe.probes import Probes

MATRICES = [Matrix(2, 5, 3, keys_last=False), Matrix(1, 4, 6, keys_last=True)]
LABELS = 7


def chunk_of(matrix: Matrix, count: int = 96) -> Chunk:
    """Random memories, in one direction of which their label is."""
    generator = torch.Generator().manual_seed(3)
    labels = torch.randint(LABELS, (count,), generator=generator)
    states = torch.randn(count, matrix.numbers, generator=generator)
    by_keys = matrix.by_keys(states)  # a view
    by_keys[:, 0, 1, 0] += 3 * labels
    return Chunk({"S1": states}, labels, torch.zeros(count, dtype=torch.int64), 1)


def fit_of(matrix: Matrix, family: str = "linear") -> tuple[_Bilinear, Chunk]:
    chunk, answers = chunk_of(matrix), LabelSet.numbered(LABELS)
    code = torch.randn(LABELS, 4, generator=torch.Generator().manual_seed(1))
    memory = _Memory("S1", matrix, 2, [chunk], lambda some: code[some.labels])

    def family_of(moments, kinds, readout, prior):
        device = torch.device("cpu")
        made = Linear(moments, kinds, answers, device) if family == "linear" else \
            Shared(moments, kinds, answers, device, 3)  # fmt: skip
        made.start(readout, prior)
        generator = torch.Generator().manual_seed(2)
        for weight in made.weights.values():
            weight.add_(torch.randn(weight.shape, generator=generator), alpha=0.3)
        made.refresh()
        return made

    return _Bilinear({"S1": memory}, [chunk], None, answers, family_of), chunk


def loss_of(fit: _Bilinear, chunk: Chunk, weight: Tensor, matrix: Matrix) -> float:
    """The mean NLL in float64, by a plain loop over states, heads, questions and values."""
    stack, memory = fit.family.stack, fit.memories[0]
    states = (chunk.states["S1"].double() - memory.mean).numpy()
    by_keys = matrix.by_keys(torch.from_numpy(states))
    total = 0.0
    for n, label in enumerate(chunk.labels.tolist()):
        x = torch.zeros(stack.map.shape[2], dtype=torch.float64)
        for h in range(matrix.heads):
            for m in range(weight.shape[2]):
                for v in range(matrix.values):
                    answer = sum(weight[h, k, m] * by_keys[n, h, k, v] for k in range(matrix.keys))
                    place = ((h * matrix.values + v) * weight.shape[2] + m if matrix.keys_last
                             else (h * weight.shape[2] + m) * matrix.values + v)  # fmt: skip
                    x[place] = answer / stack.scale[0, place].double()
        x[stack.widths[0]] = 1
        logits = stack.map[0].double() @ x
        logits = logits if stack.labels is None else stack.labels.double() @ logits
        total -= float(logits.log_softmax(0)[label])
    return total / len(chunk.labels)


@pytest.mark.parametrize("family", ["linear", "shared"])
@pytest.mark.parametrize("matrix", MATRICES)
def test_the_gradient_by_questions_is_that_of_finite_differences(matrix, family):
    fit, whole = fit_of(matrix, family)
    rows = torch.arange(12)
    chunk = Chunk({"S1": whole.states["S1"][rows]}, whole.labels[rows], rows * 0, 1)
    fit._learn(chunk, rows)
    memory = fit.memories[0]
    found, root, moved = memory.gradient, memory.root.double(), memory.moved.double()
    for place in ((0, 0, 0), (0, 2, 1), (matrix.heads - 1, 3, 0)):
        step = torch.zeros_like(moved)
        step[place] = 1e-4
        ends = [loss_of(fit, chunk, root @ (moved + sign * step), matrix) for sign in (1, -1)]
        assert found[place].item() == pytest.approx((ends[0] - ends[1]) / 2e-4, rel=2e-3, abs=2e-5)


@pytest.mark.parametrize("matrix", MATRICES)
def test_answers_and_their_transpose_are_those_of_plain_loops(matrix):
    generator = torch.Generator().manual_seed(0)
    asked = Questions(
        matrix, torch.randn(matrix.heads, matrix.keys, 2, generator=generator).double()
    )
    states = torch.randn(3, matrix.numbers, generator=generator).double()
    answers, shaped = asked(states), matrix.shaped(states)
    for n in range(3):
        for h in range(matrix.heads):
            whole = shaped[n, h] if matrix.keys_last else shaped[n, h].T  # values by keys
            wanted = whole @ asked.weight[h]  # (values, questions)
            own = answers[n].view(matrix.heads, -1)[h]
            mine = own.view(matrix.values, 2) if matrix.keys_last else own.view(2, -1).T
            assert torch.allclose(mine, wanted, atol=1e-12)
    rows = torch.randn(4, asked.width, generator=generator).double()
    assert torch.allclose(rows @ answers.T, asked.lifted(rows) @ states.T, atol=1e-12)


@pytest.mark.parametrize("matrix", MATRICES)
def test_learning_finds_what_tells_the_label(matrix, monkeypatch):
    monkeypatch.setattr(asking, "_EPOCHS", 150)
    fit, chunk = fit_of(matrix)
    before = fit._nll([chunk])[0]
    largest = fit.memories[0].moved[0, :, 0].abs().argmax()
    assert int(largest) == 1  # the key under which the label lies
    fit.run([chunk], [chunk], 0)
    assert fit._nll([chunk])[0] < 0.9 * before


def test_questions_that_do_not_help_stay_as_they_were(monkeypatch):
    fit, chunk = fit_of(MATRICES[0])
    start = fit.memories[0].questions.weight.clone()
    measured = iter(([1.0], [2.0]))
    monkeypatch.setattr(fit, "_nll", lambda _chunks: next(measured))
    assert torch.equal(fit.run([chunk], [chunk], 0)["S1"].weight, start)
    assert not torch.equal(fit.memories[0].questions.weight, start)


def test_a_step_leaves_its_weights_rounded_for_products():
    """As on a GPU, where products take a copy of the weights in half precision."""
    weight = torch.randn(3, 4, 5, generator=torch.Generator().manual_seed(0))
    gradient, working = torch.ones_like(weight), weight.bfloat16()
    family = SimpleNamespace(
        weights={"map": weight}, gradients={"map": gradient}, working={"map": working}
    )
    moments = {"map": (torch.zeros_like(weight), torch.zeros_like(weight))}
    before = weight.clone()
    _Bilinear._step(SimpleNamespace(family=family, adam=moments, memories=()), 1, 1.0)  # type: ignore[arg-type]
    assert not torch.equal(weight, before)
    assert torch.equal(working, weight.bfloat16())
    assert not gradient.any()


def test_how_many_questions_there_are():
    large = Matrix(1, 16, 1536, keys_last=True)
    assert how_many(large, 0) == 4
    assert how_many(large, 2) == 2
    assert how_many(large, 64) == 5  # 8,192 numbers of answers at most
    assert how_many(Matrix(1, 16, 16, keys_last=False), 0) == 0  # 256 numbers are read as they are
    assert how_many(Matrix(1, 16, 16, keys_last=False), 4) == 4
    assert how_many(Matrix(1, 4, 4, keys_last=False), 4) == 0  # as many as keys


@pytest.fixture(scope="module")
def example():
    return recall_example()


@pytest.fixture(scope="module")
def asked_lens(example):
    data = [example.batch(48, seed, True) for seed in range(6)]
    return rnnlens.fit(planted(example), data, example.WORDS, inputs=example.WORDS, epochs=2,
                       recurrences=[example.recurrence(True)], questions=3)  # fmt: skip


def test_a_memory_is_read_by_its_questions_and_split_exactly(asked_lens):
    grid = asked_lens("b 3 d 7 b 5 d")
    probes = asked_lens.subject.probes
    assert probes.stacks["output"].questions.keys() == {"S1"}
    assert probes.stacks["output"].questions["S1"].weight.shape == (1, 16, 3)
    assert grid["S1"][6].distribution().sum() == pytest.approx(1, abs=1e-6)
    weights, constants = probes.rows("S1", [11, 15])
    state = torch.from_numpy(grid["S1"][6].vector()).double()
    direct = probes.logits("S1", state[None].float())[0, [11, 15]].double()
    assert torch.allclose(weights @ state + constants, direct, atol=1e-4)
    written = grid["S1"][6].written_by("7", against="3")
    assert sum(written.stored) + written.stored_rest == pytest.approx(written.difference, abs=1e-4)
    edited = asked_lens("b 3 d 7 b 5 d", edits=["S1@6=0"])
    assert edited["S1"][6].top(1) != grid["S1"][6].top(1)


def test_a_push_of_what_is_asked_is_refused_in_one_line(asked_lens):
    with pytest.raises(RnnlensError, match="S1 is read by questions to it, and how all of its num"):
        asked_lens("b 3 d 7", edits=["S1@2+7"])
    assert asked_lens("b 3 d 7", edits=["r1@2+7"])["r1"][1].probability("7") > 0.1


def test_questions_are_saved_and_read_again(asked_lens, tmp_path):
    path = asked_lens.save(tmp_path / "run")
    again = rnnlens.load(path, model=asked_lens.subject.model.user)
    text = "b 3 d 7 b"
    for row in range(5):
        assert asked_lens(text)["S1"][row].distribution() == pytest.approx(
            again(text)["S1"][row].distribution(), abs=1e-6
        )


@pytest.mark.parametrize("spoil", [
    lambda q: q[0], lambda q: q[..., :0], lambda q: q[..., :1].expand(-1, -1, 7),
    lambda q: q.long(), lambda q: q.repeat(1, 2**20 + 1, 1),
])  # fmt: skip
def test_questions_of_another_shape_are_refused_in_one_line(asked_lens, spoil):
    probes = asked_lens.subject.probes
    tensors = probes.tensors()
    tensors["output/S1/questions"] = spoil(tensors["output/S1/questions"])
    with pytest.raises(RnnlensError, match="the probes are damaged"):
        Probes.of(probes.family, probes.kinds, ["output"], probes.label_count, tensors)


def test_questions_of_another_memory_are_refused_where_they_are_asked(asked_lens):
    probes = asked_lens.subject.probes
    tensors = probes.tensors()
    tensors["output/S1/questions"] = torch.cat([tensors["output/S1/questions"]] * 2, 2)
    other = Probes.of(probes.family, probes.kinds, ["output"], probes.label_count, tensors)
    with pytest.raises(RnnlensError, match="S1 has 256 numbers, and its probe reads 48"):
        other.logits("S1", torch.zeros(1, 256))


def test_both_sorts_of_questions_are_refused(asked_lens):
    probes = asked_lens.subject.probes
    tensors = probes.tensors()
    tensors["output/S1/questions_last"] = tensors["output/S1/questions"]
    with pytest.raises(RnnlensError, match="are no questions"):
        Probes.of(probes.family, probes.kinds, ["output"], probes.label_count, tensors)


def test_many_labels_share_a_matrix_unless_somebody_says_otherwise():
    assert FitConfig().settled(14_672).probe == "linear"
    assert FitConfig().settled(50_280).probe == "shared"
    assert FitConfig(probe="linear").settled(50_280).probe == "linear"


@pytest.mark.parametrize(
    ("cell", "labels", "family"),
    [("gla", 3_000, "shared"), ("gla", 2_000, "linear"), ("lstm", 3_000, "linear")],
)
def test_probes_of_matrices_with_many_weights_share_labels(cell, labels, family):
    """A matrix of 1,536 numbers, as the preset for a CPU has it."""
    network = Network(NetworkConfig(cell, width=128, layers=1), labels)
    dataset = Dataset(network, {}, labels)
    assert dataset.settled(FitConfig()).probe == family
    assert dataset.settled(FitConfig(probe="linear")).probe == "linear"


def test_matrices_that_are_asked_questions_do_not_decide():
    network = Network(NetworkConfig("gla", width=300, layers=1, heads=6, keys=50), 3_000)
    assert network.matrices["S1"].numbers == 15_000
    assert Dataset(network, {}, 3_000).settled(FitConfig()).probe == "linear"


def test_logits_that_are_held_do_not_grow_with_labels():
    held = [at_once(labels, torch.device("cpu")) * labels for labels in (1_000, 50_000, 250_000)]
    assert max(held) <= 2**24
    assert at_once(10**9, torch.device("cpu")) == 64


def test_what_a_fit_takes_is_said_and_what_no_machine_has_is_refused():
    widths, device = [6144] * 24 + [768] * 72, torch.device("cpu")
    shared = Needs.of(FitConfig(probe="shared"), widths, 50_280, 4096, 256)
    linear = Needs.of(FitConfig(probe="linear"), widths, 50_280, 4096, 256)
    assert shared.total < linear.total / 20
    with pytest.raises(RnnlensError, match="probe shared, or a lower rank, fewer questions"):
        linear.checked(device, asked=True)
    few = Needs.of(FitConfig(probe="linear"), [300] * 17, 14_672, 4096, 256)
    assert few.checked(device, asked=False) == ""
    assert math.isclose(few.weights, 4 * 5 * 17 * 14_672 * 301)
