"""Texts for a user's module: one text is one sequence, and starts as the module starts."""

from typing import Any

import pytest
import torch
from tests.letters import WORDS, Classifier, LanguageModel, Packed, batches
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

import rnnlens
from rnnlens.adapter import Adapter
from rnnlens.adapter.stored import StoredModule
from rnnlens.base.errors import RnnlensError
from rnnlens.model.text import Example
from rnnlens.reading.session import Session

LONGEST = 10


def lens_of(module: nn.Module, data: Any = None, **settings: Any) -> Any:
    usual = {"labels": WORDS, "inputs": WORDS, "epochs": 0}
    return rnnlens.fit(module, data or batches(), **{**usual, **settings})


class Learnt(LanguageModel):
    """Starts from states that it has learnt."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        ways = 2 if options.get("bidirectional") else 1
        self.h0 = nn.Parameter(torch.randn(ways, 1, 9))
        self.c0 = nn.Parameter(torch.randn(ways, 1, 9) * 3)

    def forward(self, words: Tensor) -> Any:
        start = [v.expand(-1, len(words), -1).contiguous() for v in (self.h0, self.c0)]
        return self.readout(self.recurrence(self.embedding(words), tuple(start))[0])


def test_before_the_first_word_a_cell_is_what_the_module_has_learnt():
    torch.manual_seed(0)
    module = Learnt()
    lens = lens_of(module)
    _, before = lens.subject.session.read(lens.subject.session.vocabulary.encode(["c", "d"]), 0, 2)
    torch.testing.assert_close(before["c1"], module.c0[0, 0].detach(), rtol=1e-4, atol=1e-4)
    assert not before["h1"].any()
    said = torch.from_numpy(lens("c d")["c1@-1"][0].distribution()).float()
    real = lens.subject.probes.logits("c1", module.c0[0, 0].detach(), "output").softmax(-1)
    torch.testing.assert_close(said, real, rtol=1e-3, atol=1e-5)


def test_a_cell_that_starts_from_nothing_does_so():
    lens = lens_of(LanguageModel())
    states, before = lens.subject.session.read([1, 2, 3], 0, 3)
    assert not before["c1"].any()
    later, before = lens.subject.session.read([1, 2, 3], 2, 3)
    assert torch.equal(before["c1"], states["c1"][1])
    assert torch.equal(later["h1"], states["h1"][2:])


def test_a_gate_that_is_shut_leaves_no_trace_of_what_was_there():
    module = Learnt()
    with torch.no_grad():
        module.recurrence.bias_ih_l0[9:18] = -1e4  # the forget gate
    _, before = lens_of(module).subject.session.read([1], 0, 1)
    assert not before["c1"].any()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("prepare", "said"),
    [
        (lambda ids: torch.tensor([ids[:-1]]), "it is not read; give prepare="),
        (lambda ids: torch.tensor([ids, ids]), "4 words was read as 2 sequences of 4 timesteps"),
        (lambda ids: torch.tensor(ids)[:, None], "was read as 1 timesteps"),
        (lambda ids: None, "prepare= gave nothing"),
    ],
)
def test_one_text_is_one_sequence_of_just_its_words(prepare, said):
    with pytest.raises(RnnlensError, match=said):
        lens_of(LanguageModel(), prepare=prepare)("c d e a")


@pytest.mark.parametrize("whole", [True, False])
def test_a_text_may_be_padded_to_a_fixed_length(whole):
    """Packed, so that what is past the end is not read; the logits may be padded as well."""

    class Padded(Packed):
        def forward(self, words: Tensor, lengths: Tensor) -> Any:  # type: ignore[override]
            x = self.embedding(words)
            x = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
            total = words.shape[1] if whole else None
            read = pad_packed_sequence(self.recurrence(x)[0], True, total_length=total)[0]
            return self.readout(read)

    def prepare(ids: list[int]) -> tuple[Tensor, Tensor]:
        return torch.tensor([ids + [0] * (LONGEST - len(ids))]), torch.tensor([len(ids)])

    torch.manual_seed(0)
    module = Padded()
    data = [((words, torch.arange(8) % 7 + 1), targets) for words, targets in batches()]
    alone: Any = [((words[:1], torch.tensor([3])), targets[:1]) for words, targets in batches()]
    lens = lens_of(module, data + alone, prepare=prepare)
    with torch.no_grad():
        expected = module(torch.tensor([[3, 4, 5]]), torch.tensor([3]))[0].softmax(-1)
    for step, state in enumerate(lens("c d e")["y"]):
        said = torch.from_numpy(state.distribution()).float()
        torch.testing.assert_close(said, expected[step], rtol=1e-3, atol=1e-5)


def test_every_word_must_have_a_state_of_each_kind():
    class Translator(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.others = nn.Embedding(6, 7), nn.Embedding(6, 7)
            self.reads, self.writes = nn.GRU(7, 9), nn.GRU(7, 9)
            self.readout = nn.Linear(9, 6)

        def forward(self, source: Tensor, target: Tensor) -> Any:
            _, last = self.reads(self.words(source))
            return self.readout(self.writes(self.others(target), last)[0])

    data = [((words.T, words.T), targets.T) for words, targets in batches()]
    text = lens_of(
        Translator(), data,
        prepare=lambda ids: (torch.tensor([[1], [2]]), torch.tensor(ids)[:, None]),
    )  # fmt: skip
    with pytest.raises(RnnlensError, match="a text of 4 words x has 2 states; give prepare="):
        text("a b c d")


def test_one_prediction_for_a_sequence_stands_beside_every_word():
    module = Classifier()
    lens = lens_of(module, [(words, words[:, 0]) for words, _ in batches()])
    states, _ = lens.subject.session.read([3, 4, 5], 0, 3)
    with torch.no_grad():
        expected = module(torch.tensor([[3, 4, 5]]))
    torch.testing.assert_close(states["y"], expected.expand(3, -1))
    assert not lens.subject.session.text.follows


@pytest.mark.slow
def test_both_directions_feed_the_prediction():
    both = lens_of(LanguageModel(bidirectional=True, num_layers=2))
    assert [source.kind for source in both.subject.model.prediction.sources] == ["j2"]
    one = lens_of(LanguageModel(num_layers=2))
    assert [source.kind for source in one.subject.model.prediction.sources] == ["h2"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "said"),
    [(lambda text: [1, 2], "words= gave 1"), (lambda text: [["a"]], r"words= gave \['a'\]"),
     (lambda text: None, "words= gave None"), (lambda text: 3, "words= gave 3")],
)  # fmt: skip
def test_words_that_are_none_are_refused(words, said):
    with pytest.raises(RnnlensError, match=said):
        lens_of(LanguageModel(), words=words, inputs=None)


def test_nothing_is_read_of_an_empty_text():
    asked: list[str] = []

    def words(text: str) -> list[str]:
        asked.append(text)
        return text.split()

    lens = lens_of(LanguageModel(), words=words)
    asked.clear()
    assert lens.subject.session.words("") == ()
    assert lens.subject.session.words("a b") == ("a", "b")
    assert asked == ["a b"]


def test_a_text_that_is_kept_is_shown_without_the_module():
    lens = lens_of(LanguageModel())
    example = lens.subject.session.example("c d e")
    assert example == Example("c d e", ("c", "d", "e"), (3, 4, 5), example.states)

    def unreadable() -> Any:
        raise RnnlensError("the module is wanted")

    module = StoredModule(lens.subject.model.record, unreadable)
    kept = Session(module, module.text(lens.subject.session.vocabulary), [example])
    assert kept.examples == ("c d e",)
    assert kept.words("c d e") == ("c", "d", "e")
    states, _ = kept.read([3, 4, 5], 1, 3)
    assert torch.equal(states["h1"], example.states["h1"][1:])
    with pytest.raises(RnnlensError, match="the module is wanted"):
        kept.read([3, 4], 0, 2)
    with pytest.raises(RnnlensError, match="the module is wanted"):
        kept.words("a")


def test_a_text_is_read_once_until_it_is_forgotten():
    module = LanguageModel()
    lens = lens_of(module)
    calls: list[int] = []
    module.register_forward_pre_hook(lambda m, args: calls.append(1))
    for ids in ([1, 2], [1, 2], [1, 3], [1, 3]):
        lens.subject.session.read(ids, 0, 2)
    assert len(calls) == 2
    lens.subject.session.forget()
    lens.subject.session.read([1, 3], 0, 2)
    assert len(calls) == 3


def test_there_must_be_something_to_measure_on():
    lens = lens_of(LanguageModel())
    with pytest.raises(RnnlensError, match="nothing to measure on"):
        lens.evaluate([])
    with pytest.raises(RnnlensError, match="every batch must be a pair"):
        lens.evaluate([3])


@pytest.mark.slow
def test_sentences_and_batches_are_measured_alike():
    data = batches(count=4)
    lens = lens_of(LanguageModel(), data, semantic="output,input,output-1")
    whole = [torch.cat([words, targets[:, -1:]], 1) for words, targets in data]
    sentences = [[WORDS[k] for k in row] for rows in whole for row in rows.tolist()]
    for a, b in zip(lens.evaluate(data), lens.evaluate(sentences), strict=True):
        assert (a.kind, a.pairs) == (b.kind, b.pairs)
        assert a.perplexity == pytest.approx(b.perplexity, rel=1e-5)
        assert a.unigram == pytest.approx(b.unigram, rel=1e-9)


def test_states_are_those_of_the_adapter():
    module = LanguageModel(bidirectional=True)
    states, _ = lens_of(module).subject.session.read([1, 2, 3], 0, 3)
    traced = Adapter(module).trace(torch.tensor([[1, 2, 3]]))
    for kind, values in traced.states.items():
        torch.testing.assert_close(states[kind], values[:, 0])


def test_a_space_is_a_character_like_any_other():
    letters = [" ", *WORDS[1:]]
    data = batches()
    lens = rnnlens.fit(LanguageModel(), data, letters, words=list, epochs=0)
    assert [lens(text).words for text in ("", " ", "a ")] == [[], [" "], ["a", " "]]
