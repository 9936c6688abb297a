"""The language that indexes are asked in: from the text of a question to its tree, and questions
written for people.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import NoReturn

from rnnlens.base.errors import RnnlensError
from rnnlens.base.rules import message
from rnnlens.labels.sets import BLANK, beginning
from rnnlens.model.kinds import PREDICTION, Kind
from rnnlens.search.index_files import AXIS_NUMBERS, Pair, Sort

GRAMMAR = """\
question   [condition] [count [by KEY, ...]] [sort by NUMBER [asc|desc]] [limit N]
condition  condition and condition, condition or condition, not condition, (condition), or
  KIND expects THING [SIGN P]     its dominant group, with a share like that; or a label or labels,
                                  with that probability together; without P, above all others
  KIND agrees with KIND, ... [on label]      the same dominant group, or most probable label
  KIND disagrees with KIND, ... [on label]
  KIND differs from KIND [SIGN BITS]         Jensen-Shannon, 0 to 1; without BITS, > .5
  KIND has LABEL [SIGN P]         of sets of labels: it holds, or with a probability like that
  map KIND in X..X, Y..Y          its state is in that rectangle of the kind's map
  NUMBER SIGN NUMBER
  FIELD = TEXT, FIELD != TEXT, FIELD in {TEXT, ...}, FIELD like "PATTERN"
  word is GROUP, next is GROUP, word is unknown
  before condition, after condition          in the row before or after, of the same sentence
  within N [before|after] condition          in one of N rows around, before or after
THING      a GROUP, such as verb, or group "any name"; a label, such as "was"; or labels, such as
           {was, were}
FIELD      word, next (the word that came), tag, split
NUMBER     a number; surprisal (of the word that came, in bits), position (from 0), length; or
           KIND entropy, KIND share, KIND lead (over the second group), KIND rank, KIND came,
           KIND surprisal, KIND differs from KIND; where labels are numbers, KIND number, KIND low,
           KIND high (80% lie between these)
KEY        a FIELD, position, length, KIND (its group), or KIND label
SIGN       = != < <= > >=
KIND       as the grid names it, such as l2; c2@-1, one step back, in `differs from` alone"""

FIELDS = ("word", "next", "tag", "split")
WORD_NUMBERS = ("surprisal", "position", "length")
KIND_NUMBERS = ("entropy", "share", "lead", "rank", "came", "surprisal", *AXIS_NUMBERS)
LONGEST = 10_000  # characters of a question
_OF_WHAT_CAME = ("next", "surprisal", "rank", "came")  # where the corpus tells which label came
_SIGNS = ("=", "!=", "<", "<=", ">", ">=")
_CLAUSES = ("count", "sort", "limit")
_STARTS = (*FIELDS, *WORD_NUMBERS, "not", "before", "after", "within", *_CLAUSES)
RESERVED = {*_STARTS, "and", "or"}  # a kind of such a name is written in backticks
_FARTHEST = 1000  # rows
_MOST_ROWS = 2 * _FARTHEST  # that are looked at around one, by conditions in one another
_DIGITS = 9  # of a whole number
_DEEPEST = 100  # conditions in one another


class QueryError(RnnlensError):
    """A question that cannot be answered, and the place in it that is wrong."""

    def __init__(self, message: str, query: str = "", place: int = 0) -> None:
        super().__init__(message)
        self.query, self.place = query, place

    def pointed(self) -> str:
        """The question on one line, and a caret under the place on the next."""
        line = re.sub(r"\s", " ", self.query)  # every character in its place
        return f"{line}\n{' ' * self.place}^"


@dataclass(frozen=True)
class Names:
    """What a question to an index may name."""

    kinds: tuple[str, ...]
    groups: tuple[str, ...]
    labels: Mapping[str, int]  # and their numbers
    pairs: frozenset[Pair]
    follows: bool = True  # whether the corpus tells which label came
    tagged: bool = True  # whether any word has a part of speech
    maps: tuple[str, ...] = ()  # the kinds whose states are on a map
    leads: bool = True  # whether the index tells by how much groups lead
    folded: bool = False  # whether its words are written small
    sort: Sort = "label"  # what a state is asked for


# The tree of a question: conditions on a row, and what is wanted of the rows.


@dataclass(frozen=True)
class Joined:
    """All of some conditions hold, or at least one of them does."""

    word: str  # and, or
    conditions: tuple["Node", ...]


@dataclass(frozen=True)
class Not:
    """A condition does not hold."""

    condition: "Node"


@dataclass(frozen=True)
class Near:
    """A condition holds in a row of the same sentence that is so many rows further on, or back."""

    offsets: tuple[int, ...]
    condition: "Node"


@dataclass(frozen=True)
class OneOf:
    """The word, tag or the like is one of some."""

    field: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class Like:
    """The word or the like has a form, in which % stands for any letters and _ for one."""

    field: str
    pattern: str


@dataclass(frozen=True)
class InGroup:
    """The word, or the one that came, is of a group."""

    field: str
    group: str


@dataclass(frozen=True)
class Unknown:
    """The model does not know the word."""


@dataclass(frozen=True)
class Expects:
    """A state expects a group, or labels; how much, or else above all others."""

    kind: str
    group: str = ""
    labels: tuple[int, ...] = ()
    operator: str = ""
    number: float = 0.0


@dataclass(frozen=True)
class Has:
    """A label of a set holds in what a state says."""

    kind: str
    label: int


@dataclass(frozen=True)
class Agree:
    """States of some kinds have the same dominant group, or the same most probable label."""

    kinds: tuple[str, ...]
    on_label: bool = False


@dataclass(frozen=True)
class Quantity:
    """A number of a row: of one kind, of a pair of them, or of the word."""

    name: str
    kind: str = ""
    pair: Pair | None = None


@dataclass(frozen=True)
class Compare:
    """A number is larger than another, or whatever the operator says."""

    left: Quantity
    operator: str
    right: Quantity | float


Range = tuple[float, float]


@dataclass(frozen=True)
class OnMap:
    """A state is in a rectangle of its kind's map, its edges included."""

    kind: str
    across: Range
    up: Range


