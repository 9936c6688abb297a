"""Files of rwkv.cpp, made here: read, and held to a loop over single bytes in double precision."""

import struct
from pathlib import Path

import pytest
import torch
from scripts import rwkv
from torch import Tensor

import rnnlens
from rnnlens.model.traceable import StateEdit

WIDTH, BYTES, LAYERS, HEADS, RANK = 8, 16, 2, 2, 3
IDS = torch.tensor([[3, 1, 4, 1, 5, 9, 2, 6]])


def _fourth() -> rwkv.Tensors:
    w = _around()
    for n in range(LAYERS):
        at = f"blocks.{n}.att."
        w |= {at + name: torch.rand(WIDTH) for name in ("time_mix_k", "time_mix_v", "time_mix_r")}
        w[at + "time_decay"], w[at + "time_first"] = -torch.rand(WIDTH), torch.randn(WIDTH)
        for name in ("key", "value", "receptance", "output"):
            w[f"{at}{name}.weight"] = torch.randn(WIDTH, WIDTH)
        ffn = f"blocks.{n}.ffn."
        w |= {ffn + name: torch.rand(WIDTH) for name in ("time_mix_k", "time_mix_r")}
        w[ffn + "receptance.weight"] = torch.randn(WIDTH, WIDTH)
    return w


