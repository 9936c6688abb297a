"""Stored probes: what their two files hold, and whether the tensors are those described."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal

import torch
from annotated_types import Ge, Le, Len, MaxLen
from torch import Tensor

from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import Count, Name, Settings, Sha, Strict
from rnnlens.base.tensors import Layouts
from rnnlens.corpus.vocabulary import MOST_LABELS
from rnnlens.labels.answers import Answers
from rnnlens.model.kinds import MOST_KINDS
from rnnlens.probe.semantics import base, of_model, parse
from rnnlens.probe.spread import Spread

_FLOATS = ("F16", "BF16", "F32", "F64")
_EXACT = ("/counts", "/mean", "/scale", "/deviation")  # for which half precision is too coarse
_WIDEST = 1 << 20  # numbers of a state


@dataclass(frozen=True)
class ProbesFile(Strict):
    """What probes.json holds."""

    family: Literal["linear", "shared"]
    kinds: Annotated[tuple[Name, ...], Len(1, MOST_KINDS)]
    semantics: Annotated[tuple[Name, ...], Len(1, 100)]
    labels: Annotated[int, Ge(1), Le(MOST_LABELS)]
    parameters: Count
    model: Sha  # of the weights that they were fitted to
    sha256: Sha  # of probes.safetensors
    made: Settings  # how they were fitted
    #: While they replace others: what was here of those, whose tensors may still be in place.
    previous: "ProbesFile | None" = None
    #: By semantic, what they ask for where that is not a label of the model.
    answers: Annotated[dict[Name, Answers], MaxLen(100)] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for names in (self.kinds, self.semantics):
            if len(set(names)) != len(names):
                raise ValueError("two names are the same")
        try:
            parse(",".join(self.semantics))
        except RnnlensError as error:
            raise ValueError(str(error)) from error
        others = {base(name) for name in self.semantics if not of_model(name)}
        if others != self.answers.keys():
            raise ValueError("the labels of a semantic are missing or too many")
        if self.previous and self.previous.previous:
            raise ValueError("there are several previous probes")


def halved(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors of probes in half precision, as far as that suffices."""
    return {name: t if name.endswith(_EXACT) else t.half() for name, t in tensors.items()}


def label_counts(
    semantics: Sequence[str], label_count: int, answers: Mapping[str, Answers]
) -> dict[str, int]:
    """How many labels each semantic asks for; `label_count` is that of the model."""
    return {
        semantic: label_count if of_model(semantic) else len(answers[base(semantic)])
        for semantic in semantics
    }


def check_layouts(layouts: Layouts, probes: tuple[str, Sequence[str], Mapping[str, int]]) -> None:
    """Raise ValueError where the names, shapes or types of a file's tensors are not those of
    probes with this family, these kinds, and semantics with so many labels each.
    """
    family, kinds, semantics = probes
    wanted: dict[str, tuple[int, ...]] = {}
    for semantic, label_count in semantics.items():
        wanted |= _shapes(layouts, family, kinds, semantic, label_count)
    if any(name.startswith("spread/") for name in layouts):  # older files have none
        for kind in kinds:
            weight = f"{next(iter(semantics))}/{kind}/weight"
            wanted |= Spread.shapes(kind, _columns(layouts, weight))
    if strange := sorted(layouts.keys() ^ wanted.keys()):
        raise ValueError(f"the tensor {strange[0]} is missing or too many")
    for name, shape in wanted.items():
        types = ("I64",) if name.endswith("/counts") else _FLOATS
        if layouts[name].shape != shape or layouts[name].dtype not in types:
            raise ValueError(f"{name} has another shape or type")


def _shapes(
    layouts: Layouts, family: str, kinds: Sequence[str], semantic: str, label_count: int
) -> dict[str, tuple[int, ...]]:
    """The shapes of one semantic's tensors; widths and the rank are those of the file."""
    wanted: dict[str, tuple[int, ...]] = {}
    rank = label_count
    if family == "shared":
        rank = _columns(layouts, f"{semantic}/labels")
        wanted[f"{semantic}/labels"] = (label_count, rank)
    if counts := layouts.get(f"{semantic}/counts"):  # older files have none
        several = len(counts.shape) == 2  # how often each label does not hold, and does
        wanted[f"{semantic}/counts"] = (2, label_count) if several else (label_count,)
    for kind in kinds:
        at = f"{semantic}/{kind}"
        width = _columns(layouts, f"{at}/weight")
        wanted |= {f"{at}/weight": (rank, width), f"{at}/bias": (rank,)}
        if f"{at}/mean" in layouts or f"{at}/scale" in layouts:  # older files have neither
            wanted |= {f"{at}/mean": (width,), f"{at}/scale": (width,)}
        if family == "shared":
            wanted[f"{at}/label_bias"] = (label_count,)
    return wanted


def _columns(layouts: Layouts, name: str) -> int:
    """The second axis of a matrix."""
    shape = layouts[name].shape if name in layouts else ()
    if len(shape) != 2 or not 0 < shape[1] <= _WIDEST:
        raise ValueError(f"{name} is no matrix")
    return shape[1]


def dtype_name(values: Tensor) -> str:
    """The name of a tensor's type in a file."""
    return {torch.float16: "F16", torch.bfloat16: "BF16", torch.float32: "F32",
            torch.float64: "F64", torch.int64: "I64"}.get(values.dtype, "")  # fmt: skip
