"""Files of suites: three forms, those that come along, and strangers'."""

import gzip
import json
import random
from contextlib import suppress

import pytest

from rnnlens.base.errors import RnnlensError
from rnnlens.lab.suite import BAD, GOOD, PAIR, built_in, read_suite

PAIRS: list[dict[str, object]] = [
    {"UID": "number", "sentence_good": "the dog sees", "sentence_bad": "the dog see", "x": 1},
    {"sentence_good": "a bird sees", "sentence_bad": "a bird see", "linguistics_term": "t"},
]


def gym(**other):
    """A suite of SyntaxGym with one item."""

    def condition(name, verb):
        regions = [{"region_number": k + 1, "content": text} for k, text in enumerate(["the dog",
                   verb])]  # fmt: skip
        return {"condition_name": name, "regions": regions}

    return {
        "meta": {"name": "number", "metric": "sum"},
        "predictions": [{"type": "formula", "formula": "(2;%match%) < (2;%mismatch%)"}],
        "items": [{"item_number": 7, "conditions": [condition("match", "sees"),
                                                    condition("mismatch", "see")]}],
        **other,
    }  # fmt: skip


def written(tmp_path, *records, name="suite.jsonl"):
    path = tmp_path / name
    path.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
    return path


def test_lines_of_pairs(tmp_path):
    suite = read_suite(written(tmp_path, *PAIRS))
    one, two = suite.items
    assert (suite.name, one.paradigm, two.paradigm, two.condition) == ("suite", "number", "suite",
                                                                       "t")  # fmt: skip
    assert one.sentences == {GOOD: ("the dog sees",), BAD: ("the dog see",)}
    assert one.prediction is PAIR
    zipped = tmp_path / "suite.jsonl.gz"
    zipped.write_bytes(gzip.compress((tmp_path / "suite.jsonl").read_bytes()))
    assert read_suite(zipped).items == suite.items


def test_a_suite_of_syntaxgym_on_one_line_or_over_many(tmp_path):
    suite = read_suite(written(tmp_path, gym()))
    (item,) = suite.items
    assert (item.paradigm, item.number, item.metric) == ("number", 7, "sum")
    assert item.sentences["mismatch"] == ("the dog", "see")
    pretty = tmp_path / "pretty.json"
    pretty.write_text(json.dumps(gym(), indent=2), encoding="utf-8")
    assert read_suite(pretty).items == suite.items


def test_those_that_come_along_can_all_be_read():
    assert built_in() == (
        "agreement", "brackets", "garden_paths", "polarity", "quotes", "reflexives",
    )  # fmt: skip
    for name in built_in():
        suite = read_suite(name, most=10)
        assert {item.paradigm for item in suite.items}
        assert all(item.sentences[GOOD] != item.sentences[BAD] for item in suite.items)
    couples = [item.couple for item in read_suite("agreement", most=10).items]
    assert all(couples.count(name) == 2 for name in couples)


def test_items_of_two_templates_of_a_paradigm_are_told_apart(tmp_path):
    path = tmp_path / "two.suite"
    path.write_text("paradigm: p\nthe {dog|dogs} {sees|see}\nparadigm: q\na {b|c} {d|e}\n"
                    "paradigm: p\nan {dog|dogs} {sees|see}\n")  # fmt: skip
    items = read_suite(path).items
    assert [(one.paradigm, one.number) for one in items] == [
        ("p", 0), ("p", 1), ("q", 0), ("q", 1), ("p", 2), ("p", 3)]  # fmt: skip
    couples = [one.couple for one in items]
    assert all(couples.count(name) == 2 for name in couples)
    with pytest.raises(RnnlensError, match="seed=-1: give"):
        read_suite(path, seed=-1)


BROKEN = [
    ([{"good": "a", "bad": "b"}], "has good, bad; rename"),
    ([{"sentence_good": "a", "sentence_bad": " "}], "rename its columns"),
    ([{"sentence_good": "a" * 20_000, "sentence_bad": "b"}], "at most 10,000 letters"),
    ([{**PAIRS[0], "UID": 5}], "no name of at most 200"),
    ([gym(meta={})], "no name"),
    ([gym(meta={"name": "n", "metric": "spread"})], "'spread' is none of"),
    ([gym(predictions=[])], "0 predictions"),
    ([gym(predictions=[{"formula": "(2;%match%) <"}])], "does not parse"),
    ([gym(predictions=[{"formula": "(2;%other%) < 1"}])], "the condition 'other'"),
    ([gym(predictions=[{"formula": "(9;%match%) < 1"}])], "region 9 of match"),
    ([gym(items={})], "no list of items"),
    ([gym(items=[{"item_number": 1, "conditions": []}])], "0 conditions"),
    ([gym(items=[{"item_number": "1", "conditions": []}])], "no item_number"),
    ([gym(items=[{"item_number": 1, "conditions": [{"condition_name": "a", "regions": [
        {"region_number": 3, "content": "x"}]}]}])], "not numbered from 1"),
]  # fmt: skip


@pytest.mark.parametrize(("records", "why"), BROKEN, ids=[why for _, why in BROKEN])
def test_bad_files_are_refused_in_one_line(tmp_path, records, why):
    with pytest.raises(RnnlensError) as error:
        read_suite(written(tmp_path, *records))
    assert why in str(error.value)
    assert "suite.jsonl" in str(error.value)
    assert "\n" not in str(error.value)


def test_what_is_no_suite_is_refused(tmp_path):
    for name, data, why in (
        ("empty", b"", "is empty"),
        ("binary", b"\0\1\2" * 50, "binary"),
        ("latin", '{"sentence_good": "é"}'.encode("latin-1"), "not utf-8"),
        ("half", b'{"sentence_good": "a"', "begins like JSON and is none"),
        ("deep", b'{"a":' * 100_000, "begins like JSON and is none"),
        ("bomb.gz", gzip.compress(b" " * (200 << 20)), "times"),
    ):
        path = tmp_path / name
        path.write_bytes(data)
        with pytest.raises(RnnlensError) as error:
            read_suite(path)
        assert why in str(error.value), name
    with pytest.raises(RnnlensError, match="there is no suite 'agreements'; give a file, or one"):
        read_suite("agreements")


def test_mutated_files_are_read_or_refused(tmp_path):
    draw = random.Random(5)
    text = json.dumps(gym()) + "\n" + json.dumps(PAIRS[0])
    for _ in range(300):
        letters = list(text)
        for _ in range(draw.randint(1, 4)):
            at = draw.randrange(len(letters))
            letters[at : at + draw.randint(0, 3)] = draw.choice(['"', "{", "[", "", "9", "%", "é"])
        path = tmp_path / "mutated"
        path.write_text("".join(letters), encoding="utf-8")
        with suppress(RnnlensError):
            assert read_suite(path).items
