"""What was measured, as Markdown: the least to the most of all seeds, or their mean."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from scripts.memories.items import LANGUAGE
from scripts.memories.tasks import TASKS, UNASKED

from rnnlens.model.cells import CELLS
from rnnlens.model.network_config import WRITTEN

Seeds = list[dict[str, Any]]  # the numbers of each


def tables(found: Mapping[str, Mapping[str, Seeds]]) -> str:
    """What was measured, as Markdown."""
    lines = list[str]()
    if language := found.get(LANGUAGE):
        lines += ["## Language", "", *_of_cells(language), "", *_of_kinds(language), ""]
        lines += [*_of_memories(language), ""]
    tasks = {task: found[task] for task in TASKS if task in found}
    if tasks:
        lines += ["## Tasks", "", *_of_tasks(tasks), "", *_of_task_memories(tasks), ""]
    return "\n".join(lines)


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (heads, ["---"] * len(heads), *rows)]


def _short(value: float, digits: int = 2) -> str:
    """A number as tables have it: .97, 1.03, 12, 115, 1,234."""
    if abs(value) >= 999.5:  # which three digits would round to 1e+03
        return f"{value:,.0f}"
    told = f"{value:.{digits}f}" if abs(value) < 10 else f"{value:.3g}"
    told = told if float(told) else told.lstrip("-")  # no number is less than nothing by rounding
    return told.replace("0.", ".", 1) if abs(value) < 1 else told


def _range(values: Sequence[float], digits: int = 2) -> str:
    """One number, or the least and the most of several; of none, a sign that there is none."""
    if not values:
        return UNASKED
    least, most = (_short(edge, digits) for edge in (min(values), max(values)))
    return least if least == most else f"{least} to {most}"


def _own(numbers: Mapping[str, Any]) -> float:
    """The test perplexity of a network."""
    return float(numbers["model"]["test"]["perplexity"])


def _written(cell: str) -> str:
    return WRITTEN.get(cell, cell.upper())


def _of_cells(language: Mapping[str, Seeds]) -> list[str]:
    """Test perplexities, and what a linear probe of the last output makes of it."""
    lstm = np.mean([_own(one) for one in language["lstm"]]) if "lstm" in language else np.nan
    rows = [
        [_written(cell), str(seeds[0]["layers"]), f"{seeds[0]['weights'] / 1e6:.1f}",
         ", ".join(f"{_own(one):.2f}" for one in seeds),
         f"{np.mean([_own(one) for one in seeds]) / lstm:.3f}",
         _range([one["last_linear"]["perplexity"] / _own(one) for one in seeds
                 if "last_linear" in one], 3),
         _range([one["seconds"] for one in seeds], 0)]
        for cell, seeds in language.items()
    ]  # fmt: skip
    heads = ["cell", "layers", "weights, millions", "test, by seed", "over the LSTM's mean",
             "last output's linear probe over the model", "seconds"]  # fmt: skip
    return _table(heads, rows)


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
    return {name: f"{letter}{layer}" for name, letter in found.items() if letter}


_ROLES = ("decay", "written", "kept", "erased", "memory", "read", "sum", "output")


def _of_kinds(language: Mapping[str, Seeds]) -> list[str]:
    """What probes of every kind say, over the network's own perplexity, and what of it is used."""
    rows, apart = list[list[str]](), list[float]()
    for cell, seeds in language.items():
        asked = [one for one in seeds if "kinds" in one]
        if not asked:
            continue
        for layer in range(1, asked[0]["layers"] + 1):
            where = {"embedding": "x"} if layer == 1 else {}
            where |= roles(cell, layer)
            row = [f"{_written(cell)} ({len(asked)}), layer {layer}"]
            for role in ("embedding", *_ROLES):
                kind = where.get(role, "")
                ratios = [one["kinds"][kind]["perplexity"] / _own(one) for one in asked
                          if kind in one["kinds"]]  # fmt: skip
                if not ratios:
                    row.append("")
                    continue
                if len(ratios) > 1:
                    apart.append((max(ratios) - min(ratios)) / float(np.mean(ratios)))
                uses = [one["used"][kind]["used"] for one in asked if kind in one.get("used", {})]
                letter = f"{kind} " if role == "memory" else ""
                use = f" ({_short(float(np.mean(uses)))})" if uses else ""
                row.append(f"{letter}{_short(float(np.mean(ratios)))}{use}")
            rows.append(row)
    heads = ["mean of (seeds)", "embedding", *_ROLES]
    if not rows:
        return ["No kinds were measured."]
    told = "One seed each."
    if apart:
        told = f"Seeds of one kind differ by {max(apart):.1%} at the most."
    return [*_table(heads, rows), "", told]


def _of_memories(language: Mapping[str, Seeds]) -> list[str]:
    """How long memories last, and what a word takes of them and writes."""
    rows = list[list[str]]()
    for cell, seeds in language.items():
        asked = [one for one in seeds if {"half_lives", "lost"} <= one.keys()]
        for layer in range(1, asked[0]["layers"] + 1 if asked else 0):
            memory = roles(cell, layer).get("memory", "")
            lives = [life for one in asked for life in one["half_lives"]["memories"]
                     if life["kind"] == memory]  # fmt: skip
            if not lives:
                continue
            shares = [one["lost"][memory] for one in asked]
            rows.append([
                f"{_written(cell)} {memory} ({len(asked)})",
                ", ".join(_range([life[edge] for life in lives], 1)
                          for edge in ("low", "median", "high")),
                *(_range([share[what] for share in shares])
                  for what in ("decayed", "erased", "written")),
            ])  # fmt: skip
    heads = ["", "half-life in words: a tenth less, median, a tenth more", "decayed", "erased",
             "written"]  # fmt: skip
    return _table(heads, rows)


def _of_tasks(tasks: Mapping[str, Mapping[str, Seeds]]) -> list[str]:
    """How often each cell is right, within what it learnt from and beyond."""
    cells = dict.fromkeys(cell for found in tasks.values() for cell in found)
    rows = [
        [_written(cell), *(_right(found.get(cell, [])) for found in tasks.values())]
        for cell in cells
    ]
    return _table(["right within; beyond: least to most of the seeds", *tasks], rows)


def _right(seeds: Seeds) -> str:
    asked = [one["accuracy"] for one in seeds if "accuracy" in one]
    shares = ([one[where] for one in asked] for where in ("within", "beyond"))
    return "; ".join(map(_range, shares)) if seeds else ""


def _of_task_memories(tasks: Mapping[str, Mapping[str, Seeds]]) -> list[str]:
    """What probes of the last memory and of the last output say beyond what was learnt."""
    cells = dict.fromkeys(cell for found in tasks.values() for cell in found)
    rows = [
        [_written(cell), *(_said(cell, found.get(cell, [])) for found in tasks.values())]
        for cell in cells
    ]
    heads = ["perplexity beyond, by frequencies; last memory; output; the network itself", *tasks]
    return _table(heads, rows)


def _said(cell: str, seeds: Seeds) -> str:
    if not seeds:
        return ""
    last = roles(cell, seeds[0]["layers"])
    kinds = [last[role] for role in ("memory", "output") if role in last]
    told = [[one["kinds"][kind]["perplexity"] for one in seeds if kind in one.get("kinds", {})]
            for kind in dict.fromkeys(kinds)]  # fmt: skip
    frequencies = [one["model"]["test"]["unigram"] for one in seeds]
    return "; ".join(map(_range, (frequencies, *told, [_own(one) for one in seeds])))
