"""Prefixes that were read before are not read again."""

import gc

import pytest
import torch

from rnnlens.reading.session import Prefixes


def all_states(lens, ids):
    with torch.inference_mode():
        trace = lens.subject.model.trace(torch.tensor(ids)[:, None])
    states = {**trace.states, "y": trace.y}
    return {kind: values[:, 0] for kind, values in states.items()}


def assert_reads(memory, lens, ids, first, last, steps):
    """What is read is what a whole trace gives, in so many steps."""
    before = memory.steps
    with torch.inference_mode():
        states, carried = memory.read(ids, first, last)
    expected = all_states(lens, ids)
    for kind, values in states.items():
        torch.testing.assert_close(values, expected[kind][first:last])
    for kind, value in carried.items():
        wanted = expected[kind][first - 1] if first else torch.zeros_like(value)
        torch.testing.assert_close(value, wanted)
    assert memory.steps - before == steps


def test_only_what_is_new_is_read(formula):
    memory, ids = Prefixes(formula.subject.model), [1, 2, 3, 4, 5]
    assert_reads(memory, formula, ids, 0, 5, 5)
    assert_reads(memory, formula, [*ids, 6], 5, 6, 1)
    assert_reads(memory, formula, ids, 2, 4, 2)
    assert_reads(memory, formula, [1, 2, 9, 4, 5], 2, 5, 3)  # an edit in the middle
    assert_reads(memory, formula, [9, 2, 3], 2, 3, 3)  # the same words after another beginning


def test_rows_further_on_are_read_from_the_nearest_known(formula):
    memory, ids = Prefixes(formula.subject.model), list(range(1, 11))
    assert_reads(memory, formula, ids, 0, 4, 4)
    assert_reads(memory, formula, ids, 8, 10, 6)


def test_what_is_kept_is_bounded_and_the_oldest_goes(formula):
    memory = Prefixes(formula.subject.model, room=2000)
    for word in range(20):
        with torch.inference_mode():
            memory.read([word % 7, word], 0, 2)
        assert 2 <= len(memory._known) < 10
    assert_reads(memory, formula, [5, 19], 1, 2, 1)  # just read
    assert_reads(memory, formula, [0, 0], 1, 2, 2)  # long forgotten


@pytest.mark.slow
def test_prefixes_share_one_tensor_however_many_are_kept_and_forgotten(formula):
    """Thousands of small ones, kept and freed in turn, would leave the heap full of holes."""
    memory = Prefixes(formula.subject.model, room=30_000)

    def tensors_after(first, last):
        with torch.inference_mode():
            for word in range(first, last):
                memory.read([word % 23, word // 23], 0, 2)
        gc.collect()
        return sum(type(one) is torch.Tensor for one in gc.get_objects())

    before = tensors_after(0, 1)
    assert tensors_after(1, 300) - before < 20
    assert 10 < len(memory._known) < 150
    assert_reads(memory, formula, [299 % 23, 299 // 23], 1, 2, 1)


def test_what_is_continued_from_stays_as_it_was_when_its_place_is_taken(formula):
    memory = Prefixes(formula.subject.model, room=1)  # two prefixes
    with torch.inference_mode():
        memory.read([1, 2], 0, 2)
        _, carried = memory.read([1, 2, 3], 2, 3)
        before = {kind: value.clone() for kind, value in carried.items()}
        memory.read([4, 5, 6], 0, 3)
    for kind, value in carried.items():
        torch.testing.assert_close(value, before[kind], rtol=0, atol=0)


def test_a_text_longer_than_the_room_is_read_all_the_same(formula):
    memory = Prefixes(formula.subject.model, room=1)
    assert_reads(memory, formula, list(range(20)), 3, 20, 20)


def test_what_is_forgotten_is_read_again(formula):
    memory = Prefixes(formula.subject.model)
    assert_reads(memory, formula, [1, 1], 0, 2, 2)
    assert_reads(memory, formula, [1, 1], 1, 2, 1)
    memory.forget()
    assert_reads(memory, formula, [1, 1], 1, 2, 2)
