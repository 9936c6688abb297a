"""The kernels of sLSTM, with gradients, against its steps as autograd sees them: on CUDA, and
elsewhere by Triton's interpreter if there; and the loop that does the same without them.
"""

from types import SimpleNamespace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from tests.kernels import CUDA, DEVICE, kernels_of
from torch import Tensor

from rnnlens.model.cells import slstm
from rnnlens.model.cells.slstm import SLSTM

#: Timesteps, texts, heads and units of a head: tiles that are full or not, sides that are no
#: powers of two, and one that is padded to the least that a product can have.
SHAPES = [(1, 3, 2, 5), (4, 17, 2, 20), (3, 16, 1, 64), (6, 33, 3, 50)]
STARTS = pytest.mark.parametrize("fresh", [True, False], ids=["start", "carried"])
shapes = pytest.mark.parametrize(("steps", "texts", "heads", "size"), SHAPES)
needs_cuda = pytest.mark.skipif(not CUDA, reason="needs CUDA")


@pytest.fixture(autouse=True)
def exact_products():
    """What another test may have changed for the whole process."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    yield
    torch.set_float32_matmul_precision(before)


@pytest.fixture
def kernels(monkeypatch: pytest.MonkeyPatch):
    found = kernels_of("rnnlens.model.slstm_cuda")
    monkeypatch.setattr(slstm, "_fits", lambda *_: True)
    return found


def drawn(
    steps: int, texts: int, heads: int, size: int, fresh: bool, **like: Any
) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(steps + texts + size)

    def normal(*shape: int, scale: float = 1.0) -> Tensor:
        values = torch.randn(*shape, generator=generator, dtype=torch.float64) * scale
        return values.to(**like)

    width = heads * size
    given = {
        "sums": normal(steps, texts, 4 * width, scale=2.0),
        "weights": normal(4, heads, size, size, scale=size**-0.5),
    }
    if fresh:
        given |= SLSTM(heads).start({"b": normal(4 * width)}, texts)
    else:
        given |= {kind: normal(texts, width) for kind in "rcnm"}
        given["n"] = given["n"].abs() + 0.5
    return {name: value.detach().requires_grad_() for name, value in given.items()}


def stepped(cell: SLSTM, given: dict[str, Tensor]) -> Tensor:
    """One step after the other, as autograd sees it."""
    now, reads = given, []
    for a in given["sums"]:
        now = cell.step(a, now, {"w_h": given["weights"]})
        reads.append(now["r"])
    return torch.stack(reads)


def read(cell: SLSTM, given: dict[str, Tensor]) -> Tensor:
    return cell.reads(given["sums"], given, given["weights"])


def agree(given: dict[str, Tensor], near: float) -> None:
    """Reads and every gradient, as far as `near` of the largest number of each."""
    cell, exact = SLSTM(given["weights"].shape[1]), {k: v.double() for k, v in given.items()}
    ours, theirs = read(cell, given), stepped(cell, exact)
    with torch.no_grad():  # by a kernel of its own
        torch.testing.assert_close(read(cell, given), ours, rtol=0, atol=near)
    slopes = torch.cos(torch.arange(ours.numel(), device=ours.device)).view_as(ours)
    found = torch.autograd.grad(ours, [*given.values()], slopes.to(ours))
    wanted = torch.autograd.grad(theirs, [*given.values()], slopes.to(theirs))
    for one, other in zip((ours.detach(), *found), (theirs.detach(), *wanted), strict=True):
        assert one.dtype == given["sums"].dtype
        bound = near * max(1.0, float(other.abs().max()))
        torch.testing.assert_close(one.double(), other.double(), rtol=0, atol=bound)


@shapes
@STARTS
def test_kernels_are_one_step_after_the_other(kernels, steps, texts, heads, size, fresh):
    agree(drawn(steps, texts, heads, size, fresh, device=DEVICE, dtype=torch.float32), 1e-5)


def test_small_cell_inputs_are_as_exact_as_large_ones(kernels):
    sizes = torch.tensor([1e-6, 1e-4, 3e-3, 0.05, 0.0999, 0.1001, 0.7, 9.0])
    a = torch.cat([-sizes, sizes]).to(DEVICE)
    given = drawn(1, 1, 1, len(a), True, device=DEVICE, dtype=torch.float32)
    given["sums"] = F.pad(a, (2 * len(a), len(a)))[None, None]  # with all gates at zero
    wanted = torch.sigmoid(torch.zeros(1, device=DEVICE)) * a.double().tanh()
    with torch.no_grad():
        found = read(SLSTM(1), given)[0, 0]
    torch.testing.assert_close(found.double(), wanted, rtol=2e-6, atol=0)


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=needs_cuda)])
@shapes
@STARTS
def test_the_loop_is_one_step_after_the_other(device, steps, texts, heads, size, fresh):
    agree(drawn(steps, texts, heads, size, fresh, device=device, dtype=torch.float64), 1e-10)


@needs_cuda
def test_kernels_are_for_heads_that_fit_and_single_numbers():
    fit = drawn(1, 2, 1, 64, True, device="cuda", dtype=torch.float32)
    large = drawn(2, 3, 1, 65, False, device="cuda", dtype=torch.float32)
    double = {name: value.double() for name, value in fit.items()}
    assert slstm._fits(fit["sums"], fit["weights"])
    for given in (large, double):
        assert not slstm._fits(given["sums"], given["weights"])
    agree(large, 1e-5)


def test_kernels_are_for_gpus_of_one_maker_from_a_generation_on(monkeypatch):
    sums: Any = SimpleNamespace(dtype=torch.float32, is_cuda=True, device="cuda")
    for generation, hip, fits in (
        ((8, 0), None, True),
        ((7, 5), None, False),
        ((9, 4), "6", False),
    ):
        monkeypatch.setattr(torch.version, "hip", hip)
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _, it=generation: it)
        assert slstm._fits(sums, torch.ones(4)) == fits


@needs_cuda
def test_a_graph_records_shapes_that_were_not_compiled_for():
    """As training does: what comes first compiles, what is recorded later has other shapes."""
    cell, like = SLSTM(6), {"device": "cuda", "dtype": torch.float32}

    def slope_of(given: dict[str, Tensor]) -> Tensor:
        (slope,) = torch.autograd.grad(read(cell, given).square().sum(), given["sums"])
        return slope

    stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
    with torch.cuda.stream(stream):
        slope_of(drawn(16, 64, 6, 50, True, **like))
    given = drawn(1, 33, 6, 50, True, **like)  # one, which Triton would make a constant of
    torch.cuda.synchronize()
    with torch.cuda.graph(graph, stream=stream):
        found = slope_of(given)
    graph.replay()
    wanted = slope_of(given)
    torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-6)


def test_second_derivatives_are_refused():
    given = drawn(2, 3, 1, 4, True, device="cpu", dtype=torch.float64)
    (slope,) = torch.autograd.grad(
        read(SLSTM(1), given).square().sum(), given["sums"], create_graph=True
    )
    with pytest.raises(RuntimeError, match="once_differentiable"):
        slope.sum().backward()
