"""Indexes of numbers, sets and other labels than the model's, and of recorded states: what is found
is what plain arithmetic finds.
"""

import numpy as np
import pytest
import torch
from tests import recorded

import rnnlens
from rnnlens.search.language import QueryError

SEMANTICS = "output,short,size,traits"


@pytest.fixture(scope="module")
def lens(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sorts")
    recorded.recorded(folder / "states")
    made = rnnlens.from_states(folder / "states", semantic=SEMANTICS, epochs=3)
    return rnnlens.load(made.save(folder / "run"))


@pytest.fixture(scope="module")
def indexes(lens, tmp_path_factory):
    folder = tmp_path_factory.mktemp("indexes")
    return {
        name: rnnlens.index(lens, folder=folder / name, semantic=name, states="int8")
        for name in SEMANTICS.split(",")
    }


def said(lens, kind, semantic):
    """What plain arithmetic says of every row, in the order of the files."""
    states = torch.from_numpy(recorded.arrays()[kind])
    logits = lens.subject.probes.logits(kind, states, semantic).double()
    return lens.subject.answers(semantic).probabilities(logits).numpy()


def hits(lens, index, question):
    found = lens.find(question, limit=None, index=index)
    return {(hit.text, hit.position) for hit in found}, found.total


def rows_where(lens, holds):
    """The places of rows, as an index names them."""
    kept = lens.subject.model.kept
    return {
        (kept.text(k), row - kept.span(k)[0])
        for k in range(len(kept))
        for row in kept.span(k)
        if holds[row]
    }


def test_numbers(lens, indexes):
    scale = lens.subject.answers("size").scale
    means = said(lens, "h1", "size") @ np.array(scale.middles)
    level = float(np.median(means))
    found, total = hits(lens, indexes["size"], f"h1 number > {level:.6f}")
    clear = np.abs(means - level) > 1e-4
    wanted, unclear = rows_where(lens, (means > level) & clear), rows_where(lens, ~clear)
    assert found - unclear == wanted
    assert total == len(found)
    first = next(iter(lens.find("sort by h1 number desc limit 1", index=indexes["size"])))
    assert (first.text, first.position) in rows_where(lens, means > np.sort(means)[-4] - 1e-4)
    low, _ = hits(lens, indexes["size"], "h1 low <= h1 number and h1 number <= h1 high")
    assert len(low) > 0.9 * len(means)


def test_sets(lens, indexes):
    p = said(lens, "x", "traits")
    for k, name in enumerate(recorded.NAMES["traits"]):
        found, _ = hits(lens, indexes["traits"], f'x has "{name}"')
        assert found == rows_where(lens, p[:, k] >= 0.5)
        sure, _ = hits(lens, indexes["traits"], f'x has "{name}" > .8')
        clear = np.abs(p[:, k] - 0.8) > 0.01  # probabilities are kept to seven bits
        assert sure - rows_where(lens, ~clear) == rows_where(lens, (p[:, k] > 0.8) & clear)
    both, _ = hits(lens, indexes["traits"], "x has even and not x has late")
    assert both == rows_where(lens, (p[:, 0] >= 0.5) & (p[:, 1] < 0.5))


def test_labels_that_are_not_the_next_word(lens, indexes):
    p = said(lens, "h1", "short")
    found, _ = hits(lens, indexes["short"], 'h1 expects "yes"')
    assert found == rows_where(lens, p[:, 1] > p[:, 0])
    following, _ = hits(lens, indexes["output"], "h1 rank = 1")
    said_next = said(lens, "h1", "output").argmax(1)
    words = recorded.arrays()["words"]
    ends = np.cumsum(recorded.arrays()["lengths"]) - 1
    right = np.append(
        [lens.labels[k] for k in said_next[:-1]] == np.array(recorded.WORDS)[words[1:]], False
    )
    right[ends] = False
    assert following == rows_where(lens, right)


def test_split_words_and_similar(lens, indexes):
    held, _ = hits(lens, indexes["short"], "split = test and position = 0")
    assert {text for text, _ in held} == {lens.subject.model.kept.text(k) for k in range(5, 60, 10)}
    near = lens("#5", "short")["h1"][1].similar(3, index=indexes["short"])
    assert near[0].likeness > 0.99 if hasattr(near[0], "likeness") else near


@pytest.mark.parametrize(
    ("name", "question", "said"),
    [
        ("short", "h1 number > 1", "the labels of this index are no numbers"),
        ("size", 'h1 has "yes"', "a state has one label here, and no set"),
        ("short", "surprisal > 3", "the corpus does not tell which came"),
        ("output", "surprisal > 3", "there is no prediction in this index"),
        ("traits", "h1 rank = 1", "the corpus does not tell which came"),
        ("traits", 'h1 has "nothing"', "there is no such label"),
        ("traits", "h1 has", "there is no such label"),
        ("output", "y expects dog", "it is no kind"),
    ],
)
def test_what_does_not_apply_is_said(lens, indexes, name, question, said):
    with pytest.raises(QueryError, match=said):
        lens.find(question, index=indexes[name])


def test_a_corpus_beside_recorded_states_is_refused(lens, tmp_path):
    with pytest.raises(rnnlens.RnnlensError, match="are their own corpus"):
        rnnlens.index(lens, corpus="news.txt", folder=tmp_path / "i")
