"""Parts of speech: of tags, of English words, and of every label of a model.

Universal parts of speech are those of Universal Dependencies. Penn and Brown tags are mapped by
their longest known beginning, so `VBZ`, `BEDZ*` and `NN-TL` need no entry of their own. The lexicon
is Brill's, as the package textblob carries it (81,198 words with Penn tags); words it does not have
get the part of speech their ending suggests.
"""

import re
from collections.abc import Iterable, Sequence
from importlib.resources import files
from typing import TYPE_CHECKING

from rnnlens.labels.sets import BLANK, NUM, UNKNOWN, is_special

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

UNIVERSAL = "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X".split()

# The paper's colour mapping: NOUN holds nouns, pronouns, existential there and wh-pronouns;
# VERB holds verbs and modals.
COARSE = {
    **dict.fromkeys(("NOUN", "PROPN", "PRON"), "NOUN"),
    **dict.fromkeys(("VERB", "AUX"), "VERB"),
    "ADJ": "ADJ",
    "ADV": "ADV",
}

# The paper's groups, with what it calls other split in two. What is left are numbers, symbols,
# interjections and marks.
FUNCTION, PUNCTUATION = "FUNCTION", "PUNCTUATION"
_CLASSES = {
    **COARSE,
    **dict.fromkeys(("ADP", "DET", "CCONJ", "SCONJ", "PART"), FUNCTION),
    "PUNCT": PUNCTUATION,
}

# Universal Dependencies, and NLTK's twelve-tag universal tagset where it differs from these.
_WHOLE = {**{tag: tag for tag in UNIVERSAL}, "CONJ": "CCONJ", "PRT": "PART"}

# How tags of the Penn Treebank and of Brown begin, by their universal part of speech.
_BEGINNINGS = {
    beginning: part
    for part, beginnings in {
        "PROPN": "NNP NP",
        "NOUN": "NN NR",
        "PRON": "PRP WP EX PN PP",
        "VERB": "VB BE HV DO",
        "AUX": "MD",
        "ADJ": "JJ OD",
        "ADV": "RB WRB QL RN WQL",
        "ADP": "IN RP",
        "DET": "DT PDT WDT AB AP AT",
        "NUM": "CD",
        "CCONJ": "CC",
        "PART": "TO POS *",
        "INTJ": "UH",
        "SYM": "$ # SYM AFX",
        "X": "FW LS ADD GW XX",
        "PUNCT": "`` ' \" . , : - ( ) HYPH NFP",
        "SCONJ": "CS",
    }.items()
    for beginning in beginnings.split()
}
_SUFFIXES = (  # longest first
    ("ability", "NOUN"), ("fulness", "NOUN"), ("ically", "ADV"), ("ation", "NOUN"),
    ("iness", "NOUN"), ("ingly", "ADV"), ("tions", "NOUN"), ("ments", "NOUN"),
    ("tion", "NOUN"), ("sion", "NOUN"), ("ness", "NOUN"), ("ment", "NOUN"), ("ship", "NOUN"),
    ("able", "ADJ"), ("ible", "ADJ"), ("less", "ADJ"), ("wise", "ADV"), ("like", "ADJ"),
    ("ical", "ADJ"), ("ized", "VERB"), ("ised", "VERB"), ("izes", "VERB"), ("ises", "VERB"),
    ("ful", "ADJ"), ("ous", "ADJ"), ("ive", "ADJ"), ("ish", "ADJ"), ("est", "ADJ"),
    ("ing", "VERB"), ("ize", "VERB"), ("ise", "VERB"), ("ify", "VERB"), ("ian", "ADJ"),
    ("ly", "ADV"), ("ed", "VERB"), ("al", "ADJ"), ("ic", "ADJ"),
)  # fmt: skip
_LEAST_ENGLISH = 0.6  # the share of running words that the lexicon knows, if the corpus is English
_LEAST_ENGLISH_PIECES = 0.3  # of pieces that begin words, many of which are no whole ones
_LEAST_PIECES = 0.1  # the share of labels that begin or go on with words, if labels are pieces
_LEAST_CHARACTERS = 0.8  # the share of labels of one letter, if labels are characters
# Most rare words of English text are nouns.
_PARTS_OF_MARKS = {NUM: "NUM", **dict.fromkeys(UNKNOWN, "NOUN")}


def universal(tag: str) -> str | None:
    """The universal part of speech of a universal, Penn or Brown tag; None for any other."""
    tag = tag.upper()
    if tag in _WHOLE:
        return _WHOLE[tag]
    tag = re.sub(r"^FW-(?=.)", "", tag)  # Brown: a foreign word of that part of speech
    for end in range(min(len(tag), 4), 0, -1):
        if tag[:end] in _BEGINNINGS:
            return _BEGINNINGS[tag[:end]]
    return None


def coarse(tag: str | None) -> str:
    """The paper's colour group of a universal part of speech."""
    return COARSE.get(tag or "", "OTHER")


