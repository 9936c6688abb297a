"""The adapter: reads every kind of a user's torch module, and leaves the module unchanged."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from math import prod
from typing import Any

import torch
from torch import Tensor, nn

from rnnlens.adapter import modules
from rnnlens.adapter.axes.alignment import LOGITS, Orders, learn_order
from rnnlens.adapter.axes.axes import Axes, find_axes, is_part, some_sequences
from rnnlens.adapter.axes.layout import Layout, assembled, tensors
from rnnlens.adapter.axes.shapes import shaped_kinds
from rnnlens.adapter.backbone import backbone_of
from rnnlens.adapter.batches import LABEL, NOTHING, NUMBER, Batch, Pair, words_of
from rnnlens.adapter.part_kinds import PartKind, states_with_parts, with_parts
from rnnlens.adapter.predictions import as_sort, find_logits, find_readout, is_linear
from rnnlens.adapter.record.capture import (
    Capture,
    OutputEdits,
    PartTrace,
    PartTraces,
    in_batch_order,
    is_apart,
    part_traces,
)
from rnnlens.adapter.record.one_text import Padded, one_text_a_sequence
from rnnlens.adapter.record.parts import Part
from rnnlens.adapter.record.scan_parts import OwnScan, ScanPart, scans_of
from rnnlens.adapter.restore import restoring, seeded, unchanged
from rnnlens.adapter.structure import Structure, structure_of
from rnnlens.adapter.user_model import UserModel, guarded, users_code
from rnnlens.base.errors import NotFiniteError, RnnlensError
from rnnlens.model.block import PAST
from rnnlens.model.cell import Change, States
from rnnlens.model.kinds import Kind
from rnnlens.model.lazy import at_hand
from rnnlens.model.linear import LinearCell
from rnnlens.model.traceable import (
    Readout,
    RecurrentLayer,
    StateEdit,
    Trace,
    Traceable,
    check_edits,
)
from rnnlens.model.transition import LARGEST, Matrix

_ENOUGH = 2048  # targets of a batch, of which all that has to be seen can be seen
_FEW = 8  # sequences that are kept of a batch with more
_TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-4, torch.float16: 2e-2, torch.bfloat16: 1e-1}


class _AtHand:
    """An adapter of which only the states are asked for that need not be computed: a memory lies
    beside the words as what it follows from does.
    """

    def __init__(self, adapter: "Adapter") -> None:
        self._adapter = adapter
        self.orders, self.sort, self.beside = adapter.orders, adapter.sort, adapter.beside

    def trace(self, batch: Any) -> Trace:
        trace = self._adapter.trace(batch)
        return replace(trace, states=at_hand(trace.states))


class Adapter(Traceable):
    """Reads the kinds of any torch module: `Adapter(module).trace(batch).states["h1"]`.

    Recurrent parts need not be named: nn.LSTM, GRU, RNN, and LSTMCell, GRUCell, RNNCell in a loop.
    Their states are recomputed from weights and inputs. The first trace, with `debug` every one,
    checks them against what the module really returns.

    How the module is read is said by a `UserModel`, or by options of its names: `kinds`, `exclude`,
    `feed`, `logits`, `batch_first`, and `labels` where several tensors could be logits. `sort` is
    what the module predicts: a label, several labels at once, a number, or nothing.
    """

    def __init__(
        self,
        module: nn.Module | UserModel,
        *,
        sort: str = LABEL,
        debug: bool = False,
        **options: Any,
    ) -> None:
        self.user = user = UserModel.of(module, **options)
        self.module = modules.unwrapped(user.module)
        modules.check(self.module)
        self.sort, self.debug = sort, debug
        self._batch_first = user.batch_first
        self._logits = guarded(user.logits, "logits=") if user.logits else None
        self._shaped = shaped_kinds(user.kinds)
        there = modules.submodules(self.module)
        self._part_kinds = {
            kind: PartKind(kind, name, shape) for kind, (name, shape) in self._shaped.items()
            if shape is not None and name not in there
        }  # fmt: skip
        self._shaped = {k: v for k, v in self._shaped.items() if k not in self._part_kinds}
        self._named = {
            kind: modules.named(self.module, [name])[name]
            for kind, (name, _) in self._shaped.items()
        }
        left_out = set(modules.named(self.module, user.exclude).values())
        left_out |= {part for part in self._named.values() if not modules.is_torchs(part.forward)}
        found = scans_of(self.module, user.recurrences)
        self._scans = {n: scan for n, (part, scan) in found.items() if part not in left_out}
        scans = {name: part for name, (part, _) in found.items() if name in self._scans}
        self._parts = {
            name: part for name, part in modules.parts(self.module).items() if part not in left_out
        } | scans
        self._backbone = backbone_of(self.module, scans)
        self._named = {
            **{k: m for k, m in self._backbone.named.items() if k not in self._named},
            **self._named,
        }
        self.seed = 0  # of the random numbers that a module may draw
        self.orders = Orders()
        self.axes: Axes | None = None  # where words and targets lie, once a batch is aligned
        self._apart = False  # whether a part reads the batch more than once
        self._sorts = False  # whether any batch has shown that the module sorts its sequences
        self._structure: Structure | None = None
        self._difference = 0.0
        self._sample: Any = None
        self._placed: tuple[Any, States, States] | None = None  # of the batch edited last
        if not self._parts and not self._named:
            modules.named(self.module, [one.of for one in self._part_kinds.values()])  # of no kind
            library = modules.library(self.module)
            since = ", of transformers from 5.6 on" if library.startswith(" of transf") else ""
            raise RnnlensError(
                f"{type(self.module).__name__}{library} has no recurrent part that is read (LSTM, "
                f"GRU, RNN or their cells, or a scan that is known{since}); name the "
                "submodules to be read, kinds=['blocks.0', ...], or describe its recurrences="
            )

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Every kind, from input to output; known once a batch is traced.

        Once batches are aligned, these are the kinds that have a state for each target.
        """
        if self._structure is None:
            raise RnnlensError("the kinds are known once a batch has been traced; call trace first")
        kinds = self._structure.kinds
        if self.axes is None:
            return kinds
        source = self.axes.source.kinds if self.axes.source else ()
        beside = (*self.axes.kinds, *source)
        there = {*beside, *self._computed_when_asked(beside)}
        there |= {part.id for part in self._part_kinds.values() if part.of in there}
        return tuple(kind for kind in kinds if kind.id in there)

    def _computed_when_asked(self, beside: Sequence[str]) -> Iterator[str]:
        """The kinds that follow from some of these, and lie beside the words as they do."""
        for layer in self.recurrence:
            if isinstance(layer.cell, LinearCell) and not {*beside}.isdisjoint(layer.ids.values()):
                at_hand = {*layer.cell.given, layer.cell.output.id}
                yield from (id_ for letter, id_ in layer.ids.items() if letter not in at_hand)
            elif PAST.id in layer.ids and not {*beside}.isdisjoint(layer.ids.values()):
                yield layer.ids[PAST.id]

    def align(self, *batches: Pair) -> Axes:
        """Find where words and targets lie beside the states, by changing words of these batches.

        The result counts for all batches from now on.
        """
        self.axes = None
        reader, every = _AtHand(self), [Batch.of(pair) for pair in batches]
        has_source = self.user.source is not None
        self.axes = find_axes(reader, every, self._batch_first, has_source)
        return self.axes

    def few_sequences(self, pair: Pair) -> Pair:
        """A few sequences of a large batch, which are read alone as they are among the others; a
        batch that is small, or of which nothing tells that, as it is.

        How a module is read is found out by reading a batch again and again: of a large one, and of
        many labels, each time would take long.
        """
        batch = Batch.of(pair)
        if batch.targets.numel() <= _ENOUGH or not self.is_recurrent:
            return batch
        trace = self.trace(batch.inputs)
        states = at_hand(trace.states)
        steps, count, _ = next(reversed(states.values())).shape
        apart = any(values.shape[1] != count for values in states.values())
        flat = batch.targets.dim() == 1 and len(batch.targets) != count  # in an unknown order
        if apart or flat or count in (steps, _FEW) or steps == _FEW or count < 2 * _FEW:
            return batch
        chosen, kinds = torch.arange(_FEW) * count // _FEW, tuple(states)
        axes = Axes(kinds, None, None, steps, whole=len(batch.targets) == count)
        try:
            part = some_sequences(batch, chosen, axes, trace)
            alone = self.trace(part.inputs)
        except RnnlensError:  # it is one for which something else has as many numbers
            return batch
        if not is_part(trace, replace(alone, states=at_hand(alone.states)), chosen, kinds):
            return batch
        self._sample = part.inputs
        return part

    def in_time(self, labels: Tensor, trace: Callable[[], Trace]) -> Tensor:
        if self.axes is None:
            raise RnnlensError("where labels lie is known after align; call that first")
        return self.axes.in_time(labels, trace())

    def words(self, inputs: Any, targets: Tensor) -> Tensor | None:
        return words_of(inputs, targets)

    def count(self, inputs: Any, targets: Tensor) -> int:
        if self.axes is None:
            return super().count(inputs, targets)
        return self.axes.states_of((inputs, targets))

    @property
    def is_recurrent(self) -> bool:
        """Whether any of its states are recomputed."""
        return bool(self._parts)

    @property
    def device(self) -> torch.device:
        """Where the module is; one without weights is read on the CPU."""
        return self.user.device

    def beside(self, kinds: Iterable[str]) -> frozenset[str]:
        """These kinds, and all others of the same recurrent parts."""
        wanted = set(kinds)
        parts = self._structure.ids.values() if self._structure else ()
        return frozenset(wanted.union(*(ids.values() for ids in parts if wanted & {*ids.values()})))

    @property
    def difference(self) -> float:
        """The largest between recomputed and real outputs, at the last check."""
        return self._difference

    @property
    def recurrence(self) -> tuple[RecurrentLayer, ...]:
        return self._structure.layers if self._structure else ()

    @property
    def unprobed(self) -> dict[str, int]:
        matrices = self.matrices
        sizes = {
            layer.ids[kind]: prod(size)
            for layer in self.recurrence
            if isinstance(layer.cell, LinearCell)
            for kind, size in layer.cell.sizes.items()
        }
        for part in self._part_kinds.values():
            if part.of in sizes:
                sizes[part.id] = len(part.numbers(sizes[part.of]))
        return {
            kind: size
            for kind, size in sizes.items()
            if size > LARGEST and not ((matrix := matrices.get(kind)) and matrix.askable)
        }

    @property
    def matrices(self) -> dict[str, Matrix]:
        whole = super().matrices
        parts = {id_: part.matrix(whole.get(part.of)) for id_, part in self._part_kinds.items()}
        return whole | {id_: matrix for id_, matrix in parts.items() if matrix is not None}

    def predict(self, y: Tensor) -> Tensor:
        return y  # the `y` of a trace is the module's logits already

    @torch.no_grad()
    def classifier(self) -> Readout | None:
        """The module's readout, if it gives the logits of the first batch that was traced."""
        trace = self.trace(self._sample)
        kinds = [kind for kind in self.kinds if kind.id in at_hand(trace.states)]
        with restoring(self.module, modules.devices(self.module)):
            return find_readout(self.module, kinds, trace)

    def trace(
        self, batch: Any, start: States | None = None, edits: Sequence[StateEdit] = ()
    ) -> Trace:
        """Read a batch, in evaluation mode and without gradients, unless there are edits whose
        effect is differentiated.
        """
        if start:
            raise RnnlensError("a user's module takes no start=; put states into its batch")
        learning = torch.is_grad_enabled() and any(edit.learning for edit in edits)
        with torch.set_grad_enabled(learning):
            return self._trace(batch, edits)

    def _trace(self, batch: Any, edits: Sequence[StateEdit]) -> Trace:
        if edits and self._structure is None:
            self.trace(batch)  # the kinds are not known before
        checking = self.debug or self._structure is None
        parts = self._part_kinds
        edits = [parts[edit.kind].edit(edit) if edit.kind in parts else edit for edit in edits]
        changes = self._structure.changes(edits) if self._structure and edits else {}
        capture = self._capture(checking, changes)
        capture.put = self._put(batch, edits)
        output = self._run(capture, batch)
        traces = self._part_traces(capture, output, batch)
        layouts = [trace.layout for trace in reversed(traces.values())]
        named = self._outputs(capture, layouts)
        if not layouts:
            layouts = [Layout(len(v), v.shape[1], self._order()) for v in named.values()]
        structure = self._structure or self._name_kinds(capture, traces)
        _check_order({*named, *(f"{name}()" for name in traces)}, structure)
        states = states_with_parts(structure.states(traces, named), self._part_kinds)
        for edit in edits:
            check_edits([edit], structure.kinds, _steps(edit.kind, structure, traces, states))
        _check_finite(states, structure, traces)
        self._note_difference([part for part in capture.parts.values() if part.returned])
        is_first, self._structure = self._structure is None, structure
        if is_first:
            self._sample = batch
            if not self._parts and self._batch_first is None and learn_order(self, batch):
                return self.trace(batch)
        logits, lengths = self._predictions(output, layouts, traces, states)
        return Trace(states, lengths, logits)

    def _capture(self, checking: bool, edits: Mapping[str, list[dict[int, Change]]]) -> Capture:
        capture = Capture(self._parts, self._named, checking, edits, self._apart, self._shaped)
        for name, scan in self._scans.items():
            part = capture.parts[name]
            assert isinstance(part, ScanPart)  # noqa: S101 - of Capture
            part.scan, part.number = scan, self._backbone.numbers[name]
        return capture

    def _put(self, batch: Any, edits: Sequence[StateEdit]) -> dict[str, OutputEdits]:
        """The edits of named submodules' outputs; where their states are is seen without edits."""
        mine = [edit for edit in edits if edit.kind in self._named]
        if not mine:
            return {}
        if self._placed is None or self._placed[0] is not batch:
            self._placed = (batch, *self._places(batch))
        _, states, places = self._placed
        for edit in mine:
            check_edits([edit], self.kinds, len(states[edit.kind]))
        return {
            name: OutputEdits(places[name], states[name], [e for e in mine if e.kind == name])
            for name in {edit.kind for edit in mine}
        }

    @torch.no_grad()
    def _places(self, batch: Any) -> tuple[States, States]:
        """The states of named submodules, and where each of their numbers is among all that a
        submodule's calls return, counted from 1.
        """
        capture = self._capture(False, {})
        traces = self._part_traces(capture, self._run(capture, batch), batch)
        layouts = [trace.layout for trace in reversed(traces.values())]
        states = self._outputs(capture, layouts)
        for name, outputs in capture.outputs.items():
            first, numbered = 1, list[Tensor]()
            for values in outputs:
                last = first + values.numel()
                numbered.append(torch.arange(first, last, device=values.device).view(values.shape))
                first = last
            capture.outputs[name] = numbered
        return states, self._outputs(capture, layouts)

    def _part_traces(self, capture: Capture, output: Any, batch: Any) -> PartTraces:
        """The traces of the recurrent parts, with sequences in the order of the batch."""
        is_first = self._structure is None
        if is_first:
            self._apart = is_apart(capture, output, self._logits, self._batch_first)
        traces = part_traces(capture, self._apart, self._batch_first)
        sorted_back = in_batch_order(traces, batch, self.module, is_first or self._sorts)
        self._sorts = self._sorts or sorted_back is not None
        return sorted_back or traces

    def _predictions(
        self, output: Any, layouts: list[Layout], traces: PartTraces, states: States
    ) -> tuple[Tensor | None, Tensor | None]:
        """The logits in what the module returned, and how long its sequences are."""
        if self.sort == NOTHING:
            return None, layouts[0].lengths
        outputs = [trace.output for trace in traces.values()]
        returned = [tensor for trace in traces.values() for tensor in trace.part.returned]
        beside = [*returned, *outputs]
        labels = self.user.labels
        count = None if labels is None or self.sort == NUMBER else len(labels)
        fitted = find_logits(output, layouts, beside, self._logits, count, self.sort)
        if fitted is None:
            return None, layouts[0].lengths
        fit, layout = fitted

        def fits_states(logits: Tensor) -> bool:
            """Whether these are a linear map of states in the very same order."""
            there = at_hand(states).values()
            beside = (v for v in there if v.shape[:2] == logits.shape[:2])
            rows = [layout.rows(v) for v in beside]
            with restoring(self.module, modules.devices(self.module)):
                return is_linear(self.module, rows, layout.rows(logits))

        logits = self.orders.settle(LOGITS, fit, layout, fits_states)
        return as_sort(self.sort, logits, layout.valid()), layout.lengths

    def _run(self, capture: Capture, batch: Any) -> Any:
        """Run the module's forward pass while `capture` listens."""
        here = modules.devices(self.module)
        if any(device.type == "meta" for device in here):
            raise RnnlensError("the module is on the meta device, without values; load its weights")
        there = {tensor.device for _, tensor in tensors(batch)}
        if any(device.type == "meta" for device in there):  # torch lets it pass, and reads nothing
            raise RnnlensError(f"the batch is on meta, without values; make it on {_listed(here)}")
        embedding = modules.embedding(self.module) if self._structure is None else None
        usual = modules.call_without_cache if self._backbone.numbers else modules.call
        name, feed = type(self.module).__name__, self.user.feed or usual
        guard = users_code(f"the forward of {name}", given=batch)
        restored = restoring(self.module, here | there)
        whole = one_text_a_sequence(self.module) if self._scans else nullcontext(Padded())
        with guard, unchanged(batch), restored, modules.uncompiled(), whole as padded:
            seeded(self.seed)
            capture.listen(embedding)
            try:
                output = feed(self.module, batch)
            except RuntimeError as error:
                if there and here and not there & here:
                    raise RnnlensError(
                        f"the batch is on {_listed(there)} and the module on {_listed(here)}; move "
                        f"the batch, batch.to({_listed(here)!r}), or the module"
                    ) from error
                raise
        _check_padding(padded, capture)
        return output

    def _order(self) -> bool:
        """Whether sequences come first in a module without recurrent parts; most often they do."""
        if self._batch_first is not None:
            return self._batch_first
        flags = [m.batch_first for m in self.module.modules() if hasattr(m, "batch_first")]
        return self.orders.module(bool(flags[-1]) if flags else True)

    def _outputs(self, capture: Capture, layouts: list[Layout]) -> States:
        """The named submodules' outputs as states."""
        missing = [name for name in self._named if name not in capture.outputs]
        if missing:
            raise RnnlensError(
                f"the module never calls {missing[0]}, so that it has no output to read; name a "
                "submodule that this batch passes through"
            )
        order = layouts[0].batch_first if layouts else self._order()
        states = {}
        for name, values in capture.outputs.items():
            shape = self._shaped[name][1] if name in self._shaped else None
            states[name] = (
                shape.states(values)
                if shape
                else self.orders.settle(name, *assembled(name, values, layouts, order))
            )
        return states

    def _name_kinds(self, capture: Capture, traces: PartTraces) -> Structure:
        """The kinds of the module, named by its first batch."""
        if not capture.order:
            names = ", ".join(part.called for part in capture.parts.values())
            raise RnnlensError(
                f"the module never calls its recurrent part: {names}; give feed= a function that "
                "runs the part, or name other submodules in kinds="
            )
        order: list[PartTrace | str] = []
        for item in capture.order:
            chains = [trace for trace in traces.values() if trace.part is item]
            order += [item] if isinstance(item, str) else chains
        several = max(len(self._parts), len(traces)) > 1
        named = structure_of(order, several, capture.embedded, self._backbone.kinds)
        ids = [kind.id for kind in named.kinds]
        twice = [name for name in self._named if ids.count(name) > 1]
        if twice:
            raise RnnlensError(
                f"the submodule {twice[0]} has the same name as a kind of the recurrent part; give "
                "it another name in the module"
            )
        return replace(named, kinds=with_parts(named.kinds, self._part_kinds))

    def _note_difference(self, parts: list[Part]) -> None:
        _check_difference(parts)
        differences = [part.difference for part in parts]
        if parts and (parts[0].checking or any(differences)):
            self._difference = max(differences)


