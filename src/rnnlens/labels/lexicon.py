"""Parts of speech for English words of untagged corpora.

The lexicon is Brill's, as the package textblob carries it (81,198 words with Penn tags); words it
does not have get the part of speech their ending suggests.
"""

from collections.abc import Iterable
from importlib.resources import files

from rnnlens.labels.tags import universal

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
