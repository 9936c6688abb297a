"""Tables for pandas, where it is installed."""

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
