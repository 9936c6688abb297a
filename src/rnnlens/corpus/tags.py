"""Tagsets: every known tag as a universal part of speech, and the paper's coarse groups.

Universal parts of speech are those of Universal Dependencies. Penn and Brown tags are mapped
by their longest known beginning, so `VBZ`, `BEDZ*` and `NN-TL` need no entry of their own.
"""

import re

UNIVERSAL = "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X".split()

# The paper's colour mapping: NOUN holds nouns, pronouns, existential there and wh-pronouns;
# VERB holds verbs and modals.
COARSE = {
    "NOUN": "NOUN",
    "PROPN": "NOUN",
    "PRON": "NOUN",
    "VERB": "VERB",
    "AUX": "VERB",
    "ADJ": "ADJ",
    "ADV": "ADV",
}

# Universal Dependencies, and NLTK's twelve-tag universal tagset where it differs from these.
_WHOLE = {**{tag: tag for tag in UNIVERSAL}, "CONJ": "CCONJ", "PRT": "PART"}

_BEGINNINGS = {
    # Penn Treebank
    "NNP": "PROPN",
    "NN": "NOUN",
    **dict.fromkeys(("PRP", "WP", "EX"), "PRON"),
    "VB": "VERB",
    "MD": "AUX",
    "JJ": "ADJ",
    **dict.fromkeys(("RB", "WRB"), "ADV"),
    **dict.fromkeys(("IN", "RP"), "ADP"),
    **dict.fromkeys(("DT", "PDT", "WDT"), "DET"),
    "CD": "NUM",
    "CC": "CCONJ",
    **dict.fromkeys(("TO", "POS"), "PART"),
    "UH": "INTJ",
    **dict.fromkeys(("$", "#", "SYM", "AFX"), "SYM"),
    **dict.fromkeys(("FW", "LS", "ADD", "GW", "XX"), "X"),
    **dict.fromkeys(("``", "'", '"', ".", ",", ":", "-", "(", ")", "HYPH", "NFP"), "PUNCT"),
    # Brown, where it differs
    "NP": "PROPN",
    "NR": "NOUN",
    **dict.fromkeys(("PN", "PP"), "PRON"),
    **dict.fromkeys(("BE", "HV", "DO"), "VERB"),
    **dict.fromkeys(("QL", "RN", "WQL"), "ADV"),
    "OD": "ADJ",
    **dict.fromkeys(("AB", "AP", "AT"), "DET"),
    "CS": "SCONJ",
    "*": "PART",
}


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
