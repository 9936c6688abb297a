"""The files of an index: a manifest, the labels, and parts in Parquet with a row for each word."""

import hashlib
import io
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from annotated_types import Ge, Le, Len, MaxLen

from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import Count, Name, Sha, Strict
from rnnlens.model.kinds import Kind
from rnnlens.run.folder import Run

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = 1
LABELS = "labels.parquet"
MAP = "map.safetensors"  # the axes of its maps
UNFINISHED = "making.json"  # is there while an index is made
TOP = 5  # labels kept of each state, the most probable ones
_MOST_PARTS = 1_000_000
_MOST_ROWS = 1 << 20  # of a part; one that is made has about 32,768
_CAPITAL = re.compile(r"(?:.*\.)?[A-Z]\d*<?(?:@[+-]\d)?")  # a kind of one capital letter
_NUMBERS = ("share", "entropy", "came", "rank")
_MOST_BITS = 1e6  # of a surprisal or an entropy
_MOST_FLOAT = 3.4e38  # that 32 bits can hold
Sort = Literal["label", "number", "set"]  # one label of many, a number in bins, several labels
AXIS_NUMBERS = ("number", "low", "high")  # a mean, and the interval that holds most
_FARTHEST = 1e30  # from the middle of a map: what is beyond is no number of a state
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


def in_column(kind: str) -> str:
    """A kind as columns call it: a database does not tell `K1` from `k1`, and cells have both."""
    return f"capital_{kind}" if _CAPITAL.fullmatch(kind) else kind


def of_kind(kind: str, what: str) -> str:
    """The column of a kind that has its `what`, such as `l2_group`."""
    return f"{in_column(kind)}_{what}"


@dataclass(frozen=True)
class Pair(Strict):
    """Two kinds whose predictions are compared: one, and another `back` steps before it."""

    kind: Name
    other: Name
    back: Annotated[int, Ge(-1), Le(1)] = 0

    @property
    def name(self) -> str:
        """The other as people write it: `c2@-1` is `c2` one step back."""
        return f"{self.other}@{-self.back:+d}" if self.back else self.other

    @property
    def column(self) -> str:
        """The divergence of the two, in bits."""
        return of_kind(self.kind, f"differs_{in_column(self.name)}")


def label_column(kind: str, place: int) -> str:
    """The number of the label in that place, from 1."""
    return of_kind(kind, f"label{place}")


def probability_column(kind: str, place: int) -> str:
    """The probability of the label in that place, from 1."""
    return of_kind(kind, f"p{place}")


def map_columns(kind: str) -> tuple[str, str]:
    """Where a state is along the first and the second component of its kind."""
    return of_kind(kind, "map1"), of_kind(kind, "map2")


def holds_column(kind: str) -> str:
    """The numbers of the labels that hold, with a probability of a half or more: `,3,7,`."""
    return of_kind(kind, "holds")


def kind_columns(kind: str, contents: "Contents") -> list[str]:
    """The columns of a kind, but for its divergences."""
    places = range(1, contents.top + 1)
    return [
        *(label_column(kind, k) for k in places),
        *(probability_column(kind, k) for k in places),
        of_kind(kind, "group"),
        *(of_kind(kind, name) for name in _NUMBERS),
        *((of_kind(kind, "lead"),) if contents.rule else ()),
    ]


def column_types(contents: "Contents") -> dict[str, str]:
    """The columns of a part, and their types as Arrow calls them."""
    types = dict.fromkeys(("sentence", "position", "length"), "int32")
    types |= dict.fromkeys(("split", "text", "word"), "string")
    types |= {"unknown": "bool", "tag": "string", "next": "string", "surprisal": "float"}
    for kind in contents.kinds:
        names = kind_columns(kind, contents)
        whole = {*names[: contents.top], of_kind(kind, "rank")}
        types |= {name: "int32" if name in whole else "float" for name in names}
        types[of_kind(kind, "group")] = "string"
        if contents.sort == "number":
            types |= {of_kind(kind, name): "float" for name in AXIS_NUMBERS}
        if contents.sort == "set":
            types[holds_column(kind)] = "string"
    for kind in contents.map_kinds:
        types |= dict.fromkeys(map_columns(kind), "float")
    return types | {pair.column: "float" for pair in contents.pairs}


class Limits(NamedTuple):
    """What the values of a column may be, beside their type: from where to where, whether some may
    be missing; of texts, whether each is a group of labels.
    """

    least: float = 0
    most: float = 2**31 - 1
    missing: bool = False
    is_group: bool = False


