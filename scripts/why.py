"""Write the tables of docs/why.md: who wrote a prediction of the bundled model.

    python scripts/why.py

Above each table of the page a comment names the text, the state and the two labels. A table has
what goes without each word under every stand-in.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import rnnlens
from rnnlens.ask.stand_ins import STAND_INS, UNKNOWN
from rnnlens.ask.written import Written

PAGE = Path(__file__).parents[1] / "docs/why.md"
DRAWS = 100
_TABLE = re.compile(
    r"<!-- why: (?P<text>.+?) \| (?P<kind>\S+) \| (?P<label>\S+) \| (?P<against>\S+) -->\n"
    r"```text\n(?P<table>(?:.*\n)*?)```\n"
)


@dataclass(frozen=True)
class Answers:
    """Who wrote one state, by what stood in for the words."""

    by: dict[str, Written]

    @property
    def usual(self) -> Written:
        """With the unknown word in a word's place, whose path the page shows."""
        return self.by[UNKNOWN]

    def without(self, word: str) -> list[float]:
        """What goes without a word, under each stand-in."""
        at = self.usual.words.index(word)
        return [float(written.without[at]) for written in self.by.values()]

    def lines(self) -> list[str]:
        """As a table: what is stored, the path, and what goes under each stand-in."""
        usual = self.usual
        assert usual.stored is not None
        assert usual.path is not None
        margin = max(map(len, (*usual.words, "the rest")))
        heads = "".join(
            f"{name.replace('_', ' '):>{15 if name in _DRAWN else 9}}" for name in self.by
        )
        lines = [f"{usual.title}, {usual.difference:+.2f}",
                 " " * margin + f"{'stored':>9}{'path':>9}" + heads]  # fmt: skip
        for k, word in enumerate(usual.words):
            found = "".join(_cell(name, written, k) for name, written in self.by.items())
            lines.append(f"{word:>{margin}}{usual.stored[k]:>+9.2f}{usual.path[k]:>+9.2f}{found}")
        rests = f"{usual.stored_rest:>+9.2f}{usual.path_rest:>+9.2f}"
        return [*lines, f"{'the rest':>{margin}}{rests}"]


_DRAWN = STAND_INS[:2]


def _cell(name: str, written: Written, k: int) -> str:
    if name not in _DRAWN or written.high is None:
        return f"{written.without[k]:>+9.2f}"
    return f"{written.without[k]:>+9.2f} ±{written.high[k] - written.without[k]:.2f}"


def answers(page: str) -> Iterator[tuple[Answers, str]]:
    """What the page asks of the bundled model: the answers, and the tables that stand there."""
    lens = rnnlens.load("english-news")
    for found in _TABLE.finditer(page):
        state = lens(found["text"])[found["kind"]][-1]
        by = {
            name: state.written_by(
                found["label"], against=found["against"], stand_in=name, draws=DRAWS
            )
            for name in STAND_INS
        }
        yield Answers(by), found["table"]


def main() -> None:
    """Write every table anew."""
    page = PAGE.read_text(encoding="utf-8")
    tables = iter([*answers(page)])

    def anew(found: re.Match[str]) -> str:
        head = found[0].removesuffix(found["table"] + "```\n")
        return head + "\n".join([*next(tables)[0].lines(), "```", ""])

    PAGE.write_text(_TABLE.sub(anew, page), encoding="utf-8")


if __name__ == "__main__":
    main()
