"""Texts to begin with: the model's own, or those that it knows best."""

from dataclasses import dataclass
from typing import Any, cast

from rnnlens.view.models import Model

from rnnlens.view.examples import examples_of


@dataclass
class Knowing:
    """Knows some words, and has number 0 for all others."""

    known: set[str]
    examples: tuple[str, ...] | None = None

    def encode(self, words: Any) -> list[int]:
        return [int(word in self.known) for word in words]

    def is_unknown(self, number: int) -> bool:
        return number == 0


def told(*known: str, examples: tuple[str, ...] | None = None) -> list[str]:
    return examples_of(cast("Model", Knowing({*known}, examples)))


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
