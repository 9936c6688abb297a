"""The pictures of docs/gallery.md, each made by what stands below it on that page.

    python scripts/gallery.py              all of them, into docs/gallery
    python scripts/gallery.py bars.svg     only some

The page is the only list: a picture is a line `![...](gallery/NAME)`, and the commands (sh) or the
program (python) of its section are run to make it.
"""

import argparse
import os
import re
import runpy
import shlex
import sys
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from rnnlens.cli import main as rnnlens

ROOT = Path(__file__).parents[1]
PAGE, FOLDER = ROOT / "docs/gallery.md", ROOT / "docs/gallery"
_PICTURE = re.compile(r"!\[[^\]]+\]\(gallery/([^)]+)\)")
_BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Section:
    """Some pictures of the page and the blocks that make them."""

    pictures: tuple[str, ...]
    blocks: tuple[tuple[str, str], ...]  # language, text

    def make(self, folder: Path) -> None:
        """Draw into a folder."""
        # The same bytes each time: no dates and no random names in what matplotlib writes.
        with chdir(folder), patch.dict(os.environ, {"SOURCE_DATE_EPOCH": "0"}):
            for language, text in self.blocks:
                if language == "python":
                    exec(compile(text, PAGE.name, "exec"), {"__name__": "__main__"})
                else:
                    for line in text.replace("\\\n", "").splitlines():
                        _run(shlex.split(line))


def _run(words: list[str]) -> None:
    """`rnnlens ...`, or `python` with a program of this repository."""
    if words[0] == "rnnlens":
        code = rnnlens(words[1:])
        if code:
            sys.exit(code)
    else:
        with patch.object(sys, "argv", words[1:]):
            runpy.run_path(str(ROOT / words[1]), run_name="__main__")


def sections() -> list[Section]:
    """What the page shows."""
    made = []
    for text in re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        blocks = [(found[1], found[2]) for found in _BLOCK.finditer(text)]
        made.append(Section(tuple(_PICTURE.findall(text)), tuple(blocks)))
    return made


def main() -> None:
    """Make what is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pictures", nargs="*", help="their names; without any, all")
    asked = set(parser.parse_args().pictures)
    unknown = asked - {name for section in sections() for name in section.pictures}
    if unknown:
        parser.error(f"the page has no picture {', '.join(sorted(unknown))}")
    import matplotlib as mpl

    mpl.rcParams["svg.hashsalt"] = "rnnlens"
    FOLDER.mkdir(exist_ok=True)
    for section in sections():
        if not asked or asked & set(section.pictures):
            section.make(FOLDER)
            print(*section.pictures)


if __name__ == "__main__":
    main()
