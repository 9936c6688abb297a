"""From the text of a question to its tree. The grammar is in grammar.py."""

from collections.abc import Sequence
from dataclasses import replace

from rnnlens.search import tokens as t
from rnnlens.search.cursor import Cursor
from rnnlens.search.layout import Names, Pair
from rnnlens.search.tokens import Token, proposed
from rnnlens.search.tree import (
    Agree,
    Compare,
    Every,
    Expects,
    InGroup,
    Key,
    Like,
    Near,
    Node,
    Not,
    OneOf,
    Quantity,
    Query,
    Some,
    Unknown,
)

FIELDS = ("word", "next", "tag", "split")
WORD_NUMBERS = ("surprisal", "position", "length")
KIND_NUMBERS = ("entropy", "share", "rank", "came", "surprisal")
_TOLD = ("next", "surprisal", "rank", "came")  # only where the corpus tells which label came
_SIGNS = ("=", "!=", "<", "<=", ">", ">=")
_CLAUSES = ("count", "sort", "limit")
_STARTS = (*FIELDS, *WORD_NUMBERS, "not", "before", "after", "within", *_CLAUSES)
RESERVED = {*_STARTS, "and", "or"}  # a kind of such a name is written in backticks
_FARTHEST = 1000  # rows
_MOST_ROWS = 2 * _FARTHEST  # that are looked at around one, by conditions in one another


def parsed(query: str, names: Names) -> Query:
    """The tree of a question; an error that points at what is wrong."""
    return _Parser(query, names).question()


