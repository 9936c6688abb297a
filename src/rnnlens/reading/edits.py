"""Edits: what if a state were another? Each changes one kind at one word, and all goes on from
there.

In a command, a link and a request an edit is a short text, whose row is the number that is drawn,
from 1:

    l2@4=0          every unit is 0             l2@4=0.5        is 0.5
    l2@4*0.5        is half of what it is       l2@4=freeze     stays what it was one word before
    l2@4+said       is pushed towards a label   l2@4-said       away from it
    l2@4+0.5:said   by half of the kind's deviation, instead of one
    l2@4=@2         is that of row 2            l2@4=@2:we ran  that of row 2 of another text
    l2[0,5-9]@4=0   some of its units alone, from 0
    cell[1][]@4=0   of a kind whose own name ends in brackets, all units

Where two readings are compared, an edit is made in each that has its kind and its row, or in one of
them: `l2@1:4=0` in the first alone, `l2@2:4=0` in the second.
"""

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from rnnlens.base.errors import RnnlensError
from rnnlens.base.rules import count, message, pattern

Vector = NDArray[np.float32]
Side = Literal["both", "first", "second"]
_FORM, _PUSH, _SWAP = pattern("edit"), pattern("edit_push"), pattern("edit_swap")
_WAYS = ("set", "zero", "scale", "freeze", "swap", "push", "away")
HELP = message("edit")
_SIDES: dict[str | None, Side] = {None: "both", "1": "first", "2": "second"}
_NUMBERS: dict[Side, str] = {"both": "", "first": "1:", "second": "2:"}


class Stateful(Protocol):
    """A state of a grid, as an edit puts it in another's place."""

    @property
    def kind(self) -> str:
        """The id of its kind."""

    @property
    def address(self) -> "Address | None":
        """Where it is found again; None where edits have made it."""

    def vector(self) -> Vector:
        """Its units, (H,)."""


@dataclass(frozen=True)
class Address:
    """Where a state of some kind stands."""

    step: int  #: The word, from 0.
    text: str | None = None  #: None: the edited text itself.


@dataclass(frozen=True, eq=False)
class Edit:
    """A change of one kind after one word, from which the recurrence goes on.

    `kind` is its id and `step` the word, from 0 as in `grid["l2"][3]`. What it becomes is one of

    - `set`: a number, or one for each unit;
    - `zero=True`;
    - `scale`: what it is multiplied by;
    - `freeze=True`: what it was one word before, in the order of reading;
    - `swap`: a state of the same kind, `other["l2"][5]`, of whatever text;
    - `push`: a label that it is pushed towards, or `away` from, by `strength` times the kind's
      deviation, along what goes with that label in the kind's states; gates stay within 0 and 1.

    `units` names some of its units, from 0, where the others are to stay. Where two readings are
    compared, `side` says whether it is made in "both", or in the "first" or the "second" alone.

    >>> import rnnlens
    >>> rnnlens.Edit("l2", step=3, zero=True)
    Edit('l2@4=0')
    >>> rnnlens.Edit.parse("c2@2+0.5:said").strength
    0.5
    """

    kind: str
    step: int
    set: float | Sequence[float] | None = None
    zero: bool = False
    scale: float | None = None
    freeze: bool = False
    swap: Stateful | Address | None = None
    push: str | None = None
    away: str | None = None
    strength: float = 1.0
    units: Sequence[int] | None = None
    side: Side = "both"

    def __post_init__(self) -> None:
        ways = {name: getattr(self, name) for name in _WAYS}
        given = [name for name, value in ways.items() if value is not None and value is not False]
        if len(given) != 1:
            named = " and ".join(f"{name}=" for name in given) or "nothing"
            raise RnnlensError(f"an edit of {self.kind} is given {named}; give one of {_listed()}")
        if not isinstance(self.step, int) or isinstance(self.step, bool) or self.step < 0:
            raise RnnlensError(
                f"the step of an edit of {self.kind} is {self.step!r}; give a word's number, from 0"
            )
        for name in ("set", "scale", "strength"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _numbers(name, getattr(self, name)))
        if not isinstance(self.scale, float | None) or not isinstance(self.strength, float):
            raise RnnlensError(
                f"scale= and strength= of an edit of {self.kind} are one number each"
            )
        if self.strength <= 0:
            strength = f"{self.strength:g}"
            raise RnnlensError(message("edit_strength", kind=self.kind, strength=strength))
        if self.side not in get_args(Side):
            known = ", ".join(get_args(Side))
            raise RnnlensError(
                f"the side of an edit of {self.kind} is {self.side!r}; give one of {known}"
            )
        if self.units is not None:
            object.__setattr__(self, "units", _checked_units(self.kind, self.units))
        if self.swap is not None and not isinstance(self.swap, Address):
            _check_swap(self.kind, self.swap)

    @classmethod
    def parse(cls, text: str) -> "Edit":
        """The edit that a text such as `l2@4=0` stands for; rows count from 1."""
        form = _FORM.fullmatch(text)
        kind, units, side, row, what = form.groups() if form else ("", None, None, "0", "")
        if int(row) < 1:
            raise RnnlensError(message("no_edit", text=_quoted(text), how=HELP))
        whole = units is None or (not units and kind.endswith("]"))
        numbers = None if whole else _spans(str(units), text)
        return cls(kind, int(row) - 1, units=numbers, side=_SIDES[side], **_way(what, text))

    @property
    def label(self) -> str | None:
        """The label that it is pushed towards or away from."""
        return self.push if self.push is not None else self.away

    def on(self, side: Side) -> "Edit":
        """What does the same, made in this reading or in both."""
        return self if self.side == side else replace(self, side=side)

    @property
    def key(self) -> bytes:
        """Equal for edits that do the same."""
        exact = str(self).encode("utf-8", "replace")
        if self.swap is not None and not isinstance(self.swap, Address):
            exact += self.swap.vector().tobytes()
        return blake2b(exact, digest_size=16).digest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Edit) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __str__(self) -> str:
        units = "" if self.units is None else f"[{','.join(map(str, self.units))}]"
        units = units or ("[]" if self.kind.endswith("]") else "")  # as its own are no units
        return f"{self.kind}{units}@{_NUMBERS[self.side]}{self.step + 1}{self._what()}"

    def _what(self) -> str:
        if self.label is not None:
            sign = "+" if self.push is not None else "-"
            return f"{sign}{_exact(self.strength)}:{self.label}"
        if self.scale is not None:
            return f"*{self.scale!r}"
        if self.freeze:
            return "=freeze"
        if self.swap is not None:
            return f"={_address(self.swap)}"
        values = [0.0] if self.zero else [self.set] if isinstance(self.set, float) else self.set
        return "=" + ",".join(_short(value) for value in values or ())

    def __repr__(self) -> str:
        return f"Edit({str(self)!r})"


