"""The grid of a text as JSON, whole or a few rows at a time: all that is drawn of it."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from pydantic.dataclasses import dataclass
from torch import Tensor

from rnnlens.ask import json_types as answers
from rnnlens.ask.questions import (
    MOST_COLUMNS,
    MOST_EDITS,
    STRICT,
    EditOrText,
    Limit,
    Name,
    OfText,
    Row,
    Subjects,
    Text,
    given,
    several,
)
from rnnlens.base.errors import RnnlensError
from rnnlens.base.rules import colour, count
from rnnlens.draw.columns import MANY, chosen_columns, column_names, outputs
from rnnlens.labels.colours import OTHER
from rnnlens.model.text import TextSide
from rnnlens.probe.probes_file import Bounds
from rnnlens.probe.semantics import of_model
from rnnlens.reading.divergence import Difference
from rnnlens.reading.encoding import Encodings, Integers, Palette, significant
from rnnlens.reading.lines import Lines
from rnnlens.reading.reading import BLOCK, Reading
from rnnlens.reading.rows import Encoded, Place
from rnnlens.reading.subject import Column, Subject, edges_of
from rnnlens.run.scores import Scores

FORMAT, VERSION = "rnnlens-grid", 1
_BRIEF = 8  # rows at once where nobody waits for them: a key pressed meanwhile gets its turn sooner
_LINKS, _LINK_DECIMALS = 24, 4  # words of the source that a word of the target is linked to
_NO_WORD: answers.Word = {
    "text": "", "label": "", "unknown": False, "group": None, "value": None, "picture": [],
    "piece": "",
}  # fmt: skip
_NO_STATE: answers.State = {  # no word was read, so that no state says anything
    "colour": colour("gap"), "group": OTHER, "share": 0.0, "rival": None, "entropy": 0.0, "top": [],
    "wanted": None, "unread": True, "outside": None, "number": None,
}  # fmt: skip
_known_columns: WeakKeyDictionary[Subject, dict[str, tuple[Scores, list[answers.Column]]]] = (
    WeakKeyDictionary()
)
Steps = Iterator[tuple[dict[str, Any], bool]]  # parts of an answer, and whether there are more


@dataclass(frozen=True, kw_only=True, config=STRICT)
class GridQuestion(OfText):
    """A text, and the rows of its grid that whoever asks already has.

    The answer's rows begin at the first that is missing there or differs, and are `limit` at most.
    Where there is a limit, words beyond the most that are read are left out; without one they are
    refused. States of columns that are not among `columns` are null, and are not computed; of a
    pair, source and target, all are. `columns` are names as `rnnlens show --kinds` takes them; one
    that the run does not have names none.
    """

    previous: Text = given("", "the text whose grid's first rows are at hand")
    have: Row = given(0, "how many of them")
    limit: Limit | None = given(100, "rows to answer with at most; null: all")
    previous_edits: tuple[EditOrText, ...] = several(
        MOST_EDITS, "those of the grid whose rows are at hand"
    )
    columns: tuple[Name, ...] | None = several(
        MOST_COLUMNS, "whose states are wanted; null: all", None
    )


def grid_steps(subjects: Subjects, question: GridQuestion) -> Steps:
    """A grid, a few rows at a time: the first part is a grid, the others add labels and rows."""
    lines = showing(subjects.read(question), question.columns)
    if question.limit is None:
        lines.check_length()
    first = min(question.have, len(lines.lines))
    if first:
        first = min(first, _first_new(subjects, question, lines))
    size = _BRIEF if question.text == question.previous else BLOCK
    return parts(lines, first, question.limit, size)


def drawn_columns(lines: Lines, kinds: str | Sequence[str] | None) -> list[str]:
    """The columns that are drawn of a grid."""
    columns = _described(lines.shown[0], lines.common.columns)
    return [columns[k]["id"] for k in chosen_columns(columns, kinds)]


def showing(lines: Lines, names: Sequence[str] | None) -> Lines:
    """Lines with the states in the columns alone that some names stand for; None: in all."""
    if names is None:
        return lines
    columns = _described(lines.shown[0], lines.common.columns)
    known = column_names(columns)
    return lines.showing([columns[k]["id"] for name in names for k in known.get(name, ())])


def _first_new(subjects: Subjects, question: GridQuestion, lines: Lines) -> int:
    """The first line that is another than in the grid that is at hand."""
    shown = lines.shown[0]
    before = replace(
        question, text=question.previous, edits=question.previous_edits, lenient=True,
        semantic=shown.semantic, palette=shown.palette_name,
    )  # fmt: skip
    try:
        return lines.first_new(subjects.read(before))
    except RnnlensError:  # that text had no grid
        return 0


def parts(lines: Lines, first: int = 0, limit: int | None = None, size: int = BLOCK) -> Steps:
    """The grid from a line on, a few lines at a time."""
    start = {**head(lines), "from": first}
    for begin, end, more in lines.spans(first, limit, size):
        yield {**start, **_rows(lines, begin, end)}, more
        start = {}


def grid_of(lines: Lines) -> dict[str, Any]:
    """The whole grid."""
    return joined(part for part, _ in parts(lines))


def joined(several: Iterator[dict[str, Any]]) -> dict[str, Any]:
    """One answer of several that add rows to the first, and what stands beside rows."""
    whole = dict(next(several))
    for part in several:
        whole["rows"] = whole["rows"] + part["rows"]
        if "changes" in part:
            whole["changes"] = whole["changes"] + part["changes"]
            whole["then"] = whole["then"] + part["then"]
            whole["labels"] = whole["labels"] | part["labels"]
    return whole


def head(lines: Lines) -> dict[str, Any]:
    """Everything about a grid but its rows."""
    first, common = lines.shown[0], lines.common
    subjects = [reading.subject for reading in lines.shown]
    are_two_runs = subjects[0] is not subjects[-1]
    offset = len(lines.readings) - len(lines.shown)  # a text without its edits is not shown
    words = [_words(reading) for reading in lines.shown]
    palettes = first.subject.palettes_for(first.semantic)
    groups = {
        group: colour
        for reading in reversed(lines.shown)
        for group, colour in zip(reading.palette.groups, reading.palette.colours, strict=True)
    }
    scale = first.answers.scale
    return {
        "format": FORMAT,
        "version": VERSION,
        "run": first.subject.name,
        "title": " against ".join(one.title for one in subjects[: 1 + are_two_runs]),
        "text": lines.text,
        "follows": first.subject.session.text.follows,
        "answer": first.subject.session.answer if of_model(first.semantic) else None,
        "semantic": first.semantic,
        "semantics": list(first.subject.semantics),
        "palette": first.palette_name,
        "palettes": list(palettes),
        "rule": first.palette.rule,
        "groups": groups,
        "columns": _described(first, common.columns),
        "edges": edge_names(common.columns),
        "numbers": first.subject.session.text.labels.scale is not None,
        "scale": scale
        and {
            "edges": scale.edges,
            "names": scale.names,
            "calibrated": bool(first.subject.widths(first.semantic)),
        },
        "several": first.answers.several,
        "reads": all(subject.model.reads for subject in subjects),
        "alone": first.palette.alone,
        "placeholders": first.subject.session.vocabulary.placeholders
        if of_model(first.semantic)
        else {},
        "words": [
            _NO_WORD if line.row is None else words[line.number - offset][line.row]
            for line in lines.lines
        ],
        "left_out": first.left_out,
        "edits": [str(edit) for edit in lines.edits],
        "dropped": list(lines.dropped),
        "sides": [
            {
                "run": reading.subject.name,
                "title": reading.subject.title,
                "text": reading.text,
                "columns": _described(reading, common.columns) if number and are_two_runs else [],
            }
            for number, reading in enumerate(lines.shown)
            if lines.are_two
        ],
        "lines": [
            {"side": line.side, "row": line.row, "then": line.then and [*line.then]}
            for line in lines.lines
            if lines.are_two
        ],
        "notes": list(common.notes),
        "pairs": [_pair(reading) for reading in lines.shown if reading.source],
    }


def _pair(reading: Reading) -> answers.SourceAndTarget:
    """What a grid says of a source and its target."""
    session, source = reading.subject.session, reading.source
    weights = session.attention(reading.ids, reading.edits)
    name = "" if weights is None else session.model.attention_name
    of_source = session.model.source_kinds
    several = weights if weights is not None and len(weights) > 1 else ()
    return {
        "source": source,
        "columns": [c.id for c in reading.columns if c.kind.id in of_source],
        "generated": session.text.generated(reading.text),
        "attention": name,
        "links": [] if weights is None else _links(weights.mean(0)),
        "heads": [_links(one) for one in several],
    }


def _links(weights: Tensor) -> list[list[tuple[int, float]]]:
    """Of each row of weights (T, S) the largest, each with its place."""
    values, places = weights.double().topk(min(_LINKS, weights.shape[1]), 1)
    shares = np.round(values.numpy(), _LINK_DECIMALS).tolist()
    return [
        list(zip(at, row, strict=True)) for at, row in zip(places.tolist(), shares, strict=True)
    ]


def _described(reading: Reading, columns: Sequence[Column]) -> list[answers.Column]:
    """What a grid says of some columns."""
    described = {one["id"]: one for one in described_columns(reading.subject, reading.semantic)}
    return [described[column.id] for column in columns]


def described_columns(subject: Subject, semantic: str) -> list[answers.Column]:
    """What grids say of their columns: the same for every text, until something is measured."""
    known, scores = _known_columns.setdefault(subject, {}), subject.scores
    if semantic not in known or known[semantic][0] is not scores:
        known[semantic] = scores, _describe(subject, semantic)
    return known[semantic][1]


def _describe(subject: Subject, semantic: str) -> list[answers.Column]:
    scores, silent = subject.scores, subject.silent(semantic)
    columns: list[answers.Column] = [
        {
            "id": column.id,
            "kind": column.kind.id,
            "letter": column.kind.letter,
            "part": column.kind.part,
            "reverse": column.kind.reverse,
            "back": column.back,
            "layer": column.layer,
            "name": _name(column),
            "symbol": column.kind.symbol,
            "equation": column.kind.equation,
            "sources": [(source.kind, source.back) for source in column.kind.sources],
            # What was read a step before stands in the row above already.
            "shown": not column.kind.gate and not column.back,
            "silent": column.kind.id in silent,
            "perplexity": scores.perplexity(semantic, column.kind.id),
            "interval": sure["interval"],
            "used": sure["used"],
            "used_interval": sure["used_interval"],
            "called": sure["called"],
            "off": sure["off"],
        }
        for column in subject.columns_for(semantic)
        for sure in (_sure(scores, semantic, column.kind.id),)
    ]
    if len(columns) <= MANY:
        return columns
    first = {*outputs(columns)}
    return [{**column, "shown": k in first} for k, column in enumerate(columns)]


def _sure(scores: Scores, semantic: str, kind: str) -> dict[str, Any]:
    """How sure a kind's perplexity is, what is used of it, and where its probabilities are off."""
    used = scores.used(semantic, kind)
    return {
        "interval": scores.interval(semantic, kind),
        "used": None if used is None else round(used["used"], 4),
        "used_interval": used and used["intervals"].get("used"),
        "called": used["called"] if used else "",
        "off": scores.off(semantic, kind),
    }


