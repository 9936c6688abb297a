"""What was measured, as Markdown: the least to the most of all seeds, or their mean."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from scripts.memories.items import LANGUAGE
from scripts.memories.summary import ROLES, SHARES, Seeds, of_language, own, roles
from scripts.memories.tasks import TASKS, UNASKED

from rnnlens.model.network_config import WRITTEN


def tables(found: Mapping[str, Mapping[str, Seeds]]) -> str:
    """What was measured, as Markdown."""
    lines = list[str]()
    if language := found.get(LANGUAGE):
        told = {cell: of_language(cell, seeds) for cell, seeds in language.items()}
        lines += ["## Language", "", *_of_cells(language), "", *of_kinds(told), ""]
        lines += [*of_memories(told), ""]
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


def range_of(values: Sequence[float], digits: int = 2) -> str:
    """One number, or the least and the most of several; of none, a sign that there is none."""
    if not values:
        return UNASKED
    least, most = (_short(edge, digits) for edge in (min(values), max(values)))
    return least if least == most else f"{least} to {most}"


def _written(cell: str) -> str:
    return WRITTEN.get(cell, cell.upper())


def _of_cells(language: Mapping[str, Seeds]) -> list[str]:
    """Test perplexities, and what a linear probe of the last output makes of it."""
    lstm = np.mean([own(one) for one in language["lstm"]]) if "lstm" in language else np.nan
    rows = [
        [_written(cell), str(seeds[0]["layers"]), f"{seeds[0]['weights'] / 1e6:.1f}",
         ", ".join(f"{own(one):.2f}" for one in seeds),
         f"{np.mean([own(one) for one in seeds]) / lstm:.3f}",
         range_of([one["last_linear"]["perplexity"] / own(one) for one in seeds
                 if "last_linear" in one], 3),
         range_of([one["seconds"] for one in seeds], 0)]
        for cell, seeds in language.items()
    ]  # fmt: skip
    heads = ["cell", "layers", "weights, millions", "test, by seed", "over the LSTM's mean",
             "last output's linear probe over the model", "seconds"]  # fmt: skip
    return _table(heads, rows)


def of_kinds(told: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """What probes of every kind say, over the network's own perplexity, and what of it is used."""
    rows, apart = list[list[str]](), list[tuple[float, str]]()
    for cell, language in told.items():
        if not language["seeds"]:
            continue
        for number, layer in enumerate(language["layers"], 1):
            parts = [layer.get(role, {}) for role in ROLES]
            row = [f"{_written(cell)} ({language['seeds']}), layer {number}", *map(_part, parts)]
            apart += [(part["apart"] / part["over"], f"{_written(cell)}, {part['kind']}")
                      for part in parts if "apart" in part]  # fmt: skip
            rows.append(row)
    if not rows:
        return ["No kinds were measured."]
    said = "One seed each."
    if apart:
        most, of = max(apart)
        said = f"Seeds of one kind differ by {most:.1%} at the most ({of})."
    return [*_table(["mean of (seeds)", *ROLES], rows), "", said]


def _part(part: Mapping[str, Any]) -> str:
    """A probe's perplexity over the network's own, with what of it is used."""
    if not part:
        return ""
    used = f" ({_short(part['used'])})" if "used" in part else ""
    return f"{part['kind']} {_short(part['over'])}{used}"


def of_memories(told: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """How long memories last, and what a word takes of them and writes."""
    rows = [
        [
            f"{_written(cell)} {roles(cell, number)['memory']} ({layer['lasts']['of']})",
            ", ".join(range_of(layer["lasts"][edge], 1) for edge in ("low", "median", "high")),
            *(range_of(layer["lasts"][what]) for what in SHARES),
        ]
        for cell, language in told.items()
        for number, layer in enumerate(language["layers"], 1)
        if "lasts" in layer
    ]
    heads = ["", "half-life in words: a tenth less, median, a tenth more", *SHARES]
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
    return "; ".join(map(range_of, shares)) if seeds else ""


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
    return "; ".join(map(range_of, (frequencies, *told, [own(one) for one in seeds])))
