"""Wrapped modules are unwrapped; scripted, traced and quantised ones are refused by name."""

import sys
import warnings
from collections.abc import Callable
from types import ModuleType

import pytest
import torch
import torch.distributed as dist
from torch import Tensor, nn

from rnnlens.adapter import Adapter
from rnnlens.adapter.modules import Watch, fingerprint, submodules
from rnnlens.base.errors import RnnlensError


class Model(nn.Module):
    """A language model as many are written."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(9, 4)
        self.encoder = nn.GRU(4, 5)
        self.head = nn.Linear(5, 9)

    def forward(self, words: Tensor) -> Tensor:
        hidden: Tensor = self.encoder(self.embedding(words))[0]
        logits: Tensor = self.head(hidden)
        return logits


WORDS = torch.randint(9, (6, 3))


def states(module: nn.Module) -> dict[str, Tensor]:
    """On the CPU: DataParallel moves a module to a GPU where there is one."""
    return Adapter(module.cpu()).trace(WORDS).states


def test_data_parallel_modules_are_unwrapped():
    module = Model()
    wrapped = nn.DataParallel(module)
    assert Adapter(wrapped).module is module
    assert torch.equal(states(wrapped)["h1"], states(module)["h1"])


def test_distributed_modules_are_unwrapped(tmp_path):
    store = dist.FileStore(str(tmp_path / "store"), 1)  # type: ignore[attr-defined]
    dist.init_process_group("gloo", store=store, rank=0, world_size=1)
    try:
        module = Model()
        wrapped = nn.parallel.DistributedDataParallel(module)
        assert torch.equal(states(wrapped)["h1"], states(module)["h1"])
    finally:
        dist.destroy_process_group()


def test_compiled_modules_are_read_as_they_were_written():
    module = Model()
    expected = states(module)
    compiled = torch.compile(module, backend="eager")
    assert isinstance(compiled, nn.Module)
    assert Adapter(compiled).module is module
    assert torch.equal(states(compiled)["h1"], expected["h1"])
    assert torch.equal(states(nn.DataParallel(compiled))["h1"], expected["h1"])


def test_compiled_submodules_are_read_as_they_were_written():
    module = Model()
    expected = states(module)
    module.encoder = torch.compile(module.encoder, backend="eager")  # type: ignore[assignment]
    module.compile(backend="eager")
    with torch.no_grad():
        logits = module(WORDS)
    adapter = Adapter(module, kinds=["encoder"])
    traced = adapter.trace(WORDS)
    assert [kind.id for kind in adapter.kinds][:2] == ["x", "r1"]
    assert torch.equal(traced.states["h1"], expected["h1"])
    assert torch.allclose(traced.states["encoder"], expected["h1"], atol=1e-6)
    with torch.no_grad():
        assert torch.equal(module(WORDS), logits)


@pytest.mark.filterwarnings("ignore:.*is deprecated:DeprecationWarning")  # torch's own, of itself
def test_reading_compiles_nothing():
    compiled = list[int]()

    def backend(graph: torch.fx.GraphModule, _inputs: object) -> Callable[..., object]:
        compiled.append(1)
        return graph.forward

    torch.compiler.reset()  # what was compiled before would serve again
    module = Model()
    expected = states(module)
    module.head = torch.compile(module.head, backend=backend)  # type: ignore[assignment]
    assert torch.equal(states(module)["h1"], expected["h1"])
    assert not compiled
    with torch.no_grad():
        module(WORDS)
    assert compiled  # afterwards as ever


@pytest.mark.parametrize("make", [torch.jit.script, lambda m: torch.jit.trace(m, WORDS)])
@pytest.mark.parametrize("whole", [True, False])
def test_scripted_and_traced_modules_are_refused_by_name(make, whole):
    module = Model()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if whole:
            given = make(module)
        else:
            given = Model()
            given.encoder = torch.jit.script(module.encoder)  # type: ignore[assignment]
    where = "the module" if whole else "encoder"
    with pytest.raises(RnnlensError, match=rf"^{where} \(.*\) is scripted or traced.*made from$"):
        Adapter(given)


def test_a_scripted_module_without_recurrence_may_stay():
    module = Model()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module.head = torch.jit.script(module.head)  # type: ignore[assignment]
    module.head.train()
    assert Adapter(module).trace(WORDS).states["h1"].shape == (6, 3, 5)
    assert module.head.training


@pytest.mark.parametrize("part", ["lstm", "gru", "cell"])
def test_quantised_parts_are_refused_by_name(part):
    dynamic = torch.ao.nn.quantized.dynamic
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = {"lstm": dynamic.LSTM, "gru": dynamic.GRU, "cell": dynamic.GRUCell}[part](4, 5)
    module = Model()
    module.encoder = made
    with pytest.raises(
        RnnlensError, match=r"^encoder \(\w+\) is quantised .* before quantisation$"
    ):
        Adapter(module)


def test_lazy_modules_have_to_be_run_first():
    module = nn.Sequential(nn.GRU(3, 4), nn.LazyLinear(5))
    with pytest.raises(RnnlensError, match=r"1\.weight has no shape yet; run the module once"):
        Adapter(module)


@pytest.mark.parametrize(
    ("name", "near"), [("encodr", "encoder"), ("Head", "head"), ("embedding.x", "embedding")]
)
def test_a_name_that_does_not_exist_gets_near_ones(name, near):
    with pytest.raises(RnnlensError, match=f"no submodule called '{name}'; did you mean .*{near}"):
        Adapter(Model(), kinds=[name])


def test_one_name_alone_may_be_given():
    assert "head" in Adapter(Model(), kinds="head").trace(WORDS).states


def test_something_that_is_no_module():
    with pytest.raises(
        RnnlensError, match=r"a function is no torch module; give the torch.nn.Module"
    ):
        Adapter(states)  # type: ignore[arg-type]


def test_names_are_as_the_user_wrote_them():
    module = Model()
    module.encoder = torch.compile(module.encoder, backend="eager")  # type: ignore[assignment]
    assert list(submodules(module)) == ["", "embedding", "encoder", "head"]


def step(module: nn.Module) -> None:
    optimiser = torch.optim.SGD(module.parameters(), 1.0)
    module(WORDS).square().mean().backward()
    optimiser.step()


def load(module: nn.Module) -> None:
    module.load_state_dict(Model().state_dict())


def one_number(module: nn.Module) -> None:
    next(module.parameters()).data.view(-1)[-1] += 1


def one_sign(module: nn.Module) -> None:
    next(module.parameters()).data.view(-1)[3].neg_()  # an even place, of words of either size


def buffer(module: nn.Module) -> None:
    module.register_buffer("mean", torch.zeros(3))


@pytest.mark.parametrize("change", [step, load, one_number, one_sign, buffer])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_a_fingerprint_tells_every_change(change, dtype):
    module = Model().to(dtype)
    before = fingerprint(module)
    assert before == fingerprint(module)
    change(module)
    assert fingerprint(module) != before


def moved_rows(module: nn.Module) -> None:
    """A sum of all numbers stays, and no counter of torch's changes."""
    weight = next(module.parameters()).data
    weight.copy_(weight.flip(0).clone())


