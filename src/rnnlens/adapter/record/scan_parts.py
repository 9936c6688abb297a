"""Recurrent layers of other people's libraries while they are called: what their scan is given is
caught, and memories are computed from it.

The layer's own code runs. A function stands in for its scan: it returns what the scan returns, or,
where something is edited, what is read of the memories after the edit.
"""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from threading import RLock, get_ident
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from rnnlens.adapter.axes.layout import Layout, described, tensors
from rnnlens.adapter.modules import own_code, submodules
from rnnlens.adapter.record.calls import Piece
from rnnlens.adapter.record.convolutions import (
    Convolution,
    Past,
    convolutions_of,
    listening,
    replaced,
)
from rnnlens.adapter.record.one_text import check_one_text
from rnnlens.adapter.record.parts import Forward, Part, flat, local
from rnnlens.adapter.record.scans import (
    FUNCTIONS,
    INLINE,
    INNER,
    SUBMODULES,
    Reader,
    ScanCall,
    Stepped,
    check_whole,
    merged,
    method_of,
)
from rnnlens.adapter.recurrence import Recurrence, call_of, layers_of, names_in
from rnnlens.base.errors import RnnlensError
from rnnlens.model.block import PAST, remembering
from rnnlens.model.cell import Change, States
from rnnlens.model.kinds import INPUT
from rnnlens.model.lazy import LazyStates, at_hand, joined, once
from rnnlens.model.linear import Scan

_CACHES = ("update_conv_state", "update_recurrent_state", "get_linear_cache", "conv_states_q")
_ONE_AT_A_TIME = RLock()  # a function of a library's module is there for all models of a class


class Layer(NamedTuple):
    """A call of a layer."""

    module: nn.Module
    called: str  # its name in messages
    forward: Forward
    args: Any
    kwargs: Any

    def run(self) -> Any:
        """What it returns."""
        return self.forward(*self.args, **self.kwargs)

    def aside(self) -> "Layer":
        """The call with caches of its own: a cache that a layer is given is written to, so that a
        second run would go on from the first.
        """
        args = tuple(map(_copied_cache, self.args))
        return self._replace(
            args=args, kwargs={k: _copied_cache(v) for k, v in self.kwargs.items()}
        )


def _copied_cache(given: Any) -> Any:
    if isinstance(given, list) and all(isinstance(one, Tensor) for one in given):
        return [one.clone() for one in given]  # RWKV-4's, which is written to in place
    return deepcopy(given) if any(hasattr(given, name) for name in _CACHES) else given


@dataclass
class Heard:
    """What a call of a layer shows of its scan."""

    output: Any = None  # what the layer returns
    calls: list[ScanCall] = field(default_factory=list)
    reads: list[Tensor] = field(default_factory=list)  # (T, B, ...) of each call, by its own scan

    def answered(self, call: ScanCall, result: Any, put: Tensor | None) -> Any:
        """What a scan returns that has returned `result`; with `put`, as if all scans together had
        read that.
        """
        own = call.reads(result)
        first = sum(some.shape[2] for some in self.reads)
        self.calls.append(call)
        self.reads.append(own)
        return call.put(result, own if put is None else put[:, :, first : first + own.shape[2]])


class Scanned(ABC):
    """How a layer does its scan."""

    batch_first = True  # in its tensors, as most libraries have it
    name: str  # in messages

    @abstractmethod
    def run(self, layer: Layer, reads: Tensor | None = None) -> Heard:
        """Run the layer; with `reads`, as if its scan had read these."""


class Function(NamedTuple):
    """A function that does a scan."""

    name: str
    read: Reader
    place: dict[str, Any]  # in which another function can stand under that name
    original: Callable[..., Any]

    def stand_in(self, layer: Layer, heard: Heard, reads: Tensor | None) -> Callable[..., Any]:
        """What stands in its place while a layer runs; other threads are given the function."""
        owner = get_ident()

        def call(*given: Any, **named: Any) -> Any:
            if get_ident() != owner:
                return self.original(*given, **named)
            call, arguments = _read(self, layer, self.original, given, named)
            result = self.original(**arguments | dict(call.other or {}))
            with as_known(layer.called, self.name):
                return heard.answered(call, result, reads)

        return call


