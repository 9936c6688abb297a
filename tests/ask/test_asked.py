"""What a memory is without a probe, and what it would answer if a word came next."""

from typing import Any

import numpy as np
import pytest
import torch
from tests.fixtures import formula_run
from tests.recalling import planted, recall_example
from tests.sampling import sampled

import rnnlens
from rnnlens.ask.answer import answer
from rnnlens.ask.asked import MemoryQuestion, effective_ranks
from rnnlens.ask.grids import GridQuestion
from rnnlens.ask.memories import MemoriesQuestion
from rnnlens.ask.questions import Subjects
from rnnlens.base.errors import RnnlensError
from rnnlens.lens.lens import Lens
from rnnlens.lens.open import opened
from rnnlens.model.transition import Matrix
from rnnlens.reading.reading import BLOCK
from rnnlens.run.folder import Run

TEXT = "b 3 d 7 b 5 d"


@pytest.fixture(scope="module")
def example():
    return recall_example()


@pytest.fixture(scope="module")
def lens(example):
    data = [example.batch(48, seed, True) for seed in range(6)]
    return rnnlens.fit(planted(example), data, example.WORDS, inputs=example.WORDS, epochs=4,
                       recurrences=[example.recurrence(True)])  # fmt: skip


def memory_after(lens, words: list[str]) -> tuple[torch.Tensor, torch.Tensor]:
    """The memory after some words and the questions of all, by a plain loop in float64."""
    module = lens.subject.model.user.module.double()
    try:
        ids = torch.tensor([[lens.labels.index(word) for word in words]])
        x = module.embed(ids)
        before = torch.cat([torch.zeros_like(x[:, :1]), x[:, :-1]], 1)
        given = module.memory.parts(torch.tanh(module.pair(torch.cat([x, before], -1))))
        q, k, v, a, b = (part[0].detach() for part in given.values())
        memory = torch.zeros(k.shape[1], v.shape[1], dtype=torch.float64)
        for t in range(len(words) - 1):
            memory = a[t] * memory
            memory = memory + torch.outer(k[t], b[t] * (v[t] - k[t] @ memory))
        return memory, q
    finally:
        module.float()


def test_the_answer_is_the_memory_asked_by_the_words_own_question(lens):
    grid, words = lens(TEXT), TEXT.split()
    for row in (1, 3, 5):
        for word in ("b", "d", "h"):
            memory, questions = memory_after(lens, [*words[: row + 1], word])
            found = grid["S1"][row].asked(word)
            assert found.vector == pytest.approx((questions[-1] @ memory).numpy(), abs=1e-5)


def test_a_key_is_answered_by_its_value_and_by_the_last_one_it_was_given(lens):
    grid = lens(TEXT)
    assert grid["S1"][3].asked("b").top(1)[0][0] == "3"
    assert grid["S1"][3].asked("d").top(1)[0][0] == "7"
    later = grid["S1"][5].asked("b")  # the delta rule has erased 3
    assert later.top(1)[0][0] == "5"
    assert (later.read, later.agree, later.contexts) == ("r1", 5, 5)
    assert later.seen is None  # what was read in training is not counted here
    assert [one.top(1)[0][0] for one in grid["S1"].asked("b")][1:5] == ["3"] * 4
    assert repr(later).startswith("asked by 'b': 5 ")


@pytest.mark.parametrize("cell", ["gla", "deltanet"])
def test_the_memory_of_a_network_of_ours_is_asked_as_it_asks_itself(cell, tmp_path):
    own = opened(Run(formula_run(tmp_path / cell, cell, heads=2, keys=3)))
    grid = own("the old dog sees a bird")
    asked = own("the old dog sees she")  # what the word after row 3 asks
    questions = asked["q2"][4].vector().reshape(2, 3)
    memory = grid["S2"][3].vector().reshape(2, 3, 2)
    found = grid["S2"][3].asked("she")
    assert found.vector == pytest.approx(
        np.einsum("hk,hkv->hv", questions, memory).ravel(), abs=1e-5
    )
    assert found.read == "r2"
    assert len(grid["S2"][3].memory().rank) == 2


def test_an_edited_memory_answers_as_edited(lens):
    edited = lens(TEXT, edits=["S1@2=0"])  # forgets b 3
    assert edited["S1"][3].asked("d").top(1)[0][0] == "7"
    assert np.abs(edited["S1"][3].asked("b").vector).max() == pytest.approx(0, abs=1e-6)


