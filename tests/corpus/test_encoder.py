"""Corpora with labels: what is encoded, and what is refused."""

from pathlib import Path

import numpy as np
import pytest

from rnnlens.base.errors import RnnlensError
from rnnlens.corpus.corpus import CorpusConfig, EncodedCorpus, load_corpus

TAGGED = "Two NUM\ndogs NOUN\nbark VERB\n\nGo VERB\n\n1990 NOUN\ndogs NOUN\n\n"


def corpus(folder: Path, text: str, task: str = "tag", **settings: object) -> EncodedCorpus:
    path = folder / "corpus.txt"
    path.write_text(text)
    config = CorpusConfig(task=task, min_count=1, **settings)  # type: ignore[arg-type]
    return load_corpus(str(path), config)


def test_labels_are_a_vocabulary_apart_from_the_words(tmp_path):
    lines = [line.split() for line in TAGGED.splitlines()]
    rows = ("\t".join(["1", one[0], "_", one[1], *"______"]) if one else "" for one in lines)
    found = corpus(tmp_path, "\n".join([*rows, ""]) * 10, lowercase=False)
    assert found.format.startswith("conllu")
    names = found.vocabulary
    assert names.labels == ("NOUN", "VERB", "NUM")
    assert names.words is not None
    assert set(names.words) == {"Two", "dogs", "bark", "Go", "NUM", "UNK"}
    assert not names.of_texts
    train = found.splits["train"]
    assert train.labels is not None
    read = [names.inputs[k] for k in train.ids]
    tags = [names.labels[k] for k in train.labels]
    # A number is read as such by its digits, and never by the tag that is to be learnt.
    assert set(zip(read, tags, strict=True)) == {
        ("Two", "NUM"), ("dogs", "NOUN"), ("bark", "VERB"), ("Go", "VERB"), ("NUM", "NOUN"),
    }  # fmt: skip
    assert names.counts == tuple(np.bincount(train.labels).tolist())
    assert found.short == 0  # a single word has a label too


def test_every_word_of_a_text_has_its_label_and_grades_keep_their_order(tmp_path):
    found = corpus(tmp_path, "2\ta b\n0\tc\n1\td e f\n2\ta\n" * 5, "classify")
    assert found.vocabulary.labels == ("0", "1", "2")
    assert found.vocabulary.of_texts
    for split in found.splits.values():
        assert split.labels is not None
        for a, b in zip(split.starts, split.starts[1:], strict=False):
            assert len(set(split.labels[a:b])) == 1
    assert "3 labels" in found.describe()


def test_batches_hold_a_target_for_every_word(tmp_path):
    train = corpus(tmp_path, TAGGED * 10).splits["train"]
    batch = train.batch(np.arange(5))
    assert batch.lengths.tolist() == train.lengths[:5].tolist()
    assert (batch.targets >= 0).sum(0).tolist() == batch.lengths.tolist()
    assert batch.pairs == batch.lengths.sum()
    assert train.pairs == len(train.ids)


@pytest.mark.parametrize(
    ("text", "task", "said"),
    [
        ("a X\nb X\n\n" * 20, "tag", "has the label 'X' alone"),
        ("x\ta b\n" * 20, "classify", "has the label 'x' alone"),
        ("".join(f"{k / 7}\ta b\n" for k in range(20)), "classify", "20 labels for 20 texts"),
        (TAGGED * 10 + "a RARE\n", "tag", "the label 'RARE' is in the .* never in training"),
    ],
)
def test_labels_of_which_nothing_can_be_learnt_are_refused(tmp_path, text, task, said):
    seed = 0
    if "RARE" in text:  # somewhere outside training
        seed = next(k for k in range(50) if not _trains(tmp_path, text, k))
    with pytest.raises(RnnlensError, match=said):
        corpus(tmp_path, text, task, split_seed=seed)


def _trains(folder: Path, text: str, seed: int) -> bool:
    try:
        corpus(folder, text, split_seed=seed)
    except RnnlensError:
        return False
    return True


def test_a_label_of_a_given_test_corpus_alone_names_that_corpus(tmp_path):
    other = tmp_path / "test.txt"
    other.write_text("a NEW\nb NOUN\n")
    with pytest.raises(RnnlensError, match=r"'NEW' is in the test part .*; mend .*test.txt"):
        corpus(tmp_path, TAGGED * 10, test=str(other))


def test_columns_go_with_labels(tmp_path):
    with pytest.raises(RnnlensError, match="give --task tag or classify"):
        corpus(tmp_path, "a b\n" * 9, "next", label_column="upos")
