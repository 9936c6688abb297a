"""Answers to questions about a corpus: the words that they are about, or how many there are."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from rnnlens.base.tables import data_frame
from rnnlens.model.kinds import PREDICTION
from rnnlens.search.deadline import Deadline
from rnnlens.search.index import Index
from rnnlens.search.layout import label_column, probability_column
from rnnlens.search.saving import save
from rnnlens.search.sql import WORD
from rnnlens.search.table import arrow
from rnnlens.search.tree import Query

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

Sentence = tuple[tuple[str, ...], str]  # its words, and its text
LIMIT = 1000  # answers that are given, unless others are asked for
_UNESCAPED = "!*'(),:;@$/?"


@dataclass(frozen=True)
class Said:
    """What a state says: its most probable label, and its dominant group."""

    label: str
    probability: float
    group: str
    share: float


@dataclass(frozen=True)
class Hit:
    """One word that a question is about, in its sentence."""

    sentence: int  #: Its number in the index.
    position: int  #: Of the word in it, from 0, as in a grid.
    split: str  #: The part of the corpus that it is of.
    words: tuple[str, ...]  #: Of the sentence.
    text: str  #: The sentence, to be given to a lens.
    tag: str | None  #: The part of speech, where the corpus has any.
    next: str | None  #: The word that came, as the model knows it.
    surprisal: float | None  #: Of that word, in bits.
    says: Mapping[str, Said]  #: What the kinds say that the question names.
    link: str  #: What opens the lens there, behind the address of its page.

    @property
    def word(self) -> str:
        """The word just read."""
        return self.words[self.position]

    def marked(self, left: str = "[", right: str = "]") -> str:
        """The sentence, with the word in brackets."""
        words = list(self.words)
        words[self.position] = f"{left}{words[self.position]}{right}"
        return " ".join(words)

    def __repr__(self) -> str:
        return f"<{self.marked()}>"


def link_to(
    text: str, position: int, kind: str = PREDICTION, run: str = "", semantic: str = ""
) -> str:
    """What opens the lens at a state, behind the address of its page.

    `run` and `semantic` are named where the page would begin with others.
    """

    def quoted(value: str) -> str:
        plain = value.encode("utf-8", "replace").decode()
        return quote(plain, safe=_UNESCAPED).replace("%20", "+")

    head = f"run={quoted(run)}&" if run else ""
    asked = f"&semantic={quoted(semantic)}" if semantic else ""
    at = f"{quoted(kind).replace(',', '%2C')}:{position + 1}"
    return f"#{head}text={quoted(text)}{asked}&at={at}"


class Found:
    """The answer to a question: iterate over its hits, or take its table.

    `total` is how many words the question is about, of which the first are given; `words` how many
    the index has; `sql` what the index was asked. A question that counts has a table, and no hits.
    """

    def __init__(
        self,
        index: Index,
        query: Query,
        question: str,
        limit: int | None,
        deadline: Deadline | None = None,
    ) -> None:
        """`deadline`: when the index gives up, so that nobody waits without end."""
        self.index, self.question, self.words = index, question, index.manifest.rows
        self.deadline = deadline
        self.query = replace(query, limit=limit) if query.limit is None else query
        self.kinds = query.kinds
        compiler = index.compiler
        self.is_count = query.count
        self.sql = compiler.counts(query) if query.count else compiler.rows(self.query, self.kinds)

    @cached_property
    def table(self) -> "pa.Table":
        """The answer as an Arrow table, with names for labels and a link for each word."""
        if self.is_count:
            return self.index.ask(self.sql, self.deadline)
        return _with_links(self)

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """What the index answers, a row a word."""
        return list(self.index.ask(self.sql, self.deadline).to_pylist())

    @cached_property
    def total(self) -> int:
        """How many words the question is about."""
        if self.is_count:
            return sum(self.table["count"].to_pylist())
        asked, before = self.query.limit, self.query.offset
        if asked is None or (len(self.rows) < asked and (self.rows or not before)):
            return before + len(self.rows)
        sql = self.index.compiler.total(self.query)
        return int(self.index.ask(sql, self.deadline)[0][0].as_py())

    def __len__(self) -> int:
        return len(self.table) if self.is_count else len(self.rows)

    def __iter__(self) -> Iterator[Hit]:
        if self.is_count:
            return
        texts = sentences(self.index, {row["sentence"] for row in self.rows}, self.deadline)
        kind = self.kinds[0] if self.kinds else PREDICTION
        semantic = self.index.link_semantic
        for row in self.rows:
            words, text = sentence_of(self.index, row, texts)
            yield Hit(
                row["sentence"], row["position"], row["split"], words, text, row["tag"],
                row["next"], row["surprisal"],
                {kind: _said(row, kind, self.index) for kind in self.kinds},
                link_to(text, row["position"], kind, semantic=semantic),
            )  # fmt: skip

    def to_pandas(self) -> "pd.DataFrame":
        """The table as a pandas one; needs pandas."""
        return data_frame(self.table.to_pylist())

    def save(self, path: str | Path) -> Path:
        """Write the table: .csv, .json or .parquet by the ending."""
        save(self.table, Path(path))
        return Path(path)

    def __repr__(self) -> str:
        if self.is_count:
            return f"<{len(self)} counts of: {self.question}>"
        share = self.total / max(1, self.words)
        return f"<{self.total:,} of {self.words:,} words ({share:.2%}): {self.question}>"


def found(index: Index, question: str, limit: int | None = LIMIT) -> Found:
    """Ask an index a question of the small language; see grammar.py."""
    return Found(index, index.parsed(question), question, limit)


def sentences(
    index: Index, numbers: Sequence[int] | set[int], deadline: Deadline | None = None
) -> dict[int, Sentence]:
    """The words of some sentences by their numbers, and the texts that a lens reads as these."""
    if not numbers:
        return {}
    some = ", ".join(str(int(number)) for number in sorted(numbers))
    table = index.ask(
        f"SELECT sentence, word, text FROM words WHERE sentence IN ({some}) "
        "ORDER BY sentence, position",
        deadline,
    )
    words: dict[int, list[str]] = {}
    texts: dict[int, str] = {}
    rows = zip(*(table[name].to_pylist() for name in ("sentence", "word", "text")), strict=True)
    for number, word, text in rows:
        words.setdefault(number, []).append(word)
        if text is not None:
            texts[number] = text
    if not texts.keys() >= words.keys():
        raise index.out_of_range("a sentence")
    return {number: (tuple(some), index.readable(texts[number])) for number, some in words.items()}


def sentence_of(index: Index, row: Mapping[str, Any], texts: Mapping[int, Sentence]) -> Sentence:
    """The words and the text of a row's sentence."""
    words, text = texts[row["sentence"]]
    if not 0 <= row["position"] < len(words):
        raise index.out_of_range("a word")
    return words, text


def _said(row: Mapping[str, Any], kind: str, index: Index) -> Said:
    number = row[label_column(kind, 1)]
    if number is None or not 0 <= number < len(index.labels):
        raise index.out_of_range("a label")
    return Said(
        index.labels[number], row[probability_column(kind, 1)], row[f"{kind}_group"],
        row[f"{kind}_share"],
    )  # fmt: skip


def _with_links(answer: Found) -> "pa.Table":
    """The rows with names for labels; of the words of a sentence its text, and the link."""
    rows = []
    for hit, row in zip(answer, answer.rows, strict=True):
        plain = {name: row[name] for name in WORD}
        for kind, said in hit.says.items():
            plain |= {
                f"{kind}_label": said.label, f"{kind}_p": said.probability,
                f"{kind}_group": said.group, f"{kind}_share": said.share,
            }  # fmt: skip
        rows.append({**plain, "text": hit.text, "link": hit.link})
    names = list(rows[0]) if rows else [*WORD, "text", "link"]
    return arrow().table({name: [row[name] for row in rows] for name in names})