Node = (
    Joined | Not | Near | OneOf | Like | InGroup | Unknown | Expects | Has | Agree | OnMap | Compare
)


@dataclass(frozen=True)
class Key:
    """What rows are counted by: a field of the word, or what a kind says."""

    field: str = ""
    kind: str = ""
    label: bool = False  # the most probable label, and not the dominant group

    @property
    def name(self) -> str:
        """The heading of its column."""
        return self.field or f"{self.kind} {'label' if self.label else 'group'}"


@dataclass(frozen=True)
class Query:
    """A whole question."""

    condition: Node | None = None
    count: bool = False
    by: tuple[Key, ...] = ()
    sort: Quantity | None = None
    descending: bool = False
    limit: int | None = None
    offset: int = 0  # answers that are left out before the first
    kinds: tuple[str, ...] = ()  # that it names, in their order
    groups: frozenset[str] = frozenset()  # those of them whose dominant group it asks about
    maps: tuple[str, ...] = ()  # the kinds on whose map it looks
    written: str = ""  # its condition, as it was given


# The tokens of a question.

NUMBER, RANGE, STRING, NAME, KIND, SIGN, STEP, END = (
    "number", "range", "string", "name", "kind", "sign", "step", "end"
)  # fmt: skip
_NO_UTF8 = re.compile("[\ud800-\udfff]")  # what Python makes of bytes that are no text
_SPACE = re.compile(r"\s+")
_PLAIN = r"-?(?:\d+(?:\.(?!\.)\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
_NUMBER = re.compile(rf"{_PLAIN}%?(?=[\s(){{}},=<>!]|\Z)")
_RANGE = re.compile(rf"({_PLAIN})\.\.({_PLAIN})(?=[\s(){{}},=<>!]|\Z)")
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"|\'((?:[^\'\\]|\\.)*)\'')
_QUOTED_KIND = re.compile(r"`([^`]*)`")
_SIGN = re.compile(r"<=|>=|!=|[(){},=<>]")
_STEP = re.compile(r"@([-+]\d+)")
_NAME = re.compile(r"[^\s(){},=<>!\"`@]+")
_PATTERNS = {RANGE: _RANGE, NUMBER: _NUMBER, SIGN: _SIGN, STEP: _STEP, NAME: _NAME}
_AFTER_KIND = re.compile(r"[\s(){},=<>!@]|\Z")


