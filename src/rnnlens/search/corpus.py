"""A run's corpus as a page asks for it: what there is, answers a few at a time, pictures."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rnnlens.base.errors import RnnlensError
from rnnlens.reading.encoding import Palette, faded
from rnnlens.reading.source import GridSource
from rnnlens.search.asking import examples, narrowed, possible
from rnnlens.search.deadline import Deadline
from rnnlens.search.find import Found, Hit, Said, link_to
from rnnlens.search.grammar import GRAMMAR
from rnnlens.search.pictures import drawn_kinds, picture
from rnnlens.search.saving import as_csv
from rnnlens.search.similar import index_of, similar_to
from rnnlens.search.sql import column
from rnnlens.search.tokens import QueryError

SECONDS = 20.0  # after which a question is given up
MOST_ROWS = 10_000  # of a table that is saved


class CorpusView:
    """The index of a lens's run, with the colours of the lens."""

    def __init__(self, lens: GridSource) -> None:
        self.lens, self.index = lens, index_of(lens)
        contents = self.index.contents
        palette = lens.palettes_for(contents.semantic).get(contents.palette)
        self.groups = {group: k for k, group in enumerate(palette.groups if palette else ())}
        if palette is None or not {*self.index.names.groups} <= self.groups.keys():
            raise RnnlensError(
                f"the colours called {contents.palette} have other groups than the index in "
                f"{self.index.folder}; call them otherwise, or leave --colours out"
            )
        self.palette: Palette = palette

    def about(self) -> dict[str, Any]:
        """What the page begins with."""
        index, palette = self.index, self.palette
        contents = index.contents
        asked = examples(index, self.lens.model.kinds)
        return {
            "run": self.lens.name,
            "source": Path(contents.source).name,
            "splits": list(contents.splits),
            "semantic": contents.semantic,
            "words": index.manifest.rows,
            "sentences": contents.sentences,
            "kinds": drawn_kinds(index),
            "groups": dict(zip(palette.groups, palette.colours, strict=True)),
            "examples": [{"question": one, "means": means} for one, means in asked],
            "grammar": GRAMMAR,
        }

    def find(self, question: str, first: int, limit: int) -> dict[str, Any]:
        """Some answers to a question; or what is wrong with it, and where."""
        answer: dict[str, Any] = {
            "question": question, "total": 0, "words": self.index.manifest.rows, "more": False,
            "kinds": [], "hits": [], "counts": None, "wrong": None,
        }  # fmt: skip
        try:
            query = self.index.parsed(question)
        except QueryError as error:
            return {**answer, "wrong": {"error": str(error), "place": error.place}}
        asked = limit + 1 if query.limit is None else min(limit + 1, query.limit - first)
        if asked < 1:
            return answer
        query = replace(query, limit=asked, offset=first)
        found = Found(self.index, query, question, None, Deadline(SECONDS))
        if found.is_count:
            return {**answer, **self._counts(found, limit)}
        hits = list(found)[:limit]
        return {
            **answer,
            "total": found.total,
            "more": len(found) > limit,
            "kinds": list(found.kinds),
            "hits": self._hits(hits, found),
        }

    def _counts(self, found: Found, limit: int) -> dict[str, Any]:
        """How many words there are of each sort."""
        names = [key.name for key in found.query.by]
        rows = found.table.to_pylist()
        lines = [
            {
                "keys": [None if row[name] is None else str(row[name]) for name in names],
                "count": row["count"],
                "words": row["words"],
                "share": row["share"],
                "question": possible(
                    self.index, narrowed(found.query, [row[name] for name in names])
                ),
            }
            for row in rows[:limit]
        ]
        (total,) = self.index.ask(
            self.index.compiler.total(found.query), found.deadline
        ).to_pylist()
        return {
            "total": next(iter(total.values())),
            "more": len(rows) > limit,
            "counts": {"names": names, "lines": lines},
        }

    def _hits(self, hits: list[Hit], found: Found) -> list[dict[str, Any]]:
        strips, kinds = self._strips(hits, found.deadline), found.kinds
        return [
            {
                "sentence": hit.sentence, "position": hit.position, "split": hit.split,
                "words": list(hit.words), "text": hit.text, "tag": hit.tag, "next": hit.next,
                "surprisal": hit.surprisal,
                "says": [self._said(kind, hit.says[kind]) for kind in kinds],
                "strip": strip,
                "link": link_to(
                    hit.text, hit.position, kinds[0] if kinds else "y", self.lens.name,
                    self.index.link_semantic,
                ),
            }
            for hit, strip in zip(hits, strips, strict=True)
        ]  # fmt: skip

    def _said(self, kind: str, said: Said) -> dict[str, Any]:
        (colour,) = self._colours([said.group], [said.share])
        return {
            "kind": kind, "label": said.label, "probability": said.probability,
            "group": said.group, "share": said.share, "colour": colour,
        }  # fmt: skip

    def _colours(self, groups: list[str], shares: list[float]) -> list[str]:
        numbers = [self.groups.get(group, -1) for group in groups]
        if -1 in numbers or None in shares:
            raise self.index.out_of_range("a group or a share")
        return faded(self.palette.channels[numbers], np.array(shares))

    def _strips(
        self, hits: list[Hit], deadline: Deadline | None
    ) -> list[list[tuple[str, float, str]]]:
        """Of each hit the group, share and colour of every kind, from what the index holds."""
        if not hits:
            return []
        kinds = drawn_kinds(self.index)
        columns = ", ".join(
            f"{column(f'{kind}_group')}, {column(f'{kind}_share')}" for kind in kinds
        )
        places = ", ".join(f"({hit.sentence}, {hit.position})" for hit in hits)
        some = ", ".join({str(hit.sentence) for hit in hits})
        table = self.index.ask(
            f"SELECT sentence, position, {columns} FROM words WHERE sentence IN ({some}) "
            f"AND (sentence, position) IN ({places})",
            deadline,
        )
        rows = {(row["sentence"], row["position"]): row for row in table.to_pylist()}
        strips = []
        for hit in hits:
            row = rows[hit.sentence, hit.position]
            groups = [row[f"{kind}_group"] for kind in kinds]
            shares = [row[f"{kind}_share"] for kind in kinds]
            strips.append(list(zip(groups, shares, self._colours(groups, shares), strict=True)))
        return strips

    def table(self, question: str) -> dict[str, Any]:
        """The answers as comma-separated values; of very many, the first."""
        query = self.index.parsed(question)
        one_more = MOST_ROWS + 1
        query = replace(query, limit=min(one_more, query.limit or one_more))
        found = Found(self.index, query, question, None, Deadline(SECONDS))
        table = found.table.slice(0, MOST_ROWS)
        return {"csv": as_csv(table), "rows": len(table), "left_out": len(found) > MOST_ROWS}

    def picture(self, name: str) -> dict[str, Any]:
        """A picture of the whole corpus."""
        return picture(self.lens, self.index, name)


def similar_json(
    lens: GridSource, text: str, semantic: str | None, column: str, row: int, count: int, by: str
) -> dict[str, Any]:
    """The states of the corpus nearest to one of a text's, as the page asks for them."""
    asked = lens.request(text, semantic, None)
    found = lens.column(asked, column, row)
    if row < found.back:
        raise RnnlensError(f"nothing is read into {column} of the first row yet; ask a later one")
    p = asked.answers.probabilities(lens.logits(asked, column, row).double()).numpy()
    index = index_of(lens)
    near = similar_to(
        lens, index, found.kind.id, lens.vector(asked, column, row), p, count, by,
        semantic=asked.semantic, deadline=Deadline(SECONDS),
    )  # fmt: skip
    return {
        "kind": found.kind.id,
        "by": by,
        "near": [
            {
                "distance": max(0.0, one.distance), "sentence": one.sentence,
                "position": one.position, "words": list(one.words), "next": one.next,
                "text": one.text, "link": link_to(
                    one.text, one.position, found.kind.id, lens.name, index.link_semantic,
                ),
            }
            for one in near
        ],
    }  # fmt: skip
