"""Write the tables of docs/why.md: who wrote a prediction of the bundled model.

    python scripts/why.py

Above each table of the page a comment names the text, the state and the two labels.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import rnnlens
from rnnlens.ask.written import Written

PAGE = Path(__file__).parents[1] / "docs/why.md"
_TABLE = re.compile(
    r"<!-- why: (?P<text>.+?) \| (?P<kind>\S+) \| (?P<label>\S+) \| (?P<against>\S+) -->\n"
    r"```text\n(?P<table>(?:.*\n)*?)```\n"
)


def answers(page: str) -> Iterator[tuple[Written, str]]:
    """What the page asks of the bundled model: the answers, and the tables that stand there."""
    lens = rnnlens.load("english-news")
    for found in _TABLE.finditer(page):
        state = lens(found["text"])[found["kind"]][-1]
        yield state.written_by(found["label"], against=found["against"]), found["table"]


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