def _steps(kind: str, structure: Structure, traces: PartTraces, states: States) -> int:
    """How many timesteps a kind has; a memory need not be computed for it."""
    for part, ids in structure.ids.items():
        if kind in ids.values():
            return int(traces[part].piece.shape[0])
    return len(states[kind])


def _check_padding(padded: Padded, capture: Capture) -> None:
    """Refuse padding before words that the first recurrent layer, and so all, takes for words."""
    first = next(
        (p for p in capture.parts.values() if isinstance(p, ScanPart) and p.returned), None
    )
    if first is not None and not first.edits:
        padded.check(first.called, first.memory)


def _listed(devices: set[torch.device]) -> str:
    return ", ".join(sorted(map(str, devices)))


def _check_difference(parts: Iterable[Part]) -> None:
    """Refuse recomputed outputs that are too far from what the parts return."""
    for part in parts:
        allowed = _TOLERANCE.get(part.precision, 1e-1) * part.scale
        if not part.difference <= allowed:
            raise RnnlensError(
                f"{part.called} differs from its recomputed output by {part.difference:.2g} "
                f"({allowed:.2g} is allowed), so that its kinds cannot be trusted; " + _remedy(part)
            )


def _remedy(part: Part) -> str:
    if modules.is_torchs(part.module.forward):
        return "does something write into its weights while it runs? Replace them instead"
    if isinstance(part, ScanPart) and isinstance(part.scan, OwnScan):
        read = part.scan.recurrence.into or "the layer"
        return (
            f"what {read} {'is given' if part.scan.recurrence.into else 'returns'} is not what its "
            "recurrence reads: mend decay=, write= and the others, or name in into= a submodule "
            "that is given just that, such as an nn.Identity before a gate"
        )
    return "name it in kinds= to read its output alone"