def column_limits(contents: "Contents", labels: int) -> dict[str, Limits]:
    """The limits of the columns of a part, where the model has so many labels."""
    share, none = Limits(most=1), dict.fromkeys(("tag", "next", "text"), Limits(missing=True))
    limits = {**dict.fromkeys(column_types(contents), Limits()), **none}
    limits["surprisal"] = Limits(most=_MOST_BITS, missing=True)
    for kind in contents.kinds:
        for place in range(1, contents.top + 1):
            missing = place > labels
            limits[label_column(kind, place)] = Limits(most=labels - 1, missing=missing)
            limits[probability_column(kind, place)] = share._replace(missing=missing)
        limits[of_kind(kind, "group")] = Limits(is_group=True)
        limits[of_kind(kind, "share")], limits[of_kind(kind, "came")] = (
            share,
            share._replace(missing=True),
        )
        limits[of_kind(kind, "entropy")] = Limits(most=_MOST_BITS)
        if contents.sort == "number":
            limits |= {
                of_kind(kind, name): Limits(-_MOST_FLOAT, _MOST_FLOAT) for name in AXIS_NUMBERS
            }
        limits[of_kind(kind, "rank")] = Limits(1, labels, missing=True)
    for name in (name for kind in contents.map_kinds for name in map_columns(kind)):
        limits[name] = Limits(-_FARTHEST, _FARTHEST)
    return limits | {pair.column: share._replace(missing=True) for pair in contents.pairs}


def pairs_of(kinds: Sequence[Kind]) -> tuple[Pair, ...]:
    """What is compared: each kind with those that feed it and with itself one step before, which is
    the next word where a layer reads backwards, and those with each other that feed the same kind,
    as the two memories of a cell do.
    """
    there = {kind.id for kind in kinds}
    pairs: dict[Pair, None] = {}
    for kind in kinds:
        sources = [source for source in kind.sources if source.kind in there]
        for source in sources:
            pairs[Pair(kind.id, source.kind, source.back)] = None
        pairs[Pair(kind.id, kind.id, -1 if kind.reverse else 1)] = None
        beside = [source.kind for source in sources if not source.back]
        for k, one in enumerate(beside):
            pairs |= dict.fromkeys(Pair(one, other) for other in beside[k + 1 :])
    return tuple(pairs)


@dataclass(frozen=True)
class Part(Strict):
    """One file of rows."""

    number: Count
    rows: Annotated[int, Ge(0), Le(_MOST_ROWS)]
    bytes: Count
    sha256: Sha
    states: Sha | None = None  # of the file of states beside it, where there is one

    @property
    def file(self) -> str:
        """Its name in the folder of the index."""
        return f"part-{self.number:05d}.parquet"

    @property
    def states_file(self) -> str:
        """The name of its file of states."""
        return f"states-{self.number:05d}.safetensors"

    @staticmethod
    def note_file(number: int) -> str:
        """Where it is noted, until the index is whole, that a part is."""
        return f"part-{number:05d}.json"


@dataclass(frozen=True)
class Contents(Strict):
    """What an index is of, and what it tells: two with the same contents have the same rows."""

    model: Sha
    probes: Sha | None
    groups: Sha  # of the labels' grouping
    corpus: Sha
    source: Name  # where the corpus was read from
    splits: Annotated[tuple[Name, ...], Len(1, 100)]
    semantic: Name
    palette: Name
    kinds: Annotated[tuple[Name, ...], Len(1, 5000)]  # the prediction is the last, if it is there
    pairs: Annotated[tuple[Pair, ...], MaxLen(1_000_000)]
    top: Annotated[int, Ge(1), Le(1000)]
    sentences: Count
    part_count: Annotated[int, Ge(1), Le(_MOST_PARTS)]
    states: Name  # int8, fp16, or empty: none are kept
    state_kinds: Annotated[tuple[Name, ...], MaxLen(5000)]
    follows: bool = True  # whether labels are the words that follow, so that the corpus tells them
    map_kinds: Annotated[tuple[Name, ...], MaxLen(5000)] = ()  # whose states are on a map
    #: What the shares of groups are; older indexes have none, and fade by the paper's rule.
    rule: Literal["", "excess", "paper"] = ""
    sort: Sort = "label"  # what a state is asked for


@dataclass(frozen=True)
class Manifest(Strict):
    """manifest.json, which is written last: without it there is no index."""

    format: Annotated[int, Ge(FORMAT), Le(FORMAT)]
    version: Name
    contents: Contents
    labels: Sha  # of labels.parquet
    rows: Count
    parts: Annotated[tuple[Part, ...], Len(1, _MOST_PARTS)]
    map: Sha | None = None  # of map.safetensors; older indexes have none

    def __post_init__(self) -> None:
        numbers = [part.number for part in self.parts]
        if numbers != list(range(self.contents.part_count)):
            raise ValueError("a part is missing")
        if sum(part.rows for part in self.parts) != self.rows:
            raise ValueError("the parts do not have as many rows as it says")
        if not 1 <= self.contents.sentences <= self.rows:
            raise ValueError("it has not as many words as sentences")


def groups_hash(run: Run, palette: str) -> str:
    """The SHA-256 of a grouping of labels of a run."""
    groups = run.colours()["groupings"].get(palette, {}).get("groups", {})
    return hashlib.sha256(json.dumps(groups, sort_keys=True).encode()).hexdigest()
