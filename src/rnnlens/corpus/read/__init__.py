"""Readers, one for each format of corpora, and what all of them yield."""

from typing import NamedTuple


class Sentence(NamedTuple):
    """Words in order and, where the source has them, their universal parts of speech.

    `labels` are what a network is to say of each word, where it is trained to tag or to classify;
    a label of a whole text stands at each of its words.
    """

    words: tuple[str, ...]
    tags: tuple[str, ...] | None = None
    labels: tuple[str, ...] | None = None
