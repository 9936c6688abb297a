"""Groupings: the run's and the user's own."""

import json
from pathlib import Path

import numpy as np
import pytest

from rnnlens.base.errors import RnnlensError
from rnnlens.labels.colours import (
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


def test_parts_of_speech_become_two_groupings():
    made = default_colours(["dog", "the", "sees"], ["NOUN", "DET", "VERB"], "by hand", ())
    assert made["groupings"]["coarse"]["groups"] == {"dog": "NOUN", "sees": "VERB"}
    assert made["groupings"]["universal"]["groups"]["the"] == "DET"


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
    for colours in (COARSE_COLOURS, UNIVERSAL_COLOURS):
        assert len(set(colours.values())) == len(colours)
        assert OTHER in colours


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
    assert list(found["groupings"]) == ["coarse", "universal"]
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
