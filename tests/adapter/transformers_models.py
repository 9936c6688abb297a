"""Tiny random models of the recurrent classes of transformers, and the states of each as its own
cache has them after every prefix.
"""

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import torch
from torch import Tensor, nn

WORDS = 40
TAPS = 4  # inputs that a convolution sees at once, in all of these
WITHOUT_PAST = ("xLSTMForCausalLM", "MiniMaxForCausalLM")  # they have no convolution
_SMALL = {"vocab_size": WORDS, "hidden_size": 32, "num_hidden_layers": 2}
_HYBRID = {
    **_SMALL, "intermediate_size": 32, "num_attention_heads": 2, "num_key_value_heads": 1,
}  # fmt: skip
_EXPERTS = {
    "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16,
    "shared_expert_intermediate_size": 16, "decoder_sparse_step": 1,
}  # fmt: skip
_DELTA = {
    "linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 8,
    "linear_value_head_dim": 8, "head_dim": 16,
}  # fmt: skip
_SSD = {
    "mamba_n_heads": 4, "mamba_d_head": 16, "mamba_d_state": 8, "mamba_n_groups": 1,
    "mamba_expand": 2, "mamba_chunk_size": 8,
}  # fmt: skip
_LATENT = {
    "kv_lora_rank": 8, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8, "v_head_dim": 8,
    "num_key_value_heads": 2, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 1,
}  # fmt: skip
_ATTENDS_LAST = {"layer_types": ["linear_attention", "full_attention"]}

CONFIGS: dict[str, tuple[str, dict[str, Any]]] = {
    "MambaForCausalLM": ("MambaConfig", {**_SMALL, "state_size": 4}),
    "FalconMambaForCausalLM": ("FalconMambaConfig", {**_SMALL, "state_size": 4}),
    "JambaForCausalLM": ("JambaConfig", {
        **_HYBRID, "num_hidden_layers": 4, "attn_layer_period": 4, "attn_layer_offset": 2,
        "expert_layer_period": 2, "expert_layer_offset": 1, "mamba_d_state": 4,
        "mamba_dt_rank": 4, "num_experts": 2, "use_mamba_kernels": False}),
    "ZambaForCausalLM": ("ZambaConfig", {
        **_HYBRID, "num_hidden_layers": 6, "num_key_value_heads": 2, "attn_layer_period": 3,
        "attn_layer_offset": 2, "mamba_d_state": 4, "mamba_dt_rank": 4, "n_mamba_heads": 2,
        "use_mamba_kernels": False}),
    "Mamba2ForCausalLM": ("Mamba2Config", {
        **_SMALL, "state_size": 8, "num_heads": 4, "head_dim": 16, "n_groups": 2,
        "chunk_size": 8}),
    "BambaForCausalLM": ("BambaConfig", {**_HYBRID, **_SSD, "attn_layer_indices": [1]}),
    "Zamba2ForCausalLM": ("Zamba2Config", {
        **_HYBRID, "num_key_value_heads": 2, "mamba_d_state": 8, "mamba_headdim": 16,
        "n_mamba_heads": 4, "mamba_ngroups": 1, "chunk_size": 8, "num_hidden_layers": 3,
        "layers_block_type": ["mamba", "hybrid", "mamba"], "num_mem_blocks": 1,
        "use_mamba_kernels": False}),
    "GraniteMoeHybridForCausalLM": ("GraniteMoeHybridConfig", {
        **_HYBRID, **_SSD, "layer_types": ["mamba", "attention"], "shared_intermediate_size": 32,
        "num_local_experts": 0}),
    "NemotronHForCausalLM": ("NemotronHConfig", {
        **_HYBRID, "num_hidden_layers": 3, "hybrid_override_pattern": "M*-", "ssm_state_size": 8,
        "mamba_num_heads": 4, "mamba_head_dim": 16, "n_groups": 1, "chunk_size": 8,
        "head_dim": 16, "layers_block_type": ["mamba", "attention", "mlp"]}),
    "FalconH1ForCausalLM": ("FalconH1Config", {
        **_HYBRID, "mamba_d_ssm": 64, "mamba_n_heads": 4, "mamba_d_head": 16, "mamba_d_state": 8,
        "mamba_n_groups": 1, "mamba_chunk_size": 8, "head_dim": 16}),
    "Qwen3NextForCausalLM": ("Qwen3NextConfig", {
        **_HYBRID, **_DELTA, **_EXPERTS, **_ATTENDS_LAST}),
    "Qwen3_5ForCausalLM": ("Qwen3_5TextConfig", {**_HYBRID, **_DELTA, **_ATTENDS_LAST}),
    "Qwen3_5MoeForCausalLM": ("Qwen3_5MoeTextConfig", {
        **_HYBRID, **_DELTA, **_EXPERTS, **_ATTENDS_LAST}),
    "OlmoHybridForCausalLM": ("OlmoHybridConfig", {
        **_HYBRID, **_DELTA, **_ATTENDS_LAST, "pad_token_id": 0, "eos_token_id": 1}),
    "KimiLinearForCausalLM": ("KimiLinearConfig", {
        **_HYBRID, **_LATENT, **_ATTENDS_LAST, "linear_head_dim": 8, "linear_num_heads": 4,
        "mlp_layer_types": ["dense", "dense"]}),
    "RecurrentGemmaForCausalLM": ("RecurrentGemmaConfig", {
        **_HYBRID, "lru_width": 32, "head_dim": 16, "num_hidden_layers": 3,
        "attention_window_size": 16}),
    "xLSTMForCausalLM": ("xLSTMConfig", {
        "vocab_size": WORDS, "hidden_size": 128, "embedding_dim": 128, "num_heads": 2,
        "num_blocks": 2, "num_hidden_layers": 2, "chunk_size": 16,
        "autocast_kernel_dtype": "float32"}),
    "RwkvForCausalLM": ("RwkvConfig", {**_SMALL, "context_length": 32}),
    "MiniMaxForCausalLM": ("MiniMaxConfig", {
        **_HYBRID, "head_dim": 16, "block_size": 4, "num_local_experts": 2, **_ATTENDS_LAST}),
    "BailingHybridForCausalLM": ("BailingHybridConfig", {
        **_HYBRID, **_LATENT, **_ATTENDS_LAST, "head_dim": 8, "num_mtp_layers": 0,
        "mlp_layer_types": ["dense", "dense"]}),
}  # fmt: skip