@dataclass(frozen=True)
class FunctionScan(Scanned):
    """One of some functions that the layer calls, by its settings."""

    functions: tuple[Function, ...]

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.functions[0].name

    def run(self, layer: Layer, reads: Tensor | None = None) -> Heard:
        heard = Heard()
        with _ONE_AT_A_TIME, ExitStack() as stack:
            for one in self.functions:
                stand_in = one.stand_in(layer, heard, reads)
                stack.enter_context(replaced(one.place, one.name, stand_in))
            heard.output = layer.run()
        if not heard.calls:
            raise _unheard(layer, self.name)
        return heard


@dataclass(frozen=True)
class InlineScan(Scanned):
    """Lines of the layer itself, after which a submodule is given what was read."""

    name: str
    read: Reader
    after: nn.Module

    def run(self, layer: Layer, reads: Tensor | None = None) -> Heard:
        heard, original = Heard(), self.after.forward

        def stand_in(whole: Tensor) -> Any:
            forward = type(layer.module).forward
            call, _ = _read(self, layer, forward, (layer.module, *layer.args), layer.kwargs)
            with as_known(layer.called, self.name):
                answered = heard.answered(call, whole, reads)
            return original(answered)

        with replaced(self.after.__dict__, "forward", stand_in):
            heard.output = layer.run()
        return heard


@dataclass(frozen=True)
class MethodScan(Scanned):
    """A method of the layer that does all of it, after which a submodule is given what was read."""

    name: str
    read: Reader
    after: nn.Module

    def run(self, layer: Layer, reads: Tensor | None = None) -> Heard:
        heard, given = Heard(), list[tuple[Any, Any]]()
        method, original = getattr(layer.module, self.name), self.after.forward
        answering = False  # the reader may call submodules of the layer

        def caught(*args: Any, **kwargs: Any) -> Any:
            check_whole(layer.module, (*args, *kwargs.values()))
            given.append((args, kwargs))
            return method(*args, **kwargs)

        def stand_in(whole: Tensor, *others: Any, **named: Any) -> Any:
            nonlocal answering
            if answering or not given:
                return original(whole, *others, **named)
            answering = True
            call, _ = _read(self, layer, method, *given[-1])
            with as_known(layer.called, self.name):
                answered = heard.answered(call, whole, reads)
            return original(answered, *others, **named)

        with (
            replaced(layer.module.__dict__, self.name, caught),
            replaced(self.after.__dict__, "forward", stand_in),
        ):
            heard.output = layer.run()
        if not heard.calls:
            raise _unheard(layer, self.name)
        return heard


def _unheard(layer: Layer, name: str) -> RnnlensError:
    return RnnlensError(
        f"{layer.called} never called {name}, its scan, so that its memory is not seen: is a "
        "kernel in its place? Load the model without (use_kernels=False)"
    )


@dataclass(frozen=True)
class OwnScan(Scanned):
    """A recurrence that its user describes."""

    recurrence: Recurrence
    name = "its recurrence"

    @property
    def batch_first(self) -> bool:  # type: ignore[override]
        return self.recurrence.batch_first

    def run(self, layer: Layer, reads: Tensor | None = None) -> Heard:
        heard, outputs, own = Heard(), dict[str, Tensor](), self.recurrence
        x = input_of(layer)

        def answer(whole: Any) -> Any:
            missing = [name for name in names_in(own) if name not in outputs]
            if missing:
                raise RnnlensError(
                    f"{layer.called} never calls {missing[0]}, which its recurrence names"
                )
            if not isinstance(whole, Tensor) or whole.dim() < 3:
                raise RnnlensError(
                    f"what is read in {layer.called} is {described(whole)}; a recurrence is of a "
                    "layer that is given whole sequences: name what its read is given to in into="
                )
            return heard.answered(call_of(own, layer.module, x, outputs), whole, reads)

        with ExitStack() as stack:
            for name in names_in(own):
                part = submodule_of(layer, name)
                stack.enter_context(
                    replaced(part.__dict__, "forward", _kept(part.forward, outputs, name))
                )
            if own.into:
                after = submodule_of(layer, own.into)
                stand_in = _given_read(after.forward, answer, own.into)
                stack.enter_context(replaced(after.__dict__, "forward", stand_in))
            heard.output = layer.run()
        if own.into and not heard.calls:
            raise RnnlensError(f"{layer.called} never calls {own.into}, which into= names")
        if not own.into:
            whole = heard.output
            first = whole[0] if isinstance(whole, tuple) else whole
            answered = answer(first)
            heard.output = (answered, *whole[1:]) if isinstance(whole, tuple) else answered
        return heard


