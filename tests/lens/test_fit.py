"""Lenses for modules of one's own: what they say is what the module's states say."""

import os
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.asks import grid_json
from tests.letters import WORDS, Classifier, LanguageModel, batches, trained
from tests.sampling import sampled
from torch import nn

import rnnlens
from rnnlens.base.errors import RnnlensError

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.fixture(scope="module")
def lens():
    torch.manual_seed(1)
    data = batches()
    model = trained(LanguageModel(), data)
    return rnnlens.fit(model, data, WORDS, semantic="output,input,output+2,output-1", epochs=30)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cell", "batch_first"),
    sampled(product([nn.LSTM, nn.GRU, nn.RNN], [True, False]), (nn.LSTM, True), (nn.RNN, False)),
)
def test_three_lines_give_a_lens(cell, batch_first):
    torch.manual_seed(1)
    data = batches(batch_first)
    model = trained(LanguageModel(batch_first, cell), data)
    lens = rnnlens.fit(model, data, WORDS)
    grid = lens("c d e a")
    assert lens.title == f"LanguageModel · {cell.__name__} 9 × 1"
    assert [state.top(1)[0][0] for state in grid["y"]] == ["d", "e", "a", "b"]
    assert [state.top(1)[0][0] for state in grid["h1"]] == ["d", "e", "a", "b"]
    assert [state.wanted and state.wanted[0] for state in grid["h1"]] == ["d", "e", "a", None]
    words = torch.tensor([3, 4, 5, 1])
    with torch.no_grad():
        own = model(words[None] if batch_first else words[:, None]).reshape(4, -1).softmax(-1)
    for step, state in enumerate(grid["y"]):
        torch.testing.assert_close(torch.from_numpy(state.distribution()).float(), own[step])


@pytest.mark.slow
def test_every_semantic_is_asked_about_the_right_word(lens):
    text = "b c d e a"
    for semantic, expected in (("input", "b c d e a"), ("output+2", "e a b c d"),
                               ("output-1", "b c d e a")):  # fmt: skip
        grid = lens(text, semantic)
        right = [s.top(1)[0][0] == w for s, w in zip(grid["h1"], expected.split(), strict=True)]
        assert all(right), semantic


@pytest.mark.slow
def test_probes_are_measured_beside_the_module(lens):
    scores = {(s.semantic, s.kind): s for s in lens.evaluate(batches(count=3))}
    own = scores["output", "h1"]
    assert own.perplexity < 1.2
    assert own.ratio == pytest.approx(1, abs=0.1)
    assert own.pairs == 3 * 8 * 7
    assert scores["input", "h1"].ratio is None


def test_the_readout_is_where_fitting_starts():
    torch.manual_seed(1)
    data = batches()
    model = trained(LanguageModel(), data, rounds=3)
    grid = rnnlens.fit(model, data, WORDS, epochs=0)("a b c")
    for last, own in zip(grid["h1"], grid["y"], strict=True):
        assert last.divergence(own) < 1e-3


@pytest.mark.slow
def test_the_module_is_left_as_it_was(lens):
    torch.manual_seed(1)
    data = batches()
    model = LanguageModel(dropout=0.0)
    model.train()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    rnnlens.fit(model, data, WORDS, epochs=1)
    assert model.training
    assert not model._forward_hooks
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name])
        assert not before[name].requires_grad
    assert all(p.requires_grad and p.grad is None for p in model.parameters())


def test_both_directions_and_any_submodule_are_kinds():
    torch.manual_seed(1)
    data = batches()
    model = LanguageModel(bidirectional=True)
    lens = rnnlens.fit(model, data, WORDS, kinds=["embedding"], epochs=1)
    assert {"h1", "h1<", "c1<", "embedding"} <= set(lens("a b").kinds)
    first = grid_json(lens, "a b c")
    edited = grid_json(lens, "a b d", previous="a b c", have=3)
    assert edited["from"] == 0  # what comes later changes what was read backwards
    assert first["rows"][0] != edited["rows"][0]


@pytest.mark.slow
def test_sequences_with_one_label_each():
    torch.manual_seed(1)
    data = [(inputs, inputs[:, 0]) for inputs, _ in batches()]
    model = trained(Classifier(), data, rounds=20)
    lens = rnnlens.fit(model, data, WORDS, inputs=WORDS, epochs=0)
    grid = lens("c d e a b c d")
    assert [state.top(1)[0][0] for state in grid["y"]] == ["c"] * 7  # one prediction for all
    assert "h1" in lens.subject.silent("output")  # its readout is no better over all steps
    assert grid["h1"][6].wanted is None  # the text does not tell


