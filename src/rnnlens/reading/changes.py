"""The edits of one text as changes that the model makes while it reads."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b

import numpy as np
import torch
from torch import Tensor

from rnnlens.base.errors import RnnlensError
from rnnlens.base.rules import count, message, number
from rnnlens.labels.sets import number_of
from rnnlens.model.kinds import PREDICTION, Kind
from rnnlens.model.traceable import StateEdit
from rnnlens.probe.probes import Probes
from rnnlens.probe.semantics import base
from rnnlens.reading.edits import Address, Edit, parsed
from rnnlens.reading.session import Session

Change = Callable[[Tensor], Tensor]
_LARGEST = number("largest_logit")  # whose differences and sums are still numbers
_LEAST = number("least_length")  # that something is divided by


@dataclass(frozen=True)
class TextEdits:
    """Edits of a text, checked against the model that reads it."""

    edits: tuple[Edit, ...]
    kinds: dict[str, Kind]
    session: Session
    probes: Probes | None
    ids: tuple[int, ...]
    semantic: str

    @classmethod
    def of(
        cls,
        edits: tuple[Edit, ...],
        session: Session,
        probes: Probes | None,
        ids: Sequence[int],
        semantic: str,
    ) -> "TextEdits":
        """Refuse kinds, words and labels that there are not."""
        editable = {kind.id: kind for kind in session.model.kinds}
        checked = cls(edits, editable, session, probes, tuple(ids), semantic)
        for edit in edits:
            checked.check(edit)
        return checked

    def possible(self, edits: Sequence[Edit | str]) -> tuple["TextEdits", tuple[str, ...]]:
        """The edits of some that can be made, and why the others cannot."""
        kept, dropped = list[Edit](), list[str]()
        for given in edits:
            try:
                (edit,) = parsed((given,))
                self.check(edit)
                kept.append(edit)
            except RnnlensError as error:
                dropped.append(str(error))
        return replace(self, edits=tuple(kept)), tuple(dropped)

    @property
    def key(self) -> bytes:
        """Tells them from others; a push depends on the semantic, too."""
        parts = [edit.key for edit in self.edits]
        pushes = any(edit.label is not None for edit in self.edits)
        parts += [self.semantic.encode()] if pushes else []
        return blake2b(b"".join(parts), digest_size=16).digest()

    @property
    def first(self) -> int:
        """The first word whose states may differ; all may where words are read backwards."""
        return min(edit.step for edit in self.edits) if self.session.model.causal else 0

    def check(self, edit: Edit) -> None:
        """Refuse what is not there."""
        if edit.kind not in self.kinds:
            wrong = "edit_prediction" if edit.kind == PREDICTION else "edit_kind"
            kind, known = repr(edit.kind), ", ".join(self.kinds)
            raise RnnlensError(message(wrong, kind=kind, known=known))
        unit = edit.units[0] if edit.units and len(edit.units) == 1 else None
        if unit is not None and f"{edit.kind}[{unit}]" in self.kinds:
            raise RnnlensError(message("edit_or_unit", kind=edit.kind, unit=unit))
        self._check_step(edit, edit.step, len(self.ids), message("edited_text"))
        self._check_side(edit.kind, edit.step, self.ids)
        if edit.freeze and not 0 <= self._step_before(edit) < len(self.ids):
            raise RnnlensError(message("edit_freeze", edit=edit, kind=edit.kind))
        if edit.freeze:
            self._check_side(edit.kind, self._step_before(edit), self.ids)
        if isinstance(edit.swap, Address):
            self._ids_of(edit, edit.swap)
        if edit.label is not None:
            self._direction(edit)

    def _check_side(self, kind: str, step: int, ids: Sequence[int]) -> None:
        """Of a pair, refuse a state of the source at a word of the target, and the reverse."""
        source = self.session.text.sources(ids)
        if source and (kind in self.session.model.source_kinds) != (step < source):
            side = "source" if step < source else "target"
            raise RnnlensError(message("no_state_of_side", column=kind, row=step + 1, side=side))

    @staticmethod
    def _check_step(edit: Edit, step: int, words: int, where: str) -> None:
        if step >= words:
            raise RnnlensError(
                message("edit_row", edit=edit, row=step + 1, where=where, count=words)
            )

    def _step_before(self, edit: Edit) -> int:
        return edit.step + (1 if self.kinds[edit.kind].reverse else -1)

    def state_edits(self) -> list[StateEdit]:
        """What the model is given for one trace."""
        changes: list[StateEdit] = []
        records: list[StateEdit] = []
        for edit in self.edits:
            if edit.freeze:
                kept = _Kept()
                records.append(StateEdit(edit.kind, self._step_before(edit), kept.keep))
                changes.append(StateEdit(edit.kind, edit.step, _among(edit, kept.put)))
            else:
                changes.append(StateEdit(edit.kind, edit.step, _among(edit, self._change(edit))))
        return changes + records  # what is kept is what other edits have made of it

    def check_size(self, logits: Tensor) -> None:
        """Refuse edits after which numbers are too large to compare or to draw."""
        if not bool((logits.abs() < _LARGEST).all()):  # nor are they where they are no numbers
            edits = ", ".join(map(str, self.edits))[: count("quoted_edit")]
            raise RnnlensError(message("edit_too_large", edits=edits))

    def _change(self, edit: Edit) -> Change:
        if edit.zero:
            return torch.zeros_like
        if edit.scale is not None:
            factor = edit.scale
            return lambda value: value * factor
        if edit.label is not None:
            within, push = self.kinds[edit.kind].within, self._direction(edit)
            return lambda value: within(value + push.to(value))
        if edit.swap is None:
            return _put(edit, torch.tensor(edit.set, dtype=torch.float64), edit.units)
        if isinstance(edit.swap, Address):
            return _put(edit, self._found(edit, edit.swap))
        return _put(edit, torch.from_numpy(np.array(edit.swap.vector())))

    def _found(self, edit: Edit, address: Address) -> Tensor:
        """The state at an address, without any edits."""
        ids = self._ids_of(edit, address)
        return self.session.read(ids, address.step, address.step + 1)[0][edit.kind][0]

    def _ids_of(self, edit: Edit, address: Address) -> Sequence[int]:
        """The words of the text that an address is in."""
        ids: Sequence[int] = self.ids
        if address.text is not None:
            ids = self.session.numbers(address.text, self.session.words(address.text))
        most = count("quoted_edit")
        where = message("edited_text") if address.text is None else repr(address.text[:most])
        self._check_step(edit, address.step, len(ids), where)
        self._check_side(edit.kind, address.step, ids)
        return ids

    def _direction(self, edit: Edit) -> Tensor:
        """What a push adds to a state, (H,): so many of the kind's deviations along its pattern."""
        label = edit.label or ""
        others = self.probes.answers if self.probes else {}
        answers = others.get(base(self.semantic), self.session.text.labels)
        place = number_of(label, answers.names)
        if self.probes is None or edit.kind not in self.probes.kinds:
            raise RnnlensError(message("edit_no_probe", kind=edit.kind))
        pattern = pattern_of(self.probes, edit.kind, place, self.semantic)
        pattern = _only(edit, pattern)
        sign = 1 if edit.push is not None else -1
        size = self.probes.spreads[edit.kind].size
        push: Tensor = pattern * (sign * edit.strength * size / max(float(pattern.norm()), _LEAST))
        return push


