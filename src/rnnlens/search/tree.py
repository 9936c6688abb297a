"""A question to an index, taken apart: conditions on a row, and what is wanted of the rows."""

from dataclasses import dataclass

from rnnlens.search.layout import Pair


@dataclass(frozen=True)
class Every:
    """All of some conditions hold."""

    parts: tuple["Node", ...]


@dataclass(frozen=True)
class Some:
    """At least one of some conditions holds."""

    parts: tuple["Node", ...]


@dataclass(frozen=True)
class Not:
    """A condition does not hold."""

    part: "Node"


@dataclass(frozen=True)
class Near:
    """A condition holds in a row of the same sentence that is so many rows further on, or back."""

    offsets: tuple[int, ...]
    part: "Node"


@dataclass(frozen=True)
class OneOf:
    """The word, tag or the like is one of some."""

    field: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class Like:
    """The word or the like has a form, in which % stands for any letters and _ for one."""

    field: str
    pattern: str


@dataclass(frozen=True)
class InGroup:
    """The word, or the one that came, is of a group."""

    field: str
    group: str


@dataclass(frozen=True)
class Unknown:
    """The model does not know the word."""


@dataclass(frozen=True)
class Expects:
    """A state expects a group, or labels; how much, or else above all others."""

    kind: str
    group: str = ""
    labels: tuple[int, ...] = ()
    operator: str = ""
    number: float = 0.0


@dataclass(frozen=True)
class Agree:
    """States of some kinds have the same dominant group, or the same most probable label."""

    kinds: tuple[str, ...]
    on_label: bool = False


@dataclass(frozen=True)
class Quantity:
    """A number of a row: of one kind, of a pair of them, or of the word."""

    name: str
    kind: str = ""
    pair: Pair | None = None


@dataclass(frozen=True)
class Compare:
    """A number is larger than another, or whatever the operator says."""

    left: Quantity
    operator: str
    right: Quantity | float


Node = (
    Every | Some | Not | Near | OneOf | Like | InGroup | Unknown | Expects | Agree | Compare
)  # fmt: skip


@dataclass(frozen=True)
class Key:
    """What rows are counted by: a field of the word, or what a kind says."""

    field: str = ""
    kind: str = ""
    label: bool = False  # the most probable label, and not the dominant group

    @property
    def name(self) -> str:
        """The heading of its column."""
        return self.field or f"{self.kind} {'label' if self.label else 'group'}"


@dataclass(frozen=True)
class Query:
    """A whole question."""

    condition: Node | None = None
    count: bool = False
    by: tuple[Key, ...] = ()
    sort: Quantity | None = None
    descending: bool = False
    limit: int | None = None
    offset: int = 0  # answers that are left out before the first
    kinds: tuple[str, ...] = ()  # that it names, in their order
    written: str = ""  # its condition, as it was given
