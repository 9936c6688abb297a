"""RWKV-4 and RWKV-7 from the files of rwkv.cpp, each a plain torch module, read with every memory.

`python scripts/rwkv.py model.bin "in the beginning"` reads a text byte by byte, says what the model
expects next and how far every memory is from the sum of what each byte wrote, and, given the file
of the logits that the model must give (`--logits FILE`), how far its own are from them.
"""

import argparse
import math
import struct
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import rnnlens
from rnnlens.ask.memory import Direction, stored

MAGIC, FLOAT = 0x67676D66, 0
Tensors = dict[str, Tensor]


def read_file(path: Path) -> Tensors:
    """The tensors of a file by name."""
    data = path.read_bytes()
    if len(data) < 24 or struct.unpack_from("<i", data)[0] != MAGIC:
        raise SystemExit(f"{path} is no model of rwkv.cpp")
    at, found = 24, Tensors()
    while at < len(data):
        axes, letters, sort = struct.unpack_from("<3i", data, at)
        shape = struct.unpack_from(f"<{axes}i", data, at + 12)[::-1]
        at += 12 + 4 * axes
        name, at = data[at : at + letters].decode(), at + letters
        if sort != FLOAT:
            raise SystemExit(f"{name} is not in single precision; convert the model to FP32")
        count = torch.Size(shape).numel()
        found[name] = torch.frombuffer(bytearray(data[at : at + 4 * count]), dtype=torch.float32)
        found[name] = found[name].view(shape)
        at += 4 * count
    return found


def shifted(x: Tensor) -> Tensor:
    """Every timestep's predecessor, (B, T, C); nothing precedes the first."""
    return F.pad(x, (0, 0, 1, -1))


def rwkv_linear_attention(
    time_decay: Tensor, time_first: Tensor, key: Tensor, value: Tensor
) -> Tensor:
    """The recurrence of RWKV-4, which rnnlens knows by this name: a weighted mean of values."""
    top, below, most, reads = 0 * key[:, 0], 0 * key[:, 0], 0 * key[:, 0] - 1e38, []
    for k, v in zip(key.unbind(1), value.unbind(1), strict=True):
        now = torch.maximum(most, time_first + k)
        old, new = torch.exp(most - now), torch.exp(time_first + k - now)
        reads.append((old * top + new * v) / (old * below + new))
        now = torch.maximum(most - time_decay.exp(), k)
        old, new = torch.exp(most - time_decay.exp() - now), torch.exp(k - now)
        top, below, most = old * top + new * v, old * below + new, now
    return torch.stack(reads, 1)


class Mix4(nn.Module):
    """The recurrent part of a layer of RWKV-4."""

    def __init__(self, w: Tensors, layer: int) -> None:
        super().__init__()
        self.w = {name: w[f"blocks.{layer}.att.{name}"] for name in (
            "time_mix_k", "time_mix_v", "time_mix_r", "key.weight", "value.weight",
            "receptance.weight", "output.weight", "time_first")}  # fmt: skip
        self.decay = (-w[f"blocks.{layer}.att.time_decay"]).log()  # the file has minus its exp

    def forward(self, x: Tensor) -> Tensor:
        w, last = self.w, shifted(x)
        r, k, v = (
            F.linear(last + w[f"time_mix_{letter}"] * (x - last), w[f"{name}.weight"])
            for letter, name in (("r", "receptance"), ("k", "key"), ("v", "value"))
        )
        read = rwkv_linear_attention(self.decay, w["time_first"], k, v)
        return F.linear(torch.sigmoid(r) * read, w["output.weight"])