@dataclass(frozen=True)
class Token:
    """A piece of a question."""

    sort: str
    value: str
    place: int  # of its first character
    text: str  # as it is written


def tokens(query: str, kinds: Iterable[str]) -> Iterator[Token]:
    """The tokens of a question; names of kinds may hold signs, as `h1<` does."""
    if len(query) > LONGEST:
        raise QueryError(f"a question of {len(query):,} characters is too long; ask less at once")
    if broken := _NO_UTF8.search(query):
        raise QueryError(f"character {broken.start() + 1} is no text in UTF-8; write it anew")
    known = sorted(kinds, key=len, reverse=True)
    at = 0
    while at < len(query):
        if space := _SPACE.match(query, at):
            at = space.end()
            continue
        token = _token(query, at, known)
        if token is None:
            raise QueryError(
                f"character {at + 1}, {query[at]!r}, belongs to no word, number or sign; "
                "texts stand in quotes", query, at,
            )  # fmt: skip
        yield token
        at += len(token.text)
    yield Token(END, "", len(query), "")


def _token(query: str, at: int, kinds: Sequence[str]) -> Token | None:
    for kind in kinds:
        if query.startswith(kind, at) and _AFTER_KIND.match(query, at + len(kind)):
            return Token(KIND, kind, at, kind)
    if match := _STRING.match(query, at):
        inner = match[1] if match[1] is not None else match[2]
        return Token(STRING, re.sub(r"\\(.)", r"\1", inner), at, match[0])
    if match := _QUOTED_KIND.match(query, at):
        return Token(KIND, match[1], at, match[0])
    for sort, pattern in _PATTERNS.items():
        if match := pattern.match(query, at):
            return Token(sort, match[1] if sort == STEP else match[0], at, match[0])
    return None


def suggestion(name: str, there: Sequence[str]) -> str:
    """What to write instead: the names most like one that is not there, or some that are."""
    by_lower = {one.lower(): one for one in there}
    if close := get_close_matches(name.lower(), by_lower, 3, 0.5):
        return f"did you mean {' or '.join(by_lower[one] for one in close)}?"
    return f"there is {', '.join(there[:20])}{', ...' if len(there) > 20 else ''}"


def parse(question: str, names: Names) -> Query:
    """The tree of a question; an error that points at what is wrong."""
    return _Parser(question, names).question()