def input_of(layer: Layer) -> Tensor:
    """What a layer reads: the first tensor with timesteps, sequences and numbers."""
    given = (tensor for _, tensor in tensors((layer.args, layer.kwargs)) if tensor.dim() == 3)
    x = next((tensor for tensor in given if tensor.is_floating_point()), None)
    if x is None:
        raise RnnlensError(
            f"{layer.called} is given {described((layer.args, layer.kwargs))}, in which no tensor "
            "has timesteps, sequences and numbers; a recurrence is of a layer that is given whole "
            "sequences"
        )
    return x


def submodule_of(layer: Layer, name: str) -> nn.Module:
    """A submodule of a layer by its dotted name."""
    try:
        return layer.module.get_submodule(name)
    except AttributeError:
        raise RnnlensError(
            f"{layer.called} has no submodule {name!r}, which its recurrence names"
        ) from None


def _given_read(forward: Forward, answer: Callable[[Any], Any], name: str) -> Forward:
    """What stands in for the submodule that is given what is read."""
    asking = False

    def call(*args: Any, **kwargs: Any) -> Any:
        nonlocal asking
        if asking:
            raise RnnlensError(
                f"a function of a recurrence calls {name}, which into= names; name in into= the "
                "submodule that is given what is read of the memory, and nothing else"
            )
        asking = True
        try:
            answered = answer(args[0] if args else None)
        finally:
            asking = False
        return forward(answered, *args[1:], **kwargs)

    return call


def _kept(forward: Forward, outputs: dict[str, Tensor], name: str) -> Forward:
    def call(*args: Any, **kwargs: Any) -> Any:
        outputs[name] = output = forward(*args, **kwargs)
        return output

    return call


def _read(
    scan: Function | InlineScan | MethodScan,
    layer: Layer,
    function: Callable[..., Any],
    given: Any,
    named: Any,
) -> tuple[ScanCall, dict[str, Any]]:
    """What a scan is given, and by which arguments."""
    with as_known(layer.called, scan.name):
        signature = inspect.signature(function)
        bound = signature.bind(*given, **named)
        bound.apply_defaults()
        arguments = dict(bound.arguments)
        for parameter in signature.parameters.values():
            if parameter.kind is parameter.VAR_KEYWORD:
                arguments |= arguments.pop(parameter.name)
        check_one_text(f"{layer.called} gives {scan.name}", arguments)
        return scan.read(layer.module, arguments), arguments


@torch.no_grad()
def _unedited(call: ScanCall) -> Tensor:
    """What is read, as it is seen, where nothing is edited."""
    reads = call.scan({}).reads()
    return reads if call.gate is None else reads * call.gate


def _own_where_same(edited: Tensor, unedited: Tensor, seen: Tensor) -> Tensor:
    """What the layer has read itself where an edit changes nothing: its scan rounds otherwise than
    ours. Gradients go through what was edited.
    """
    read = torch.where(edited == unedited, seen.to(edited), edited.detach())
    return edited + (read - edited).detach() if edited.requires_grad else read


