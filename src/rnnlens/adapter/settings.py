"""How a user's module was read when probes were fitted: what a run keeps of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rnnlens.adapter.axes.layout import is_whole, tensors


@dataclass(frozen=True)
class Settings:
    """What a user says of how a module is read, but for functions, which no file can hold."""

    kinds: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    batch_first: bool | None = None
    functions: tuple[str, ...] = ()  # the names of the functions that were given
    mark: int | None = None  # what `prepare` puts in front of a text, in place of its last word

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Settings":
        """The inverse of `asdict`; runs of earlier versions hold none."""
        kinds, exclude, functions = (
            tuple(map(str, value.get(name, ()))) for name in ("kinds", "exclude", "functions")
        )
        first, mark = value.get("batch_first"), value.get("mark")
        return cls(
            kinds, exclude, None if first is None else bool(first), functions,
            None if mark is None else int(mark),
        )  # fmt: skip


def mark_of(prepare: Callable[[list[int]], Any] | None, count: int) -> int | None:
    """The number, such as that of `<s>`, that `prepare` puts in front of a text's words.

    The last word is then left out. `count` is how many words there are. None where `prepare` gives
    the module the words themselves, or something else.
    """
    if prepare is None or count < 3:
        return None
    ids = [number % count for number in (1, 2, 0, 2, 1)]
    marks = set[int | None]()
    for tried in (ids, ids[1:]):
        try:
            fed = [t.flatten().tolist() for _, t in tensors(prepare(list(tried))) if is_whole(t)]
        except Exception:  # noqa: BLE001 - the user's; it is raised again when a text is read
            return None
        shifted = [numbers for numbers in fed if numbers[1:] == tried[:-1]]
        marks.add(shifted[0][0] if shifted else None)
    return marks.pop() if len(marks) == 1 else None
