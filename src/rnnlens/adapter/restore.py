"""Evaluation mode for a user's module, which is afterwards restored exactly as it was."""

import random
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from rnnlens.adapter.axes.layout import tensors

_FORKED = ("cuda", "xpu")  # devices that have random states
_NOTES = (bool, int, float, str)  # what a module notes of itself
_MOST_ITEMS = 1000  # of a container that is copied: a vocabulary is slow to copy


@contextmanager
def restoring(module: nn.Module, devices: set[torch.device]) -> Iterator[None]:
    """Put a module into evaluation mode; afterwards it and all random states are as they are now.

    Attributes, hooks, buffers, gradients and training flags are put back, so that a module that
    counts its calls or keeps its last hidden state does not notice that it was read.

    A module that writes into its own weights on the way, as RWKV of transformers does when it first
    reads in evaluation mode, keeps what it has noted of that: or it would do so at every pass.
    """
    modules = list(module.modules())
    attributes = [_Attributes.of(m) for m in modules]
    modes = [m.training for m in modules]
    buffers = [(b, b.clone(), _version(b)) for b in module.buffers()]
    gradients = [(p, p.requires_grad, p.grad) for p in module.parameters()]
    versions = [(p, _version(p)) for p in module.parameters()]
    try:
        with ExitStack() as stack:
            stack.enter_context(_full_precision(devices))
            _fork_random_states(stack, devices)
            stack.callback(random.setstate, random.getstate())
            stack.callback(np.random.set_state, np.random.get_state())  # noqa: NPY002 - theirs
            for m in modules:
                _set_training(m, mode=False)
            yield
    finally:
        for m, training in zip(modules, modes, strict=True):
            _set_training(m, training)
        written = any(_version(p) != version for p, version in versions)
        for before in attributes:
            before.put_back(but=before.noted() if written else {})
        _put_back(buffers, gradients)


@contextmanager
def unchanged(batch: Any) -> Iterator[None]:
    """Put back what a forward pass writes into its own input, which is the user's batch."""
    given = {id(tensor): tensor for tensor in _held(batch)}.values()
    before = [(tensor, tensor.clone(), _version(tensor)) for tensor in given]
    try:
        yield
    finally:
        with torch.no_grad():
            for tensor, values, version in before:
                if _version(tensor) != version or (
                    tensor.is_inference() and not torch.equal(tensor, values)
                ):
                    tensor.copy_(values)


def _held(batch: Any) -> Iterator[Tensor]:
    """The tensors of a batch themselves, also those of a packed one."""
    if isinstance(batch, PackedSequence):
        yield batch.data
    elif isinstance(batch, Mapping):
        yield from _held(tuple(batch.values()))
    elif isinstance(batch, tuple | list):
        for inner in batch:
            yield from _held(inner)
    else:
        yield from (t for _, t in tensors(batch) if t.device.type != "meta")


def seeded(seed: int) -> None:
    """Draw the same random numbers in every pass; to be called inside `restoring`."""
    torch.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - the user's module may use it


@contextmanager
def _full_precision(devices: set[torch.device]) -> Iterator[None]:
    """Without TensorFloat-32, in cuDNN's recurrences and in products.

    It spoils the third digit, so that recomputed outputs would differ from those of the module.
    """
    if all(device.type != "cuda" for device in devices):
        yield
        return
    backends: list[Any] = [torch.backends.cudnn.rnn, torch.backends.cuda.matmul]
    before = [backend.fp32_precision for backend in backends]
    try:
        for backend in backends:
            backend.fp32_precision = "ieee"
        yield
    finally:
        for backend, precision in zip(backends, before, strict=True):
            backend.fp32_precision = precision


def _set_training(module: nn.Module, mode: bool) -> None:
    """Set the flag alone: `train` and `eval` are overridden by modules that freeze or merge."""
    if isinstance(module, torch.jit.ScriptModule):
        module.training = mode
    else:
        module.__dict__["training"] = mode


def _fork_random_states(stack: ExitStack, devices: set[torch.device]) -> None:
    stack.enter_context(torch.random.fork_rng(devices=[]))
    for kind in _FORKED:
        same = [device for device in devices if device.type == kind]
        if same:
            stack.enter_context(torch.random.fork_rng(devices=same, device_type=kind))


def _version(tensor: Tensor) -> int:
    """How often a tensor was written to, where torch counts that."""
    return 0 if tensor.is_inference() else tensor._version  # noqa: SLF001 - the only way


def _put_back(
    buffers: list[tuple[Tensor, Tensor, int]],
    gradients: list[tuple[nn.Parameter, bool, Tensor | None]],
) -> None:
    with torch.no_grad():
        for buffer, values, version in buffers:
            # Only where needed: writing would spoil a backward pass that the user has yet to run.
            if _version(buffer) != version or not torch.equal(buffer, values):
                buffer.copy_(values)
    for parameter, required, gradient in gradients:
        if parameter.requires_grad != required:
            parameter.requires_grad_(required)
        if parameter.grad is not gradient:
            parameter.grad = gradient


@dataclass(frozen=True)
class _Attributes:
    """One module's attributes, and what its lists and dictionaries held."""

    module: nn.Module
    values: dict[str, Any]
    contents: dict[str, Any]

    @classmethod
    def of(cls, module: nn.Module) -> "_Attributes":
        values = dict(module.__dict__)
        contents = {k: v.copy() for k, v in values.items() if _is_small_container(v)}
        return cls(module, values, contents)

    def noted(self) -> dict[str, Any]:
        """Numbers, texts and flags that have other values now."""
        notes = {k: v for k, v in self.module.__dict__.items() if isinstance(v, _NOTES)}
        before = {k: v for k, v in self.values.items() if isinstance(v, _NOTES)}
        return {k: v for k, v in notes.items() if k in before and before[k] != v}

    def put_back(self, but: Mapping[str, Any]) -> None:
        """All of it, `but` for attributes that have these values from now on."""
        now = self.module.__dict__
        for name in [name for name in now if name not in self.values]:
            del now[name]
        now.update({**self.values, **but})
        for name, content in self.contents.items():
            container = self.values[name]
            if _same(container, content):
                continue
            if isinstance(container, list):
                container[:] = content
            else:
                container.clear()
                container.update(content)


def _is_small_container(value: object) -> bool:
    """Whether it may hold hooks, weights or states."""
    return isinstance(value, dict | list | set) and len(value) <= _MOST_ITEMS


def _same(a: Any, b: Any) -> bool:
    """Whether two containers hold the very same things in the same order."""
    if len(a) != len(b):
        return False
    same = all(x is y for x, y in zip(a, b, strict=True))
    return same and (not isinstance(a, dict) or _same(list(a.values()), list(b.values())))