class Mix7(nn.Module):
    """The recurrent part of a layer of RWKV-7. What its recurrence is made of passes through
    submodules that change nothing, so that it has names.
    """

    recurrence_names = ("decay", "question", "key", "value", "strength", "removed")

    def __init__(self, w: Tensors, layer: int, first: list[Tensor]) -> None:
        """`first`: where the first layer leaves its values, which later ones mix in."""
        super().__init__()
        start = f"blocks.{layer}.att."
        self.w = {name.removeprefix(start): v for name, v in w.items() if name.startswith(start)}
        self.read = nn.Identity()
        for name in self.recurrence_names:
            self.add_module(name, nn.Identity())
        self.heads, self.size = self.w["r_k"].shape
        self.first = first

    def small(self, name: str, x: Tensor) -> Tensor:
        """A map of low rank."""
        return F.linear(F.linear(x, self.w[f"{name}1"]), self.w[f"{name}2"])

    def forward(self, x: Tensor) -> Tensor:
        w, by_head = self.w, (self.heads, self.size)
        mixed = x + w["x_rwkvag"][:, None] * (shifted(x) - x)  # (6, B, T, C)
        xr, xw, xk, xv, xa, xg = mixed.unbind(0)
        r, k, v = (F.linear(one, w[f"{name}.weight"]) for one, name in (
            (xr, "receptance"), (xk, "key"), (xv, "value")))  # fmt: skip
        decay = w["w0"] + F.linear(torch.tanh(F.linear(xw, w["w1"])), w["w2"])
        decay = torch.exp(-math.exp(-0.5) * torch.sigmoid(decay))
        if "v0" in w:
            v = v + (self.first[0] - v) * torch.sigmoid(w["v0"] + self.small("v", xv))
        else:
            self.first[:] = [v]
        a = torch.sigmoid(w["a0"] + self.small("a", xa))
        gate = F.linear(torch.sigmoid(F.linear(xg, w["g1"])), w["g2"])
        removed = F.normalize((k * w["k_k"]).unflatten(-1, by_head), dim=-1)
        k = k * (1 + (a - 1) * w["k_a"])
        decay, r, k, v, a = (one.unflatten(-1, by_head) for one in (decay, r, k, v, a))
        parts = (decay, r, k, v, a, removed)
        for name, part in zip(self.recurrence_names, parts, strict=True):
            self.get_submodule(name)(part)
        read = self.read(self.scan(*parts))
        read = F.group_norm(read.flatten(0, 1).flatten(1), self.heads, w["ln_x.weight"],
                            w["ln_x.bias"], 64e-5).view(x.shape)  # fmt: skip
        own = (r * k * w["r_k"]).sum(-1, keepdim=True) * v
        return F.linear((read + own.flatten(2)) * gate, w["output.weight"])

    @staticmethod
    def scan(*parts: Tensor) -> Tensor:
        """The recurrence as its paper has it: a matrix of values by keys for each head."""
        memory, reads = 0 * parts[3][:, 0, :, :, None] * parts[2][:, 0, :, None], []
        for w, r, k, v, a, kappa in zip(*(part.unbind(1) for part in parts), strict=True):
            gone = (memory * kappa[..., None, :]).sum(-1, keepdim=True) * (a * kappa)[..., None, :]
            memory = memory * w[..., None, :] - gone + v[..., None] * k[..., None, :]
            reads.append((memory * r[..., None, :]).sum(-1))
        return torch.stack(reads, 1)


class Block(nn.Module):
    """A layer: the recurrent part, and a feed-forward one."""

    def __init__(self, w: Tensors, layer: int, mix: nn.Module) -> None:
        super().__init__()
        start = f"blocks.{layer}."
        self.w = {name.removeprefix(start): v for name, v in w.items() if name.startswith(start)}
        self.att = mix

    def norm(self, name: str, x: Tensor) -> Tensor:
        return F.layer_norm(x, x.shape[-1:], self.w[f"{name}.weight"], self.w[f"{name}.bias"])

    def feed_forward(self, x: Tensor) -> Tensor:
        w, last = self.w, shifted(x)
        if "ffn.x_k" in w:  # RWKV-7
            k = F.linear(x + w["ffn.x_k"][0] * (last - x), w["ffn.key.weight"])
            return F.linear(torch.relu(k).square(), w["ffn.value.weight"])
        k, r = (F.linear(last + w[f"ffn.time_mix_{letter}"] * (x - last), w[f"ffn.{name}.weight"])
                for letter, name in (("k", "key"), ("r", "receptance")))  # fmt: skip
        return torch.sigmoid(r) * F.linear(torch.relu(k).square(), w["ffn.value.weight"])

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.att(self.norm("ln1", x))
        return x + self.feed_forward(self.norm("ln2", x))


