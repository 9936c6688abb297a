"""Surprisals by the tree of beginnings are those of a plain loop, and predictions hold by them."""

import json

import numpy as np
import pytest
import torch

from rnnlens.base.errors import RnnlensError
from rnnlens.corpus.vocabulary import Vocabulary
from rnnlens.lab.encoded import encoded
from rnnlens.lab.formula import parsed_formula
from rnnlens.lab.prefixes import Reader, Tree
from rnnlens.lab.scoring import scored, surprisals
from rnnlens.lab.suite import BAD, GOOD, Item, Suite
from rnnlens.model.text import TextSide, column

TEXTS = [
    ("the dog sees the bird .", "the dog see the bird ."),
    ("the dogs see a bird", "the dogs sees a bird"),
    ("she said the dog sees", "she said the dogs sees"),
    ("the very old dog sees , she said", "the very old dog see , she said"),
]


@pytest.fixture(scope="module")
def suite():
    items = [Item("number", k, {GOOD: (a,), BAD: (b,)}) for k, (a, b) in enumerate(TEXTS)]
    return Suite("mine", tuple(items))


def plain(lens, text):
    """-log2 p of every word of a text but the first, one text and one step at a time."""
    session = lens.subject.session
    ids = session.text.encode(session.words(text))
    with torch.no_grad():
        trace = lens.subject.model.trace(session.text.batch(ids))
        log_p = trace.logits[:, 0].double().log_softmax(-1)
    return [float(-log_p[t, ids[t + 1]] / np.log(2)) for t in range(len(ids) - 1)]


def test_the_tree_has_each_beginning_once():
    tree = Tree([(1, 2, 3), (1, 2), (4,), (1, 2, 5), (4,)])
    assert [len(words) for words in tree.words] == [2, 1, 2]
    assert [words.tolist() for words in tree.words] == [[1, 4], [2], [3, 5]]
    assert [above.tolist() for above in tree.parents] == [[0, 0], [0], [0, 0]]
    assert tree.nodes.tolist() == [[0, 0, 0], [0, 0, -1], [1, -1, -1], [0, 0, 1], [1, -1, -1]]


@pytest.mark.parametrize("name", ["formula", "gru", "rnn"])
def test_margins_are_those_of_a_plain_loop(formula, formulas, suite, name):
    lens = formula if name == "formula" else formulas[name]
    items = encoded(suite, lens.subject.session.text)
    reader = Reader(lens.subject.model, lens.subject.session.text)
    assert reader.together
    found = scored(reader, items.items)
    wanted = [sum(plain(lens, b)) - sum(plain(lens, a)) for a, b in TEXTS]
    np.testing.assert_allclose(found.margins, wanted, atol=1e-4)
    assert found.right.tolist() == [float(margin > 0) for margin in wanted]


def test_one_text_at_a_time_gives_the_same(formula, suite):
    items = encoded(suite, formula.subject.session.text).items
    reader = Reader(formula.subject.model, formula.subject.session.text)
    together = surprisals(reader, items)
    reader.together = False
    for ids, bits in surprisals(reader, items).items():
        np.testing.assert_allclose(bits, together[ids], atol=1e-5)


def test_only_what_is_asked_is_computed(formula, suite):
    items = encoded(suite, formula.subject.session.text).items
    reader = Reader(formula.subject.model, formula.subject.session.text)
    bits = surprisals(reader, items)
    first = bits[items[0].sentences[GOOD].ids]
    assert np.isnan(first[:2]).all()  # what both begin with
    assert not np.isnan(first[2:]).any()


def test_the_bundled_model_is_as_in_a_plain_loop():
    import rnnlens

    lens = rnnlens.load("english-news")
    found = lens.lab("agreement", most=6)
    for k, one in enumerate(found.items.items):
        good, bad = (" ".join(one.sentences[c].words) for c in (GOOD, BAD))
        wanted = sum(plain(lens, bad)) - sum(plain(lens, good))
        assert found.scored.margins[k] == pytest.approx(wanted, abs=1e-4)


