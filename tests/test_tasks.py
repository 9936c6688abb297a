"""Adding a task touches few files, and the documentation says which."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src/rnnlens"


def test_the_names_of_tasks_stand_where_the_documentation_says():
    section = (ROOT / "docs/tasks.md").read_text(encoding="utf-8").split("## Adding a task")[1]
    named = set(re.findall(r"`([a-z_]+/[a-z_/]+\.py)`", section))
    assert all((PACKAGE / name).is_file() for name in named)
    names = re.compile(r"read\.labels import .*\b(NEXT|TAG|CLASSIFY|TASKS)\b|\.task\b")
    using = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if names.search(path.read_text(encoding="utf-8"))
    }
    assert using <= named
    assert len(using) > 5  # they are found