def pattern_of(probes: Probes, kind: str, label: int, semantic: str) -> Tensor:
    """How the states of a kind vary with a label's logit, (H,): covariance times probe's row.

    Moving along it moves a state as states do move where that label becomes more probable; the row
    itself would move it into where no state ever is.
    """
    spread = probes.spreads.get(kind)
    if spread is None and kind in probes.stacks[semantic].questions:
        raise RnnlensError(message("edit_asked", kind=kind))
    if spread is None:
        raise RnnlensError(message("edit_no_spread", kind=kind))
    weights = probes.rows(kind, [label], semantic)[0][0].float()
    return spread.covariance @ weights


class _Kept:
    """What a state was at one timestep, for another."""

    def __init__(self) -> None:
        self.value: Tensor | None = None

    def keep(self, value: Tensor) -> Tensor:
        self.value = value.clone()
        return value

    def put(self, value: Tensor) -> Tensor:
        return value if self.value is None else self.value


def _among(edit: Edit, change: Change) -> Change:
    """The change of those units that an edit names."""
    if edit.units is None:
        return change
    units = list(edit.units)

    def some(value: Tensor) -> Tensor:
        _check_units(edit, value.shape[-1])
        changed = value.clone()
        changed[..., units] = change(value)[..., units]
        return changed

    return some


def _check_units(edit: Edit, width: int) -> None:
    if max(edit.units or (0,)) >= width:
        unit = max(edit.units or ())
        raise RnnlensError(message("edit_unit", kind=edit.kind, count=width, unit=unit))


def _only(edit: Edit, vector: Tensor) -> Tensor:
    """A vector that is 0 but for the units that an edit names."""
    if edit.units is None:
        return vector
    _check_units(edit, len(vector))
    kept = torch.zeros_like(vector)
    kept[list(edit.units)] = vector[list(edit.units)]
    return kept


def _put(edit: Edit, values: Tensor, units: Sequence[int] | None = None) -> Change:
    """Put a number, or one for each of the units, in the place of a state."""

    def put(value: Tensor) -> Tensor:
        units_there = value.shape[-1] if units is None else len(units)
        if values.dim() and len(values) != units_there:
            given = {"given": len(values), "count": units_there}
            raise RnnlensError(message("edit_count", kind=edit.kind, **given))
        if units is None:
            return values.to(value).expand_as(value).clone()
        _check_units(edit, value.shape[-1])
        changed = value.clone()
        changed[..., list(units)] = values.to(value)
        return changed

    return put
