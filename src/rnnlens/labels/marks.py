"""Labels that stand for words they do not name: numbers, unknown words, the end of a sentence."""

import re

NUM = "NUM"  # any number
UNK = "UNK"  # any unknown word
UNKNOWN = (UNK, "<unk>", "<UNK>", "[UNK]", "unk")  # what a model may call unknown words
_SPECIAL = re.compile(r"<[^<>\s]+>|\[[A-Z]+\]")  # <eos>, [CLS]


def is_special(label: str) -> bool:
    """Whether a label is no word, but a mark such as <eos> or [PAD]; unknown words are words."""
    return label not in UNKNOWN and _SPECIAL.fullmatch(label) is not None
