"""An index that is there: checked to be whole and of its run, and asked with SQL that can only
read it.
"""

import atexit
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from shlex import quote
from threading import Lock, Timer
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import damaged, is_present, read_json
from rnnlens.probe.probes import ProbesFile
from rnnlens.reading.notation import escaped
from rnnlens.run.folder import SHIPPED, Run
from rnnlens.search.build import MAKING, groups_hash
from rnnlens.search.deadline import Deadline
from rnnlens.search.layout import Contents, Manifest, Names
from rnnlens.search.parse import parsed
from rnnlens.search.place import LABELS, MANIFEST, index_place
from rnnlens.search.sql import Compiler, text
from rnnlens.search.table import arrow
from rnnlens.search.tree import Query
from rnnlens.search.wholeness import (
    check_files,
    check_semantic,
    out_of_range,
    read_labels,
)

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

_MEMORY = "2GB"  # that a query may take


def _database() -> Any:
    try:
        import duckdb
    except ImportError as error:
        raise RnnlensError(
            "finding needs duckdb and pyarrow; install them: pip install 'rnnlens[index]'"
        ) from error
    return duckdb


def is_bundled(run: Run) -> bool:
    """Whether a run comes with the package, whose folder is not written to."""
    return run.path.resolve().parent == SHIPPED.resolve()


def _command(run: Run, place: Path) -> str:
    """What makes the index of a run in a folder; a bundled one comes without its corpus."""
    shipped = is_bundled(run)
    words = (
        f"rnnlens index {f'{run.path.name} --corpus CORPUS' if shipped else quote(str(run.path))}"
    )
    if place != run.path / "index":
        return f"{words} -o {quote(str(place))}"
    return f"{words} -o FOLDER" if shipped else words


def _semantics(run: Run, probes: str | None) -> tuple[str, ...]:
    """What the states of a run are asked for by the probes of this hash."""
    if probes is None:
        return ("output",)
    file = read_json(run.path / "probes.json", ProbesFile)
    return next(o.semantics for o in (file, file.previous) if o and o.sha256 == probes)