@pytest.mark.slow
def test_padding_is_never_learnt_from():
    torch.manual_seed(1)
    data = [(inputs, targets.clone()) for inputs, targets in batches()]
    for _, targets in data:
        targets[:, 4:] = -100
    model = trained(LanguageModel(), batches())
    lens = rnnlens.fit(model, data, WORDS, epochs=2)
    assert (
        sum(lens.subject.session.vocabulary.counts) == 10 * 8 * 4
    )  # two of twelve batches are held out


@pytest.mark.slow
def test_groups_follow_the_labels(lens):
    assert list(lens.palettes) == ["labels"]
    own = {"colours": {"VOWEL": "#123456"}, "groups": {"a": "VOWEL", "e": "VOWEL"}}
    data = batches()
    made = rnnlens.fit(LanguageModel(), data, WORDS, epochs=0, colours=own)
    assert made.palettes["own"].groups == ("VOWEL", "OTHER")


def without_logits(model):
    class Silent(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = model

        def forward(self, words):
            self.inner(words)

    return Silent()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": ["a", "b"]}, "predicts 6 labels and 2 are named"),
        ({"labels": ["a"] * 6}, "two names of labels= are 'a'"),
        ({"batches": []}, "too few batches"),
        ({"batches": [torch.zeros(3)] * 4}, "every batch must be a pair"),
        ({"batches": [(b, t.float()) for b, t in batches()]}, "targets are whole numbers, 1 to 5"),
        ({"batches": [(b, t[:, :3]) for b, t in batches()]}, "do not fit states of 7 timesteps"),
        ({"batches": [(b, t + 9) for b, t in batches()]}, "a target is 1"),
        ({"batches": [(b, t * 0 - 1) for b, t in batches()]}, "no sentence is long enough"),
        ({"semantic": "output+40"}, "no states to fit to"),
        ({"semantic": "later"}, "'later' is no semantic"),
        ({"speed": 3}, "fit has no option 'speed'; it has probe"),
        ({"epochs": -2}, "--epochs -2"),
        ({"kinds": ["embeddings"]}, "embedding"),
        ({"module": nn.Linear(3, 3)}, "no recurrent part"),
        ({"module": without_logits(LanguageModel())}, "logits"),
        ({"colours": {"colours": 3}}, "is no colour mapping"),
    ],
)
def test_bad_input_is_told_in_one_line(change, message):
    usual = {"module": LanguageModel(), "batches": batches(), "labels": WORDS, "epochs": 1}
    with pytest.raises(RnnlensError) as caught:
        rnnlens.fit(**{**usual, **change})
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_words_the_module_lacks():
    labels = ["a", "b", "c", "d", "e", "f"]
    lens = rnnlens.fit(LanguageModel(), batches(), labels, epochs=0)
    with pytest.raises(RnnlensError, match="no word 'zebra'"):
        lens("zebra")
    known = rnnlens.fit(LanguageModel(), batches(), WORDS, epochs=0)
    assert known("zebra").json["words"][0]["unknown"]


def test_a_user_model_is_taken_like_a_module_with_its_options():
    """Options beside it take the place of its own."""
    module, letters = LanguageModel(), ["<s>", "a", "b", "c", "d", "e"]
    whole = rnnlens.UserModel(module, letters, words=list, kinds=["embedding"])
    one: Any = rnnlens.fit(module, batches(), letters, words=list, kinds=["embedding"], epochs=0)
    two: Any = rnnlens.fit(whole, batches(), epochs=0)
    assert two("abc").json["words"] == one("abc").json["words"]
    assert two.subject.model.record == one.subject.model.record
    assert "embedding" in [kind.id for kind in two.subject.model.kinds]
    other = rnnlens.fit(whole, batches(), kinds=(), epochs=0)
    assert "embedding" not in [kind.id for kind in other.subject.model.kinds]


def test_how_a_text_is_fed_must_be_known():
    class Two(LanguageModel):
        def forward(self, words, scale=None):
            return super().forward(words) * scale

    data = [((inputs, torch.ones(1)), targets) for inputs, targets in batches()]
    lens = rnnlens.fit(Two(), data, WORDS, epochs=0)
    with pytest.raises(RnnlensError, match="give prepare="):
        lens("a b")
    ready = rnnlens.fit(
        Two(), data, WORDS, epochs=0, prepare=lambda ids: (torch.tensor([ids]), torch.ones(1))
    )
    assert len(ready("a b")) == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    "example", sampled(EXAMPLES, ROOT / "examples/gru_language_model.py"), ids=lambda p: p.stem
)
def test_the_examples_run(example):
    done = subprocess.run(
        [sys.executable, example], capture_output=True, text=True, timeout=200, check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    last = done.stdout.splitlines()[-1]
    assert {
        "gru_language_model": "see",
        "tagger": "NOUN",
        "characters": "]",
        "numpy_states": "three",
        "frames": "falling",
        "seq2seq": "by attention 15 of 15, by what wrote it 15 of 15",
        "recall": "stored 97%",
    }[example.stem] in last