@pytest.mark.parametrize("change", [step, load, one_number, one_sign, buffer, moved_rows])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_a_watch_sees_every_change_also_a_second_one(change, dtype):
    module = Model().to(dtype)
    watch = Watch(module)
    assert watch.is_unchanged()
    change(module)
    assert not watch.is_unchanged()
    assert not watch.is_unchanged()


@pytest.mark.parametrize("place", [0, 12345, 4096 * 509 + 1, -1])
def test_a_watch_sees_one_number_of_many(place):
    module = nn.Linear(1500, 3001)  # of no even number of blocks
    watch = Watch(module)
    with torch.no_grad():
        module.weight.data.view(-1)[place] += 1e-4
    assert not watch.is_unchanged()


def test_a_watch_sees_columns_change_places_behind_the_counters():
    module = nn.Linear(1024, 512)  # of which no row lies in two blocks
    watch, counter = Watch(module), module.weight._version
    order = torch.arange(1024).view(-1, 2).flip(0).flatten()  # pairs: sums of eight bytes stay
    module.weight.data.copy_(module.weight.data[:, order])
    assert module.weight._version == counter
    assert not watch.is_unchanged()


def test_a_watch_takes_the_same_weights_for_the_same_wherever_they_are(monkeypatch):
    module = Model()
    watch = Watch(module)
    Adapter(module).trace(WORDS)
    module.load_state_dict({name: t.clone() for name, t in module.state_dict().items()})
    assert watch.is_unchanged()
    module.head.bias.data = module.head.bias.data.clone()
    assert watch.is_unchanged()
    monkeypatch.setattr("rnnlens.adapter.modules.fingerprint", lambda _: pytest.fail("not needed"))
    assert watch.is_unchanged()  # known by now, so that nothing else is looked at


def test_weights_that_torch_counts_no_changes_of_are_watched():
    with torch.inference_mode():
        module = nn.Linear(3, 3)
    watch = Watch(module)
    assert watch.is_unchanged()
    with torch.inference_mode():
        module.weight.add_(1)
    assert not watch.is_unchanged()
    assert Watch(nn.Linear(3, 3, device="meta")).is_unchanged()


def test_a_fingerprint_is_that_of_the_weights_wherever_they_are():
    module = Model()
    before = fingerprint(module)
    Adapter(module).trace(WORDS)
    with torch.no_grad():
        module.eval()(WORDS)
    assert fingerprint(module) == before
    module.load_state_dict({name: t.clone() for name, t in module.state_dict().items()})
    assert fingerprint(module) == before
    odd = torch.randn(7)
    module.head.bias.data = torch.cat([odd[:1], module.head.bias.data])[1:]  # lies between others
    assert fingerprint(module) == before
    assert len(fingerprint(Model().to("meta"))) == len(before)


def test_an_old_version_of_transformers_is_told_with_the_first_that_is_read(monkeypatch):
    library = ModuleType("transformers")
    vars(library)["__version__"] = "5.4.0"
    monkeypatch.setitem(sys.modules, "transformers", library)
    old = type("MambaForCausalLM", (nn.Linear,), {"__module__": "transformers.models.mamba"})
    with pytest.raises(RnnlensError, match=r"of transformers 5\.4\.0 .* from 5\.6 on\)"):
        Adapter(old(3, 3))
    with pytest.raises(RnnlensError, match="or a scan that is known\\); name the"):
        Adapter(nn.Linear(3, 3))
