"""The scans of other people's recurrent layers: what each is given, as the kinds of its family, and
where what is read lies in what it returns.

A scan is recognised by its name and its arguments: the libraries that have these layers are not
imported, and a layer of another library that calls one of them is read, too. Tensors come with the
sequences of a batch first; here time comes first.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rnnlens.adapter.modules import own_code
from rnnlens.base.errors import RnnlensError
from rnnlens.model.cell import Cell, Change, States
from rnnlens.model.cells.linear_memories import (
    MLSTM,
    RGLRU,
    RWKV4,
    S6,
    SSD,
    GatedDelta,
    KimiDelta,
    LinearAttention,
    side_by_side,
)
from rnnlens.model.cells.slstm import SLSTM
from rnnlens.model.kinds import INPUT
from rnnlens.model.linear import Given, LinearCell, Scan

Arguments = Mapping[str, Any]  # of a call, by name
_VALUE = INPUT  # mambapy calls the values so that its scan is given
#: Layers of transformers before 5.15 that add what chunks leave along the wrong axis: their own
#: steps and their own whole sequences disagree.
_WRONG_BETWEEN_CHUNKS = ("Zamba2MambaMixer", "NemotronHMamba2Mixer")
_NORM = 1e-6  # added to the squared length of keys and questions, as their layers do


@dataclass(frozen=True)
class ScanCall:
    """One call of a scan."""

    given: Given
    start: tuple[Tensor, ...] = ()  # (B, ...) of what is carried; none: it begins with nothing
    #: What is read, (T, B, ...), from what the scan returns, and back into it.
    reads: Callable[[Any], Tensor] = lambda result: _time_first(_first(result))
    put: Callable[[Any, Tensor], Any] = lambda result, reads: _put(result, _batch_first(reads))
    other: Arguments | None = None  # arguments that the scan is called with in place of its own
    gate: Tensor | None = None  # (T, B, ...): what is seen of the read was multiplied by it

    def begin(self) -> States:
        """What is carried into the first timestep."""
        cell, given, weights = self.given
        batch = next(iter(given.values())).shape[1]
        first = cell.begin(given) if isinstance(cell, LinearCell) else cell.start(weights, batch)
        return first | dict(zip(cell.carried, self.start, strict=False))

    def scan(self, edits: Mapping[int, Change]) -> "Scan | Stepped":
        """All states of the call; `edits` are changes of flat states by timestep."""
        cell, given, weights = self.given
        if isinstance(cell, LinearCell):
            return Scan(cell, given, self.begin(), weights, edits)
        return Stepped(cell, cell.states(given[INPUT], self.begin(), weights, dict(edits)))


@dataclass(frozen=True)
class Stepped:
    """The states of a sequence whose gates read its own past: all are computed, step by step."""

    cell: Cell
    states: States  # kind -> (T, B, H)

    @property
    def length(self) -> int:
        """Timesteps."""
        return len(self.reads())

    def reads(self) -> Tensor:
        """What is read at every timestep, (T, B, H)."""
        return self.states[self.cell.output.id]


Reader = Callable[[nn.Module, Arguments], ScanCall]


def _float(values: Tensor) -> Tensor:
    """At least single precision, in which scans are computed."""
    return values.to(torch.promote_types(values.dtype, torch.float32))


def _time_first(values: Tensor) -> Tensor:
    return values.transpose(0, 1)


def _batch_first(values: Tensor) -> Tensor:
    return values.transpose(0, 1).contiguous()


def _first(result: Any) -> Tensor:
    first: Tensor = result[0] if isinstance(result, tuple | list) else result
    return first


def _put(result: Any, values: Tensor) -> Any:
    """What a scan returns, with other values in the place of its first."""
    if isinstance(result, tuple | list):
        return type(result)([values.to(result[0].dtype), *result[1:]])
    return values.to(result.dtype)


def _step_size(a: Arguments, bias: str, axes: tuple[int, ...]) -> Tensor:
    """Δ from what a scan is given, (T, B, ...)."""
    size = _float(a["dt"]).permute(*axes)
    if a.get(bias) is not None:
        size = size + a[bias].to(size)
    softplus = a.get("dt_softplus") or a.get("delta_softplus")
    size = F.softplus(size) if softplus else size
    return size.clamp(*a["dt_limit"]) if a.get("dt_limit") else size


def _gate(z: Tensor | None = None, **_: Any) -> Tensor | None:
    """What is read is multiplied by, among the arguments of a scan."""
    return z


def _without_gate(**arguments: Any) -> dict[str, Any]:
    return arguments


def _s6(_module: nn.Module, a: Arguments) -> ScanCall:
    u, b, c = (_float(a[name]).permute(2, 0, 1) for name in ("hidden_states", "B", "C"))
    gate = _gate(**a)

    def reads(result: Any) -> Tensor:
        return _first(result).permute(2, 0, 1)

    def put(result: Any, values: Tensor) -> Any:
        out = values.permute(1, 2, 0)
        return _put(result, out if gate is None else out * F.silu(gate))

    given = S6.taking(
        _step_size(a, "delta_bias", (2, 0, 1)), u, b[..., None, :], c[..., None, :],
        A=a["A"].detach(), D=_skip(a, u),
    )  # fmt: skip
    return ScanCall(given, reads=reads, put=put, other=_without_gate(z=None))


def _plain_s6(_module: nn.Module, a: Arguments) -> ScanCall:
    """Of mambapy: time after sequences, and Δ as it is."""
    step, u, b, c = (_time_first(_float(a[name])) for name in ("delta", _VALUE, "B", "C"))
    constants = {"A": a["A"].detach(), "D": _skip(a, u)}
    return ScanCall(S6.taking(step, u, b[..., None, :], c[..., None, :], **constants))


def _skip(a: Arguments, like: Tensor) -> Tensor:
    """D, by which what is read goes past the memory; zero where there is none."""
    skip = a.get("D")
    return like.new_zeros(()) if skip is None else skip.detach()


def _ssd(_module: nn.Module, a: Arguments) -> ScanCall:
    u, b, c = (_time_first(_float(a[name])) for name in ("hidden_states", "B", "C"))
    skip = _skip(a, u)
    skip = skip[:, None] if skip.dim() == 1 else skip
    step = _step_size(a, "dt_bias", (1, 0, 2))
    return ScanCall(
        SSD.taking(step, u, b, c, A=a["A"].detach(), D=skip), _start(a, "initial_states")
    )


def _start(a: Arguments, *names: str) -> tuple[Tensor, ...]:
    """What a scan goes on from."""
    return _copied(a.get(name) for name in names)


def _copied(states: Iterable[Any]) -> tuple[Tensor, ...]:
    """States as they are now: a cache is overwritten when the scan is done."""
    return tuple(_float(one.clone()) for one in states if isinstance(one, Tensor))


def _heads(values: Tensor, heads: int) -> Tensor:
    """Of groups (T, B, G, K), for each head."""
    return values.repeat_interleave(heads // values.shape[2], 2)


def _decay(g: Tensor, **_: Any) -> Tensor:
    """The decay among the arguments of a scan, (T, B, H, 1 or K)."""
    decay = _time_first(_float(g)).exp()
    return decay if decay.dim() == 4 else decay[..., None]


def _delta(family: type[GatedDelta], a: Arguments) -> ScanCall:
    q, key, v, b = (_time_first(_float(a[name])) for name in ("query", "key", "value", "beta"))
    if a.get("use_qk_l2norm_in_kernel"):
        q, key = (x * torch.rsqrt((x * x).sum(-1, keepdim=True) + _NORM) for x in (q, key))
    heads = v.shape[2]
    question = _heads(q, heads) * q.shape[-1] ** -0.5
    given = family.taking(question, _heads(key, heads), v, _decay(**a), b)
    return ScanCall(given, _start(a, "initial_state"))


def _gated_delta(_module: nn.Module, a: Arguments) -> ScanCall:
    return _delta(GatedDelta, a)


def _kimi_delta(_module: nn.Module, a: Arguments) -> ScanCall:
    return _delta(KimiDelta, a)


def _rwkv4(_module: nn.Module, a: Arguments) -> ScanCall:
    key, v = (_time_first(_float(a[name])) for name in ("key", "value"))
    decay, bonus = -a["time_decay"].detach().exp(), a["time_first"].detach()
    return ScanCall(RWKV4.taking(key, v, decay, bonus), _copied(a.get("state") or ()))


def _rg_lru(_module: nn.Module, a: Arguments) -> ScanCall:
    decay = _time_first(_float(a["recurrent_gate"] * ~a["reset"]))
    written = _time_first(_float(a["hidden_states"]))
    return ScanCall(RGLRU.taking(decay, written), _start(a, "recurrent_states"))


def _mlstm(module: nn.Module, a: Arguments) -> ScanCall:
    config = getattr(module, "config", None)
    given = [a[name] for name in ("query", "key", "value", "igate", "fgate")]
    return _mlstm_of(a, given, getattr(config, "eps", 1e-6))


def _kernels_mlstm(module: Any, a: Arguments) -> ScanCall:
    """Of mlstm_kernels, which transformers' xLSTM calls where the package xlstm is installed."""
    return _mlstm_of(a, _by_letters(**a), module.mlstm_backend.config.eps)


