"""Texts to begin with: the model's own, or those that it knows best."""

from rnnlens.corpus.read import Sentence
from rnnlens.corpus.vocabulary import Vocabulary
from rnnlens.model.network import Network, NetworkConfig
from rnnlens.model.text import Example, TextSide
from rnnlens.reading.session import Session, chosen_examples, examples_of


def told(*known: str, examples: tuple[str, ...] | None = None) -> list[str]:
    labels = ("UNK", *dict.fromkeys(known))
    text = TextSide.of_words(Vocabulary(labels, (1,) * len(labels)))
    kept = None if examples is None else [Example(e, (e,), (0,), {}) for e in examples]
    return examples_of(Session(Network(NetworkConfig(width=1), len(labels)), text, kept))


def test_a_models_own_texts_come_first_and_may_be_none():
    assert told(examples=("a b", "c")) == ["a b", "c"]
    assert told("the", examples=()) == [""]


def test_else_those_it_knows_all_words_of():
    moon = "he was the first man who walked on the moon ."
    assert told(*moon.split()) == [moon]


def test_else_the_one_it_knows_most_of():
    assert told("if", "you", "want", "to", "know") == [
        "if you want to know more about the company , visit their website ."
    ]


def test_sentences_of_middling_length_and_few_unknown_words_are_chosen():
    side = TextSide.of_words(Vocabulary(("UNK", "the", "dog", "sees", "a", "bird"), (1,) * 6))
    given = ["the dog", "the dog sees zyzzyva", "the dog sees a bird", "the dog sees the bird"]
    sentences = [Sentence(tuple(text.split()), None) for text in [*given, given[2]]]
    assert [one.text for one in chosen_examples(sentences, side, 6)] == given[2:]
    assert [one.text for one in chosen_examples(sentences, side, 1)] == given[2:3]
    strange = [Sentence(("q", "r", "s", "t"), None)]
    assert [one.ids for one in chosen_examples(strange, side, 6)] == [(0, 0, 0, 0)]
    assert [one.text for one in chosen_examples(sentences[:1], side, 6)] == ["the dog"]
    assert chosen_examples([], side, 6) == []
