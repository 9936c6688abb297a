"""Questions written for people: as the language wants them, and good ones to begin with."""

import re
from collections.abc import Sequence

from rnnlens.model.kinds import PREDICTION, Kind
from rnnlens.search.index import Index
from rnnlens.search.layout import Pair
from rnnlens.search.parse import RESERVED
from rnnlens.search.tokens import QueryError
from rnnlens.search.tree import Key, Query

_TAG = re.compile(r"\btag\b")
_NAME = re.compile(r"[^\W\d]\w*")
_PLAIN = re.compile(r"[\w.]+<?")
_MEMORIES = (("l", "s"), ("k", "w"))  # what is kept and what is new, of an LSTM and of a GRU


def as_kind(kind: str) -> str:
    """A kind as a question names it."""
    plain = _PLAIN.fullmatch(kind) and kind.lower() not in RESERVED
    return kind if plain or "`" in kind else f"`{kind}`"


def as_other(pair: Pair) -> str:
    """The other of a pair, as a question names it: `c2@-1` is `c2` one step back."""
    return as_kind(pair.other) + (f"@{-pair.back:+d}" if pair.back else "")


def as_text(value: str) -> str:
    """A word, a label or the like, in quotes."""
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def as_group(group: str) -> str:
    """A group as a question names it, which takes a bare text in quotes for a label."""
    return group if _NAME.fullmatch(group) else f"group {as_text(group)}"


def possible(index: Index, question: str) -> str:
    """A question that the index can answer; empty where it cannot, as odd names allow none."""
    try:
        index.parsed(question)
    except QueryError:
        return ""
    return question


def memories(index: Index, kinds: Sequence[Kind]) -> list[tuple[str, str]]:
    """The pairs of memories that a network has: what it keeps, and what it has just written."""
    there = [kind for kind in kinds if kind.id in index.contents.kinds]
    return [
        (kept.id, new.id)
        for kept in there
        for new in there
        if (kept.letter, new.letter) in _MEMORIES
        and (kept.layer, kept.part, kept.reverse) == (new.layer, new.part, new.reverse)
    ]


def narrowed(query: Query, values: Sequence[str | int | None]) -> str:
    """The question for the words behind one line of a question that counts; empty where it has
    none, as of a value that is not there.
    """
    if None in values:
        return ""
    parts = [query.written] if query.written else []
    if len(parts) == 1 and values and re.search(r"\bor\b", parts[0], re.IGNORECASE):
        parts = [f"({parts[0]})"]
    pairs = zip(query.by, values, strict=True)
    return " and ".join([*parts, *(_one(key, value) for key, value in pairs)])


def _one(key: Key, value: str | int | None) -> str:
    """A condition that a key has a value."""
    if isinstance(value, int):
        return f"{key.field} = {value}"
    if key.field:
        return f"{key.field} = {as_text(value or '')}"
    text = as_text(value or "")
    thing = text if key.label else as_group(value or "")
    return f"{as_kind(key.kind)} expects {thing}"


def examples(index: Index, kinds: Sequence[Kind]) -> list[tuple[str, str]]:
    """Questions that say something about this network and corpus, and what they mean."""
    y, memory = PREDICTION, memories(index, kinds)
    outputs = [pair for pair in index.contents.pairs if pair.kind == pair.other]
    some: list[tuple[str, str]] = []
    for kept, new in (map(as_kind, pair) for pair in memory[-1:]):
        some += [
            (f"{kept} disagrees with {new} and {y} agrees with {new}",
             "the two memories expect different things, and the new one wins"),
            (f"{kept} expects verb > .4 and {y} expects noun",
             "the memory waits for a verb while the prediction expects a noun"),
            (f"{kept} rank = 1 and {y} rank > 1", "the memory knew better than the prediction"),
            (f"{kept} disagrees with {new} count by tag",
             "after which parts of speech the two memories part"),
        ]  # fmt: skip
    some += [
        (f"{y} entropy < 2 and surprisal > 8 sort by surprisal desc", "sure of it, and wrong"),
        (f"{y} rank = 1 count by tag", "after which parts of speech the model is right"),
        ("tag = DET and not y expects noun", "after a determiner, and no noun is expected"),
    ]
    for one, other in ((as_kind(pair.kind), as_other(pair)) for pair in outputs[-1:]):
        change = f"{one} differs from {other}"
        some.append((f"{change} > .8 sort by {change} desc", "one word that changes everything"))
    some += [
        (f"word is unknown sort by {y} entropy desc", "words that the model does not know"),
        (f"count by {y} label", "what the model says, how often"),
        (f"{y} entropy > 1 sort by {y} entropy desc", "where the model hesitates most"),
    ]
    if not index.has_tags:
        some = [(question, means) for question, means in some if not _TAG.search(question)]
    return [(question, means) for question, means in some if possible(index, question)]


def first_question(index: Index) -> str:
    """What somebody may ask an index first."""
    if not index.contents.follows:
        return f"count by {PREDICTION} label"
    return f"{PREDICTION} rank = 1 count by {'tag' if index.has_tags else 'word'}"