def test_numbers_of_a_memory_need_no_probe(lens):
    told = lens(TEXT)["S1"][3].memory()
    memory, _ = memory_after(lens, "b 3 d 7 a".split())
    assert told.norm == (pytest.approx(float(memory.norm()), abs=1e-5),)
    values = torch.linalg.svdvals(memory)
    shares = values[values > 0] / values.sum()
    assert told.rank[0] == pytest.approx(float((-(shares * shares.log()).sum()).exp()), abs=1e-4)
    decay = 1 / (1 + np.exp(-4.5))
    assert told.half_life == (pytest.approx(np.log(0.5) / np.log(decay), rel=1e-4),) * 3
    assert "effective rank 2.0" in repr(told)


def test_the_half_life_of_several_heads_is_told_from_the_shortest_to_the_longest(tmp_path):
    run = Run(formula_run(tmp_path / "run", cell="mamba2", heads=2))
    state = opened(run)("the old dogs")["S2"][2]
    lives, told = state.half_life().flatten(), state.memory()
    assert len(lives) == 2
    assert lives.min() < lives.max()
    assert told.half_life == pytest.approx((lives.min(), lives.mean(), lives.max()), rel=1e-4)
    assert told.lasting == 2
    assert told.half_life is not None
    low, middle, high = (f"{one:.3g}" for one in told.half_life)
    assert repr(told).endswith(f"half-life {low} to {high} words of 2 heads, median {middle}")


def test_the_half_life_of_many_units_is_told_by_tenths():
    state = rnnlens.load("english-news")("we stand")["c2"][1]
    lives, told = np.sort(state.half_life().flatten()), state.memory()
    assert told.lasting == len(lives) > 10
    cut = (len(lives) - 1) // 10
    assert told.half_life == pytest.approx(
        (lives[cut], np.median(lives), lives[-1 - cut]), rel=1e-4
    )
    assert f"of the middle four fifths of {len(lives)} units, median" in repr(told)


def test_one_pair_has_rank_one_and_nothing_none():
    matrix = Matrix(2, 3, 4, keys_last=False)
    state = torch.zeros(2, 3, 4)
    state[0] = torch.outer(torch.tensor([1.0, 2, 3]), torch.tensor([1.0, 0, 2, 1]))
    assert [*effective_ranks(matrix, state.flatten())] == pytest.approx([1, 0])


@pytest.mark.parametrize(("column", "row", "word", "said"), [
    ("S1", 3, "zz", "the model reads no word 'zz', so that it has no question for it; ask by"),
    ("r1", 3, "b", "r1 is no memory; memories are S1"),
    ("S1", 99, "b", "99"),
    ("S2", 0, "b", "has no column 'S2'"),
])  # fmt: skip
def test_what_cannot_be_asked_is_refused_in_one_line(lens, column, row, word, said):
    question = MemoryQuestion(text=TEXT, column=column, row=row, word=word)
    with pytest.raises(RnnlensError, match=said) as refused:
        answer(Subjects.of(lens.subject), question)
    assert "\n" not in str(refused.value)


def test_a_vector_is_not_asked_by_words(formula):
    told = formula("the old dogs")["c2"][1].memory()
    assert told.rank == ()
    assert len(told.norm) == 1
    assert told.half_life is not None
    with pytest.raises(RnnlensError, match="c2 is not asked by words: only a memory that is a mat"):
        formula("the old dogs")["c2"][1].asked("dogs")


def test_a_word_that_never_came_is_refused(lens, monkeypatch):
    side = lens.subject.session.text
    monkeypatch.setattr(type(side), "follows", True, raising=False)
    object.__setattr__(side, "follows", True)
    try:
        with pytest.raises(RnnlensError, match="'b' never came in training, so that the model"):
            lens(TEXT)["S1"][3].asked("b")
    finally:
        object.__setattr__(side, "follows", False)


def test_what_must_be_stored_is_named(lens, example):
    told = example.counted(lens, 4)
    assert told == {"read": 1.0, "stored": 1.0, "asked": 1.0}


def same(ours, theirs) -> None:
    """Two states' memories are told alike."""
    assert ours.norm == pytest.approx(theirs.norm, rel=1e-5)
    assert ours.rank == pytest.approx(theirs.rank, rel=1e-4)
    assert ours.half_life == pytest.approx(theirs.half_life, rel=1e-3)


