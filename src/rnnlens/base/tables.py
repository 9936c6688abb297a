"""Tables for other programs: as comma-separated values, and for pandas, where it is installed."""

import csv
import io
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from rnnlens.base.errors import RnnlensError

if TYPE_CHECKING:
    import pandas as pd


def data_frame(rows: Iterable[Mapping[str, Any]]) -> "pd.DataFrame":
    """A table of these rows, whose columns are the names in them."""
    try:
        import pandas as pd
    except ImportError as error:
        raise RnnlensError(
            "to_pandas needs pandas; install it: pip install 'rnnlens[pandas]'"
        ) from error
    return pd.DataFrame(list(rows))


def csv_text(names: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """A table with a comma between values and a line for each row, the names first."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(rows)
    return text.getvalue()
