"""Layers of a library that nobody has: a scan is known by its name, wherever it is from."""

import functools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import rnnlens
from rnnlens.adapter.adapter import Adapter
from rnnlens.adapter.record.scan_parts import Layer
from rnnlens.adapter.user_model import UsersCodeError
from rnnlens.base.errors import RnnlensError
from rnnlens.lab.half_lives import half_lives
from rnnlens.lab.prefixes import Reader
from rnnlens.model.lazy import at_hand
from rnnlens.model.traceable import StateEdit

WORDS, WIDTH, NUMBERS, LAYERS = 12, 6, 3, 2
LABELS = [f"w{number}" for number in range(WORDS)]
TEXT = "w1 w4 w5 w9 w2 w6"


def mamba_selective_scan(
    hidden_states: Tensor,
    dt: Tensor,
    A: Tensor,  # noqa: N803 - as the library has it
    B: Tensor,  # noqa: N803
    C: Tensor,  # noqa: N803
    D: Tensor | None = None,  # noqa: N803
    z: Tensor | None = None,
    delta_softplus: bool = False,
    cu_seqlens: Tensor | None = None,
) -> Tensor:
    """A plain loop over channels first and time last."""
    begins = [] if cu_seqlens is None else cu_seqlens.tolist()
    dt = F.softplus(dt) if delta_softplus else dt
    state, outputs = torch.zeros(*hidden_states.shape[:2], A.shape[1]), []
    for t in range(hidden_states.shape[-1]):
        state = torch.exp(dt[..., t, None] * A) * (0 * state if t in begins else state)
        state = state + (dt * hidden_states)[..., t, None] * B[:, None, :, t]
        outputs.append((state * C[:, None, :, t]).sum(-1))
    out = torch.stack(outputs, -1)
    out = out if D is None else out + D[:, None] * hidden_states
    return out if z is None else out * F.silu(z)


class Mixer(nn.Module):
    """A layer that calls it."""

    def __init__(self) -> None:
        super().__init__()
        self.into = nn.Linear(WIDTH, 3 * WIDTH + 2 * NUMBERS)
        self.rate = nn.Parameter(torch.rand(WIDTH, NUMBERS))
        self.skip = nn.Parameter(torch.rand(WIDTH))
        self.out = nn.Linear(WIDTH, WIDTH)
        self.options: dict[str, Any] = {"delta_softplus": True}
        self.swapped = False
        self.meanwhile: Callable[[], None] | None = None

    def forward(self, x: Tensor) -> Tensor:
        sizes = [WIDTH, WIDTH, WIDTH, NUMBERS, NUMBERS]
        u, dt, z, b, c = (part.transpose(1, 2) for part in self.into(x).split(sizes, -1))
        if self.swapped:
            return x
        if self.meanwhile:
            self.meanwhile()
        a = -self.rate.exp()
        y = mamba_selective_scan(u, dt, a, b, c, D=self.skip, z=z, **self.options)
        out: Tensor = self.out(y.transpose(1, 2).to(x.dtype))
        return out


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.mixer = Mixer()
        self.mlp = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Tensor) -> tuple[Tensor]:
        x = x + self.mixer(x)
        return (x + self.mlp(x),)


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(WORDS, WIDTH)
        self.layers = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm_f = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, WORDS)

    def forward(self, ids: Tensor, use_cache: bool = True) -> dict[str, Any]:
        assert not use_cache
        x = self.embed(ids)
        for layer in self.layers:
            (x,) = layer(x)
        return {"logits": self.head(self.norm_f(x)), "cache": object()}


@pytest.fixture
def model():
    torch.manual_seed(0)
    return Model()


@pytest.fixture
def ids():
    return torch.randint(0, WORDS, (3, 7), generator=torch.Generator().manual_seed(0))


