import pytest

from rnnlens.labels.tags import UNIVERSAL, coarse, universal

PENN = {
    "ADJ": "JJ JJR JJS",
    "ADP": "IN RP",
    "ADV": "RB RBR RBS WRB",
    "AUX": "MD",
    "CCONJ": "CC",
    "DET": "DT PDT WDT",
    "INTJ": "UH",
    "NOUN": "NN NNS",
    "NUM": "CD",
    "PART": "TO POS",
    "PRON": "PRP PRP$ WP WP$ EX",
    "PROPN": "NNP NNPS",
    "PUNCT": ". , : `` '' -LRB- -RRB- ( ) HYPH NFP",
    "SYM": "$ # SYM",
    "VERB": "VB VBD VBG VBN VBP VBZ",
    "X": "FW LS",
}
BROWN = {
    "ADJ": "JJ JJR JJS JJT JJ-TL OD OD-TL",
    "ADP": "IN RP IN-TL",
    "ADV": "RB RBR RBT RB$ RN QL QLP WQL WRB",
    "AUX": "MD MD*",
    "CCONJ": "CC CC-TL",
    "DET": "AT ABL ABN ABX AP AP$ DT DTI DTS DTX WDT AT-HL",
    "INTJ": "UH",
    "NOUN": "NN NN$ NNS NNS$ NN-TL NN-HL NN+BEZ NR NRS FW-NN",
    "NUM": "CD CD$ CD-TL",
    "PART": "TO * *-HL",
    "PRON": "PN PP$ PP$$ PPL PPLS PPO PPS PPSS PPSS+BEM EX WPS WPO WP$ FW-PPO",
    "PROPN": "NP NPS NP$ NP-TL",
    "PUNCT": ". .-HL .-NC , ,-HL : -- ( ) (-HL `` '' '",
    "SCONJ": "CS",
    "VERB": "VB VBD VBG VBN VBZ BE BED BEDZ BEDZ* BEM BEZ DO DOD DOZ* HV HVD HVZ FW-VB",
    "X": "FW",
}
TWELVE = {
    "ADJ": "ADJ",
    "ADP": "ADP",
    "ADV": "ADV",
    "CCONJ": "CONJ",
    "DET": "DET",
    "NOUN": "NOUN",
    "NUM": "NUM",
    "PART": "PRT",
    "PRON": "PRON",
    "PUNCT": ".",
    "VERB": "VERB",
    "X": "X",
}


@pytest.mark.parametrize(
    ("tag", "part"),
    [
        pytest.param(tag, part, id=f"{name} {tag}")
        for name, table in (("Penn", PENN), ("Brown", BROWN), ("twelve", TWELVE))
        for part, tags in table.items()
        for tag in tags.split()
    ],
)
def test_known_tags_have_a_universal_part_of_speech(tag, part):
    assert universal(tag) == part


@pytest.mark.parametrize("tag", UNIVERSAL)
def test_universal_tags_stay_themselves(tag):
    assert universal(tag) == tag


def test_there_are_seventeen_universal_tags():
    assert len(set(UNIVERSAL)) == len(UNIVERSAL) == 17


@pytest.mark.parametrize("tag", ["", "_", "ncms000", "da0ms0", "%", "Q", "V", "N"])
def test_unknown_tags_have_none(tag):
    assert universal(tag) is None


@pytest.mark.parametrize(("tag", "part"), [("vbz", "VERB"), ("nn-tl", "NOUN"), ("conj", "CCONJ")])
def test_lower_case_penn_brown_and_twelve_tags_are_known(tag, part):
    assert universal(tag) == part


@pytest.mark.parametrize(
    ("group", "tags"),
    [
        ("NOUN", "NN NNS NNP NNPS PRP PRP$ EX WP WP$"),
        ("VERB", "VB VBD VBG VBN VBP VBZ MD"),
        ("ADJ", "JJ JJR JJS"),
        ("ADV", "RB RBR RBS WRB"),
        ("OTHER", "IN DT CC CD TO . , UH SYM FW"),
    ],
)
def test_penn_tags_fall_into_the_groups_of_the_paper(group, tags):
    assert {coarse(universal(tag)) for tag in tags.split()} == {group}


def test_every_universal_tag_has_a_group_and_nothing_is_other():
    assert {coarse(tag) for tag in UNIVERSAL} == {"NOUN", "VERB", "ADJ", "ADV", "OTHER"}
    assert coarse(None) == "OTHER"