def _by_letters(q: Tensor, k: Tensor, v: Tensor, i: Tensor, f: Tensor, **_: Any) -> list[Tensor]:
    """Question, key, value and gates among the arguments of a scan."""
    return [q, k, v, i, f]


def _mlstm_of(a: Arguments, given: list[Tensor], eps: float) -> ScanCall:
    """Of question, key, value and gates, (B, H, T, ...)."""
    q, key, v, enter, stay = (_float(one).movedim(2, 0) for one in given)
    start = _start(a, "c_initial", "n_initial", "m_initial")
    start = (*start[:2], *(most.view(most.shape[:2]) for most in start[2:]))
    return ScanCall(
        MLSTM.taking(
            q * q.shape[-1] ** -0.5, key, v, enter, F.logsigmoid(stay), eps=torch.tensor(float(eps))
        ),
        start,
        reads=lambda result: _first(result).movedim(2, 0),
        put=lambda result, values: _put(result, values.movedim(0, 2).contiguous()),
    )


def _parallel_mlstm(_module: nn.Module, a: Arguments) -> ScanCall:
    """Of the package xlstm: gates before their sigmoid and exponential, (B, H, T, 1)."""
    q, key, v = (_float(a[name]).movedim(2, 0) for name in ("queries", "keys", "values"))
    enter, stay = (
        _float(a[name])[..., 0].movedim(2, 0) for name in ("igate_preact", "fgate_preact")
    )
    key, eps = key * key.shape[-1] ** -0.5, torch.tensor(float(a.get("eps", 1e-6)))
    return ScanCall(
        MLSTM.taking(q, key, v, enter, F.logsigmoid(stay), eps=eps),
        reads=lambda result: result.movedim(2, 0),
        put=lambda result, values: values.movedim(0, 2).to(result.dtype).contiguous(),
    )


