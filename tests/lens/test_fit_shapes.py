"""Modules and batches as people have them: each was once read wrongly, or refused."""

import random
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from tests.letters import (
    WORDS,
    BothWays,
    Classifier,
    Flipped,
    LanguageModel,
    Packed,
    Turning,
    batches,
    trained,
)
from tests.sampling import sampled
from torch import Tensor

import rnnlens
from rnnlens.base.errors import RnnlensError, RnnlensWarning

pytestmark = pytest.mark.slow


def said(grid: Any, kind: str) -> list[str]:
    """The likeliest label of each state."""
    return [state.top(1)[0][0] for state in grid[kind]]


def assert_own(lens: Any, expected: Tensor) -> None:
    """Assert that `y` is the module's own prediction of the text c d e a."""
    for step, state in enumerate(lens("c d e a")["y"]):
        found = torch.from_numpy(state.distribution()).float()
        torch.testing.assert_close(found, expected[step].detach(), rtol=1e-3, atol=1e-5)


def scores(lens: Any, data: Any, semantic: str = "output") -> dict[str, Any]:
    return {s.kind: s for s in lens.evaluate(data) if s.semantic == semantic}


@pytest.mark.parametrize(("first", "rounds"), sampled(product([True, False], [0, 5]), (False, 5)))
def test_as_many_timesteps_as_sequences(first, rounds):
    torch.manual_seed(0)
    data = batches(first, size=7)
    model = trained(LanguageModel(first), data, rounds)
    lens = rnnlens.fit(model, data, WORDS, epochs=25, closed_form=False)
    words = torch.tensor([3, 4, 5, 1])
    assert_own(lens, model(words[None] if first else words[:, None]).reshape(4, -1).softmax(-1))
    assert lens.subject.session.text.follows
    found = scores(lens, batches(first, size=8, seed=5))
    assert found["x"].accuracy > 0.95  # across sentences it is 0.2


@pytest.mark.parametrize(("flat", "size"), sampled(product([True, False], [7, 8]), (False, 8)))
def test_time_first_inside_and_batches_first_outside(flat, size):
    torch.manual_seed(0)
    data, test = batches(size=size), batches(size=size, seed=4)
    model = trained(Turning(flat), data, 8)
    lens = rnnlens.fit(model, data, WORDS, epochs=2)
    assert_own(lens, model(torch.tensor([[3, 4, 5, 1]])).reshape(4, -1).softmax(-1))
    with torch.no_grad():
        losses = [F.cross_entropy(model(x).reshape(-1, 6), t.flatten()) for x, t in test]
    found = scores(lens, test)["h1"]
    assert found.perplexity / found.ratio == pytest.approx(
        float(torch.stack(losses).mean().exp()), rel=1e-3
    )


def test_states_and_targets_must_be_beside_each_other():
    data = [(words, words) for words, _ in batches()]
    with pytest.raises(RnnlensError, match="it reads from the end"):
        rnnlens.fit(Flipped(), data, WORDS, inputs=WORDS, epochs=0)
    with pytest.warns(UserWarning, match="left out, .* back.x, back.r1"):
        lens = rnnlens.fit(BothWays(), data, WORDS, inputs=WORDS, epochs=0)
    assert [c.id for c in lens.subject.columns][-2:] == ["there.h1", "y"]
    assert not [c.id for c in lens.subject.columns if c.id.startswith("back")]


def test_a_first_batch_that_tells_nothing_is_not_asked():
    torch.manual_seed(0)
    tiny = [(torch.tensor([[1]]), torch.tensor([[2]]))] * 2
    lens = rnnlens.fit(
        LanguageModel(), [*tiny, *batches(size=7)], WORDS, closed_form=False, epochs=25
    )
    assert lens.subject.session.text.follows
    assert said(lens("c d e"), "x") == ["d", "e", "a"]
    assert scores(lens, [*tiny, *batches(size=7, seed=3)])["x"].accuracy > 0.95


def test_one_target_a_sequence_is_as_good_as_one_for_each_of_its_states():
    torch.manual_seed(0)
    one = [(words, words[:, 0]) for words, _ in batches(count=6)]
    each = [(words, words[:, :1].repeat(1, 7)) for words, _ in batches(count=6)]
    model = Classifier()
    made: list[Any] = [
        rnnlens.fit(model, data, WORDS, inputs=WORDS, epochs=3) for data in (one, each)
    ]
    assert made[0].subject.session.vocabulary.counts == made[1].subject.session.vocabulary.counts
    assert scores(made[0], one)["h1"].pairs == 6 * 8 * 7
    for name, tensor in made[0].subject.probes.tensors().items():
        torch.testing.assert_close(tensor, made[1].subject.probes.tensors()[name])


