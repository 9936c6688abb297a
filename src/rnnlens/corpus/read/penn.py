"""Words as in the Penn Treebank: what NLTK's word tokeniser makes of a piece of text without
blanks, by rules one after the other. NLTK itself takes a second and more to import where SciPy is
installed, which a person who typed an apostrophe would wait for. `page/web/engine/penn.js` has the
same rules.
"""

import re
from collections.abc import Iterator
from functools import cache, reduce
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import regex

_RULES = (
    # Quotes that open.
    (r"([«“‘„]|`+)", r" \1 "),
    (r'^"', "``"),
    (r"(``)", r" \1 "),
    (r"""([ (\[{<])("|'{2})""", r"\1 `` "),
    (r"(?i)(?<!\w)'(?!(?:re|ve|ll|m|t|s|d|n)\b)(?=\w)", "' "),
    # Punctuation: a full stop at the end, which quotes and brackets may follow, then all else.
    (r"""([^.])\.([])}>"'»”’ ]*+)$""", r"\1 . \2 "),
    (r"([:,])(\D)", r" \1 \2"),
    (r"([:,])$", r" \1 "),
    (r"\.{2,}", r" \g<0> "),
    (r"[;@#$%&]", r" \g<0> "),
    (r"[\u2012-\u2015]", r" \g<0> "),
    (r"[?!]", r" \g<0> "),
    (r"([^'])' ", r"\1 ' "),
    (r"[*]", r" \g<0> "),
    (r"[][(){}<>]", r" \g<0> "),
    (r"--", " -- "),
    (r"(?s)^.*$", r" \g<0> "),  # so that every word has a blank before and after it
    # Quotes that close, and what is written together with an apostrophe.
    (r"([»”’])", r" \1 "),
    (r"''", " '' "),
    (r'"', " '' "),
    (r"([^' ])('[sS]|'[mM]|'[dD]|') ", r"\1 \2 "),
    (r"([^' ])('ll|'LL|'re|'RE|'ve|'VE|n't|N'T) ", r"\1 \2 "),
)
_TWO_WORDS = (
    r"\b(can)(not)\b", r"\b(d)('ye)\b", r"\b(gim)(me)\b", r"\b(gon)(na)\b", r"\b(got)(ta)\b",
    r"\b(lem)(me)\b", r"\b(more)('n)\b", r"\b(wan)(na)(?= )", r" ('t)(is)\b", r" ('t)(was)\b",
)  # fmt: skip


@cache
def _rules() -> "tuple[tuple[regex.Pattern[str] | re.Pattern[str], str], ...]":
    """Each with what it puts, in the package that NLTK matches it with: they differ in letters."""
    import regex

    def both() -> "Iterator[tuple[regex.Pattern[str] | re.Pattern[str], str]]":
        for pattern, put in _RULES:
            yield regex.compile(pattern), put
        for pattern in _TWO_WORDS:
            yield re.compile(f"(?i){pattern}"), r" \1 \2 "

    return tuple(both())


def penn_words(piece: str) -> list[str]:
    """The words of a piece of text between blanks."""
    return reduce(lambda text, rule: rule[0].sub(rule[1], text), _rules(), piece).split()
