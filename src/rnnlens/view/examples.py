"""Texts to begin with."""

from rnnlens.view.models import Model

_EXAMPLES = (
    "`` we stand in solidarity , '' she emphasized .",  # the paper's
    "the president said that the government will not change the law .",
    "many people in the city were not able to leave their homes .",
    "he was the first man who walked on the moon .",
    "if you want to know more about the company , visit their website .",
    "`` the old teacher follows the birds , '' she said .",  # of the tests' grammar
    "the dogs near the old house see a bird .",
)
_UNKNOWN = 0.1  # share of words that an example may have


def examples_of(model: Model) -> list[str]:
    """The model's own, else those whose words its vocabulary has, else the best of them."""
    if model.examples is not None:
        return list(model.examples) or [""]

    def strange(text: str) -> float:
        numbers = model.encode(text.split())
        return sum(map(model.is_unknown, numbers)) / len(numbers)

    return [text for text in _EXAMPLES if strange(text) < _UNKNOWN] or [min(_EXAMPLES, key=strange)]
