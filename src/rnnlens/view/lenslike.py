"""What grids, notebooks and the divergence need of a lens.

A lens makes grids and shows itself in notebooks, so that those cannot import it in turn.
"""

from collections.abc import Sequence
from typing import Any, Protocol

from torch import Tensor

from rnnlens.view.rows import Request


class LensLike(Protocol):
    """A model with its probes that can be asked about texts; `lens.Lens` says what each means."""

    @property
    def title(self) -> str: ...
    @property
    def labels(self) -> Sequence[str]: ...
    def examples(self) -> list[str]: ...
    def request(self, text: str, semantic: str | None, palette: str | None) -> Request: ...
    def logits(self, asked: Request, column: str, row: int) -> Tensor: ...
    def part(
        self, text: str, semantic: str | None = None, palette: str | None = None,
        previous: str = "", have: int = 0, limit: int | None = None,
    ) -> dict[str, Any]: ...  # fmt: skip


class GridLike(Protocol):
    """What every state says while a text is read: the grid's JSON, and the lens it came from."""

    json: dict[str, Any]
    lens: LensLike