def word_class(tag: str | None) -> str:
    """The word class of a universal part of speech: the paper's group, and of what it calls other
    function words and punctuation by themselves.
    """
    return _CLASSES.get(tag or "", "OTHER")


def load_lexicon() -> dict[str, str]:
    """Lower-case English word -> universal part of speech."""
    text = files("textblob").joinpath("en", "en-lexicon.txt").read_text(encoding="utf-8")
    parts: dict[str, str] = {}
    for line in text.splitlines():
        word, _, tag = line.strip().partition(" ")
        part = universal(tag) if tag and not word.startswith(";;;") else None
        # A word listed in lower case is that word; "Will NNP" must not rename "will MD".
        if part and (word.islower() or word.lower() not in parts):
            parts[word.lower()] = part
    return parts


def coverage(words: Iterable[tuple[str, int]], lexicon: dict[str, str]) -> float:
    """The share of running words that the lexicon knows, which tells whether a text is English.

    Only words of letters count. The lexicon also lists names and foreign words, `der` and `les`
    among them; those do not count as known.
    """
    known = total = 0
    for word, count in words:
        if word.isalpha():
            total += count
            known += count if lexicon.get(word.lower()) not in (None, "PROPN", "X") else 0
    return known / total if total else 0.0


def by_suffix(word: str) -> str:
    """The part of speech that a word's English ending suggests; without such an ending, a noun."""
    if not any(letter.isalpha() for letter in word):
        return "NUM" if any(letter.isdigit() for letter in word) else "PUNCT"
    if "-" in word:
        return "ADJ"  # state-owned, 20-year
    return next((part for suffix, part in _SUFFIXES if word.endswith(suffix)), "NOUN")


def parts_of_speech(
    labels: Sequence[str], counts: Sequence[int], tag_counts: "NDArray[np.int64] | None" = None
) -> tuple[list[str] | None, str]:
    """Each label's universal part of speech, or None; and one line on where it comes from.

    `tag_counts`, (V, len(UNIVERSAL)), is how often each label has each tag in the corpus.
    """
    if tag_counts is not None and tag_counts.any():
        best, tagged = tag_counts.argmax(1), tag_counts.sum(1) > 0
        parts = [UNIVERSAL[k] if known else "X" for k, known in zip(best, tagged, strict=True)]
        return parts, "each word's most frequent tag in the corpus"
    if sum(len(label) == 1 for label in labels) / max(1, len(labels)) > _LEAST_CHARACTERS:
        return None, "none: the labels are characters; give a mapping of your own"
    lexicon = load_lexicon()
    if sum(label.startswith((BLANK, "##")) for label in labels) > _LEAST_PIECES * len(labels):
        return _of_pieces(labels, counts, lexicon)
    words = [
        (label, count)
        for label, count in zip(labels, counts, strict=True)
        if label not in _PARTS_OF_MARKS and not is_special(label)
    ]
    known = coverage(words, lexicon)
    if known < _LEAST_ENGLISH:
        return None, (
            f"none: the corpus has no tags and an English lexicon knows only {known:.0%} of it; "
            "give a tagged corpus or a mapping of your own"
        )
    parts = [
        "X"
        if is_special(label)
        else _PARTS_OF_MARKS.get(label) or lexicon.get(label.lower()) or by_suffix(label.lower())
        for label in labels
    ]
    missing = sum(word.lower() not in lexicon for word, _ in words) / max(1, len(words))
    return parts, (
        f"an English lexicon (Brill's, from textblob); by their ending {missing:.0%} of the words"
    )


def _of_pieces(
    labels: Sequence[str], counts: Sequence[int], lexicon: dict[str, str]
) -> tuple[list[str] | None, str]:
    """The parts of speech of pieces that are whole words; what goes on with a word has none."""
    marked = sum(label.startswith(BLANK) for label in labels) > _LEAST_PIECES * len(labels)

    def word_of(label: str) -> str:
        """The word that a piece begins; empty where it goes on with one, or is a mark."""
        bytes_ = label.startswith((BLANK + "\\x", "\\x"))
        goes_on = bytes_ or label.startswith("##") or (marked and label[:1].isalpha())
        return "" if goes_on or is_special(label) else label.removeprefix(BLANK)

    begun = [word_of(label) for label in labels]
    known = coverage(zip(begun, counts, strict=True), lexicon)
    if known < _LEAST_ENGLISH_PIECES:
        return None, (
            f"none: the labels are pieces of words, of which an English lexicon knows {known:.0%}; "
            "give a mapping of your own"
        )
    found = [
        _PARTS_OF_MARKS.get(word) or lexicon.get(word.lower()) or by_suffix(word.lower())
        if word and (not word.isalpha() or word.lower() in lexicon)
        else "X"
        for word in begun
    ]
    return found, "an English lexicon (Brill's, from textblob), for pieces that are whole words"
