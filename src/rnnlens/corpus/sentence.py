"""What every reader yields."""

from typing import NamedTuple


class Sentence(NamedTuple):
    """Words in order and, where the source has them, their universal parts of speech."""

    words: tuple[str, ...]
    tags: tuple[str, ...] | None = None
