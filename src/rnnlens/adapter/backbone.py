"""The stack of layers of somebody else's model: where each recurrent layer stands in it, and what
else of it is worth reading: the embedding, the residual stream, and what attention and
feed-forward parts give.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from torch import nn

from rnnlens.adapter.modules import submodules
from rnnlens.model.kinds import EMBEDDING, MIXED, RESIDUAL, Edge, Kind

_PARTS = ("attention", "attn", "mlp", "moe", "feedforward", "feed_forward", "ffn")


@dataclass(frozen=True)
class Backbone:
    """A stack of layers."""

    numbers: Mapping[str, int] = field(
        default_factory=dict
    )  # a recurrent part -> its layer, from 1, each another
    named: Mapping[str, nn.Module] = field(default_factory=dict)  # a kind's id -> its submodule
    kinds: Mapping[str, Kind] = field(default_factory=dict)  # of these submodules, by id


def backbone_of(module: nn.Module, scans: Mapping[str, nn.Module]) -> Backbone:
    """The stack that holds these recurrent layers, by their dotted names."""
    every = submodules(module)
    stack = _stack(every, scans) if scans else ""
    if not stack:
        return Backbone(dict(zip(scans, range(1, len(scans) + 1), strict=True)))
    numbers: dict[str, int] = {}
    kinds: dict[str, tuple[Kind, nn.Module]] = {}
    embedding = _embedding(module, every)
    if embedding is not None:
        kinds[EMBEDDING.id] = EMBEDDING, embedding
    layers = [name for name in every if _inside(name, stack).isdigit()]
    last = 0  # the number of the layer before; one with several recurrent parts has one for each
    for layer in sorted(layers, key=lambda one: int(_inside(one, stack))):
        mixers = [name for name in scans if name == layer or _inside(name, layer)]
        own = {name: last + k for k, name in enumerate(mixers, 1)}
        for kind, part in _of_layer(every, layer, own, last):
            kinds[kind.id] = kind, part
        numbers |= own
        last += max(1, len(own))
    owner = stack.rpartition(".")[0]
    for name, part in every.items():
        if name.rpartition(".")[0] == owner and _is_norm(name.rpartition(".")[2]):
            edges = (Edge(f"{RESIDUAL}{last}"),)
            equation = f"output of {name}"
            kind = Kind(name, "normalised residual stream", name, equation, edges, last)
            kinds[name] = kind, part
    return Backbone(
        numbers,
        {id_: part for id_, (_, part) in kinds.items()},
        {id_: kind for id_, (kind, _) in kinds.items()},
    )


def _inside(name: str, module: str) -> str:
    """The name of a submodule within another; empty where it is not inside."""
    return name.removeprefix(f"{module}.") if name.startswith(f"{module}.") else ""


def _of_layer(
    every: Mapping[str, nn.Module], layer: str, mixers: Mapping[str, int], before: int
) -> Iterator[tuple[Kind, nn.Module]]:
    """What recurrent, attention and feed-forward parts of a layer give, and the residual stream;
    `mixers` are its recurrent parts with their numbers, `before` that of the layer before.
    """
    sources = [f"{RESIDUAL}{before}" if before else EMBEDDING.id]
    for name, number in mixers.items():
        sources.append(f"{MIXED}{number}")
        what = "recurrent part's output"
        yield _output(sources[-1], what, name, MIXED, number), every[name]
    number = before + max(1, len(mixers))
    for name, part in every.items():
        if name not in mixers and _is_part(_inside(name, layer), part):
            sources.append(name)
            yield _output(name, name, name, "", number), part
    if layer in mixers:  # what is added to its output is not seen
        return
    edges, residual = tuple(map(Edge, sources)), f"{RESIDUAL}{number}"
    yield _output(residual, "residual stream", layer, RESIDUAL, number, edges), every[layer]


def _output(
    id_: str, name: str, of: str, letter: str, number: int, edges: tuple[Edge, ...] = ()
) -> Kind:
    return Kind(id_, name, letter or of, f"output of {of}", edges, number, letter)


def _stack(every: Mapping[str, nn.Module], scans: Mapping[str, nn.Module]) -> str:
    """The dotted name of the list of layers that has them all; empty where there is none."""
    lists = [
        name for name, part in every.items()
        if isinstance(part, nn.ModuleList) and all(scan.startswith(f"{name}.") for scan in scans)
    ]  # fmt: skip
    return max(lists, key=len, default="")


def _embedding(module: nn.Module, every: Mapping[str, nn.Module]) -> nn.Module | None:
    given = getattr(module, "get_input_embeddings", None)
    if callable(given):
        found = given()
        return found if isinstance(found, nn.Module) else None
    return next((part for part in every.values() if isinstance(part, nn.Embedding)), None)


def _is_norm(name: str) -> bool:
    return "norm" in name.lower() or name.startswith("ln_")


def _is_part(name: str, part: nn.Module) -> bool:
    """Whether a submodule of a layer is its attention or its feed-forward part."""
    return bool(name) and "." not in name and (
        any(word in name.lower() for word in _PARTS)
        or any(word in type(part).__name__.lower() for word in _PARTS)
    ) and not _is_norm(name)  # fmt: skip
