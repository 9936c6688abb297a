"""How a user's module was read when probes were fitted: what a run keeps of it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from annotated_types import MaxLen

from rnnlens.adapter.axes.layout import is_whole, tensors
from rnnlens.base.files import Count, Name, Strict
from rnnlens.model.kinds import MOST_KINDS


@dataclass(frozen=True)
class Settings(Strict):
    """What a user says of how a module is read, but for functions, which no file can hold."""

    kinds: Annotated[tuple[Name, ...], MaxLen(MOST_KINDS)] = ()
    exclude: Annotated[tuple[Name, ...], MaxLen(MOST_KINDS)] = ()
    batch_first: bool | None = None
    #: The names of the functions that were given.
    functions: Annotated[tuple[Name, ...], MaxLen(100)] = ()
    #: What `prepare` puts in front of a text, in place of its last word.
    mark: Count | None = None


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