def _slstm(module: Any, a: Arguments) -> ScanCall:
    """Of the package xlstm: what its gates read of the layer's input, (B, T, 4H)."""
    cell = module.slstm_cell
    if cell.config.function != "slstm":
        raise ValueError(f"function {cell.config.function!r}")
    heads, size = cell.config.num_heads, cell.config.head_dim
    back = _float(cell._recurrent_kernel.detach()).view(heads, 4, size, size).transpose(0, 1)  # noqa: SLF001 - it has no other name
    weights = {"w_h": back, "b": _float(cell._bias.detach())}  # noqa: SLF001
    start = a.get("state")
    begun = start is not None and bool((start[2] != 0).any())  # else nothing was written yet
    return ScanCall(
        Given(SLSTM(heads), {INPUT: _time_first(_float(a["input"]))}, weights),
        _copied(start) if start is not None and begun else (),
        reads=lambda result: _first(result).permute(2, 0, 1, 3).flatten(2),
        put=lambda result, h: _put(result, h.unflatten(-1, (heads, size)).permute(1, 2, 0, 3)),
    )


def _lightning(module: Any, a: Arguments) -> ScanCall:
    both = module.act_fn(module.qkv_proj(a["hidden_states"]))
    if a.get("attention_mask") is not None:
        both = both * a["attention_mask"][:, :, None]
    heads, size = module.num_attention_heads, module.head_dim
    q, key, v = _time_first(_float(both)).unflatten(-1, (heads, 3 * size)).split(size, -1)
    cache = a.get("past_key_values")
    start = None if cache is None else cache.get_linear_cache(module.layer_idx)
    decay = torch.exp(-_float(module.slope_rate))[:, :, 0].expand(*q.shape[:3], 1)
    return ScanCall(
        LinearAttention.taking(q, key, v, decay),
        _copied([start]),
        reads=lambda whole: _time_first(whole).unflatten(-1, (heads, size)),
        put=lambda whole, reads: _batch_first(reads).flatten(2).to(whole.dtype),
    )


