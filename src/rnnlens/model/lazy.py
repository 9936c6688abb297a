"""States by kind, of which large ones are computed when they are first asked for."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from torch import Tensor

from rnnlens.model.cell import States

Make = Callable[[], Tensor]


class LazyStates(States):
    """States of which some are made when they are first asked for: a memory that is a matrix may
    be larger than all else together, and most questions are about other kinds.
    """

    def __init__(
        self, kinds: Iterable[str], made: Mapping[str, Tensor], makes: Mapping[str, Make]
    ) -> None:
        """`kinds` in their order, of which some are `made` and others can be."""
        super().__init__(made)
        self._kinds, self._makes = tuple(kinds), dict(makes)

    def __missing__(self, kind: str) -> Tensor:
        self[kind] = made = self._makes[kind]()
        return made

    def once(self, kind: str) -> Tensor:
        """A kind's states, which are not kept where they must be made."""
        return self[kind] if dict.__contains__(self, kind) else self._makes[kind]()

    def __setitem__(self, kind: str, values: Tensor) -> None:
        if kind not in self._kinds:
            self._kinds = (*self._kinds, kind)
        super().__setitem__(kind, values)

    def __contains__(self, kind: object) -> bool:
        return kind in self._kinds

    def __iter__(self) -> Iterator[str]:
        return iter(self._kinds)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._kinds)

    def __len__(self) -> int:
        return len(self._kinds)

    def get(self, kind: str, default: Any = None) -> Any:
        """A kind's states, or something else where there are none."""
        return self[kind] if kind in self._kinds else default

    def keys(self) -> Any:
        """Every kind, made or not."""
        return dict.fromkeys(self._kinds).keys()

    def values(self) -> Any:
        """All states: those not made yet are made."""
        return [self[kind] for kind in self]

    def items(self) -> Any:
        """All states by kind: those not made yet are made."""
        return [(kind, self[kind]) for kind in self]

    @property
    def made(self) -> States:
        """The states that need not be made."""
        return {kind: self[kind] for kind in self if dict.__contains__(self, kind)}


def at_hand(states: States) -> States:
    """The states that are there without computing any."""
    return states.made if isinstance(states, LazyStates) else states


def once(states: States, kind: str) -> Tensor:
    """The states of a kind for whoever needs them but a moment: the memories of all layers together
    may be larger than any machine.
    """
    return states.once(kind) if isinstance(states, LazyStates) else states[kind]


def of_each(states: States, change: Callable[[str, Tensor], Tensor]) -> States:
    """States after a change of each kind, which is made when the kind is asked for."""
    made = {kind: change(kind, values) for kind, values in at_hand(states).items()}
    if len(made) == len(states):
        return made

    def make(kind: str) -> Tensor:
        return change(kind, once(states, kind))

    return LazyStates(states, made, {k: partial(make, k) for k in states if k not in made})


def joined(kinds: Iterable[str], *parts: tuple[States, Mapping[str, str]]) -> States:
    """The `kinds` of several States, none of which is made for it; each has its kinds by other
    names, which it says.
    """
    made, makes = States(), dict[str, Make]()
    for states, names in parts:
        there = at_hand(states)
        made |= {name: there[kind] for kind, name in names.items() if kind in there}
        makes |= {n: partial(once, states, k) for k, n in names.items() if k not in there}
    order = [kind for kind in kinds if kind in made or kind in makes]
    return LazyStates(order, made, makes) if makes else {kind: made[kind] for kind in order}