def parsed(edits: Sequence[Edit | str]) -> tuple[Edit, ...]:
    """Edits, whichever way each is given."""
    if isinstance(edits, str | Edit):
        edits = (edits,)
    for edit in edits:
        if not isinstance(edit, Edit | str):
            raise RnnlensError(
                f"an edit is {type(edit).__name__}; give rnnlens.Edit or a text such as 'l2@4=0'"
            )
    return tuple(Edit.parse(edit) if isinstance(edit, str) else edit for edit in edits)


def _listed() -> str:
    return ", ".join(f"{name}=" for name in _WAYS)


def _numbers(name: str, value: Any) -> float | tuple[float, ...]:
    """A number or several, each finite."""
    many = isinstance(value, Sequence | np.ndarray) and not isinstance(value, str)
    try:
        numbers = [float(one) for one in (value if many else [value])]
    except (TypeError, ValueError, OverflowError):
        numbers = [math.nan]
    if not numbers or not all(map(math.isfinite, numbers)):
        raise RnnlensError(message("edit_finite", name=name, value=_briefly(value)))
    return tuple(numbers) if many else numbers[0]


def _briefly(value: Any) -> str:
    shown, most = repr(value), count("quoted_numbers")
    return shown if len(shown) <= most else f"{shown[:most]}…"


def _quoted(text: str) -> str:
    return repr(text[: count("quoted_edit")])


def _checked_units(kind: str, units: Any) -> tuple[int, ...]:
    try:
        is_mask = any(isinstance(unit, bool | np.bool_) for unit in units)
        numbers = () if is_mask or isinstance(units, str) else tuple(map(operator.index, units))
    except (TypeError, ValueError):
        numbers = ()
    if not numbers or min(numbers) < 0:
        raise RnnlensError(
            f"units= of an edit of {kind} is {_briefly(units)}; give numbers of units, from 0"
        )
    return numbers


def _check_swap(kind: str, state: Any) -> None:
    if not hasattr(state, "vector"):
        raise RnnlensError(
            f"swap= of an edit of {kind} is {type(state).__name__}; give a state of a grid, such "
            f'as grid["{kind}"][3]'
        )
    if state.kind != kind:
        raise RnnlensError(
            f"a state of {state.kind} cannot stand in the place of one of {kind}; swap states of "
            "the same kind"
        )


def _address(swap: Stateful | Address) -> str:
    """Where a state is found again; of one that edits have made, all of its units."""
    address = swap
    if not isinstance(address, Address):
        if address.address is None:
            return ",".join(_short(float(value)) for value in address.vector())
        address = address.address
    return f"@{address.step + 1}" + ("" if address.text is None else f":{address.text}")


def _short(value: float) -> str:
    return f"{value:.9g}"


def _exact(value: float) -> str:
    """A number that is read again as the same."""
    return _short(value) if float(_short(value)) == value else repr(value)


def _spans(units: str, text: str) -> list[int]:
    numbers: list[int] = []
    for part in units.split(","):
        first, dash, last = part.strip().partition("-")
        spans = first.isdecimal() and (not dash or last.isdecimal())
        if not spans or len(first + last) > count("unit_digits") or int(last or first) < int(first):
            raise RnnlensError(message("edit_units", text=_quoted(text), units=repr(units)))
        numbers += range(int(first), min(int(last or first), int(first) + count("unit_span")) + 1)
    return numbers


def _way(what: str, text: str) -> dict[str, Any]:
    """What an edit does, from the rest of its text."""
    sign, rest = what[0], what[1:]
    if sign in "+-" and (push := _PUSH.fullmatch(rest)):
        strength = {} if push[1] is None else {"strength": float(push[1])}
        return {"push" if sign == "+" else "away": push[2], **strength}
    if sign == "=" and rest == "freeze":
        return {"freeze": True}
    if sign == "=" and (row := _SWAP.fullmatch(rest)):
        if int(row[1]) < 1:
            raise RnnlensError(message("edit_swap_row", text=_quoted(text), row=row[1]))
        return {"swap": Address(int(row[1]) - 1, row[2])}
    try:
        numbers = [float(part) for part in rest.split(",")]
    except ValueError:
        value = repr(rest[: count("quoted_number")])
        raise RnnlensError(
            message("edit_number", text=_quoted(text), value=value, how=HELP)
        ) from None
    if sign == "*":
        return {"scale": numbers[0] if len(numbers) == 1 else math.nan}
    if numbers == [0.0]:
        return {"zero": True}
    return {"set": numbers[0] if len(numbers) == 1 else numbers}