def _masked(module: Any, values: Tensor, a: Arguments) -> Tensor:
    """States (B, T, C) without those of padding, as a layer that has such a function masks them."""
    mask = a.get("attention_mask")
    around = getattr(own_code(type(module).forward), "__globals__", {})
    function = around.get("apply_mask_to_padding_states")
    if mask is None or function is None:
        return values if mask is None else values * mask[:, :, None].to(values.dtype)
    masked: Tensor = function(values, mask)
    return masked


def check_whole(module: Any, args: Iterable[Any]) -> None:
    """Refuse a method that is given a cache with something in it: it would go on from that."""
    for one in args:
        before = getattr(one, "has_previous_state", None)
        if callable(before) and before(module.layer_idx):
            raise RnnlensError(
                f"{type(module).__name__} goes on from a cache, which is not read of this version "
                "of its library; give whole sequences, without a cache"
            )


def _whole(a: Arguments) -> Tensor:
    """What a method of a layer reads."""
    x: Tensor = a["input_states"] if "input_states" in a else a["hidden_states"]
    return x


def _method_s6(module: Any, a: Arguments) -> ScanCall:
    """Of transformers before 5.15: a layer's own method, of which all is computed anew from its
    weights; what is seen is what its output map is given, the read by the gate.
    """
    x, heads = _whole(a), getattr(module, "n_mamba_heads", 1)
    u, gate = module.in_proj(x).unflatten(-1, (-1, 2)).unbind(-1) if hasattr(
        module, "x_proj_weight"
    ) else module.in_proj(x).chunk(2, -1)  # fmt: skip
    mask = a.get("attention_mask")
    u = u if mask is None else u * mask[:, :, None]
    u = module.act(module.conv1d(u.transpose(1, 2))[..., : x.shape[1]]).transpose(1, 2)
    u = u if mask is None else u * mask[:, :, None]  # (B, T, C)
    sizes = [module.time_step_rank, module.ssm_state_size, module.ssm_state_size]
    if hasattr(module, "x_proj_weight"):  # a matrix for each head, of its channels alone
        each = u.unflatten(-1, (heads, -1)).movedim(2, 0)  # (heads, B, T, C / heads)
        rank, b, c = (each @ module.x_proj_weight[:, None].mT).split(sizes, -1)
        step = rank @ module.dt_proj_weight[:, None].mT + module.dt_proj_bias[:, None, None]
        step, b, c = step.movedim(0, 2).flatten(2), b.movedim(0, 2), c.movedim(0, 2)
    else:
        rank, b, c = _normed(module, module.x_proj(u).split(sizes, -1))
        step, b, c = module.dt_proj(rank), b[:, :, None], c[:, :, None]
    given = S6.taking(
        *(_time_first(_float(one)) for one in (F.softplus(step), u, b, c)),
        A=-_float(module.A_log.detach()).exp().flatten(0, -2), D=module.D.detach().flatten(),
    )  # fmt: skip
    return ScanCall(given, gate=_time_first(_float(module.act(gate))))


def _normed(module: Any, parts: tuple[Tensor, ...]) -> list[Tensor]:
    """Step size, key and question of Mamba's kin, some of which norm them."""
    names = ("dt_layernorm", "b_layernorm", "c_layernorm")
    if hasattr(module, names[0]):
        return [getattr(module, name)(one) for name, one in zip(names, parts, strict=True)]
    if not hasattr(module, "rms_eps"):
        return list(parts)
    wide = [one.float() for one in parts]
    scales = [torch.rsqrt(one.pow(2).mean(-1, keepdim=True) + module.rms_eps) for one in wide]
    return [(one * scale).to(parts[0].dtype) for one, scale in zip(wide, scales, strict=True)]