#: Classes that are wrong for more than one chunk in transformers before 5.15.
WRONG_BETWEEN_CHUNKS = ("Zamba2ForCausalLM", "NemotronHForCausalLM")


def _version() -> tuple[int, ...]:
    version: str = import_module("transformers").__version__
    return tuple(map(int, version.split(".")[:2]))


def is_old() -> bool:
    """Whether transformers is from before 5.15, where scans are lines of methods."""
    return _version() < (5, 15)


def tiny(name: str, **other: Any) -> nn.Module:
    """A model of a class, whose weights are random and large enough to matter."""
    transformers: Any = import_module("transformers")
    config, options = CONFIGS[name]
    if name in WRONG_BETWEEN_CHUNKS and is_old():
        options = options | {"chunk_size": 16}  # more than any text of the tests has
    if name == "NemotronHForCausalLM" and (5, 13) <= _version() < (
        5,
        16,
    ):  # other names, and no mlp
        layers = ["linear_attention", "full_attention"]
        options = options | {"layers_block_type": layers, "num_hidden_layers": 2}
    options = options | other
    torch.manual_seed(0)
    model: nn.Module = (
        getattr(transformers, name)(getattr(transformers, config)(**options)).float().eval()
    )
    with torch.no_grad():
        for part, weights in model.named_parameters():
            if weights.dim() > 1 and "bias" not in part and "A_log" not in part:
                weights.mul_(4)
    return model.requires_grad_(False)


def _layers(model: nn.Module, out: Any) -> Iterator[tuple[int, Any]]:
    """The layers of a cache by their numbers from 1."""
    cache = getattr(out, "cache_params", None) or out.past_key_values
    yield from enumerate(cache.layers, 1)


def _first(states: Any) -> Tensor | None:
    """Of what a layer's cache holds; from transformers 5.14 on there may be several."""
    first: Tensor | None = states if isinstance(states, Tensor) or states is None else states[0]
    return first


