"""Answers to questions about a corpus: the words that they are about, or how many there are; as
Python has them, as tables, and as the corpus page asks for them.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import write_bytes
from rnnlens.base.intervals import Interval, Resamples, interval
from rnnlens.base.tables import csv_text, data_frame
from rnnlens.reading.links import link
from rnnlens.search import language, sql
from rnnlens.search.answers import (
    Corpus,
    CountLine,
    Counts,
    Example,
    FoundSlice,
    Hit,
    Said,
    Strip,
    Table,
    Wrong,
)
from rnnlens.search.index_files import arrow, label_column, of_kind, packed, probability_column
from rnnlens.search.store import Deadline, Index, index_of

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from rnnlens.reading.encoding import Palette
    from rnnlens.reading.subject import Subject

LIMIT = 1000  # answers that are given, unless others are asked for
SURE = 200  # lines of counts that intervals are told of
_HELD = 2**22  # numbers at once, to tell them
MOST_ROWS = 10_000  # of a table that the page saves
ENDINGS = (".csv", ".json", ".parquet")


class Found:
    """The answer to a question: iterate over its hits, or take its table.

    `total` is how many words the question is about, of which the first are given; `words` how many
    it is asked of: those of the index, but one about what follows of those that something follows;
    `interval` is how sure that share is, by resampling sentences, None where these are too few;
    `sql` what the index was asked. A question that counts has a table, and no hits.
    """

    def __init__(
        self,
        index: Index,
        query: language.Query,
        question: str,
        limit: int | None,
        deadline: Deadline | None = None,
    ) -> None:
        """`deadline`: when the index gives up, so that nobody waits without end."""
        self.index, self.question = index, question
        self.deadline = deadline
        self.query = replace(query, limit=limit) if query.limit is None else query
        self.kinds, self.is_count = query.kinds, query.count
        self._compiler = sql.Compiler(index.contents.top, index.read_as)
        self.sql = (
            self._compiler.counts(query)
            if query.count
            else self._compiler.rows(self.query, self.kinds)
        )

    @cached_property
    def table(self) -> "pa.Table":
        """The answer as an Arrow table, with names for labels and a link for each word."""
        if self.is_count:
            return self._with_intervals(self.index.ask(self.sql, self.deadline))
        rows = [_table_row(hit, row) for hit, row in zip(self, self.rows, strict=True)]
        names = list(rows[0]) if rows else [*sql.WORD, "text", "link"]
        return arrow().table({name: [row[name] for row in rows] for name in names})

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """What the index answers, a row a word."""
        return list(self.index.ask(self.sql, self.deadline).to_pylist())

    @cached_property
    def total(self) -> int:
        """How many words the question is about."""
        if self.is_count:
            return sum(self.table["count"].to_pylist())
        limit, before = self.query.limit, self.query.offset
        if limit is None or (len(self.rows) < limit and (self.rows or not before)):
            return before + len(self.rows)
        return self.count()

    def count(self) -> int:
        """How many words the question is about, whatever it counts and however many it limits."""
        answer = self.index.ask(self._compiler.total(self.query), self.deadline)
        return int(answer["total"][0].as_py())

    @cached_property
    def words(self) -> int:
        """How many words it is asked of."""
        return int(self._by_sentence[1].sum())

    @cached_property
    def interval(self) -> Interval | None:
        """Between which shares the true one lies; None: the sentences are too few to say."""
        return interval(*self._by_sentence)

    @cached_property
    def _by_sentence(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Of each sentence how many words the question is about, and how many it is asked of."""
        table = self.index.ask(self._compiler.by_sentence(self.query), self.deadline)
        return table["count"].to_numpy().astype(float), table["words"].to_numpy().astype(float)

    def _with_intervals(self, table: "pa.Table") -> "pa.Table":
        """Counts, and between which shares the true one of each lies."""
        found = self._intervals(table) if self.query.by else [self.interval]
        found += [None] * (len(table) - len(found))
        for name in ("low", "high"):
            values = [one and getattr(one, name) for one in found]
            table = table.append_column(name, arrow().array(values, arrow().float64()))
        return table

    def _intervals(self, table: "pa.Table") -> list[Interval | None]:
        """Of the first lines of a table of counts, a few lines at a time."""
        names, resamples = [key.name for key in self.query.by], Resamples(len(self._by_sentence[1]))
        rows = table.slice(0, SURE).select(names).to_pylist()
        if not resamples.enough:
            return []
        lines = [tuple(row.values()) for row in rows]
        asked = self._compiler.by_sentence(self.query, lines)
        parts = self.index.ask(asked, self.deadline)
        _, sentence = np.unique(parts["sentence"].to_numpy(), return_inverse=True)
        number = {line: k for k, line in enumerate(lines)}
        line = np.array([number[tuple(row.values())] for row in parts.select(names).to_pylist()])
        counts = np.stack([parts[name].to_numpy() for name in ("count", "words")], 1)
        found, size = list[Interval | None](), max(1, _HELD // (2 * resamples.sentences))
        for first in range(0, len(lines), size):
            here = (line >= first) & (line < first + size)
            both = np.zeros((resamples.sentences, min(size, len(lines) - first), 2))
            both[sentence[here], line[here] - first] = counts[here]
            above, below = np.moveaxis(resamples.sums(both), -1, 0)  # (draws, lines) each
            with np.errstate(divide="ignore", invalid="ignore"):
                found += [resamples.interval(one) for one in (above / below).T]
        return found

    def __len__(self) -> int:
        return len(self.table) if self.is_count else len(self.rows)

    def __iter__(self) -> Iterator[Hit]:
        if self.is_count:
            return
        index = self.index
        sentences = index.sentences({row["sentence"] for row in self.rows}, self.deadline)
        kind = self.kinds[0] if self.kinds else index.contents.kinds[-1]
        for row in self.rows:
            words, text = index.sentence_of(row, sentences)
            yield Hit(
                sentence=row["sentence"],
                position=row["position"],
                words=words,
                text=text,
                next=row["next"],
                link=link(text, kind, row["position"], semantic=index.link_semantic),
                split=row["split"],
                tag=row["tag"],
                surprisal=row["surprisal"],
                says=tuple(_said(row, kind, index) for kind in self.kinds),
            )

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
        return f"<{self.summary()}: {self.question}>"

    def summary(self) -> str:
        """How many words it is about, of how many, and how sure that share is."""
        share, sure = self.total / max(1, self.words), self.interval
        told = f", 95%: {sure.low:.2%} to {sure.high:.2%}" if sure else ""
        return f"{self.total:,} of {self.words:,} words ({share:.2%}{told})"


def find(index: Index, question: str, limit: int | None = LIMIT) -> Found:
    """Ask an index a question of the small language; see `language.GRAMMAR`."""
    return Found(index, language.parse(question, index.names), question, limit)


def _said(row: Mapping[str, Any], kind: str, index: Index) -> Said:
    label, probability = index.labels[row[label_column(kind, 1)]], row[probability_column(kind, 1)]
    return Said(kind, label, probability, row[of_kind(kind, "group")], row[of_kind(kind, "share")])


def _table_row(hit: Hit, row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of a table: names for labels, and at its end the text of the sentence and the link."""
    plain = {name: row[name] for name in sql.WORD}
    for said in hit.says:
        plain |= {
            f"{said.kind}_label": said.label, f"{said.kind}_p": said.probability,
            f"{said.kind}_group": said.group, f"{said.kind}_share": said.share,
        }  # fmt: skip
    return {**plain, "text": hit.text, "link": hit.link}


class CorpusPage:
    """A run's corpus as its page asks for it, with the colours of the subject: what there is, and
    answers a few at a time.
    """

    def __init__(self, subject: "Subject") -> None:
        from rnnlens.reading.subject import PAPER

        self.subject, self.index = subject, index_of(subject)
        contents = self.index.contents
        palette = subject.palettes_for(contents.semantic).get(contents.palette)
        self.groups = {group: k for k, group in enumerate(palette.groups if palette else ())}
        if palette is None or not {*self.index.names.groups} <= self.groups.keys():
            raise RnnlensError(
                f"the colours called {contents.palette} have other groups than the index in "
                f"{self.index.folder}; call them otherwise, or leave --colours out"
            )
        self.palette: Palette = palette
        papers = (
            f"{contents.palette}{PAPER}"  # as an index has it that was made by an older version
        )
        is_papers = contents.rule != "excess" and papers in subject.palettes_for(contents.semantic)
        self.link_palette = papers if is_papers else ""

    def about(self) -> Corpus:
        """What the page begins with."""
        index, palette, contents = self.index, self.palette, self.index.contents
        kinds = self.subject.model.kinds
        examples = language.examples(index.names, kinds)
        return Corpus(
            run=self.subject.name,
            source=Path(contents.source).name,
            splits=contents.splits,
            semantic=contents.semantic,
            words=index.manifest.rows,
            sentences=contents.sentences,
            kinds=index.drawn_kinds,
            groups=dict(zip(palette.groups, palette.colours, strict=True)),
            rule=contents.rule or "paper",
            examples=tuple(Example(question, means) for question, means in examples),
            grammar=language.GRAMMAR,
            maps=contents.map_kinds,
            tagged=index.has_tags,
            follows=contents.follows,
            pairs=tuple((pair.kind, pair.other) for pair in contents.pairs if not pair.back),
        )

    def find(self, question: str, first: int, limit: int) -> FoundSlice:
        """Some answers to a question; or what is wrong with it, and where."""
        answer = FoundSlice(question)
        try:
            query = language.parse(question, self.index.names)
        except language.QueryError as error:
            return replace(answer, wrong=Wrong(str(error), error.place))
        most = limit + 1 if query.limit is None else min(limit + 1, query.limit - first)
        if most < 1:
            return answer
        query = replace(query, limit=most, offset=first)
        found = Found(self.index, query, question, None, Deadline.of_page())
        more, sure = len(found) > limit, found.interval
        low, high = (sure.low, sure.high) if sure else (None, None)
        answer = replace(
            answer, words=found.words, low=low, high=high, more=more, kinds=found.kinds
        )
        if found.is_count:
            counts = self._counts(found, limit)
            return replace(answer, total=found.count(), counts=counts)
        hits = self._coloured(list(found)[:limit], found.deadline)
        groups = tuple(kind for kind in found.kinds if kind in query.groups)
        return replace(answer, total=found.total, groups=groups, hits=hits)

    def _counts(self, found: Found, limit: int) -> Counts:
        """How many words there are of each sort."""
        query, lines = found.query, []
        names = tuple(key.name for key in query.by)
        for row in found.table.slice(0, limit).to_pylist():
            values = [row[name] for name in names]
            keys = tuple(None if value is None else str(value) for value in values)
            question = language.possible(language.narrowed(query, values), self.index.names)
            lines.append(
                CountLine(
                    keys, row["count"], row["words"], row["share"], row["low"], row["high"],
                    question,
                )
            )  # fmt: skip
        return Counts(names, tuple(lines))

    def _coloured(self, hits: Sequence[Hit], deadline: Deadline | None) -> tuple[Hit, ...]:
        """Hits with colours, the strips of all kinds, and links that name the run."""
        return tuple(
            replace(
                hit,
                says=tuple(
                    replace(said, colour=self._colours([said.group], [said.share])[0])
                    for said in hit.says
                ),
                strip=strip,
                link=link(
                    hit.text,
                    hit.says[0].kind if hit.says else self.index.contents.kinds[-1],
                    hit.position,
                    run=self.subject.name,
                    semantic=self.index.link_semantic,
                    palette=self.link_palette,
                ),
            )
            for hit, strip in zip(hits, self._strips(hits, deadline), strict=True)
        )

    def _colours(self, groups: list[str], shares: list[float]) -> list[str]:
        from rnnlens.reading.encoding import faded

        numbers = [self.groups[group] for group in groups]
        return faded(self.palette.channels[numbers], np.array(shares))

    def _strips(
        self, hits: Sequence[Hit], deadline: Deadline | None
    ) -> Iterator[tuple[Strip, ...]]:
        """Of each hit the group, share and colour of every kind, from what the index holds."""
        if not hits:
            return
        kinds = self.index.drawn_kinds
        places = [(hit.sentence, hit.position) for hit in hits]
        table = self.index.ask(sql.groups_at(places, kinds), deadline)
        rows = {(row["sentence"], row["position"]): row for row in table.to_pylist()}
        for place in places:
            groups = [rows[place][of_kind(kind, "group")] for kind in kinds]
            shares = [rows[place][of_kind(kind, "share")] for kind in kinds]
            yield tuple(zip(groups, shares, self._colours(groups, shares), strict=True))

    def table(self, question: str) -> Table:
        """The answers as comma-separated values; of very many, the first."""
        query = language.parse(question, self.index.names)
        one_more = MOST_ROWS + 1
        query = replace(query, limit=min(one_more, query.limit or one_more))
        found = Found(self.index, query, question, None, Deadline.of_page())
        table = found.table.slice(0, MOST_ROWS)
        return Table(as_csv(table), len(table), left_out=len(found) > MOST_ROWS)


def check_ending(path: Path) -> None:
    """Refuse a file whose ending says nothing."""
    if path.suffix.lower() not in ENDINGS:
        raise RnnlensError(f"{path}: give a file that ends in {', '.join(ENDINGS)}")


def save(table: "pa.Table", path: Path) -> None:
    """Write a table; the ending of the file says how."""
    check_ending(path)
    ending = path.suffix.lower()
    if ending == ".parquet":
        write_bytes(path, packed(table))
        return
    text = as_csv(table) if ending == ".csv" else as_json(table)
    write_bytes(path, text.encode("utf-8"))


def as_csv(table: "pa.Table") -> str:
    """The table with a comma between values, a line for each row."""
    return csv_text(table.column_names, (row.values() for row in _short(table)))


def as_json(table: "pa.Table") -> str:
    """The table as a list of objects."""
    return json.dumps(_short(table), ensure_ascii=False, indent=1, default=str) + "\n"


def as_lines(table: "pa.Table", most: int) -> str:
    """The first rows as a table to be read."""
    rows = [[_cell(value) for value in row.values()] for row in table.slice(0, most).to_pylist()]
    names = table.column_names
    widths = [max(len(row[k]) for row in [names, *rows]) for k in range(len(names))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
             for row in [names, *rows]]  # fmt: skip
    if len(table) > most:
        lines.append(f"... {len(table) - most:,} more rows")
    return "\n".join(lines)


def _short(table: "pa.Table") -> list[dict[str, Any]]:
    """The rows, with numbers without the digits that 32 bits do not hold."""
    return [
        {name: float(f"{v:.7g}") if isinstance(v, float) else v for name, v in row.items()}
        for row in table.to_pylist()
    ]


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
