"""An index that is there: checked to be whole and of its run, opened once, and only read."""

import atexit
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from shlex import quote
from threading import Lock, Timer
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakSet

from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import damaged, is_present, read_json, sha256
from rnnlens.base.pace import elsewhere, waited
from rnnlens.base.threads import pool
from rnnlens.corpus.vocabulary import Vocabulary
from rnnlens.labels.sets import NUM
from rnnlens.model.kinds import PREDICTION
from rnnlens.probe.probes_file import ProbesFile
from rnnlens.probe.semantics import base, of_model
from rnnlens.reading.two_texts import escaped
from rnnlens.run.folder import INDEX_MANIFEST, Run
from rnnlens.search import sql
from rnnlens.search.index_files import (
    LABELS,
    MAP,
    UNFINISHED,
    Contents,
    Manifest,
    Part,
    arrow,
    column_limits,
    column_types,
    groups_hash,
    map_columns,
)
from rnnlens.search.language import Names

if TYPE_CHECKING:
    import pyarrow as pa

    from rnnlens.reading.subject import Subject
    from rnnlens.search.state_map import Axes

Extent = tuple[tuple[float, float], tuple[float, float]]  # along each component
Sentence = tuple[tuple[str, ...], str]  # its words, and its text as a subject reads it
MOST_KINDS = 40  # side by side
SECONDS = 20.0  # after which a question of the page is given up
_TEXTS = 64 << 20  # bytes that the texts of a column may take, however small their file is
_SWELLING = 100  # times the size of its files that they may take
_HASHED = 2 * 2**30  # bytes of parts that are compared with their hashes when an index is opened


class Deadline:
    """Some seconds from now on, for all that one answer takes; None: as long as it takes."""

    def __init__(self, seconds: float | None = None) -> None:
        self.seconds = seconds
        self.end = None if seconds is None else self._now() + seconds

    def left(self) -> float | None:
        """The seconds that are left; an error where there are none."""
        if self.end is None:
            return None
        left = self.end - self._now()
        if left <= 0:
            raise self.missed()
        return left

    @staticmethod
    def _now() -> float:
        return time.monotonic() - waited()  # for others, which is not this answer's time

    @classmethod
    def of_page(cls) -> "Deadline":
        """That of whoever waits for a page."""
        return cls(SECONDS)

    def missed(self) -> RnnlensError:
        """The error of an answer that comes too late."""
        return RnnlensError(f"the question took more than {self.seconds:g} seconds; ask for less")


