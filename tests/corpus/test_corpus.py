"""Reading a source, splitting it, and telling one corpus from another."""

import gzip
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.grammar import conllu, sentences

from rnnlens.base.errors import RnnlensError
from rnnlens.corpus.corpus import CorpusConfig, EncodedCorpus, load_corpus
from rnnlens.corpus.tokens import SPLITS
from rnnlens.labels.sets import UNK


def written(folder: Path, text: str, name: str = "corpus.txt") -> str:
    (folder / name).write_text(text, encoding="utf-8")
    return str(folder / name)


def plain(count: int, seed: int = 0) -> str:
    return "".join(" ".join(s.words) + "\n" for s in sentences(count, seed))


def load(source: str, **settings: Any) -> EncodedCorpus:
    return load_corpus(source, CorpusConfig(**settings))


def lines(corpus: EncodedCorpus, split: str) -> list[str]:
    labels, made = corpus.vocabulary.labels, corpus.splits[split]
    return [" ".join(labels[k] for k in made.ids[a:b]) for a, b in pairwise(made.starts)]


def test_a_corpus_says_what_it_is_and_how_it_was_read(tmp_path):
    source = written(tmp_path, conllu(50) + "\n" + conllu(1).splitlines()[0], "a.conllu")
    corpus = load(source, longest=8)
    assert (corpus.name, corpus.format) == (source, "conllu: by its ending")
    assert corpus.tag_counts.any()
    assert corpus.short == 1
    assert corpus.cut == sum(len(s.words) > 8 for s in sentences(50)) > 0


def test_a_given_format_is_what_is_read(tmp_path):
    source = written(tmp_path, plain(50), "a.conllu")
    corpus = load(source, format="text", min_count=1, numbers=False)
    assert corpus.format == "text"
    assert not corpus.tag_counts.any()
    found = Counter(line for split in SPLITS for line in lines(corpus, split))
    known = corpus.vocabulary.labels
    words = (line.lower().split() for line in plain(50).splitlines())
    assert found == Counter(" ".join(w if w in known else UNK for w in line) for line in words)


def test_an_encoding_is_used_for_every_source(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(("le café noir .\n" * 20).encode("latin-1"))
    both = {"valid": str(path), "test": str(path)}
    assert "café" in load(str(path), encoding="latin-1", **both).vocabulary.labels


@pytest.mark.parametrize(
    ("count", "settings", "sizes"),
    [
        (200, {}, (160, 20, 20)),
        (205, {}, (165, 20, 20)),
        (100, {"valid_share": 0.25, "test_share": 0.05}, (70, 25, 5)),
        (12, {"valid_share": 0.01, "test_share": 0.01}, (10, 1, 1)),
    ],
)
def test_sentences_are_split_by_their_shares(tmp_path, count, settings, sizes):
    corpus = load(written(tmp_path, plain(count)), min_count=1, **settings)
    assert tuple(len(corpus.splits[split]) for split in SPLITS) == sizes


def test_every_sentence_is_in_exactly_one_split(tmp_path):
    text = "".join(f"start s{k} s{k} s{k}\n" for k in range(40))
    corpus = load(written(tmp_path, text), min_count=1)
    known = set(lines(corpus, "train")) - {"start UNK UNK UNK"}
    assert len(known) == 32
    assert lines(corpus, "valid") == lines(corpus, "test") == ["start UNK UNK UNK"] * 4


def test_the_split_is_random_and_its_seed_reproduces_it(tmp_path):
    source = written(tmp_path, plain(100))
    first, again, other = (
        {split: lines(load(source, split_seed=seed, min_count=1), split) for split in SPLITS}
        for seed in (5, 5, 6)
    )
    assert first == again
    assert first["valid"] != other["valid"]
    assert first["train"] != plain(80).splitlines()


def test_corpora_of_their_own_leave_the_source_to_training(tmp_path):
    source = written(tmp_path, "the dog barks .\n" * 10)
    valid = written(tmp_path, "the cat barks .\n" * 3, "valid.txt")
    test = written(tmp_path, conllu(7), "test.conllu")
    corpus = load(source, valid=valid, test=test)
    assert [len(corpus.splits[split]) for split in SPLITS] == [10, 3, 7]
    assert lines(corpus, "valid") == ["the UNK barks ."] * 3
    assert corpus.unknown["train"] == 0
    assert corpus.unknown["valid"] == 0.25


@pytest.mark.parametrize(
    ("given", "sizes"), [("valid", (45, 4, 5)), ("test", (45, 5, 4))], ids=["valid", "test"]
)
def test_the_part_without_a_corpus_of_its_own_is_drawn_from_the_source(tmp_path, given, sizes):
    own = written(tmp_path, plain(4, seed=9), "own.txt")
    corpus = load(written(tmp_path, plain(50)), **{given: own})
    assert tuple(len(corpus.splits[split]) for split in SPLITS) == sizes


def test_a_missing_corpus_for_validation_is_refused(tmp_path):
    with pytest.raises(RnnlensError, match=r"no corpus at .*nowhere"):
        load(written(tmp_path, plain(20)), valid=str(tmp_path / "nowhere"))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", r"corpus\.txt holds no sentence"),
        ("yes\nno\n", r"holds only 2 sentences of a single word"),
        ("the dog .\n", r"1 sentence leaves none for the train part; give more text"),
        ("the dog .\n" * 2, r"2 sentences leave none for the train part"),
        ("a a\n" * 20, r"vocabulary of 1 word\(s\) besides UNK.*--min-count \(now 3\)"),
        ("a b\nc d\ne f\n", r"vocabulary of 0 word\(s\)"),
    ],
)
def test_too_little_text_is_refused(tmp_path, text, complaint):
    with pytest.raises(RnnlensError, match=complaint):
        load(written(tmp_path, text))


