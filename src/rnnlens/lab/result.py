"""What all results of the laboratory can: JSON, and comma-separated values of their rows."""

from typing import Any, ClassVar

from rnnlens.base.schema import to_json
from rnnlens.base.tables import csv_text


class Result:
    """A frozen dataclass that has rows in one of its fields."""

    rows_in: ClassVar[str] = "rows"  # the field

    def to_json(self) -> dict[str, Any]:
        """All of it, as JSON."""
        found: dict[str, Any] = to_json(self)
        return found

    def to_csv(self) -> str:
        """A line for each row."""
        rows = [to_json(one) for one in getattr(self, self.rows_in)]
        return csv_text(rows[0] if rows else (), (row.values() for row in rows))