@pytest.mark.parametrize("edits", [(), ("S2@3=0.5",)])
@pytest.mark.parametrize("column", sampled(["S2", "S1"], "S2"))
def test_a_column_is_told_as_its_states_are(column, edits, tmp_path):
    own = opened(Run(formula_run(tmp_path / "gla", "gla", heads=2, keys=3)))
    text = "the old dog sees a bird she said " * 4  # more rows than are read at once
    states = own(text, edits=edits)[column]
    assert len(states) > BLOCK
    for one, state in zip(states.memory(), states, strict=True):
        same(one, state.memory())
    for ours, state in zip(states.asked("dogs"), states, strict=True):
        theirs = behind_one(state, "dogs")
        assert ours.vector == pytest.approx(theirs, abs=1e-5)
        other = state.asked("dogs")
        assert (ours.agree, ours.contexts) == (other.agree, other.contexts)
        assert ours.distribution == pytest.approx(other.distribution, abs=1e-6)


def behind_one(state, word: str) -> np.ndarray:
    """A memory of the formula's, asked by a word of a text that is read from its beginning."""
    reading = state.reading
    text = " ".join([*reading.words[: state.step + 1], word])
    edits = [edit for edit in reading.made_edits if edit.step <= state.step]
    question = opened_again(reading, text, edits)[f"q{state.column[1:]}"][-1].vector()
    memory = state.vector().reshape(2, 3, -1)
    found: np.ndarray = np.einsum("hk,hkv->hv", question.reshape(2, 3), memory).ravel()
    return found


def opened_again(reading, text: str, edits):
    """The grid of another text by the same lens."""
    return Lens(reading.subject)(text, edits=edits)


def test_rows_of_memories_are_answered_at_once_and_name_what_there_is(lens):
    subjects = Subjects.of(lens.subject)
    question: dict[str, Any] = {"text": TEXT, "columns": ("S1",)}
    told = answer(subjects, MemoriesQuestion(**question, word="b"))
    assert answer(subjects, MemoriesQuestion(text=TEXT))["columns"] == ["S1@-1", "S1"]
    assert [len(row) for row in told["rows"]] == [1] * 7
    assert [row[0]["asked"]["labels"][0][0] for row in told["rows"]][1:6] == [*"3333", "5"]
    for k, row in enumerate(told["rows"]):
        one = answer(subjects, MemoryQuestion(text=TEXT, column="S1", row=k, word="b"))
        assert row == [one]
    some = answer(subjects, MemoriesQuestion(**question, first=2, limit=3))
    assert (some["from"], some["rows"][0][0]["asked"]) == (2, None)
    assert [row[0]["norm"] for row in some["rows"]] == [row[0]["norm"] for row in told["rows"][2:5]]


@pytest.mark.parametrize(("asked", "said"), [
    ({"word": "zz"}, "the model reads no word 'zz'"),
    ({"columns": ["r1"]}, "r1 is no memory; memories are S1"),
    ({"columns": ["S2"]}, "has no column 'S2'"),
])  # fmt: skip
def test_memories_that_cannot_be_told_are_refused_in_one_line(lens, asked, said):
    with pytest.raises(RnnlensError, match=said) as refused:
        answer(Subjects.of(lens.subject), MemoriesQuestion(text=TEXT, **asked))
    assert "\n" not in str(refused.value)


def test_before_the_first_word_a_memory_is_told_and_not_asked():
    subject = rnnlens.load("recall").subject
    question = MemoriesQuestion(text="b 3 ?", columns=("S1@-1", "S1"), word="b")
    rows = answer(Subjects.of(subject), question)["rows"]
    assert rows[0][0]["norm"] == [0.0, 0.0]
    assert rows[0][0]["asked"] is None
    assert [row[0]["asked"] for row in rows[1:]] == [row[1]["asked"] for row in rows[:-1]]


def test_two_texts_have_memories_in_the_lines_of_each_and_a_run_of_vectors_has_none(formula):
    subject = rnnlens.load("recall").subject
    both = answer(Subjects.of(subject), MemoriesQuestion(text="b {3|3 d} ?", word="b"))["rows"]
    grid = answer(Subjects.of(subject), GridQuestion(text="b {3|3 d} ?"))
    assert [None in row for row in both] == [one["row"] is None for one in grid["lines"]]
    none = answer(Subjects.of(formula.subject), MemoriesQuestion(text="the old dogs"))
    assert (none["columns"], none["rows"]) == ([], [[], [], []])
