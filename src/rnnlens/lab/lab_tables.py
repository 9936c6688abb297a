"""What was found in the laboratory, as tables for a terminal."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from rnnlens.base.errors import RnnlensError
from rnnlens.base.intervals import Floats
from rnnlens.draw.charts import Squares
from rnnlens.draw.printable import clip, width_of
from rnnlens.lab.accuracy import Accuracy, SuiteAccuracy
from rnnlens.lab.by_kind import NO_SHARE, ByParadigm
from rnnlens.lab.erase import Erasures
from rnnlens.lab.erase_concept import ConceptErasures
from rnnlens.lab.half_lives import HalfLives
from rnnlens.lab.laboratory import Lab
from rnnlens.lab.side_by_side import SideBySide
from rnnlens.lab.subspace import Directions
from rnnlens.lab.units import Units, UnitTrace

_WIDEST = 44  # letters of a name


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows of cells, the first column to the left and all others to the right."""
    wide = [max(map(width_of, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        first = row[0] + " " * (wide[0] - width_of(row[0]))
        rest = (" " * (w - width_of(c)) + c for c, w in zip(row[1:], wide[1:], strict=True))
        lines.append("  ".join([first, *rest]).rstrip())
    return lines


def share(value: float | None) -> str:
    """A share as people read it."""
    return "-" if value is None else f"{100 * value:.1f}%"


def between(low: float | None, high: float | None) -> str:
    """An interval of shares; nothing where there is none."""
    return "" if low is None or high is None else f"{100 * low:.1f} to {100 * high:.1f}"


def accuracy_table(lab: Lab) -> str:
    """Every paradigm, its conditions behind it, and what was published of it."""
    result = lab.result
    models = list(dict.fromkeys(name for row in result.paradigms for name in row.published))
    rows = [["paradigm", "right", "95%", "items", "known", "bits", *map(_name, models)]]
    for paradigm in result.paradigms:
        rows.append(_row(paradigm, models))
        rows += [
            _row(one, models) for one in result.conditions if one.paradigm == paradigm.paradigm
        ]
    return "\n".join([*columns(rows), "", *summary(lab, result)])


def summary(lab: Lab, result: SuiteAccuracy) -> list[str]:
    """The mean, what it is of, what was left out, and how it goes with what was published."""
    large = sum(row.items >= result.least for row in result.paradigms)
    mean = f"no paradigm has {result.least} items that were asked, so that there is no mean"
    if result.accuracy is not None:
        sure = result.interval
        span = f" ({between(sure.low, sure.high)})" if sure else ""
        mean = (f"{lab.subject.name}: {share(result.accuracy)}{span}, the mean of {large} "
                f"paradigms with at least {result.least} items")  # fmt: skip
    lines = [mean, *lab.notes]
    for one in result.published:
        together = "-" if one.correlation is None else f"{one.correlation:.2f}"
        lines.append(f"beside {_name(one.model)}, as published: {share(one.accuracy)}, here "
                     f"{share(one.ours)}, correlation {together} over {one.paradigms} paradigms"
                     )  # fmt: skip
    return lines


def _row(one: Accuracy, models: Sequence[str]) -> list[str]:
    name = f"  {one.condition}" if one.condition else one.paradigm
    bits = "-" if one.margin is None else f"{one.margin:+.2f}"
    known = share(one.known) if one.known is not None else ""
    beside = [share(one.published[m]) if m in one.published else "" for m in models]
    return [clip(name, _WIDEST), share(one.accuracy), between(one.low, one.high), f"{one.items:,}",
            known, bits, *beside]  # fmt: skip


def _name(model: str) -> str:
    return clip(model, 12)


def kind_table(found: ByParadigm, paradigm: str | None = None) -> str:
    """Paradigms by kinds, at the last word before the critical one; or the words of a paradigm. The
    control stands below each row, where there is one.
    """
    names, values = rows_of(found, paradigm)
    what = "at each word before the critical one" if paradigm else "at the last word before it"
    kinds = [clip(kind, 12) for kind in found.kinds]
    body = [[clip(paradigm or "paradigm", _WIDEST), "items", *kinds]]
    for place, (name, row) in enumerate(zip(names, values.tolist(), strict=True)):
        where = (paradigm, len(names) - place) if paradigm else (name, 1)
        cells = {one.kind: one for one in found.values if (one.paradigm, one.before) == where}
        counts = sorted({one.items for one in cells.values()})
        count = " to ".join(f"{one:,}" for one in dict.fromkeys((*counts[:1], *counts[-1:])))
        body.append([clip(name, _WIDEST), count, *map(_two, row)])
        controls = [cells[kind].control if kind in cells else None for kind in found.kinds]
        if any(one is not None for one in controls):
            body.append(["  control", "", *("-" if one is None else _two(one) for one in controls)])
    return "\n".join([f"{found.name}, {what}", *columns(body), *found.notes])


def _two(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.2f}".replace("-0.00", "0.00")


def rows_of(found: ByParadigm, paradigm: str | None = None) -> tuple[tuple[str, ...], Floats]:
    """The names of rows, paradigms or the words of one of them, and their numbers by kind."""
    if paradigm is None:
        return found.paradigms, found.last()
    if paradigm not in found.paradigms:
        raise RnnlensError(
            f"there is no paradigm {paradigm[:60]!r}; there is {', '.join(found.paradigms)[:300]}"
        )
    values = found.array(paradigm)
    words = found.words[paradigm]
    return words[len(words) - len(values) :], values


def squares(found: ByParadigm, paradigm: str | None = None) -> Squares:
    """What is drawn of paradigms by kinds, or of a paradigm's words by kinds."""
    rows, values = rows_of(found, paradigm)
    where = f"{paradigm}, at each word" if paradigm else "at the last word before the critical one"
    shown = [one for one in found.values if paradigm in (None, one.paradigm)]
    none = "; –: the pairs do not separate" if any(one.value is None for one in shown) else ""
    title = f"{found.name}, {where}{none}"
    return Squares(title, rows, found.kinds, values.tolist(), found.usual, "–" if none else "")


def unit_table(found: Units) -> str:
    """The units that lead."""
    rows = [["unit", "effect", "held out", "95%", "right", "others"]]
    for one in found.units:
        sure = "" if one.low is None else f"{one.low:.3f} to {one.high:.3f}"
        effects = [f"{one.effect:+.3f}", f"{one.held_out:+.3f}", sure]
        rows.append([f"{one.kind} {one.unit}", *effects, share(one.accuracy), share(one.others)])
    head = (
        "units by how much less the right form is preferred without them, in nats, on "
        f"{found.searched} {found.about}; held out: {found.items} others"
    )
    foot = f"with all units {_right(found)}; units at random: {found.random:+.3f}"
    return "\n".join([head, *columns(rows), foot])


def unit_trace_table(found: UnitTrace) -> str:
    """A unit over a text: words down, the kinds of its layer across."""
    rows = [["word", *found.values]]
    for step, word in enumerate(found.words):
        rows.append([clip(word, 20), *(f"{some[step]:+.2f}" for some in found.values.values())])
    lines = [f"unit {found.unit} of {found.kind} and its gates, after each word", *columns(rows)]
    if found.more:
        lines.append(f"with it the probe of {found.kind} says more {', '.join(found.more)}")
        lines.append(f"and less {', '.join(found.less)}")
    return "\n".join(lines)


def unit_squares(found: UnitTrace) -> Squares:
    """What is drawn of a unit over a text: kinds down, words across."""
    title = f"unit {found.unit} of {found.kind} and its gates, after each word"
    values = [list(some) for some in found.values.values()]
    return Squares(title, tuple(found.values), found.words, values)


def direction_table(found: Directions) -> str:
    """Directions, those of a kind together."""
    rows = [["direction", "moved", "95%", "right without", "others without"]]
    for one in found.rows:
        sure = "" if one.low is None else f"{one.low:.2f} to {one.high:.2f}"
        moved = [f"{one.kind} {one.way}", "-" if one.moved is None else f"{one.moved:.2f}", sure]
        rows.append([*moved, share(one.accuracy), share(one.others)])
    head = (
        "share of the difference that moves along a direction at the last word, found on "
        f"{found.learnt_from} contrasts, measured on {found.contrasts}"
    )
    foot = [f"with nothing taken out {_right(found)}"]
    if any(one.moved is None for one in found.rows):
        foot.append(f"{NO_SHARE}: {found.contrasts:,}")
    return "\n".join([head, *columns(rows), *foot])


def _right(found: Units | Directions) -> str:
    others = "" if found.others is None else f" (all others {share(found.others)})"
    return f"{share(found.accuracy)} is right{others}"


def erasure_table(found: Erasures) -> str:
    """What is left without what contexts differ in, by kind."""
    heads = "rank,probe,after,95%,majority,loss,after,random,right,after,random,others,after"
    rows = [["erased from", *heads.split(",")]]
    for one in found.kinds:
        read = [share(one.read), share(one.read_after), between(one.low, one.high),
                share(one.majority)]  # fmt: skip
        losses = (f"{loss:.2f}" for loss in (one.loss, one.loss_after, one.loss_random))
        right = (one.accuracy, one.accuracy_after, one.accuracy_random, one.others,
                 one.others_after)  # fmt: skip
        rows.append([one.kind, str(one.rank), *read, *losses, *map(share, right)])
    head = (
        "what is left without what both contexts differ in, erased at every word; learned on "
        f"{found.learnt_from} pairs of contexts, read by a probe of {found.probed} others, "
        f"measured on {found.contrasts} contrasts of more: no context is in two of these"
    )
    return "\n".join([head, *columns(rows)])


def concept_table(found: ConceptErasures) -> str:
    """What is left without a concept, by kind."""
    heads = "rank,probe,after,95%,balanced,after,95%,chance,loss,after,chance,right,after,chance"
    rows = [["erased from", *heads.split(",")]]
    for one in found.kinds:
        read = share(one.read), share(one.read_after), between(one.low, one.high)
        even = [share(one.balanced), share(one.balanced_after),
                between(one.balanced_low, one.balanced_high), share(one.balanced_control)
                ]  # fmt: skip
        losses = (f"{loss:.3f}" for loss in (one.loss, one.loss_after, one.loss_control))
        right = (one.accuracy, one.accuracy_after, one.accuracy_control)
        rows.append([one.kind, str(one.rank), *read, *even, *losses, *map(share, right)])
    learned = (
        f"learned on {found.learnt_from:,} words, read by a probe of {found.probed:,} others, "
        f"asked of {found.asked:,} more in {found.texts:,} texts; the majority is "
        f"{share(found.majority)}, balanced 50%"
    )
    measured = (
        f"loss: nats a word, of {found.words:,}; right: of {found.items:,} items of the suite; "
        f"chance: {found.control}"
    )
    what = f"erased at every word: {found.about}; holds of {share(found.rate)} of words"
    head = [what, learned, measured]
    return "\n".join([*head, *columns(rows)])


def half_life_table(found: HalfLives) -> str:
    """How long every kind and the units of every memory last."""
    backs = range(len(found.kinds[0].told))
    rows = [["kind", "half-life", "units", "10% to 90%", "first word", *map(str, backs)]]
    lives = {one.kind: one for one in found.memories}
    for one in found.kinds:
        unit = lives.get(one.kind)
        span = f"{_words(unit.low)} to {_words(unit.high)}" if unit else ""
        rows.append([one.kind, _words(one.half_life), _words(unit.median) if unit else "", span,
                     *map(_correlation, (one.first, *one.told))])  # fmt: skip
    head = (
        f"how long memory lasts, in words, over {found.words:,} words of {found.texts:,} texts; "
        "then how well a kind tells the word so many words before, as a correlation over "
        f"{found.rows:,} words (first word: {found.ends:,} ends) of every other text, learned from "
        "the others"
    )
    foot = [f"too large to be asked: {', '.join(found.left_out)}"] if found.left_out else []
    return "\n".join([head, *columns(rows), *foot])


def _correlation(value: float | None) -> str:
    return "too few" if value is None else f"{value:.2f}"


def _words(life: float | None) -> str:
    return "-" if life is None else f"{life:.1f}" if life < 1000 else "1000+"


def beside_table(found: SideBySide) -> str:
    """Two models, paradigm by paradigm."""
    names = clip(found.first, 16), clip(found.second, 16)
    rows = [["paradigm", *names, "difference", "95%", "items"]]
    for one in found.rows:
        name = f"  {one.condition}" if one.condition else one.paradigm
        rows.append([clip(name, _WIDEST), share(one.first), share(one.second),
                     f"{100 * one.difference:+.1f}", between(one.low, one.high), f"{one.items:,}"
                     ])  # fmt: skip
    return "\n".join(["both models on the items whose words both know", *columns(rows)])


TABLES: dict[str, Callable[[Any], str]] = {
    "units": unit_table, "directions": direction_table, "erase": erasure_table,
    "concept": concept_table, "unit": unit_trace_table, "half_lives": half_life_table,
    "beside": beside_table,
}  # fmt: skip