def _seventh() -> rwkv.Tensors:
    w = _around()
    for n in range(LAYERS):
        at = f"blocks.{n}.att."
        w[at + "x_rwkvag"] = torch.rand(6, 1, WIDTH)
        for name in ("w", "a", "g", *(("v",) if n else ())):
            w[f"{at}{name}1"] = torch.randn(RANK, WIDTH)
            w[f"{at}{name}2"] = torch.randn(WIDTH, RANK)
            w[f"{at}{name}0"] = torch.randn(1, 1, WIDTH)
        w |= {at + name: torch.rand(1, 1, WIDTH) for name in ("k_k", "k_a")}
        w[at + "r_k"] = torch.randn(HEADS, WIDTH // HEADS)
        for name in ("key", "value", "receptance", "output"):
            w[f"{at}{name}.weight"] = torch.randn(WIDTH, WIDTH)
        w |= {at + "ln_x.weight": torch.rand(WIDTH), at + "ln_x.bias": torch.rand(WIDTH)}
        w[f"blocks.{n}.ffn.x_k"] = torch.rand(1, 1, WIDTH)
    return w


def _around() -> rwkv.Tensors:
    torch.manual_seed(0)
    w = {"emb.weight": torch.randn(BYTES, WIDTH), "head.weight": torch.randn(BYTES, WIDTH)}
    norms = [
        "ln_out",
        "blocks.0.ln0",
        *(f"blocks.{n}.ln{k}" for n in range(LAYERS) for k in (1, 2)),
    ]
    for name in norms:
        w |= {f"{name}.weight": torch.rand(WIDTH), f"{name}.bias": torch.rand(WIDTH)}
    for n in range(LAYERS):
        w[f"blocks.{n}.ffn.key.weight"] = torch.randn(2 * WIDTH, WIDTH)
        w[f"blocks.{n}.ffn.value.weight"] = torch.randn(WIDTH, 2 * WIDTH)
    return w


def _written(path: Path, w: rwkv.Tensors) -> Path:
    data = struct.pack("<6i", rwkv.MAGIC, 101, BYTES, WIDTH, LAYERS, 0)
    for name, tensor in w.items():
        shape = tensor.shape[::-1]
        data += struct.pack(f"<{3 + len(shape)}i", len(shape), len(name), 0, *shape)
        data += name.encode() + tensor.contiguous().numpy().tobytes()
    path.write_bytes(data)
    return path


def _memory_of_seven(adapter: rnnlens.Adapter, trace: rnnlens.Trace, layer: int) -> Tensor:
    """The memory (T, H, K, V), step by step as the paper has it, in double precision."""
    kinds = {k: trace.states[f"{k}{layer}"][:, 0].double().unflatten(-1, (HEADS, -1))
             for k in "Kvgba"}  # fmt: skip
    s, states = torch.zeros(HEADS, WIDTH // HEADS, WIDTH // HEADS).double(), []
    for k, v, g, b, a in zip(*(kinds[kind] for kind in "Kvgba"), strict=True):
        for h in range(HEADS):
            change = torch.diag(a[h]) - torch.outer(g[h], b[h] * g[h])
            s[h] = s[h] @ change + torch.outer(v[h], k[h])
        states.append(s.transpose(1, 2).clone())
    return torch.stack(states)


@pytest.fixture(params=[_fourth, _seventh], ids=["4", "7"])
def model(request, tmp_path):
    return rwkv.RWKV(rwkv.read_file(_written(tmp_path / "model.bin", request.param()))).eval()


def test_every_memory_is_the_sum_of_what_each_byte_wrote(model):
    adapter = rnnlens.Adapter(model, recurrences=model.recurrences)
    trace = adapter.trace(IDS)
    assert adapter.difference < 1e-5
    assert rwkv.split_gap(adapter, trace.states) < 1e-6
    memory = "S1" if model.recurrences else "c1"
    gone = adapter.trace(IDS, edits=[StateEdit(memory, 3, torch.zeros_like)])
    assert torch.equal(gone.prediction[:3], trace.prediction[:3])
    assert not torch.allclose(gone.prediction[4:], trace.prediction[4:], atol=1e-3)


def test_the_memory_of_the_seventh_is_that_of_a_plain_loop(tmp_path):
    w = rwkv.read_file(_written(tmp_path / "model.bin", _seventh()))
    model = rwkv.RWKV(w).eval()
    adapter = rnnlens.Adapter(model, recurrences=model.recurrences)
    trace = adapter.trace(IDS)
    for layer in (1, 2):
        wanted = _memory_of_seven(adapter, trace, layer).flatten(1)
        memory = trace.states[f"S{layer}"][:, 0].double()
        torch.testing.assert_close(memory, wanted, rtol=1e-5, atol=1e-5)


def test_the_mean_of_the_fourth_is_that_of_plain_sums():
    key, value = torch.randn(1, 6, WIDTH).double(), torch.randn(1, 6, WIDTH).double()
    decay, bonus = torch.randn(WIDTH).double(), torch.randn(WIDTH).double()
    read = rwkv.rwkv_linear_attention(decay, bonus, key, value)
    for t in range(6):
        back = torch.arange(t - 1, -1, -1)[:, None]
        weight = torch.cat(
            [torch.exp(-back * decay.exp() + key[0, :t]), torch.exp(bonus + key[:, t])]
        )
        wanted = (weight * value[0, : t + 1]).sum(0) / weight.sum(0)
        torch.testing.assert_close(read[0, t], wanted)


def test_a_file_of_something_else_is_refused(tmp_path):
    other = tmp_path / "other.bin"
    other.write_bytes(b"something else, and long enough")
    with pytest.raises(SystemExit, match=r"is no model of rwkv\.cpp"):
        rwkv.read_file(other)


def test_the_script_tells_how_far_logits_are_off(tmp_path, capsys, monkeypatch):
    path = _written(tmp_path / "model.bin", _fourth())
    logits = rwkv.RWKV(rwkv.read_file(path))(torch.tensor([[3, 1]]))[0, -1].detach()
    (tmp_path / "logits.bin").write_bytes((logits + 0.5).numpy().tobytes())
    arguments = ["rwkv.py", str(path), "\x03\x01", "--logits", str(tmp_path / "logits.bin")]
    monkeypatch.setattr("sys.argv", arguments)
    rwkv.main()
    said = capsys.readouterr().out
    assert "logits differ from those it must give by 5.0e-01" in said