def _name(column: Column) -> str:
    name = column.kind.name
    return f"previous {name.removesuffix(' state')}" if column.back else name


def edge_names(columns: Sequence[Column]) -> list[tuple[str, str]]:
    """Which columns feed which; a source `K@-1` without a column is K one row up, `K@+1` K one row
    down, which a layer that is read backwards has come from.
    """
    return [
        (source + (f"@{-back:+d}" if back else ""), target)
        for source, back, target in edges_of(columns)
    ]


def _words(reading: Reading) -> list[answers.Word]:
    """The words of a text and what the model takes them for."""
    text: TextSide = reading.subject.session.text
    palette, ids = reading.palette, reading.ids
    labels = text.labels_of(ids) if of_model(reading.semantic) else [-1] * len(ids)
    return [
        {
            "text": word,
            "label": text.name(number),
            "unknown": text.is_unknown(number),
            "group": palette.groups[palette.group_of[label]] if label >= 0 else None,
            "value": next(iter(text.values(number)), None),
            "picture": list(text.picture(number)),
            "piece": piece,
        }
        for word, number, label, piece in zip(
            reading.words, ids, labels, text.places(ids), strict=True
        )
    ]


def _rows(lines: Lines, first: int, last: int) -> dict[str, Any]:
    """The lines first..last-1, the groups of the labels they name, and what has changed."""
    if first >= last:
        return {"labels": {}, "changes": [], "then": [], "rows": []}
    block, columns = lines.block(first, last), lines.common.columns
    states, labels = list[dict[Place, answers.State]](), dict[str, str]()
    for number, some in reversed(list(enumerate(block.shown))):
        reading = lines.readings[number]
        names, palette = reading.answers.names, reading.palette
        limits = reading.subject.limits(reading.semantic)
        states.insert(0, _states(some, names, palette, limits) if some else {})
        labels |= _labels(some, names, palette) if some else {}
    shown = lines.lines[first:last]
    rows = [
        [_NO_STATE] * len(columns)
        if line.row is None
        else _row(lines.readings[line.number], states[line.number], columns, line.row)
        for line in shown
    ]
    if len(lines.readings) == 1:
        return {"labels": labels, "changes": [], "then": [], "rows": rows}
    changes = _changes(block.apart, lines.common.answers.names) if block.apart else []
    by_row = [changes[k : k + len(columns)] for k in range(0, len(changes), len(columns))]
    at = dict(zip(block.pairs, by_row, strict=True))
    changed = [at.get(line.rows, []) if line.side == "second" else [] for line in shown]
    then = [[pair and _rounded(pair) for pair in line] for line in block.then]
    return {"labels": labels, "changes": changed, "then": then, "rows": rows}


