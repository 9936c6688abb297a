"""The part of speech of every label, which its colour shows by default."""

from collections.abc import Sequence

import numpy as np

from rnnlens.corpus.tokens import Ints
from rnnlens.corpus.vocabulary import NUM, UNKNOWN, is_special
from rnnlens.labels.lexicon import by_suffix, coverage, load_lexicon
from rnnlens.labels.tags import UNIVERSAL

_ENGLISH = 0.6  # the share of running words that the lexicon knows, if the corpus is English
_CHARACTERS = 0.8  # the share of labels of one letter, if labels are characters
# Most rare words of English text are nouns.
_SPECIAL = {NUM: "NUM", **dict.fromkeys(UNKNOWN, "NOUN")}


def parts_of_speech(
    labels: Sequence[str], counts: Sequence[int], tag_counts: Ints | None = None
) -> tuple[list[str] | None, str]:
    """Each label's universal part of speech, or None; and one line on where it comes from.

    `tag_counts`, (V, len(UNIVERSAL)), is how often each label has each tag in the corpus.
    """
    if tag_counts is not None and tag_counts.any():
        best, tagged = tag_counts.argmax(1), tag_counts.sum(1) > 0
        parts = [UNIVERSAL[k] if known else "X" for k, known in zip(best, tagged, strict=True)]
        return parts, "each word's most frequent tag in the corpus"
    if np.mean([len(label) == 1 for label in labels]) > _CHARACTERS:
        return None, "none: the labels are characters; give a mapping of your own"
    lexicon = load_lexicon()
    words = [
        (label, count)
        for label, count in zip(labels, counts, strict=True)
        if label not in _SPECIAL and not is_special(label)
    ]
    known = coverage(words, lexicon)
    if known < _ENGLISH:
        return None, (
            f"none: the corpus has no tags and an English lexicon knows only {known:.0%} of it; "
            "give a tagged corpus or a mapping of your own"
        )
    parts = [
        "X"
        if is_special(label)
        else _SPECIAL.get(label) or lexicon.get(label.lower()) or by_suffix(label.lower())
        for label in labels
    ]
    missing = np.mean([word.lower() not in lexicon for word, _ in words])
    return parts, (
        f"an English lexicon (Brill's, from textblob); by their ending {missing:.0%} of the words"
    )
