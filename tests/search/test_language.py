"""Questions to an index, against loops over grids that were written without parser and SQL."""

import os
import random
from dataclasses import replace

import numpy as np
import pytest
from tests.fixtures import WORDS
from tests.search.naive import Questions, asked, facts_of
from tests.shown import ROOT

from rnnlens.base.errors import RnnlensError
from rnnlens.search.find import find
from rnnlens.search.language import GRAMMAR, Names, QueryError, as_group, as_kind, as_text, parse
from rnnlens.search.store import Index

COUNT = int(os.environ.get("RNNLENS_QUERIES", "60"))  # 500 for a thorough look


@pytest.fixture(scope="module")
def index(indexed):
    return Index.of(indexed.subject.run)


@pytest.fixture(scope="module")
def sentences(grids, index):
    return [facts_of(grid, index.contents.pairs) for grid in grids]


@pytest.fixture(scope="module")
def draw(sentences, index, indexed):
    palette = next(iter(indexed.palettes.values()))
    groups = {w: palette.groups[palette.group_of[k]] for k, w in enumerate(indexed.labels)}
    return Questions(
        sentences, list(index.contents.kinds), list(index.names.groups), list(indexed.labels),
        list(index.contents.pairs), WORDS, random.Random(7),
    ).with_groups(groups)  # fmt: skip


def rows(index, question):
    answer = find(index, question, None)
    return [(row["sentence"], row["position"]) for row in answer.rows]


@pytest.mark.slow
def test_random_questions_find_what_a_loop_finds(index, sentences, draw):
    sizes = []
    for number in range(COUNT):
        text, holds = draw.condition(number % 4)
        expected = [(k, t) for k, s in enumerate(sentences) for t in range(len(s))
                    if holds(s, t) and asked(holds)(s, t)]  # fmt: skip
        assert rows(index, text) == expected, text
        sizes.append(len(expected))
    every = sum(map(len, sentences))
    assert sum(0 < size < every for size in sizes) > COUNT / 2  # most tell words apart


def test_counts_are_the_counts_of_a_loop(index, sentences):
    (row,) = find(index, "y rank = 1 count").table.to_pylist()
    facts = [fact for facts in sentences for fact in facts]
    hits = [fact for fact in facts if fact["y"]["rank"] == 1]
    told = [fact for fact in facts if fact["next"] is not None]  # nothing follows the others
    assert 0 < row["low"] < row["share"] < row["high"] < 1
    assert (row["count"], row["words"]) == (len(hits), len(told))
    assert row["share"] == len(hits) / len(told)
    table = find(index, "y rank <= 3 count by word, l2 limit 5").table.to_pylist()
    assert len(table) == 5
    for row in table:
        alike = [f for f in told if (f["word"], f["l2"]["group"]) == (row["word"], row["l2 group"])]
        hits = [fact for fact in alike if (fact["y"]["rank"] or 99) <= 3]
        assert (row["count"], row["words"]) == (len(hits), len(alike))
    assert [row["count"] for row in table] == sorted((r["count"] for r in table), reverse=True)
    labels = find(index, "count by h2 label").table.to_pylist()
    assert sum(row["count"] for row in labels) == len(facts)
    tops = {fact["h2"]["top"][0][0] for fact in facts}
    assert {row["h2 label"] for row in labels} == tops
    assert find(index, "position = 0 count by split").total == len(sentences)


def test_answers_are_sorted_and_limited(index):
    answer = find(index, "y rank > 1 sort by surprisal desc limit 7")
    bits = [hit.surprisal or 0.0 for hit in answer]
    assert len(bits) == 7
    assert bits == sorted(bits, reverse=True)
    assert answer.total > 7
    lowest = find(index, "sort by h2 differs from c2 limit 3").rows
    assert [row["sorted_by"] for row in lowest] == sorted(row["sorted_by"] for row in lowest)
    assert find(index, "word = dog limit 2").sql.endswith("LIMIT 2")
    last = find(index, "sort by surprisal", None).rows[-1]
    assert last["surprisal"] is None  # what has no number comes last


