"""Small indexes, and grids of their sentences to hold them to."""

import random
from pathlib import Path

import pytest
import torch
from tests.fixtures import WORDS, formula_run

from rnnlens.corpus.corpus import Corpus, read_tokens
from rnnlens.corpus.tokens import ReadingConfig
from rnnlens.lens.open import opened
from rnnlens.model.train.distributed import Processes
from rnnlens.run.folder import Run
from rnnlens.search.build import Builder, Plan
from rnnlens.search.corpus_pass import ALL, Texts
from rnnlens.search.find import CorpusPage

CPU = torch.device("cpu")
PART = 60  # words of a part


def corpus_text(count: int, seed: int = 0) -> str:
    """Random sentences of the formula's words, as CoNLL-U; it does not know some, and reads
    numerals as one.
    """
    chance = random.Random(seed)
    words = [word for word in WORDS if word not in ("UNK", "NUM")] + ["zebra", "42"]
    blocks = []
    for _ in range(count):
        some = [chance.choice(words) for _ in range(chance.randint(2, 11))]
        blocks.append(
            "".join(
                f"{k}\t{w}\t_\t{WORDS.get(w, 'X')}\t_\t_\t_\t_\t_\t_\n"
                for k, w in enumerate(some, 1)
            )
        )
    return "\n".join(blocks)


def texts_of(lens, path: Path, part_words: int = PART) -> Texts:
    config = ReadingConfig()
    form, tokens = read_tokens(str(path), config, lowercase=False)
    corpus = Corpus(str(path), form, tokens, tokens.part)
    return Texts(corpus, [ALL], lens.subject.session.text, config.longest, part_words)


def builder_of(
    lens, path: Path, states: str = "", part_words: int = PART, semantic: str = ""
) -> Builder:
    semantic = semantic or (lens.semantics or ("output",))[0]
    plan = Plan(lens.subject, semantic, states)
    plan.check()
    texts = texts_of(lens, path, part_words)
    return Builder(lens.subject.run.path / "index", plan, texts, Processes())


def build(lens, path: Path, states: str = "", part_words: int = PART, semantic: str = "") -> None:
    builder = builder_of(lens, path, states, part_words, semantic)
    builder.begin(anew=False)
    builder.make(CPU)
    builder.finish()


@pytest.fixture(scope="session")
def corpus_file(tmp_path_factory) -> Path:
    path: Path = tmp_path_factory.mktemp("corpus") / "words.conllu"
    path.write_text(corpus_text(30))
    return path


@pytest.fixture(scope="session")
def indexed(tmp_path_factory, corpus_file):
    """A lens whose run has an index in several parts, with states; to be read only."""
    lens = opened(Run(formula_run(tmp_path_factory.mktemp("indexed") / "formula")))
    build(lens, corpus_file, "fp16")
    return lens


@pytest.fixture(scope="session")
def grids(indexed, corpus_file):
    """The grid of every sentence, in the order of the index."""
    texts = texts_of(indexed, corpus_file)
    return [indexed(t.text) for n in range(texts.part_count) for t in texts.part(n)]


@pytest.fixture(scope="session")
def page(indexed):
    """The corpus page of that lens."""
    return CorpusPage(indexed.subject)


@pytest.fixture
def fresh(indexed):
    """A lens of the same run, with an index of its own that holds no pictures and states yet."""
    return opened(indexed.subject.run)


def total(page: CorpusPage, question: str) -> int:
    """How many words a question is about, which must be one."""
    found = page.find(question, 0, 1)
    assert found.wrong is None, (question, found.wrong)
    return found.total