@dataclass(frozen=True, eq=False)
class Index:
    """The index of a run, whole and of what the run holds now."""

    folder: Path
    manifest: Manifest
    remedy: str = "make it anew: rnnlens index RUN --anew"  # where it is damaged
    link_semantic: str = ""  # that links to a subject have to name, as it is not the run's first
    run: Run | None = None  # whose it is
    _lock: Lock = field(default_factory=Lock, init=False, repr=False)
    _extents: dict[str, Extent] = field(default_factory=dict, init=False, repr=False)
    _checked: set[str] = field(default_factory=set, init=False, repr=False)  # columns

    @classmethod
    def of(cls, run: Run, elsewhere: Path | None = None) -> "Index":
        """The index of a run; an error where it has none, or half of one, or one of another."""
        folder = run.index_folder(elsewhere)
        command = _command(run, folder)
        anew = f"make it anew: {command} --anew"
        if not is_present(folder / INDEX_MANIFEST):
            half = is_present(folder / UNFINISHED)
            raise RnnlensError(
                f"the index in {folder} is not finished; give the same rnnlens index command again"
                if half
                else f"{run.path} has no index; make one: {command}"
            )
        manifest = read_json(folder / INDEX_MANIFEST, Manifest, anew)
        contents = manifest.contents
        now = run.model_hash(), run.probes_hash(), groups_hash(run, contents.palette)
        names = "model", "fit of its probes", "grouping of its labels"
        was = contents.model, contents.probes, contents.groups
        for name, one, other in zip(names, was, now, strict=True):
            if one != other:
                raise RnnlensError(f"the index in {folder} is of another {name}; {anew}")
        semantics = _semantics(run, contents.probes)
        _check_contents(folder, contents, semantics, anew)
        other = "" if contents.semantic == semantics[0] else contents.semantic
        index = cls(folder, manifest, anew, other, run)
        index.check_files()
        return index

    @property
    def contents(self) -> Contents:
        """What it is of."""
        return self.manifest.contents

    @property
    def paths(self) -> list[Path]:
        """The files of its rows."""
        return [self.folder / part.file for part in self.manifest.parts]

    @property
    def drawn_kinds(self) -> tuple[str, ...]:
        """The kinds that are drawn side by side: all, or those nearest to the prediction."""
        return self.contents.kinds[-MOST_KINDS:]

    def _check_maps(self) -> None:
        """Refuse maps of kinds that there are not, or without axes."""
        maps = {*self.contents.map_kinds}
        if not maps <= {*self.contents.kinds} or bool(maps) != bool(self.manifest.map):
            raise damaged(
                self.folder / INDEX_MANIFEST, "its map is not of kinds that it has", self.remedy
            )

    def _check_labels(self) -> None:
        """Refuse another file of labels; one of another form before its bytes, which may be many,
        are read.
        """
        labels = self.folder / LABELS
        if not labels.is_file():
            raise damaged(labels, "it is missing", self.remedy)
        try:
            arrow().parquet.read_metadata(labels)
        except (OSError, ValueError, arrow().ArrowException) as error:
            raise damaged(labels, one_line(error), self.remedy) from error
        if sha256(labels) != self.manifest.labels:
            raise damaged(labels, "its SHA-256 is not the recorded one", self.remedy)

    def check_files(self) -> None:
        """Refuse files that are missing, cut or changed, or have other rows and columns."""
        columns = column_types(self.contents)
        if len({name.lower() for name in columns}) != len(columns):
            raise damaged(
                self.folder / INDEX_MANIFEST, "two columns have the same name", self.remedy
            )
        self._check_maps()
        parts = self.manifest.parts
        hashed = sum(part.bytes for part in parts) <= _HASHED

        def problem(part: Part) -> str:
            path = self.folder / part.file
            if not path.is_file():
                return "it is missing"
            if (size := path.stat().st_size) != part.bytes:
                return f"it has {size:,} bytes and not {part.bytes:,}"
            if hashed and sha256(path) != part.sha256:
                return "its SHA-256 is not the recorded one"
            return _footer_problem(path, part.rows, columns)

        self._check_labels()
        for path, what in zip(self.paths, pool().map(problem, parts), strict=True):
            if what:
                raise damaged(path, what, self.remedy)

    def out_of_range(self, what: str) -> RnnlensError:
        """The error of a row that names a label, a group or a word that there is not."""
        return damaged(self.folder, f"a row has {what} that there is not", self.remedy)

    @cached_property
    def has_tags(self) -> bool:
        """Whether any word has a part of speech."""
        return len(self.ask(sql.HAS_TAGS)) > 0

    @cached_property
    def names(self) -> Names:
        """What a question may name."""
        groups = tuple(dict.fromkeys(self._labels["group"].to_pylist()))
        numbers: dict[str, int] = {}
        for number, label in enumerate(self.labels):
            numbers.setdefault(label, number)
        contents = self.contents
        return Names(
            contents.kinds, groups, numbers, frozenset(contents.pairs), contents.follows,
            self.has_tags, contents.map_kinds, bool(contents.rule),
            folded=bool(self._vocabulary and self._vocabulary.lowercase),
            sort=contents.sort,
        )  # fmt: skip

    @cached_property
    def _vocabulary(self) -> Vocabulary | None:
        return self.run.vocabulary() if self.run else None

    @property
    def read_as(self) -> tuple[str, str]:
        """The labels that the model takes unknown words and numerals for, empty where it has none
        for them.
        """
        known = self._vocabulary
        if known is None:
            return "", ""
        unknown = "" if known.unknown is None else known.inputs[known.unknown]
        return unknown, NUM if known.numbers else ""

    @cached_property
    def axes(self) -> "dict[str, Axes]":
        """The axes of the maps, by kind."""
        from rnnlens.search.state_map import read_axes

        contents, sha = self.contents, self.manifest.map
        if not contents.map_kinds or sha is None:
            return {}
        return read_axes(self.folder / MAP, sha, contents.map_kinds, self.remedy)

    def extent(self, kind: str, deadline: Deadline | None = None) -> Extent:
        """From where to where a kind's map goes."""
        if kind not in self._extents:
            row = self.ask(sql.extent(map_columns(kind)), deadline).to_pylist()[0]
            self._extents[kind] = (row["left"], row["right"]), (row["low"], row["high"])
        return self._extents[kind]

    @cached_property
    def _labels(self) -> "pa.Table":
        """The labels with their numbers and groups; as many as the run has, if that is known."""
        path = self.folder / LABELS
        count = _label_count(self.run, self.contents) if self.run else None
        try:
            table: pa.Table = _labels_table(path, count)
            numbers, *names = (table[name].to_pylist() for name in ("number", "label", "group"))
        except (OSError, KeyError, ValueError, arrow().ArrowException) as error:
            raise damaged(path, one_line(error), self.remedy) from error
        count = len(numbers) if count is None else count
        if numbers != list(range(count)):
            raise damaged(path, f"its numbers are not those of {count:,} labels", self.remedy)
        if not all(isinstance(name, str) for some in names for name in some):
            raise damaged(path, "a label has no name or no group", self.remedy)
        return table

    @cached_property
    def labels(self) -> list[str]:
        """The labels in the order of their numbers; some may have the same name."""
        return list(self._labels["label"].to_pylist())

    def sentences(
        self, numbers: Collection[int], deadline: Deadline | None = None
    ) -> dict[int, Sentence]:
        """The words of some sentences by their numbers, and the texts that lenses read so."""
        if not numbers:
            return {}
        table = self.ask(sql.sentences(sorted(numbers)), deadline)
        words: dict[int, list[str]] = {}
        texts: dict[int, str] = {}
        rows = zip(*(table[name].to_pylist() for name in ("sentence", "word", "text")), strict=True)
        for number, word, text in rows:
            words.setdefault(number, []).append(word)
            if text is not None:
                texts[number] = text
        if not texts.keys() >= words.keys():
            raise self.out_of_range("a sentence")
        return {number: (tuple(w), self._readable(texts[number])) for number, w in words.items()}

    def sentence_of(self, row: Mapping[str, Any], sentences: Mapping[int, Sentence]) -> Sentence:
        """The sentence of a row, which has a word where the row says."""
        words, text = sentences[row["sentence"]]
        if not 0 <= row["position"] < len(words):
            raise self.out_of_range("a word")
        return words, text

    def _readable(self, text: str) -> str:
        """A sentence as it is given to a subject, which takes braces for two texts in one."""
        return escaped(text, self._inputs) if "{" in text or "}" in text else text

    @cached_property
    def _inputs(self) -> frozenset[str]:
        """The words that the model reads."""
        return frozenset(self._vocabulary.inputs if self._vocabulary else ())

    def words(self, deadline: Deadline | None = None) -> Iterator[list[list[str]]]:
        """The words of every sentence, in the order of the rows, part by part."""
        for table in self.scan(("position", "word"), deadline):
            sentences: list[list[str]] = []
            rows = zip(table["position"].to_pylist(), table["word"].to_pylist(), strict=True)
            for position, word in rows:
                if position == 0:
                    sentences.append([])
                if not sentences or not isinstance(word, str):
                    raise self.out_of_range("a sentence")
                sentences[-1].append(word)
            yield sentences

    def scan(
        self, columns: Sequence[str], deadline: Deadline | None = None
    ) -> Iterator["pa.Table"]:
        """Some columns of one part after the other: for hundreds of numbers about all words, which
        SQL takes long for.
        """
        self._check_columns(columns, deadline)
        for path in self.paths:
            if deadline:
                deadline.left()
            try:
                table = arrow().parquet.read_table(path, columns=list(columns))
                table.validate(full=True)
            except (OSError, ValueError, arrow().ArrowException) as error:
                raise damaged(path, one_line(error), self.remedy) from error
            yield table

    def _check_columns(self, names: Collection[str], deadline: Deadline | None) -> None:
        """Refuse columns with values that are missing or none that they can have: each is looked
        at once, before it is used.
        """
        limits = column_limits(self.contents, len(self.labels))
        new = {name: limits[name] for name in names if name not in self._checked}
        if not new:
            return
        size = max(_TEXTS, _SWELLING * sum(part.bytes for part in self.manifest.parts))
        query = sql.within_limits(new, column_types(self.contents), size)
        good = self._answer(query, deadline).to_pylist()[0].values()
        for name, is_good in zip(new, good, strict=True):
            if not is_good:
                raise damaged(
                    self.folder, f"its column {name} has values that none can have", self.remedy
                )
        if "position" in new and not self._answer(sql.BEGINNINGS, deadline)["sentences"][0].as_py():
            raise self.out_of_range("a sentence")
        self._checked.update(new)

    @cached_property
    def _database(self) -> sql.Database:
        database = sql.Database(self.paths, self.folder / LABELS)
        _open.add(self)
        return database

    def close(self) -> None:
        """Let go of the database; a further question opens it anew."""
        if database := self.__dict__.pop("_database", None):
            database.close()

    def ask(
        self, query: str, deadline: Deadline | None = None, *, by_user: bool = False
    ) -> "pa.Table":
        """The answer to a single SELECT, which is stopped at the deadline.

        `by_user`: whether the SQL was written by somebody who can mend it.
        """
        if not by_user:
            known = column_types(self.contents)
            self._check_columns(sql.columns_in(query, known), deadline)
        answer = self._answer(query, deadline, by_user=by_user)
        names = answer.column_names
        if twice := [name for k, name in enumerate(names) if name in names[:k]]:
            raise RnnlensError(
                f"two columns of the answer are called {twice[0]!r}; name one otherwise, with AS"
            )
        return answer

    def _answer(
        self, query: str, deadline: Deadline | None, *, by_user: bool = False
    ) -> "pa.Table":
        limit = deadline or Deadline()
        with elsewhere(), self._lock:
            seconds, timer = limit.left(), None
            try:
                if seconds:
                    timer = Timer(seconds, self._database.interrupt)
                    timer.start()
                return self._database.ask(query)
            except sql.StoppedError as error:
                raise limit.missed() from error
            except sql.FailedError as error:
                self.check_files()  # which says what is wrong, where it is a file
                raise RnnlensError(
                    f"the SQL cannot be answered: {error}; mend the SQL"
                    if by_user
                    else f"the index cannot answer this; ask for less, or {self.remedy}"
                ) from error
            finally:
                if timer:
                    timer.cancel()