def test_too_little_text_for_validation_is_refused(tmp_path):
    source, empty = written(tmp_path, plain(20)), written(tmp_path, "one\n", "empty.txt")
    with pytest.raises(RnnlensError, match=r"empty\.txt holds no sentence"):
        load(source, valid=empty)


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"valid_share": 0.0}, "shares of 0.0 and 0.1"),
        ({"test_share": -0.1}, "shares of 0.1 and -0.1"),
        ({"valid_share": 1.0}, "leave a part of the corpus empty"),
        ({"valid_share": 0.5, "test_share": 0.5}, "together below 1"),
        ({"test_share": float("nan")}, "shares of 0.1 and nan"),
        ({"min_count": 0}, "--min-count 0"),
        ({"longest": 2}, "--longest 2"),
        ({"format": "word"}, "'word'.*auto, text, raw, conllu, brackets"),
    ],
)
def test_settings_that_cannot_work_are_refused(tmp_path, wrong, complaint):
    source = written(tmp_path, plain(50))
    with pytest.raises(RnnlensError, match=complaint):
        load(source, **wrong)


@pytest.mark.parametrize("make", [plain, conllu], ids=["text", "conllu"])
def test_the_hash_is_of_what_was_read_not_of_where_it_lay(tmp_path, make):
    text = make(30)
    (tmp_path / "elsewhere").mkdir()
    moved = written(tmp_path / "elsewhere", text.replace("\n", "\r\n"), "b")
    zipped = tmp_path / "a.gz"
    zipped.write_bytes(gzip.compress(text.encode()))
    first = load(written(tmp_path, text, "a"))
    assert load(moved).hash == load(str(zipped)).hash == first.hash
    assert load(moved, split_seed=7).hash == first.hash


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("the dog barks .\n", "the cat barks .\n"),
        ("the dog barks .\n", "the dog\nbarks .\n"),
        ("the dog barks .\n", "dog the barks .\n"),
        ("the dog the cat .\n", "the dog cat the .\n"),
        ("it barks now\nso long\n", "it barks\nnow so long\n"),
        ("the dog barks .\n", ""),
        ("the dog barks .\n", "the dog barks .\n" * 2),
    ],
)
def test_the_hash_changes_with_the_content(tmp_path, old, new):
    text = plain(30)
    hashes = {load(written(tmp_path, part + text)).hash for part in (old, new)}
    assert len(hashes) == 2


def test_the_hash_changes_with_a_tag(tmp_path):
    text = conllu(30)
    changed = text.replace("\tNOUN\t", "\tVERB\t", 1)
    hashes = {load(written(tmp_path, each, "a.conllu")).hash for each in (text, changed)}
    assert len(hashes) == 2


def test_the_hash_tells_a_corpus_for_validation_from_more_of_the_source(tmp_path):
    text = plain(30)
    half = len("".join(text.splitlines(keepends=True)[:15]))
    source, rest = written(tmp_path, text[:half], "a"), written(tmp_path, text[half:], "b")
    assert load(written(tmp_path, text)).hash != load(source, valid=rest, min_count=1).hash


def test_the_hash_changes_with_the_corpus_for_validation(tmp_path):
    source = written(tmp_path, plain(30))
    other = [written(tmp_path, plain(5, seed), f"{seed}.txt") for seed in (1, 2)]
    assert len({load(source, valid=each).hash for each in ("", *other)}) == 3


def test_the_usual_penn_treebank_is_read_as_it_was_meant(tmp_path):
    path = tmp_path / "ptb.train.txt"
    path.write_text(" mr. <unk> of smith & co. saw N dogs \n mr. smith saw <unk> n cats \n" * 20)
    corpus = load_corpus(str(path), CorpusConfig())
    assert corpus.format == "text: a sentence a line, for it has <unk>; N is NUM"
    assert sum(len(split) for split in corpus.splits.values()) == 40
    assert set(corpus.vocabulary.labels) == {
        *"mr. UNK of smith & co. saw NUM dogs n cats".split()
    }  # fmt: skip
    as_it_stands = load_corpus(str(path), CorpusConfig(numbers=False, lowercase=False))
    assert "N" in as_it_stands.vocabulary.labels
    assert "NUM" not in as_it_stands.vocabulary.labels