class RWKV(nn.Module):
    """A model of rwkv.cpp: bytes in, logits of the next byte out."""

    def __init__(self, w: Tensors) -> None:
        super().__init__()
        self.w = w
        layers = 1 + max(int(name.split(".")[1]) for name in w if name.startswith("blocks."))
        seventh = "blocks.0.att.r_k" in w
        first: list[Tensor] = []
        mixes = [Mix7(w, n, first) if seventh else Mix4(w, n) for n in range(layers)]
        self.embed = nn.Embedding.from_pretrained(w["emb.weight"])
        self.blocks = nn.ModuleList(Block(w, n, mix) for n, mix in enumerate(mixes))
        self.recurrences: list[rnnlens.Recurrence] = []
        if seventh:
            self.recurrences.append(
                rnnlens.Recurrence(
                    Mix7,
                    decay="decay",
                    question="question",
                    key="key",
                    value="value",
                    strength="strength",
                    removed="removed",
                    into="read",
                )
            )

    def forward(self, ids: Tensor) -> Tensor:
        first = self.w["blocks.0.ln0.weight"], self.w["blocks.0.ln0.bias"]
        x = F.layer_norm(self.embed(ids), first[0].shape, *first)
        for block in self.blocks:
            x = block(x)
        x = F.layer_norm(x, x.shape[-1:], self.w["ln_out.weight"], self.w["ln_out.bias"])
        return F.linear(x, self.w["head.weight"])


def split_gap(adapter: rnnlens.Adapter, states: dict[str, Tensor]) -> float:
    """How far, at most, memories are from the sum of what each byte wrote, as a share of their
    size.
    """
    gap = 0.0
    for layer in adapter.recurrence:
        for letter in layer.cell.memories:
            kind = layer.ids[letter]
            last = states[kind][-1, 0].double()
            weight = torch.randn(len(last), generator=torch.Generator().manual_seed(0)).double()
            parts, rest = stored(adapter.recurrence, states,
                                 Direction(kind, len(states[kind]) - 1, weight, 0.0))  # fmt: skip
            size = max(1e-30, float((last * weight).abs().sum()))
            gap = max(gap, abs(parts.sum() + rest - float(last @ weight)) / size)
    return gap


def main() -> None:
    """Read a text with a model of a file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("text")
    parser.add_argument("--logits", type=Path, help="those that the model must give after the text")
    args = parser.parse_args()
    model = RWKV(read_file(args.file)).eval()
    adapter = rnnlens.Adapter(model, recurrences=model.recurrences)
    ids = torch.tensor([list(args.text.encode())])
    trace = adapter.trace(ids)
    logits = trace.prediction[-1, 0]
    print(f"kinds of a layer: {', '.join(k.id for k in adapter.kinds if k.layer == 1)}")
    print(f"recomputed reads differ from the model's by {adapter.difference:.1e}")
    print(
        f"memories differ from the sum of their writers by {split_gap(adapter, trace.states):.1e}"
    )
    print("expected next:", [bytes([byte]) for byte in logits.topk(5).indices.tolist()])
    if args.logits:
        wanted = torch.frombuffer(bytearray(args.logits.read_bytes()), dtype=torch.float32)
        print(
            f"logits differ from those it must give by {float((logits - wanted).abs().max()):.1e}"
        )


if __name__ == "__main__":
    main()