@pytest.mark.parametrize(
    "labels",
    [dict(enumerate(WORDS)), {word: k for k, word in enumerate(WORDS)}, tuple(WORDS), iter(WORDS)],
)
def test_labels_however_they_are_numbered(labels):
    lens = rnnlens.fit(LanguageModel(), batches(), labels, epochs=0)
    assert lens.labels == tuple(WORDS)
    assert lens.subject.session.vocabulary.encode(["a", "e"]) == [1, 5]


def test_labels_without_an_order_are_refused():
    with pytest.raises(RnnlensError, match="labels= is set"):
        rnnlens.fit(LanguageModel(), batches(), set(WORDS), epochs=0)  # type: ignore[arg-type]


def test_probabilities_in_place_of_logits():
    class Softmax(LanguageModel):
        def forward(self, words: Tensor) -> Any:
            return super().forward(words).softmax(-1)

    torch.manual_seed(0)
    model = Softmax()
    with torch.no_grad():
        model.readout.weight *= 9  # so that it is sure of itself
    lens = rnnlens.fit(model, batches(), WORDS, epochs=2)
    assert_own(lens, model(torch.tensor([[3, 4, 5, 1]]))[0])


@pytest.mark.parametrize("what", ["features", "attention"])
def test_logits_after_something_else(what):
    class Two(LanguageModel):
        def forward(self, words: Tensor) -> Any:
            h = self.recurrence(self.embedding(words))[0]
            other = h.tanh() if what == "features" else (h @ h.transpose(1, 2)).softmax(-1)
            return other, self.readout(h)

    model = Two()
    lens = rnnlens.fit(model, batches(), WORDS, epochs=1)
    assert_own(lens, model(torch.tensor([[3, 4, 5, 1]]))[1][0].softmax(-1))


def test_what_was_read_is_not_asked_of_a_tagger():
    data = [(words, targets % 3) for words, targets in batches()]
    with pytest.raises(RnnlensError, match="leave input out"):
        rnnlens.fit(LanguageModel(labels=3), data, ["X", "Y", "Z"], inputs=WORDS,
                    semantic="output,input", epochs=0)  # fmt: skip


def test_validation_data_must_have_states():
    short = batches(count=2, length=3)
    with pytest.raises(RnnlensError, match=r"no validation data is long enough .* 'output\+4'"):
        rnnlens.fit(LanguageModel(), batches(length=9), WORDS, valid=short, semantic="output+4",
                    epochs=1)  # fmt: skip


def packed(pad: int) -> list[tuple[Any, Tensor]]:
    """Sequences of other lengths, padded to seven words, of which the module is told."""
    made = []
    for k, (words, targets) in enumerate(batches()):
        lengths = (torch.arange(8) + k) % 5 + 1
        past = torch.arange(7) >= lengths[:, None]
        made.append(((words.masked_fill(past, 0), lengths), targets.masked_fill(past, pad)))
    return made


@pytest.mark.parametrize("pad", [0, -100])
def test_padding_of_packed_sequences_is_never_counted(pad):
    data = packed(pad)
    lens = rnnlens.fit(Packed(), data, WORDS, inputs=WORDS, epochs=1)
    expected = torch.zeros(6, dtype=torch.long)
    for k, ((_, lengths), targets) in enumerate(data):
        if k % 10:  # the others decide when to stop
            there = torch.arange(7) < lengths[:, None]
            expected += torch.bincount(targets[there], minlength=6)
    assert list(lens.subject.session.vocabulary.counts) == expected.tolist()
    assert scores(lens, data)["h1"].pairs == sum(int(n.sum()) for (_, n), _ in data)


@pytest.mark.parametrize("first", sampled([True, False], False))
def test_targets_may_be_flat(first):
    torch.manual_seed(0)
    data = batches(first)
    model = trained(LanguageModel(first), data, 3)
    flat = [(words, targets.reshape(-1)) for words, targets in data]
    made: list[Any] = [
        rnnlens.fit(model, some, WORDS, inputs=WORDS, epochs=2) for some in (data, flat)
    ]
    for name, tensor in made[0].subject.probes.tensors().items():
        torch.testing.assert_close(tensor, made[1].subject.probes.tensors()[name])