_open: WeakSet[Index] = WeakSet()


@atexit.register
def _close_all() -> None:
    """The database complains of connections that are open when Python ends."""
    for index in list(_open):
        index.close()


def _command(run: Run, folder: Path) -> str:
    """What makes the index of a run in a folder; a bundled one comes without its corpus."""
    named = f"{run.path.name} --corpus CORPUS" if run.is_bundled else quote(str(run.path))
    if folder != run.index_folder():
        return f"rnnlens index {named} -o {quote(str(folder))}"
    return f"rnnlens index {named}{' -o FOLDER' if run.is_bundled else ''}"


def _semantics(run: Run, probes: str | None) -> tuple[str, ...]:
    """What the states of a run are asked for by the probes of this hash."""
    if probes is None:
        return ("output",)
    file = read_json(run.path / "probes.json", ProbesFile)
    return next(o.semantics for o in (file, file.previous) if o and o.sha256 == probes)


def _label_count(run: Run, contents: Contents) -> int:
    """How many labels the states of a run are asked for."""
    if of_model(contents.semantic):
        return len(run.vocabulary().labels)
    file = read_json(run.path / "probes.json", ProbesFile)
    probes = next(o for o in (file, file.previous) if o and o.sha256 == contents.probes)
    return len(probes.answers[base(contents.semantic)])