def _check_order(now: set[str], first: Structure) -> None:
    """Refuse a batch that takes another way through the module than the first one."""
    different = sorted(now ^ set(first.order))
    if different:
        name = different[0].removesuffix("()") or "the module"
        had, has = ("not called", "called") if different[0] in now else ("called", "not called")
        raise RnnlensError(
            f"{name} was {had} for the first batch and is {has} for this one; use one adapter "
            "for each way through the module"
        )


def _check_finite(states: States, structure: Structure, traces: PartTraces) -> None:
    """Refuse states that are NaN or infinite; what lies past a sequence's end does not count."""
    states = at_hand(states)
    sums = [v.sum(dtype=torch.promote_types(v.dtype, torch.float32)) for v in states.values()]
    if all(bool(torch.isfinite(total)) for total in sums):  # one number each: quick
        return
    masks = {
        kind: traces[part].layout.valid()
        for part, ids in structure.ids.items()
        for kind in ids.values()
    }
    for kind, values in states.items():
        bad = ~torch.isfinite(values).all(-1)  # (T, B)
        mask = masks.get(kind)
        if mask is not None:
            bad &= mask
        if bool(bad.any()):
            step, sequence = bad.nonzero()[0].tolist()
            raise NotFiniteError(
                f"the states of {kind} are NaN or infinite, first at timestep {step} of sequence "
                f"{sequence}; look there for a division by zero, an overflow or a bad input"
            )
