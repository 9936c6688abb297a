"""What was measured of each cell, as its page and its picture have it: means or least and most."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scripts.memories.items import LANGUAGE
from scripts.memories.tasks import TASKS

from rnnlens.model.cells import CELLS

Seeds = list[dict[str, Any]]  # the numbers of each
ROLES = ("embedding", "decay", "written", "kept", "erased", "memory", "read", "sum", "output")
SHARES = ("decayed", "erased", "written")  # of a memory, by a word


def roles(cell: str, layer: int) -> dict[str, str]:
    """Which kinds of a layer play which part."""
    kinds = CELLS[cell].kinds
    found = {}
    if memory := next((kind for kind in kinds if kind.memory), None):
        assert memory.memory  # as it was chosen by
        how = memory.memory
        found = {"decay": how.decay, "written": how.write, "kept": how.kept, "erased": how.erased,
                 "memory": memory.id}  # fmt: skip
    for kind in kinds:
        if kind.id == "r" and kind.name == "read":  # of a GRU it is a gate
            found["read"] = kind.id
        elif kind.id == "t":
            found["sum"] = kind.id
    found["output"] = CELLS[cell].output.id
    named = {name: f"{letter}{layer}" for name, letter in found.items() if letter}
    return {"embedding": "x", **named} if layer == 1 else named


def own(numbers: Mapping[str, Any]) -> float:
    """The test perplexity of a network."""
    return float(numbers["model"]["test"]["perplexity"])


def summary(found: Mapping[str, Mapping[str, Seeds]]) -> dict[str, dict[str, Any]]:
    """What was measured of each cell: on language where that was asked, and on tasks."""
    cells = dict.fromkeys(cell for data in found.values() for cell in data)
    told = {}
    for cell in cells:
        tasks = {task: found.get(task, {}).get(cell, []) for task in TASKS}
        beyond = {task: [one["accuracy"]["beyond"] for one in seeds if "accuracy" in one]
                  for task, seeds in tasks.items()}  # fmt: skip
        language = found.get(LANGUAGE, {}).get(cell, [])
        told[cell] = (of_language(cell, language) if language else {}) | {
            "tasks": {task: _ends(values) for task, values in beyond.items() if values}
        }
    return told


def of_language(cell: str, seeds: Seeds) -> dict[str, Any]:
    """Test perplexities of all seeds; by layer what its parts say, and how its memory lasts."""
    asked = [one for one in seeds if "kinds" in one]
    lasting = [one for one in seeds if {"half_lives", "lost"} <= one.keys()]
    return {
        "test": [own(one) for one in seeds],
        "seeds": len(asked),
        "layers": [
            _parts(cell, layer, asked) | _lasts(cell, layer, lasting)
            for layer in range(1, seeds[0]["layers"] + 1)
        ],
    }


def _parts(cell: str, layer: int, seeds: Seeds) -> dict[str, Any]:
    """Of each part of a layer the perplexity of its probes over the network's own, how far seeds
    are apart in that, and how much of it is used.
    """
    found = {}
    for role, kind in roles(cell, layer).items():
        over = [one["kinds"][kind]["perplexity"] / own(one) for one in seeds
                if kind in one["kinds"]]  # fmt: skip
        uses = [one["used"][kind]["used"] for one in seeds if kind in one.get("used", {})]
        if over:
            found[role] = {"kind": kind, "over": _mean(over)}
            found[role] |= {"apart": max(over) - min(over)} if len(over) > 1 else {}
            found[role] |= {"used": _mean(uses)} if uses else {}
    return found


def _lasts(cell: str, layer: int, seeds: Seeds) -> dict[str, Any]:
    """Half-lives of a layer's memory in words, and what a word takes of it and writes."""
    memory = roles(cell, layer).get("memory", "")
    lives = [life for one in seeds for life in one["half_lives"]["memories"]
             if life["kind"] == memory]  # fmt: skip
    if not lives:
        return {}
    half_life = {edge: _ends([life[edge] for life in lives]) for edge in ("low", "median", "high")}
    shares = [one["lost"][memory] for one in seeds]
    lost = {what: _ends([one[what] for one in shares]) for what in SHARES}
    return {"lasts": {"of": len(seeds), **half_life, **lost}}


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))


def _ends(values: Sequence[float]) -> list[float]:
    return [min(values), max(values)]


def rounded(told: Any) -> Any:
    """Every number of what is told to six digits behind the point, of which tables show two."""
    if isinstance(told, dict):
        return {name: rounded(one) for name, one in told.items()}
    if isinstance(told, list):
        return [rounded(one) for one in told]
    return round(told, 6) if isinstance(told, float) else told
