"""Whether the files of an index are whole, and hold what its manifest says."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import damaged, sha256
from rnnlens.base.threads import pool
from rnnlens.model.kinds import PREDICTION
from rnnlens.probe.semantics import of_model
from rnnlens.search.layout import Contents, Manifest, Part, column_types
from rnnlens.search.place import LABELS, MANIFEST
from rnnlens.search.table import arrow

if TYPE_CHECKING:
    import pyarrow as pa

_HASHED = 2 * 2**30  # bytes of parts that are compared with their hashes when an index is opened


def check_files(folder: Path, manifest: Manifest, remedy: str) -> None:
    """Refuse files that are missing, cut or changed, or have other rows and columns."""
    columns = column_types(manifest.contents)
    if len({name.lower() for name in columns}) != len(columns):
        raise damaged(folder / MANIFEST, "two columns have the same name", remedy)
    parts = manifest.parts
    hashed = sum(part.bytes for part in parts) <= _HASHED

    def problem(part: Part) -> str:
        path = folder / part.file
        if not path.is_file():
            return "it is missing"
        if (size := path.stat().st_size) != part.bytes:
            return f"it has {size:,} bytes and not {part.bytes:,}"
        if hashed and sha256(path) != part.sha256:
            return "its SHA-256 is not the recorded one"
        return _footer_problem(path, part.rows, columns)

    labels = folder / LABELS
    if not labels.is_file():
        raise damaged(labels, "it is missing", remedy)
    if sha256(labels) != manifest.labels:
        raise damaged(labels, "its SHA-256 is not the recorded one", remedy)
    for part, what in zip(parts, pool().map(problem, parts), strict=True):
        if what:
            raise damaged(folder / part.file, what, remedy)


def _footer_problem(path: Path, rows: int, columns: dict[str, str]) -> str:
    """What is wrong with the columns or the number of rows of a Parquet file."""
    try:
        with arrow().parquet.ParquetFile(path) as file:
            there = {field.name: str(field.type) for field in file.schema_arrow}
            count = file.metadata.num_rows
    except (OSError, arrow().ArrowException) as error:
        return str(error)
    if count != rows:
        return f"it has {count:,} rows and not {rows:,}"
    for name in columns.keys() | there.keys():
        if columns.get(name) != there.get(name):
            return f"its column {name} is {there.get(name)} and not {columns.get(name)}"
    return ""


def check_semantic(folder: Path, contents: Contents, there: Sequence[str], remedy: str) -> None:
    """Refuse what is asked of no state, and kinds that do not end in the prediction."""
    if contents.semantic not in filter(of_model, there):
        what = f"its semantic {contents.semantic!r} is none that the run has for an index"
        raise damaged(folder / MANIFEST, what, remedy)
    if contents.kinds[-1] != PREDICTION:
        raise damaged(folder / MANIFEST, f"its last kind is not {PREDICTION}", remedy)


def read_labels(folder: Path, wanted: int | None, remedy: str) -> "pa.Table":
    """The labels with their numbers and groups; as many as are wanted, if that is known."""
    path = folder / LABELS
    try:
        table: pa.Table = arrow().parquet.read_table(path)
        numbers, *names = (table[name].to_pylist() for name in ("number", "label", "group"))
    except (OSError, KeyError, arrow().ArrowException) as error:
        raise damaged(path, error, remedy) from error
    count = len(numbers) if wanted is None else wanted
    if numbers != list(range(count)):
        raise damaged(path, f"its numbers are not those of {count:,} labels", remedy)
    if not all(isinstance(name, str) for some in names for name in some):
        raise damaged(path, "a label has no name or no group", remedy)
    return table


def out_of_range(folder: Path, what: str, remedy: str) -> RnnlensError:
    """What is said of a row that names a label, a group or a word that there is not."""
    return damaged(folder, f"a row has {what} that there is not", remedy)
