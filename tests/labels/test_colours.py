"""Groupings: the run's and the user's own."""

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from rnnlens.base.errors import RnnlensError
from rnnlens.labels.colours import (
    CLASS_COLOURS,
    COARSE_COLOURS,
    OTHER,
    UNIVERSAL_COLOURS,
    checked,
    colours_of,
    default_colours,
    palettes,
    read_colours,
)
from rnnlens.labels.parts_of_speech import UNIVERSAL
from rnnlens.run.folder import Run

MINE = {"colours": {"ANIMAL": "#123456"}, "groups": {"dog": "ANIMAL"}}


def written(path: Path, value) -> Path:
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def test_parts_of_speech_become_three_groupings():
    words = {"dog": "NOUN", "the": "DET", "sees": "VERB", ",": "PUNCT", "NUM": "NUM", "<s>": "X"}
    made = default_colours(list(words), list(words.values()), "by hand", ())["groupings"]
    assert list(made) == ["classes", "coarse", "universal"]
    content = {"dog": "NOUN", "sees": "VERB"}
    assert made["classes"]["groups"] == {**content, "the": "FUNCTION", ",": "PUNCTUATION"}
    assert made["coarse"]["groups"] == content
    assert made["universal"]["groups"] == {word: p for word, p in words.items() if p != "X"}
    for one in made.values():
        assert checked(one, Path("x")) == one


def test_without_parts_of_speech_few_labels_have_a_colour_each():
    made = default_colours(["der", "die"], None, "none", [2, 1])["groupings"]
    assert made["labels"]["groups"] == {"der": "der", "die": "die"}


def test_without_parts_of_speech_many_labels_go_by_how_frequent_they_are():
    labels, counts = [f"q{k}" for k in range(20)], [10, *[1] * 9, 40, 30, *[1] * 8]
    made = default_colours(labels, None, "no tags", counts)
    groups = made["groupings"]["frequency"]["groups"]
    # Of 97 the first makes up 40, the second goes past half.
    assert {label for label, group in groups.items() if group == "FREQUENT"} == {"q10", "q11"}
    common = {label for label, group in groups.items() if group == "COMMON"}
    assert "q0" in common
    assert len(common) == 9  # 70, 80, 81, ... up to 88 of 97
    assert set(groups) == set(labels)
    assert made["source"] == "by how frequent a label is: no tags"
    assert checked(made["groupings"]["frequency"], Path("x"))["groups"] == groups


def test_every_group_has_a_colour_of_its_own():
    for colours in (CLASS_COLOURS, COARSE_COLOURS, UNIVERSAL_COLOURS):
        assert len(set(colours.values())) == len(colours)
        assert OTHER in colours


# What colour-blind readers see of linear red, green, blue (Machado, Oliveira and Fernandes, 2009).
SEEN = {
    "all": np.eye(3),
    "deuteranopia": np.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
                              [-0.011820, 0.042940, 0.968881]]),
    "protanopia": np.array([[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
                            [-0.003882, -0.048116, 1.051998]]),
}  # fmt: skip
OKLAB = np.array([[0.4122214708, 0.5363325363, 0.0514459929],
                  [0.2119034982, 0.6806995451, 0.1073969566],
                  [0.0883024619, 0.2817188376, 0.6299787005]])  # fmt: skip
FROM_CONES = np.array([[0.2104542553, 0.7936177850, -0.0040720468],
                       [1.9779984951, -2.4285922050, 0.4505937099],
                       [0.0259040371, 0.7827717662, -0.8086757660]])  # fmt: skip


def least_distance(colours, seen, share=1.0):
    """Between any two of some colours, faded to a share, as somebody sees them: in OKLab, where
    0.02 is just noticed.
    """
    rgb = np.array([[int(colour[k : k + 2], 16) for k in (1, 3, 5)] for colour in colours]) / 255
    rgb = share * rgb + 1 - share
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    lab = np.cbrt(np.clip(linear @ SEEN[seen].T, 0, 1) @ OKLAB.T) @ FROM_CONES.T
    return min(np.linalg.norm(a - b) for a, b in combinations(lab, 2))