class _Parser(Cursor):
    """One method for each part of the grammar."""

    def __init__(self, query: str, names: Names) -> None:
        self.names = names
        self.kinds: dict[str, None] = {}  # that are named
        self.around = 1  # rows that are looked at, of the condition at hand
        plain = [kind for kind in names.kinds if kind.lower() not in RESERVED]
        super().__init__(query, list(t.tokens(query, plain)))

    def word(self, *words: str) -> str:
        token, found = self.here, super().word(*words)
        if found in _TOLD:
            self.need_following(token)
        return found

    def need_following(self, token: Token) -> None:
        """Refuse what is about the words as labels, where labels are something else."""
        if not self.names.follows:
            raise self.wrong(
                "the model's labels are not words that follow, so the corpus does not tell which "
                "came; ask what is said, such as: count by y label", token,
            )  # fmt: skip

    def question(self) -> Query:
        condition = None
        if self.here.sort != t.END and not self.is_word(*_CLAUSES):
            condition = self.either()
        query = Query(condition, written=self.query[: self.here.place].strip())
        while self.here.sort != t.END:
            query = self.clause(query)
        if query.sort and query.count:
            raise self.wrong("counts are sorted by themselves; leave sort by out", self.tokens[-1])
        return replace(query, kinds=tuple(self.kinds))

    def clause(self, query: Query) -> Query:
        token, word = self.here, self.word(*_CLAUSES)
        if word == "count":
            keys = []
            if self.word("by"):
                keys.append(self.key())
                while self.sign(","):
                    keys.append(self.key())
            return replace(query, count=True, by=tuple(keys))
        if word == "sort":
            self.need("by")
            quantity = self.quantity()
            order = self.word("asc", "desc")
            return replace(query, sort=quantity, descending=order == "desc")
        if word == "limit":
            return replace(query, limit=self.whole(1, 10**9 - 1))
        raise self.wrong("and, or, count, sort by, limit or nothing belongs here", token)

    def key(self) -> Key:
        if field := self.word(*FIELDS, "position", "length"):
            return Key(field)
        if self.here.sort == t.KIND:
            kind = self.kind()
            return Key(kind=kind, label=self.word("label", "group") == "label")
        raise self.wrong(
            f"count by {', '.join(FIELDS)}, position, length, a kind, or a kind's label"
        )

    def either(self) -> Node:
        self.deeper(1)
        parts = [self.both()]
        while self.word("or"):
            parts.append(self.both())
        self.deeper(-1)
        return parts[0] if len(parts) == 1 else Some(tuple(parts))

    def both(self) -> Node:
        parts = [self.single()]
        while self.word("and"):
            parts.append(self.single())
        return parts[0] if len(parts) == 1 else Every(tuple(parts))

    def single(self) -> Node:
        if self.word("not"):
            return Not(self.nested())
        if self.sign("("):
            condition = self.either()
            if not self.sign(")"):
                raise self.wrong("a closing bracket belongs here")
            return condition
        if self.is_word("before", "after", "within"):
            return self.near()
        if self.here.sort == t.NAME and self.here.value.lower() in FIELDS:
            return self.field(self.word(*FIELDS))
        if self.here.sort == t.KIND:
            return self.said(self.kind())
        if self.is_word(*WORD_NUMBERS):
            return self.comparison(Quantity(self.word(*WORD_NUMBERS)))
        if self.here.sort == t.NAME:
            there = [*self.names.kinds, *_STARTS]
            raise self.wrong(
                f"it is no kind and no word of the grammar; {proposed(self.here.value, there)}"
            )
        raise self.wrong("a condition belongs here, such as: l2 expects verb")

    def nested(self) -> Node:
        self.deeper(1)
        condition = self.single()
        self.deeper(-1)
        return condition

    def near(self) -> Near:
        word = self.need("before", "after", "within")
        if word != "within":
            return Near((-1,) if word == "before" else (1,), self.nested())
        token, count = self.here, self.whole(1, _FARTHEST)
        way = self.word("before", "after")
        back = () if way == "after" else tuple(range(-count, 0))
        ahead = () if way == "before" else tuple(range(1, count + 1))
        offsets, around = (*back, *ahead), self.around
        self.around *= len(offsets)
        if self.around > _MOST_ROWS:
            raise self.wrong(
                f"ranges in one another look at {self.around:,} rows, more than {_MOST_ROWS:,}; "
                "give smaller ones", token,
            )  # fmt: skip
        near = Near(offsets, self.nested())
        self.around = around
        return near

    def field(self, field: str) -> Node:
        token = self.here
        if sign := self.sign("=", "!="):
            same = OneOf(field, (self.text(),))
            return same if sign == "=" else Not(same)
        if self.word("not"):
            self.need("in")
            return Not(OneOf(field, self.texts()))
        if self.word("in"):
            return OneOf(field, self.texts())
        if self.word("like"):
            return Like(field, self.text())
        if field in ("word", "next") and self.word("is"):
            if field == "word" and self.word("unknown"):
                return Unknown()
            self.need_following(token)
            return InGroup(field, self.group())
        raise self.wrong("=, !=, in, like or (of word and next) is belongs here", token)

    def said(self, kind: str) -> Node:
        token = self.here
        verb = self.word("expects", "agrees", "disagrees", "differs", *KIND_NUMBERS)
        if verb == "expects":
            return self.expects(kind)
        if verb in ("agrees", "disagrees"):
            self.need("with")
            kinds = [kind, self.kind()]
            while self.sign(","):
                kinds.append(self.kind())
            on_label = bool(self.word("on")) and self.need("label", "group") == "label"
            agree = Agree(tuple(kinds), on_label)
            return agree if verb == "agrees" else Not(agree)
        if verb == "differs":
            left = Quantity("differs", kind, self.pair(kind, token))
            is_alone = not (self.here.sort == t.SIGN and self.here.value in _SIGNS)
            return Compare(left, ">", 0.5) if is_alone else self.comparison(left)
        if verb:
            return self.comparison(Quantity(verb, kind))
        verbs = ["expects", "agrees", "disagrees", "differs", *KIND_NUMBERS]
        raise self.wrong(f"after a kind: {proposed(token.value, verbs)}", token)

    def expects(self, kind: str) -> Expects:
        token, group, labels = self.here, "", tuple[int, ...]()
        if token.sort == t.SIGN and token.value == "{":
            labels = tuple(self.label(one) for one in self.listed())
        elif token.value.lower() == "group" and self.following.sort == t.STRING:
            self.next()
            group = self.group()
        elif token.sort in (t.STRING, t.NAME, t.KIND, t.NUMBER):
            self.next()
            group = "" if token.sort == t.STRING else self.as_group(token.value)
            labels = () if group else (self.label(token, or_group=token.sort != t.STRING),)
        else:
            raise self.wrong('a group, a "label" or {several} belongs here')
        if sign := self.sign(*_SIGNS):
            return Expects(kind, group, labels, sign, self.number())
        return Expects(kind, group, labels)

    def as_group(self, name: str) -> str:
        """A group by its name, whatever its capitals; empty where there is none."""
        exact = [group for group in self.names.groups if group == name]
        loose = [group for group in self.names.groups if group.lower() == name.lower()]
        return (exact or loose or [""])[0]

    def group(self) -> str:
        token = self.next()
        return self.as_group(token.value) or self.refuse(
            f"there is no such group; {proposed(token.value, self.names.groups)}", token
        )

    def label(self, token: Token, *, or_group: bool = False) -> int:
        """The number of a label."""
        name = token.value
        if (number := self.names.labels.get(name)) is not None:
            return number
        what = "group and no label" if or_group else "label"
        groups: Sequence[str] = self.names.groups if or_group else ()
        close = proposed(name, [*groups, *self.names.labels])
        raise self.wrong(f"there is no such {what}; {close}", token)

    def pair(self, kind: str, at: Token) -> Pair:
        """The other end of a comparison, of which the index has the divergence."""
        self.need("from")
        other, back = self.kind(), 0
        if self.here.sort == t.STEP:
            step = self.next().value
            back = -int(step) if len(step) < 10 else _FARTHEST  # which no index has
        pairs = [Pair(kind, other, back)]
        pairs += [] if back else [Pair(other, kind)]  # of one row, the same either way
        for pair in pairs:
            if pair in self.names.pairs:
                return pair
        there = [p.name for p in self.names.pairs if p.kind == kind]
        there += [p.kind for p in self.names.pairs if p.other == kind and not p.back]
        raise self.wrong(
            f"the index compares {kind} with {', '.join(sorted({*there})) or 'none'}", at
        )

    def comparison(self, left: Quantity) -> Compare:
        sign = self.sign(*_SIGNS) or self.refuse(f"one of {' '.join(_SIGNS)} belongs here")
        return Compare(left, sign, self.number() if self.here.sort == t.NUMBER else self.quantity())

    def quantity(self) -> Quantity:
        if word := self.word(*WORD_NUMBERS):
            return Quantity(word)
        kind, token = self.kind(), self.here
        name = self.need(*KIND_NUMBERS, "differs")
        pair = self.pair(kind, token) if name == "differs" else None
        return Quantity(name, kind, pair)

    def kind(self) -> str:
        token = self.next()
        if token.sort == t.KIND and token.value in self.names.kinds:
            self.kinds[token.value] = None
            return token.value
        raise self.wrong(
            f"it is no kind of the index; {proposed(token.value, self.names.kinds)}", token
        )