def _method_ssd(module: Any, a: Arguments) -> ScanCall:
    """Of transformers before 5.15, as `_method_s6`; what is seen is what its norm is given, or of
    a layer without one its output map.
    """
    x = _masked(module, _whole(a), a)
    if type(module).__name__ in _WRONG_BETWEEN_CHUNKS and x.shape[1] > module.chunk_size:
        raise RnnlensError(
            f"{type(module).__name__} of transformers before 5.15 is wrong for texts of more than "
            f"{module.chunk_size} words, its chunk_size, and this one has {x.shape[1]}: what it "
            "reads is not what its memory holds; give shorter sequences, or install transformers "
            "5.15 or later"
        )
    projected = module.in_proj(x * getattr(module, "ssm_in_multiplier", 1.0))
    projected = projected * getattr(module, "mup_vector", 1.0)
    sizes = [module.intermediate_size, module.conv_dim, module.num_heads]
    gate, mixed, step = projected[..., -sum(sizes) :].split(sizes, -1)
    mixed = module.conv1d(mixed.transpose(1, 2))[..., : x.shape[1]].transpose(1, 2)
    mixed = _masked(module, module.act(mixed), a)
    groups = module.n_groups * module.ssm_state_size
    u, b, c = mixed.split([module.intermediate_size, groups, groups], -1)
    shapes = (module.num_heads, module.head_dim), *[(module.n_groups, module.ssm_state_size)] * 2
    u, b, c = (one.unflatten(-1, shape) for one, shape in zip((u, b, c), shapes, strict=True))
    names = own_code(type(module).torch_forward).__code__.co_names
    limits = module.time_step_limit if "time_step_limit" in names else (module.time_step_min, None)
    step = F.softplus(step + module.dt_bias).clamp(*limits)
    given = SSD.taking(
        *(_time_first(_float(one)) for one in (step, u, b, c)),
        A=-_float(module.A_log.detach()).exp(), D=module.D.detach()[:, None],
    )  # fmt: skip
    heads = shapes[0]
    return ScanCall(
        given,
        reads=lambda whole: _time_first(whole).unflatten(-1, heads),
        put=lambda whole, reads: _batch_first(reads).flatten(2).to(whole.dtype),
        gate=None if gated_by_norm(module) else _time_first(F.silu(gate)).unflatten(-1, heads),
    )


def gated_by_norm(module: nn.Module) -> bool:
    """Whether a layer of Mamba-2 gives what it reads to a norm, together with its gate."""
    return hasattr(module, "norm") and bool(getattr(module, "mamba_rms_norm", True))


def _read_by(module: nn.Module) -> str:
    """The submodule of such a layer that is given what is read."""
    is_ssd = hasattr(module, "dt_bias")
    return "norm" if is_ssd and gated_by_norm(module) else "out_proj"


#: Methods of a layer that are all of it, by name: what it must have, and how it is read.
METHODS: dict[str, tuple[tuple[str, ...], Reader]] = {
    "slow_forward": (("in_proj", "conv1d", "act", "A_log", "D", "out_proj"), _method_s6),
    "torch_forward": (("in_proj", "conv1d", "act", "A_log", "D", "dt_bias"), _method_ssd),
}


def method_of(module: nn.Module) -> tuple[str, Reader, str] | None:
    """The method of a layer that does its scan, how it is read, and the submodule that is given
    what is read; None: it has no such method.
    """
    for name, (needed, read) in METHODS.items():
        if hasattr(type(module), name) and all(hasattr(module, one) for one in needed):
            return name, read, _read_by(module)
    return None


#: Functions of a layer's own module, or methods of the layer, by name.
FUNCTIONS: dict[str, Reader] = {
    "mamba_selective_scan": _s6,
    "mamba2_chunk_scan": _ssd,
    "torch_chunk_gated_delta_rule": _gated_delta,
    "chunk_gated_delta_rule": _gated_delta,
    "chunk_kimi_delta_attention": _kimi_delta,
    "rwkv_linear_attention": _rwkv4,
    "_rnn_scan": _rg_lru,
    "selective_scan": _plain_s6,
    "selective_scan_seq": _plain_s6,
    "backend_fn": _parallel_mlstm,
}
#: Submodules of a layer that are its scan, by the name of their class.
SUBMODULES: dict[str, Reader] = {
    "xLSTMBackend": _mlstm,
    "mLSTMBackend": _kernels_mlstm,
    "sLSTMCell_vanilla": _slstm,
}
#: Layers around a submodule that does the scan, by the name of their class: what the submodule is
#: given was convolved by the layer.
INNER = {"RecurrentGemmaRecurrentBlock": "rg_lru", "mLSTMLayer": "mlstm_cell"}
#: Layers that have their scan among their own lines, by the name of their class: the submodule that
#: is given what is read. What the scan is given follows from the layer's input.
INLINE: dict[str, tuple[str, Reader]] = {"MiniMaxLightningAttention": ("norm", _lightning)}


def merged(calls: list[ScanCall], called: str) -> ScanCall:
    """One call for several that a layer makes, each for some of its heads."""
    if len(calls) == 1:
        return calls[0]
    if not all(isinstance(one.given.cell, S6) and not one.start for one in calls):
        raise RnnlensError(
            f"{called} does its scan in {len(calls)} parts, which is not known to put together; "
            "name it in kinds= to read its output alone"
        )
    return ScanCall(side_by_side([one.given for one in calls]))
