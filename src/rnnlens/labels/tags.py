"""Tagsets: every known tag as a universal part of speech, and the paper's coarse groups.

Universal parts of speech are those of Universal Dependencies. Penn and Brown tags are mapped
by their longest known beginning, so `VBZ`, `BEDZ*` and `NN-TL` need no entry of their own.
"""

import re

UNIVERSAL = "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X".split()

# The paper's colour mapping: NOUN holds nouns, pronouns, existential there and wh-pronouns;
# VERB holds verbs and modals.
COARSE = {
    **dict.fromkeys(("NOUN", "PROPN", "PRON"), "NOUN"),
    **dict.fromkeys(("VERB", "AUX"), "VERB"),
    "ADJ": "ADJ",
    "ADV": "ADV",
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