class _Parser:
    """The tokens of a question, taken one after the other: what takes one, and then a method for
    each part of the grammar.
    """

    def __init__(self, query: str, names: Names) -> None:
        plain = [kind for kind in names.kinds if kind.lower() not in RESERVED]
        self.query, self.names, self.tokens = query, names, list(tokens(query, plain))
        self.at = self.depth = 0
        self.kinds: dict[str, None] = {}  # that are named
        self.groups: set[str] = set()  # the kinds whose groups are asked about
        self.maps: dict[str, None] = {}  # the kinds on whose maps it looks
        self.around = 1  # rows that are looked at, of the condition at hand

    @property
    def here(self) -> Token:
        """The token at hand."""
        return self.tokens[self.at]

    @property
    def following(self) -> Token:
        """The token after it."""
        return self.tokens[min(self.at + 1, len(self.tokens) - 1)]

    def next(self) -> Token:
        """Take the token at hand; at the end, stay there."""
        token = self.here
        self.at += token.sort != END
        return token

    def wrong(self, what: str, token: Token | None = None) -> QueryError:
        """An error that points at a token, which is the one at hand unless given."""
        token = token or self.here
        at = f"character {token.place + 1}, {token.text!r}" if token.text else "its end"
        return QueryError(f"the question is wrong at {at}: {what}", self.query, token.place)

    def refuse(self, what: str, token: Token | None = None) -> NoReturn:
        """Raise that error."""
        raise self.wrong(what, token)

    def is_word(self, *words: str) -> bool:
        """Whether the token at hand is one of some words of the grammar."""
        return self.here.sort == NAME and self.here.value.lower() in words

    def word(self, *words: str) -> str:
        """Take one of some words; empty where there is none of them."""
        if not self.is_word(*words):
            return ""
        token = self.next()
        if token.value.lower() in _OF_WHAT_CAME:
            self.need_following(token)
        if token.value.lower() == "surprisal" and PREDICTION not in self.names.kinds:
            raise self.wrong("there is no prediction in this index that could be surprised", token)
        if token.value.lower() in AXIS_NUMBERS and self.names.sort != "number":
            raise self.wrong("the labels of this index are no numbers", token)
        if token.value.lower() == "tag" and not self.names.tagged:
            raise self.wrong("this corpus has no tags", token)
        if token.value.lower() == "lead" and not self.names.leads:
            raise self.wrong(
                "this index was made before it told by how much groups lead; make it anew: "
                "rnnlens index RUN --anew", token,
            )  # fmt: skip
        return token.value.lower()

    def need(self, *words: str) -> str:
        """Take one of some words, which must be there."""
        return self.word(*words) or self.refuse(f"{' or '.join(words)} belongs here")

    def sign(self, *signs: str) -> str:
        """Take one of some signs; empty where there is none of them."""
        is_there = self.here.sort == SIGN and self.here.value in signs
        return self.next().value if is_there else ""

    def deeper(self, by: int) -> None:
        """Note that a condition begins or ends, and refuse too many in one another."""
        self.depth += by
        if self.depth > _DEEPEST:
            raise self.wrong(f"more than {_DEEPEST} conditions stand in one another; ask less")

    def number(self) -> float:
        """Take a number; 40% is .4."""
        token = self.next()
        if token.sort != NUMBER:
            raise self.wrong("a number belongs here", token)
        share = token.value.endswith("%")
        number = float(token.value.rstrip("%")) / (100 if share else 1)
        if not math.isfinite(number):
            raise self.wrong("the number is too large; give a smaller one", token)
        return number

    def whole(self, least: int, most: int) -> int:
        """Take a whole number within bounds."""
        token = self.next()
        if token.sort != NUMBER or not token.value.isdecimal():
            raise self.wrong("a whole number belongs here", token)
        if len(token.value) > _DIGITS or not least <= int(token.value) <= most:
            raise self.wrong(f"a number from {least} to {most:,} belongs here", token)
        return int(token.value)

    def text(self) -> str:
        """Take a text, in quotes or a single word."""
        token = self.next()
        if token.sort not in (STRING, NAME, KIND, NUMBER):
            raise self.wrong('a text belongs here, such as "that"', token)
        return token.value

    def texts(self) -> tuple[str, ...]:
        """Take texts in braces."""
        return tuple(token.value for token in self.listed())

    def listed(self) -> list[Token]:
        """Take the tokens in braces, with commas between them."""
        if not self.sign("{"):
            raise self.wrong("{ belongs here, as in {was, were}")
        some = []
        while True:
            token = self.here
            self.text()
            some.append(token)
            if not self.sign(","):
                break
        if not self.sign("}"):
            raise self.wrong(", or } belongs here")
        return some

    def need_following(self, token: Token) -> None:
        """Refuse what is about the words as labels, where labels are something else."""
        if not self.names.follows:
            raise self.wrong(
                "the model's labels are not words that follow, so the corpus does not tell which "
                f"came; ask what is said, such as: count by {as_kind(self.names.kinds[-1])} label",
                token,
            )  # fmt: skip

    def question(self) -> Query:
        condition = None
        if self.here.sort != END and not self.is_word(*_CLAUSES):
            condition = self.either()
        query = Query(condition, written=self.query[: self.here.place].strip())
        while self.here.sort != END:
            query = self.clause(query)
        if query.sort and query.count:
            raise self.wrong("counts are sorted by themselves; leave sort by out", self.tokens[-1])
        return replace(
            query, kinds=tuple(self.kinds), groups=frozenset(self.groups), maps=tuple(self.maps)
        )

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
        if self.here.sort == KIND:
            kind = self.kind()
            return Key(kind=kind, label=self.word("label", "group") == "label")
        raise self.wrong(
            f"count by {', '.join(FIELDS)}, position, length, a kind, or a kind's label"
        )

    def either(self) -> Node:
        self.deeper(1)
        condition = self.joined("or", lambda: self.joined("and", self.single))
        self.deeper(-1)
        return condition

    def joined(self, word: str, operand: Callable[[], Node]) -> Node:
        conditions = [operand()]
        while self.word(word):
            conditions.append(operand())
        return conditions[0] if len(conditions) == 1 else Joined(word, tuple(conditions))

    def single(self) -> Node:  # noqa: PLR0911 - one for each sort of beginning
        if self.word("not"):
            return Not(self.nested())
        if self.sign("("):
            condition = self.either()
            if not self.sign(")"):
                raise self.wrong("a closing bracket belongs here")
            return condition
        if self.is_word("before", "after", "within"):
            return self.near()
        if self.here.value.lower() == "map" and self.following.sort == KIND:
            return self.on_map()
        if self.here.sort == NAME and self.here.value.lower() in FIELDS:
            return self.field(self.word(*FIELDS))
        if self.here.sort == KIND:
            return self.about(self.kind())
        if self.is_word(*WORD_NUMBERS):
            return self.comparison(Quantity(self.word(*WORD_NUMBERS)))
        if self.here.sort == NAME:
            close = suggestion(self.here.value, [*self.names.kinds, *_STARTS, "map"])
            raise self.wrong(f"it is no kind and no word of the grammar; {close}")
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
            same = OneOf(field, (self.spelled(field),))
            return same if sign == "=" else Not(same)
        if self.word("not"):
            self.need("in")
            return Not(OneOf(field, self.spellings(field)))
        if self.word("in"):
            return OneOf(field, self.spellings(field))
        if self.word("like"):
            token = self.here
            return Like(field, self.as_spelled(field, self.text(), token))
        if field in ("word", "next") and self.word("is"):
            if field == "word" and self.word("unknown"):
                return Unknown()
            self.need_following(token)
            return InGroup(field, self.group())
        raise self.wrong("=, !=, in, like or (of word and next) is belongs here", token)

    def spelled(self, field: str) -> str:
        """Take a text that the corpus can have in a field."""
        token = self.here
        return self.as_word(field, self.text(), token)

    def spellings(self, field: str) -> tuple[str, ...]:
        """Take such texts in braces."""
        return tuple(self.as_word(field, token.value, token) for token in self.listed())

    def as_spelled(self, field: str, value: str, token: Token) -> str:
        """A text, refused where no word of a corpus that is written small can be spelled so."""
        marks = self.names.labels.keys() & {value}  # such as UNK, which stay large
        if field in ("word", "next") and self.names.folded and value != value.lower() and not marks:
            raise self.wrong(
                f"the words of this corpus are written small; write {as_text(value.lower())}",
                token,
            )
        return value

    def as_word(self, field: str, value: str, token: Token) -> str:
        """A text that is the whole of a word: where these are pieces, one by its name, or else the
        one that begins a word so.
        """
        spelled = self.as_spelled(field, value, token)
        if field not in ("word", "next") or spelled in self.names.labels:
            return spelled
        if BLANK + spelled in self.names.labels:
            return BLANK + spelled
        self.check_pieces(spelled, token)
        return spelled

    def check_pieces(self, word: str, token: Token) -> None:
        """Refuse a word of several pieces where words are read so: rows are of single pieces."""
        if begun := beginning(word, self.names.labels):
            pieces = ", ".join(map(as_text, begun))
            raise self.wrong(f"{message('several_pieces', pieces=pieces)}; ask for that", token)

    def about(self, kind: str) -> Node:
        token = self.here
        verb = self.word("expects", "has", "agrees", "disagrees", "differs", *KIND_NUMBERS)
        if verb == "expects":
            return self.expects(kind)
        if verb == "has":
            return self.has(kind, token)
        if verb in ("agrees", "disagrees"):
            self.need("with")
            kinds = [kind, self.kind()]
            while self.sign(","):
                kinds.append(self.kind())
            on_label = bool(self.word("on")) and self.need("label", "group") == "label"
            agree = Agree(tuple(kinds), on_label)
            self.groups |= set() if on_label else {*kinds}
            return agree if verb == "agrees" else Not(agree)
        if verb == "differs":
            left = Quantity("differs", kind, self.pair(kind, token))
            is_alone = not (self.here.sort == SIGN and self.here.value in _SIGNS)
            return Compare(left, ">", 0.5) if is_alone else self.comparison(left)
        if verb:
            self.groups |= {kind} if verb in ("share", "lead") else set()
            return self.comparison(Quantity(verb, kind))
        verbs = ["expects", "has", "agrees", "disagrees", "differs", *KIND_NUMBERS]
        raise self.wrong(f"after a kind: {suggestion(token.value, verbs)}", token)

    def has(self, kind: str, at: Token) -> Has | Expects:
        if self.names.sort != "set":
            raise self.wrong(
                f"a state has one label here, and no set of them; ask: {kind} expects ...", at
            )
        label = self.label(self.next())
        if sign := self.sign(*_SIGNS):
            return Expects(kind, labels=(label,), operator=sign, number=self.number())
        return Has(kind, label)

    def on_map(self) -> OnMap:
        self.next()
        token, kind = self.here, self.kind()
        if not self.names.maps:
            raise self.wrong("this index has no map; make it anew: rnnlens index RUN --anew", token)
        if kind not in self.names.maps:
            raise self.wrong(f"{kind} has no map; {suggestion(kind, self.names.maps)}", token)
        self.need("in")
        across = self.range()
        if not self.sign(","):
            raise self.wrong("a comma and the second range belong here, as in 0..1, -2..2")
        self.maps[kind] = None
        self.groups.add(kind)
        return OnMap(kind, across, self.range())

    def range(self) -> Range:
        """Take a range, from its lower end to its upper."""
        token = self.next()
        ends = _RANGE.fullmatch(token.value) if token.sort == RANGE else None
        if ends is None:
            raise self.wrong("a range belongs here, such as -1.5..2", token)
        low, high = float(ends[1]), float(ends[2])
        if not (math.isfinite(low) and math.isfinite(high)):
            raise self.wrong("the number is too large; give a smaller one", token)
        if low > high:
            raise self.wrong(
                f"it ends before it begins; turn it round: {ends[2]}..{ends[1]}", token
            )
        return low, high

    def expects(self, kind: str) -> Expects:
        token, group, labels = self.here, "", tuple[int, ...]()
        if token.sort == SIGN and token.value == "{":
            labels = tuple(self.label(one) for one in self.listed())
        elif token.value.lower() == "group" and self.following.sort == STRING:
            self.next()
            group = self.group()
        elif token.sort in (STRING, NAME, KIND, NUMBER):
            self.next()
            group = "" if token.sort == STRING else self.as_group(token.value)
            labels = () if group else (self.label(token, or_group=token.sort != STRING),)
        else:
            raise self.wrong('a group, a "label" or {several} belongs here')
        self.groups |= {kind} if group else set()
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
            f"there is no such group; {suggestion(token.value, self.names.groups)}", token
        )

    def label(self, token: Token, *, or_group: bool = False) -> int:
        """The number of a label."""
        name = token.value
        for one in (name, BLANK + name):  # a piece of words, or else the one that begins one so
            if (number := self.names.labels.get(one)) is not None:
                return number
        self.check_pieces(name, token)
        what = "group and no label" if or_group else "label"
        groups: Sequence[str] = self.names.groups if or_group else ()
        close = suggestion(name, [*groups, *self.names.labels])
        raise self.wrong(f"there is no such {what}; {close}", token)

    def pair(self, kind: str, at: Token) -> Pair:
        """The other end of a comparison, of which the index has the divergence."""
        self.need("from")
        other, back = self.kind(), 0
        if self.here.sort == STEP:
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
        return Compare(left, sign, self.number() if self.here.sort == NUMBER else self.quantity())

    def quantity(self) -> Quantity:
        if word := self.word(*WORD_NUMBERS):
            return Quantity(word)
        kind, token = self.kind(), self.here
        name = self.need(*KIND_NUMBERS, "differs")
        pair = self.pair(kind, token) if name == "differs" else None
        return Quantity(name, kind, pair)

    def kind(self) -> str:
        token = self.next()
        if token.sort == KIND and token.value in self.names.kinds:
            self.kinds[token.value] = None
            return token.value
        raise self.wrong(
            f"it is no kind of the index; {suggestion(token.value, self.names.kinds)}", token
        )