def _check_contents(folder: Path, contents: Contents, there: Sequence[str], remedy: str) -> None:
    """Refuse what is asked of no state, and kinds that do not end in the prediction."""
    if contents.semantic not in there:
        what = f"its semantic {contents.semantic!r} is none that the run has for an index"
        raise damaged(folder / INDEX_MANIFEST, what, remedy)
    if PREDICTION in contents.kinds[:-1]:
        raise damaged(folder / INDEX_MANIFEST, f"{PREDICTION} is not its last kind", remedy)


def one_line(error: Exception) -> str:
    """What a library says of a damaged file, in one line."""
    return " ".join(str(error).split())[:200]


def _labels_table(path: Path, count: int | None) -> "pa.Table":
    """The table of labels; ValueError where it has another number of rows or is larger than any."""
    with arrow().parquet.ParquetFile(path) as file:
        about = file.metadata
        if count is not None and about.num_rows != count:
            raise ValueError(f"it has {about.num_rows:,} rows for {count:,} labels")
        groups = (about.row_group(k) for k in range(about.num_row_groups))
        sizes = (group.column(c).total_uncompressed_size for group in groups for c in range(3))
        if about.num_columns != 3 or sum(sizes) > max(_TEXTS, _SWELLING * path.stat().st_size):
            raise ValueError("its columns are not number, label and group")
        table = file.read()
    table.validate(full=True)
    return table


