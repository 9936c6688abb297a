"""All SQL, and all that is special to DuckDB, which answers it: questions as SQL over the tables
`words`, a row a word, and `labels`; and the database that reads these from an index's files.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rnnlens.base.errors import RnnlensError
from rnnlens.model.kinds import PREDICTION
from rnnlens.search import language as tree
from rnnlens.search.index_files import (
    Limits,
    arrow,
    holds_column,
    label_column,
    map_columns,
    of_kind,
    probability_column,
)

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

WORD = ("sentence", "position", "length", "split", "word", "tag", "next", "surprisal")
BEGINNINGS = "SELECT count(*) AS sentences FROM words WHERE position = 0"
HAS_TAGS = "SELECT 1 FROM words WHERE tag IS NOT NULL LIMIT 1"
_MEMORY = "1GB"  # that a query may take
_NAMED = re.compile(r'"((?:[^"]|"")+)"|(\w+)')
_NEAR = re.compile(r'at or near "([^"]*)"')
_UNKNOWN = re.compile(r"(column|name) \"?([^\s\"!]+)\"? (?:not found|does not exist)")
_OPERATOR = {"=": "=", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}


def column(name: str) -> str:
    """A column's name, quoted."""
    return '"' + name.replace('"', '""') + '"'


def text(value: str) -> str:
    """A text, quoted; a character that ends texts in C stands in no corpus."""
    return "'" + value.replace("'", "''").replace("\0", "") + "'"


