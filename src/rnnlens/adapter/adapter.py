"""The adapter: a user's own torch module, with every kind readable and the module unchanged."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from rnnlens.adapter import checks, modules
from rnnlens.adapter import logits as finding
from rnnlens.adapter.axes.alignment import learn_order
from rnnlens.adapter.axes.axes import Axes, find_axes
from rnnlens.adapter.axes.layout import Layout, assembled, tensors
from rnnlens.adapter.axes.orders import Orders
from rnnlens.adapter.axes.targets import Batch, words_of
from rnnlens.adapter.readout import explained, readout
from rnnlens.adapter.record.capture import Capture
from rnnlens.adapter.record.heard import Heard, Parts, heard_parts, in_batch_order, is_apart
from rnnlens.adapter.record.parts import Part
from rnnlens.adapter.structure import Structure, structure
from rnnlens.adapter.untouched import untouched
from rnnlens.errors import RnnlensError
from rnnlens.model.cells import States
from rnnlens.model.kinds import Kind
from rnnlens.model.traceable import Edit, Readout, Trace, Traceable

Feed = Callable[[nn.Module, Any], Any]


class Adapter(Traceable):
    """Reads the kinds of any torch module: `Adapter(module).trace(batch).states["h1"]`.

    Recurrent parts are found by themselves: nn.LSTM, GRU, RNN, and LSTMCell, GRUCell, RNNCell in a
    loop. Their states are recomputed from weights and inputs, and on the first trace (with `debug`
    on every one) checked against what the module really returns.

    `kinds` names further submodules whose outputs are kinds, `"cell[1]"` the second of several; of
    a recurrent part with a forward of its own, which need not do what torch's does, the output is
    then all that is read. `exclude` names parts that are not read. `feed` says how a batch is given
    to the module, `logits` picks the logits from what it returns, and `batch_first` says whether
    sequences or timesteps come first where nothing else tells, `labels` how many there are, where
    several tensors could be the logits.
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
    ) -> None:
        self.module = modules.unwrapped(module)
        modules.check(self.module)
        self.debug = debug
        self._feed = feed or modules.call
        self._logits = logits
        self._batch_first, self._labels = batch_first, labels
        self._named = modules.named(self.module, kinds)
        left_out = modules.named(self.module, exclude).values()
        read_whole = [part for part in self._named.values() if not modules.is_torchs(part.forward)]
        self._parts = {
            name: part
            for name, part in modules.parts(self.module).items()
            if all(part is not other for other in (*left_out, *read_whole))
        }
        self.orders = Orders()
        self.axes: Axes | None = None  # where words and targets lie, once a batch was aligned
        self._apart = False  # whether a part reads the batch more than once
        self._sorts = False  # whether it was seen to sort its sequences
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
        """Every kind, from input to output; known once a batch has been traced.

        Once batches have been aligned, those that stand beside the targets.
        """
        if self._structure is None:
            raise RnnlensError("the kinds are known once a batch has been traced; call trace first")
        kinds = self._structure.kinds
        return tuple(k for k in kinds if self.axes is None or k.id in self.axes.kinds)

    def align(self, *batches: Batch) -> Axes:
        """Find where words and targets lie beside the states, by changing words of these batches.

        What is found is kept, and counts for all batches from now on.
        """
        self.axes = None
        self.axes = find_axes(self, batches, self._batch_first)
        return self.axes

    def in_time(self, labels: Tensor, trace: Callable[[], Trace]) -> Tensor:
        if self.axes is None:
            raise RnnlensError(
                "where labels lie is known once a batch is aligned; call align first"
            )
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
        parts = (
            [set(ids.values()) for ids in self._structure.ids.values()] if self._structure else []
        )
        return frozenset(wanted.union(*(ids for ids in parts if ids & wanted)))

    @property
    def carried(self) -> tuple[str, ...]:
        return ()  # nothing is known of what the module does between its parts

    @property
    def difference(self) -> float:
        """The largest between recomputed and real outputs, when last checked."""
        return self._difference

    def predict(self, y: Tensor) -> Tensor:
        return y  # what a trace gives are the module's own logits

    @torch.no_grad()
    def classifier(self) -> Readout | None:
        """Found by the first batch that was traced, and tried on its states."""
        kinds, trace = self.kinds, self.trace(self._sample)
        with untouched(self.module, modules.devices(self.module)):
            return readout(self.module, kinds, trace)

    @torch.no_grad()
    def trace(self, batch: Any, start: States | None = None, edits: Sequence[Edit] = ()) -> Trace:
        """Read a batch, in evaluation mode and without gradients."""
        if start:
            raise RnnlensError(
                "a module of a user's starts from its own states; put others into its batch"
            )
        if edits and self._structure is None:
            self.trace(batch)  # the kinds are not known before
        checking = self.debug or self._structure is None
        changes = self._structure.changes(edits) if self._structure and edits else None
        capture = Capture(self._parts, self._named, checking, changes, self._apart)
        output = self._run(capture, batch)
        heard = self._heard(capture, output, batch)
        layouts = [part.layout for part in reversed(heard.values())]
        named = self._outputs(capture, layouts)
        if not layouts:
            layouts = [Layout(len(v), v.shape[1], self._order()) for v in named.values()]
        found = self._structure or self._name(capture, heard)
        checks.check_order({*named, *(f"{name}()" for name in heard)}, found)
        states = found.states(heard, named)
        checks.check_edits(edits, states)
        checks.check_finite(states, found, heard)
        self._note_difference(list(capture.parts.values()))
        is_first, self._structure = self._structure is None, found
        if is_first:
            self._sample = batch
            if not self._parts and self._batch_first is None and learn_order(self, batch):
                return self.trace(batch)
        logits, lengths = self._predictions(output, layouts, heard, states)
        return Trace(states, lengths, logits)

    def _heard(self, capture: Capture, output: Any, batch: Any) -> Parts:
        """The recurrent parts, with their states in the order of the batch."""
        is_first = self._structure is None
        if is_first:
            self._apart = is_apart(capture, output, self._logits, self._batch_first)
        heard = heard_parts(capture, self._apart, self._batch_first)
        moved = in_batch_order(heard, batch, self.module, is_first or self._sorts)
        self._sorts = self._sorts or moved is not None
        return moved or heard

    def _predictions(
        self, output: Any, layouts: list[Layout], heard: Parts, states: States
    ) -> tuple[Tensor | None, Tensor | None]:
        """The logits in what the module returned, and how long its sequences are."""
        own = [tensor for item in heard.values() for tensor in (*item.part.returned, item.output)]
        found = finding.logits(output, layouts, own, self._logits, self._labels)
        if found is None:
            return None, layouts[0].lengths
        fit, layout = found
        read = [*states.values(), *(item.output for item in heard.values())]

        def is_linear(logits: Tensor) -> bool:
            """Whether these are a linear map of states in the very same order."""
            beside = [values for values in read if values.shape[:2] == logits.shape[:2]]
            with untouched(self.module, modules.devices(self.module)):
                return explained(self.module, beside, logits, layout.valid())

        logits = self.orders.settle("logits", fit, layout, is_linear)
        return finding.as_logits(logits, layout.valid()), layout.lengths

    def _run(self, capture: Capture, batch: Any) -> Any:
        """The module's forward pass, listened to."""
        here = modules.devices(self.module)
        if any(device.type == "meta" for device in here):
            raise RnnlensError("the module is on the meta device, without values; load its weights")
        given = {tensor.device for _, tensor in tensors(batch)}
        if any(device.type == "meta" for device in given):  # torch lets it pass, and reads nothing
            raise RnnlensError(f"the batch is on meta, without values; make it on {_listed(here)}")
        embedding = modules.embedding(self.module) if self._structure is None else None
        with untouched(self.module, here | given), modules.uncompiled():
            capture.listen(embedding)
            try:
                return self._feed(self.module, batch)
            except RuntimeError as error:
                if given and here and not given & here:
                    raise RnnlensError(
                        f"the batch is on {_listed(given)} and the module on {_listed(here)}; move "
                        f"the batch, batch.to({_listed(here)!r}), or the module"
                    ) from error
                raise

    def _order(self) -> bool:
        """Whether sequences come first in a module without recurrent parts; most often they do."""
        if self._batch_first is not None:
            return self._batch_first
        said = [m.batch_first for m in self.module.modules() if hasattr(m, "batch_first")]
        return self.orders.module(bool(said[-1]) if said else True)

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

    def _name(self, capture: Capture, heard: Parts) -> Structure:
        """Settle the kinds, from the first batch."""
        if not capture.order:
            names = ", ".join(part.called for part in capture.parts.values())
            raise RnnlensError(
                f"the module never calls its recurrent part: {names}; give feed= a function that "
                "runs the part, or name other submodules in kinds="
            )
        order: list[Heard | str] = []
        for item in capture.order:
            runs = [h for h in heard.values() if h.part is item]
            order += [item] if isinstance(item, str) else runs
        found = structure(order, max(len(self._parts), len(heard)) > 1, capture.embedded)
        ids = [kind.id for kind in found.kinds]
        twice = [name for name in self._named if ids.count(name) > 1]
        if twice:
            raise RnnlensError(
                f"the submodule {twice[0]} is called as a kind of the recurrent part is; give it "
                "another name in the module"
            )
        return found

    def _note_difference(self, parts: list[Part]) -> None:
        checked = [part for part in parts if part.returned]
        checks.check_difference(checked)
        gaps = [part.difference for part in checked]
        if checked and (checked[0].checking or any(gaps)):
            self._difference = max(gaps)


def _listed(devices: set[torch.device]) -> str:
    return ", ".join(sorted(map(str, devices)))