def _rounded(pair: Sequence[float | None]) -> list[float | None]:
    return [p if p is None else significant(np.array([p]))[0] for p in pair]


def _states(
    encoded: Encoded, labels: Sequence[str], palette: Palette, limits: Mapping[str, Bounds]
) -> dict[Place, answers.State]:
    """What is drawn for each state; one that is unlike those of the fit has no colour."""
    made = encoded.encodings
    outside = _outside(encoded, limits)
    tops = zip(made.labels.tolist(), significant(made.probabilities), strict=True)
    outcomes = zip(encoded.came.tolist(), significant(made.came), made.rank.tolist(), strict=True)
    return {
        place: {
            "colour": _NO_STATE["colour"] if out else colour,
            "group": palette.groups[group],
            "share": share,
            "rival": None if rival < 0 else palette.groups[rival],
            "entropy": entropy,
            "top": list(zip([labels[label] for label in top[0]], top[1], strict=True)),
            "wanted": None if outcome[0] < 0 else (labels[outcome[0]], *outcome[1:]),
            "unread": False,
            "outside": out,
            "number": number,
        }
        for place, colour, group, share, rival, entropy, top, outcome, out, number in zip(
            encoded.places,
            made.colours(palette),
            made.group.tolist(),
            made.share.astype(np.float64).round(count("share_decimals")).tolist(),
            made.rivals().tolist(),
            significant(made.entropy),
            tops,
            outcomes,
            outside,
            _numbers(made),
            strict=True,
        )
    }