# Questions written for people: as the language wants them, and good ones to begin with.

_BARE_GROUP = re.compile(r"[^\W\d]\w*")
_BARE_KIND = re.compile(r"[\w.]+<?")


def as_kind(kind: str) -> str:
    """A kind as a question names it."""
    plain = _BARE_KIND.fullmatch(kind) and kind.lower() not in RESERVED
    return kind if plain or "`" in kind else f"`{kind}`"


def as_other(pair: Pair) -> str:
    """The other of a pair, as a question names it: `c2@-1` is `c2` one step back."""
    return as_kind(pair.other) + (f"@{-pair.back:+d}" if pair.back else "")


def as_text(value: str) -> str:
    """A word, a label or the like, in quotes."""
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def as_group(group: str) -> str:
    """A group as a question names it, which takes a bare text in quotes for a label."""
    return group if _BARE_GROUP.fullmatch(group) else f"group {as_text(group)}"


def possible(question: str, names: Names) -> str:
    """A question that can be answered; empty where it cannot, as odd names allow none."""
    try:
        parse(question, names)
    except QueryError:
        return ""
    return question


def memories(names: Names, kinds: Sequence[Kind]) -> list[tuple[str, str]]:
    """The pairs of memories that a network has: what it keeps, and what it has just written."""
    pairs = [(kind.memory.kept, kind.memory.write) for kind in kinds if kind.memory]
    return [pair for pair in pairs if {*pair} <= {*names.kinds}]


