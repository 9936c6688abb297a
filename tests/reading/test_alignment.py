"""Words that stand side by side."""

from functools import cache

from hypothesis import given, settings
from hypothesis import strategies as st

from rnnlens.reading.two_texts import aligned

TEXTS = st.lists(st.sampled_from("abcd"), max_size=9)


def cheapest(a, b):
    """The cost of the best alignment, tried in full."""

    @cache
    def cost(i, j):
        if not i or not j:
            return 5 * (i + j)
        beside = cost(i - 1, j - 1) + (0 if a[i - 1] == b[j - 1] else 9)
        return min(beside, cost(i - 1, j) + 5, cost(i, j - 1) + 5)

    return cost(len(a), len(b))


@settings(deadline=None)
@given(TEXTS, TEXTS)
def test_every_word_stands_once_in_its_order_and_no_way_is_cheaper(a, b):
    pairs = aligned(a, b)
    assert [i for i, _ in pairs if i is not None] == list(range(len(a)))
    assert [j for _, j in pairs if j is not None] == list(range(len(b)))
    costs = [5 if i is None or j is None else 0 if a[i] == b[j] else 9 for i, j in pairs]
    assert sum(costs) == cheapest(tuple(a), tuple(b))


def test_other_words_stand_side_by_side_and_more_words_beside_gaps():
    assert aligned("the keys is on".split(), "the keys are on".split()) == [
        (0, 0), (1, 1), (2, 2), (3, 3)
    ]  # fmt: skip
    assert aligned("the old man".split(), "the man".split()) == [(0, 0), (1, None), (2, 1)]
    assert aligned("x y".split(), "y z".split()) == [(0, None), (1, 0), (None, 1)]
    assert aligned([], ["a"]) == [(None, 0)]