def test_unknown_words_first_words_and_the_same_twice_are_told_apart(formula):
    pairs = [("the dog sees", "the dog see"), ("the cat sees", "the cat see"), ("a dog", "A dog"),
             ("the cow sees", "the cow see")]  # fmt: skip
    items = [Item(f"p{k}", k, {GOOD: (a,), BAD: (b,)}) for k, (a, b) in enumerate(pairs)]
    side = formula.subject.session.text
    found = encoded(Suite("s", tuple(items)), side)
    assert [one.item.number for one in found.items] == [0]
    assert (dict(found.left_out), dict(found.silent)) == ({"p1": 1, "p3": 1}, {"p2": 1})
    assert found.unknown == (("cat", 1), ("cow", 1))
    kept = encoded(Suite("s", tuple(items)), side, "keep")
    assert [one.item.number for one in kept.items] == [0, 1, 3]
    with pytest.raises(RnnlensError, match="none can be asked: the model does not know cat"):
        encoded(Suite("s", tuple(items[1:2])), side)
    with pytest.raises(RnnlensError, match="none can be asked: each is about"):
        encoded(Suite("s", tuple(items[2:3])), side)
    long = Item("p", 0, {GOOD: ("the " * 1001,), BAD: ("a",)})
    with pytest.raises(RnnlensError, match="a sentence of 1,001 words"):
        encoded(Suite("s", (long,)), side)


def test_what_is_no_language_model_is_refused():
    import rnnlens

    with pytest.raises(RnnlensError, match="this model predicts other labels; give a language mo"):
        rnnlens.load("english-tags").lab("agreement")
    with pytest.raises(RnnlensError, match="give a language model"):
        rnnlens.load("waves").lab("agreement")


def test_a_formula_of_regions_is_evaluated(formula, tmp_path):
    regions = {"m": ["the dog", "sees the", "bird"], "x": ["the dogs", "sees the", "bird"]}
    record = {
        "meta": {"name": "g", "metric": "mean"},
        "predictions": [{"formula": "(2;%m%) < (2;%x%)"}, {"formula": "(2;%m%) > (3;%x%)"}],
        "items": [{"item_number": 1, "conditions": [
            {"condition_name": name, "regions": [
                {"region_number": k + 1, "content": text} for k, text in enumerate(texts)]}
            for name, texts in regions.items()]}],
    }  # fmt: skip
    path = tmp_path / "g.json"
    path.write_text(json.dumps(record), encoding="utf-8")
    found = formula.lab(path)
    bits = {name: plain(formula, " ".join(texts)) for name, texts in regions.items()}
    means = {name: (some[1] + some[2]) / 2 for name, some in bits.items()}
    assert found.scored.right.tolist() == [means["m"] < means["x"], means["m"] > bits["x"][3]]
    assert found.scored.margins == pytest.approx([means["x"] - means["m"],
                                                  means["m"] - bits["x"][3]], abs=1e-4)  # fmt: skip
    assert [row.condition for row in found.conditions] == ["prediction 1", "prediction 2"]


REGIONS = {"a": ("the", "", "dog", "ran"), "b": ("the", "", "cat", "ran")}


def read_by(split, names, **more):
    """The first condition of an item of regions, as a model reads it that splits so."""
    side = TextSide(
        Vocabulary(tuple(names), tuple(range(len(names), 0, -1))), split, column, **more
    )
    item = Item("p", 1, REGIONS, parsed_formula("(3;%a%) < (3;%b%)"))
    return encoded(Suite("regions", (item,)), side, "keep").items[0].sentences["a"]


def test_regions_end_where_the_whole_sentence_is_split():
    letters = read_by(list, [*"thedogcatrn ", "UNK", "NUM"], splitting="letters")
    assert "".join(letters.words) == "the dog ran"  # blanks are read, too
    assert letters.ends == (3, 3, 7, 11)
    words = ["<s>", "the", "dog", "cat", "ran", "UNK", "NUM"]
    marked = read_by(str.split, words, splitting="blanks", begin="<s>")
    assert marked.words == ("<s>", "the", "dog", "ran")  # once
    assert [marked.words[place] for place in marked.region(3)] == ["dog"]
    with pytest.raises(RnnlensError, match="ends after 'the', and the model reads that in other"):
        read_by(lambda text: [text], words)
