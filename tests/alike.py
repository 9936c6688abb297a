"""Whether two grids say the same, but for the last digit."""

import pytest


def assert_same_top(ours, theirs):
    """Equal probabilities in turn; labels that are as likely may stand either way round."""
    assert [p for _, p in ours] == pytest.approx([p for _, p in theirs], rel=1e-4)
    elsewhere, last = dict(theirs), theirs[-1][1]
    for label, p in ours:
        assert p == pytest.approx(elsewhere.get(label, last), rel=1e-4)


def alike(ours, theirs):
    """Rows are the same but for the last digit, which the size of a product decides."""
    assert len(ours) == len(theirs)
    for row, other in zip(ours, theirs, strict=True):
        for a, b in zip(row, other, strict=True):
            assert a["group"] == b["group"]
            assert a["wanted"] == b["wanted"] or (
                a["wanted"][0] == b["wanted"][0]
                and a["wanted"][1:] == pytest.approx(b["wanted"][1:], rel=1e-4)
            )
            assert_same_top(a["top"], b["top"])
            numbers = ((s["share"], s["entropy"]) for s in (a, b))
            assert next(numbers) == pytest.approx(next(numbers), rel=1e-3, abs=1e-3)
