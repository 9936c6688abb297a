"""Commands and programs that pages show, run as they are shown."""

import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
SERVERS = ("make demo", "rnnlens demo", "rnnlens view")
RECURSIVE = "make test"  # it runs these very tests


class Block(NamedTuple):
    """A fenced block of a page."""

    language: str
    text: str


def blocks(page: str, *languages: str) -> list[Block]:
    """Those in some of the languages, in the order of the page."""
    found = re.finditer(r"^```(\w+)\n(.*?)^```", page, flags=re.DOTALL | re.MULTILINE)
    return [Block(b[1], b[2]) for b in found if b[1] in languages]


def commands(page: str) -> list[str]:
    """What stands in its sh blocks, without remarks; a backslash continues a line."""
    text = "".join(block.text for block in blocks(page, "sh")).replace("\\\n", "")
    return [line for line in (line.split("#")[0].strip() for line in text.splitlines()) if line]


def run(command: str, folder: Path) -> str:
    """In a process of its own, which must succeed; what serves is stopped once it does."""
    words = shlex.split(command)
    where = ROOT if words[0] == "make" else folder
    if command == RECURSIVE:
        words.insert(1, "--dry-run")
    if command.startswith(SERVERS):
        words.append("ARGS=--no-browser" if words[0] == "make" else "--no-browser")
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    process = subprocess.Popen(
        words, cwd=where, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, start_new_session=True,
    )  # fmt: skip
    assert process.stdout
    seen = []
    with process.stdout:
        for line in process.stdout:
            seen.append(line)
            if " at http://" in line:
                os.killpg(process.pid, signal.SIGINT)
                break
        else:
            assert process.wait() == 0, "".join(seen)
    process.wait(timeout=30)
    if command.startswith(SERVERS):
        assert " at http://" in "".join(seen), "".join(seen)
    return "".join(seen)
