"""The adapter: reads every kind of a user's torch module, and leaves the module unchanged."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from rnnlens.adapter import checks, modules
from rnnlens.adapter import logits as search
from rnnlens.adapter.axes.alignment import learn_order
from rnnlens.adapter.axes.axes import Axes, find_axes
from rnnlens.adapter.axes.layout import Layout, assembled, tensors
from rnnlens.adapter.axes.orders import Orders
from rnnlens.adapter.axes.targets import LABEL, NOTHING, Batch, Pair, words_of
from rnnlens.adapter.readout import explained, readout
from rnnlens.adapter.record.capture import Capture
from rnnlens.adapter.record.part_trace import (
    PartTrace,
    PartTraces,
    in_batch_order,
    is_apart,
    part_traces,
)
from rnnlens.adapter.record.parts import Part
from rnnlens.adapter.structure import Structure, structure_of
from rnnlens.adapter.untouched import untouched, without_gradients
from rnnlens.base.errors import RnnlensError
from rnnlens.model.cell import States
from rnnlens.model.kinds import Kind
from rnnlens.model.traceable import Readout, RecurrentLayer, StateEdit, Trace, Traceable

Feed = Callable[[nn.Module, Any], Any]


class Adapter(Traceable):
    """Reads the kinds of any torch module: `Adapter(module).trace(batch).states["h1"]`.

    Recurrent parts need not be named: nn.LSTM, GRU, RNN, and LSTMCell, GRUCell, RNNCell in a loop.
    Their states are recomputed from weights and inputs. The first trace, with `debug` every one,
    checks them against what the module really returns.

    `kinds` names further submodules whose outputs are kinds, `"cell[1]"` the second output of
    several. Of a named recurrent part whose forward is not torch's, and need not do what torch's
    does, only the output is read. `exclude` names parts that are not read.

    `feed` is a function that gives a batch to the module, and `logits` one that picks the logits
    from what it returns. `batch_first` says whether sequences or timesteps come first, where
    nothing else tells; `labels` how many labels there are, where several tensors could be logits.
    `sort` is what the module predicts: a label, several labels at once, a number, or nothing.
    """

    def __init__(
        self,
        module: nn.Module,
        kinds: Iterable[str] = (),
        feed: Feed | None = None,
        logits: Callable[[Any], Any] | None = None,
        debug: bool = False,
        batch_first: bool | None = None,
        labels: int | None = None,
        exclude: Iterable[str] = (),
        sort: str = LABEL,
    ) -> None:
        self.module = modules.unwrapped(module)
        modules.check(self.module)
        self.debug = debug
        self._feed = feed or modules.call
        self._logits = logits
        self._batch_first, self._labels, self.sort = batch_first, labels, sort
        self._named = modules.named(self.module, kinds)
        left_out = set(modules.named(self.module, exclude).values())
        left_out |= {part for part in self._named.values() if not modules.is_torchs(part.forward)}
        self._parts = {
            name: part for name, part in modules.parts(self.module).items() if part not in left_out
        }
        self.orders = Orders()
        self.axes: Axes | None = None  # where words and targets lie, once a batch is aligned
        self._apart = False  # whether a part reads the batch more than once
        self._sorts = False  # whether any batch has shown that the module sorts its sequences
        self._structure: Structure | None = None
        self._difference = 0.0
        self._sample: Any = None
        if not self._parts and not self._named:
            raise RnnlensError(
                f"{type(self.module).__name__} has no recurrent part that is read (LSTM, GRU, RNN "
                "or their cells); name the submodules to be read: kinds=['blocks.0', ...]"
            )

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Every kind, from input to output; known once a batch is traced.

        Once batches are aligned, these are the kinds that have a state for each target.
        """
        if self._structure is None:
            raise RnnlensError("the kinds are known once a batch has been traced; call trace first")
        kinds = self._structure.kinds
        return tuple(k for k in kinds if self.axes is None or k.id in self.axes.kinds)

    def align(self, *batches: Pair) -> Axes:
        """Find where words and targets lie beside the states, by changing words of these batches.

        The result counts for all batches from now on.
        """
        self.axes = None
        self.axes = find_axes(self, [Batch.of(pair) for pair in batches], self._batch_first)
        return self.axes

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
        return next(iter(modules.devices(self.module)), torch.device("cpu"))

    def beside(self, kinds: Iterable[str]) -> frozenset[str]:
        """These kinds, and all others of the same recurrent parts."""
        wanted = set(kinds)
        parts = self._structure.ids.values() if self._structure else ()
        return frozenset(wanted.union(*(ids.values() for ids in parts if wanted & {*ids.values()})))

    @property
    def carried(self) -> tuple[str, ...]:
        return ()  # nothing is known of what the module does between its parts

    @property
    def difference(self) -> float:
        """The largest between recomputed and real outputs, at the last check."""
        return self._difference

    @property
    def recurrence(self) -> tuple[RecurrentLayer, ...]:
        return self._structure.layers if self._structure else ()

    def predict(self, y: Tensor) -> Tensor:
        return y  # the `y` of a trace is the module's logits already

    @torch.no_grad()
    def classifier(self) -> Readout | None:
        """The module's readout, if it gives the logits of the first batch that was traced."""
        kinds, trace = self.kinds, self.trace(self._sample)
        with untouched(self.module, modules.devices(self.module)):
            return readout(self.module, kinds, trace)

    @without_gradients
    def trace(
        self, batch: Any, start: States | None = None, edits: Sequence[StateEdit] = ()
    ) -> Trace:
        """Read a batch, in evaluation mode and without gradients."""
        if start:
            raise RnnlensError("a user's module takes no start=; put states into its batch")
        if edits and self._structure is None:
            self.trace(batch)  # the kinds are not known before
        checking = self.debug or self._structure is None
        changes = self._structure.changes(edits) if self._structure and edits else {}
        capture = Capture(self._parts, self._named, checking, changes, self._apart)
        output = self._run(capture, batch)
        traces = self._part_traces(capture, output, batch)
        layouts = [trace.layout for trace in reversed(traces.values())]
        named = self._outputs(capture, layouts)
        if not layouts:
            layouts = [Layout(len(v), v.shape[1], self._order()) for v in named.values()]
        structure = self._structure or self._name_kinds(capture, traces)
        checks.check_order({*named, *(f"{name}()" for name in traces)}, structure)
        states = structure.states(traces, named)
        checks.check_edits(edits, states)
        checks.check_finite(states, structure, traces)
        self._note_difference([part for part in capture.parts.values() if part.returned])
        is_first, self._structure = self._structure is None, structure
        if is_first:
            self._sample = batch
            if not self._parts and self._batch_first is None and learn_order(self, batch):
                return self.trace(batch)
        logits, lengths = self._predictions(output, layouts, traces, states)
        return Trace(states, lengths, logits)

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
        fitted = search.logits(output, layouts, beside, self._logits, self._labels, self.sort)
        if fitted is None:
            return None, layouts[0].lengths
        fit, layout = fitted

        def is_linear(logits: Tensor) -> bool:
            """Whether these are a linear map of states in the very same order."""
            beside = (v for v in states.values() if v.shape[:2] == logits.shape[:2])
            rows = [layout.rows(v) for v in beside]
            with untouched(self.module, modules.devices(self.module)):
                return explained(self.module, rows, layout.rows(logits))

        logits = self.orders.settle("logits", fit, layout, is_linear)
        return search.as_sort(self.sort, logits, layout.valid()), layout.lengths

    def _run(self, capture: Capture, batch: Any) -> Any:
        """Run the module's forward pass while `capture` listens."""
        here = modules.devices(self.module)
        if any(device.type == "meta" for device in here):
            raise RnnlensError("the module is on the meta device, without values; load its weights")
        there = {tensor.device for _, tensor in tensors(batch)}
        if any(device.type == "meta" for device in there):  # torch lets it pass, and reads nothing
            raise RnnlensError(f"the batch is on meta, without values; make it on {_listed(here)}")
        embedding = modules.embedding(self.module) if self._structure is None else None
        with untouched(self.module, here | there), modules.uncompiled():
            capture.listen(embedding)
            try:
                return self._feed(self.module, batch)
            except RuntimeError as error:
                if there and here and not there & here:
                    raise RnnlensError(
                        f"the batch is on {_listed(there)} and the module on {_listed(here)}; move "
                        f"the batch, batch.to({_listed(here)!r}), or the module"
                    ) from error
                raise

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
        return {
            name: self.orders.settle(name, *assembled(name, values, layouts, order))
            for name, values in capture.outputs.items()
        }

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
        named = structure_of(order, max(len(self._parts), len(traces)) > 1, capture.embedded)
        ids = [kind.id for kind in named.kinds]
        twice = [name for name in self._named if ids.count(name) > 1]
        if twice:
            raise RnnlensError(
                f"the submodule {twice[0]} has the same name as a kind of the recurrent part; give "
                "it another name in the module"
            )
        return named

    def _note_difference(self, parts: list[Part]) -> None:
        checks.check_difference(parts)
        differences = [part.difference for part in parts]
        if parts and (parts[0].checking or any(differences)):
            self._difference = max(differences)


def _listed(devices: set[torch.device]) -> str:
    return ", ".join(sorted(map(str, devices)))
