"""Which axis is time where the shape does not tell: T equals B, or rows are flat."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from torch import Tensor

from rnnlens.adapter.axes.layout import Arranged, Layout
from rnnlens.base.errors import RnnlensError

MODULE = ""  # stands for all tensors of a module without recurrent parts


class Orders:
    """What is known of the order in which a module returns its tensors, by their names."""

    def __init__(self) -> None:
        self._batch_first: dict[str, bool | None] = {}  # None: nothing tells
        self._assumed: bool | None = None
        self.doubtful: set[str] = set()  # names of tensors whose shape does not tell

    @contextmanager
    def assumed(self, batch_first: bool) -> Iterator[None]:
        """Inside this, read all tensors in doubt in one order."""
        self._assumed = batch_first
        try:
            yield
        finally:
            self._assumed = None

    def learn(self, name: str, batch_first: bool) -> None:
        """Read a tensor in this order from now on, where its shape does not tell."""
        self._batch_first[name] = batch_first

    def of(self, name: str) -> bool | None:
        """The order of a tensor, as far as it is known."""
        return self._batch_first.get(name)

    def module(self, usual: bool) -> bool:
        """Whether sequences come first in a module without recurrent parts, `usual` if unknown."""
        self.doubtful.add(MODULE)
        known = self.of(MODULE) if self._assumed is None else self._assumed
        return usual if known is None else known

    def settle(
        self,
        name: str,
        fit: Arranged,
        layout: Layout | None,
        explained: Callable[[Tensor], bool] | None = None,
    ) -> Tensor:
        """The tensor in the order (T, B, H).

        An earlier batch may tell that order, else `explained`, which says whether one reading is
        right; else it is the order of the module's recurrent parts.
        """
        if fit.batch_first is not None:
            self._batch_first[name] = fit.batch_first
        if fit.other is None or layout is None:
            return fit.values
        self.doubtful.add(name)
        if self._assumed is not None:
            return fit.values if self._assumed is layout.batch_first else fit.other
        if name not in self._batch_first:
            readings = ((layout.batch_first, fit.values), (not layout.batch_first, fit.other))
            right = [order for order, values in readings if explained and explained(values)]
            self._batch_first[name] = right[0] if len(right) == 1 else None
        known = self._batch_first[name]
        if known is None and not layout.sure:
            raise RnnlensError(
                f"{name} could have timesteps or sequences first ({layout.steps} and "
                f"{layout.batch}), and nothing tells which; give batch_first=True or False"
            )
        return fit.other if known is (not layout.batch_first) else fit.values