@contextmanager
def as_known(called: str, scan: str) -> Iterator[None]:
    """Refuse what only has the name of a known scan, or is of another version of its library."""
    try:
        yield
    except torch.OutOfMemoryError:
        raise
    except (TypeError, KeyError, AttributeError, IndexError, ValueError, RuntimeError) as error:
        why = (str(error).splitlines() or [""])[0]
        raise RnnlensError(
            f"{called} calls {scan} with other arguments than are known ({why}), so that it is "
            "another scan of that name, or of a version of its library that is not known; name the "
            "layer in kinds= to read its output alone, or in exclude= to leave it out"
        ) from error


def scan_of(module: nn.Module) -> Scanned | None:
    """The scan that a layer calls; None: it calls none that is known."""
    if isinstance(module, torch.jit.ScriptModule):  # which hides its code
        return None
    functions = tuple(_functions(module))
    if functions:
        return FunctionScan(functions)
    if method := method_of(module):
        name, read, after = method
        return MethodScan(name, read, module.get_submodule(after))
    if type(module).__name__ in INLINE:
        name, read = INLINE[type(module).__name__]
        return InlineScan(name, read, getattr(module, name))
    for child in module.children():
        if type(child).__name__ in SUBMODULES:
            read = SUBMODULES[type(child).__name__]
            return FunctionScan((Function("forward", read, child.__dict__, child.forward),))
    inner = getattr(module, INNER.get(type(module).__name__, ""), None)
    functions = () if inner is None else tuple(_functions(inner))
    return FunctionScan(functions) if functions else None


def _functions(module: nn.Module) -> Iterator[Function]:
    """The known scans that the code of a layer's class names: methods of it, or functions of its
    own module.
    """
    forward = own_code(type(module).forward)
    around: dict[str, Any] = getattr(forward, "__globals__", {})
    methods = [own_code(one) for one in vars(type(module)).values() if callable(one)]
    codes = [getattr(one, "__code__", None) for one in (forward, *methods)]
    named = {name for code in codes if code is not None for name in code.co_names}
    for name, read in FUNCTIONS.items():
        if name in named and callable(getattr(module, name, None)):
            yield Function(name, read, module.__dict__, getattr(module, name))
        elif name in named and callable(around.get(name)):
            yield Function(name, read, around, around[name])


def scans_of(
    module: nn.Module, recurrences: Sequence[Recurrence] = ()
) -> dict[str, tuple[nn.Module, Scanned]]:
    """The layers of a module whose scan is known or described, by their dotted names, each once."""
    every, found = submodules(module), dict[str, tuple[nn.Module, Scanned]]()
    for own in recurrences:
        for name, part in layers_of(own, every).items():
            if all(part is not other for other, _ in found.values()):
                found[name] = part, OwnScan(own)
    for name, part in every.items():
        if name and all(part is not other for other, _ in found.values()):
            scan = scan_of(part)
            outer, _, last = name.rpartition(".")
            within = outer in found and INNER.get(type(found[outer][0]).__name__) == last
            if scan is not None and not within:
                found[name] = part, scan
    return {name: found[name] for name in every if name in found}