def _loop(model: Any, ids: Tensor, set_to: float | None = None) -> tuple[Tensor, Tensor]:
    """The first layer's memory (T, B, C, N), in float64, set to a number at the fourth word, and
    the layer's own output.
    """
    layer = model.layers[0].mixer.double()
    x = model.embed.double()(ids)
    u, dt, z, b, c = layer.into(x).split([WIDTH, WIDTH, WIDTH, NUMBERS, NUMBERS], -1)
    dt, rate, s = F.softplus(dt), -layer.rate.exp(), torch.zeros(len(ids), WIDTH, NUMBERS).double()
    states, reads = [], []
    for t in range(ids.shape[1]):
        s = torch.exp(dt[:, t, :, None] * rate) * s
        s = s + (dt * u)[:, t, :, None] * b[:, t, None]
        s = torch.full_like(s, set_to) if t == 3 and set_to is not None else s
        states.append(s)
        reads.append((s * c[:, t, None]).sum(-1) + layer.skip * u[:, t])
    return torch.stack(states), layer.out(torch.stack(reads, 1) * F.silu(z))


def test_its_kinds_stand_in_their_layers(model, ids):
    adapter = Adapter(model)
    trace = adapter.trace(ids)
    of_layer = ["d", "u", "B", "C", "a", "k", "w", "S", "r", "o"]
    wanted = [
        one for n in (1, 2)
        for one in (*(f"{letter}{n}" for letter in of_layer), f"layers.{n - 1}.mlp", f"h{n}")
    ]  # fmt: skip
    assert [kind.id for kind in adapter.kinds] == ["x", *wanted, "norm_f"]
    assert [*trace.states] == [kind.id for kind in adapter.kinds]
    by_id = {kind.id: kind for kind in adapter.kinds}
    assert by_id["S2"].layer == 2
    assert by_id["S2"].memory is not None
    assert by_id["S2"].memory.write == "w2"
    assert [edge.kind for edge in by_id["d2"].sources] == ["h1"]
    assert "S1" not in at_hand(trace.states)
    assert adapter.difference < 1e-5


@pytest.mark.parametrize("kind", ["S1", "r1", "u1"])
def test_an_edit_of_nothing_leaves_a_scan_that_rounds_as_it_is(model, ids, kind, monkeypatch):
    exact = mamba_selective_scan

    @functools.wraps(exact)
    def coarse(*args: Any, **kwargs: Any) -> Tensor:
        return (exact(*args, **kwargs) * 2**15).round() / 2**15

    monkeypatch.setitem(Mixer.forward.__globals__, exact.__name__, coarse)
    adapter = Adapter(model)
    real = adapter.trace(ids)
    assert 1e-6 < adapter.difference < 1e-4
    same, other = (
        adapter.trace(ids, edits=[StateEdit(kind, 2, change)])
        for change in (lambda v: v + 0, lambda v: v + 1)
    )
    assert torch.equal(same.prediction, real.prediction)
    assert not torch.allclose(other.prediction[2:], real.prediction[2:], atol=1e-3)


