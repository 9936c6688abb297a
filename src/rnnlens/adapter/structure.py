"""The kinds of a user's module: the names of its parts' states, and which of them feed which.

With one recurrent part the ids are plain, `x f1 i1 ... h1`. With several they begin with the part's
dotted name, `encoder.h1`; only the input of the part that is called first is still `x`. The input
of a later part is a kind too, `decoder.x`, unless it is just the output of an earlier part.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from rnnlens.adapter import modules
from rnnlens.adapter.axes.layout import assembled, close
from rnnlens.adapter.record.capture import PartTrace, PartTraces
from rnnlens.adapter.record.parts import Part, local
from rnnlens.base.errors import RnnlensError
from rnnlens.model.cell import Change, States
from rnnlens.model.kinds import EMBEDDING, INPUT, JOINED, RESIDUAL, Kind, Place, placed
from rnnlens.model.kinds import joined as both_ways
from rnnlens.model.lazy import joined
from rnnlens.model.traceable import (
    Affine,
    Anatomy,
    Readout,
    RecurrentLayer,
    StateEdit,
    changes,
    check_edited_kinds,
)


@dataclass(frozen=True)
class Structure:
    """A module's kinds from input to output, and where each comes from."""

    kinds: tuple[Kind, ...]
    ids: dict[str, dict[str, str]]  # part -> the id within it -> the kind's id
    order: tuple[str, ...]  # parts and named submodules as they are called
    layers: tuple[RecurrentLayer, ...] = ()  # of all parts, as they are called

    def changes(self, edits: Sequence[StateEdit]) -> dict[str, list[dict[int, Change]]]:
        """The edits of every part, per layer and direction, by timestep."""
        check_edited_kinds(edits, self.kinds)
        by_id = {kind.id: kind for kind in self.kinds if kind.letter not in ("", INPUT)}
        by_part: dict[str, list[dict[int, Change]]] = {}
        for part, ids in self.ids.items():
            layers: dict[tuple[int, bool], dict[str, str]] = {}
            for kind in (by_id[id_] for id_ in ids.values() if id_ in by_id):
                layers.setdefault((kind.layer, kind.reverse), {})[kind.letter] = kind.id
            letters = list(layers.values())
            letters[0] |= {INPUT: ids[INPUT]} if INPUT in ids else {}  # what the first layer reads
            by_part[part] = [changes(edits, layer) for layer in letters]
        return by_part

    def states(self, traces: PartTraces, named: States) -> States:
        """Kind -> (T, B, H), from input to output."""
        parts = [(traces[part].piece.states, ids) for part, ids in self.ids.items()]
        own = (named, {name: name for name in named})
        return joined([kind.id for kind in self.kinds], own, *parts)


def structure_of(
    order: list[PartTrace | str],
    several: bool,
    embedded: list[Tensor],
    known: Mapping[str, Kind] | None = None,
) -> Structure:
    """Name the states of recurrent parts and of named submodules, in the order of their calls.

    `several` says whether there are several parts, so that ids need the part's name, and `embedded`
    holds the outputs of the module's one embedding. `known` are the kinds of submodules whose place
    is known.
    """
    kinds: list[Kind] = []
    ids: dict[str, dict[str, str]] = {}
    earlier: list[PartTrace] = []
    layers: list[RecurrentLayer] = []
    fed = set[str]()  # outputs that are just the input of a later part
    layer = 0
    recurrent = any(isinstance(item, PartTrace) for item in order)
    for item in order:
        if isinstance(item, str) and known and item in known:
            kinds.append(known[item])
            continue
        if isinstance(item, str):
            layer += 1 if earlier or not recurrent else 0
            kinds.append(Kind(item, item, item, f"output of {item}", (), layer))
            continue
        if item.part.number:
            some, ids[item.name], one = _scan_kinds(item.part, known or {})
            kinds, layers, layer = kinds + some, [*layers, one], item.part.number
            earlier.append(item)
            continue
        part = item.name if several else ""
        below = _source(item, earlier, ids)
        fed |= set(below)
        inputs = {}
        if not below:
            kind = _input(item, part, layer, embedded if not earlier else None)
            kinds.append(kind)
            below, inputs = (kind.id,), {INPUT: kind.id}
        part_kinds, part_ids, part_layers = _kinds(item.part, part, layer, below)
        kinds += part_kinds
        layers += part_layers
        ids[item.name] = inputs | part_ids
        layer = max(kind.layer for kind in part_kinds)
        earlier.append(item)
    # Within a stack of parts, as of layers, directions are joined where the stack ends.
    kinds = [k for k in kinds if k.letter != JOINED or fed.isdisjoint(e.kind for e in k.sources)]
    # The input comes first, whatever is named before the first recurrent part.
    kinds.sort(key=lambda kind: kind.id != EMBEDDING.id)
    names = (item if isinstance(item, str) else f"{item.name}()" for item in order)
    return Structure(tuple(kinds), ids, tuple(names), tuple(layers))