@pytest.mark.parametrize("seen", SEEN)
def test_groups_are_told_apart_also_by_colour_blind_readers(seen):
    least = {"all": (0.11, 0.085), "deuteranopia": (0.07, 0.04), "protanopia": (0.09, 0.04)}
    classes, universal = least[seen]
    assert least_distance(CLASS_COLOURS.values(), seen) > classes
    assert least_distance(CLASS_COLOURS.values(), seen, share=0.5) > 0.03
    assert least_distance(UNIVERSAL_COLOURS.values(), seen) > universal


def test_the_users_own_grouping_comes_first(tmp_path, formula):
    own = written(tmp_path / "mine.json", MINE)
    run = {"groupings": {"coarse": {"colours": COARSE_COLOURS, "groups": {}}}}
    found = palettes(run, tmp_path / "colours.json", own)
    assert list(found) == ["own", "coarse"]
    assert found["own"]["colours"] == {"ANIMAL": "#123456", OTHER: UNIVERSAL_COLOURS[OTHER]}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("{", "damaged"),
        ([], "no colour mapping"),
        ({"colours": {}}, "no colour mapping"),
        ({"colours": {"A": "red"}, "groups": {}}, "write it as #rrggbb"),
        ({"colours": {"A": "#12345"}, "groups": {}}, "write it as #rrggbb"),
        ({"colours": {}, "groups": {"dog": "A"}}, "has no colour"),
    ],
)
def test_a_mapping_that_cannot_be_drawn_is_refused(tmp_path, value, said):
    with pytest.raises(RnnlensError, match=said) as problem:
        read_colours(written(tmp_path / "mine.json", value))
    assert "mine.json" in str(problem.value)


def test_a_mapping_that_is_not_there_is_said(tmp_path):
    with pytest.raises(RnnlensError, match="give a JSON file"):
        read_colours(tmp_path / "none.json")


def test_a_damaged_grouping_of_the_run_is_said(tmp_path):
    damaged = {"source": "", "groupings": {"coarse": {"colours": 3, "groups": {}}}}
    path = written(tmp_path / "colours.json", damaged)
    with pytest.raises(RnnlensError, match=r"is damaged \(groupings.coarse.colours: Input should"):
        palettes(Run(tmp_path).colours(), path, None)


def test_a_grouping_may_name_other_itself():
    value = {"colours": {OTHER: "#000000"}, "groups": {}}
    assert checked(value, Path("x"))["colours"] == {OTHER: "#000000"}


def test_a_taggers_labels_have_the_colours_that_readers_know():
    found = colours_of(["VERB", "NOUN", "X"], [1, 1, 1])
    assert list(found["groupings"]) == ["labels"]
    made = found["groupings"]["labels"]
    assert made["groups"] == {"VERB": "VERB", "NOUN": "NOUN"}  # X is as good as any other
    assert made["colours"]["VERB"] == UNIVERSAL_COLOURS["VERB"]
    assert checked(made, Path("x")) == made


@pytest.mark.parametrize("count", [2, len(UNIVERSAL_COLOURS) - 1])
def test_few_labels_have_a_colour_each(count):
    labels = [f"l{k}" for k in range(count)]
    made = colours_of(labels, [1] * count)["groupings"]["labels"]
    assert made["groups"] == {label: label for label in labels}
    assert len({made["colours"][label] for label in [*labels, OTHER]}) == count + 1
    assert checked(made, Path("x")) == made


@pytest.mark.slow
def test_many_labels_go_by_their_part_of_speech_if_they_are_words():
    words = "the a dog dogs cat house river see sees said old young red often never in with she"
    found = colours_of(words.split(), [1] * 18)
    assert list(found["groupings"]) == ["classes", "coarse", "universal"]
    assert found["groupings"]["coarse"]["groups"]["dogs"] == "NOUN"
    assert "lexicon" in found["source"]
    names = [f"q{k}" for k in range(18)]
    assert list(colours_of(names, [1] * 18)["groupings"]) == ["frequency"]


def test_the_tags_of_a_corpus_count_more_than_a_lexicon():
    names = [f"q{k}" for k in range(18)]
    counts = np.zeros((18, len(UNIVERSAL)), np.int64)
    counts[:, UNIVERSAL.index("VERB")] = 1
    found = colours_of(names, [1] * 18, counts)
    assert found["groupings"]["coarse"]["groups"] == dict.fromkeys(names, "VERB")
