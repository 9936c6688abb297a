"""LSTM, GRU and RNN modules, however made and fed, equal torch's outputs and the equations."""

from typing import Any, NamedTuple

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor, nn, sigmoid, tanh
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence

from rnnlens.adapter import Adapter

pytestmark = pytest.mark.filterwarnings("ignore:LSTM with projections is not supported with oneDNN")
quick = settings(
    max_examples=3 * settings().max_examples,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
SHAPES = ("batch", "unbatched", "packed", "unsorted")
PARITY = {torch.float32: 1e-5, torch.float64: 1e-10}


class Config(NamedTuple):
    """How a recurrent module is made and fed."""

    mode: str
    inputs: int
    width: int
    layers: int
    bias: bool
    bidirectional: bool
    batch_first: bool
    dropout: float
    project: bool
    dtype: torch.dtype
    shape: str
    state: bool
    lengths: tuple[int, ...]
    seed: int


size = st.integers(1, 5)
configs = st.builds(
    Config, st.sampled_from(["lstm", "gru", "tanh", "relu"]), size, size, st.integers(1, 3),
    st.booleans(), st.booleans(), st.booleans(), st.sampled_from([0.0, 0.5]), st.booleans(),
    st.sampled_from(sorted(PARITY, key=str)), st.sampled_from(SHAPES), st.booleans(),
    st.lists(size, min_size=1, max_size=4).map(tuple), st.integers(0, 2**31),
)  # fmt: skip


class Case(NamedTuple):
    """A module, what it is fed, and the same as single sequences."""

    config: Config
    module: nn.RNNBase
    batch: tuple[Any, ...]
    sequences: list[Tensor]  # (T, I) each
    state: list[Tensor] | None  # h, or h and c: (layers * directions, B, H) each


def made(config: Config) -> nn.RNNBase:
    common = (config.inputs, config.width, config.layers)
    flags: dict[str, Any] = {
        "bias": config.bias, "bidirectional": config.bidirectional,
        "batch_first": config.batch_first, "dropout": config.dropout * (config.layers > 1),
    }  # fmt: skip
    if config.mode == "lstm":
        project = config.width - 1 if config.project else 0
        return nn.LSTM(*common, **flags, proj_size=project)
    if config.mode == "gru":
        return nn.GRU(*common, **flags)
    return nn.RNN(*common, **flags, nonlinearity=config.mode)


def case(config: Config) -> Case:
    with torch.random.fork_rng():
        torch.manual_seed(config.seed)
        module = made(config).to(config.dtype)
        lengths = list(config.lengths)
        if config.shape == "unbatched":
            lengths = lengths[:1]
        elif config.shape == "batch":
            lengths = [max(lengths)] * len(lengths)
        elif config.shape == "packed":
            lengths.sort(reverse=True)
        sequences = [torch.randn(n, config.inputs, dtype=config.dtype) for n in lengths]
        rows = config.layers * (2 if config.bidirectional else 1)
        widths = [module.proj_size or config.width, config.width][: 1 + (config.mode == "lstm")]
        state = [torch.randn(rows, len(lengths), w, dtype=config.dtype) for w in widths]
    batch: tuple[Any, ...] = (fed(config, sequences),)
    if config.state:
        hx = [s.squeeze(1) for s in state] if config.shape == "unbatched" else state
        batch += (tuple(hx) if config.mode == "lstm" else hx[0],)
    return Case(config, module, batch, sequences, state if config.state else None)


def fed(config: Config, sequences: list[Tensor]) -> Tensor | PackedSequence:
    if config.shape == "unbatched":
        return sequences[0]
    padded = nn.utils.rnn.pad_sequence(sequences, batch_first=config.batch_first)
    if config.shape == "batch":
        return padded
    return pack_padded_sequence(
        padded, [len(s) for s in sequences], config.batch_first, config.shape == "packed"
    )


def equations(it: Case, sequence: int) -> dict[str, Tensor]:
    """Every kind of one sequence, one number after the other: (T, H) each."""
    x, found = it.sequences[sequence], dict[str, Tensor]()
    directions = 2 if it.config.bidirectional else 1
    for layer in range(it.config.layers):
        outputs = []
        for way in range(directions):
            row = layer * directions + way
            start = [s[row, sequence] for s in it.state] if it.state else []
            states = layer_by_equations(
                it, x.flip(0) if way else x, it.module.all_weights[row], start
            )
            states = {k: v.flip(0) if way else v for k, v in states.items()}
            found |= {f"{k}{layer + 1}{'<' * way}": v for k, v in states.items()}
            outputs.append(states["h"])
        x = torch.cat(outputs, -1)
    return found


def layer_by_equations(it: Case, x: Tensor, weights: Any, start: list[Tensor]) -> dict[str, Tensor]:
    zero, width = x.new_zeros(()), it.config.width
    b_x, b_h = weights[2:4] if it.config.bias else (zero, zero)
    w_p = weights[-1] if it.module.proj_size else torch.eye(width, dtype=x.dtype)
    h, c = (
        [*start, x.new_zeros(width)][:2] if start else (x.new_zeros(len(w_p)), x.new_zeros(width))
    )
    steps = []
    for now in x:
        a, u = weights[0] @ now + b_x, weights[1] @ h + b_h
        if it.config.mode == "lstm":
            i, f, g, o = (a + u).chunk(4)
            f, i, o, g = sigmoid(f), sigmoid(i), sigmoid(o), tanh(g)
            l, s = f * c, i * g
            c = l + s
            h = w_p @ (o * tanh(c))
            steps.append({"f": f, "i": i, "o": o, "g": g, "l": l, "s": s, "c": c, "h": h})
        elif it.config.mode == "gru":
            r, z = (sigmoid(p + q) for p, q in list(zip(a.chunk(3), u.chunk(3), strict=True))[:2])
            n = tanh(a.chunk(3)[2] + r * u.chunk(3)[2])
            k, w = z * h, (1 - z) * n
            h = k + w
            steps.append({"r": r, "z": z, "n": n, "k": k, "w": w, "h": h})
        else:
            h = tanh(a + u) if it.config.mode == "tanh" else (a + u).relu()
            steps.append({"h": h})
    return {kind: torch.stack([step[kind] for step in steps]) for kind in steps[0]}


def flat(value: Any) -> list[Tensor]:
    if isinstance(value, PackedSequence):
        return [value.data]
    return [value] if isinstance(value, Tensor) else [t for inner in value for t in flat(inner)]


@pytest.mark.slow
@given(configs)
@quick
@torch.no_grad()
def test_outputs_equal_torchs_and_states_satisfy_the_equations(config):
    it = case(config)
    expected = flat(it.module.eval()(*it.batch))
    it.module.train()
    heard: list[Any] = []
    adapter = Adapter(it.module, feed=lambda module, batch: heard.append(module(*batch)))
    adapter._logits = lambda output: None
    for _ in range(2):  # with torch's outputs, and with ours in place of them
        traced = adapter.trace(it.batch)
        scale = max(1.0, *(float(t.abs().max()) for t in expected))
        assert adapter.difference <= PARITY[config.dtype] * scale
        for ours, theirs in zip(flat(heard[-1]), expected, strict=True):
            torch.testing.assert_close(ours, theirs, rtol=0, atol=PARITY[config.dtype] * scale)
        for column, sequence in enumerate(it.sequences):
            for kind, values in equations(it, column).items():
                mine = traced.states[kind][: len(sequence), column]
                torch.testing.assert_close(mine, values, rtol=0, atol=PARITY[config.dtype] * scale)
        assert list(traced.states) == [kind.id for kind in adapter.kinds]


@pytest.mark.slow
@given(configs)
@quick
def test_lengths_are_those_of_the_packed_sequences(config):
    it = case(config)
    adapter = Adapter(it.module)
    traced = adapter.trace(it.batch)
    lengths = [len(s) for s in it.sequences]
    if config.shape in ("batch", "unbatched"):
        assert traced.lengths is None
    else:  # even where all are equally long: other tensors may be padded further
        assert traced.lengths is not None
        assert traced.lengths.tolist() == lengths
    shapes = {tuple(values.shape[:2]) for values in traced.states.values()}
    assert shapes == {(max(lengths), len(lengths))}
    for column, sequence in enumerate(it.sequences):
        assert torch.equal(traced.states["x"][: len(sequence), column], sequence)


# torch's own, of any bfloat16 recurrence on CUDA: cuDNN does not lay those weights out.
@pytest.mark.filterwarnings("ignore:RNN module weights are not part")
@pytest.mark.parametrize("mode", ["lstm", "gru", "tanh", "relu"])
@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("shape", ["batch", "unsorted"])
def test_half_precision_and_devices(mode, device, shape):
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")
    loose = {torch.bfloat16: 0.1, torch.float32: 1e-5, torch.float64: 1e-10}
    for dtype, tolerance in loose.items():
        it = case(
            Config(mode, 3, 4, 2, True, True, False, 0.5, False, dtype, shape, True, (5, 3), 0)
        )
        fed = [move(value, device) for value in it.batch]
        adapter = Adapter(it.module.to(device), debug=True)
        traced = adapter.trace(fed)
        assert adapter.difference <= tolerance
        assert {values.dtype for values in traced.states.values()} == {dtype}
        assert {values.device.type for values in traced.states.values()} == {device}


def move(value: Any, device: str) -> Any:
    if isinstance(value, Tensor | PackedSequence):
        return value.cuda() if device == "cuda" else value
    return tuple(move(inner, device) for inner in value)


@pytest.mark.parametrize("shape", [(2, 3, 4), (1, 2, 4), (1, 3, 5)])
def test_a_state_of_the_wrong_shape_is_an_error(shape):
    gru = nn.GRU(2, 4)
    adapter = Adapter(gru)
    adapter.trace(torch.randn(5, 3, 2))  # from here on torch itself no longer looks at the state
    with pytest.raises(Exception, match=r"1 x 3 x 4|hidden"):
        adapter.trace((torch.randn(5, 3, 2), torch.randn(shape)))
