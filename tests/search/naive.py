"""Random questions, each with the loop over grids that answers it, written without the parser and
without SQL.

A number is compared with a border of its rounding, so that the rounded and the exact one must agree
on which side they are; borders that a number comes close to are not taken.
"""

import math
import operator
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

SIGNS = {
    "=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge,
}  # fmt: skip
STEPS = {"share": 256, "entropy": 32, "surprisal": 64, "differs": 256}
Fact = dict[str, Any]  # of one word
Holds = Callable[[list[Fact], int], bool]  # of the word at a place in its sentence


class Following:
    """A condition about what follows: whoever asks it leaves out the words that nothing follows,
    whatever it is joined with.
    """

    def __init__(self, holds: Holds, *there: Holds) -> None:
        self.holds, self.there = holds, there

    def __call__(self, sentence: list[Fact], place: int) -> bool:
        return self.holds(sentence, place)


def asked(holds: Holds) -> Holds:
    """Whether a question is asked of a word at all."""
    there = getattr(holds, "there", ())
    return lambda s, t: all(one(s, t) for one in there)


def joined(holds: Holds, *some: Holds) -> Holds:
    """A condition made of some, asked of the words that all of them are asked of."""
    there = [one for holds in some for one in getattr(holds, "there", ())]
    return Following(holds, *there) if there else holds


def jensen_shannon(p: ArrayLike, q: ArrayLike) -> float:
    """In bits, by its definition: the mean divergence of two distributions from their middle."""
    a, b = np.asarray(p, np.float64), np.asarray(q, np.float64)
    middle = (a + b) / 2

    def far(one: np.ndarray) -> float:
        there = one > 0
        return float((one[there] * np.log2(one[there] / middle[there])).sum())

    return (far(a) + far(b)) / 2


def facts_of(grid, pairs) -> list[Fact]:
    """What the rows of a grid say, as plain values."""
    kinds = [kind for kind in grid.kinds if "@" not in kind]
    subject = grid.reading.subject
    states, _ = subject.session.read(grid.reading.ids, 0, len(grid))
    p = {
        kind: (
            subject.model.predict(states[kind])
            if kind == "y"
            else subject.probes.logits(kind, states[kind], grid.semantic)
        )
        .double()
        .softmax(1)
        for kind in kinds
    }
    facts = []
    for t, word in enumerate(grid.words):
        fact: Fact = {"word": word, "position": t, "length": len(grid), "next": None,
                      "surprisal": None, "label": grid.json["words"][t]["label"]}  # fmt: skip
        for kind in kinds:
            drawn = grid.json["rows"][t][grid.kinds.index(kind)]
            fact[kind] = {
                "group": drawn["group"], "share": drawn["share"], "entropy": drawn["entropy"],
                "top": drawn["top"][:5], "rank": None, "came": None,
            }  # fmt: skip
            if drawn["wanted"]:
                _, fact[kind]["came"], fact[kind]["rank"] = drawn["wanted"]
        own = grid.json["rows"][t][-1]["wanted"]
        if own:
            fact["next"], fact["surprisal"] = own[0], -math.log2(own[1])
        for pair in pairs:
            at = t - pair.back
            inside = 0 <= at < len(grid)
            bits = jensen_shannon(p[pair.kind][t], p[pair.other][at]) if inside else None
            fact[f"{pair.kind} differs from {pair.name}"] = bits
        facts.append(fact)
    return facts


