"""The rows of an index as Parquet."""

import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from rnnlens.base.errors import RnnlensError
from rnnlens.model.kinds import PREDICTION
from rnnlens.reading.encoding import Encodings, Integers, Palette
from rnnlens.search.layout import TOP, label_column, probability_column
from rnnlens.search.measures import Measures
from rnnlens.search.reading import Text
from rnnlens.search.rounding import rounded

if TYPE_CHECKING:
    import pyarrow as pa

_LEVEL = 3  # of zstd: higher ones take long and save little


def arrow() -> Any:
    """The library pyarrow; an error that says how to get it where there is none."""
    try:
        import pyarrow as pa
        import pyarrow.compute
        import pyarrow.parquet
    except ImportError as error:
        raise RnnlensError(
            "an index needs pyarrow and duckdb; install them: pip install 'rnnlens[index]'"
        ) from error
    return pa


def packed(table: "pa.Table") -> bytes:
    """The bytes of a Parquet file that any engine reads."""
    buffer = io.BytesIO()
    arrow().parquet.write_table(
        table, buffer, compression="zstd", compression_level=_LEVEL, use_dictionary=True,
        row_group_size=max(1, len(table)), write_page_checksum=True, store_schema=False,
    )  # fmt: skip
    return buffer.getvalue()


def labels_table(labels: Sequence[str], palette: Palette) -> "pa.Table":
    """What the numbers of labels mean."""
    pa = arrow()
    groups = [palette.groups[k] for k in palette.group_of]
    return pa.table(
        {
            "number": pa.array(range(len(labels)), pa.int32()),
            "label": pa.array([_plain(label) for label in labels]),
            "group": pa.array(groups),
        }
    )


def rows_table(
    texts: Sequence[Text], measures: Measures, following: Integers, labels: Sequence[str],
    palette: Palette, unknown: int | None,
) -> "pa.Table":  # fmt: skip
    """A row for each word of the texts; `following` are the labels that the prediction is for."""
    columns = word_columns(texts, unknown)
    pa = arrow()
    none = following < 0
    columns["next"] = _names(np.where(none, 0, following), labels, none)
    came = torch.from_numpy(measures.encodings[PREDICTION].came)
    columns["surprisal"] = _numbers(-came.clamp_min(1e-38).log2(), "surprisal", none)
    for kind, encodings in measures.encodings.items():
        columns |= _kind(kind, encodings, palette)
    for pair, bits in measures.divergences.items():
        values = torch.from_numpy(bits)
        columns[pair.column] = _numbers(values.nan_to_num(), "differs", np.isnan(bits))
    return pa.table(columns)


def word_columns(texts: Sequence[Text], unknown: int | None) -> dict[str, Any]:
    """Where each word stands, and what it is."""
    pa = arrow()
    lengths = [len(text.ids) for text in texts]

    def each(values: Sequence[Any], kind: Any) -> Any:
        return pa.array(np.repeat(np.array(values), lengths), kind)

    position = np.concatenate([np.arange(length) for length in lengths])
    tags = [tag for text in texts for tag in (text.tags or [None] * len(text.ids))]
    begins = [k for text in texts for k in [_plain(text.text)] + [None] * (len(text.ids) - 1)]
    return {
        "sentence": each([text.number for text in texts], pa.int32()),
        "position": pa.array(position, pa.int32()),
        "length": each(lengths, pa.int32()),
        "split": pa.array([t.split for t in texts for _ in t.ids]).dictionary_encode(),
        "text": pa.array(begins, pa.string()),
        "word": pa.array([_plain(word) for t in texts for word in t.words]).dictionary_encode(),
        "unknown": pa.array([number == unknown for t in texts for number in t.ids], pa.bool_()),
        "tag": pa.array(tags, pa.string()).dictionary_encode(),
    }


def _kind(kind: str, made: Encodings, palette: Palette) -> dict[str, Any]:
    """The columns of a kind; labels beyond those that there are have no number."""
    pa = arrow()
    columns: dict[str, Any] = {}
    count = made.labels.shape[1]
    none = np.ones(len(made.group), bool)
    for k in range(TOP):
        there = k < count
        numbers = made.labels[:, k] if there else np.zeros(len(none))
        p = torch.from_numpy(made.probabilities[:, k] if there else np.zeros(len(none), np.float32))
        mask = None if there else none
        columns[label_column(kind, k + 1)] = pa.array(numbers.astype(np.int32), mask=mask)
        columns[probability_column(kind, k + 1)] = _numbers(p, "p", mask)
    columns[f"{kind}_group"] = _names(made.group, palette.groups, None)
    columns[f"{kind}_share"] = _numbers(torch.from_numpy(made.share), "share", None)
    columns[f"{kind}_entropy"] = _numbers(torch.from_numpy(made.entropy), "entropy", None)
    unasked = made.rank == 0
    columns[f"{kind}_came"] = _numbers(torch.from_numpy(made.came), "p", unasked)
    columns[f"{kind}_rank"] = pa.array(made.rank.astype(np.int32), mask=unasked)
    return columns


def _numbers(values: torch.Tensor, what: str, none: NDArray[np.bool_] | None) -> Any:
    return arrow().array(rounded(values.float(), what).numpy(), mask=none)


def _names(numbers: Integers, names: Sequence[str], none: NDArray[np.bool_] | None) -> Any:
    pa = arrow()
    indices = pa.array(numbers.astype(np.int32), mask=none)
    return pa.DictionaryArray.from_arrays(indices, pa.array([_plain(name) for name in names]))


def _plain(text: str) -> str:
    """Text that Parquet can hold: half of a character that was cut stands as a question mark."""
    return text.encode("utf-8", "replace").decode("utf-8")


def scattered(parts: Sequence[Measures], places: Sequence[Integers]) -> Measures:
    """The measures of several lists of words, put where these words stand."""
    order = np.argsort(np.concatenate(places), kind="stable")
    first = parts[0]
    encodings = {
        kind: Encodings.join([part.encodings[kind] for part in parts]).of(order)
        for kind in first.encodings
    }
    bits: Mapping[Any, NDArray[np.float32]] = {
        pair: np.concatenate([part.divergences[pair] for part in parts])[order]
        for pair in first.divergences
    }
    return Measures(encodings, bits)