def test_one_logit_is_told_how_to_become_two():
    data = [(words, (words[:, 0] > 2).long()) for words, _ in batches()]
    model, names = Classifier(labels=1), ["low", "high"]
    with pytest.raises(RnnlensError, match=r"torch.cat\(\[0 \* z, z\], -1\)"):
        rnnlens.fit(model, data, names, inputs=WORDS, epochs=0)
    lens = rnnlens.fit(
        model, data, names, inputs=WORDS, epochs=0,
        logits=lambda z: torch.cat([0 * z, z], -1),
    )  # fmt: skip
    high = model(torch.tensor([[3, 4]])).sigmoid().item()
    assert dict(lens("c d")["y"][1].top(2))["high"] == pytest.approx(high, abs=1e-4)


def test_the_texts_to_begin_with_are_those_of_the_batches():
    letters = list("?abcde")
    lens = rnnlens.fit(LanguageModel(), batches(), letters, words=list, epochs=0)
    rows = ["".join(letters[k] for k in row) for row in batches()[0][0].tolist()]
    assert lens.examples() == list(dict.fromkeys(rows))[:3]
    spaced = rnnlens.fit(LanguageModel(False), batches(False), WORDS, epochs=0)
    assert spaced.examples() == [" ".join(text) for text in lens.examples()]
    unnamed = [(words, targets % 3) for words, targets in batches()]
    numbered = rnnlens.fit(LanguageModel(labels=3), unnamed, epochs=0)
    assert numbered.examples() == ["#0", "#1", "#2"]  # what is read has no names to be typed
    words = [word["text"] for word in numbered("#0").json["words"]]
    assert words == [str(number) for number in unnamed[0][0][0].tolist()]


@pytest.fixture
def double() -> Iterator[None]:
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("probe", sampled(["linear", "shared"], "shared"))
@pytest.mark.usefixtures("double")
def test_double_precision_by_default(probe):
    torch.manual_seed(0)
    model = trained(LanguageModel(), batches(), 5)
    lens = rnnlens.fit(model, batches(), WORDS, epochs=2, probe=probe)
    assert said(lens("c d e a"), "h1") == ["d", "e", "a", "b"]


def test_random_states_are_left_as_they_were():
    class Drawing(LanguageModel):
        def forward(self, words: Tensor) -> Any:
            noise = random.random() + np.random.rand() + torch.rand(())  # noqa: NPY002
            return super().forward(words) + 0 * noise

    def states() -> tuple[Any, ...]:
        numpys: Any = np.random.get_state(legacy=False)  # noqa: NPY002
        return random.getstate(), str(numpys["state"]), torch.get_rng_state().tolist()

    model = Drawing()
    before = states()
    rnnlens.fit(model, batches(), WORDS, epochs=1)("a b")
    assert states() == before
    model(batches()[0][0])
    assert all(a != b for a, b in zip(states(), before, strict=True))


class Padded(LanguageModel):
    def __init__(self) -> None:
        super().__init__()
        self.embedding.padding_idx = 0


def with_padding(target: int) -> list[tuple[Tensor, Tensor]]:
    made = []
    for inputs, wanted in batches():
        words, targets = inputs.clone(), wanted.clone()
        words[:, 4:], targets[:, 4:] = 0, target
        made.append((words, targets))
    return made


def test_padding_that_has_targets_is_warned_of():
    with pytest.warns(RnnlensWarning, match=r"padding \(number 0\) has targets"):
        rnnlens.fit(Padded(), with_padding(0), WORDS, epochs=0)
    lens = rnnlens.fit(Padded(), with_padding(-100), WORDS, epochs=0)
    assert all(len(text.split()) == 4 for text in lens.examples())  # without what follows


def test_a_classifiers_padding_is_no_part_of_its_examples():
    class Mine(Padded):
        def forward(self, words: Tensor) -> Tensor:
            made: Tensor = super().forward(words)[:, -1]
            return made

    data = [(words, words[:, 0]) for words, _ in with_padding(0)]
    with pytest.warns(RnnlensWarning, match="has targets"):
        lens = rnnlens.fit(Mine(), data, WORDS, inputs=WORDS, epochs=0)
    assert all(len(text.split()) == 4 for text in lens.examples())
