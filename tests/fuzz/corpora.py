"""Corpora of all sorts, mutated: read, or refused in one line."""

import gzip
import random
from pathlib import Path

from tests import grammar
from tests.fuzz import mutations

from rnnlens.base.errors import RnnlensError
from rnnlens.corpus.corpus import CorpusConfig, load_corpus
from rnnlens.corpus.read.formats import FORMATS

ENCODINGS = (
    "utf-8", "utf-8", "utf-8", "latin-1", "utf-16", "utf-32", "ascii", "cp1252", "shift_jis",
    "utf-7", "idna", "punycode", "undefined", "hex", "unicode_escape", "klingon", "", "\0",
)  # fmt: skip
UNITS = (
    ". ", "a. ", "( ", ")", "(", "\t", "\r", "\n", "\x85", " ", "\u200b", "e\u0301", "''", "1 ",
    "N ", "<unk> ", "<eos> ", " @-@ ", "= ", "\ufeff", "#", "\0", "?! ", "(S (NN a))", "`` ",
    "1\ta\t_\tNOUN\t_\t_\t_\t_\t_\t_\n", "\U0001f600 ", "\u202e", "Mr. ",
)  # fmt: skip


def _samples() -> list[bytes]:
    sentences = [" ".join(s.words) for s in grammar.sentences(60)]
    trees = "\n".join(
        "(S " + " ".join(f"({tag} {word})" for word, tag in zip(s.words, s.tags or (), strict=True))
        + ")" for s in grammar.sentences(60)
    )  # fmt: skip
    raw = " ".join(text.replace(" .", ".").replace(" ,", ",").capitalize() for text in sentences)
    plain = "\n".join(sentences)
    return [part.encode() for part in (plain, raw, trees, grammar.conllu(60))]


class Corpora:
    """The cases."""

    def __init__(self, _folder: Path) -> None:
        self.samples = _samples()

    def __call__(self, chance: random.Random, folder: Path) -> str:
        endings = [".txt", ".conllu", ".mrg", "", ".txt.gz", ".conllu.gz"]
        path = folder / f"corpus{chance.choice(endings)}"
        data = chance.choice(self.samples)
        if chance.random() < 0.2:
            units = chance.choices(UNITS, k=chance.choice([1, 2, 3]))
            data = "".join(units * chance.choice([1, 100, 3000])).encode()
        elif chance.random() < 0.3:
            data = data.decode().encode(chance.choice(["utf-16", "latin-1", "utf-32", "utf-8-sig"]))
        if chance.random() < 0.15:
            data = gzip.compress(data)
        path.write_bytes(data)
        for _ in range(chance.choice([0, 1, 1, 2, 8])):
            mutations.spoil_bytes(path, chance)
        if chance.random() < 0.03:
            mutations.replace_file(path, chance)
        config = CorpusConfig(
            format=chance.choice(["auto", "auto", *FORMATS["next"]]),
            encoding=chance.choice(ENCODINGS),
            longest=chance.choice([3, 200]),
            min_count=chance.choice([1, 3]),
            lowercase=chance.random() < 0.8,
            numbers=chance.random() < 0.8,
            valid=str(path) if chance.random() < 0.1 else "",
        )
        try:
            corpus = load_corpus(str(path), config)
        except RnnlensError as error:
            return "refused" if len(str(error).splitlines()) == 1 else "different"
        again = load_corpus(str(path), config)
        same = (corpus.hash, corpus.vocabulary) == (again.hash, again.vocabulary)
        return "same" if same else "different"
