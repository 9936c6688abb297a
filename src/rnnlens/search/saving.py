"""Tables of answers as files, and as text."""

import csv
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import write_bytes
from rnnlens.search.table import packed

if TYPE_CHECKING:
    import pyarrow as pa

ENDINGS = (".csv", ".json", ".parquet")


def check_ending(path: Path) -> None:
    """Refuse a file whose ending says nothing."""
    if path.suffix.lower() not in ENDINGS:
        raise RnnlensError(f"{path}: give a file that ends in {', '.join(ENDINGS)}")


def save(table: "pa.Table", path: Path) -> None:
    """Write a table; the ending of the file says how."""
    check_ending(path)
    ending = path.suffix.lower()
    if ending == ".parquet":
        write_bytes(path, packed(table))
        return
    text = as_csv(table) if ending == ".csv" else as_json(table)
    write_bytes(path, text.encode("utf-8"))


def as_csv(table: "pa.Table") -> str:
    """The table with a comma between values, a line for each row."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.column_names)
    writer.writerows([_short(value) for value in row.values()] for row in table.to_pylist())
    return text.getvalue()


def as_json(table: "pa.Table") -> str:
    """The table as a list of objects."""
    rows = [{name: _short(v) for name, v in row.items()} for row in table.to_pylist()]
    return json.dumps(rows, ensure_ascii=False, indent=1, default=str) + "\n"


def as_lines(table: "pa.Table", most: int) -> str:
    """The first rows as a table to be read."""
    rows = [[_cell(value) for value in row.values()] for row in table.slice(0, most).to_pylist()]
    names = table.column_names
    widths = [max(len(row[k]) for row in [names, *rows]) for k in range(len(names))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
             for row in [names, *rows]]  # fmt: skip
    if len(table) > most:
        lines.append(f"... {len(table) - most:,} more rows")
    return "\n".join(lines)


def _short(value: Any) -> Any:
    """A number without the digits that 32 bits do not hold."""
    return float(f"{value:.7g}") if isinstance(value, float) else value


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