def _source(
    item: PartTrace, earlier: list[PartTrace], ids: dict[str, dict[str, str]]
) -> tuple[str, ...]:
    """The kinds of the earlier part whose output is just this part's input, if there is one."""
    for other in reversed(earlier):
        if close(other.output, item.piece.states[INPUT]):
            return tuple(ids[other.name][kind] for kind in other.tops)
    return ()


def _input(item: PartTrace, part: str, layer: int, embedded: list[Tensor] | None) -> Kind:
    """The kind that is a part's input; `embedded` is None for all parts but the first."""
    if embedded is not None and _is_embedding(item, embedded):
        return EMBEDDING
    equation = f"x = input of {item.name or 'the module'}"
    kind = replace(EMBEDDING, name="input", equation=equation)
    if embedded is not None:
        return kind
    return replace(kind, id=f"{part}.{INPUT}", layer=layer + 1, part=part)


def _is_embedding(item: PartTrace, embedded: list[Tensor]) -> bool:
    """Whether a part's input is just what the module's one embedding returns."""
    if not embedded or any(values.shape[-1:] != embedded[0].shape[-1:] for values in embedded):
        return False
    x, layout = item.piece.states[INPUT], item.layout
    if len(embedded) == 1:
        fit = layout.arrange(embedded[0])
    else:
        fit, _ = assembled("the embedding", embedded, [layout], layout.batch_first)
    if fit is None or fit.values.shape != x.shape:
        return False
    return torch.equal(layout.rows(fit.values), layout.rows(x))


def _kinds(
    part: Part, name: str, layer: int, below: tuple[str, ...]
) -> tuple[list[Kind], dict[str, str], list[RecurrentLayer]]:
    """A part's kinds, layer by layer, forwards before reverse; id within the part -> id; and its
    layers.
    """
    kinds: list[Kind] = []
    ids: dict[str, str] = {}
    layers: list[RecurrentLayer] = []
    for first in range(0, len(part.weights), part.directions):
        number, tops = first // part.directions + 1, list[str]()
        for way in range(part.directions):
            place = Place(number, below, name, bool(way), layer + number)
            for kind in part.cell.kinds:
                described = part.cell.described(kind, part.weights[first + way])
                kinds.append(placed(described, place))
                ids[local(kind.id, number, bool(way))] = kinds[-1].id
            letters = {kind.id: place.id(kind.id) for kind in part.cell.kinds}
            weights = part.weights[first + way]
            layers.append(RecurrentLayer(part.cell, weights, letters, below, bool(way)))
            tops.append(place.id(part.cell.output.id))
        below = tuple(tops)
    if part.directions > 1:
        kinds.append(both_ways(replace(place, reverse=False), part.cell.output))
        ids[local(JOINED, number, False)] = kinds[-1].id
    return kinds, ids, layers


def _scan_kinds(
    part: Part, known: Mapping[str, Kind]
) -> tuple[list[Kind], dict[str, str], RecurrentLayer]:
    """The kinds of a layer of a stack whose memory alone is known, not what goes on around it: its
    input is no kind.
    """
    below = f"{RESIDUAL}{part.number - 1}" if part.number > 1 else EMBEDDING.id
    place = Place(part.number, (below,) if below in known else ())
    kinds = [placed(part.cell.described(kind, part.weights[0]), place) for kind in part.cell.kinds]
    letters = {kind.id: place.id(kind.id) for kind in part.cell.kinds}
    ids = {local(letter, 1, reverse=False): id_ for letter, id_ in letters.items()}
    return kinds, ids, RecurrentLayer(part.cell, part.weights[0], letters, ())


def anatomy_of(
    module: nn.Module,
    kinds: Sequence[Kind],
    recurrence: Sequence[RecurrentLayer],
    readout: Readout | None,
    reads_words: bool,
) -> Anatomy:
    """The anatomy of a module with these kinds and layers; an error where a part is not known.

    That it computes no more than this is for whoever goes by it to check.
    """
    there = {kind.id for kind in kinds}
    layers = [layer for layer in recurrence if {*layer.ids.values()} <= there]
    known = {kind for layer in layers for kind in layer.ids.values()} | {EMBEDDING.id}
    for kind in kinds:
        if kind.id not in known and kind.letter != JOINED:
            raise RnnlensError(f"its {kind.id} is the {kind.equation}, which is no recurrent cell")
    embedding = modules.embedding(module)
    if reads_words and (embedding is None or kinds[0].equation != EMBEDDING.equation):
        raise RnnlensError("what its recurrent part reads is not just a row of one embedding")
    if reads_words and embedding is not None and embedding.max_norm is not None:
        raise RnnlensError(
            "its embedding has a max_norm, by which torch changes a word's row when it is read"
        )
    words = embedding.weight if embedding and reads_words else None
    if readout is None:
        return Anatomy(words, tuple(layers))
    maps = (Affine(readout.weight, readout.bias),)
    return Anatomy(words, tuple(layers), (readout.kind,), maps)