def _outside(
    encoded: Encoded, limits: Mapping[str, Bounds]
) -> list[tuple[float, float, float] | None]:
    """Of each state that is beyond the limits of its kind, its size and these."""
    found: list[tuple[float, float, float] | None] = []
    for (kind, _), size in zip(encoded.places, encoded.encodings.sizes.tolist(), strict=True):
        low, high = limits.get(kind, (0.0, math.inf))
        out = size < low or size > high  # neither where the size is not known
        found.append((*significant(np.array([size, low, high])),) if out else None)
    return found


def _numbers(made: Encodings) -> list[tuple[float, float, float] | None]:
    """The number and the interval of each state, where labels are numbers."""
    if not made.numbers.shape[1]:
        return [None] * len(made.numbers)
    return [
        (float(f"{mean:.5g}"), float(f"{low:.5g}"), float(f"{high:.5g}"))
        for mean, low, high in made.numbers.tolist()
    ]


def _changes(change: Difference, labels: Sequence[str]) -> list[answers.Change | None]:
    """Of each state how far its prediction has moved, and the most probable label before with its
    probability before and after; None where there is no state.
    """
    numbers = zip(change.label.tolist(), significant(change.was), significant(change.now),
                  strict=True)  # fmt: skip
    return [
        None if math.isnan(far)
        else {"bits": round(far, count("bits_decimals")), "before": (labels[label], was),
              "now": now}
        for far, (label, was, now) in zip(change.bits.tolist(), numbers, strict=True)
    ]  # fmt: skip


def _row(
    reading: Reading, at: Mapping[Place, answers.State], columns: Sequence[Column], row: int
) -> list[answers.State | None]:
    """The states of a row, None where one was not wanted, or is of the other side of a pair; marked
    where no word was read into one yet.
    """
    states = [
        at.get((column.kind.id, row - column.back)) if reading.shows(column, row) else None
        for column in columns
    ]
    return [
        {**state, "unread": True, "outside": None} if state and row < column.back else state
        for state, column in zip(states, columns, strict=True)
    ]


def _labels(encoded: Encoded, labels: Sequence[str], palette: Palette) -> dict[str, str]:
    """The group of every label that a state names."""
    came: Integers = encoded.came
    named = {*encoded.encodings.labels.ravel().tolist(), *came[came >= 0].tolist()}
    groups, group_of = palette.groups, palette.group_of
    return {labels[label]: groups[group_of[label]] for label in sorted(named)}
