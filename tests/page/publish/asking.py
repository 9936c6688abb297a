"""Questions that somebody might ask of a lens, Python's answers, and where two answers differ."""

import random
from typing import Any, TypeVar

from pydantic import TypeAdapter
from tests.asks import ask

from rnnlens.ask.answer import TABLE
from rnnlens.base.errors import RnnlensError
from rnnlens.lens.lens import Lens

SMALL, SHARE = 1.5e-4, 1e-4  # how far numbers may lie apart: sums are taken in another order
_OF_A_DECAY = 2e-7  # two roundings of a number near 1
_FEW = 0.01  # a probability of labels of which others may stand in a list of the most probable
Question = tuple[str, dict[str, Any]]
Choice = TypeVar("Choice")


def asked_python(lens: Lens, path: str, asked: dict[str, Any]) -> Any:
    """What the server answers."""
    question = TABLE[path.removeprefix("api/")].question
    try:
        return {"gives": ask(lens, TypeAdapter(question).validate_python(asked))}
    except RnnlensError as error:
        return {"refuses": str(error)}


def near(a: Any, b: Any) -> bool:
    """Whether two numbers are the same but for rounding."""
    numbers = all(isinstance(one, int | float) and not isinstance(one, bool) for one in (a, b))
    return numbers and abs(a - b) <= SMALL + SHARE * abs(b)


def _as_long(a: Any, b: Any) -> bool:
    """Whether half-lives are those of the same decay: one near 1 is rounded, and the longer a
    memory lasts the more that changes.
    """
    numbers = all(isinstance(one, float) for one in (a, b))
    return numbers and abs(a - b) <= _OF_A_DECAY * b**2


