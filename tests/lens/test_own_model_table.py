"""Every row of the table that docs/own-model.md begins with, as code that is run."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.letters import WORDS, LanguageModel, V, batches
from tests.stranger_modules import MAKERS

import rnnlens

DOCS = Path(__file__).parents[2] / "docs/own-model.md"
LETTERS = ["?", *"abcde"]

#: Rows by how they begin; each has a case of the table of modules that is written as the row says,
#: with the options that must be in both, or code of its own.
ROWS: dict[str, str | Callable[[], Any]] = {
    "a language model, words beside next words": "lstm",
    "a tagger or classifier, whose labels are not its words": "tagger",
    "letters as words": "characters",
    "words that a regular expression finds": lambda: fitted(words=re.compile(r"\w+|[^\w\s]")),
    "sequences that all have one length": "padded_in_front",
    "sequences that all begin with": "begun_with_a_mark",
    "several arguments, masks, lengths": "packed",
    "outputs after a sigmoid, one label right": "sigmoid_heads_with_their_logarithms",
    "logits trained for each label against the rest": "logits_of_each_against_the_rest",
    "one logit for yes and no": "one_number_a_timestep",
    "a decoder with teacher forcing": "teacher_forcing_always",
    "layers of your own": "own_recurrence",
    "outputs of another shape": "channels_before_timesteps",
    "one-hot targets, or -1 and 1": "one_hot_targets",
}
#: Rows that stand for a part of the page or a page, whose own code is run.
ELSEWHERE = {
    "pieces of words, made by a tokenizer": "(#pieces-of-words)",
    "an encoder and a decoder": "(#source-and-target)",
    "numbers, or sets of labels, as targets": "(#numbers)",
    "frames of audio, sensors, observations": "(#sequences-that-are-no-text)",
    "states, and no network at hand": "(states.md)",
}


def fitted(**options: Any) -> rnnlens.Lens:
    return rnnlens.fit(LanguageModel(), batches(), LETTERS, epochs=0, **options)


def rows() -> list[tuple[str, str]]:
    """What stands in both columns."""
    table = DOCS.read_text().split("| what you have | what you write |")[1].split("\n\n")[0]
    lines = [line.split(" | ", 1) for line in table.splitlines()[2:]]
    return [(had.strip("| "), written.strip("| ")) for had, written in lines]


def test_every_row_is_run():
    known = [*ROWS, *ELSEWHERE]
    for row, _ in rows():
        assert [one for one in known if row.startswith(one)], row
    for one in known:
        (written,) = (written for row, written in rows() if row.startswith(one))
        assert ELSEWHERE.get(one, "") in written


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # the modules are untrained
@pytest.mark.parametrize("row", ROWS)
def test_what_a_row_says_is_enough_for_a_typed_text(row):
    torch.manual_seed(0)
    made = ROWS[row]
    if not isinstance(made, str):
        assert made()("a b c").words == ["a", "b", "c"]
        return
    case = MAKERS[made]()
    case = case.remedy() if case.remedy else case
    lens = rnnlens.fit(case.module, case.data, case.labels, epochs=0, **case.options)
    grid = lens(case.text)
    assert len(grid.words) >= len(case.ids)
    assert abs(sum(grid["y"][1].distribution()) - 1) < 1e-5


def test_where_names_of_words_are_needed_it_is_said():
    torch.manual_seed(0)
    data = [(words, words % 3) for words, _ in batches()]
    lens = rnnlens.fit(LanguageModel(labels=3), data, ["a", "b", "c"], epochs=0)
    assert "what it reads has no names (give inputs=)" in lens.subject.model.verified
    with pytest.raises(rnnlens.RnnlensError, match="have no names here; give inputs= these names"):
        lens("d e")
    named = rnnlens.fit(LanguageModel(labels=3), data, ["a", "b", "c"], epochs=0, inputs=WORDS)
    assert named("d e").words == ["d", "e"]
    assert len(WORDS) == V
