"""The families of recurrences with a linear memory, each written like the equations of its paper.

What each is given (the step size, keys, values, questions) is computed by the module around it. Of
letters the house's stand for what all have in common: `S` the memory where it is a matrix and `c`
where it is a vector, `a` decay, `k` kept, `e` erased, `w` written, `r` read. Others are those of
the papers; since `k` is what is kept, keys are `K`.
"""

from typing import ClassVar

import torch
from torch import Tensor

from rnnlens.model.cell import BEFORE, States, Weights
from rnnlens.model.kinds import BELOW, Edge, Kind, Memory
from rnnlens.model.linear import Given, LinearCell, Shape
from rnnlens.model.transition import Transition

_BELOW = (Edge(BELOW),)
_QUESTION = Kind("q", "question", "q", "q = W_q x", _BELOW)
_KEY = Kind("K", "key", "K", "K = W_K x", _BELOW)
_VALUE = Kind("v", "value", "v", "v = W_v x", _BELOW)
_STRENGTH = Kind("b", "strength of the write", "β", "β = σ(W_β x)", _BELOW, gate=True)
_SHARE = (0.0, 1.0)


def _memory(equation: str, erased: str = "", letter: str = "S", name: str = "memory") -> Kind:
    return Kind(
        letter, name, letter, equation, (Edge("k"), Edge("w")),
        memory=Memory(decay="a", write="w", kept="k", erased=erased),
    )  # fmt: skip


def _read(equation: str, *sources: str) -> Kind:
    return Kind("r", "read", "r", equation, tuple(map(Edge, sources)), output=True)


def _outer(a: Tensor, b: Tensor) -> Tensor:
    return a[..., :, None] * b[..., None, :]


