"""The part of speech of every label: what colours stand for by default."""

import numpy as np

from rnnlens.corpus.corpus import Corpus
from rnnlens.corpus.lexicon import by_suffix, coverage, load_lexicon
from rnnlens.corpus.tags import UNIVERSAL
from rnnlens.corpus.vocabulary import NUM, UNK

_ENGLISH = 0.6  # share of running words the lexicon must know


def parts_of_speech(corpus: Corpus) -> tuple[list[str] | None, str]:
    """Each label's universal part of speech, or None; and one line on where it comes from."""
    if corpus.is_tagged:
        best = corpus.tag_counts.argmax(1)
        tagged = corpus.tag_counts.sum(1) > 0
        parts = [UNIVERSAL[k] if known else "X" for k, known in zip(best, tagged, strict=True)]
        return parts, "each word's most frequent tag in the corpus"
    vocabulary = corpus.vocabulary
    lexicon = load_lexicon()
    special = {NUM: "NUM", UNK: "NOUN"}  # most rare words of English text are nouns
    words = [
        (label, count)
        for label, count in zip(vocabulary.labels, vocabulary.counts, strict=True)
        if label not in special
    ]
    known = coverage(words, lexicon)
    if known < _ENGLISH:
        return None, (
            f"none: the corpus has no tags and an English lexicon knows only {known:.0%} of it; "
            "give a tagged corpus or a mapping of your own"
        )
    parts = [
        special.get(label) or lexicon.get(label.lower()) or by_suffix(label.lower())
        for label in vocabulary.labels
    ]
    missing = np.mean([word.lower() not in lexicon for word, _ in words])
    return parts, (
        f"an English lexicon (Brill's, from textblob); by their ending {missing:.0%} of the words"
    )