def narrowed(query: Query, values: Sequence[str | int | None]) -> str:
    """The question for the words behind one line of a question that counts; empty where it has
    none, as of a value that is not there.
    """
    if None in values:
        return ""
    conditions = [query.written] if query.written else []
    if conditions and values and re.search(r"\bor\b", query.written, re.IGNORECASE):
        conditions = [f"({query.written})"]
    pairs = zip(query.by, values, strict=True)
    return " and ".join([*conditions, *(_equals(key, value) for key, value in pairs)])


def _equals(key: Key, value: str | int | None) -> str:
    """A condition that a key has a value."""
    if isinstance(value, int):
        return f"{key.field} = {value}"
    if key.field:
        return f"{key.field} = {as_text(value or '')}"
    text = as_text(value or "")
    thing = text if key.label else as_group(value or "")
    return f"{as_kind(key.kind)} expects {thing}"


def examples(names: Names, kinds: Sequence[Kind]) -> list[tuple[str, str]]:
    """Questions that say something about this network and corpus, and what they mean."""
    y, memory = PREDICTION, memories(names, kinds)
    outputs = [Pair(kind, kind, back) for kind in names.kinds for back in (1, -1)]
    outputs = [pair for pair in outputs if pair in names.pairs]
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
    return [(question, means) for question, means in some if possible(question, names)]


def first_question(*, follows: bool, tagged: bool, kind: str = PREDICTION) -> str:
    """What somebody may ask an index first: of labels that follow, and of a tagged corpus; `kind`
    is its last.
    """
    if not follows or kind != PREDICTION:
        return f"count by {as_kind(kind)} label"
    return f"{PREDICTION} rank = 1 count by {'tag' if tagged else 'word'}"