class S6(LinearCell):
    """The selective state space of Mamba: C channels, each with N numbers of memory.

    Constants: `A` (C, N), negative, and `D` (C,). Keys and questions are the same for all channels,
    or come in groups.
    """

    name = "s6"
    question = "C"
    keys_last = True
    carried = ("S",)
    given = ("d", "u", "B", "C")
    convolved = ("u",)
    kinds = (
        Kind("d", "step size", "Δ", "Δ = softplus(W_Δ u + b_Δ)", _BELOW, range=(0.0, None),
             gate=True),
        Kind("u", "value", "u", "u = SiLU(conv(W_u x))", _BELOW),
        Kind("B", "key", "B", "B = W_B u", (Edge("u"),)),
        Kind("C", "question", "C", "C = W_C u", (Edge("u"),)),
        Kind("a", "decay", "a", "a = exp(Δ A)", (Edge("d"),), range=_SHARE, gate=True),
        Kind("k", "kept memory", "k", "k = a ∘ S₋₁", (Edge("a"), Edge("S", 1))),
        Kind("w", "written memory", "w", "w = Δ u ⊗ B", (Edge("d"), Edge("u"), Edge("B"))),
        _memory("S = k + w"),
        _read("r = S C + D ∘ u", "S", "C", "u"),
    )  # fmt: skip

    @classmethod
    def of(cls, channels: int, numbers: int, groups: int = 1) -> "S6":
        c, n, both = (channels,), (groups, numbers), (channels, numbers)
        return cls({"d": c, "u": c, "B": n, "C": n, "a": both, "k": both, "w": both, "S": both,
                    "r": c})  # fmt: skip

    @classmethod
    def taking(
        cls, step: Tensor, value: Tensor, key: Tensor, question: Tensor, **w: Tensor
    ) -> Given:
        """Of step sizes and values (T, B, C), keys and questions (T, B, G, N)."""
        cell = cls.of(value.shape[-1], key.shape[-1], key.shape[-2])
        return Given(cell, {"d": step, "u": value, "B": key, "C": question}, w)

    def transition(self, memory: str, now: States, w: Weights) -> Transition:  # noqa: ARG002
        if "a" in now:
            return Transition(now["a"])
        return Transition(torch.exp(now["d"][..., None] * w["A"].to(now["d"])))

    def write(self, memory: str, now: States, w: Weights) -> Tensor:  # noqa: ARG002
        return (now["d"] * now["u"])[..., None] * self._of_channels(now["B"])

    def read(self, at: States, now: States, w: Weights) -> Tensor:
        return (at["S"] * self._of_channels(now["C"])).sum(-1) + self.direct(now, w)

    def direct(self, now: States, w: Weights) -> Tensor:
        return w["D"].to(now["u"]) * now["u"]

    def asked(self, through: Tensor, now: States, w: Weights) -> Tensor:  # noqa: ARG002
        return through[..., None] * self._of_channels(now["C"])

    def _of_channels(self, values: Tensor) -> Tensor:
        """Of groups (..., G, N), for each channel (..., C, N); of one group as it is."""
        groups = values.shape[-2]
        return values if groups == 1 else values.repeat_interleave(self.sizes["u"][0] // groups, -2)


def side_by_side(parts: list[Given]) -> Given:
    """One scan of S6 for several, each of other channels."""
    kinds, constants = parts[0].states, parts[0].weights
    given = {kind: torch.cat([part.states[kind] for part in parts], 2) for kind in kinds}
    weights = {name: torch.cat([part.weights[name] for part in parts]) for name in constants}
    cell = S6.of(given["u"].shape[2], given["B"].shape[3], given["B"].shape[2])
    return Given(cell, given, weights)


class SSD(LinearCell):
    """The state space of Mamba-2: H heads of P values by N keys, and one decay a head.

    Constants: `A` (H,), negative, and `D` (H, 1) or (H, P). Keys and questions come in groups, each
    for several heads.
    """

    name = "ssd"
    question = "C"
    keys_last = True
    carried = ("S",)
    given = ("d", "u", "B", "C")
    convolved = ("u", "B", "C")
    kinds = (
        Kind("d", "step size", "Δ", "Δ = softplus(W_Δ x + b_Δ)", _BELOW, range=(0.0, None),
             gate=True),
        Kind("u", "value", "u", "u = SiLU(conv(W_u x))", _BELOW),
        Kind("B", "key", "B", "B = SiLU(conv(W_B x))", _BELOW),
        Kind("C", "question", "C", "C = SiLU(conv(W_C x))", _BELOW),
        Kind("a", "decay", "a", "a = exp(Δ A)", (Edge("d"),), range=_SHARE, gate=True),
        Kind("k", "kept memory", "k", "k = a S₋₁", (Edge("a"), Edge("S", 1))),
        Kind("w", "written memory", "w", "w = Δ u ⊗ B", (Edge("d"), Edge("u"), Edge("B"))),
        _memory("S = k + w"),
        _read("r = S C + D u", "S", "C", "u"),
    )  # fmt: skip

    @classmethod
    def of(cls, heads: int, values: int, keys: int, groups: int) -> "SSD":
        h, p, n, whole = (heads,), (heads, values), (groups, keys), (heads, values, keys)
        return cls({"d": h, "u": p, "B": n, "C": n, "a": h, "k": whole, "w": whole, "S": whole,
                    "r": p})  # fmt: skip

    @classmethod
    def taking(
        cls, step: Tensor, value: Tensor, key: Tensor, question: Tensor, **w: Tensor
    ) -> Given:
        """Of step sizes (T, B, H), values (T, B, H, P), keys and questions (T, B, G, N)."""
        heads, values = value.shape[2:]
        cell = cls.of(heads, values, key.shape[-1], key.shape[-2])
        return Given(cell, {"d": step, "u": value, "B": key, "C": question}, w)

    def gates(self, now: States, before: States, w: Weights) -> States:  # noqa: ARG002
        return {"a": torch.exp(now["d"] * w["A"].to(now["d"]))}

    def transition(self, memory: str, now: States, w: Weights) -> Transition:  # noqa: ARG002
        return Transition(now["a"][..., None, None])

    def write(self, memory: str, now: States, w: Weights) -> Tensor:  # noqa: ARG002
        return _outer(now["d"][..., None] * now["u"], self._of_heads(now["B"]))

    def read(self, at: States, now: States, w: Weights) -> Tensor:
        return (at["S"] @ self._of_heads(now["C"])[..., None])[..., 0] + self.direct(now, w)

    def direct(self, now: States, w: Weights) -> Tensor:
        return w["D"].to(now["u"]) * now["u"]

    def asked(self, through: Tensor, now: States, w: Weights) -> Tensor:  # noqa: ARG002
        return _outer(through, self._of_heads(now["C"]))

    def _of_heads(self, values: Tensor) -> Tensor:
        """Of groups (..., G, N), for each head (..., H, N)."""
        return values.repeat_interleave(self.sizes["d"][0] // values.shape[-2], -2)


class LinearAttention(LinearCell):
    """A matrix of keys by values for each head that decays: fixed (lightning attention, RetNet) or
    as the input says (GLA), a number a head or one for each key.
    """

    name = "linear attention"
    question = "q"
    carried = ("S",)
    given: ClassVar[tuple[str, ...]] = ("q", "K", "v", "a")
    kinds: ClassVar[tuple[Kind, ...]] = (
        _QUESTION,
        _KEY,
        _VALUE,
        Kind("a", "decay", "α", "α = σ(W_α x), or fixed", _BELOW, range=_SHARE, gate=True),
        Kind("k", "kept memory", "k", "k = α S₋₁", (Edge("a"), Edge("S", 1))),
        Kind("w", "written memory", "w", "w = K ⊗ v", (Edge("K"), Edge("v"))),
        _memory("S = k + w"),
        _read("r = q S", "q", "S"),
    )

    @classmethod
    def of(cls, heads: int, keys: int, values: int, decays: int = 1) -> "LinearAttention":
        """`decays`: 1, or as many as keys."""
        return cls(cls._sizes(heads, keys, values, decays))

    @classmethod
    def taking(
        cls,
        question: Tensor,
        key: Tensor,
        value: Tensor,
        decay: Tensor,
        strength: Tensor | None = None,
        removed: Tensor | None = None,
        **w: Tensor,
    ) -> Given:
        """Of questions and keys (T, B, H, K), values (T, B, H, V), decays (T, B, H, 1 or K), and
        what a delta rule needs.
        """
        heads, keys = key.shape[2:]
        cell = cls.of(heads, keys, value.shape[-1], decay.shape[-1])
        every = {"q": question, "K": key, "v": value, "a": decay, "b": strength, "g": removed}
        given = {kind: v for kind, v in every.items() if kind in cls.given and v is not None}
        return Given(cell, given, w)

    @classmethod
    def _sizes(cls, heads: int, keys: int, values: int, decays: int) -> dict[str, Shape]:
        k, v, whole = (heads, keys), (heads, values), (heads, keys, values)
        sizes = {"q": k, "K": k, "v": v, "a": (heads, decays), "b": (heads,), "e": whole,
                 "k": whole, "w": whole, "S": whole, "r": v}  # fmt: skip
        return {kind.id: sizes[kind.id] for kind in cls.kinds if kind.id in sizes}

    def transition(self, memory: str, now: States, w: Weights) -> Transition:  # noqa: ARG002
        return Transition(now["a"][..., None])

    def write(self, memory: str, now: States, w: Weights) -> Tensor:  # noqa: ARG002
        return _outer(now["K"], now["v"])

    def read(self, at: States, now: States, w: Weights) -> Tensor:  # noqa: ARG002
        return (now["q"][..., None, :] @ at["S"])[..., 0, :]

    def asked(self, through: Tensor, now: States, w: Weights) -> Tensor:  # noqa: ARG002
        return _outer(now["q"], through)


class GatedDelta(LinearAttention):
    """The gated delta rule: what the memory says of a key is erased before its value is written."""

    name = "gated delta"
    given = ("q", "K", "v", "b", "a")
    convolved = ("q", "K", "v")
    kinds = (
        _QUESTION,
        _KEY,
        _VALUE,
        _STRENGTH,
        Kind("a", "decay", "α", "α = exp(-A softplus(W_α x + b_α))", _BELOW, range=_SHARE,
             gate=True),
        Kind("e", "erased memory", "e", "e = α β K ⊗ (K S₋₁)",
             (Edge("a"), Edge("b"), Edge("K"), Edge("S", 1))),
        Kind("k", "kept memory", "k", "k = α S₋₁ - e", (Edge("a"), Edge("e"), Edge("S", 1))),
        Kind("w", "written memory", "w", "w = β K ⊗ v", (Edge("b"), Edge("K"), Edge("v"))),
        _memory("S = k + w", "e"),
        _read("r = q S", "q", "S"),
    )  # fmt: skip

    def transition(self, memory: str, now: States, w: Weights) -> Transition:  # noqa: ARG002
        put = -now["a"] * now["b"][..., None] * now["K"]
        return Transition(now["a"][..., None], put, now["K"])

    def write(self, memory: str, now: States, w: Weights) -> Tensor:  # noqa: ARG002
        return _outer(now["b"][..., None] * now["K"], now["v"])


class KimiDelta(GatedDelta):
    """Kimi's delta attention: each key decays by itself, and what is erased has decayed already."""

    name = "kimi delta"
    kinds = (
        _QUESTION,
        _KEY,
        _VALUE,
        _STRENGTH,
        Kind("a", "decay", "α", "α = exp(-A softplus(W_α x + b_α))", _BELOW, range=_SHARE,
             gate=True),
        Kind("e", "erased memory", "e", "e = β K ⊗ (K (α ∘ S₋₁))",
             (Edge("a"), Edge("b"), Edge("K"), Edge("S", 1))),
        Kind("k", "kept memory", "k", "k = α ∘ S₋₁ - e", (Edge("a"), Edge("e"), Edge("S", 1))),
        Kind("w", "written memory", "w", "w = β K ⊗ v", (Edge("b"), Edge("K"), Edge("v"))),
        _memory("S = k + w", "e"),
        _read("r = q S", "q", "S"),
    )  # fmt: skip

    def transition(self, memory: str, now: States, w: Weights) -> Transition:  # noqa: ARG002
        put = -now["b"][..., None] * now["K"]
        return Transition(now["a"][..., None], put, now["a"] * now["K"])


class RWKV6(LinearAttention):
    """RWKV-5 and RWKV-6: the memory is read before it is written, and the word of now is added with
    a bonus. Its receptance is the question, its w the decay, a. Constants: `u` (H, K), the bonus.
    """

    name = "rwkv6"
    reads_before = True
    kinds = (
        _QUESTION,
        _KEY,
        _VALUE,
        Kind("a", "decay", "a", "a = exp(-exp(...)), fixed in RWKV-5", _BELOW, range=_SHARE,
             gate=True),
        Kind("k", "kept memory", "k", "k = a ∘ S₋₁", (Edge("a"), Edge("S", 1))),
        Kind("w", "written memory", "w", "w = K ⊗ v", (Edge("K"), Edge("v"))),
        _memory("S = k + w"),
        Kind("r", "read", "r", "r = q (S₋₁ + u ∘ K ⊗ v)",
             (Edge("q"), Edge("S", 1), Edge("K"), Edge("v")), output=True),
    )  # fmt: skip

    def read(self, at: States, now: States, w: Weights) -> Tensor:
        return super().read(at, now, w) + self.direct(now, w)

    def direct(self, now: States, w: Weights) -> Tensor:
        bonus = (now["q"] * w["u"].to(now["q"]) * now["K"]).sum(-1, keepdim=True)
        return bonus * now["v"]


class RWKV7(LinearAttention):
    """RWKV-7, a delta rule that erases one key and writes another. Its receptance is the question,
    and κ, of length 1, the key that is erased; its w and a are the decay, a, and the strength, b.
    """

    name = "rwkv7"
    given = ("q", "K", "v", "g", "b", "a")
    kinds = (
        _QUESTION,
        _KEY,
        _VALUE,
        Kind("g", "removed key", "κ", "κ = W_K x ∘ ξ, of length 1", _BELOW, range=(-1.0, 1.0)),
        Kind("b", "strength of the removal", "b", "b = σ(W_b x)", _BELOW, range=_SHARE, gate=True),
        Kind("a", "decay", "a", "a = exp(-e^(-1/2) σ(W_a x))", _BELOW, range=_SHARE, gate=True),
        Kind("e", "erased memory", "e", "e = (b ∘ κ) ⊗ (κ S₋₁)",
             (Edge("b"), Edge("g"), Edge("S", 1))),
        Kind("k", "kept memory", "k", "k = a ∘ S₋₁ - e", (Edge("a"), Edge("e"), Edge("S", 1))),
        Kind("w", "written memory", "w", "w = K ⊗ v", (Edge("K"), Edge("v"))),
        _memory("S = k + w", "e"),
        _read("r = q S", "q", "S"),
    )  # fmt: skip

    @classmethod
    def _sizes(cls, heads: int, keys: int, values: int, decays: int) -> dict[str, Shape]:
        k = (heads, keys)
        return super()._sizes(heads, keys, values, decays) | {"g": k, "b": k}

    def transition(self, memory: str, now: States, w: Weights) -> Transition:  # noqa: ARG002
        return Transition(now["a"][..., None], -now["b"] * now["g"], now["g"])


class Gated(LinearCell):
    """A vector that decays and is written to unit by unit: RG-LRU, minGRU, minLSTM, HGRN."""

    name = "gated"
    carried = ("c",)
    given = ("a", "w")
    kinds = (
        Kind("a", "decay", "a", "a = how much of the memory stays", _BELOW, gate=True),
        Kind("k", "kept memory", "k", "k = a ∘ c₋₁", (Edge("a"), Edge("c", 1))),
        Kind("w", "written memory", "w", "w = what is added", _BELOW),
        Kind("c", "memory", "c", "c = k + w", (Edge("k"), Edge("w")), output=True,
             memory=Memory(decay="a", write="w", kept="k")),
    )  # fmt: skip

    @classmethod
    def of(cls, width: int) -> "Gated":
        return cls(dict.fromkeys("akwc", (width,)))

    @classmethod
    def taking(cls, decay: Tensor, write: Tensor) -> Given:
        """Of decays and of what is added, (T, B, C)."""
        return Given(cls.of(write.shape[-1]), {"a": decay, "w": write}, {})

    def transition(self, memory: str, now: States, w: Weights) -> Transition:  # noqa: ARG002
        return Transition(now["a"])

    def write(self, memory: str, now: States, w: Weights) -> Tensor:  # noqa: ARG002
        return now["w"]

    def read(self, at: States, now: States, w: Weights) -> Tensor:  # noqa: ARG002
        return at["c"]

    def asked(self, through: Tensor, now: States, w: Weights) -> Tensor:  # noqa: ARG002
        return through


class RGLRU(Gated):
    """The real-gated linear recurrent unit of Griffin."""

    name = "rg-lru"
    convolved = ("a", "w")
    kinds = (
        Kind("a", "decay", "a", "a = exp(-8 softplus(Λ) σ(W_a x))", _BELOW, range=_SHARE,
             gate=True),
        Kind("k", "kept memory", "k", "k = a ∘ c₋₁", (Edge("a"), Edge("c", 1))),
        Kind("w", "written memory", "w", "w = √(1 - a²) ∘ σ(W_i x) ∘ x", (*_BELOW, Edge("a"))),
        Kind("c", "memory", "c", "c = k + w", (Edge("k"), Edge("w")), output=True,
             memory=Memory(decay="a", write="w", kept="k")),
    )  # fmt: skip


_MAXIMUM = Kind("m", "largest exponent", "m", "m = max(f + m₋₁, i)",
                (Edge("f"), Edge("i"), Edge("m", 1)))  # fmt: skip


class MLSTM(LinearCell):
    """The matrix memory of xLSTM: exponential gates, kept within numbers by their maximum `m`.

    Constants: `eps` (), which is added to what the read is divided by.
    """

    name = "mlstm"
    question = "q"
    carried = ("S", "n", "m")
    given = ("q", "K", "v", "i", "f")
    convolved = ("q", "K", "i", "f")
    kinds = (
        _QUESTION,
        _KEY,
        _VALUE,
        Kind("i", "input gate, as exponent", "i", "i = W_i x + b_i", _BELOW, gate=True),
        Kind("f", "forget gate, as exponent", "f", "f = log σ(W_f x + b_f)", _BELOW,
             range=(None, 0.0), gate=True),
        _MAXIMUM,
        Kind("a", "decay", "a", "a = exp(f + m₋₁ - m)", (Edge("f"), Edge("m"), Edge("m", 1)),
             range=_SHARE, gate=True),
        Kind("b", "strength of the write", "b", "b = exp(i - m)", (Edge("i"), Edge("m")),
             range=_SHARE, gate=True),
        Kind("k", "kept memory", "k", "k = a S₋₁", (Edge("a"), Edge("S", 1))),
        Kind("w", "written memory", "w", "w = b K ⊗ v", (Edge("b"), Edge("K"), Edge("v"))),
        _memory("S = k + w"),
        Kind("l", "kept normaliser", "l", "l = a n₋₁", (Edge("a"), Edge("n", 1))),
        Kind("s", "written normaliser", "s", "s = b K", (Edge("b"), Edge("K"))),
        Kind("n", "normaliser", "n", "n = l + s", (Edge("l"), Edge("s")),
             memory=Memory(decay="a", write="s", kept="l")),
        _read("r = q S / max(|q n|, e⁻ᵐ)", "q", "S", "n", "m"),
    )  # fmt: skip

    @classmethod
    def of(cls, heads: int, keys: int, values: int) -> "MLSTM":
        h, k, v, whole = (heads,), (heads, keys), (heads, values), (heads, keys, values)
        return cls({"q": k, "K": k, "v": v, "i": h, "f": h, "m": h, "a": h, "b": h, "k": whole,
                    "w": whole, "S": whole, "l": k, "s": k, "n": k, "r": v})  # fmt: skip

    @classmethod
    def taking(
        cls, question: Tensor, key: Tensor, value: Tensor, enter: Tensor, stay: Tensor, **w: Tensor
    ) -> Given:
        """Of questions and keys (T, B, H, K), values (T, B, H, V), and the exponents of the input
        gate, `enter`, and of the forget gate, `stay`, (T, B, H).
        """
        given = {"q": question, "K": key, "v": value, "i": enter, "f": stay}
        heads, keys = key.shape[2:]
        return Given(cls.of(heads, keys, value.shape[-1]), given, w)

    def gates(self, now: States, before: States, w: Weights) -> States:  # noqa: ARG002
        m = torch.maximum(now["f"] + before["m"], now["i"])
        return {"m": m, "a": torch.exp(now["f"] + before["m"] - m), "b": torch.exp(now["i"] - m)}

    def gates_at_once(self, given: States, start: States, w: Weights) -> States:  # noqa: ARG002
        forgotten = given["f"].cumsum(0)
        most = torch.cummax(torch.cat([start["m"][None], given["i"] - forgotten]), 0)[0]
        m = forgotten + most[1:]
        before = torch.cat([start["m"][None], m[:-1]])
        return {"m": m, "a": torch.exp(given["f"] + before - m), "b": torch.exp(given["i"] - m)}

    def true_decay(self, memory: str, now: States, w: Weights) -> Tensor:  # noqa: ARG002
        return now["f"].exp()

    def transition(self, memory: str, now: States, w: Weights) -> Transition:  # noqa: ARG002
        return Transition(now["a"][..., None, None] if memory == "S" else now["a"][..., None])

    def write(self, memory: str, now: States, w: Weights) -> Tensor:  # noqa: ARG002
        key = now["b"][..., None] * now["K"]
        return _outer(key, now["v"]) if memory == "S" else key

    def read(self, at: States, now: States, w: Weights) -> Tensor:
        return (now["q"][..., None, :] @ at["S"])[..., 0, :] / self._size(at["n"], now, w)

    def asked(self, through: Tensor, now: States, w: Weights) -> Tensor:
        return _outer(now["q"], through / self._size(now["n"], now, w))

    def _size(self, n: Tensor, now: States, w: Weights) -> Tensor:
        """What the read is divided by, (..., H, 1)."""
        size = torch.maximum((now["q"] * n).sum(-1).abs(), torch.exp(-now["m"]))
        return size[..., None] + w["eps"].to(n)


class RWKV4(LinearCell):
    """RWKV-4: a weighted mean of values, as a numerator `c` and a denominator `n` whose largest
    exponent is `m`. The memory is read before it is written. Constants: `a` (C,), the logarithm of
    the decay, negative, and `u` (C,), the bonus of the word of now.
    """

    name = "rwkv4"
    carried = ("c", "n", "m")
    given = ("K", "v")
    convolved = ("K", "v")  # their token shift mixes in the input of the word before
    first = {"m": -1e38}  # noqa: RUF012 - declared by the base
    reads_before = True
    kinds = (
        Kind("K", "key", "K", "K = W_K x", _BELOW),
        Kind("v", "value", "v", "v = W_v x", _BELOW),
        Kind("m", "largest exponent", "m", "m = max(m₋₁ - e^w, K)", (Edge("K"), Edge("m", 1))),
        Kind("a", "decay", "a", "a = exp(m₋₁ - e^w - m)", (Edge("m"), Edge("m", 1)), range=_SHARE,
             gate=True),
        Kind("b", "strength of the write", "b", "b = exp(K - m)", (Edge("K"), Edge("m")),
             range=_SHARE, gate=True),
        Kind("k", "kept memory", "k", "k = a ∘ c₋₁", (Edge("a"), Edge("c", 1))),
        Kind("w", "written memory", "w", "w = b ∘ v", (Edge("b"), Edge("v"))),
        Kind("c", "memory", "c", "c = k + w", (Edge("k"), Edge("w")),
             memory=Memory(decay="a", write="w", kept="k")),
        Kind("l", "kept weight", "l", "l = a ∘ n₋₁", (Edge("a"), Edge("n", 1))),
        Kind("s", "written weight", "s", "s = b", (Edge("b"),)),
        Kind("n", "weight", "n", "n = l + s", (Edge("l"), Edge("s")),
             memory=Memory(decay="a", write="s", kept="l")),
        Kind("r", "read", "r", "r = (c₋₁ + e^(u + K) v) / (n₋₁ + e^(u + K))",
             (Edge("c", 1), Edge("n", 1), Edge("K"), Edge("v")), output=True),
    )  # fmt: skip

    @classmethod
    def of(cls, channels: int) -> "RWKV4":
        return cls({kind.id: (channels,) for kind in cls.kinds})

    @classmethod
    def taking(cls, key: Tensor, value: Tensor, decay: Tensor, bonus: Tensor) -> Given:
        """Of keys and values (T, B, C), the decay's logarithm and the bonus, (C,)."""
        cell = cls.of(key.shape[-1])
        return Given(cell, {"K": key, "v": value}, {"a": decay, "u": bonus})

    def gates(self, now: States, before: States, w: Weights) -> States:
        decayed = before["m"] + w["a"].to(before["m"])
        m = torch.maximum(decayed, now["K"])
        return {"m": m, "a": torch.exp(decayed - m), "b": torch.exp(now["K"] - m)}

    def gates_at_once(self, given: States, start: States, w: Weights) -> States:
        decay = w["a"].to(start["m"])
        m, back = torch.cat([start["m"][None], given["K"]]), 1
        while back < len(m):  # the largest of the last 2, 4, 8 timesteps, to all of them
            m = torch.cat([m[:back], torch.maximum(m[back:], m[:-back] + back * decay)])
            back *= 2
        decayed, m = m[:-1] + decay, m[1:]
        return {"m": m, "a": torch.exp(decayed - m), "b": torch.exp(given["K"] - m)}

    def true_decay(self, memory: str, now: States, w: Weights) -> Tensor:  # noqa: ARG002
        return w["a"].to(now["K"]).exp().expand_as(now["K"])

    def transition(self, memory: str, now: States, w: Weights) -> Transition:  # noqa: ARG002
        return Transition(now["a"])

    def write(self, memory: str, now: States, w: Weights) -> Tensor:  # noqa: ARG002
        return now["b"] * now["v"] if memory == "c" else now["b"]

    def read(self, at: States, now: States, w: Weights) -> Tensor:
        old, new = self._weights(at["m"], now, w)
        return (old * at["c"] + new * now["v"]) / (old * at["n"] + new)

    def direct(self, now: States, w: Weights) -> Tensor:
        old, new = self._weights(now["m" + BEFORE], now, w)
        return new * now["v"] / (old * now["n" + BEFORE] + new)

    def asked(self, through: Tensor, now: States, w: Weights) -> Tensor:
        old, new = self._weights(now["m" + BEFORE], now, w)
        return through * old / (old * now["n" + BEFORE] + new)

    @staticmethod
    def _weights(m: Tensor, now: States, w: Weights) -> tuple[Tensor, Tensor]:
        """What the memory and the word of now count for."""
        own = now["K"] + w["u"].to(now["K"])
        most = torch.maximum(m, own)
        return torch.exp(m - most), torch.exp(own - most)
