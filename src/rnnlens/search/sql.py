"""A question as SQL, for DuckDB: it asks the tables `words`, a row a word, and `labels`."""

from collections.abc import Sequence

from rnnlens.search.layout import label_column, probability_column
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

WORD = ("sentence", "position", "length", "split", "word", "tag", "next", "surprisal")
_OPERATOR = {"=": "=", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}


def column(name: str) -> str:
    """A column's name, quoted."""
    return '"' + name.replace('"', '""') + '"'


def text(value: str) -> str:
    """A text, quoted; a character that ends texts in C stands in no corpus."""
    return "'" + value.replace("'", "''").replace("\0", "") + "'"


class Compiler:
    """Questions about an index that keeps `top` labels of each state."""

    def __init__(self, top: int) -> None:
        self.places = range(1, top + 1)

    def rows(self, query: Query, shown: Sequence[str]) -> str:
        """The rows that a question is about, with columns of the kinds that are `shown`."""
        columns = [column(name) for name in WORD] + [
            column(name) for kind in shown
            for name in (label_column(kind, 1), probability_column(kind, 1),
                         f"{kind}_group", f"{kind}_share")
        ]  # fmt: skip
        order = "sentence, position"
        extra = ""
        if query.sort:
            number = self.quantity(query.sort)
            way = "DESC" if query.descending else "ASC"
            order = f"{number} {way} NULLS LAST, {order}"
            extra = f", {number} AS sorted_by"
        return (
            f"SELECT {', '.join(columns)}{extra}\nFROM words\nWHERE {self.where(query)}\n"
            f"ORDER BY {order}{self._limit(query)}"
        )

    def total(self, query: Query) -> str:
        """How many rows a question is about."""
        return f"SELECT count(*) FROM words\nWHERE {self.where(query)}"

    def counts(self, query: Query) -> str:
        """How many rows there are of each sort."""
        names = [column(key.name) for key in query.by]
        keys = [f"{self._key(key)} AS {column(key.name)}" for key in query.by]
        inner = ", ".join([*keys, f"{self.where(query)} AS hit"])
        outer = ", ".join([*names, "count(*) FILTER (WHERE hit) AS count", "count(*) AS words",
                           "count(*) FILTER (WHERE hit) / count(*) AS share"])  # fmt: skip
        sql = f"SELECT {outer}\nFROM (SELECT {inner} FROM words)"
        if names:
            sql += f"\nGROUP BY {', '.join(names)}\nHAVING count(*) FILTER (WHERE hit) > 0\n"
            sql += f"ORDER BY count DESC, {', '.join(names)}{self._limit(query)}"
        return sql

    def where(self, query: Query) -> str:
        """The condition of a question."""
        return self.condition(query.condition) if query.condition else "true"

    def condition(self, node: Node) -> str:  # noqa: C901, PLR0911 - one for each sort of condition
        """A condition; it is never NULL."""
        match node:
            case Every(parts):
                return "(" + " AND ".join(map(self.condition, parts)) + ")"
            case Some(parts):
                return "(" + " OR ".join(map(self.condition, parts)) + ")"
            case Not(part):
                return f"(NOT {self.condition(part)})"
            case Near(offsets, part):
                return self._near(offsets, part)
            case OneOf(field, values):
                return _is(f"{column(field)} IN ({', '.join(map(text, values))})")
            case Like(field, pattern):
                return _is(f"{column(field)} LIKE {text(pattern)}")
            case InGroup(field, group):
                of = f'SELECT label FROM labels WHERE "group" = {text(group)}'
                return f"(coalesce({column(field)}, '') IN ({of}))"
            case Unknown():
                return "unknown"
            case Expects():
                return self._expects(node)
            case Agree(kinds, on_label):
                names = [label_column(k, 1) if on_label else f"{k}_group" for k in kinds]
                same = (f"{column(names[0])} = {column(name)}" for name in names[1:])
                return "(" + " AND ".join(same) + ")"
            case Compare(left, operator, right):
                other = repr(right) if isinstance(right, float) else self.quantity(right)
                return _is(f"{self.quantity(left)} {_OPERATOR[operator]} {other}")

    def quantity(self, quantity: Quantity) -> str:
        """A number of a row; NULL where there is none."""
        if quantity.pair:
            return column(quantity.pair.column)
        if not quantity.kind:
            return column(quantity.name)
        if quantity.name == "surprisal":
            return f"(-log2({column(quantity.kind + '_came')}))"
        return column(f"{quantity.kind}_{quantity.name}")

    def _near(self, offsets: Sequence[int], part: Node) -> str:
        """Rows that lie so many rows from one that the condition holds of."""
        inner = self.condition(part)
        if len(offsets) == 1:
            there = f"SELECT sentence, position - ({offsets[0]}) FROM words WHERE {inner}"
        else:
            steps = ", ".join(map(str, offsets))
            there = f"SELECT sentence, position - unnest([{steps}]) FROM words WHERE {inner}"
        return f"((sentence, position) IN ({there}))"

    def _expects(self, node: Expects) -> str:
        kind = node.kind
        if node.group:
            same = f"{column(f'{kind}_group')} = {text(node.group)}"
            if node.operator:
                share = f"{column(f'{kind}_share')} {_OPERATOR[node.operator]} {node.number!r}"
                same = f"({same} AND {share})"
            return same
        labels = ", ".join(map(str, node.labels))
        if not node.operator:
            return f"({column(label_column(kind, 1))} IN ({labels}))"
        parts = [
            f"CASE WHEN {column(label_column(kind, k))} IN ({labels}) "
            f"THEN {column(probability_column(kind, k))}::DOUBLE ELSE 0 END"
            for k in self.places
        ]
        return f"(({' + '.join(parts)}) {_OPERATOR[node.operator]} {node.number!r})"

    @staticmethod
    def _key(key: Key) -> str:
        if key.field:
            return column(key.field)
        if not key.label:
            return column(f"{key.kind}_group")
        number = column(label_column(key.kind, 1))
        return f"(SELECT label FROM labels WHERE number = {number})"

    @staticmethod
    def _limit(query: Query) -> str:
        limit = "" if query.limit is None else f"\nLIMIT {query.limit}"
        return limit + (f" OFFSET {query.offset}" if query.offset else "")


def _is(condition: str) -> str:
    """A condition that is false where it would be NULL."""
    return f"coalesce({condition}, false)"
