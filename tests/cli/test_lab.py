"""`rnnlens lab`: what it prints and writes, and what it refuses."""

import json

import pytest
from tests.fixtures import formula_run

SUITE = """N.sg: dog
N.pl: dogs
A: old, small, very, now, in, and, said
paradigm: number
the {A} {A} {N.sg|N.pl} {sees|see}
paradigm: one choice
the dog {sees|see} a {A} {A}
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return formula_run(tmp_path_factory.mktemp("lab") / "formula")


@pytest.fixture
def suite(tmp_path):
    path = tmp_path / "mine.suite"
    path.write_text(SUITE, encoding="utf-8")
    return path


def test_a_table_json_and_files(command, run, suite, tmp_path):
    said = command("lab", run, suite)
    assert said.code == 0, said.err
    assert "number" in said.out
    assert "the mean of 1 paradigms with at least 50 items" in said.out
    found = json.loads(command("lab", run, suite, "--json", "-o", tmp_path / "a.json").out)
    assert json.loads((tmp_path / "a.json").read_text()) == found
    rows = {row["paradigm"]: row for row in found["paradigms"]}
    assert rows["number"]["items"] == 2 * 7 * 6
    assert found["accuracy"] == rows["number"]["accuracy"]
    assert rows["one choice"]["items"] == 42
    assert command("lab", run, suite, "-o", tmp_path / "a.csv").code == 0
    assert (tmp_path / "a.csv").read_text().splitlines()[0].startswith("paradigm,condition,items")


def test_kinds_and_interchange_as_table_picture_and_page(command, run, suite, tmp_path):
    flags = ["--kinds", "--interchange", "--untrained"]
    drawn = ["--figure", tmp_path / "a.svg", "-o", tmp_path / "a.html"]
    said = command("lab", run, suite, *flags, "--paradigm", "number", *drawn)
    assert said.code == 0, said.err
    assert said.out.count("at each word before the critical one") == 3
    assert "share of the difference" in (tmp_path / "a.svg").read_text()
    page = (tmp_path / "a.html").read_text()
    assert page.count("<table class=squares>") == 3 * 2
    assert "http" not in page.replace("http-equiv", "")
    found = json.loads(command("lab", run, suite, *flags, "--json").out)
    assert {"kinds", "interchange", "untrained"} <= found.keys()
    one = found["interchange"]["values"][0]
    assert one.keys() == {"paradigm", "kind", "before", "items", "value", "low", "high", "control"}


def test_what_is_responsible_how_long_and_two_models(command, run, suite, tmp_path):
    other, corpus = formula_run(tmp_path / "gru", "gru"), tmp_path / "corpus.txt"
    corpus.write_text("the old dog sees a small bird now .\n" * 40 + "she said in the dog\n" * 40)
    flags = ["--units", "--directions", "--erase", "--half-lives", corpus, "--beside", other]
    said = command("lab", run, suite, "--paradigm", "number", *flags)
    assert said.code == 0, said.err
    for words in ("units by how much less", "c2 placebo", "erased from", "how long memory lasts",
                  "both models on the items"):  # fmt: skip
        assert words in said.out
    found = json.loads(command("lab", run, suite, *flags, "--json").out)
    assert {"units", "directions", "erase", "half_lives", "beside"} <= found.keys()
    beside = found["beside"]
    assert {"units", "directions", "erase", "half_lives", "rows"} <= beside.keys()
    assert {one["kind"] for one in beside["half_lives"]["kinds"]} >= {"z1", "n2"}  # a GRU's
    rows = {(row["paradigm"], row["condition"]): row for row in beside["rows"]}
    alone = json.loads(command("lab", other, suite, "--json").out)
    assert rows["number", ""]["second"] == alone["paradigms"][0]["accuracy"]
    assert rows["number", ""]["first"] == found["paradigms"][0]["accuracy"]


def test_two_models_are_drawn_side_by_side_and_a_concept_is_erased(command, run, suite, tmp_path):
    other, corpus = formula_run(tmp_path / "gru", "gru"), tmp_path / "corpus.txt"
    corpus.write_text("the old dog sees a small bird now .\n" * 99 + "she said in the dog\n" * 99)
    flags = ["--interchange", "--concept", "dog", "--corpus", corpus, "--only", "h1", "--beside"]
    drawn = ["--figure", tmp_path / "a.svg", "-o", tmp_path / "a.html"]
    said = command("lab", run, suite, "--paradigm", "number", *flags, other, *drawn)
    assert said.code == 0, said.err
    assert said.out.count("erased at every word: the word that is read is 'dog'") == 2
    page = (tmp_path / "a.html").read_text()
    for text in ((tmp_path / "a.svg").read_text(), page):
        assert "formula: share of the difference" in text
        assert "gru: share of the difference" in text
    assert page.count("<pre class=wide>") == 3  # the concept in both, and both accuracies


def test_a_unit_is_followed_and_drawn(command, run, suite, tmp_path):
    flags = ["--unit", "c2:1", "--text", "the old dog", "--figure", tmp_path / "unit.svg"]
    said = command("lab", run, suite, *flags)
    assert said.code == 0, said.err
    assert "unit 1 of c2 and its gates, after each word" in said.out
    assert "with it the probe of c2 says more" in said.out
    assert "unit 1 of c2" in (tmp_path / "unit.svg").read_text()


def test_bad_input_is_one_line(command, run, suite, tmp_path):
    other = tmp_path / "other.jsonl"
    other.write_text('{"good": "a", "bad": "b"}\n')
    for words, why in (
        (["lab", run, "agreements"], "there is no suite"),
        (["lab", run, other], "rename its columns"),
        (["lab", run, "agreement"], "the model does not know"),
        (["lab", run, suite, "-o", "a.pdf"], "ending in .json, .csv"),
        (["lab", run, suite, "--figure", "a.svg"], "give --kinds or --interchange"),
        (["lab", run, suite, "--unit", "c2:1"], "give both"),
        (["lab", run, suite, "--unit", "c2", "--text", "a"], "such as c2:174"),
        (["lab", run, suite, "--unit", "c2:9", "--text", "a dog"], "it has 4, from 0"),
        (["lab", run, suite, "--units", "--paradigm", "x"], "there is no paradigm 'x'"),
        (["lab", run, suite, "--untrained"], "give that, too"),
        (["lab", run, suite, "--concept", "NOUN"], "give both"),
        (["lab", run, suite, "--concept", "QQ", "--corpus", suite], "give more text"),
        (["lab", run, suite, "--erase", "--only", "q"], "'q' is no kind"),
        (["lab", run, suite, "--interchange", "--contrasts", "0"], "from 1 up"),
        (["lab", run, suite, "--kinds", "--paradigm", "x"], "there is no paradigm 'x'"),
        (["lab", run, suite, "--most", "0"], "from 1 up"),
        (["lab", run, suite, "--published", tmp_path / "gone"], "there is no file"),
        (["lab", "english-tags", "agreement"], "give a language model"),
    ):
        said = command(*words)
        assert said.code == 2
        assert said.err.count("\n") == 1
        assert why in said.err
