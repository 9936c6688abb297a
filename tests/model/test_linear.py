"""Recurrences with a linear memory: every family against a plain loop, its edits, its writers."""

import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from rnnlens.ask.memory import Direction, stored
from rnnlens.base.pace import paced
from rnnlens.model import linear
from rnnlens.model.cell import Change, States, Weights
from rnnlens.model.cells.linear_memories import (
    MLSTM,
    RGLRU,
    RWKV4,
    RWKV6,
    RWKV7,
    S6,
    SSD,
    Gated,
    GatedDelta,
    KimiDelta,
    LinearAttention,
)
from rnnlens.model.lazy import LazyStates, at_hand, of_each
from rnnlens.model.linear import LinearCell, Scan
from rnnlens.model.traceable import RecurrentLayer
from rnnlens.model.transition import Transition

STEPS, BATCH = 7, 2
Dense = Callable[[States, Weights, Tensor], Tensor]  # what is given, weights, memory -> memory


def _weights(**values: Tensor) -> Weights:
    return {name: value.double() for name, value in values.items()}


def _heads(values: Tensor, heads: int) -> Tensor:
    return values.repeat_interleave(heads // len(values), 0)


def _s6(x: States, w: Weights, s: Tensor) -> Tensor:
    keys = _heads(x["B"], len(s))
    return torch.stack([
        torch.exp(x["d"][c] * w["A"][c]) * s[c] + x["d"][c] * x["u"][c] * keys[c]
        for c in range(len(s))
    ])  # fmt: skip


def _ssd(x: States, w: Weights, s: Tensor) -> Tensor:
    keys = _heads(x["B"], len(s))
    return torch.stack([
        torch.exp(x["d"][h] * w["A"][h]) * s[h] + x["d"][h] * torch.outer(x["u"][h], keys[h])
        for h in range(len(s))
    ])  # fmt: skip


def _attention(x: States, w: Weights, s: Tensor) -> Tensor:
    return torch.stack([
        x["a"][h][:, None] * s[h] + torch.outer(x["K"][h], x["v"][h]) for h in range(len(s))
    ])  # fmt: skip


def _delta(x: States, w: Weights, s: Tensor) -> Tensor:
    rows = []
    for h, (key, strength) in enumerate(zip(x["K"], x["b"], strict=True)):
        rotate = torch.eye(len(key)).double() - strength * torch.outer(key, key)
        rows.append(x["a"][h] * rotate @ s[h] + strength * torch.outer(key, x["v"][h]))
    return torch.stack(rows)


def _kimi(x: States, w: Weights, s: Tensor) -> Tensor:
    rows = []
    for h, (key, strength) in enumerate(zip(x["K"], x["b"], strict=True)):
        rotate = torch.eye(len(key)).double() - strength * torch.outer(key, key)
        after = rotate @ torch.diag(x["a"][h]) @ s[h]
        rows.append(after + strength * torch.outer(key, x["v"][h]))
    return torch.stack(rows)


def _rwkv7(x: States, w: Weights, s: Tensor) -> Tensor:
    """As the paper has it: values by keys, and vectors as rows."""
    rows = []
    for h, removed in enumerate(x["g"]):
        change = torch.diag(x["a"][h]) - torch.outer(removed, x["b"][h] * removed)
        rows.append((s[h].T @ change + torch.outer(x["v"][h], x["K"][h])).T)
    return torch.stack(rows)


def _gated(x: States, w: Weights, s: Tensor) -> Tensor:
    return x["a"] * s + x["w"]


FAMILIES: dict[str, tuple[LinearCell, Weights, Dense | None]] = {
    "S6": (S6.of(5, 3), _weights(A=-torch.rand(5, 3), D=torch.rand(5)), _s6),
    "S6 in heads": (S6.of(6, 3, 2), _weights(A=-torch.rand(6, 3), D=torch.rand(6)), _s6),
    "SSD": (SSD.of(4, 3, 5, 2), _weights(A=-torch.rand(4), D=torch.rand(4, 1)), _ssd),
    "RetNet": (LinearAttention.of(2, 3, 4), {}, _attention),
    "GLA": (LinearAttention.of(2, 3, 4, decays=3), {}, _attention),
    "gated delta": (GatedDelta.of(2, 3, 4), {}, _delta),
    "KDA": (KimiDelta.of(2, 3, 4, decays=3), {}, _kimi),
    "RWKV-6": (RWKV6.of(2, 3, 4, decays=3), _weights(u=torch.rand(2, 3)), _attention),
    "RWKV-7": (RWKV7.of(2, 3, 4, decays=3), {}, _rwkv7),
    "minGRU": (Gated.of(5), {}, _gated),
    "RG-LRU": (RGLRU.of(5), {}, _gated),
    "mLSTM": (MLSTM.of(2, 3, 4), _weights(eps=torch.tensor(1e-6)), None),
    "RWKV-4": (RWKV4.of(5), _weights(a=-torch.rand(5), u=torch.rand(5)), None),
}


@pytest.fixture(params=FAMILIES)
def family(request: pytest.FixtureRequest) -> tuple[LinearCell, Weights, Dense | None]:
    return FAMILIES[request.param]


def _given(cell: LinearCell) -> States:
    generator = torch.Generator().manual_seed(0)
    return {
        kind: torch.rand(STEPS, BATCH, *cell.sizes[kind], generator=generator).double()
        for kind in cell.given
    }


def _side_by_side(cell: LinearCell, given: States) -> Tensor:
    return torch.cat([cell.flat(kind, given[kind]) for kind in cell.given], -1)


def _scanned(
    cell: LinearCell, w: Weights, given: States, edits: dict[int, Change] | None = None
) -> LazyStates:
    return Scan(cell, given, cell.begin(given), w, edits).states


def _stepped(
    cell: LinearCell, w: Weights, given: States, edits: dict[int, Change] | None = None
) -> States:
    start = {kind: cell.flat(kind, v) for kind, v in cell.begin(given).items()}
    return cell._stepwise(_side_by_side(cell, given), start, w, edits or {})


def test_states_are_those_of_a_plain_loop(family):
    cell, w, dense = family
    if dense is None:
        pytest.skip("compared with unstabilised sums below")
    given, memory = _given(cell), next(iter(cell.memories))
    states = _scanned(cell, w, given)
    for sequence in range(BATCH):
        s = torch.zeros(cell.sizes[memory], dtype=torch.float64)
        for t in range(STEPS):
            s = dense({kind: v[t, sequence] for kind, v in given.items()}, w, s)
            torch.testing.assert_close(states[memory][t, sequence], s.flatten())


def test_a_matrix_with_exponential_gates_is_read_as_without_their_maximum():
    cell, w, _ = FAMILIES["mLSTM"]
    given = _given(cell)
    s, n = torch.zeros(BATCH, 2, 3, 4).double(), torch.zeros(BATCH, 2, 3).double()
    read = _scanned(cell, w, given)["r"].view(STEPS, BATCH, 2, 4)
    for t in range(STEPS):
        x = {kind: v[t] for kind, v in given.items()}
        f, i = x["f"].exp(), x["i"].exp()
        s = f[..., None, None] * s + i[..., None, None] * x["K"][..., None] * x["v"][..., None, :]
        n = f[..., None] * n + i[..., None] * x["K"]
        size = torch.einsum("bhk,bhk->bh", x["q"], n).abs().clamp(min=1)
        wanted = torch.einsum("bhk,bhkv->bhv", x["q"], s) / size[..., None]
        torch.testing.assert_close(read[t], wanted, rtol=1e-5, atol=1e-6)


def test_a_weighted_mean_is_read_as_without_its_maximum():
    cell, w, _ = FAMILIES["RWKV-4"]
    given = _given(cell)
    num, den, read = torch.zeros(BATCH, 5), torch.zeros(BATCH, 5), _scanned(cell, w, given)["r"]
    for t in range(STEPS):
        key, value = given["K"][t], given["v"][t]
        own = torch.exp(w["u"] + key)
        torch.testing.assert_close(read[t], (num + own * value) / (den + own))
        num = num * torch.exp(w["a"]) + torch.exp(key) * value
        den = den * torch.exp(w["a"]) + torch.exp(key)


def test_a_scan_gives_what_single_steps_give(family):
    cell, w, _ = family
    given = _given(cell)
    scanned, stepped = _scanned(cell, w, given), _stepped(cell, w, given)
    assert [*scanned] == [kind.id for kind in cell.kinds]
    for kind in cell.kinds:
        torch.testing.assert_close(scanned[kind.id], stepped[kind.id])


def test_any_kind_is_edited_at_any_step_and_the_scan_goes_on(family):
    cell, w, _ = family
    given = _given(cell)
    real = _stepped(cell, w, given)
    for kind in cell.kinds:

        def half(letter: str, value: Tensor, of: str = kind.id) -> Tensor:
            return value * 0.5 + 0.1 if letter == of else value

        scanned, stepped = (made(cell, w, given, {3: half}) for made in (_scanned, _stepped))
        for other in reversed(cell.kinds):  # what is asked for first must not matter
            torch.testing.assert_close(scanned[other.id], stepped[other.id])
        torch.testing.assert_close(scanned[kind.id][3], real[kind.id][3] * 0.5 + 0.1)
        torch.testing.assert_close(scanned[kind.id][:3], real[kind.id][:3])
        if not kind.output:
            reads = cell.output.id
            moved = (scanned[reads] - real[reads]).abs()[3:].amax()
            assert moved > 1e-6, kind.id


def test_an_edit_that_changes_nothing_changes_nothing(family):
    cell, w, _ = family
    given = _given(cell)
    real, same = _scanned(cell, w, given), _scanned(cell, w, given, {3: lambda _, v: v.clone()})
    for kind in cell.kinds:
        torch.testing.assert_close(same[kind.id], real[kind.id], rtol=0, atol=1e-12)


def test_writers_sum_to_the_memory_and_to_what_is_read(family):
    cell, w, _ = family
    states = _scanned(cell, w, _given(cell))
    ids = {kind.id: f"{kind.id}1" for kind in cell.kinds}
    layer, one = RecurrentLayer(cell, w, ids, ()), {ids[k]: v[:, :1] for k, v in states.items()}
    generator = torch.Generator().manual_seed(0)
    letters = [*cell.memories, *(m.kept for m in cell.memories.values()), cell.output.id]
    for letter in letters:
        state = one[ids[letter]][5, 0]
        weight = torch.randn(len(state), generator=generator).double()
        parts, rest = stored([layer], one, Direction(ids[letter], 5, weight, 0.3))
        assert parts.sum() + rest == pytest.approx(float(state @ weight) + 0.3, abs=1e-10)
        reads = letter in cell.memories or not cell.reads_before
        kept = any(letter == m.kept for m in cell.memories.values())
        assert (parts != 0).sum() == (6 if reads and not kept else 5), letter


def test_a_scan_goes_on_where_another_ended(family):
    cell, w, _ = family
    given = _given(cell)
    first = Scan(cell, {k: v[:4] for k, v in given.items()}, cell.begin(given), w)
    last = cell.wide({kind: first.states[kind][-1] for kind in cell.carried})
    rest = Scan(cell, {k: v[4:] for k, v in given.items()}, last, w)
    whole = Scan(cell, given, cell.begin(given), w)
    torch.testing.assert_close(rest.reads(), whole.reads()[4:])


class Counted:
    """A pace that counts the pieces of work."""

    waited, pieces = 0.0, 0

    def checkpoint(self) -> None:
        self.pieces += 1

    def leave(self) -> None:
        pass


@pytest.mark.parametrize("room", [3, STEPS])
@torch.no_grad()
def test_timesteps_together_are_as_many_as_there_is_room_for(family, room, monkeypatch):
    cell, w, _ = family
    given, chunk, pace = _given(cell), linear._chunk, Counted()
    start, lengths, held = cell.begin(given), list[int](), list[Any]()
    wanted = Scan(cell, given, start, w)
    reads, states = wanted.reads(), {kind: wanted.states[kind] for kind in cell.carried}

    def noted(cell: LinearCell, now: States, before: States, w: Weights) -> tuple[Tensor, States]:
        assert not any(one() is not None for one in held)  # what was computed before is let go
        for values in before.values():
            assert values.untyped_storage().nbytes() == values.nbytes  # and so is its storage
        read, every = chunk(cell, now, before, w)
        lengths.append(len(read))
        held.extend(weakref.ref(one) for one in every.values() if one is not read)
        return read, every

    monkeypatch.setattr(linear, "computed_together", lambda _: True)
    room_for = room * sum(one.numel() for one in start.values()) + 1
    monkeypatch.setattr(linear, "_ROOM", {"cpu": room_for})
    monkeypatch.setattr(linear, "_chunk", noted)
    scan = Scan(cell, given, start, w)
    with paced(pace):
        torch.testing.assert_close(scan.reads(), reads)
    assert lengths == [min(room, STEPS - first) for first in range(0, STEPS, room)]
    assert pace.pieces == len(lengths)
    for kind, values in states.items():
        torch.testing.assert_close(scan.states[kind], values)


def test_one_timestep_is_computed_where_there_is_room_for_none():
    assert linear._timesteps({"c": torch.empty(linear._ROOM["cpu"] + 1, device="meta")}) == 1
    assert linear._timesteps({"c": torch.empty(2, 3)}) == linear._CHUNK


@torch.no_grad()
def test_what_is_read_without_states_takes_no_more_room(family, monkeypatch):
    cell, w, _ = family
    given, chunk, lengths = _given(cell), linear._chunk, list[int]()
    start = cell.begin(given)
    wanted = linear.read_at_once(cell, given, start, w)

    def noted(cell: LinearCell, now: States, before: States, w: Weights) -> tuple[Tensor, States]:
        read, every = chunk(cell, now, before, w)
        lengths.append(len(read))
        return read, every

    monkeypatch.setattr(linear, "_ROOM", {"cpu": 3 * sum(one.numel() for one in start.values())})
    monkeypatch.setattr(linear, "_chunk", noted)
    torch.testing.assert_close(linear.read_at_once(cell, given, start, w), wanted)
    assert lengths == [min(3, STEPS - first) for first in range(0, STEPS, 3)]


def test_what_goes_on_to_the_next_piece_keeps_no_more_of_this_one(family, monkeypatch):
    cell, w, _ = family
    given, pieces = _given(cell), list[States]()

    def noted(chunk: Callable[..., Any], *tensors: Tensor, **options: Any) -> Any:
        carried = tensors[len(given) :]
        pieces.append(dict(zip(cell.carried, carried, strict=True)))
        return checkpoint(chunk, *tensors, **options)

    monkeypatch.setattr(linear, "_CHUNK", 3)
    monkeypatch.setattr(linear, "computed_again", noted)
    linear.read_at_once(cell, given, cell.begin(given), w)
    assert len(pieces) == 3
    for values in (one for piece in pieces[1:] for one in piece.values()):
        assert values.untyped_storage().nbytes() == values.nbytes


def test_what_an_edit_does_can_be_differentiated(family):
    cell, w, _ = family
    given, by = _given(cell), torch.tensor(0.1, dtype=torch.float64, requires_grad=True)
    memory = next(iter(cell.memories))
    edits = {2: lambda letter, v: v + by if letter == memory else v}
    scan = Scan(cell, given, cell.begin(given), w, edits)
    (slope,) = torch.autograd.grad(scan.reads()[5].sum(), by)
    with torch.no_grad():
        reads = []
        for number in (0.1 - 1e-6, 0.1 + 1e-6):
            by = torch.tensor(number, dtype=torch.float64)
            reads.append(Scan(cell, given, cell.begin(given), w, edits).reads()[5].sum())
    assert float(slope) == pytest.approx(float(reads[1] - reads[0]) / 2e-6, rel=1e-5, abs=1e-8)


def test_a_memory_is_not_computed_unasked():
    cell, w, _ = FAMILIES["gated delta"]
    states = _scanned(cell, w, _given(cell))
    assert cell.large == {"S", "k", "e", "w"}
    assert {*at_hand(states)} == {"q", "K", "v", "b", "a"}
    doubled = of_each(states, lambda _, values: 2 * values)
    assert {*at_hand(doubled)} == {*at_hand(states)}
    torch.testing.assert_close(doubled["S"], 2 * states["S"])
    assert "S" in at_hand(states)
    assert {**doubled}.keys() == {kind.id for kind in cell.kinds}


def test_half_lives_are_those_of_the_decay():
    lives = Transition(torch.tensor([0.5, 0.25, 1.0, 0.5**0.1])).half_life
    assert lives[:2].tolist() == pytest.approx([1, 0.5])
    assert lives[2] == float("inf")
    assert float(lives[3]) == pytest.approx(10, rel=1e-5)


def test_a_true_decay_is_that_without_the_largest_exponent(family):
    cell, w, _ = family
    states = _scanned(cell, w, _given(cell))
    for memory, carried in cell.memories.items():
        expected = states[carried.decay]
        if "m" in cell.carried:
            expected = expected[1:] * (states["m"][1:] - states["m"][:-1]).exp()
        true = cell.true_decay(memory, states, w)
        assert true.shape == states[carried.decay].shape
        torch.testing.assert_close(true[-len(expected) :], expected)
