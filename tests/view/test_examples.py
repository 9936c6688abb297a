"""Texts to begin with: the model's own, or those that it knows best."""

from rnnlens.corpus.vocabulary import Vocabulary
from rnnlens.model.network import Network, NetworkConfig
from rnnlens.model.text import Example, TextSide
from rnnlens.view.examples import examples_of
from rnnlens.view.session import Session


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
