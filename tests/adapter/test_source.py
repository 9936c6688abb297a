"""What is found of a source in batches, and what of it a file may hold."""

import json

import pytest
import torch
from pydantic import TypeAdapter, ValidationError
from tests.pairs import pairs

from rnnlens.adapter.batches import Batch
from rnnlens.adapter.source import (
    SOURCE,
    TARGET,
    Argument,
    PairBatch,
    Source,
    SourceRecord,
    arguments_of,
    end_of,
    padding_of,
    pairs_of,
)
from rnnlens.model.traceable import Trace

FED = (Argument(SOURCE), Argument(TARGET))
RECORD = SourceRecord(("a", "b"), (1, 2), ("x",), "[0]", True, FED)


def test_padding_is_what_stands_behind_alone_and_not_as_often_each_time():
    rows = torch.tensor([[1, 2, 3, 0], [1, 0, 0, 0]])
    assert padding_of([rows]) == 0
    assert padding_of([rows[:1]]) is None  # always one: it may be an end
    assert padding_of([torch.tensor([[0, 1, 0, 0], [1, 2, 0, 0]])]) is None  # a word, too


def test_an_end_is_last_everywhere_and_nowhere_else():
    targets = torch.tensor([[3, 4, 2, -100], [4, 3, 3, 2]])
    assert end_of([targets], True) == 2
    assert end_of([targets.T], False) == 2
    assert end_of([torch.tensor([[2, 4, 2]])], True) is None
    assert end_of([torch.tensor([[3, 2], [3, 4]])], True) is None


def test_words_lengths_and_masks_are_told_apart_by_what_is_padding():
    source = Source("['src']", ("x",), True)
    batches = []
    for (read, written), wanted in pairs():
        fed = {
            "src": read, "long": (read != 0).sum(1), "gone": read == 0, "trg": written,
            "there": (written != 0).int(),
        }  # fmt: skip
        batches.append(Batch(fed, wanted))
    found = arguments_of(batches, source, True, {SOURCE: 0, TARGET: 0})
    assert found is not None
    roles = {one.name: (one.role, one.type) for one in found}
    assert roles == {
        "src": ("source", "int64"), "long": ("source lengths", "int64"),
        "gone": ("source padding", "bool"), "trg": ("target", "int64"),
        "there": ("target mask", "int32"),
    }  # fmt: skip
    record = SourceRecord(("a",), (1,), ("x",), "['src']", True, found)
    made = record.inputs([1, 2, 3], [1, 4], torch.device("cpu"))
    assert {name: value.tolist() for name, value in made.items()} == {
        "src": [[1, 2, 3]], "long": [3], "gone": [[False] * 3], "trg": [[1, 4]], "there": [[1, 1]],
    }  # fmt: skip
    batches[0].inputs["more"] = torch.rand(6)
    assert arguments_of(batches, source, True, {SOURCE: 0, TARGET: 0}) is None
    first = next(pairs_of(batches[1], record, 0, True))
    assert 0 not in first[1] + first[2]


@pytest.mark.parametrize("change", [1, -1])
def test_how_a_pair_is_fed_is_not_known_where_batches_have_not_as_many_tensors(change):
    source = Source("[0]", ("x",), True)
    batches = [
        Batch((read, written, (read != 0).sum(1), (written != 0).sum(1))[: 3 + k * change], wanted)
        for k, ((read, written), wanted) in enumerate(pairs()[:2])
    ]
    assert arguments_of(batches[:1], source, True, {SOURCE: 0, TARGET: 0}) is not None
    assert arguments_of(batches, source, True, {SOURCE: 0, TARGET: 0}) is None


def test_what_is_fed_in_a_type_that_no_file_names_is_not_known():
    (read, written), wanted = pairs()[0]
    strange = (written != 0).to(torch.float8_e4m3fn)
    batch = Batch((read, written, strange), wanted)
    assert arguments_of([batch], Source("[0]", ("x",), True), True, {SOURCE: 0, TARGET: 0}) is None


def test_states_of_a_source_stand_beside_targets_each_of_its_own_sequence():
    (inputs, _), *_ = pairs()
    read = inputs[0]
    steps, batch = read.shape[1], len(read)
    marks = torch.arange(steps)[:, None] * 100 + torch.arange(batch)  # which word of which source
    trace = Trace({"x": marks[..., None].float()})
    record = SourceRecord(("a",), (1,), ("x",), "[0]", True, FED, pad=0)
    drawn = record.drawn(inputs, trace, 50)["x"][..., 0].long()
    assert drawn.shape == (50, batch)
    assert (drawn % 100 == torch.arange(batch)).all()
    lengths = (read != 0).sum(1)
    assert (drawn // 100 < lengths).all()
    assert all(len((drawn[:, b] // 100).unique()) == lengths[b] for b in range(batch))
    assert torch.equal(drawn, record.drawn(inputs, trace, 50)["x"][..., 0].long())


def test_a_pair_has_states_in_the_rows_of_its_side():
    trace = Trace({"x": torch.ones(3, 1, 2), "h": torch.ones(2, 1, 4)}, y=torch.ones(2, 1, 5))
    placed = PairBatch(None, 3, 2).of(trace, ("x",))
    assert placed.states["x"][:, 0, 0].tolist() == [1, 1, 1, 0, 0]
    assert placed.states["h"][:, 0, 0].tolist() == [0, 0, 0, 1, 1]
    assert placed.y is not None
    assert placed.y[:, 0, 0].tolist() == [0, 0, 0, 1, 1]


def test_a_file_names_types_that_there_are():
    argument = TypeAdapter(Argument)
    for name in ("int64", "bool", "float16", "bfloat16", "uint8"):
        read = argument.validate_json(json.dumps({"role": "source", "type": name}))
        assert read.made([1, 2], [3], torch.device("cpu")).dtype == getattr(torch, name)
    for name in ("int99", "float8", "bfloat32", "int", "complex64", "Tensor", ""):
        with pytest.raises(ValidationError):
            argument.validate_json(json.dumps({"role": "source", "type": name}))


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({"counts": (1,)}, "not as many counts"),
        ({"names": ("a", "a")}, "one name"),
        ({"fed": FED[:1]}, "without its source or its target"),
    ],
)
def test_a_record_that_does_not_fit_together_is_refused(change, wrong):
    with pytest.raises(ValueError, match=wrong):
        SourceRecord(**{**vars(RECORD), **change})
