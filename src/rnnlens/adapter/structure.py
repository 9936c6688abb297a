"""The kinds of a user's module: what its parts' states are called, and which feed which.

With one recurrent part the ids are plain, `x f1 i1 ... h1`; with several they begin with the part's
dotted name, `encoder.h1`, all but `x`, the input of the part that is called first. Where a later
part's input is not just an earlier one's output, it is a kind too, `decoder.x`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from rnnlens.adapter.axes.layout import assembled, close
from rnnlens.adapter.record.heard import Heard, Parts
from rnnlens.adapter.record.parts import Part, local
from rnnlens.errors import RnnlensError
from rnnlens.model.cells import Change, States
from rnnlens.model.kinds import EMBEDDING, Kind, Place, placed
from rnnlens.model.traceable import Edit, changes


@dataclass(frozen=True)
class Structure:
    """A module's kinds from input to output, and where each comes from."""

    kinds: tuple[Kind, ...]
    ids: dict[str, dict[str, str]]  # part -> the id within it -> the kind's id
    order: tuple[str, ...]  # parts and named submodules as they are called

    def changes(self, edits: Sequence[Edit]) -> dict[str, list[dict[int, Change]]]:
        """The edits of every part, per layer and direction, by timestep."""
        by_id = {kind.id: kind for kind in self.kinds if kind.letter not in ("", "x")}
        for edit in edits:
            if edit.kind not in by_id:
                raise RnnlensError(
                    f"{edit.kind!r} is no kind of a recurrent part that could be edited; there is "
                    + ", ".join(by_id)
                )
        found: dict[str, list[dict[int, Change]]] = {}
        for part, ids in self.ids.items():
            layers: dict[tuple[int, bool], dict[str, str]] = {}
            for kind in (by_id[id_] for id_ in ids.values() if id_ in by_id):
                layers.setdefault((kind.layer, kind.reverse), {})[kind.letter] = kind.id
            found[part] = [changes(edits, layer) for layer in layers.values()]
        return found

    def states(self, heard: Parts, named: States) -> States:
        """Kind -> (T, B, H), from input to output."""
        found = dict(named)
        for part, ids in self.ids.items():
            found |= {ids[kind]: v for kind, v in heard[part].piece.states.items() if kind in ids}
        return {kind.id: found[kind.id] for kind in self.kinds}


def structure(order: list[Heard | str], several: bool, embedded: list[Tensor]) -> Structure:
    """Name everything that was heard, in the order it was heard."""
    kinds: list[Kind] = []
    ids: dict[str, dict[str, str]] = {}
    earlier: list[Heard] = []
    layer = 0
    recurrent = any(isinstance(item, Heard) for item in order)
    for item in order:
        if isinstance(item, str):
            layer += 1 if earlier or not recurrent else 0
            kinds.append(Kind(item, item, item, f"output of {item}", (), layer))
            continue
        part = item.name if several else ""
        below, made = _input(item, earlier, ids, part, layer, embedded)
        kinds += made
        made, mine = _kinds(item.part, part, layer, below)
        kinds += made
        ids[item.name] = {"x": below[0]} | mine if not _taken(below, ids) else mine
        layer = max(kind.layer for kind in made)
        earlier.append(item)
    # The input comes first, whatever was named before the first recurrent part.
    kinds.sort(key=lambda kind: kind.id != EMBEDDING.id)
    return Structure(tuple(kinds), ids, tuple(_name(item) for item in order))


def _name(item: Heard | str) -> str:
    return item if isinstance(item, str) else f"{item.name}()"


def _taken(below: tuple[str, ...], ids: dict[str, dict[str, str]]) -> bool:
    return any(below[0] in mine.values() for mine in ids.values())


def _input(
    item: Heard, earlier: list[Heard], ids: dict[str, dict[str, str]], part: str, layer: int,
    embedded: list[Tensor],
) -> tuple[tuple[str, ...], list[Kind]]:  # fmt: skip
    """The kinds that are a part's input, and the one that it makes, if any."""
    x = item.piece.states["x"]
    if not earlier:
        if _is_embedding(item, embedded):
            return (EMBEDDING.id,), [EMBEDDING]
        where = item.name or "the module"
        return (EMBEDDING.id,), [replace(EMBEDDING, name="input", equation=f"x = input of {where}")]
    for other in reversed(earlier):
        if close(other.output, x):
            return tuple(ids[other.name][kind] for kind in other.tops), []
    kind = replace(
        EMBEDDING, id=f"{part}.x", name="input", equation=f"x = input of {item.name}",
        layer=layer + 1, part=part,
    )  # fmt: skip
    return (kind.id,), [kind]


def _is_embedding(item: Heard, embedded: list[Tensor]) -> bool:
    """Whether the input is just what the module's one embedding returned."""
    if not embedded or any(values.shape[-1:] != embedded[0].shape[-1:] for values in embedded):
        return False
    x, layout = item.piece.states["x"], item.layout
    fits = [layout.arrange(embedded[0])] if len(embedded) == 1 else []
    values = fits[0].values if fits and fits[0] is not None else None
    if values is None and len(embedded) > 1:
        values = assembled("the embedding", embedded, [layout], layout.batch_first)[0].values
    valid = layout.valid()
    if values is None or values.shape != x.shape:
        return False
    return torch.equal(values, x) if valid is None else torch.equal(values[valid], x[valid])


def _kinds(
    part: Part, name: str, layer: int, below: tuple[str, ...]
) -> tuple[list[Kind], dict[str, str]]:
    """A part's kinds, layer by layer, forwards before reverse; and id within the part -> id."""
    made: list[Kind] = []
    ids: dict[str, str] = {}
    count = len(part.weights) if hasattr(part.module, "num_layers") else 1
    for first in range(0, count, part.directions):
        number, tops = first // part.directions + 1, list[str]()
        for way in range(part.directions):
            place = Place(number, below, name, bool(way), layer + number)
            for kind in part.cell.kinds:
                described = part.cell.described(kind, part.weights[first + way])
                made.append(placed(described, place))
                ids[local(kind.id, number, bool(way))] = made[-1].id
            tops.append(place.id("h"))
        below = tuple(tops)
    return made, ids
