"""Batches made of a corpus: every word with what it is asked, whatever order a module reads in."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from tests.letters import WORDS, Flipped, LanguageModel, Packed, batches, trained
from torch import Tensor

from rnnlens.adapter.corpus_batches import batches_of, tag_names
from rnnlens.adapter.user_model import UserModel
from rnnlens.base.errors import RnnlensError
from rnnlens.corpus.corpus import Corpus
from rnnlens.corpus.read import Sentence
from rnnlens.corpus.tokens import SPLITS, collect
from rnnlens.corpus.vocabulary import Vocabulary
from rnnlens.labels.parts_of_speech import UNIVERSAL

LETTERS = Vocabulary.of_user(tuple(WORDS), (1,) * 6, tuple(WORDS))
TAGS = ("NOUN", "VERB", "DET")
TAGGER = Vocabulary.of_user(TAGS, (1,) * 3, tuple(WORDS))


def corpus(count: int = 60, tagged: bool = False) -> Corpus:
    """Letters in the order of the alphabet, in sentences of other lengths."""
    random = np.random.default_rng(0)
    parts: list[list[Sentence]] = [[], [], []]
    for k in range(count):
        size, start = random.integers(2, 9), random.integers(5)
        words = tuple("abcde"[(start + n) % 5] for n in range(size))
        tags = tuple(random.choice([*TAGS, "ADV"], size).tolist())
        parts[k % 3].append(Sentence(words, tags if tagged and k % 5 else None))
    tokens = collect([*parts], lowercase=False)
    return Corpus("letters", "text", tokens, tokens.part)


def pairs_of(sentences: list[Sentence]) -> Counter[tuple[int, ...]]:
    """Every sentence as the module is to read it, with what it is asked."""
    numbers = (LETTERS.encode(s.words) for s in sentences)
    return Counter((*ids[:-1], -1, *ids[1:]) for ids in numbers)


def rows_of(data: Sequence[tuple[Any, Tensor]], first: bool) -> Counter[tuple[int, ...]]:
    turned = ((x, t) if first else (x.T, t.T) for x, t in data)
    return Counter(
        (*a, -1, *b)
        for x, t in turned
        for a, b in zip(x.tolist(), t.tolist(), strict=True)
    )  # fmt: skip


@pytest.mark.parametrize("first", [True, False])
def test_every_sentence_is_asked_for_its_next_words_once(first):
    torch.manual_seed(0)
    own = UserModel(trained(LanguageModel(first), batches(first), 5), WORDS)
    some = corpus()
    made = batches_of(own, LETTERS, some, 200)  # the order is found: nobody said it
    for name in SPLITS:
        assert rows_of(made[name], first) == pairs_of([*some.sentences(name)])
        assert all(x.is_contiguous() for x, _ in made[name])


@pytest.mark.parametrize("first", [True, False])
def test_an_order_that_is_known_is_not_looked_for(first):
    untrained = LanguageModel(not first)
    some, text = corpus(), {True: (1, -1), False: (-1, 1)}
    expected = pairs_of([*some.sentences("train")])
    known = batches_of(UserModel(untrained, WORDS), LETTERS, some, 200, fed=text[first])
    assert rows_of(known["train"], first) == expected


def test_long_sentences_are_cut():
    made = batches_of(UserModel(LanguageModel(), WORDS, batch_first=True), LETTERS, corpus(), 4)
    assert max(x.shape[1] for x, _ in made["train"]) == 3


def test_no_batch_is_larger_than_a_device_would_like():
    own = UserModel(LanguageModel(), WORDS, batch_first=True)
    sizes = [len(x) for x, _ in batches_of(own, LETTERS, corpus(900), 200)["train"]]
    assert max(sizes) == 32


def test_what_is_prepared_is_one_sentence_at_a_time():
    def prepare(ids: list[int]) -> tuple[Tensor, Tensor]:
        return torch.tensor([ids]), torch.tensor([len(ids)])

    some = corpus()
    made = batches_of(UserModel(Packed(), WORDS, prepare=prepare), LETTERS, some, 200)
    for name in SPLITS:
        rows = [(words, targets[None]) for (words, _), targets in made[name]]
        assert all(int(n) == x.shape[1] for (x, n), _ in made[name])
        assert rows_of(rows, first=True) == pairs_of([*some.sentences(name)])


def test_a_tagger_is_asked_for_the_tags_that_are_labels():
    own = UserModel(LanguageModel(labels=3), TAGS, WORDS, batch_first=True)
    some = corpus(tagged=True)
    made = batches_of(own, TAGGER, some, 200)
    number = {tag: k for k, tag in enumerate(TAGS)}
    expected = Counter(
        (*LETTERS.encode(s.words), -1, *((number.get(tag, -1) for tag in s.tags)
                                         if s.tags else [-1] * len(s.words)))
        for s in some.sentences("train")
    )  # fmt: skip
    assert rows_of(made["train"], first=True) == expected


@pytest.mark.parametrize(
    ("vocabulary", "said"),
    [
        (TAGGER, r"letters has no tags among the module's labels \(NOUN, VERB, DET"),
        (
            Vocabulary.of_user(("good", "bad"), (1, 1), tuple(WORDS)),
            "give UserModel batches= a function",
        ),
    ],
)
def test_what_a_corpus_cannot_be_asked_is_told(vocabulary, said):
    with pytest.raises(RnnlensError, match=said):
        batches_of(UserModel(LanguageModel(), vocabulary.labels, WORDS), vocabulary, corpus(), 200)


def test_batches_of_the_owners_own_are_taken_as_they_are():
    seen: list[list[Sentence]] = []

    def make(sentences: list[Sentence]) -> list[tuple[Tensor, Tensor]]:
        seen.append(sentences)
        return [(torch.ones(1, 2), torch.tensor([len(sentences)]))]

    some = corpus()
    made = batches_of(UserModel(LanguageModel(), WORDS, batches=make), LETTERS, some, 200)
    assert seen == [[*some.sentences(name)] for name in SPLITS]
    assert {name: int(data[0][1]) for name, data in made.items()} == dict.fromkeys(SPLITS, 20)
    with pytest.raises(RnnlensError, match="the train part of letters gives no batch"):
        batches_of(UserModel(LanguageModel(), batches=lambda _: []), LETTERS, some, 200)
    with pytest.raises(RnnlensError, match="every batch must be a pair"):
        batches_of(UserModel(LanguageModel(), batches=lambda _: [1]), LETTERS, some, 200)  # type: ignore[list-item]


def test_only_tags_of_the_corpus_have_its_names():
    some, module = corpus(tagged=True), UserModel(LanguageModel(), WORDS)
    assert tag_names(module, batches_of(module, LETTERS, some, 200)) == {"tag": UNIVERSAL}

    def make(sentences: list[Sentence]) -> list[tuple[Tensor, dict[str, Tensor]]]:
        words = torch.tensor([LETTERS.encode(s.words[:2]) for s in sentences])
        return [(words, {"output": words, "tag": words % 2})]

    mine = UserModel(LanguageModel(), WORDS, batches=make)  # type: ignore[arg-type]
    assert tag_names(mine, batches_of(mine, LETTERS, some, 200)) == {}


def test_a_module_that_can_be_read_in_no_order_is_told():
    with pytest.raises(RnnlensError, match="it reads from the end"):
        batches_of(UserModel(Flipped(), WORDS), LETTERS, corpus(), 200)


def test_sentences_that_are_read_behind_a_mark_are_asked_for_all_their_words():
    some = corpus()
    own = UserModel(
        LanguageModel(), WORDS, prepare=lambda ids: torch.tensor([[0, *ids[:-1]]])
    )  # fmt: skip
    for name, data in batches_of(own, LETTERS, some, 200).items():
        sentences = [LETTERS.encode(s.words) for s in some.sentences(name)]
        assert [targets.tolist() for _, targets in data] == sentences
        assert [fed.tolist() for fed, _ in data] == [[[0, *ids[:-1]]] for ids in sentences]