@dataclass(eq=False)
class ScanPart(Part):
    """A layer whose scan is caught."""

    scan: Scanned = field(init=False)  # where its scan is
    pieces_of_calls: list[Piece] = field(default_factory=list)
    running: bool = False
    convolutions: tuple[Convolution, ...] = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.convolutions = convolutions_of(self.module)

    def call(self, forward: Forward, args: Any, kwargs: Any) -> Any:
        if self.running:
            raise RnnlensError(
                f"{self.called} is called by itself, or by a function of its recurrence; have that "
                "call submodules of the layer, and not the layer"
            )
        self.running = True
        try:
            return self._call(forward, args, kwargs)
        finally:
            self.running = False

    def _call(self, forward: Forward, args: Any, kwargs: Any) -> Any:
        self.check_device(args, kwargs)
        if self.pieces_of_calls:
            raise RnnlensError(
                f"{self.called} is called more than once in a forward pass, as where words are fed "
                "one by one; feed whole sequences: leave feed= out, or give one that does"
            )
        edits = self.edits_at(None)
        here: dict[int, Change] = edits[0] if edits else {}
        layer = Layer(self.module, self.called, forward, args, kwargs)
        heard, past = self._heard(layer, here)
        with as_known(self.called, self.scan.name):
            whole = merged(heard.calls, self.called)
            scan = whole.scan(here)
            self.cell, self.weights = scan.cell, [whole.given.weights]
            if past.inputs:
                self.cell = remembering(scan.cell, past.size, past.called)
            seen, output = torch.cat(heard.reads, 2), heard.output
            needed = here or self.checking or whole.gate is not None
            reads = scan.reads() if needed else seen
            shown = reads if whole.gate is None else reads * whole.gate
            if here:
                begin = min(here)  # before it nothing is other than it was
                shown = torch.cat([seen[:begin].to(shown), shown[begin:]])
                shown = _own_where_same(shown, _unedited(whole), seen)
            elif self.checking:
                size = float(seen.abs().max()) or 1.0  # a scan may read numbers of any size
                self.compare([shown / size], [seen / size])
            if whole.gate is None:
                reads = shown if here else seen
        if here:
            with _ONE_AT_A_TIME, listening(self.convolutions, past):
                output = self.scan.run(layer, shown).output
        self._keep(args, kwargs, scan, reads, past)
        self.returned += flat(output)
        self.note_precision(self.returned[-1])
        self.note_precision(torch.zeros(()))  # many scans compute in single precision at most
        self.note_autocast(self.returned[-1])
        self.chains.add(None, flat(output)[0], scan.length)
        return output

    def _heard(self, layer: Layer, edits: dict[int, Change]) -> tuple[Heard, Past]:
        """What a call shows of the scan and of convolutions, whose past may be edited."""
        with _ONE_AT_A_TIME, listening(self.convolutions) as past:
            heard = self.scan.run(layer.aside() if edits else layer)
        with as_known(layer.called, self.scan.name):
            steps, sequences = torch.cat(heard.reads, 2).shape[:2]
        if not past.lies_beside(steps, sequences):
            return heard, Past()
        past.edit(edits)
        if past.edited:
            with _ONE_AT_A_TIME, listening(self.convolutions, past):
                heard = self.scan.run(layer.aside())
        return heard, past

    def _keep(
        self, args: Any, kwargs: Any, scan: Scan | Stepped, reads: Tensor, past: Past
    ) -> None:
        """Every kind of the call; of the memories, how they are computed when asked for."""
        x = input_of(Layer(self.module, self.called, self.module.forward, args, kwargs))
        cell, lazy = scan.cell, scan.states
        made = at_hand(lazy) | {cell.output.id: cell.flat(cell.output.id, reads.float())}
        makes = {kind: partial(once, lazy, kind) for kind in lazy if kind not in made}
        states = LazyStates(lazy, made, makes)
        names = {kind: local(kind, 1, reverse=False) for kind in states}
        own: States = {INPUT: (x.transpose(0, 1) if self.scan.batch_first else x).clone()}
        others, before = LazyStates((), {}, {}), dict[str, str]()
        if past.inputs:
            others = LazyStates((PAST.id,), {}, {PAST.id: past.states})
            before = {PAST.id: local(PAST.id, 1, reverse=False)}
        kinds = [INPUT, *before.values(), *names.values()]
        every = joined(kinds, (own, {INPUT: INPUT}), (others, before), (states, names))
        self.pieces_of_calls.append(Piece(every))

    def of_calls(self) -> list[Piece]:
        return self.pieces_of_calls

    def memory(self) -> Tensor:
        """Its memory after every timestep of its call, (T, B, H)."""
        kind = next(iter(self.cell.memories))
        states: Tensor = self.pieces_of_calls[0].states[local(kind, 1, reverse=False)]
        return states

    def layout(self, piece: Piece, batch_first: bool | None) -> Layout:  # noqa: ARG002
        steps, batch = piece.shape
        return Layout(steps, batch, self.scan.batch_first, sure=True)
