"""G(kind, state): what a state of some kind says about the labels."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial, reduce
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from rnnlens.base.errors import RnnlensError
from rnnlens.base.tensors import (
    Layout,
    Layouts,
    blocks_of,
    from_bytes,
    in_bytes,
    in_range,
    steps_of,
)
from rnnlens.labels.sets import LabelSet
from rnnlens.model.packed import packed_product, version
from rnnlens.model.traceable import product
from rnnlens.probe.kernels import standardised_rows
from rnnlens.probe.memory_questions import Questions, question_names, questions_in
from rnnlens.probe.moments import Spread
from rnnlens.probe.probes_file import Bounds
from rnnlens.probe.semantics import base, of_model

_ALIGN = 16  # columns are a multiple of this, so that rows of weights begin at aligned addresses
_FLOATS, _WHOLE, _BYTES = ("F16", "BF16", "F32", "F64"), ("I32", "I64"), ("I8",)
_EXACT = ("/counts", "/mean", "/scale", "/deviation")  # for which half precision is too coarse
_IN_BYTES = ("/labels", "/packed")  # the large ones, for whose numbers bytes with steps suffice
_STEPS = "/steps"  # what is added to a tensor's name for those of its bytes
#: How exactly a file holds probes: as they were fitted; in half precision; or so that their label
#: matrices and correlations, which are most of a large file, take a byte a number.
Precision = Literal["single", "half", "byte"]
_WIDEST = 1 << 20  # numbers of a state
_NEVER = -1e4  # a logit whose probability is 0
_LOOKED_AT = 64  # labels whose rows tell whether a probe has learnt anything
_LIMITS = "limits"  # how a tensor is called that holds them while a fit is not finished


def product_into(x: Tensor, weight: Tensor, out: Tensor) -> None:
    """X (N, H) @ weight (V, H) transposed, into rows that may stand apart: on a GPU a copy of what
    is put elsewhere first would take as long as the product.
    """
    torch.mm(x, weight.T, out=out)


@dataclass(frozen=True)
class Stack:
    """The probes of all kinds under one semantic, side by side.

    They read prepared states: standardised, with a last coordinate of 1, so that biases are weights
    like others. `linear` probes map them straight to labels. `shared` ones map them to `rank`
    coordinates and one more for each kind that is 1 for that kind alone, and all kinds share one
    label matrix, whose last columns are therefore the kinds' biases.
    """

    kinds: tuple[str, ...]
    widths: tuple[int, ...]  # H of each kind
    mean: Tensor  # (K, columns), what is taken off a state
    scale: Tensor  # (K, columns), what it is then divided by
    map: Tensor  # (K, inner, columns), where inner are the labels or, shared, rank + K
    labels: Tensor | None = None  # (V, inner) of shared probes
    rank: int = 0  # of shared probes
    questions: Mapping[str, Questions] = field(default_factory=dict)  # to kinds that are matrices
    _parts: dict[str, tuple[Any, "_Part"]] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )

    def prepare(self, k: int, states: Tensor, rows: Tensor | None = None) -> Tensor:
        """States (N, H) of the k-th kind as the maps take them, (N, columns), or some `rows` of
        them; of a memory that is asked questions, its states or their answers.
        """
        states = self._answers(k, states)
        width, columns = self._width(k, states), self.map.shape[2]
        if rows is not None:
            mean, scale = self.mean[k], self.scale[k]
            return standardised_rows(states, rows, mean, scale, self.map.dtype)
        x = torch.zeros(len(states), columns, dtype=self.map.dtype, device=self.map.device)
        x[:, :width] = (states - self.mean[k, :width]) / self.scale[k, :width]
        x[:, width] = 1
        return x

    def sizes(self, k: int, states: Tensor) -> Tensor:
        """How far states (N, H) of the k-th kind lie from the middle of those of the fit, (N,): the
        root mean square of their units, each over its deviation.
        """
        return _size(self.prepare(k, states)[:, : self.widths[k]], self.widths[k])

    def logits(self, k: int, x: Tensor) -> Tensor:
        """The paper's G before the softmax: of the k-th kind, (N, V), from prepared states."""
        z = product(x, self.map[k])
        return z if self.labels is None else product(z, self.labels)

    def rows(self, k: int, labels: Sequence[int]) -> Tensor:
        """What prepared states of the k-th kind are multiplied by for some labels, (N, columns)."""
        if self.labels is None:
            return self.map[k, list(labels)]
        return self.labels[list(labels)] @ self.map[k]

    def silent(self) -> frozenset[str]:
        """The kinds whose probes say the same of every state: the frequencies of labels."""
        learnt = self.map[:, :_LOOKED_AT] if self.labels is None else self.map[:, : self.rank]
        return frozenset(
            kind for k, (kind, width) in enumerate(zip(self.kinds, self.widths, strict=True))
            if not bool(learnt[k, :, :width].any())
        )  # fmt: skip

    def without(self, label: int, kinds: Collection[str]) -> "Stack":
        """A copy in which some kinds never say a label: what they say of the others, given that it
        is one of these.
        """
        at = [k for k, kind in enumerate(self.kinds) if kind in kinds]
        if self.labels is not None:
            labels = self.labels.clone()
            labels[label, [self.rank + k for k in at]] = _NEVER
            return replace(self, labels=labels)
        map_ = self.map.clone()
        for k in at:
            map_[k, label, self.widths[k]] = _NEVER
        return replace(self, map=map_)

    def pieces(self, states: Mapping[str, Tensor], size: int) -> list["Piece"]:
        """The kinds that states are given of, in their order here: pieces of at most `size` states,
        whose logits are computed when they are asked for.
        """
        if self.labels is not None and not states.keys().isdisjoint(self.kinds):
            z, sizes = self._narrow(states)
            return [Piece(len(some), partial(packed_product, some, self.labels), s)
                    for some, s in zip(z.split(size), sizes.split(size), strict=True)]  # fmt: skip
        return [
            Piece(len(x), partial(product, x, self.map[k]), _size(x[:, :width], width))
            for k, (kind, width) in enumerate(zip(self.kinds, self.widths, strict=True))
            if kind in states
            for x in self.prepare(k, states[kind]).split(size)
        ]

    def side_by_side(self, states: Mapping[str, Tensor]) -> Tensor:
        """States (N, H) of every kind as `of_all` takes them, (N, kinds, numbers)."""
        if self.labels is None:
            every = [self.prepare(k, states[kind]) for k, kind in enumerate(self.kinds)]
            return torch.stack(every, 1)
        z = self._narrow({kind: states[kind] for kind in self.kinds})[0]
        by_kind = z.view(len(self.kinds), -1, z.shape[-1])
        return by_kind.transpose(0, 1).contiguous()

    def of_all(self, x: Tensor) -> Tensor:
        """The logits of words that are ready, (N * kinds, V): of all kinds of a word, then of the
        next.
        """
        if self.labels is not None:
            return packed_product(x.flatten(0, 1), self.labels)
        logits = x.new_empty(*x.shape[:2], self.map.shape[1])
        for k in range(len(self.kinds)):
            if x.device.type == "cpu":
                logits[:, k] = product(x[:, k], self.map[k])
            else:
                product_into(x[:, k], self.map[k], logits[:, k])
        return logits.flatten(0, 1)

    def _narrow(self, states: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        """The states of some kinds through their maps, (N of all these kinds, inner), and their
        sizes, (N,).
        """
        there = tuple(k for k, kind in enumerate(self.kinds) if kind in states)
        every = [self._answers(k, states[self.kinds[k]]) for k in there]
        counts = [len(some) for some in every]
        precise = reduce(torch.promote_types, {some.dtype for some in every}, self.map.dtype)
        part, most = self._part(there), max(counts)
        widths = [self._width(k, some) for k, some in zip(there, every, strict=True)]
        if min(counts) == most and len({*widths}) == 1:
            x = torch.stack(every).to(precise)
        else:
            x = self.map.new_zeros(len(every), most, max(widths), dtype=precise)
            for at, some in enumerate(every):
                x[at, : counts[at], : widths[at]] = some
        x.sub_(part.mean).div_(part.scale)  # which are 0 and 1 beside
        sizes = _size(x, part.widths)  # (kinds, N at most)
        z = torch.baddbmm(part.bias, x.to(self.map.dtype), part.map)
        if min(counts) == most:
            return z.flatten(0, 1), sizes.flatten()
        narrow, known = zip(
            *((z[at, :n], sizes[at, :n]) for at, n in enumerate(counts)), strict=True
        )
        return torch.cat(narrow), torch.cat(known)

    def _part(self, there: tuple[int, ...]) -> "_Part":
        """What some kinds are prepared and mapped by; those asked for last are at hand as long as
        nothing of them changes.
        """
        if self.map.is_inference():  # of which nobody counts changes
            return _Part.of(self, there)
        same = (there, *(version(one) for one in (self.mean, self.scale, self.map)))
        held = self._parts.get("last")
        if held is None or held[0] != same:
            held = self._parts["last"] = same, _Part.of(self, there)
        return held[1]

    def _answers(self, k: int, states: Tensor) -> Tensor:
        """What the probe of the k-th kind reads of states: of a memory the answers, which may have
        been given already.
        """
        asked = self.questions.get(self.kinds[k])
        whole = asked is not None and states.shape[-1] == asked.matrix.numbers
        return asked(states) if whole and asked else states

    def _width(self, k: int, states: Tensor) -> int:
        """The width of the k-th kind; an error where these states have another."""
        if states.shape[-1] != self.widths[k]:
            raise RnnlensError(
                f"{self.kinds[k]} has {states.shape[-1]} numbers, and its probe reads "
                f"{self.widths[k]}; fit the probes anew"
            )
        return self.widths[k]

    def to(self, device: torch.device) -> "Stack":
        """A copy on a device."""
        moved = {name: getattr(self, name).to(device) for name in ("mean", "scale", "map")}
        questions = {kind: asked.to(device) for kind, asked in self.questions.items()}
        labels = None if self.labels is None else self.labels.to(device)
        return replace(self, **moved, labels=labels, questions=questions)

    def tensors(self, semantic: str) -> dict[str, Tensor]:
        """All tensors by their names in a file."""
        named: dict[str, Tensor] = {}
        inner = slice(self.rank or None)
        if self.labels is not None:
            named[f"{semantic}/labels"] = self.labels[:, inner]
        for k, (kind, width) in enumerate(zip(self.kinds, self.widths, strict=True)):
            at = f"{semantic}/{kind}"
            named[f"{at}/weight"], named[f"{at}/bias"] = (
                self.map[k, inner, :width], self.map[k, inner, width]
            )  # fmt: skip
            named[f"{at}/mean"], named[f"{at}/scale"] = self.mean[k, :width], self.scale[k, :width]
            if self.labels is not None:
                named[f"{at}/label_bias"] = self.labels[:, self.rank + k]
            if kind in self.questions:
                named |= self.questions[kind].named(at)
        return {name: t.contiguous() for name, t in named.items()}

    @classmethod
    def of(cls, tensors: Mapping[str, Tensor], semantic: str, kinds: Sequence[str]) -> "Stack":
        """The inverse of `tensors`; older files have no means and scales, and take states as is."""
        weights = [tensors[f"{semantic}/{kind}/weight"] for kind in kinds]
        widths = tuple(weight.shape[1] for weight in weights)
        columns = -(-(max(widths) + 1) // _ALIGN) * _ALIGN
        rows, count = len(weights[0]), len(kinds)
        shared = tensors.get(f"{semantic}/labels")
        inner = rows if shared is None else rows + count
        map_ = torch.zeros(count, inner, columns, dtype=torch.float32)
        mean = torch.zeros(count, columns, dtype=torch.float32)
        scale = torch.ones(count, columns, dtype=torch.float32)
        for k, (kind, width) in enumerate(zip(kinds, widths, strict=True)):
            at = f"{semantic}/{kind}"
            map_[k, :rows, :width], map_[k, :rows, width] = weights[k], tensors[f"{at}/bias"]
            if shared is not None:
                map_[k, rows + k, width] = 1
            if f"{at}/mean" in tensors:
                mean[k, :width], scale[k, :width] = tensors[f"{at}/mean"], tensors[f"{at}/scale"]
        named = zip(kinds, widths, strict=True)
        asked = {kind: questions_in(tensors, f"{semantic}/{kind}", width) for kind, width in named}
        questions = {kind: some for kind, some in asked.items() if some is not None}
        if shared is None:
            return cls(tuple(kinds), widths, mean, scale, map_, questions=questions)
        biases = torch.stack([tensors[f"{semantic}/{kind}/label_bias"] for kind in kinds], 1)
        labels = torch.cat([shared.float(), biases.float()], 1)
        return cls(tuple(kinds), widths, mean, scale, map_, labels, rows, questions)


class _Part(NamedTuple):
    """What the states of some kinds are prepared and mapped by, one after the other."""

    mean: Tensor  # (kinds, 1, H of the widest)
    scale: Tensor  # (kinds, 1, H)
    map: Tensor  # (kinds, H, inner)
    bias: Tensor  # (kinds, 1, inner)
    widths: Tensor  # (kinds, 1)

    @classmethod
    def of(cls, stack: Stack, there: Sequence[int]) -> "_Part":
        """Those with these numbers."""
        numbers, widths = list(there), [stack.widths[k] for k in there]
        units, device = slice(max(widths)), stack.map.device
        with torch.inference_mode(False), torch.no_grad():  # it serves whoever learns, too
            at = torch.tensor(widths, device=device)[:, None]
            beside = torch.arange(max(widths), device=device) >= at  # of the narrower kinds
            map_ = stack.map[numbers, :, units].mT.contiguous().masked_fill_(beside[..., None], 0)
            bias = torch.stack([stack.map[k, :, stack.widths[k]] for k in there])
            mean, scale = stack.mean[numbers, None, units], stack.scale[numbers, None, units]
            return cls(mean, scale, map_, bias[:, None], at)


def _size(x: Tensor, width: "Tensor | int") -> Tensor:
    """The root mean square of standardised states (..., units), `width` of which are units."""
    size: Tensor = (torch.linalg.vecdot(x, x) / width).sqrt().float()
    return size


@dataclass(frozen=True)
class Piece:
    """Some states, and a function that computes their logits."""

    count: int
    logits: Callable[[], Tensor]  # (count, V)
    sizes: Tensor  # (count,), as `Stack.sizes` has them; NaN for the model's own prediction
    own: Tensor | None = None  # (count,) the model's own numbers, where these are its prediction

    @classmethod
    def join(cls, pieces: Sequence["Piece"]) -> "Piece":
        """Several as one."""
        count, sizes = sum(piece.count for piece in pieces), [piece.sizes for piece in pieces]
        own = cls.numbers(pieces)
        return cls(count, lambda: torch.cat([p.logits() for p in pieces]), torch.cat(sizes), own)

    @staticmethod
    def numbers(pieces: Sequence["Piece"]) -> Tensor | None:
        """The model's own numbers in some pieces, NaN beside states; None: there are none."""
        if all(piece.own is None for piece in pieces):
            return None
        every = (torch.full((p.count,), torch.nan) if p.own is None else p.own for p in pieces)
        return torch.cat(list(every))


@dataclass(frozen=True)
class Probes:
    """Fitted probes of one family for some kinds and semantics.

    `linear`: one softmax regression a kind, as in the paper. `shared`: an affine map a kind into a
    small space, one label matrix for all kinds, and a bias a kind. Both are linear in the state.
    """

    family: str
    kinds: tuple[str, ...]
    label_count: int  # of the model itself
    stacks: Mapping[str, Stack]  # by semantic
    counts: Mapping[str, Tensor] = field(default_factory=dict)  # (V,) of labels in training
    spreads: Mapping[str, Spread] = field(default_factory=dict)  # by kind; older probes have none
    answers: Mapping[str, LabelSet] = field(default_factory=dict)  # that are not the model's labels
    limits: Mapping[str, Mapping[str, Bounds]] = field(default_factory=dict)  # by semantic and kind
    #: Of numbers, what intervals are widened by; `y` is among the kinds. Older probes have none.
    widths: Mapping[str, Mapping[str, tuple[float, ...]]] = field(default_factory=dict)

    @property
    def semantics(self) -> tuple[str, ...]:
        """The semantics that there are probes for."""
        return tuple(self.stacks)

    def logits(self, kind: str, states: Tensor, semantic: str = "output") -> Tensor:
        """The paper's G before the softmax: (..., H) -> (..., labels)."""
        self._check(kind, semantic)
        stack, k = self.stacks[semantic], self.kinds.index(kind)
        rows = stack.logits(k, stack.prepare(k, states.reshape(-1, states.shape[-1])))
        return rows.view(*states.shape[:-1], -1)

    def _check(self, kind: str, semantic: str) -> None:
        if kind not in self.kinds or semantic not in self.stacks:
            raise RnnlensError(
                f"no probe for kind {kind!r} and semantic {semantic!r}; there are kinds "
                f"{', '.join(self.kinds)} and semantics {', '.join(self.semantics)}"
            )

    def rows(
        self, kind: str, labels: Sequence[int], semantic: str = "output"
    ) -> tuple[Tensor, Tensor]:
        """What the logits of some labels are of a state: weights (N, H) and constants (N,), so that
        a logit is weights @ state + constant.
        """
        self._check(kind, semantic)
        stack, k = self.stacks[semantic], self.kinds.index(kind)
        rows = stack.rows(k, list(labels)).double()  # (N, columns)
        width = stack.widths[k]
        weights = rows[:, :width] / stack.scale[k, :width]
        constants = rows[:, width] - weights @ stack.mean[k, :width].double()
        asked = stack.questions.get(kind)
        return asked.lifted(weights) if asked else weights, constants

    def without(self, label: int, kinds: Collection[str]) -> "Probes":
        """A copy in which some kinds never say a label of the model."""
        stacks = {
            name: stack.without(label, kinds) if of_model(name) else stack
            for name, stack in self.stacks.items()
        }
        return replace(self, stacks=stacks)

    @property
    def parameters(self) -> int:
        """How many numbers fitting has chosen."""
        fixed = ("/counts", "/mean", "/scale", "/deviation", "/packed")
        return sum(t.numel() for name, t in self.tensors().items() if not name.endswith(fixed))

    def to(self, device: torch.device) -> "Probes":
        """A copy on a device."""
        return replace(self, stacks={name: s.to(device) for name, s in self.stacks.items()})

    def tensors(self) -> dict[str, Tensor]:
        """All tensors by their names in a file."""
        named = {f"{semantic}/counts": counts for semantic, counts in self.counts.items()}
        for semantic, stack in self.stacks.items():
            named |= stack.tensors(semantic)
        for kind, spread in self.spreads.items():
            named |= spread.tensors(kind)
        return named

    def to_json(self) -> dict[str, Any]:
        """The description of the probes in probes.json."""
        answers = {name: asdict(one) for name, one in self.answers.items()}
        return {
            "family": self.family,
            "kinds": self.kinds,
            "semantics": self.semantics,
            "labels": self.label_count,
            "parameters": self.parameters,
        } | {
            name: value
            for name, value in (
                ("answers", answers), (_LIMITS, self.limits), ("widths", self.widths),
            )
            if value
        }  # fmt: skip

    @classmethod
    def of(
        cls, family: str, kinds: Sequence[str], semantics: Sequence[str], label_count: int,
        tensors: Mapping[str, Tensor], answers: Mapping[str, LabelSet] | None = None,
        limits: Mapping[str, Mapping[str, Bounds]] | None = None, *, any_size: bool = False,
    ) -> "Probes":  # fmt: skip
        """The inverse of `tensors`; an error where these do not fit together or, unless they may be
        of any size, are more than a file may hold. Limits may be among the tensors of a fit.
        """
        limits = limits or _limits_among(tensors, semantics, kinds)
        tensors = {name: t for name, t in tensors.items() if not name.endswith(f"/{_LIMITS}")}
        layouts = {name: Layout(dtype_name(t), tuple(t.shape)) for name, t in tensors.items()}
        try:
            counts_of = label_counts(semantics, label_count, answers or {})
            check_layouts(layouts, (family, kinds, counts_of))
        except ValueError as error:
            raise RnnlensError(f"the probes are damaged ({error}); fit them anew") from error
        divisors = (t for name, t in tensors.items() if name.endswith(("/scale", _STEPS)))
        moving = all((t > 0).all() for t in divisors)
        tensors = _whole(tensors)
        if not (any_size or (in_range(tensors) and moving)):
            raise RnnlensError("the probes hold weights that are not numbers; fit them anew")
        stacks = {semantic: Stack.of(tensors, semantic, kinds) for semantic in semantics}
        counts = {s: tensors[f"{s}/counts"].long() for s in semantics if f"{s}/counts" in tensors}
        read = {kind: Spread.read(tensors, kind) for kind in kinds}
        spreads = {kind: spread for kind, spread in read.items() if spread is not None}
        found = dict(answers or {})
        return cls(family, tuple(kinds), label_count, stacks, counts, spreads, found, limits)


def limit_tensors(semantic: str, limits: Mapping[str, Bounds]) -> dict[str, Tensor]:
    """The limits of a semantic's kinds as tensors, by their names in the file of a fit."""
    values = {f"{semantic}/{kind}/{_LIMITS}": limit for kind, limit in limits.items()}
    return {name: torch.tensor(limit, dtype=torch.float64) for name, limit in values.items()}


def _limits_among(
    tensors: Mapping[str, Tensor], semantics: Sequence[str], kinds: Sequence[str]
) -> dict[str, dict[str, Bounds]]:
    """The inverse of `limit_tensors`; of a fit that an older version began there may be none."""
    found: dict[str, dict[str, Bounds]] = {}
    for semantic in semantics:
        names = [f"{semantic}/{kind}/{_LIMITS}" for kind in kinds]
        if all(name in tensors and tensors[name].shape == (2,) for name in names):
            values = (tensors[name].tolist() for name in names)
            found[semantic] = {kind: (v[0], v[1]) for kind, v in zip(kinds, values, strict=True)}
    return found


def stored(tensors: Mapping[str, Tensor], precision: Precision) -> dict[str, Tensor]:
    """The tensors of probes as a file holds them; what is too coarse for a tensor is not done."""
    if precision == "single":
        return dict(tensors)
    held = {name: t if name.endswith(_EXACT) else t.half() for name, t in tensors.items()}
    if precision == "byte":
        for name, t in tensors.items():
            if name.endswith(_IN_BYTES):
                # A published file rounds steps to more digits than these have: it holds the same.
                steps = steps_of(t.float()).bfloat16()
                held[name], held[name + _STEPS] = in_bytes(t.float(), steps.float()), steps
            elif name.endswith("/counts") and int(t.max()) <= torch.iinfo(torch.int32).max:
                held[name] = t.int()
    return held


def _whole(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors of probes without those of steps, which bytes are multiplied by."""
    return {
        name: from_bytes(t, tensors[name + _STEPS]) if name + _STEPS in tensors else t
        for name, t in tensors.items()
        if not name.endswith(_STEPS)
    }


def label_counts(
    semantics: Sequence[str], label_count: int, answers: Mapping[str, LabelSet]
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
            at = f"{next(iter(semantics))}/{kind}"
            if not any(name in layouts for name in question_names(at)):  # whose answers have none
                wanted |= Spread.shapes(kind, _columns(layouts, f"{at}/weight"))
    held = {name for name in wanted if name.endswith(_IN_BYTES) and _is_bytes(layouts, name)}
    for name in held:
        *rows, columns = wanted[name]
        wanted[name + _STEPS] = (*rows, blocks_of(columns))
    if strange := sorted(layouts.keys() ^ wanted.keys()):
        raise ValueError(f"the tensor {strange[0]} is missing or too many")
    for name, shape in wanted.items():
        types = _WHOLE if name.endswith("/counts") else _BYTES if name in held else _FLOATS
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
        wanted |= _questions(layouts, at, width)
    return wanted


def _questions(layouts: Layouts, at: str, width: int) -> dict[str, tuple[int, ...]]:
    """The shape of a kind's questions, of which a file has none or one sort."""
    found = [name for name in question_names(at) if name in layouts]
    if not found:
        return {}
    shape = layouts[found[0]].shape
    sound = len(found) == 1 and len(shape) == 3 and min(shape) > 0 and max(shape) <= _WIDEST
    if not sound or width % (shape[0] * shape[2]) or width // shape[2] * shape[1] > _WIDEST * 16:
        raise ValueError(f"{found[0]} are no questions")
    return {found[0]: shape}


def _is_bytes(layouts: Layouts, name: str) -> bool:
    """Whether a tensor is there, and its numbers are multiples of steps."""
    return name in layouts and layouts[name].dtype in _BYTES


def _columns(layouts: Layouts, name: str) -> int:
    """The second axis of a matrix."""
    shape = layouts[name].shape if name in layouts else ()
    if len(shape) != 2 or not 0 < shape[1] <= _WIDEST:
        raise ValueError(f"{name} is no matrix")
    return shape[1]


def dtype_name(values: Tensor) -> str:
    """The name of a tensor's type in a file."""
    return {torch.float16: "F16", torch.bfloat16: "BF16", torch.float32: "F32",
            torch.float64: "F64", torch.int64: "I64", torch.int32: "I32", torch.int8: "I8",
            }.get(values.dtype, "")  # fmt: skip