def _footer_problem(path: Path, rows: int, columns: dict[str, str]) -> str:
    """What is wrong with the columns or the number of rows of a Parquet file."""
    try:
        with arrow().parquet.ParquetFile(path) as file:
            there = {one.name: str(one.type) for one in file.schema_arrow}
            count, fields = file.metadata.num_rows, len(file.schema_arrow)
    except (OSError, ValueError, arrow().ArrowException) as error:
        return one_line(error)
    if fields != len(there):
        return f"of its {fields:,} columns some have the same name"
    if count != rows:
        return f"it has {count:,} rows and not {rows:,}"
    for name in columns.keys() | there.keys():
        if columns.get(name) != there.get(name):
            return f"its column {name} is {there.get(name)} and not {columns.get(name)}"
    return ""


_Stamp = tuple[str, int, int]  # a folder, when its index was made, and how large its manifest is
_indexes: "WeakKeyDictionary[Subject, tuple[_Stamp, Index]]" = WeakKeyDictionary()


def index_of(subject: "Subject", folder: str | Path | None = None) -> Index:
    """The index of a subject's run, or one in another folder, opened once, and again where it was
    made anew.
    """
    if subject.run is None:
        raise RnnlensError(
            f"{subject.name} is of no run yet; save it, and index that: rnnlens index RUN"
        )
    place = Path(folder) if folder else subject.run.index_folder(subject.index_folder)
    manifest = place / INDEX_MANIFEST
    about = manifest.stat() if manifest.is_file() else None
    stamp = (str(place), about.st_mtime_ns, about.st_size) if about else (str(place), 0, 0)
    held = _indexes.get(subject)
    if held is None or held[0] != stamp:
        held = stamp, Index.of(subject.run, place)
        contents = held[1].contents
        if (contents.model, contents.probes) != subject.hashes:
            raise RnnlensError(
                f"{subject.run.path} was trained or fitted anew after it was opened; start rnnlens "
                "view again, or load it again"
            )
        _indexes[subject] = held
    return held[1]