class Compiler:
    """Questions about an index that keeps `top` labels of each state."""

    def __init__(self, top: int, read_as: tuple[str, str] = ("", "")) -> None:
        """`read_as`: the labels that unknown words and numerals are taken for."""
        self.places, self.read_as = range(1, top + 1), read_as

    def rows(self, query: tree.Query, shown: Sequence[str]) -> str:
        """The rows that a question is about, with columns of the kinds that are `shown`."""
        columns = [column(name) for name in WORD] + [
            column(name) for kind in shown
            for name in (label_column(kind, 1), probability_column(kind, 1),
                         of_kind(kind, "group"), of_kind(kind, "share"))
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

    def total(self, query: tree.Query) -> str:
        """How many rows a question is about."""
        return f"SELECT count(*) AS total FROM words\nWHERE {self.where(query)}"

    def by_sentence(self, query: tree.Query, lines: Sequence[Sequence[Any]] | None = None) -> str:
        """Of each sentence how many rows a question is about, and how many it is asked of: of all
        sorts, or of each that is among the `lines` of its counts.
        """
        names = [] if lines is None else [column(key.name) for key in query.by]
        keys = [] if lines is None else self._keys(query)
        rows = ", ".join(["sentence", *keys, f"{self._hit(query)} AS hit"])
        sql = (
            f"SELECT {', '.join(['sentence', *names])}, count(*) FILTER (WHERE hit) AS count, "
            f"count(*) AS words\nFROM (SELECT {rows} FROM words WHERE {self.asked(query)})"
        )
        if lines is not None:
            wanted = (
                " AND ".join(
                    f"{name} IS NOT DISTINCT FROM {_value(value)}"
                    for name, value in zip(names, line, strict=True)
                )
                for line in lines
            )
            sql += f"\nWHERE {' OR '.join(wanted) or 'false'}"
        return f"{sql}\nGROUP BY {', '.join(['sentence', *names])}\nORDER BY sentence"

    def counts(self, query: tree.Query) -> str:
        """How many rows there are of each sort."""
        names = [column(key.name) for key in query.by]
        inner = ", ".join([*self._keys(query), f"{self._hit(query)} AS hit"])
        outer = ", ".join([*names, "count(*) FILTER (WHERE hit) AS count", "count(*) AS words",
                           "count(*) FILTER (WHERE hit) / count(*) AS share"])  # fmt: skip
        sql = f"SELECT {outer}\nFROM (SELECT {inner} FROM words WHERE {self.asked(query)})"
        if names:
            sql += f"\nGROUP BY {', '.join(names)}\nHAVING count(*) FILTER (WHERE hit) > 0\n"
            sql += f"ORDER BY count DESC, {', '.join(names)}{self._limit(query)}"
        return sql

    def where(self, query: tree.Query) -> str:
        """The condition of a question, for the rows that it is asked of."""
        asked, hit = self.asked(query), self._hit(query)
        return hit if asked == "true" else asked if hit == "true" else f"{hit} AND {asked}"

    def _hit(self, query: tree.Query) -> str:
        return self.condition(query.condition) if query.condition else "true"

    def _keys(self, query: tree.Query) -> list[str]:
        return [f"{self._key(key)} AS {column(key.name)}" for key in query.by]

    @staticmethod
    def asked(query: tree.Query) -> str:
        """Which rows a question is asked of: one about what follows, of those that something
        follows, so that neither `not` nor a share counts the others.
        """
        there = {**_came(query.condition), **{c: None for k in query.by for c in _came(k)}}
        return " AND ".join(f"{column(name)} IS NOT NULL" for name in there) or "true"

    def condition(self, node: tree.Node) -> str:  # noqa: C901, PLR0911 - one for each sort of condition
        """A condition; it is never NULL."""
        match node:
            case tree.Joined(word, conditions):
                return "(" + f" {word.upper()} ".join(map(self.condition, conditions)) + ")"
            case tree.Not(condition):
                return f"(NOT {self.condition(condition)})"
            case tree.Near(offsets, condition):
                return self._near(offsets, condition)
            case tree.OneOf(field, values):
                return _is(f"{column(field)} IN ({', '.join(map(text, values))})")
            case tree.Like(field, pattern):
                return _is(f"{column(field)} LIKE {text(pattern)}")
            case tree.InGroup(field, group):
                of = f'SELECT label FROM labels WHERE "group" = {text(group)}'
                read = self._read_as() if field == "word" else column(field)
                return f"(coalesce({read}, '') IN ({of}))"
            case tree.Unknown():
                return "unknown"
            case tree.Expects():
                return self._expects(node)
            case tree.Has(kind, label):
                return f"contains({column(holds_column(kind))}, ',{label},')"
            case tree.Agree(kinds, on_label):
                names = [label_column(k, 1) if on_label else of_kind(k, "group") for k in kinds]
                same = (f"{column(names[0])} = {column(name)}" for name in names[1:])
                return "(" + " AND ".join(same) + ")"
            case tree.OnMap(kind, across, up):
                within = (
                    f"{column(name)} BETWEEN {low!r} AND {high!r}"
                    for name, (low, high) in zip(map_columns(kind), (across, up), strict=True)
                )
                return _is("(" + " AND ".join(within) + ")")
            case tree.Compare(left, operator, right):
                other = repr(right) if isinstance(right, float) else self.quantity(right)
                return _is(f"{self.quantity(left)} {_OPERATOR[operator]} {other}")

    def quantity(self, quantity: tree.Quantity) -> str:
        """A number of a row; NULL where there is none."""
        if quantity.pair:
            return column(quantity.pair.column)
        if not quantity.kind:
            return column(quantity.name)
        if quantity.name == "surprisal":
            return f"(-log2(greatest({column(of_kind(quantity.kind, 'came'))}, 1e-38)))"
        return column(of_kind(quantity.kind, quantity.name))

    def _read_as(self) -> str:
        """The label that the model takes a word for, which gives it its colour in a grid: whatever
        is neither unknown nor spelled like a label is a numeral.
        """
        unknown, numeral = map(text, self.read_as)
        return (
            f"CASE WHEN unknown THEN {unknown} WHEN word IN (SELECT label FROM labels) THEN word "
            f"ELSE {numeral} END"
        )

    def _near(self, offsets: Sequence[int], condition: tree.Node) -> str:
        """Rows that lie so many rows from one that the condition holds of."""
        came = (f"{column(name)} IS NOT NULL" for name in _came(condition))
        inner = " AND ".join([self.condition(condition), *came])
        if len(offsets) == 1:
            there = f"SELECT sentence, position - ({offsets[0]}) FROM words WHERE {inner}"
        else:
            steps = ", ".join(map(str, offsets))
            there = f"SELECT sentence, position - unnest([{steps}]) FROM words WHERE {inner}"
        return f"((sentence, position) IN ({there}))"

    def _expects(self, node: tree.Expects) -> str:
        kind = node.kind
        if node.group:
            same = f"{column(of_kind(kind, 'group'))} = {text(node.group)}"
            if node.operator:
                share = (
                    f"{column(of_kind(kind, 'share'))} {_OPERATOR[node.operator]} {node.number!r}"
                )
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
    def _key(key: tree.Key) -> str:
        if key.field:
            return column(key.field)
        if not key.label:
            return column(of_kind(key.kind, "group"))
        number = column(label_column(key.kind, 1))
        return f"(SELECT label FROM labels WHERE number = {number})"

    @staticmethod
    def _limit(query: tree.Query) -> str:
        limit = "" if query.limit is None else f"\nLIMIT {query.limit}"
        return limit + (f" OFFSET {query.offset}" if query.offset else "")


def _came(node: "tree.Node | tree.Key | None") -> dict[str, None]:
    """The columns about what follows that a condition on a row is about: NULL where nothing
    does.
    """
    match node:
        case tree.Joined(_, conditions):
            return {name: None for one in conditions for name in _came(one)}
        case tree.Not(condition):
            return _came(condition)
        case tree.Compare(left, _, right):
            both = (left, right) if isinstance(right, tree.Quantity) else (left,)
            return {name: None for one in both for name in _came_of(one)}
        case tree.OneOf(field) | tree.Like(field) | tree.InGroup(field) | tree.Key(field):
            return {field: None} if field == "next" else {}
    return {}


def _came_of(quantity: tree.Quantity) -> tuple[str, ...]:
    if quantity.kind and quantity.name in ("rank", "came", "surprisal"):
        return (of_kind(quantity.kind, "rank"),)
    return ("surprisal",) if quantity.name == "surprisal" else ()


def _value(value: Any) -> str:
    """A value of a key."""
    return "NULL" if value is None else text(value) if isinstance(value, str) else repr(value)


def _is(condition: str) -> str:
    """A condition that is false where it would be NULL."""
    return f"coalesce({condition}, false)"


def sentences(numbers: Sequence[int]) -> str:
    """The words of some sentences, in their order, and at the first of each its text."""
    return (
        f"SELECT sentence, word, text FROM words WHERE sentence IN ({_numbers(numbers)}) "
        "ORDER BY sentence, position"
    )


def rows_of_file(path: Path, numbers: Sequence[int]) -> str:
    """Where the rows of these numbers in one file stand, and the word that came."""
    return (
        'SELECT file_row_number AS number, sentence, position, "next" FROM '
        f"read_parquet({text(str(path.resolve()))}, file_row_number = true) "
        f"WHERE file_row_number IN ({_numbers(numbers)})"
    )


def groups_at(places: Sequence[tuple[int, int]], kinds: Sequence[str]) -> str:
    """The group and share of every kind at words that are given as sentence and position."""
    columns = ", ".join(
        column(of_kind(kind, name)) for kind in kinds for name in ("group", "share")
    )
    some = _numbers(sorted({sentence for sentence, _ in places}))
    pairs = ", ".join(f"({sentence}, {position})" for sentence, position in places)
    return (
        f"SELECT sentence, position, {columns} FROM words WHERE sentence IN ({some}) "
        f"AND (sentence, position) IN ({pairs})"
    )


def columns_in(query: str, known: Collection[str]) -> list[str]:
    """Which of the known columns a query of ours may use."""
    found = (quoted.replace('""', '"') or bare for quoted, bare in _NAMED.findall(query))
    return [name for name in dict.fromkeys(found) if name in known]


def within_limits(limits: Mapping[str, Limits], types: Mapping[str, str], size: int) -> str:
    """As c0, c1 ... whether all values of a column are within its limits; texts take so many bytes
    at most.
    """
    checks = [_check(column(name), limit, types[name], size) for name, limit in limits.items()]
    return f"SELECT {', '.join(f'{check} AS c{k}' for k, check in enumerate(checks))} FROM words"


def _check(name: str, limit: Limits, sort: str, size: int) -> str:
    missing = str(limit.missing).lower()
    if limit.is_group:
        known = f'{name} IN (SELECT "group" FROM labels)'
        return f"coalesce(bool_and({known}) AND count(*) = count({name}), true)"
    if sort == "string":
        there = f"({missing} OR count(*) = count({name}))"
        return f"({there} AND coalesce(sum(strlen({name})), 0) <= {size})"
    if sort == "bool":
        return f"(count(*) = count({name}))"
    within = f"{name} BETWEEN {limit.least!r} AND {limit.most!r}"
    return f"coalesce(bool_and(coalesce({within}, {missing})), true)"


def density(width: float, rows: int) -> str:
    """How many words there are in squares of so many bits: x by the entropy of the prediction, y by
    the surprisal of what came; the last row holds whatever is above.
    """
    entropy = column(f"{PREDICTION}_entropy")
    return (
        f"SELECT floor({entropy} / {width})::INT AS x, "
        f"least(floor(surprisal / {width})::INT, {rows - 1}) AS y, count(*) AS words "
        "FROM words WHERE surprisal IS NOT NULL GROUP BY x, y ORDER BY x, y"
    )


def extent(names: Sequence[str]) -> str:
    """From where to where two columns of a map go."""
    x, y = map(column, names)
    return (
        f'SELECT min({x}) AS "left", max({x}) AS "right", min({y}) AS low, max({y}) AS high '
        "FROM words"
    )


def map_density(kind: str, corner: Sequence[float], sides: Sequence[float], most: int) -> str:
    """How many states of a kind there are in each rectangle of its map and each dominant group;
    rectangles are counted from a corner, `most` of them at most either way.
    """
    x, y = (
        f"least(floor(({column(name)} - ({low!r})) / {side!r}), {most - 1})::INT"
        for name, low, side in zip(map_columns(kind), corner, sides, strict=True)
    )
    return (
        f'SELECT {x} AS x, {y} AS y, {column(of_kind(kind, "group"))} AS "group", '
        "count(*) AS words FROM words GROUP BY ALL ORDER BY ALL"
    )


def disagreements_by_tag(pairs: Sequence[tuple[str, str]], units: int) -> str:
    """For each part of speech its words, and as n0, n1 ... how many of them have another group in
    one of a pair of kinds than in the other; of `units` of sentences, whose numbers leave the same
    rest.
    """
    groups = [[column(of_kind(kind, "group")) for kind in pair] for pair in pairs]
    counts = ", ".join(
        f"count(*) FILTER (WHERE {a} <> {b}) AS n{k}" for k, (a, b) in enumerate(groups)
    )
    return (
        f"SELECT sentence % {units} AS unit, tag, count(*) AS words, {counts} FROM words "
        "WHERE tag IS NOT NULL GROUP BY ALL ORDER BY ALL"
    )


def _numbers(numbers: Sequence[int]) -> str:
    return ", ".join(str(int(number)) for number in numbers)


class StoppedError(Exception):
    """A query was interrupted."""


class FailedError(Exception):
    """A query could not be answered; the message says why, as the SQL's writer understands it."""


def library() -> Any:
    """DuckDB; an error that says how to get it where there is none."""
    try:
        import duckdb
    except ImportError as error:
        raise RnnlensError(
            "finding needs duckdb and pyarrow; install them: pip install 'rnnlens[index]'"
        ) from error
    arrow()
    return duckdb


@contextmanager
def _translated() -> Iterator[None]:
    """Give the errors of the database in words of ours."""
    duckdb = library()
    try:
        yield
    except duckdb.InterruptException as error:
        raise StoppedError from error
    except duckdb.Error as error:
        raise FailedError(_reason(duckdb, error)) from error


def _reason(duckdb: Any, error: Exception) -> str:
    """Why SQL cannot be answered, in words of ours: the database's own name its settings."""
    if near := _NEAR.search(str(error)):
        return f"it is not understood near {near[1][:40]!r}"
    if unknown := _UNKNOWN.search(str(error)):
        return f"there is no {unknown[2][:40]!r}; the tables are words and labels"
    reasons = {
        duckdb.OutOfMemoryException: f"it takes more memory than {_MEMORY}",
        duckdb.ParserException: "it is not understood",
        duckdb.BinderException: "its columns and functions do not fit together",
        duckdb.CatalogException: "its columns and functions do not fit together",
        duckdb.PermissionException: "it reads what is not the index's",
        duckdb.IOException: "it reads what is not the index's, or is there no longer",
    }
    other = "some value is none that can be computed with"
    return next((said for sort, said in reasons.items() if isinstance(error, sort)), other)


class Database:
    """A database in memory that sees the files of an index, and nothing else there is."""

    def __init__(self, parts: Sequence[Path], labels: Path) -> None:
        files = [text(str(path.resolve())) for path in parts]
        names = text(str(labels.resolve()))
        self._connection: duckdb.DuckDBPyConnection = library().connect(":memory:")
        statements = (
            "SET python_enable_replacements = false",
            "SET temp_directory = ''",
            f"SET memory_limit = {text(_MEMORY)}",
            "SET parquet_metadata_cache = true",
            f"SET allowed_paths = [{', '.join([*files, names])}]",
            f"CREATE VIEW labels AS SELECT * FROM read_parquet({names})",
            f"CREATE VIEW words AS SELECT * FROM read_parquet([{', '.join(files)}])",
            "SET enable_external_access = false",
            "SET lock_configuration = true",
        )
        with _translated():
            for statement in statements:
                self._connection.execute(statement)

    def ask(self, sql: str) -> "pa.Table":
        """The answer to a single SELECT."""
        with _translated():
            self._check_reading(sql)
            return self._connection.sql(sql).to_arrow_table()

    def _check_reading(self, sql: str) -> None:
        """Refuse everything but one SELECT: what the database allows could still drop a view."""
        try:
            sql.encode()
        except UnicodeEncodeError as error:
            raise RnnlensError(
                f"character {error.start + 1} of the SQL is no text in UTF-8; write it anew"
            ) from error
        statements = self._connection.extract_statements(sql)
        if [one.type for one in statements] != [library().StatementType.SELECT]:
            raise RnnlensError("an index is only read: give one SELECT, of the table words")

    def interrupt(self) -> None:
        """Stop the query that is under way."""
        self._connection.interrupt()

    def close(self) -> None:
        """Let go of the files; nothing can be asked any more."""
        self._connection.close()