@dataclass
class Questions:
    """Draws questions about some sentences."""

    sentences: list[list[Fact]]
    kinds: list[str]
    groups: list[str]
    labels: list[str]
    pairs: list[Any]
    tags: dict[str, str]
    chance: random.Random

    def __post_init__(self) -> None:
        self.words = [fact for facts in self.sentences for fact in facts]

    def pick(self, some: Any) -> Any:
        return self.chance.choice(list(some))

    def condition(self, depth: int = 2) -> tuple[str, Holds]:
        if depth and self.chance.random() < 0.7:
            return self.compound(depth)
        atoms = (self.expects_group, self.expects_label, self.expects_some, self.number,
                 self.number, self.whole, self.field, self.field, self.agrees, self.in_group,
                 self.ranks)  # fmt: skip
        question: tuple[str, Holds] = self.pick(atoms)()
        return question

    def compound(self, depth: int) -> tuple[str, Holds]:
        a, holds_a = self.condition(depth - 1)
        b, holds_b = self.condition(depth - 1)
        sort = self.pick(("and", "or", "not", "before", "after", "within"))
        if sort == "and":
            both: Holds = lambda s, t: holds_a(s, t) and holds_b(s, t)  # noqa: E731
            return f"({a}) and ({b})", joined(both, holds_a, holds_b)
        if sort == "or":
            either: Holds = lambda s, t: holds_a(s, t) or holds_b(s, t)  # noqa: E731
            return f"({a} or {b})", joined(either, holds_a, holds_b)
        if sort == "not":
            return f"not ({a})", joined(lambda s, t: not holds_a(s, t), holds_a)
        way, count = "", 1
        if sort == "within":
            count, way = self.chance.randint(1, 4), self.pick(("", " before", " after"))
            sort = f"within {count}"
        back = range(-count, 0) if "after" not in sort + way else ()
        ahead = range(1, count + 1) if "before" not in sort + way else ()
        return f"{sort}{way} ({a})", lambda s, t: any(
            0 <= t + k < len(s) and holds_a(s, t + k) and asked(holds_a)(s, t + k)
            for k in (*back, *ahead)
        )

    def border(self, what: str, values: list[float]) -> float:
        """A border between rounded numbers that no number comes close to."""
        for _ in range(200):
            near = self.chance.choice(values)
            if what in STEPS:
                edge = (math.floor(near * STEPS[what]) + 0.5) / STEPS[what]
            else:
                mantissa, exponent = math.frexp(max(near, 1e-9))
                edge = (math.floor(mantissa * 128) + 0.5) / 128 * 2.0**exponent
            if all(abs(v - edge) > 2e-4 * max(1e-6, abs(edge)) + (what != "p") * 1e-4
                   for v in values):  # fmt: skip
                return float(edge)
        return float(2.0 ** -self.chance.randint(1, 4)) if what == "p" else 99.0

    def sign(self) -> str:
        return str(self.pick(("<", "<=", ">", ">=")))

    def expects_group(self):
        kind, group = self.pick(self.kinds), self.pick(self.groups)
        said = group.lower() if self.chance.random() < 0.5 else group
        if self.chance.random() < 0.4:
            return f"{kind} expects {said}", lambda s, t: s[t][kind]["group"] == group
        sign = self.sign()
        edge = self.border("share", [fact[kind]["share"] for fact in self.words])
        return (
            f"{kind} expects {said} {sign} {edge!r}",
            lambda s, t: s[t][kind]["group"] == group and SIGNS[sign](s[t][kind]["share"], edge),
        )

    def expects_label(self):
        kind, label = self.pick(self.kinds), self.pick(self.labels)
        text = label.replace("\\", "\\\\").replace('"', '\\"')
        return f'{kind} expects "{text}"', lambda s, t: s[t][kind]["top"][0][0] == label

    def expects_some(self):
        kind = self.pick(self.kinds)
        some = {self.pick(self.labels) for _ in range(self.chance.randint(1, 4))}
        sign = self.sign()

        def total(fact: Fact) -> float:
            return float(sum(p for label, p in fact[kind]["top"] if label in some))

        for _ in range(200):
            edge = round(self.chance.random() * 0.6, 3)
            if all(abs(total(f) - edge) > 0.012 * edge + 1e-4 for f in self.words):
                break
        else:
            edge, sign = 2.0, "<"
        quoted = ", ".join('"' + one.replace('"', '\\"') + '"' for one in sorted(some))
        return f"{kind} expects {{{quoted}}} {sign} {edge!r}", lambda s, t: SIGNS[sign](
            total(s[t]), edge
        )

    def number(self):
        kind, sign = self.pick(self.kinds), self.sign()
        what = self.pick(("share", "entropy", "came", "surprisal", "differs"))
        name = "surprisal" if what == "surprisal" else f"{kind} {what}"
        if what == "differs":
            pair = self.pick(self.pairs)
            name = f"{pair.kind} differs from {pair.name}"

        def value(fact: Fact) -> Any:
            return fact[name] if what in ("surprisal", "differs") else fact[kind][what]

        there = [v for fact in self.words if (v := value(fact)) is not None]
        edge = self.border("p" if what == "came" else what, there)
        holds: Holds = lambda s, t: there_is(s, t) and SIGNS[sign](value(s[t]), edge)  # noqa: E731
        there_is: Holds = lambda s, t: value(s[t]) is not None  # noqa: E731
        follows = what in ("came", "surprisal")
        return f"{name} {sign} {edge!r}", Following(holds, there_is) if follows else holds

    def whole(self):
        name, sign = self.pick(("position", "length", "rank")), self.pick(SIGNS)
        number = self.chance.randint(0, 9)
        if name != "rank":
            return f"{name} {sign} {number}", lambda s, t: SIGNS[sign](s[t][name], number)
        kind = self.pick(self.kinds)
        there: Holds = lambda s, t: s[t][kind]["rank"] is not None  # noqa: E731
        return f"{kind} rank {sign} {number}", Following(
            lambda s, t: there(s, t) and SIGNS[sign](s[t][kind]["rank"], number), there
        )

    def ranks(self):
        a, b, sign = self.pick(self.kinds), self.pick(self.kinds), self.pick(SIGNS)
        there: Holds = lambda s, t: None not in (s[t][a]["rank"], s[t][b]["rank"])  # noqa: E731
        return f"{a} rank {sign} {b} rank", Following(
            lambda s, t: there(s, t) and SIGNS[sign](s[t][a]["rank"], s[t][b]["rank"]), there
        )

    def field(self):
        field = self.pick(("word", "next", "tag"))
        value = self.tag if field == "tag" else lambda fact: fact[field]
        there = sorted({v for fact in self.words if (v := value(fact)) is not None})
        one, other = self.pick(there), self.pick(there)
        quoted = [text.replace("\\", "\\\\").replace('"', '\\"') for text in (one, other)]
        text, holds = self.pick((
            (f'{field} = "{quoted[0]}"', lambda s, t: value(s[t]) == one),
            (f'{field} != "{quoted[0]}"', lambda s, t: value(s[t]) != one),
            (f'{field} in {{"{quoted[0]}", "{quoted[1]}"}}',
             lambda s, t: value(s[t]) in (one, other)),
            (f'{field} like "%e%"', lambda s, t: "e" in (value(s[t]) or "")),
        ))  # fmt: skip
        there_is: Holds = lambda s, t: s[t]["next"] is not None  # noqa: E731
        return text, Following(holds, there_is) if field == "next" else holds

    def tag(self, fact: Fact) -> str:
        return self.tags.get(fact["word"], "X")

    def agrees(self):
        kinds = [self.pick(self.kinds) for _ in range(self.chance.randint(2, 3))]
        on_label, verb = self.chance.random() < 0.4, self.pick(("agrees", "disagrees"))

        def same(fact: Fact) -> bool:
            said = {fact[k]["top"][0][0] if on_label else fact[k]["group"] for k in kinds}
            return len(said) == 1

        text = f"{kinds[0]} {verb} with {', '.join(kinds[1:])}{' on label' if on_label else ''}"
        return text, lambda s, t: same(s[t]) == (verb == "agrees")

    def in_group(self):
        if self.chance.random() < 0.3:
            return "word is unknown", lambda s, t: s[t]["label"] == "UNK"
        field, group = self.pick(("word", "next")), self.pick(self.groups)
        members = {word for word in self.labels if self.group_of[word] == group}
        holds: Holds = lambda s, t: s[t]["label" if field == "word" else field] in members  # noqa: E731
        there_is: Holds = lambda s, t: s[t]["next"] is not None  # noqa: E731
        return f"{field} is {group}", Following(holds, there_is) if field == "next" else holds

    @property
    def group_of(self) -> dict[str, str]:
        return self._groups

    def with_groups(self, groups: dict[str, str]) -> "Questions":
        self._groups = groups
        return self
