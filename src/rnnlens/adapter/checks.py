"""The checks that refuse a trace: recomputed outputs that differ, states that are no numbers."""

from collections.abc import Iterable, Sequence

import torch

from rnnlens.adapter import modules
from rnnlens.adapter.record.part_trace import PartTraces
from rnnlens.adapter.record.parts import Part
from rnnlens.adapter.structure import Structure
from rnnlens.base.errors import RnnlensError
from rnnlens.model.cell import States
from rnnlens.model.traceable import StateEdit

_TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-4, torch.float16: 2e-2, torch.bfloat16: 1e-1}


def check_difference(parts: Iterable[Part]) -> None:
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
    return "name it in kinds= to read its output alone"


def check_order(now: set[str], first: Structure) -> None:
    """Refuse a batch that takes another way through the module than the first one."""
    different = sorted(now ^ set(first.order))
    if different:
        name = different[0].removesuffix("()") or "the module"
        had, has = ("not called", "called") if different[0] in now else ("called", "not called")
        raise RnnlensError(
            f"{name} was {had} for the first batch and is {has} for this one; use one adapter "
            "for each way through the module"
        )


def check_edits(edits: Sequence[StateEdit], states: States) -> None:
    """Refuse edits of timesteps that there are not."""
    for edit in edits:
        if not 0 <= edit.step < len(states[edit.kind]):
            raise RnnlensError(
                f"timestep {edit.step} of {edit.kind} cannot be edited: it has "
                f"{len(states[edit.kind])}, from 0"
            )


def check_finite(states: States, structure: Structure, traces: PartTraces) -> None:
    """Refuse states that are NaN or infinite; what lies past a sequence's end does not count."""
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
            raise RnnlensError(
                f"the states of {kind} are NaN or infinite, first at timestep {step} of sequence "
                f"{sequence}; look there for a division by zero, an overflow or a bad input"
            )
