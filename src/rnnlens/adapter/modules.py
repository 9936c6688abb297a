"""A walk over a user's module: its recurrent parts, submodules by name, and what cannot be read."""

import difflib
import hashlib
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy
from torch.nn.utils.rnn import PackedSequence

from rnnlens.base.errors import RnnlensError
from rnnlens.model.cell import Cell
from rnnlens.model.cells.classic import GRU, LSTM, TORCHS

_PARTS = (nn.LSTM, nn.GRU, nn.RNN, nn.LSTMCell, nn.GRUCell, nn.RNNCell)
FORWARDS = tuple(part.forward for part in _PARTS)
_NAMES = {part.__name__ for part in _PARTS}
_COMPILED = "_orig_mod"
_PIECE = 2**16  # words of eight bytes, which lie in the cache with what they are multiplied by
_BLOCK = 2**12  # words of eight bytes that are summed before their place is counted
_APART = 509  # each 509th word is counted with its place: a prime, so that columns vary


def unwrapped(module: object) -> nn.Module:
    """The user's module, out of the wrappers that compile it or spread it over devices."""
    if not isinstance(module, nn.Module):
        raise RnnlensError(
            f"a {type(module).__name__} is no torch module; give the torch.nn.Module to be read"
        )
    inner: nn.Module | None = module
    while inner is not None:
        module, children = inner, inner._modules  # noqa: SLF001 - compiled modules hide theirs
        inner = children[_COMPILED] if _COMPILED in children else None  # noqa: SIM401 - no dict
        if isinstance(module, nn.DataParallel | nn.parallel.DistributedDataParallel):
            inner = module.module
    return module


@contextmanager
def uncompiled() -> Iterator[None]:
    """Let compiled submodules run as they were written, so that their parts can be read."""
    if "torch._dynamo" in sys.modules:  # else nothing is compiled, and importing it takes seconds
        with torch.compiler.set_stance("force_eager"):
            yield
    else:
        yield


def call(module: nn.Module, batch: Any) -> Any:
    """Call the module: a tuple or list gives its arguments, a dict those by name, else the one."""
    args, kwargs = (batch,), {}  # type: Any, Any
    if isinstance(batch, tuple | list) and not isinstance(batch, PackedSequence):
        args = tuple(batch)
    elif isinstance(batch, Mapping):
        args, kwargs = (), dict(batch)
    try:
        return module(*args, **kwargs)
    except TypeError:
        _check_arguments(module, args, kwargs)  # only now, since a signature takes long to read
        raise


def call_without_cache(module: nn.Module, batch: Any) -> Any:
    """Call a model of a library that would keep a cache for the next word, which is not needed."""
    if "use_cache" not in inspect.signature(module.forward).parameters:
        return call(module, batch)
    if isinstance(batch, Mapping):
        return call(module, {"use_cache": False, **batch})
    args = batch if isinstance(batch, tuple | list) else (batch,)
    return module(*args, use_cache=False)


