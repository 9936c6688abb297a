"""Texts to begin with."""

import contextlib
from collections.abc import Iterable
from itertools import islice

from rnnlens.base.errors import RnnlensError
from rnnlens.corpus.read import Sentence
from rnnlens.model.text import Example, TextSide
from rnnlens.reading.session import Session

_EXAMPLES = (  # for runs that have none of their own
    "`` we stand in solidarity , '' she emphasized .",  # the paper's
    "the president said that the government will not change the law .",
    "many people in the city were not able to leave their homes .",
    "he was the first man who walked on the moon .",
    "if you want to know more about the company , visit their website .",
    "`` the old teacher follows the birds , '' she said .",  # of the tests' grammar
    "the dogs near the old house see a bird .",
)
EXAMPLES, SHORT, LONG = 3, 4, 12  # texts that a run of a user's module keeps, and their words
LONG_SERIES = 48  # numbers, which say less each than a word does
TEXTS = 6  # that a run keeps where their states can be computed at any time
_LOOKED_AT = 2000  # sentences, from which the best are taken
_UNKNOWN = 0.1  # share of words that an example may have


def examples_of(session: Session) -> list[str]:
    """The run's own, else those whose words its vocabulary has, else the best of them."""
    if session.examples is not None:
        return list(session.examples) or [""]

    def strange(text: str) -> float:
        return _strange(session.text.encode(text.split()), session.text)

    return [text for text in _EXAMPLES if strange(text) < _UNKNOWN] or [min(_EXAMPLES, key=strange)]


def chosen_examples(sentences: Iterable[Sentence], side: TextSide, most: int) -> list[Example]:
    """Some test sentences that the model can read, without their states.

    Neither short nor long ones, and such as have few unknown words, if there are any.
    """
    some = [sentence.words for sentence in islice(sentences, _LOOKED_AT)]
    middling = [words for words in some if SHORT <= len(words) <= LONG]
    read: dict[str, Example] = {}
    for words in middling or sorted(some, key=len):
        text = " ".join(words[:LONG])
        with contextlib.suppress(RnnlensError):
            split = side.words(text)
            if numbers := tuple(side.encode(split)):
                read[text] = Example(text, split, numbers, {})
    known = [one for one in read.values() if _strange(one.ids, side) < _UNKNOWN]
    return (known or list(read.values()))[:most]


def _strange(numbers: Iterable[int], side: TextSide) -> float:
    """The share of words that the model does not know."""
    unknown = [side.is_unknown(number) for number in numbers]
    return sum(unknown) / len(unknown)