@pytest.mark.parametrize(
    ("question", "place", "message"),
    [
        ("l2 expcts verb", 3, "did you mean expects"),
        ("l2 expects vreb", 11, "no such group and no label; did you mean VERB"),
        ('l2 expects "dgo"', 11, "no such label; did you mean dog"),
        ("l2 expects {dog, birdd}", 17, "no such label; did you mean bird"),
        ("l9 expects verb", 0, "it is no kind and no word of the grammar; did you mean"),
        ("l2 agrees with l9", 15, "it is no kind of the index"),
        ("`l9` expects verb", 0, "it is no kind of the index"),
        ("l2 differs from x", 3, "the index compares l2 with"),
        ("l2 differs from s2 > ", 21, "its end"),
        ("l2 expects verb >", 17, "a number belongs here"),
        ("(word = dog", 11, "a closing bracket belongs here"),
        ("word ~ dog", 5, "=, !=, in, like"),
        ('word = "dog', 7, "texts stand in quotes"),
        ("word is nuon", 8, "there is no such group"),
        ("map l2 in 0..1", 14, "a comma and the second range belong here"),
        ("map l2 in 0..1, 2", 16, "a range belongs here"),
        ("map l2 in 0, 1", 10, "a range belongs here"),
        ("map l2 in 1..-1, 0..1", 10, "it ends before it begins; turn it round: -1..1"),
        ("map l2 in 0..1, 0..1e999", 16, "the number is too large"),
        ("map l2 in 0..nan, 0..1", 10, "a range belongs here"),
        ("map l2 0..1, 0..1", 7, "in belongs here"),
        ("map y in 0..1, 0..1", 4, "y has no map; there is x"),
        ("map l9 in 0..1, 0..1", 0, "no word of the grammar"),
        ("word = dog limit 0", 17, "a number from 1"),
        ("word = dog limit " + "9" * 5000, 17, "a number from 1 to 999,999,999"),
        ("l2 differs from l2@-" + "1" * 5000, 3, "the index compares l2 with"),
        ("surprisal > 1e999", 12, "the number is too large"),
        ("surprisal > " + "9" * 5000, 12, "the number is too large"),
        ("word = dog limit many", 17, "a whole number belongs here"),
        ("within 0 (word = dog)", 7, "a number from 1"),
        ("word = dog dog", 11, "and, or, count"),
        ("count by l2 sort by surprisal", 29, "counts are sorted by themselves"),
        ("count by colour", 9, "count by word, next"),
        ("surprisal", 9, "one of = !="),
        ("and word = dog", 0, "no word of the grammar"),
        ("word in dog", 8, "{ belongs here"),
        ("word in {dog", 12, ", or } belongs here"),
        ("not " * 200 + "word = dog", 400, "more than 100 conditions"),
        ("(" * 200 + "word = dog", 200, "more than 100 conditions"),
    ],
)
def test_a_wrong_question_is_pointed_at(index, question, place, message):
    with pytest.raises(QueryError, match=r".") as error:
        find(index, question)
    assert message in str(error.value)
    if place < 100:
        assert error.value.place == place
        line, caret = error.value.pointed().split("\n")
        assert (line, caret) == (question, " " * place + "^")


def test_bytes_that_are_no_text_are_refused(index):
    with pytest.raises(QueryError, match="character 8 is no text in UTF-8"):
        find(index, "word = \udcff")
    with pytest.raises(RnnlensError, match="character 9 of the SQL is no text in UTF-8"):
        index.ask("SELECT '\udcff'")


