"""Labels that stand for words they do not name: numbers, unknown words, the end of a sentence."""

import re

from rnnlens.base.rules import text, texts

NUM = text("number_word")  # any number
UNK = text("unknown_word")  # any unknown word
UNKNOWN = texts("unknown_words")  # what a model may call unknown words
_SPECIAL = re.compile(r"<[^<>\s]+>|\[[A-Z]+\]")  # <eos>, [CLS]


def is_special(label: str) -> bool:
    """Whether a label is no word, but a mark such as <eos> or [PAD]; unknown words are words."""
    return label not in UNKNOWN and _SPECIAL.fullmatch(label) is not None