@dataclass(frozen=True, eq=False)
class Index:
    """The index of a run, whole and of what the run holds now."""

    folder: Path
    manifest: Manifest
    remedy: str = "make it anew: rnnlens index RUN --anew"  # where it is damaged
    link_semantic: str = ""  # that links to a lens have to name, as it is not the run's first
    run: Run | None = None  # whose it is

    @classmethod
    def of(cls, run: Run, folder: Path | None = None) -> "Index":
        """The index of a run; an error where it has none, or half of one, or one of another."""
        place = index_place(run, folder)
        command = _command(run, place)
        anew = f"make it anew: {command} --anew"
        if not is_present(place / MANIFEST):
            half = is_present(place / MAKING)
            raise RnnlensError(
                f"the index in {place} is not finished; give the same rnnlens index command again"
                if half
                else f"{run.path} has no index; make one: {command}"
            )
        manifest = read_json(place / MANIFEST, Manifest, anew)
        contents = manifest.contents
        now = run.model_hash(), run.probes_hash(), groups_hash(run, contents.palette)
        names = "model", "fit of its probes", "grouping of its labels"
        was = contents.model, contents.probes, contents.groups
        for name, one, other in zip(names, was, now, strict=True):
            if one != other:
                raise RnnlensError(f"the index in {place} is of another {name}; {anew}")
        semantics = _semantics(run, contents.probes)
        check_semantic(place, contents, semantics, anew)
        other = "" if contents.semantic == semantics[0] else contents.semantic
        index = cls(place, manifest, anew, other, run)
        index._check()
        return index

    @property
    def contents(self) -> Contents:
        """What it is of."""
        return self.manifest.contents

    def _check(self) -> None:
        """Refuse part files that are missing, cut or changed."""
        check_files(self.folder, self.manifest, self.remedy)

    def out_of_range(self, what: str) -> RnnlensError:
        """What is said of a row that names a label, a group or a word that there is not."""
        return out_of_range(self.folder, what, self.remedy)

    @cached_property
    def has_tags(self) -> bool:
        """Whether any word has a part of speech."""
        return len(self.ask("SELECT 1 FROM words WHERE tag IS NOT NULL LIMIT 1")) > 0

    @cached_property
    def names(self) -> Names:
        """What a question may name."""
        groups = tuple(dict.fromkeys(self._labels["group"].to_pylist()))
        numbers: dict[str, int] = {}
        for number, label in enumerate(self.labels):
            numbers.setdefault(label, number)
        contents = self.contents
        return Names(contents.kinds, groups, numbers, frozenset(contents.pairs), contents.follows)

    @cached_property
    def _labels(self) -> "pa.Table":
        wanted = len(self.run.vocabulary().labels) if self.run else None
        return read_labels(self.folder, wanted, self.remedy)

    @cached_property
    def labels(self) -> list[str]:
        """The labels in the order of their numbers; some may have the same name."""
        return list(self._labels["label"].to_pylist())

    def readable(self, text: str) -> str:
        """A sentence as it is given to a lens, which takes braces for two texts in one."""
        return escaped(text, self._inputs) if "{" in text or "}" in text else text

    @cached_property
    def _inputs(self) -> frozenset[str]:
        """The words that the model reads."""
        return frozenset(self.run.vocabulary().inputs if self.run else ())

    def scan(
        self, columns: Sequence[str], deadline: Deadline | None = None
    ) -> Iterator["pa.Table"]:
        """Some columns of one part after the other: for hundreds of numbers about all words, which
        SQL takes long for.
        """
        for part in self.manifest.parts:
            if deadline:
                deadline.left()
            path = self.folder / part.file
            try:
                table = arrow().parquet.read_table(path, columns=list(columns))
            except (OSError, arrow().ArrowException) as error:
                raise damaged(path, error, self.remedy) from error
            yield table

    @property
    def compiler(self) -> Compiler:
        """What turns questions to this index into SQL."""
        return Compiler(self.contents.top)

    def parsed(self, question: str) -> Query:
        """The tree of a question; an error that points at what is wrong."""
        return parsed(question, self.names)

    @cached_property
    def _connection(self) -> "duckdb.DuckDBPyConnection":
        """A database in memory that sees the files of the index, and nothing else there is."""
        files = [str((self.folder / part.file).resolve()) for part in self.manifest.parts]
        labels = str((self.folder / LABELS).resolve())
        database: duckdb.DuckDBPyConnection = _database().connect(":memory:")
        for statement in (
            "SET python_enable_replacements = false",
            "SET temp_directory = ''",
            f"SET memory_limit = {text(_MEMORY)}",
            "SET parquet_metadata_cache = true",
            f"SET allowed_paths = {_list([*files, labels])}",
            f"CREATE VIEW labels AS SELECT * FROM read_parquet({text(labels)})",
            f"CREATE VIEW words AS SELECT * FROM read_parquet({_list(files)})",
            "SET enable_external_access = false",
            "SET lock_configuration = true",
        ):
            database.execute(statement)
        _connected.add(self)
        return database

    def close(self) -> None:
        """Let go of the database; a further question opens it anew."""
        connection = self.__dict__.pop("_connection", None)
        if connection is not None:
            connection.close()

    @cached_property
    def _lock(self) -> Lock:
        return Lock()

    def ask(
        self, sql: str, deadline: Deadline | None = None, *, by_user: bool = False
    ) -> "pa.Table":
        """The answer to a single SELECT, which is stopped at the deadline.

        `by_user`: whether the SQL was written by somebody who can mend it.
        """
        arrow()
        library = _database()
        limit = deadline or Deadline()
        with self._lock:
            seconds = limit.left()
            timer = None
            try:
                connection = self._connection
                self._check_reading(connection, sql)
                timer = Timer(seconds, connection.interrupt) if seconds else None
                if timer:
                    timer.start()
                answer: pa.Table = connection.sql(sql).to_arrow_table()
            except library.InterruptException as error:
                raise limit.missed() from error
            except library.Error as error:
                self._check()  # which says what is wrong, where it is a file
                mend = "mend the SQL" if by_user else f"ask for less, or {self.remedy}"
                raise RnnlensError(f"DuckDB: {_first_line(error)}; {mend}") from error
            finally:
                if timer:
                    timer.cancel()
        names = answer.column_names
        if twice := [name for k, name in enumerate(names) if name in names[:k]]:
            raise RnnlensError(
                f"two columns of the answer are called {twice[0]!r}; name one otherwise, with AS"
            )
        return answer

    @staticmethod
    def _check_reading(connection: "duckdb.DuckDBPyConnection", sql: str) -> None:
        """Refuse everything but one SELECT: what the database allows could still drop a view."""
        library = _database()
        try:
            sql.encode()
        except UnicodeEncodeError as error:
            raise RnnlensError(
                f"character {error.start + 1} of the SQL is no text in UTF-8; write it anew"
            ) from error
        statements = connection.extract_statements(sql)
        if [one.type for one in statements] != [library.StatementType.SELECT]:
            raise RnnlensError("an index is only read: give one SELECT, of the table words")


_connected: WeakSet[Index] = WeakSet()


@atexit.register
def _close_all() -> None:
    """DuckDB complains of connections that are open when Python ends."""
    for index in list(_connected):
        index.close()


def _first_line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]


def _list(paths: Sequence[str]) -> str:
    return "[" + ", ".join(map(text, paths)) + "]"
