"""The batches that users give, checked: what the module is fed, with targets as whole numbers."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isnan
from typing import Any, Self, TypeVar

import torch
from torch import Tensor

from rnnlens.adapter.axes.layout import is_whole
from rnnlens.base.errors import RnnlensError

NONE = -1  # the target of a state that is asked nothing
MOSTLY = 0.9
_LEAST_SETS = 8  # with one label each, before they are taken for that label alone
OUTPUT = "output"  # the semantic whose targets are the module's own
_RESERVED = ("input",)  # what it reads needs no targets
_MISSING = "missing"  # the form of targets that there are not
#: What a module predicts for a state or sequence: one of its labels, a set of them, a number, or
#: none of what it is asked for.
LABEL, LABELS, NUMBER, NOTHING = SORTS = ("label", "labels", "number", "nothing")


Pair = tuple[Any, Tensor]  # what a module is fed, and its targets
_Pair = TypeVar("_Pair", bound=Pair)


class Batch(Pair):
    """What a module is fed, and its targets: a whole number beside each state or sequence.

    A negative one is none. Numbers and sets of labels are whole numbers too: places in a table.
    """

    others: Mapping[str, Tensor]  # targets that are not the module's own, by semantic
    tables: Mapping[str, Tensor]  # by semantic: (S,) numbers, or (S, V) sets of labels

    def __new__(
        cls,
        inputs: Any,
        targets: Tensor,
        others: Mapping[str, Tensor] | None = None,
        tables: Mapping[str, Tensor] | None = None,
    ) -> Self:
        batch = super().__new__(cls, (inputs, targets))
        batch.others, batch.tables = others or {}, tables or {}
        return batch

    @property
    def inputs(self) -> Any:
        """What the module is fed."""
        return self[0]

    @property
    def targets(self) -> Tensor:
        """Of each state, or of each sequence."""
        return self[1]

    @classmethod
    def of(cls, pair: Pair) -> "Batch":
        """A pair, which may be one already."""
        return pair if isinstance(pair, Batch) else cls(*pair)

    @property
    def sort(self) -> str:
        """What the module predicts, by its targets; see `SORTS`."""
        if any(self.targets is other for other in self.others.values()):
            return NOTHING
        table = self.tables.get(OUTPUT)
        return LABEL if table is None else NUMBER if table.dim() == 1 else LABELS

    @property
    def forms(self) -> dict[str, str]:
        """What its targets are, in words, by semantic."""
        own = () if self.sort == NOTHING else (OUTPUT,)
        forms = {}
        for name in (*own, *self.others):
            table = self.tables.get(name)
            is_numbers = table is not None and table.dim() == 1
            forms[name] = form_of(is_numbers, 0 if table is None else table[0].numel())
        return forms


def form_of(numbers: bool, several: int) -> str:
    """What targets are: numbers, labels, or sets of `several` labels that hold or not."""
    return "numbers" if numbers else f"sets of {several} labels" if several else LABELS


def largest(batches: Sequence[_Pair]) -> _Pair:
    """The batch with most targets: from a single word or sequence hardly anything can be told."""
    return max(batches, key=lambda batch: batch[1].numel())


def most_telling(batches: Sequence[_Pair]) -> list[_Pair]:
    """The batches from which a module's axes are best told.

    The largest; the one with most padding, the first and the last, which show whether sequences of
    unequal lengths are sorted; and one whose targets have two axes of different sizes.
    """
    ragged = max(batches, key=lambda batch: int((batch[1] < 0).sum()))
    oblong = max(batches, key=lambda batch: len(set(batch[1].shape)))
    chosen = (largest(batches), ragged, batches[0], batches[-1], oblong)
    return list({id(batch): batch for batch in chosen}.values())


def words_of(inputs: Any, targets: Tensor) -> Tensor | None:
    """The words that a batch reads: a tensor of whole numbers beside its targets.

    Of several, the one whose next words are the targets, as in a decoder; else the one with most
    different numbers: masks and lengths have few.
    """
    candidates = [
        tensor for tensor in _tensors(inputs)
        if tensor.dim() in (1, 2) and is_whole(tensor) and _is_beside(tensor, targets)
    ]  # fmt: skip
    if len(candidates) < 2:
        return candidates[0] if candidates else None
    return max(candidates, key=lambda words: (_is_followed(words, targets), len(words.unique())))


def features_of(inputs: Any, targets: Tensor) -> Tensor | None:
    """The numbers (B, T) or features (B, T, I) that a batch reads in place of words; either may
    have time first.
    """
    for tensor in _tensors(inputs):
        rows = tensor[..., 0] if tensor.dim() == 3 else tensor
        if tensor.is_floating_point() and rows.dim() == 2 and _is_beside(rows, targets):
            return tensor
    return None


def read_of(inputs: Any, targets: Tensor) -> Tensor | None:
    """What a batch reads beside its targets: words, or numbers in their place."""
    words = words_of(inputs, targets)
    return features_of(inputs, targets) if words is None else words


def _is_followed(words: Tensor, targets: Tensor) -> bool:
    """Whether targets are mostly the next words, along either axis."""
    if words.shape != targets.shape:
        return False
    return any(follows_along(words, targets, axis) for axis in range(words.dim()))


def follows_along(words: Tensor, targets: Tensor, axis: int, least: int = 1) -> bool:
    """Whether targets, of the shape of words, are mostly the next words along an axis; not where
    fewer than `least` of them can be: of a few it may be so by chance.
    """
    steps = words.shape[axis] - 1
    wanted = targets.narrow(axis, 0, steps).to(words.device)
    right = (wanted == words.narrow(axis, 1, steps))[wanted >= 0].float()
    return len(right) >= least and bool(right.mean() > MOSTLY)


def _tensors(inputs: Any) -> Iterator[Tensor]:
    """The tensors that the module is fed, but not those deeper inside of them."""
    if isinstance(inputs, Tensor):
        yield inputs
    elif isinstance(inputs, Mapping):
        yield from _tensors(tuple(inputs.values()))
    elif isinstance(inputs, tuple | list):
        yield from (item for item in inputs if isinstance(item, Tensor))


def _is_beside(words: Tensor, targets: Tensor) -> bool:
    """Whether the shapes allow a target for each word, or for each sequence of words."""
    if tuple(words.shape) in (tuple(targets.shape), tuple(targets.shape)[::-1]):
        return True
    return words.dim() == 2 and targets.dim() == 1 and (
        len(targets) in words.shape or len(targets) == words.numel()
    )  # fmt: skip


def check_batches(
    batches: Iterable[Any],
    what: str = "batches",
    ignore_index: float | None = None,
    label_counts: Mapping[str, int] | None = None,
) -> list[Batch]:
    """The batches as a list, refused unless each is a pair of inputs and targets.

    Targets are a tensor, or several by semantic. Those that are `ignore_index` count as none, as
    negative labels do. `label_counts` are how many labels a semantic has, where that is known: a
    last axis of so many yes and no is a set of labels.
    """
    given = [_pair(batch) for batch in _listed(batches, what)]
    names = list(given[0][1]) if given else []
    for _, targets in given:
        if list(targets) != names:
            raise RnnlensError(
                f"one batch has targets for {', '.join(names)} and another for "
                f"{', '.join(targets)}; give all batches the same"
            )
    coded, tables = dict[str, list[Tensor]](), dict[str, Tensor]()
    for name in names:
        count = (label_counts or {}).get(name)
        coded[name], table = _coded([t[name] for _, t in given], ignore_index, count)
        if table is not None:
            tables[name] = table
    own = OUTPUT if OUTPUT in names else names[0] if names else ""
    return [
        Batch(
            inputs, coded[own][k], {n: coded[n][k] for n in names if n != OUTPUT}, tables
        )
        for k, (inputs, _) in enumerate(given)
    ]  # fmt: skip


def check_forms(batches: Sequence[Batch], wanted: Mapping[str, str], what: str) -> None:
    """Refuse targets of another form than `wanted`, which those of fitting have, by semantic.

    Targets that are not the module's own may be missing.
    """
    forms = batches[0].forms if batches else wanted
    own = {OUTPUT: _MISSING} if OUTPUT in {**forms, **wanted} else {}
    for name, form in {**own, **wanted}.items():
        given = forms.get(name, _MISSING if name == OUTPUT else form)
        if given != form:
            raise RnnlensError(
                f"the targets of {name} are {given} in {what}, and {form} where probes are fitted; "
                "give both the same"
            )


def _listed(batches: Iterable[Any], what: str) -> list[Any]:
    try:
        return list(batches)
    except TypeError as error:
        raise RnnlensError(
            f"{what} are pairs (what the module is fed, its targets), and not "
            f"{type(batches).__name__}; give a list of them"
        ) from error


def _pair(batch: Any) -> tuple[Any, dict[str, Tensor]]:
    """One batch as its user gives it, with its targets by semantic."""
    if not (isinstance(batch, tuple | list) and len(batch) == 2):
        raise RnnlensError(
            "every batch must be a pair: what the module is fed, and a tensor of targets; one "
            f"is {type(batch).__name__}"
        )
    inputs, targets = batch
    named = dict(targets) if isinstance(targets, Mapping) else {OUTPUT: targets}
    if not named or any(not isinstance(n, str) or n in _RESERVED for n in named):
        raise RnnlensError(
            f"a batch has targets for {', '.join(map(str, named)) or 'nothing'}; name them output, "
            "for the module's own, or as you like: {'output': y, 'tag': tags}"
        )
    for one in named.values():
        _check(one)
    return inputs, {name: _without_axis(one) for name, one in named.items()}


def _without_axis(targets: Tensor) -> Tensor:
    """Numbers as (B, T) or (B,), which many have as (B, T, 1) or (B, 1)."""
    alone = targets.is_floating_point() and targets.dim() > 1 and targets.shape[-1] == 1
    return targets.squeeze(-1) if alone else targets


def _check(targets: Any) -> None:
    """Refuse what cannot be targets, whatever the module predicts."""
    is_tensor = isinstance(targets, Tensor)
    sort = is_tensor and (
        is_whole(targets) or targets.is_floating_point() or targets.dtype == torch.bool
    )
    if not sort or targets.dim() not in (1, 2, 3):
        form = (
            f"{str(targets.dtype).removeprefix('torch.')} of shape {tuple(targets.shape)}"
            if is_tensor
            else type(targets).__name__
        )
        raise RnnlensError(
            "every batch must end with a tensor of targets, labels as whole numbers or else "
            f"floats, one for each state or sequence; one is {form}"
        )
    if not targets.numel():
        raise RnnlensError("a batch has no targets; leave empty batches out")
    if targets.device.type == "meta":
        raise RnnlensError("targets are on the meta device, without values; make them anew")


def _coded(
    targets: Sequence[Tensor], ignore_index: float | None, label_count: int | None
) -> tuple[list[Tensor], Tensor | None]:
    """Targets as whole numbers, and the table that these are places in, if any."""
    axes = {one.dim() == 3 for one in targets}
    is_set = all(_is_set(one, label_count) for one in targets)
    kinds = {one.is_floating_point() for one in targets}
    if len(axes) > 1 or (len(kinds) > 1 and not is_set):
        shapes = " and ".join(sorted({str(tuple(one.shape)) for one in targets})[:2])
        raise RnnlensError(
            f"targets are of several sorts, of shapes {shapes}, some whole numbers and some not; "
            "give all batches targets of one sort"
        )
    if is_set:
        return _coded_sets(targets)
    _check_signs(targets)
    if targets[0].is_floating_point():
        return _coded_numbers(targets, ignore_index)
    if ignore_index is None or targets[0].dtype == torch.bool:
        return [one.long() if one.dtype == torch.bool else one for one in targets], None
    return [one.masked_fill(one == ignore_index, NONE) for one in targets], None


def _check_signs(targets: Sequence[Tensor]) -> None:
    """Refuse -1 for no and 1 for yes: a negative label is none, and these are no numbers."""
    if all(bool(((one == 1) | (one == -1)).all()) for one in targets) and (
        len(torch.cat([one.flatten().cpu() for one in targets]).unique()) == 2
    ):
        raise RnnlensError(
            "every target is -1 or 1, and a negative label counts as none; give 0 for no and 1 for "
            "yes, (targets > 0).long(), and of a module with one logit "
            "logits=lambda z: torch.cat([0 * z, z], -1)"
        )


def _is_set(targets: Tensor, label_count: int | None) -> bool:
    """Whether the last axis is one of labels that hold or not.

    Whole numbers with two axes are labels, one for each state; floats may be either, and are sets
    where all batches have as many of them as there are labels, and not timesteps by chance.
    """
    if targets.dim() == 3:
        return True
    plain = is_whole(targets) or targets.dim() == 1
    return not plain and label_count == targets.shape[-1] > 1 and _is_binary(targets)


def _is_binary(targets: Tensor) -> bool:
    values = targets.float()
    there = values[~(values.isnan() | (values < 0))]
    return bool(((there == 0) | (there == 1)).all())


def _coded_sets(targets: Sequence[Tensor]) -> tuple[list[Tensor], Tensor]:
    """Sets of labels as places in a table of all that occur; a negative or NaN anywhere: none."""
    widths = {one.shape[-1] for one in targets}
    if len(widths) > 1 or not all(map(_is_binary, targets)):
        given = (
            f"of {' and '.join(map(str, sorted(widths)[:2]))} labels"
            if len(widths) > 1
            else "neither 0 nor 1 somewhere"
        )
        raise RnnlensError(
            f"targets with an axis of labels are {given}; give each label 1 where it holds and 0 "
            "where it does not; of several numbers, choose one: targets[..., 0]"
        )
    rows = [one.float().nan_to_num(NONE).flatten(0, -2) for one in targets]
    table, codes = torch.cat([r.cpu() for r in rows]).unique(dim=0, return_inverse=True)
    codes = codes.masked_fill((table < 0).any(1)[codes], NONE)
    there = table[(table >= 0).all(1)]
    if len(codes) >= _LEAST_SETS and len(there) > 1 and bool((there.sum(1) == 1).all()):
        raise RnnlensError(
            "exactly one label holds in every target, which is one label and no set of them; give "
            "its number: targets.argmax(-1)"
        )
    parts = codes.split([len(r) for r in rows])
    return [p.view(t.shape[:-1]) for p, t in zip(parts, targets, strict=True)], table.clamp_min(0)


def _coded_numbers(
    targets: Sequence[Tensor], ignore_index: float | None
) -> tuple[list[Tensor], Tensor]:
    """Numbers as places in a table of all that occur."""
    flat = torch.cat([one.flatten().cpu().double() for one in targets])
    none = torch.zeros_like(flat, dtype=torch.bool)
    if ignore_index is not None:
        none = flat.isnan() if isnan(ignore_index) else flat == ignore_index
    bad = ~none & ~flat.isfinite()
    if bool(bad.any()):
        raise RnnlensError(
            f"a target is {float(flat[bad][0])}; give numbers, and where there is no target one "
            "that ignore_index= names, as ignore_index=float('nan')"
        )
    table, codes = flat.masked_fill(none, 0).unique(return_inverse=True)
    codes = codes.masked_fill(none, NONE)
    parts = codes.split([one.numel() for one in targets])
    return [p.view(t.shape) for p, t in zip(parts, targets, strict=True)], table