def _cached(model: nn.Module, out: Any) -> Iterator[tuple[int, Tensor]]:
    """The memory of each recurrent layer, by its number from 1, after a token was read."""
    for number, state in enumerate(_memories(model, out), 1):
        if isinstance(state, Tensor):
            yield number, state


def _memories(model: nn.Module, out: Any) -> list[Any]:
    """The memory of every layer, and None of those that have none."""
    kind = type(model).__name__
    if kind == "RwkvForCausalLM":
        return list(out.state[2].unbind(-1))
    if kind == "xLSTMForCausalLM":
        return [state[0] for _, state in sorted(out.cache_params.rnn_state.items())]
    if kind == "MiniMaxForCausalLM":
        return list(out.past_key_values.linear_cache)
    if kind == "RecurrentGemmaForCausalLM":  # it returns no cache: what its units hold
        units = [getattr(one.temporal_block, "rg_lru", None) for one in _blocks(model)]
        return [getattr(unit, "recurrent_states", None) for unit in units]
    if _is_olmos(out):
        return list(out.past_key_values.recurrent_states)
    return [_first(getattr(layer, "recurrent_states", None)) for _, layer in _layers(model, out)]


def _is_olmos(out: Any) -> bool:
    """Whether it is OLMo-Hybrid's own cache, which it had before 5.15."""
    return hasattr(getattr(out, "past_key_values", None), "conv_states_q")


def _past(model: nn.Module, out: Any) -> Iterator[tuple[int, list[Tensor]]]:
    """What each layer's convolutions have read last, (B, C, taps or one less), after a token."""
    kind = type(model).__name__
    if kind in WITHOUT_PAST:
        return
    if kind == "RwkvForCausalLM":  # of time mixing
        for number, state in enumerate(out.state[1].unbind(-1), 1):
            yield number, [state[..., None]]
    elif kind == "RecurrentGemmaForCausalLM":
        for number, layer in enumerate(_blocks(model), 1):
            if hasattr(layer.temporal_block, "rg_lru"):
                yield number, [layer.temporal_block.conv1d_state]
    else:
        yield from _convolved(model, out)


def _convolved(model: nn.Module, out: Any) -> Iterator[tuple[int, list[Tensor]]]:
    """The same of classes whose cache has it."""
    if _is_olmos(out):
        caches = [getattr(out.past_key_values, f"conv_states_{one}") for one in "qkv"]
        for number, states in enumerate(zip(*caches, strict=True), 1):
            if states[0] is not None:
                yield number, list(states)
        return
    for number, layer in _layers(model, out):
        state = _first(getattr(layer, "conv_states", None))
        if state is not None:
            yield number, [state]


def taps_of(model: nn.Module) -> int:
    """How many inputs the convolution of a class sees at once; a token shift sees two."""
    return 2 if type(model).__name__ == "RwkvForCausalLM" else TAPS


def _blocks(model: Any) -> Any:
    return model.model.layers


@torch.no_grad()
def own_states(model: nn.Module, ids: Tensor) -> dict[int, Tensor]:
    """The memory of each recurrent layer (T, ...) by its number, of one sequence (T,), as the
    model's own cache has it after every prefix.
    """
    kept: dict[int, list[Tensor]] = {}
    for length in range(1, len(ids) + 1):
        out = model(ids[None, :length], use_cache=True)
        for layer, state in _cached(model, out):
            kept.setdefault(layer, []).append(state[0].clone())
    return {layer: torch.stack(states) for layer, states in kept.items()}


@torch.no_grad()
def own_past(model: nn.Module, ids: Tensor) -> dict[int, Tensor]:
    """What the convolutions of each layer have read last, (T, H) by its number, the oldest first,
    as the model's own cache has it after every prefix.
    """
    kept: dict[int, list[Tensor]] = {}
    for length in range(1, len(ids) + 1):
        out = model(ids[None, :length], use_cache=True)
        for layer, states in _past(model, out):
            last = [state[0, :, 1 - taps_of(model) :].T.flatten() for state in states]
            kept.setdefault(layer, []).append(torch.cat(last))
    return {layer: torch.stack(states) for layer, states in kept.items()}
