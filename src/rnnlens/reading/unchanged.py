"""Which rows of a grid that is at hand are those of another text, too."""

from collections.abc import Sequence

from rnnlens.reading.edits import Edit

_NONE = 10**9  # a row that no text has


def first_new(ids: Sequence[int], previous: Sequence[int], shift: int) -> int:
    """The first row whose states or whose wanted labels are not those of `previous`.

    `shift` says how many words after a row's own the label is that it is asked about.
    """
    pairs = zip(ids, previous, strict=False)
    same = next((t for t, (a, b) in enumerate(pairs) if a != b), min(len(ids), len(previous)))
    if same == len(ids) == len(previous):
        return same
    return max(0, same - max(1, shift))  # rows that ask about the first other word


def first_other(edits: Sequence[Edit], others: Sequence[Edit]) -> int:
    """The first row that some edits change otherwise than others do."""
    steps = [edit.step for edit in {*edits} ^ {*others}]
    if not steps and list(edits) != list(others):  # in another order
        steps = [edit.step for edit in edits]
    return min(steps, default=_NONE)
