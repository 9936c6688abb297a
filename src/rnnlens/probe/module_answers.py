"""What the states of a user's module are asked about, by its targets and what it predicts."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from rnnlens.adapter.batches import LABELS, NOTHING, NUMBER, Batch
from rnnlens.adapter.user_model import UserModel, names_of
from rnnlens.base.errors import RnnlensError
from rnnlens.labels.sets import LabelSet, Scale
from rnnlens.model.traceable import Trace

_MANY = 100  # whole numbers: more of them are hardly labels


def own_answers(
    user: UserModel, batches: Mapping[str, Sequence[Batch]], trace: Trace, other: LabelSet | None
) -> LabelSet:
    """The labels of the module itself; where it predicts none of them, those of `other` targets."""
    first = batches["train"][0]
    if first.sort == NOTHING:
        return other or LabelSet(("",))
    count = trace.prediction.shape[-1]
    table = first.tables.get("output")
    if first.sort == NUMBER and table is not None:
        return _numbers(user, table, [b.targets for b in batches["train"]], count)
    if count == 1:
        raise RnnlensError(
            "the module predicts one number, and targets are whole numbers; give numbers as "
            "targets.float(), and of yes and no name both and give "
            "logits=lambda z: torch.cat([0 * z, z], -1)"
        )
    names = _names(user.labels, count)
    if len(names) != count:
        raise RnnlensError(
            f"the module predicts {count} labels and {len(names)} are named; name every one, or "
            "give logits= a function that picks the logits"
        )
    if table is not None and table.shape[1] != count:
        raise RnnlensError(
            f"the module predicts {count} labels and targets have an axis of {table.shape[1]}; "
            "give a 0 or 1 for each of them"
        )
    return LabelSet(names, several=first.sort == LABELS)


def _numbers(user: UserModel, table: Tensor, codes: Sequence[Tensor], count: int) -> LabelSet:
    """The bins of a module's numbers."""
    whole = bool((table == table.round()).all())
    if count > 1 and whole and len(table) <= max(_MANY, count):
        raise RnnlensError(
            f"targets are whole numbers, {table[0]:g} to {table[-1]:g}, kept as floats, and the "
            f"module predicts {count} labels; give them as labels: targets.long()"
        )
    if user.labels is not None or count > 1:
        named = f"labels= names {len(user.labels)}" if user.labels is not None else ""
        raise RnnlensError(
            "targets are numbers, of which the module must predict one, and "
            f"{named or f'it predicts {count}'}; leave labels= out, give logits= a function that "
            "picks the number, or give labels as targets"
        )
    if table.tolist() == [0, 1]:
        raise RnnlensError(
            "every target is 0 or 1, which are labels and no numbers; give targets.long() and "
            "logits=lambda z: torch.cat([0 * z, z], -1), with the names of no and yes"
        )
    scale = scale_of(table, codes)
    return LabelSet(scale.names, scale=scale)


def scale_of(table: Tensor, codes: Sequence[Tensor]) -> Scale:
    """The bins of all targets, which are places in a table of numbers."""
    there = [table[one[one >= 0].flatten().long().cpu()] for one in codes]
    values = [part for part in there if len(part)]
    if not values:
        raise RnnlensError("every target is ignored, so that there is nothing to learn from")
    return Scale.of(torch.cat(values))


def other_answers(
    batches: Sequence[Batch], names: Mapping[str, Sequence[str] | None]
) -> dict[str, LabelSet]:
    """What is asked beside the module's own labels, by semantic."""
    first = batches[0]
    if missing := [name for name in names if name not in first.others]:
        there = ", ".join(first.others) or "output alone"
        raise RnnlensError(
            f"targets= names {missing[0]!r}, and the batches have targets for {there}; give pairs "
            f"(inputs, {{'output': ..., '{missing[0]}': ...}})"
        )
    return {name: _other(name, batches, names.get(name)) for name in first.others}


def _other(name: str, batches: Sequence[Batch], names: Sequence[str] | None) -> LabelSet:
    table, codes = batches[0].tables.get(name), [batch.others[name] for batch in batches]
    if table is not None and table.dim() == 1:
        _check_numbers(name, table, names)
        scale = scale_of(table, codes)
        return LabelSet(scale.names, scale=scale)
    largest = max(int(one.max()) for one in codes)
    count = largest + 1 if table is None else table.shape[1]
    chosen = _names(None if names is None else names_of(names, f"targets={{{name!r}: ...}}"), count)
    if len(chosen) < count or (table is not None and len(chosen) > count):
        raise RnnlensError(
            f"the targets of {name} have {count} labels and {len(chosen)} are named; name every one"
        )
    if count < 2 and table is None:
        raise RnnlensError(
            f"the targets of {name} have a single label, so that there is nothing to tell apart; "
            "give more"
        )
    return LabelSet(chosen, several=table is not None)


def _check_numbers(name: str, table: Tensor, names: Sequence[str] | None) -> None:
    """Refuse floats that are labels, or that should be: numbers have no names."""
    if names is not None:
        raise RnnlensError(
            f"targets= names {len(names)} labels of {name}, whose targets are numbers and no sets "
            f"with a last axis of {len(names)}; leave the names out, or give one 0 or 1 for each"
        )
    if table.tolist() == [0, 1]:
        raise RnnlensError(
            f"every target of {name} is 0 or 1, which are labels and no numbers; give one label as "
            f"a whole number, or name all that may hold: targets={{{name!r}: [...]}}"
        )


def _names(given: Sequence[str] | None, count: int) -> tuple[str, ...]:
    return tuple(map(str, range(count) if given is None else given))
