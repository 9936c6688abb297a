"""Pictures of a whole corpus: the numbers, and for each mark the question that leads to its words.

Every picture goes once through the index. What a corpus or a network does not have is said.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from shlex import quote
from typing import Any, Literal
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from rnnlens.base.errors import RnnlensError
from rnnlens.base.intervals import Resamples
from rnnlens.model.kinds import PREDICTION
from rnnlens.probe.semantics import offset
from rnnlens.reading.subject import Subject
from rnnlens.search import sql
from rnnlens.search.answers import (
    Density,
    DensityCell,
    KindPair,
    KindPairs,
    MeasuredShare,
    Picture,
    PictureName,
    Reach,
    ReachCell,
    TagCount,
    TagPair,
    Tags,
    TurnEdge,
    TurnEdges,
)
from rnnlens.search.index_files import Pair, arrow, label_column, of_kind
from rnnlens.search.language import as_kind, as_other, as_text, memories, possible
from rnnlens.search.store import Deadline, Index, index_of

MOST_PAIRS = 600  # of kinds whose divergence is ranked
FAR = 0.5  # bits: a prediction that has turned
MARGIN = 0.1  # between the shares of two groups: the first leads clearly
_UNITS = 4096  # that are resampled: of a larger corpus each is several sentences
_BINS, _HIGH = 28, 40  # across, at most; up
SECONDS = 60.0  # after which a picture is given up


class MissingError(RnnlensError):
    """What a corpus or a network lacks for a picture."""


def picture(subject: Subject, name: PictureName) -> Picture:
    """A picture, which is computed once for an index; `missing` says why there is none."""
    if name not in PICTURES:
        raise RnnlensError(f"there is no picture {name!r}; there is {', '.join(PICTURES)}")
    index = index_of(subject)
    held = _held.setdefault(index, {})
    if name not in held:
        try:
            drawn: Any = {name: PICTURES[name](subject, index, Deadline(SECONDS))}
        except MissingError as error:  # which is not held: somebody may provide it meanwhile
            return Picture(name, str(error))
        held[name] = Picture(name, **drawn)
    return held[name]


_held: WeakKeyDictionary[Index, dict[str, Picture]] = WeakKeyDictionary()


def disagreement(_: Subject, index: Index, deadline: Deadline) -> KindPairs:
    """How often two kinds expect different groups, and different labels."""
    kinds = index.drawn_kinds
    pairs = list(combinations(kinds, 2))
    if not pairs:
        raise MissingError("The index has one kind alone, so there is nothing to compare.")
    tells_leads = bool(index.contents.rule)
    groups, clear = _differing(index, "group", deadline, leads=tells_leads)
    labels = _differing(index, "label", deadline)[0]
    cells = []
    for k, (a, b) in enumerate(pairs):
        question = f"{as_kind(a)} disagrees with {as_kind(b)}"
        leads = f" and {as_kind(a)} lead >= {MARGIN:g} and {as_kind(b)} lead >= {MARGIN:g}"
        asked = (question, question + leads, f"{question} on label")
        cells.append(
            KindPair(
                a,
                b,
                groups[k],
                clear[k] if tells_leads else None,
                labels[k],
                *(possible(one, index.names) for one in asked),
            )
        )
    left_out = len(index.contents.kinds) - len(kinds)
    words, sentences = index.manifest.rows, index.contents.sentences
    return KindPairs(kinds, left_out, words, sentences, MARGIN, tuple(cells))


def turns(subject: Subject, index: Index, deadline: Deadline) -> TurnEdges:
    """The edges of the network by how far the predictions at their ends are apart, on average."""
    pairs = index.contents.pairs[-MOST_PAIRS:]
    if not pairs:
        raise MissingError("The index compares no kinds.")
    means, far, there = _divergences(index, [pair.column for pair in pairs], deadline)
    feeding = {
        (kind.id, edge.kind, edge.back)
        for kind in (*subject.model.kinds, subject.model.prediction)
        for edge in kind.sources
    }
    edges = []
    for k, pair in enumerate(pairs):
        if not there[k]:  # as in sentences of one word
            continue
        differs = f"{as_kind(pair.kind)} differs from {as_other(pair)}"
        question = possible(f"{differs} > {FAR:g} sort by {differs} desc", index.names)
        sort = _sort(pair, feeding)
        edges.append(TurnEdge(pair.kind, pair.name, sort, means[k], far[k], there[k], question))
    edges.sort(key=lambda edge: -edge.bits)
    return TurnEdges(FAR, len(index.contents.pairs) - len(pairs), tuple(edges))


def _sort(pair: Pair, feeding: set[tuple[str, str, int]]) -> Literal["feeds", "step", "beside"]:
    """Whether the other feeds the kind, is the kind itself a step before, or stands beside it."""
    if (pair.kind, pair.other, pair.back) in feeding:
        return "feeds"
    return "step" if pair.back else "beside"


def surprise(_: Subject, index: Index, deadline: Deadline) -> Density:
    """How surprised the model is by how undecided it was, as a density of words."""
    if PREDICTION not in index.contents.kinds:
        raise MissingError("The index has no prediction of a network, which could be surprised.")
    if not index.contents.follows:
        raise MissingError(
            "The model's labels are not the words that follow, so the corpus does not tell what "
            "would surprise it."
        )
    most = math.log2(max(2, len(index.labels)))
    width = 2.0 ** max(-5, math.ceil(math.log2(most / _BINS)))
    rows = index.ask(sql.density(width, _HIGH), deadline).to_pylist()
    if not rows:
        raise MissingError("No word of this corpus has another after it.")
    cells = []
    for row in rows:
        x, y = row["x"] * width, row["y"] * width
        question = f"y entropy >= {x:g} and y entropy < {x + width:g} and surprisal >= {y:g}"
        if row["y"] < _HIGH - 1:
            question += f" and surprisal < {y + width:g}"
        question = possible(f"{question} sort by surprisal desc", index.names)
        cells.append(DensityCell(**row, question=question))
    columns, high = (1 + max(row[axis] for row in rows) for axis in "xy")
    return Density(width, columns, high, tuple(cells))


def by_tag(subject: Subject, index: Index, deadline: Deadline) -> Tags:
    """How often the two memories of a layer expect different groups, by part of speech."""
    pairs = memories(index.names, subject.model.kinds)[-8:]
    if not pairs:
        raise MissingError(
            "This network has no two memories, one that is kept and one that is new, to compare."
        )
    rows = index.ask(sql.disagreements_by_tag(pairs, _UNITS), deadline).to_pylist()
    if not rows:
        raise MissingError("This corpus has no parts of speech.")
    resamples = Resamples(min(_UNITS, index.contents.sentences))
    tags = list(dict.fromkeys(row["tag"] for row in rows))
    counts = np.zeros((resamples.sentences, len(tags), 1 + len(pairs)))
    for row in rows:
        here = [row["words"], *(row[f"n{k}"] for k in range(len(pairs)))]
        counts[row["unit"] % resamples.sentences, tags.index(row["tag"])] += here
    every, draws = counts.sum(0).astype(int), resamples.sums(counts)
    order = sorted(range(len(tags)), key=lambda t: (-every[t, 0], tags[t]))
    shown = []
    for k, (a, b) in enumerate(pairs, 1):
        question, lines = f"{as_kind(a)} disagrees with {as_kind(b)} and tag = ", []
        for t in order:
            sure = _measured(resamples, every[t, k] / every[t, 0], draws[:, t, k], draws[:, t, 0])
            words, count = map(int, every[t, [0, k]])
            asked = possible(question + as_text(tags[t]), index.names)
            lines.append(TagCount(tags[t], words, count, sure.low, sure.high, asked))
        shown.append(TagPair(a, b, tuple(lines)))
    return Tags(tuple(shown))


def reach(subject: Subject, index: Index, _: Deadline) -> Reach:
    """How much each kind tells of the labels around, as `rnnlens eval --horizon` measured it."""
    rows: Sequence[Mapping[str, Any]] = subject.scores.reach
    if not rows and subject.run:  # perhaps it was measured after the run was opened
        rows = subject.run.scores().reach
    if not rows:
        where = quote(str(subject.run.path)) if subject.run else "RUN"
        raise MissingError(
            f"It was not measured yet; run: rnnlens eval {where} --horizon 4, and open the page "
            "again"
        )
    known = set(index.contents.kinds) if index.contents.follows else set()
    cells = []
    for row in rows:
        here = row["semantic"] == index.contents.semantic and row["kind"] in known
        question = possible(f"{as_kind(row['kind'])} rank = 1", index.names) if here else ""
        steps = offset(row["semantic"])
        cells.append(
            ReachCell(row["kind"], steps, _told(row), row["perplexity"], row["unigram"], question)
        )
    return Reach(tuple(cells))


def _told(row: Mapping[str, Any]) -> float | None:
    """Of the bits that frequencies leave open, the share that a kind tells: 0 none, 1 all."""
    left, all_ = row["perplexity"], row["unigram"]
    if left is None or left < 1 or all_ <= 1:
        return None
    return max(0.0, 1 - math.log(left) / math.log(all_))


def _differing(
    index: Index, what: Literal["group", "label"], deadline: Deadline, leads: bool = False
) -> tuple[list[MeasuredShare], list[MeasuredShare]]:
    """For each two kinds the share of words at which they have another group or label; and, with
    `leads`, of those at which each of the two leads by the margin, too.
    """
    kinds = index.drawn_kinds
    names = [of_kind(kind, "group") if what == "group" else label_column(kind, 1) for kind in kinds]
    also = [of_kind(kind, "lead") for kind in kinds] if leads else []
    pairs = list(combinations(range(len(kinds)), 2))
    resamples, begun = Resamples(min(_UNITS, index.contents.sentences)), 0
    counts = np.zeros((resamples.sentences, 1 + 2 * len(pairs)))  # words, and of each pair
    for table in index.scan(["position", *names, *also], deadline):
        if not len(table):
            continue
        codes = [_codes(table[name], index.names.groups) for name in names]
        far = [np.asarray(table[name]) >= MARGIN for name in also]
        starts = np.flatnonzero(np.asarray(table["position"]) == 0)
        units = (begun + np.arange(len(starts))) % resamples.sentences
        begun += len(starts)
        np.add.at(counts[:, 0], units, np.diff([*starts, len(table)]))
        for k, (a, b) in enumerate(pairs):
            apart = codes[a] != codes[b]
            np.add.at(counts[:, 1 + 2 * k], units, np.add.reduceat(apart, starts, dtype=int))
            if also:
                apart = apart & far[a] & far[b]
                np.add.at(counts[:, 2 + 2 * k], units, np.add.reduceat(apart, starts, dtype=int))
    words, *every = counts.sum(0)
    draws = resamples.sums(counts)
    shares = [
        _measured(resamples, count / words, draws[:, k], draws[:, 0])
        for k, count in enumerate(every, 1)
    ]
    return shares[::2], shares[1::2]


def _measured(
    resamples: Resamples, share: float, above: NDArray[np.float64], below: NDArray[np.float64]
) -> MeasuredShare:
    """A share, with the interval of what resamples have of it."""
    with np.errstate(divide="ignore", invalid="ignore"):
        sure = resamples.interval(above / below)
    return MeasuredShare(float(share), *((sure.low, sure.high) if sure else (None, None)))


def _codes(values: Any, names: Sequence[str]) -> NDArray[np.int64]:
    """Numbers as they are, and names by their places in a list."""
    if arrow().types.is_integer(values.type):
        return np.asarray(values)
    places = arrow().compute.index_in(values, value_set=arrow().array(names))
    return np.asarray(places)


def _divergences(
    index: Index, columns: Sequence[str], deadline: Deadline
) -> tuple[list[float], list[int], list[int]]:
    """Of columns of bits the mean, how many are large, and how many there are."""
    total, far, there = (np.zeros(len(columns)) for _ in range(3))
    for table in index.scan(columns, deadline):
        bits = np.stack([np.asarray(table[name], np.float64) for name in columns])  # NaN: none
        there += np.isfinite(bits).sum(1)
        far += (bits > FAR).sum(1)
        total += np.nansum(bits, 1)
    means = np.clip(total / np.maximum(1, there), 0, 1)
    return means.tolist(), far.astype(int).tolist(), there.astype(int).tolist()


PICTURES: dict[str, Callable[[Subject, Index, Deadline], Any]] = {
    "disagreement": disagreement,
    "turns": turns,
    "surprise": surprise,
    "reach": reach,
    "tags": by_tag,
}