@pytest.mark.parametrize(
    ("question", "place"),
    [("y rank = 1", 2), ("y came > .1", 2), ("surprisal > 1", 0), ("sort by h2 surprisal", 11),
     ("word is noun", 5), ("next is noun", 0), ("count by next", 9)],
)  # fmt: skip
def test_labels_that_do_not_follow_have_not_come(index, question, place):
    names = replace(index.names, follows=False)
    with pytest.raises(QueryError, match="does not tell which came; ask what is said") as error:
        parse(question, names)
    assert error.value.place == place
    parse("word is unknown and y expects noun count by y label", names)
    parse("word = next and tag in {rank, came}", names)


def test_a_question_may_not_be_endless(index):
    with pytest.raises(RnnlensError, match="is too long"):
        find(index, "word = dog or " * 2000 + "word = dog")


def test_quotes_in_texts_stay_inside_them(index):
    assert rows(index, """word = "'; drop view words; --" """) == []
    assert rows(index, """tag = "'; DROP VIEW words; --" """) == []
    assert rows(index, """word = "\\"" """) == rows(index, "word = '\"'") != []
    assert rows(index, """word like "'%" """) == rows(index, """word = "''" """)


def test_percents_and_short_numbers_are_numbers(index):
    assert (
        rows(index, "y share > 50%") == rows(index, "y share > .5") == rows(index, "y share > 0.5")
    )


def test_what_differs_without_a_number_differs_by_half_a_bit(index):
    assert rows(index, "l2 differs from s2") == rows(index, "s2 differs from l2 > .5")


def test_every_form_of_the_grammar_is_understood(index):
    for question in (
        "", "count", "h2 surprisal > 3", "l2 entropy > s2 entropy", "l2 differs from c2@-1 > .1",
        "l2 differs from l2@-1 sort by l2 differs from l2@-1 desc", "word not in {dog}",
        "next is verb and word is unknown", "c2 agrees with l2, s2 on group",
        "l2 expects dog > 1e-3",
    ):  # fmt: skip
        find(index, question).table.to_pylist()
    assert "KIND expects THING" in GRAMMAR


def test_the_documentation_has_the_grammar():
    page = (ROOT / "docs/corpus-search.md").read_text(encoding="utf-8")
    assert f"```text\n{GRAMMAR}\n```" in page


def test_names_are_written_as_questions_want_them():
    assert [as_kind(kind) for kind in ("l2", "h1<", "word", "a b")] == [
        "l2", "h1<", "`word`", "`a b`"]  # fmt: skip
    assert [as_group(name) for name in ("NOUN", "a b", "2")] == [
        "NOUN", 'group "a b"', 'group "2"']  # fmt: skip
    assert as_text('say "\\"') == '"say \\"\\\\\\""'


def test_ranges_in_one_another_are_bounded(index):
    assert parse(
        "within 1000 tag = NOUN and within 40 (within 12 word = dog)", index.names
    ).condition
    with pytest.raises(QueryError, match="look at 4,000 rows, more than 2,000; give smaller") as e:
        parse("within 40 before within 50 word = dog", index.names)
    assert e.value.place == len("within 40 before within ")


def test_a_corpus_without_tags_says_so(index):
    names = replace(index.names, tagged=False)
    for question in ('tag = "NOUN"', "count by tag", "within 2 tag in {NOUN}"):
        with pytest.raises(QueryError, match="this corpus has no tags") as error:
            parse(question, names)
        assert error.value.place == question.index("tag")


def test_an_index_without_a_map_says_how_to_get_one(index):
    with pytest.raises(QueryError, match="this index has no map; make it anew: rnnlens index"):
        parse("map l2 in 0..1, 0..1", replace(index.names, maps=()))


def test_a_question_knows_whose_groups_it_asks_about(index):
    def groups(question):
        return set(parse(question, index.names).groups)

    assert groups("l2 disagrees with s2 and y expects dog") == {"l2", "s2"}
    assert groups("l2 disagrees with s2 on label or y expects noun > .4") == {"y"}
    assert groups("map h2 in -1..1, -1..1 and l2 rank = 1") == {"h2"}
    assert groups("l2 rank = 1 and y entropy > 1") == set()


