"""Corpora of all sorts, mutated: read, or refused in one line."""

import gzip
import json
import random
from pathlib import Path

import pyarrow as pa
from tests import grammar
from tests.fuzz import mutations, tables

from rnnlens.base.errors import RnnlensError
from rnnlens.corpus.corpus import CorpusConfig, load_corpus
from rnnlens.corpus.read.formats import FORMATS
from rnnlens.corpus.read.task import CLASSIFY, NEXT, TAG

ENCODINGS = (
    "utf-8", "utf-8", "utf-8", "latin-1", "utf-16", "utf-32", "ascii", "cp1252", "shift_jis",
    "utf-7", "idna", "punycode", "undefined", "hex", "unicode_escape", "klingon", "", "\0",
)  # fmt: skip
UNITS = (
    ". ", "a. ", "( ", ")", "(", "\t", "\r", "\n", "\x85", " ", "\u200b", "e\u0301", "''", "1 ",
    "N ", "<unk> ", "<eos> ", " @-@ ", "= ", "\ufeff", "#", "\0", "?! ", "(S (NN a))", "`` ",
    "1\ta\t_\tNOUN\t_\t_\t_\t_\t_\t_\n", "\U0001f600 ", "\u202e", "Mr. ", '{"text": "a b ."}\n',
    '{"text": "\\ud83d b"}\n', '{"words": ["a", 1, null]}\n', "x\ta b .\n", '"a ""b",x\n', ",", '"',
    "+2AA-",
)  # fmt: skip


ENDINGS = (".txt", ".conllu", ".mrg", "", ".txt.gz", ".conllu.gz", ".jsonl", ".csv", ".tsv")


def _samples() -> list[bytes]:
    made = list(grammar.sentences(60))
    sentences = [" ".join(s.words) for s in made]
    trees = "\n".join(
        "(S " + " ".join(f"({tag} {word})" for word, tag in zip(s.words, s.tags or (), strict=True))
        + ")" for s in made
    )  # fmt: skip
    raw = " ".join(text.replace(" .", ".").replace(" ,", ",").capitalize() for text in sentences)
    plain = "\n".join(sentences)
    records = "\n".join(json.dumps({"words": s.words, "upos": s.tags}) for s in made)
    pairs = [("ab"[k % 2], text) for k, text in enumerate(sentences)]
    texts = "\n".join(json.dumps({"text": text, "label": label}) for label, text in pairs)
    table = "label,text\n" + "\n".join(f'{label},"{text}"' for label, text in pairs)
    tabs = "\n".join("\t".join(pair) for pair in pairs)
    columns = "\n\n".join("\n".join(f"{w} {t}" for w, t in zip(s.words, s.tags or (), strict=True))
                          for s in made)  # fmt: skip
    parts = plain, raw, trees, grammar.conllu(60), records, texts, table, tabs, columns
    return [part.encode() for part in parts]


def _tables() -> list[pa.Table]:
    made = list(grammar.sentences(60))
    texts = [" ".join(s.words) for s in made]
    words = {"words": [list(s.words) for s in made], "upos": [list(s.tags or ()) for s in made]}
    return [pa.table(words), pa.table({"text": texts}), pa.table({"id": range(60), "text": texts})]


class Corpora:
    """The cases: a third of them tables."""

    longest = 60.0  # seconds: tables are read by a process of their own, twice

    def __init__(self, _folder: Path) -> None:
        self.samples, self.tables = _samples(), _tables()

    def __call__(self, chance: random.Random, folder: Path) -> str:
        if chance.random() < 1 / 3:
            path = self._table(chance, folder)
        else:
            path = self._text(chance, folder)
        task = chance.choice([NEXT, NEXT, NEXT, TAG, CLASSIFY])
        formats = ["auto"] * 4 + [*FORMATS[task]]
        if path.suffix in (".arrow", ".parquet") or path.is_dir():
            task = NEXT if chance.random() < 0.9 else task
            formats = ["auto"] * 4 + [*FORMATS[task]]
        config = CorpusConfig(
            format=chance.choice(formats),
            encoding=chance.choice(ENCODINGS) if chance.random() < 0.5 else "utf-8",
            longest=chance.choice([3, 200]),
            min_count=chance.choice([1, 3]),
            lowercase=chance.random() < 0.8,
            numbers=chance.random() < 0.8,
            valid=str(path) if chance.random() < 0.1 else "",
            task=task,
        )
        try:
            corpus = load_corpus(str(path), config)
            json.dumps(corpus.vocabulary.to_json(), ensure_ascii=False).encode()
        except RnnlensError as error:
            return "refused" if len(str(error).splitlines()) == 1 else "different"
        again = load_corpus(str(path), config)
        same = (corpus.hash, corpus.vocabulary) == (again.hash, again.vocabulary)
        return "same" if same else "different"

    def _table(self, chance: random.Random, folder: Path) -> Path:
        """A table, or a folder as `datasets` saves it."""
        path = folder / chance.choice(["corpus.parquet", "corpus.arrow", "saved/data-00000.arrow"])
        path.parent.mkdir(exist_ok=True)
        tables.write(path, chance.choice(self.tables), chance)
        if path.parent == folder:
            return path
        (path.parent / "state.json").write_text("{}")
        return path.parent

    def _text(self, chance: random.Random, folder: Path) -> Path:
        path = folder / f"corpus{chance.choice(ENDINGS)}"
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
        if chance.random() < 0.2:
            path.write_bytes(tables.spoil_layout(path.read_bytes(), chance))
        if chance.random() < 0.03:
            mutations.replace_file(path, chance)
        return path