def _check_arguments(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    try:
        inspect.signature(module.forward).bind(*args, **kwargs)
    except TypeError as error:
        raise RnnlensError(
            f"{type(module).__name__} cannot be called so ({error}); give feed=, a function from "
            "the module and a batch to what it returns"
        ) from error


def submodules(module: nn.Module) -> dict[str, nn.Module]:
    """Every submodule by its dotted name, as the user wrote it; the module itself is ''."""
    by_name = {}
    for name, submodule in module.named_modules(remove_duplicate=False):
        words = [word for word in name.split(".") if word != _COMPILED]
        by_name[".".join(words)] = submodule  # the compiled one comes first, its original after it
    return by_name


def parts(module: nn.Module) -> dict[str, nn.Module]:
    """The recurrent parts of torch by their dotted names, each once."""
    by_name: dict[str, nn.Module] = {}
    for name, submodule in submodules(module).items():
        if isinstance(submodule, _PARTS) and submodule not in by_name.values():
            by_name[name] = submodule
    return by_name


def is_torchs(forward: object) -> bool:
    """Whether this is torch's code, bound to a part, and not a subclass's or a wrapper's."""
    return getattr(forward, "__func__", None) in FORWARDS


def cell_of(part: nn.Module) -> Cell:
    """The cell whose equations a recurrent part of torch follows."""
    if isinstance(part, nn.RNNBase):
        return TORCHS[part.mode]
    if isinstance(part, nn.RNNCell):
        return TORCHS[f"RNN_{part.nonlinearity.upper()}"]
    return LSTM if isinstance(part, nn.LSTMCell) else GRU


def called(name: str, module: nn.Module) -> str:
    """The name of a part in messages."""
    return f"{name} ({type(module).__name__})" if name else f"the module ({type(module).__name__})"


def named(module: nn.Module, names: Iterable[str]) -> dict[str, nn.Module]:
    """The submodules that the user means; `cell[1]` is the second of what `cell` returns."""
    known = submodules(module)
    known.pop("", None)
    by_name = {}
    for name in [names] if isinstance(names, str) else names:
        base = name.partition("[")[0]
        if base not in known:
            near = difflib.get_close_matches(name, known, n=3, cutoff=0.4) or list(known)[:5]
            advice = f"did you mean {' or '.join(near)}?" if near else "it has no submodules"
            raise RnnlensError(f"the module has no submodule called {name!r}; {advice}")
        if isinstance(known[base], torch.jit.ScriptModule):
            raise RnnlensError(
                f"{called(base, known[base])} is scripted or traced, which hides its output; give "
                "the module it was made from"
            )
        by_name[name] = known[base]
    return by_name


def check(module: nn.Module) -> None:
    """Refuse what cannot be read, by name."""
    for name, submodule in submodules(module).items():
        where = called(name, submodule)
        if isinstance(submodule, torch.jit.ScriptModule):
            inner = {str(getattr(m, "original_name", "")) for m in submodule.modules()}
            if not name or inner & _NAMES:
                raise RnnlensError(
                    f"{where} is scripted or traced, which hides its states; give the module it "
                    "was made from"
                )
        quantised = any(base.__module__.startswith("torch.ao.") for base in type(submodule).__mro__)
        if quantised and type(submodule).__name__ in _NAMES:
            raise RnnlensError(
                f"{where} is quantised ({type(submodule).__module__}) and keeps no plain weights; "
                "give the module as it was before quantisation"
            )
        if isinstance(submodule, nn.DataParallel) and len(submodule.device_ids) > 1:
            raise RnnlensError(
                f"{where} spreads a part of the module over several devices; replace it by its "
                "`.module` while reading"
            )
    lazy = [name for name, p in module.named_parameters() if is_lazy(p)]
    if lazy:
        raise RnnlensError(
            f"{lazy[0]} has no shape yet; run the module once on a batch, then read it"
        )


def devices(module: nn.Module) -> set[torch.device]:
    """Where the module's weights and buffers are."""
    return {t.device for t in (*module.parameters(), *module.buffers())}


def library(module: nn.Module) -> str:
    """The library that a model's class is from, with its version, where it has one: scans are
    known by names that other versions may not have.
    """
    name = type(module).__module__.partition(".")[0]
    version = getattr(sys.modules.get(name), "__version__", "")
    return f" of {name} {version}" if version and name != "torch" else ""


def own_code(function: Any) -> Any:
    """A function out of the decorators around it, also of those that do not say what is in them:
    it is then the only function of its name's class that they close over.
    """
    function = inspect.unwrap(function)
    cells = getattr(function, "__closure__", None) or ()
    inside = [cell.cell_contents for cell in cells if inspect.isfunction(cell.cell_contents)]
    if len(inside) == 1 and "<locals>" in function.__qualname__ and inside[0].__name__ == "forward":
        return own_code(inside[0])
    return function


def dtype(module: nn.Module) -> torch.dtype:
    """What numbers the module reads: such as its weights are."""
    sorts = (t.dtype for t in module.parameters() if t.is_floating_point())
    return next(sorts, torch.float32)


def embedding(module: nn.Module) -> nn.Embedding | None:
    """The module's embedding, where it has exactly one."""
    embeddings = [m for m in module.modules() if isinstance(m, nn.Embedding)]
    return embeddings[0] if len(embeddings) == 1 else None


def description(module: nn.Module) -> str:
    """The recurrent parts, such as GRU 300 × 2; without any, the module's class."""
    sizes = [
        f"{type(m).__name__} {m.hidden_size} × {getattr(m, 'num_layers', 1)}"
        for m in module.modules()
        if isinstance(m, nn.RNNBase | nn.RNNCellBase)
    ]
    return ", ".join(sizes) or type(module).__name__


def _sum_of_bits(flat: Tensor) -> Tensor:
    """A number of some bytes and of their order, read a piece at a time: pieces stay in the
    processor's cache, and nothing as large as a weight is made.
    """
    whole = len(flat) // 8 * 8
    words = flat[:whole].view(torch.int64)
    size = min(len(words), _PIECE)
    # Odd numbers: times an even one, a changed sign would be nothing.
    places, products = 2 * torch.arange(size, device=flat.device) + 1, words.new_empty(size)
    total = flat[whole:].sum(dtype=torch.int64)
    for number, piece in enumerate(words.split(max(1, size)), 1):
        product = torch.mul(piece, places[: len(piece)], out=products[: len(piece)])
        total += product.sum() * (2 * number - 1)
    return total


def _quick_sum(flat: Tensor) -> Tensor:
    """A number of some bytes: all of them, and of their order that of blocks and of a sample. It
    takes as long as reading them, a third of `_sum_of_bits`.
    """
    whole = len(flat) // (8 * _BLOCK) * 8 * _BLOCK
    words = flat[: len(flat) // 8 * 8].view(torch.int64)
    sums = [flat[whole:].view(torch.uint8).sum(dtype=torch.int64)[None], words[whole // 8 :]]
    if whole:
        sums += [words[: whole // 8].view(-1, _BLOCK).sum(1), words[::_APART]]
    values = torch.cat(sums)
    return (values * (2 * torch.arange(len(values), device=flat.device) + 1)).sum()


def _bytes(tensor: Tensor) -> Tensor:
    """The numbers of a tensor as bytes that begin at a word of eight."""
    data = torch.view_as_real(tensor) if tensor.is_complex() else tensor
    aligned = data.storage_offset() * data.element_size() % 8 == 0
    return (data.contiguous() if aligned else data.clone()).view(-1).view(torch.uint8)


def _sums(weights: Mapping[str, Tensor], of: Callable[[Tensor], Tensor]) -> list[list[int]]:
    """A number of the bytes of each tensor that has any, together for each device."""
    sums: dict[torch.device, list[Tensor]] = {}
    for tensor in weights.values():
        if tensor.numel() and tensor.device.type != "meta" and tensor.layout == torch.strided:
            sums.setdefault(tensor.device, []).append(of(_bytes(tensor)))
    return [torch.stack(some).tolist() for some in sums.values()]


def _weights(module: nn.Module) -> dict[str, Tensor]:
    return {**dict(module.named_parameters()), **dict(module.named_buffers())}


@torch.no_grad()
def fingerprint(module: nn.Module) -> str:
    """A text that changes whenever a weight or buffer of the module changes, on any device.

    It comes from sums of all their bits, taken eight bytes at a time: as quick as reading them, and
    it sees what torch's counters of changes do not, such as `p.data.add_(1)`.
    """
    weights = _weights(module)
    shapes = [(name, tuple(t.shape), str(t.dtype)) for name, t in weights.items()]
    bits = _sums(weights, _sum_of_bits)
    return hashlib.sha256(repr((shapes, bits)).encode()).hexdigest()


class Watch:
    """Whether the weights of a module are those that they were, asked again and again.

    What is looked at each time: torch's counters of changes, where each tensor lies, and a quick
    sum of all bits, which sees what the counters do not, such as one number that was changed by
    `p.data`. Where any of these is another, the fingerprint decides: weights that were loaded
    again, or moved to another device and back, are the same.
    """

    def __init__(self, module: nn.Module) -> None:
        self._module, self._print, self._quick = module, fingerprint(module), self._look(module)

    @staticmethod
    @torch.no_grad()
    def _look(module: nn.Module) -> object:
        weights = _weights(module)
        seen = [
            (name, tuple(t.shape), t.dtype, -1 if t.is_inference() else t._version, _address(t))  # noqa: SLF001 - torch has no other name for it
            for name, t in weights.items()
        ]
        return seen, _sums(weights, _quick_sum)

    def is_unchanged(self) -> bool:
        """Whether every weight and buffer is as it was at first."""
        now = self._look(self._module)
        if now == self._quick:
            return True
        if fingerprint(self._module) != self._print:
            return False
        self._quick = now
        return True


def _address(tensor: Tensor) -> int:
    """Where a tensor lies; 0 where it lies nowhere."""
    return 0 if tensor.layout != torch.strided else tensor.data_ptr()