def test_capitals_in_a_corpus_that_is_written_small_are_named(index):
    for question in ('word = "The"', "word in {dog, The}", 'next like "The%"'):
        with pytest.raises(QueryError, match="words of this corpus are written small; write"):
            parse(question, index.names)
        parse(question, replace(index.names, folded=False))
    assert rows(index, 'next = "UNK"') != []  # a label, which stays large


def test_a_word_is_of_the_group_that_the_grid_gives_it(index, grids):
    for group in index.names.groups:
        drawn = [
            (number, place)
            for number, grid in enumerate(grids)
            for place, word in enumerate(grid.json["words"])
            if word["group"] == group
        ]
        assert rows(index, f"word is {group}") == drawn
    read = {word["label"] for grid in grids for word in grid.json["words"]}
    assert {"UNK", "NUM"} <= read  # which are spelled otherwise


def test_not_and_shares_are_of_the_words_that_something_follows(index, sentences):
    both = [rows(index, question) for question in ("y rank != 1", "not y rank = 1")]
    assert both[0] == both[1]
    ends = sum(fact["next"] is None for facts in sentences for fact in facts)
    every = sum(map(len, sentences))
    found = find(index, "y rank = 1")
    assert (found.words, find(index, "l2 expects verb").words) == (every - ends, every)
    assert found.total + len(both[0]) == found.words
    assert f"of {found.words:,} words" in repr(found)


def test_intervals_are_those_of_sentences_drawn_again(index, sentences):
    """Against a bootstrap that draws the sentences themselves."""
    hits = [sum(fact["l2"]["group"] == fact["s2"]["group"] for fact in s) for s in sentences]
    counts = np.array([hits, [len(s) for s in sentences]])
    draw = np.random.default_rng(5)
    picks = draw.integers(0, len(sentences), (4000, len(sentences)))
    above, below = counts[:, picks].sum(2)
    sure = find(index, "l2 agrees with s2").interval
    assert sure is not None
    low, high = np.quantile(above / below, (0.025, 0.975))
    assert (sure.low, sure.high) == pytest.approx((low, high), abs=0.03)
    (line,) = find(index, "l2 agrees with s2 count").table.to_pylist()
    assert (line["low"], line["high"]) == (sure.low, sure.high)
    for line in find(index, "l2 agrees with s2 count by y").table.to_pylist():
        group = line["y group"]
        mine = [[f for f in s if f["y"]["group"] == group] for s in sentences]
        same = [sum(f["l2"]["group"] == f["s2"]["group"] for f in s) for s in mine]
        above, below = np.array([same, list(map(len, mine))])[:, picks].sum(2)
        if line["words"] > 20:
            ends = np.quantile(above[below > 0] / below[below > 0], (0.025, 0.975))
            assert (line["low"], line["high"]) == pytest.approx(tuple(ends), abs=0.06)


PIECES = Names(("h1", "y"), ("rare",), {"▁solid": 0, "▁sol": 1, "arity": 2, "▁the": 3, "%": 4},
               frozenset())  # fmt: skip


@pytest.mark.parametrize(
    ("question", "plain"),
    [("word = the", 'word = "▁the"'), ("next in {the, arity}", 'next in {"▁the", arity}'),
     ('y expects "the"', 'y expects "▁the"')],
)  # fmt: skip
def test_a_piece_that_begins_a_word_is_found_by_the_word(question, plain):
    assert parse(question, PIECES).condition == parse(plain, PIECES).condition


@pytest.mark.parametrize(
    "question", ["word = solidarity", "next in {solidarity}", 'y expects "solidarity"']
)
def test_a_word_of_several_pieces_is_refused_with_those_that_it_begins_with(question):
    with pytest.raises(QueryError, match=r'more than one piece, and begins with one of "▁solid"'):
        parse(question, PIECES)


def test_a_form_is_no_word_of_several_pieces():
    parse('word like "solid%"', PIECES)