def apart(ours: Any, theirs: Any, where: str = "") -> str:
    """Where two answers differ by more than rounding; empty: nowhere."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        if ours.keys() != theirs.keys():
            return f"{where}: {sorted(ours.keys() ^ theirs.keys())}"
        return next(filter(None, (apart(ours[k], theirs[k], f"{where}.{k}") for k in ours)), "")
    if isinstance(ours, list) and isinstance(theirs, list):
        if where.endswith(".top") and len(ours) == len(theirs):
            ours = _in_order(ours, theirs)
        if len(ours) != len(theirs):
            return f"{where}: {len(ours)} and {len(theirs)} entries"
        pairs = enumerate(zip(ours, theirs, strict=True))
        return next(filter(None, (apart(a, b, f"{where}[{k}]") for k, (a, b) in pairs)), "")
    if near(ours, theirs):
        return ""
    if ".half_life" in where and _as_long(ours, theirs):
        return ""
    if where.endswith(".colour") and ours and theirs:
        channels = [[int(one[k : k + 2], 16) for k in (1, 3, 5)] for one in (ours, theirs)]
        if max(abs(a - b) for a, b in zip(*channels, strict=True)) <= 1:
            return ""
    return "" if ours == theirs else f"{where}: {ours!r} and {theirs!r}"


def _in_order(top: list[Any], other: list[Any]) -> list[Any]:
    """The most probable labels in the order of another list; those that are as probable as others
    for all that rounding tells may stand in another.
    """
    if {name for name, _ in top} == {name for name, _ in other}:
        place = [name for name, _ in other]
        return sorted(top, key=lambda entry: place.index(entry[0]))
    return [[b[0], a[1]] if near(a[1], b[1]) and a[1] < _FEW else a
            for a, b in zip(top, other, strict=True)]  # fmt: skip


class Chance:
    """Questions that somebody might ask, more or less well."""

    def __init__(self, lens: Lens, seed: int) -> None:
        self.lens, self.random = lens, random.Random(seed)
        self.semantic: str | None = None  # that the question at hand is about
        self.kinds = [kind.id for kind in lens.subject.model.kinds]
        side = lens.subject.session.text
        more = ["unheard", "12", "The", "it's"] if side.vocabulary.unknown is not None else []
        self.known = [*side.vocabulary.inputs[:40], *more]
        if side.features:
            self.known = [f"{self.random.gauss(0, 1):.2f}" for _ in range(40)]

    def pick(self, *several: Choice) -> Choice:
        return self.random.choice(several)

    def mostly(self, well: Choice, badly: Choice) -> Choice:
        return badly if self.random.random() < 0.05 else well

    def words(self, most: int = 7) -> str:
        count = self.random.randint(most // 2, most)
        return " ".join(self.pick(*self.known) for _ in range(count))

    def text(self) -> str:
        return self.mostly(self.words(), self.pick("", "{a|the} dog {", "a}", "\\{a|b\\}"))

    def pair(self) -> str:
        return f"{self.words(3)} {{{self.words(2)}|{self.pick('', self.words(2))}}} {self.words(3)}"

    def label(self) -> str:
        known = self.lens.subject.answers(self.semantic or self.lens.semantics[0]).names
        return self.mostly(self.pick(*known), self.pick("teh", "zzz"))

    def edit(self) -> str:
        units = self.mostly(self.pick("", "", "[0]", "[1-2]", "[0,3]"), "[9]")
        side = self.pick("", "", "1:", "2:")
        row = self.mostly(self.random.randint(1, 3), 9)
        way = self.pick(
            "=0", "=0.5", "*0.5", self.mostly("*-2", self.pick("=1e30", "*1e38")), "=freeze",
            "=@1", "=@2", f"=@1:{self.words()}",
            self.mostly("=-1", "=x"), f"+{self.label()}", f"-{self.label()}",
            f"+2.5:{self.label()}",
        )  # fmt: skip
        if units in ("[0,3]", "[1-2]"):
            way = self.pick(way, self.mostly("=0.1,0.2", "=1,2,3"))
        return f"{self.mostly(self.pick(*self.kinds), self.pick('y', 'q'))}{units}@{side}{row}{way}"

    def edits(self) -> list[str]:
        return [self.edit() for _ in range(self.random.randint(0, 3))]

    def column(self) -> str:
        return self.mostly(
            self.pick(*(column.id for column in self.lens.subject.columns)), "nothing"
        )

    def columns(self) -> list[str] | None:
        return self.pick(None, ["default"], [self.column(), self.column()])

    def row(self) -> int:
        return self.mostly(self.random.randint(0, 2), 9)

    def some_labels(self, least: int) -> list[str]:
        return [self.label() for _ in range(self.random.randint(least, 3))]

    def question(self) -> Question:
        ways = (
            self.grid, self.side_by_side, self.divergence, self.follow, self.turns, self.written,
            self.continued, self.labels,
        )  # fmt: skip
        self.semantic = self.pick(None, *self.lens.semantics)
        made: Question = self.pick(*ways)()
        return made

    def grid(self) -> Question:
        text, edits = self.text(), self.mostly(self.edits(), ["l2@1"])
        return "api/grid", {
            "text": text, "semantic": self.semantic, "edits": edits, "limit": self.pick(3, 100),
            "previous": self.pick("", text, f"{text} and", self.pair()), "have": self.row(),
            "previous_edits": self.pick([], edits[:1]) if self._can(edits[:1]) else [],
            "lenient": self.pick(True, True, False), "columns": self.columns(),
        }  # fmt: skip

    @staticmethod
    def _can(edits: list[str]) -> bool:
        return not any(edit.endswith("=x") for edit in edits)

    def side_by_side(self) -> Question:
        text = self.pair()
        return "api/grid", {
            "text": text, "semantic": self.semantic, "have": self.row(), "lenient": True,
            "previous": self.pick("", text, self.words()), "edits": self.pick([], [], self.edits()),
            "previous_edits": self.pick([], [f"{self.kinds[0]}@1=0"]), "columns": self.columns(),
        }  # fmt: skip

    def divergence(self) -> Question:
        def end() -> dict[str, Any]:
            other = {"text": self.pick(None, self.words()), "edits": self.pick([], self.edits())}
            return {"column": self.column(), "row": self.row(), **other}

        pairs = [{"a": end(), "b": end()} for _ in range(self.random.randint(1, 2))]
        return "api/divergence", {
            "text": self.words(), "semantic": self.semantic, "pairs": pairs
        }  # fmt: skip

    def rows(self) -> dict[str, Any]:
        text = self.pick(self.text(), self.pair())
        return {
            "text": text, "semantic": self.semantic, "first": self.pick(0, 0, 1, 4, 20),
            "limit": self.pick(2, 24), "edits": self.pick([], self.edits()),
            "columns": self.columns(),
        }  # fmt: skip

    def follow(self) -> Question:
        against = self.pick([], self.some_labels(1))
        return "api/follow", {**self.rows(), "labels": self.some_labels(1), "against": against}

    def labels(self) -> Question:
        begins = self.label()[: self.random.randint(0, 4)]
        return "api/labels", {
            "begins": begins, "names": self.some_labels(0), "semantic": self.semantic
        }  # fmt: skip

    def turns(self) -> Question:
        return "api/turns", self.rows()

    def written(self) -> Question:
        return "api/written", {
            "text": self.pick(self.words(), self.words(), self.pair()), "semantic": self.semantic,
            "column": self.column(), "row": self.row(),
            "labels": self.pick([], self.some_labels(1)),
            "against": self.pick([], self.some_labels(1)), **self.stand_in(),
        }  # fmt: skip

    def stand_in(self) -> dict[str, Any]:
        word = self.mostly(self.pick(*self.known), "unheard")
        named = self.pick(None, None, "tag", "model", "unknown", "left_out")
        return self.pick(
            {"instead": word},
            {"stand_in": self.mostly(named, "nobody"), "seed": self.pick(0, 5, 2**32 - 1)},
            {"stand_in": named, "draws": self.pick(8, 21)},
            {"stand_in": named, "instead": self.mostly(None, word)},
        )

    def continued(self) -> Question:
        return "api/continue", {
            "text": self.text(),
            "edits": self.pick([], self.edits()),
            "words": self.pick(3, 6),
            "samples": self.pick(0, 3),
            "seed": self.pick(0, 7, 2**32 - 1),
        }
