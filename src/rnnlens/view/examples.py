"""Texts to begin with."""

from rnnlens.view.session import Session

_EXAMPLES = (
    "`` we stand in solidarity , '' she emphasized .",  # the paper's
    "the president said that the government will not change the law .",
    "many people in the city were not able to leave their homes .",
    "he was the first man who walked on the moon .",
    "if you want to know more about the company , visit their website .",
    "`` the old teacher follows the birds , '' she said .",  # of the tests' grammar
    "the dogs near the old house see a bird .",
)
EXAMPLES, SHORT, LONG = 3, 4, 12  # texts that a run of a user's module keeps, and their words
_UNKNOWN = 0.1  # share of words that an example may have


def examples_of(session: Session) -> list[str]:
    """The run's own, else those whose words its vocabulary has, else the best of them."""
    if session.examples is not None:
        return list(session.examples) or [""]

    def strange(text: str) -> float:
        numbers = session.vocabulary.encode(text.split())
        return sum(map(session.text.is_unknown, numbers)) / len(numbers)

    return [text for text in _EXAMPLES if strange(text) < _UNKNOWN] or [min(_EXAMPLES, key=strange)]
