"""Recurrences that people describe: a minGRU, a delta rule, and descriptions that are wrong."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import rnnlens
from rnnlens import Recurrence
from rnnlens.adapter.adapter import Adapter
from rnnlens.base.errors import RnnlensError
from rnnlens.model.traceable import StateEdit

WORDS, WIDTH, HEADS, KEYS, VALUES = 11, 8, 2, 3, 4


class MinGRU(nn.Module):
    """Feng and others, 2024."""

    def __init__(self) -> None:
        super().__init__()
        self.gate, self.candidate = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        z, h, states = torch.sigmoid(self.gate(x)), torch.zeros_like(x[:, 0]), []
        for t, candidate in enumerate(self.candidate(x).unbind(1)):
            h = (1 - z[:, t]) * h + z[:, t] * candidate
            states.append(h)
        return torch.stack(states, 1)


class Matrix(nn.Module):
    """A memory of keys and values by any of the rules."""

    def __init__(self, rule: str) -> None:
        super().__init__()
        sizes = {"q": KEYS, "k": KEYS, "v": VALUES, "b": 1, "a": 1, "g": KEYS, "s": KEYS}
        self.maps = nn.ModuleDict({n: nn.Linear(WIDTH, HEADS * d) for n, d in sizes.items()})
        self.bonus, self.rule = nn.Parameter(torch.rand(HEADS, KEYS)), rule
        self.out = nn.Linear(HEADS * VALUES, WIDTH)

    def part(self, name: str, x: Tensor) -> Tensor:
        made: Tensor = self.maps[name](x).unflatten(-1, (HEADS, -1))
        return F.normalize(made, dim=-1) if name in "kg" else made

    def forward(self, x: Tensor) -> tuple[Tensor, None]:
        q, k, v, g = (self.part(name, x) for name in "qkvg")
        a, b, s = (torch.sigmoid(self.part(name, x)) for name in "abs")
        memory, reads = x.new_zeros(len(x), HEADS, KEYS, VALUES), []
        for t in range(x.shape[1]):
            key, value, before = k[:, t, :, :, None], v[:, t, :, None], memory
            memory = a[:, t, :, :, None] * memory
            if self.rule == "delta":
                memory = memory - b[:, t, :, :, None] * key * (key * memory).sum(-2, keepdim=True)
                value = b[:, t, :, :, None] * value
            elif self.rule == "removed":
                gone = g[:, t, :, :, None]
                old = (gone * before).sum(-2, keepdim=True)
                memory = memory - s[:, t, :, :, None] * gone * old
            memory = memory + key * value
            at = memory
            if self.rule == "bonus":
                at = before + self.bonus[:, :, None] * key * value
            reads.append((q[:, t, :, :, None] * at).sum(-2))
        return self.out(torch.stack(reads, 1).flatten(2)), None


RULES: dict[str, dict[str, Any]] = {
    "plain": {},
    "delta": {"strength": lambda m, x: torch.sigmoid(m.part("b", x))[..., 0]},
    "removed": {
        "strength": lambda m, x: torch.sigmoid(m.part("s", x)),
        "removed": lambda m, x: m.part("g", x),
    },
    "bonus": {"bonus": lambda m, _: m.bonus},
}


class Model(nn.Module):
    def __init__(self, *layers: nn.Module) -> None:
        super().__init__()
        self.embed, self.layers = nn.Embedding(WORDS, WIDTH), nn.ModuleList(layers)
        self.head = nn.Linear(WIDTH, WORDS)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.embed(ids)
        for layer in self.layers:
            got = layer(x)
            x = x + (got[0] if isinstance(got, tuple) else got)
        out: Tensor = self.head(x)
        return out


def mingru(part: Any = MinGRU, **changes: Any) -> Recurrence:
    own: dict[str, Any] = {
        "decay": lambda cell, x: 1 - torch.sigmoid(cell.gate(x)),
        "write": lambda cell, x: torch.sigmoid(cell.gate(x)) * cell.candidate(x),
    }
    return Recurrence(part, **own | changes)


def matrix(rule: str, **changes: Any) -> Recurrence:
    own: dict[str, Any] = {
        "decay": lambda m, x: torch.sigmoid(m.part("a", x))[..., 0],
        "question": lambda m, x: m.part("q", x),
        "key": lambda m, x: m.part("k", x),
        "value": lambda m, x: m.part("v", x),
        "into": "out",
    }
    return Recurrence(Matrix, **own | RULES[rule] | changes)


@pytest.fixture
def ids():
    return torch.randint(0, WORDS, (3, 6), generator=torch.Generator().manual_seed(0))


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


def test_a_mingru_in_a_few_lines(ids, tmp_path):
    model = Model(MinGRU(), MinGRU())
    adapter = Adapter(model, recurrences=mingru())
    trace = adapter.trace(ids)
    own = ["a", "k", "w", "c", "o"]
    assert [k.id for k in adapter.kinds] == ["x", *(f"{one}{n}" for n in (1, 2) for one in own)]
    with torch.no_grad():
        h = model.layers[0](model.embed(ids)).transpose(0, 1)
    torch.testing.assert_close(trace.states["c1"], h)
    assert adapter.difference < 1e-6
    edited = adapter.trace(ids, edits=[StateEdit("c1", 2, torch.zeros_like)])
    k = trace.states["a1"][3] * 0 + trace.states["w1"][3]
    torch.testing.assert_close(edited.states["c1"][3], k)
    torch.testing.assert_close(edited.prediction[:2], trace.prediction[:2])
    rows = [torch.randint(0, WORDS, (8, 7)) for _ in range(3)]
    labels = [f"w{n}" for n in range(WORDS)]
    with pytest.warns(rnnlens.RnnlensWarning):
        lens = rnnlens.fit(
            model, [(r[:, :-1], r[:, 1:]) for r in rows], labels, epochs=1, recurrences=[mingru()]
        )
    written = lens("w1 w2 w3 w4")["c1"][3].written_by()
    assert written.stored is not None
    total = written.stored.sum() + written.stored_rest
    assert total == pytest.approx(written.difference, abs=1e-5)
    lens.save(tmp_path / "run")
    with pytest.raises(RnnlensError, match=r"fitted with recurrences=, which a run cannot hold"):
        rnnlens.load(tmp_path / "run", model=model)("w1 w2")
    user = rnnlens.UserModel(model, recurrences=[mingru()])
    assert rnnlens.load(tmp_path / "run", model=user)("w1 w2")["c2"][1].vector().shape == (WIDTH,)


@pytest.mark.parametrize("rule", RULES)
def test_a_matrix_by_any_rule(ids, rule):
    model = Model(Matrix(rule), Matrix(rule))
    adapter = Adapter(model, recurrences=[matrix(rule)])
    trace = adapter.trace(ids)
    assert adapter.difference < 1e-5
    assert trace.states["S2"].shape == (6, 3, HEADS * KEYS * VALUES)
    changed = adapter.trace(ids, edits=[StateEdit("S1", 2, torch.zeros_like)])
    assert not torch.allclose(changed.prediction[3:], trace.prediction[3:], atol=1e-4)
    assert torch.equal(changed.prediction[:2], trace.prediction[:2])


def test_time_may_come_first(ids):
    class TimeFirst(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed, self.cell = nn.Embedding(WORDS, WIDTH), MinGRUOfTime()
            self.head = nn.Linear(WIDTH, WORDS)

        def forward(self, ids: Tensor) -> Tensor:
            out: Tensor = self.head(self.cell(self.embed(ids.T)))
            return out

    class MinGRUOfTime(MinGRU):
        def forward(self, x: Tensor) -> Tensor:
            return super().forward(x.transpose(0, 1)).transpose(0, 1)

    model = TimeFirst()
    adapter = Adapter(model, recurrences=[mingru("cell", batch_first=False)])
    trace = adapter.trace(ids)
    with torch.no_grad():
        torch.testing.assert_close(trace.states["c1"], model.cell(model.embed(ids.T)))


def test_submodules_are_named_in_place_of_functions(ids):
    class Named(MinGRU):
        def __init__(self) -> None:
            super().__init__()
            self.decay = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Sigmoid())
            self.write = nn.Linear(WIDTH, WIDTH)

        def forward(self, x: Tensor) -> Tensor:
            a, w, h, states = self.decay(x), self.write(x), torch.zeros_like(x[:, 0]), []
            for t in range(x.shape[1]):
                h = a[:, t] * h + w[:, t]
                states.append(h)
            return torch.stack(states, 1)

    own_layer = Named()
    model = Model(own_layer)
    own = Recurrence("layers.0", decay="decay", write="write")
    adapter = Adapter(model, recurrences=[own])
    trace = adapter.trace(ids)
    with torch.no_grad():
        written = own_layer.write(model.embed(ids)).transpose(0, 1)
    torch.testing.assert_close(trace.states["w1"], written)
    assert adapter.difference < 1e-6
    with pytest.raises(RnnlensError, match="has no submodule 'gates', which its recurrence names"):
        Adapter(model, recurrences=[Recurrence("layers.0", "gates", "write")]).trace(ids)
    with pytest.raises(RnnlensError, match="never calls gate, which its recurrence names"):
        Adapter(model, recurrences=[Recurrence("layers.0", "gate", "write")]).trace(ids)


@pytest.mark.parametrize(
    ("own", "reason"),
    [
        (lambda: Recurrence("cell", decay="a"), "recurrence of decay is not known"),
        (lambda: mingru(key="k"), "recurrence of decay, key, write is not known"),
        (lambda: mingru(write=3), "write= of a recurrence is int; give a function"),
        (lambda: Recurrence(3, "a", "b"), "part= of a recurrence is the dotted name"),  # type: ignore[arg-type]
    ],
)
def test_a_description_that_makes_no_sense_is_refused(own, reason):
    with pytest.raises(RnnlensError, match=reason):
        own()


@pytest.mark.parametrize(
    ("own", "reason"),
    [
        (lambda: mingru("layers.7"), "no submodule called 'layers.7'"),
        (lambda: mingru(nn.GRU), "the module has no GRU"),
        (
            lambda: mingru(decay=lambda c, x: torch.sigmoid(c.gate(x))),
            "differs from its recomputed .* what the layer returns is not what its recurrence",
        ),
        (lambda: mingru(write=lambda c, x: x.to(torch.cfloat)), "write= .* gives complex numbers"),
        (lambda: mingru(decay=lambda c, x: x[..., :3]), "decay of a recurrence is 3 x 6 x 3 where"),
        (lambda: mingru(write=lambda c, x: None), "write= of a recurrence gives NoneType"),
        (
            lambda: mingru(write=lambda c, x: x[:, 0]),
            "write of a recurrence is 3 x 8 where 3 x 6 x 8 is needed; mend what write= gives",
        ),
        (lambda: mingru(write=lambda c, x: x[:, :4]), "write of a recurrence is 3 x 4 x 8 where"),
        (lambda: mingru(write=lambda c, x: x.sum()), "write of a recurrence is a single number"),
        (lambda: mingru(decay=lambda c, x: x[0, 0]), "decay of a recurrence is 8 where 3 x 6 x 8"),
        (
            lambda: mingru(decay=lambda c, x: x[..., :5], write=lambda c, x: x[..., :5]),
            "the layer of a recurrence returns 3 x 6 x 8 where 3 x 6 x 5 is read of the memory",
        ),
        (lambda: mingru(into="gate"), "a function of a recurrence calls gate, which into= names"),
        (lambda: mingru(decay=lambda c, x: c(x)), "or by a function of its recurrence"),
        (lambda: mingru(into="out"), "has no submodule 'out'"),
        (lambda: "mingru", "recurrences= has 'mingru'|recurrences= has 'm'"),
    ],
)
def test_a_description_of_something_else_is_refused(ids, own, reason):
    with pytest.raises(RnnlensError, match=reason):
        Adapter(Model(MinGRU()), recurrences=[own()]).trace(ids)


def test_a_layer_that_is_given_single_steps_is_refused(ids):
    class Stepped(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed, self.cell = nn.Embedding(WORDS, WIDTH), nn.Linear(WIDTH, WORDS)

        def forward(self, ids: Tensor) -> Tensor:
            return torch.stack([self.cell(x) for x in self.embed(ids).unbind(1)], 1)

    own = mingru("cell", decay=lambda c, x: x, write=lambda c, x: x)
    with pytest.raises(RnnlensError, match="a recurrence is of a layer that is given whole"):
        Adapter(Stepped(), recurrences=[own]).trace(ids)


@pytest.mark.parametrize(
    ("rule", "changes", "reason"),
    [
        (
            "delta",
            {"strength": lambda m, x: x[..., :3]},
            "strength of a recurrence is 3 x 6 x 3 where 3 x 6 x 2 is needed",
        ),
        ("removed", {"strength": lambda m, x: x}, "strength of .* where 3 x 6 x 2 x 3 is needed"),
        ("removed", {"removed": lambda m, x: x[0]}, "removed of a recurrence is 6 x 8 where"),
        (
            "bonus",
            {"bonus": lambda m, x: x[0, 0]},
            "bonus of a recurrence is 8 where 2 x 3 is needed; mend what bonus= gives",
        ),
        ("plain", {"key": lambda m, x: x.mean()}, "key of a recurrence is a single number where"),
        ("plain", {"key": lambda m, x: m.part("k", x)[:, :2]}, "key of a recurrence is 3 x 2 x"),
        ("plain", {"value": lambda m, x: x[0]}, "value of a recurrence is 6 x 8 where"),
        ("plain", {"decay": lambda m, x: x[0, :2]}, "decay of a recurrence is 2 x 8 where 3 x 6"),
        ("plain", {"into": ""}, "returns 3 x 6 x 5 where 3 x 6 x 2 x 4 is read of the memory"),
    ],
)
def test_a_part_of_a_matrix_in_another_shape_is_refused(ids, rule, changes, reason):
    layer = Matrix(rule)
    layer.out = nn.Linear(HEADS * VALUES, 5 if "into" in changes else WIDTH)
    with pytest.raises(RnnlensError, match=reason) as refused:
        Adapter(Model(layer), recurrences=[matrix(rule, **changes)]).trace(ids)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("one", [False, True])
@pytest.mark.parametrize("rule", RULES)
def test_the_axis_of_a_single_head_may_be_missing(ids, rule, one, monkeypatch):
    monkeypatch.setitem(globals(), "HEADS", 1)

    def less(where: Any) -> Any:
        def call(m: Any, x: Tensor) -> Tensor:
            got: Tensor = where(m, x)
            return got[0] if got.dim() == 2 else got.squeeze(2)

        return call

    own = matrix(rule)
    names = {"decay", "question", "key", "value", *RULES[rule]}
    changes = {} if one else {name: less(getattr(own, name)) for name in names}
    adapter = Adapter(Model(Matrix(rule)), recurrences=[matrix(rule, **changes)])
    adapter.trace(ids)
    assert adapter.difference < 1e-5


def test_recurrences_that_are_no_list_are_refused():
    with pytest.raises(RnnlensError, match="recurrences= is int; give a list of rnnlens"):
        Adapter(Model(MinGRU()), recurrences=5)