def test_its_memory_and_edits_are_those_of_a_plain_loop(model, ids):
    adapter = Adapter(model)
    with torch.no_grad():
        real = adapter.trace(ids)
        edited = adapter.trace(ids, edits=[StateEdit("S1", 3, lambda v: torch.full_like(v, 0.3))])
        same = adapter.trace(ids, edits=[StateEdit("S1", 3, torch.clone)])
        for trace, set_to in ((real, None), (edited, 0.3)):
            states, output = _loop(model, ids, set_to)
            model.float()
            memory = trace.states["S1"].view(states.shape).double()
            torch.testing.assert_close(memory, states, rtol=1e-5, atol=1e-5)
            out = trace.states["o1"].transpose(0, 1).double()
            torch.testing.assert_close(out, output, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(same.prediction, real.prediction, rtol=1e-6, atol=1e-6)
    assert not torch.allclose(edited.prediction[3:], real.prediction[3:], atol=1e-3)
    assert torch.equal(edited.prediction[:3], real.prediction[:3])


@pytest.mark.parametrize("kind", ["d1", "u1", "B1", "C1", "a1", "k1", "w1", "r1", "o1", "h1"])
def test_any_kind_is_edited(model, ids, kind):
    adapter = Adapter(model)
    real = adapter.trace(ids)
    edited = adapter.trace(ids, edits=[StateEdit(kind, 3, lambda v: v + 0.5)])
    torch.testing.assert_close(edited.states[kind][3], real.states[kind][3] + 0.5)
    assert not torch.allclose(edited.prediction[3:], real.prediction[3:], atol=1e-4)


def test_the_function_is_where_it_was_afterwards(model, ids):
    before = mamba_selective_scan
    Adapter(model).trace(ids)
    assert mamba_selective_scan is before
    model.layers[0].mixer.options = {"unknown": 1}
    with pytest.raises(RnnlensError, match="with other arguments than are known"):
        Adapter(model).trace(ids)
    assert mamba_selective_scan is before


def test_another_threads_scan_is_not_caught(model, ids):
    wanted = Adapter(model).trace(ids).states["S1"]
    u, step = (torch.rand(1, WIDTH, 3) for _ in range(2))
    rate, keys = -torch.rand(WIDTH, NUMBERS), torch.rand(1, NUMBERS, 3)
    right, found = mamba_selective_scan(u, step, rate, keys, keys), list[Tensor]()

    def meanwhile() -> None:
        with ThreadPoolExecutor(1) as pool:
            work = pool.submit(lambda: mamba_selective_scan(u, step, rate, keys, keys))
            found.append(work.result())

    model.layers[0].mixer.meanwhile = meanwhile
    assert torch.equal(Adapter(model).trace(ids).states["S1"], wanted)
    assert torch.equal(found[0], right)


def test_half_precision_is_read_and_checked_by_its_own_digits(model, ids):
    adapter = Adapter(model.to(torch.bfloat16))
    trace = adapter.trace(ids)
    assert trace.states["S1"].dtype == torch.float32
    assert 0 < adapter.difference < 0.1


def test_a_scan_that_is_not_called_is_refused(model, ids):
    model.layers[1].mixer.swapped = True
    with pytest.raises(RnnlensError, match="never called mamba_selective_scan, its scan"):
        Adapter(model).trace(ids)


def test_a_scan_that_does_something_else_is_refused(model, ids, monkeypatch):
    real = mamba_selective_scan

    def other(**arguments: Any) -> Tensor:
        return real(**arguments) * 1.001

    other.__signature__ = __import__("inspect").signature(real)  # type: ignore[attr-defined]
    monkeypatch.setitem(globals(), "mamba_selective_scan", other)
    with pytest.raises(RnnlensError, match="differs from its recomputed output"):
        Adapter(model).trace(ids)


def test_words_that_are_fed_one_by_one_are_refused(model, ids):
    def one_by_one(module: nn.Module, batch: Tensor) -> Tensor:
        steps = [module(word[:, None], use_cache=False)["logits"] for word in batch.unbind(1)]
        return torch.cat(steps, 1)

    with pytest.raises(RnnlensError, match="is called more than once in a forward pass"):
        Adapter(model, feed=one_by_one).trace(ids)


def test_a_lens_of_it_answers_and_is_saved(model, tmp_path):
    generator = torch.Generator().manual_seed(0)
    rows = [torch.randint(0, WORDS, (8, 9), generator=generator) for _ in range(4)]
    batches = [(row[:, :-1], row[:, 1:]) for row in rows]
    with pytest.warns(rnnlens.RnnlensWarning, match="predicts its targets worse"):
        lens = rnnlens.fit(model, batches, LABELS, epochs=1)
    grid = lens(TEXT)
    assert {"S1", "S1@-1", "r2", "h2", "layers.1.mlp", "norm_f"} <= {*grid.kinds}
    assert grid["S1"][3].vector().shape == (WIDTH * NUMBERS,)
    for kind in ("S2", "k2", "r2"):
        written = grid[kind][4].written_by("w1", against="w2")
        assert written.stored is not None
        total = written.stored.sum() + written.stored_rest
        assert total == pytest.approx(written.difference, abs=1e-5)
        assert written.path is None
        assert "no path can be followed" in written.note
        assert "the rest" in str(written)
    lives = grid["S1"][3].half_life()
    assert lives.shape == (WIDTH * NUMBERS,)
    assert lives == pytest.approx(np.log(0.5) / np.log(grid["a1"][3].vector()), rel=1e-4)
    with pytest.raises(RnnlensError, match="r1 is no memory, so that nothing of it decays"):
        grid["r1"][3].half_life()
    changed = lens(TEXT, edits=["S1@3=0"])
    assert not changed["S1"][2].vector().any()
    lens.save(tmp_path / "run")
    again = rnnlens.load(tmp_path / "run", model=model)
    assert again(TEXT)["S2"][4].top(2) == grid["S2"][4].top(2)


def test_a_kind_too_large_for_a_probe_has_numbers_still(model, monkeypatch, capsys):
    monkeypatch.setattr("rnnlens.adapter.adapter.LARGEST", WIDTH)
    monkeypatch.setattr("rnnlens.model.transition.LARGEST_ANSWERS", WIDTH - 1)
    row = torch.randint(0, WORDS, (8, 9), generator=torch.Generator().manual_seed(0))
    with pytest.warns(rnnlens.RnnlensWarning):
        lens = rnnlens.fit(model, [(row[:, :-1], row[:, 1:])] * 2, LABELS, epochs=1)
    assert (
        "without a probe, being too large for a linear one (18 numbers)" in capsys.readouterr().err
    )
    grid = lens(TEXT)
    assert "S1" not in grid.kinds
    state = grid["S1"][3]
    assert state.vector().shape == (WIDTH * NUMBERS,)
    assert repr(state) == "<S1 after 'w9': 18 numbers, no probe>"
    for asked in (lambda: state.top(1), state.entropy, lambda: state.colour, state.written_by):
        with pytest.raises(RnnlensError, match="S1 has no probe"):
            asked()
    assert lens(TEXT, edits=["S1@3=0"])["y"][4].top(1) != grid["y"][4].top(1)


def test_a_memory_too_large_for_a_linear_probe_is_asked(model, monkeypatch, capsys):
    for module in ("adapter.adapter", "probe.memory_questions"):
        monkeypatch.setattr(f"rnnlens.{module}.LARGEST", WIDTH)
    monkeypatch.setattr("rnnlens.probe.memory_questions.QUESTIONS", 2)
    row = torch.randint(0, WORDS, (8, 9), generator=torch.Generator().manual_seed(0))
    with pytest.warns(rnnlens.RnnlensWarning):
        lens = rnnlens.fit(model, [(row[:, :-1], row[:, 1:])] * 2, LABELS, epochs=1)
    assert lens.subject.probes is not None
    asked = lens.subject.probes.stacks["output"].questions
    assert {kind: some.weight.shape for kind, some in asked.items()} == {
        "S1": (1, NUMBERS, 2), "S2": (1, NUMBERS, 2)
    }  # fmt: skip
    assert "without a probe" in capsys.readouterr().err  # what is kept, written, and its decay
    grid = lens(TEXT)
    assert grid["S2"][3].distribution().sum() == pytest.approx(1)
    assert grid["S2"][3].asked("w1").read == "r2"
    assert len(grid["S2"][3].memory().rank) == 1
    with pytest.raises(RnnlensError, match="k1 has no probe"):
        grid["k1"][3].top(1)


def rwkv_linear_attention(
    time_decay: Tensor, time_first: Tensor, key: Tensor, value: Tensor
) -> tuple[Tensor, None]:
    """A plain loop, without a largest exponent."""
    above = below = torch.zeros_like(key[:, 0])
    reads = []
    for k, v in zip(key.exp().unbind(1), value.unbind(1), strict=True):
        own = time_first.exp() * k
        reads.append((above + own * v) / (below + own))
        left = torch.exp(-time_decay.exp())
        above, below = left * above + k * v, left * below + k
    return torch.stack(reads, 1), None


class WeightedMean(nn.Module):
    """A layer whose memory keeps exp(-0.1) of itself at every word."""

    def __init__(self) -> None:
        super().__init__()
        self.key, self.value = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.decay = nn.Parameter(torch.full((WIDTH,), 0.1).log())
        self.bonus = nn.Parameter(torch.rand(WIDTH))

    def forward(self, x: Tensor) -> tuple[Tensor]:
        read = rwkv_linear_attention(self.decay, self.bonus, 3 * self.key(x), self.value(x))
        return (x + read[0],)


def test_a_half_life_is_that_of_the_decay_and_not_of_its_scale(model):
    model.layers = nn.ModuleList([WeightedMean()])
    generator = torch.Generator().manual_seed(0)
    rows = [torch.randint(0, WORDS, (8, 9), generator=generator) for _ in range(4)]
    with pytest.warns(rnnlens.RnnlensWarning, match="predicts its targets worse"):
        lens = rnnlens.fit(model, [(r[:, :-1], r[:, 1:]) for r in rows], LABELS, epochs=1)
    grid = lens(TEXT)
    assert not np.allclose(grid["a1"][3].vector(), np.exp(-0.1), rtol=0.1)
    for step in range(6):
        for kind in "cn":
            lives = grid[f"{kind}1"][step].half_life()
            assert lives == pytest.approx(np.full(WIDTH, np.log(2) / 0.1), rel=1e-4)
    reader = Reader(lens.subject.model, lens.subject.session.text)
    found = half_lives(reader, [row.tolist() for batch in rows for row in batch], 3)
    for memory in found.memories:
        np.testing.assert_allclose(memory.units, np.log(2) / 0.1, rtol=1e-4)
    assert [memory.kind for memory in found.memories] == ["c1", "n1"]


class Shifted(WeightedMean):
    """Such a layer whose keys are those of the word before."""

    def __init__(self) -> None:
        super().__init__()
        self.time_shift = nn.ZeroPad2d((0, 0, 1, -1))

    def forward(self, x: Tensor) -> tuple[Tensor]:
        keys = self.key(self.time_shift(x))
        return (x + rwkv_linear_attention(self.decay, self.bonus, keys, self.value(x))[0],)


def test_a_token_shift_remembers_the_word_before(model, ids):
    model.layers = nn.ModuleList([Shifted()])
    adapter = Adapter(model)
    real = adapter.trace(ids).states
    assert torch.equal(real["p1"], real["x"])
    past = next(kind for kind in adapter.kinds if kind.id == "p1")
    assert past.equation == "p = what the token shift has read last"
    edited = adapter.trace(ids, edits=[StateEdit("p1", 2, torch.zeros_like)]).states
    assert not edited["p1"][2].any()
    bias = model.layers[0].key.bias
    torch.testing.assert_close(edited["K1"][3], bias.detach().expand_as(edited["K1"][3]))
    for kind, after in (("p1", 3), ("K1", 4)):
        assert torch.equal(edited[kind][after:], real[kind][after:])
        assert torch.equal(edited[kind][:2], real[kind][:2])
    assert torch.equal(edited["v1"], real["v1"])
    assert not torch.allclose(edited["c1"][3:], real["c1"][3:])


def test_a_state_that_is_written_to_in_place_is_another_where_a_layer_runs_twice():
    state = [torch.zeros(2, 3), torch.ones(2)]
    layer = Layer(nn.Identity(), "it", lambda *_, **__: None, (state,), {"state": state, "n": [1]})
    aside = layer.aside()
    for mine in (aside.args[0], aside.kwargs["state"]):
        mine[0].fill_(7)
        torch.testing.assert_close(mine[1], state[1])
    assert not state[0].any()
    assert aside.kwargs["n"] == [1]


def test_packed_texts_are_refused(model, ids, monkeypatch):
    model.layers[0].mixer.options["cu_seqlens"] = torch.tensor([0, 3, 7])
    with pytest.raises(RnnlensError, match="cu_seqlens=, several texts in one sequence") as refused:
        Adapter(model).trace(ids)
    assert "\n" not in str(refused.value)
    monkeypatch.setattr("rnnlens.adapter.record.one_text._PACKED", ())
    with pytest.raises(RnnlensError, match="differs from its recomputed output by"):  # as it does
        Adapter(model).trace(ids)


class Namesake(nn.Module):
    """A layer with a method that is merely called like a scan."""

    def __init__(self, given: Callable[[Tensor], Any]) -> None:
        super().__init__()
        self.given = given

    def selective_scan(
        self, x: Any, delta: Any, A: Any, B: Any, C: Any  # noqa: N803
    ) -> Any:  # fmt: skip
        return x + B + C if isinstance(delta, Tensor) or not A else delta

    def forward(self, x: Tensor) -> tuple[Tensor]:
        self.selective_scan(*self.given(x))
        return (x,)


@pytest.mark.parametrize(
    "given",
    [
        lambda x: (x, None, 0, 1, 1),
        lambda x: (x, x, x, x, x),
        lambda x: (x, x, x[0, 0], x, x),
        lambda x: (x[0], x[0], x[0], x[0], x[0]),
        lambda x: (x[0, 0, 0],) * 5,
        lambda x: (x, x, x[0, 0].repeat(3, 1), x, x),
        lambda x: ([x], [x], [x], [x], [x]),
        lambda x: (x, "delta", "A", x, x),
    ],
)
def test_what_is_merely_called_like_a_scan_is_refused_with_a_remedy(model, ids, given):
    model.layers[1] = Namesake(given)
    with pytest.raises(RnnlensError, match=r"layers\.1 .*(kinds=)") as refused:
        Adapter(model).trace(ids)
    assert "\n" not in str(refused.value)
    for adapter in (Adapter(model, kinds=["layers.1"]), Adapter(model, exclude=["layers.1"])):
        assert "S1" in adapter.trace(ids).states


def test_an_error_of_a_layers_own_is_told_as_it_is(model, ids):
    def fails(_: Tensor) -> Any:
        raise RuntimeError("of its own")

    model.layers[1] = Namesake(fails)
    with pytest.raises(UsersCodeError, match="RuntimeError: of its own") as told:
        Adapter(model).trace(ids)
    assert isinstance(told.value.__cause__, RuntimeError)


class TwoMixers(nn.Module):
    """A block with two recurrent parts."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = Mixer(), Mixer()
        self.mlp = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Tensor) -> tuple[Tensor]:
        x = x + self.first(x)
        x = x + self.second(x)
        return (x + self.mlp(x),)


def test_several_recurrent_parts_of_a_block_have_numbers_of_their_own(model, ids, tmp_path):
    plain = model.layers[1]
    model.layers = nn.ModuleList([TwoMixers(), plain])
    adapter = Adapter(model)
    states = adapter.trace(ids).states
    by_id = {kind.id: kind for kind in adapter.kinds}
    assert len(by_id) == len(adapter.kinds)
    assert {"S1", "S2", "S3", "o1", "o2", "o3", "h2", "h3"} <= {*by_id}
    assert "h1" not in by_id  # between the two it is not seen
    assert [edge.kind for edge in by_id["h2"].sources] == ["x", "o1", "o2", "layers.0.mlp"]
    assert [edge.kind for edge in by_id["h3"].sources] == ["h2", "o3", "layers.1.mlp"]
    with torch.no_grad():
        first = model.layers[0].first(model.embed(ids))
        second = model.layers[0].second(model.embed(ids) + first)
    torch.testing.assert_close(states["o1"], first.transpose(0, 1))
    torch.testing.assert_close(states["o2"], second.transpose(0, 1))
    rows = [torch.randint(0, WORDS, (8, 9)) for _ in range(3)]
    with pytest.warns(rnnlens.RnnlensWarning, match="predicts its targets worse"):
        lens = rnnlens.fit(model, [(r[:, :-1], r[:, 1:]) for r in rows], LABELS, epochs=1)
    edited = lens(TEXT, edits=["S2@3=0"])
    assert edited["S1"][5].top(2) == lens(TEXT)["S1"][5].top(2)
    lens.save(tmp_path / "run")
    again = rnnlens.load(tmp_path / "run", model=model)
    assert again(TEXT)["S2"][4].top(2) == lens(TEXT)["S2"][4].top(2)
