"""Imports point one way: from the corpus towards the screen, never back."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import rnnlens

PACKAGE = Path(rnnlens.__file__).parent
# A module may import from its own layer and the ones before it.
LAYERS = [
    "__init__",
    "version",
    "base",
    "labels",
    "corpus",
    "model",
    "adapter",
    "waves",
    "probe",
    "run",
    "reading",
    "search",
    "draw",
    "ask",
    "page",
    "lens",
    "work",
    "cli",
]
# Imports that point down today. The list only shrinks: mend one, and take it out.
KNOWN: frozenset[str] = frozenset(
    """ask.comparison imports rnnlens.lens.state
ask.comparison imports rnnlens.page.notebook
ask.comparison imports rnnlens.page.saved_page""".splitlines()
)
FACES = ("__init__", "__main__")  # what users meet; they import when they are asked


def layer(module: str) -> int:
    name = module.removeprefix("rnnlens").removeprefix(".").split(".")[0] or "__init__"
    return LAYERS.index(name)


def imports(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            module = node.module or ""
            submodules = (f"{module}.{alias.name}" for alias in node.names)
            yield from submodules if module == "rnnlens" else [module]


def violations(package: Path) -> list[str]:
    found = []
    for path in sorted(package.rglob("*.py")):
        name = ".".join(path.relative_to(package).with_suffix("").parts)
        if name in FACES:
            continue
        mine = layer(f"rnnlens.{name}")
        for imported in imports(path.read_text(encoding="utf-8")):
            inside = imported.startswith("rnnlens.") and not imported.startswith("rnnlens.__")
            if inside and layer(imported) > mine:
                found.append(f"{name} imports {imported}")
    return found


def test_imports_point_up():
    found = frozenset(violations(PACKAGE))
    assert found - KNOWN == frozenset()
    assert KNOWN - found == frozenset(), "mended: take them out of KNOWN"


def test_the_check_sees_an_import_that_points_down(tmp_path):
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "reader.py").write_text("def f():\n    from rnnlens.lens import grid\n")
    (tmp_path / "model.py").write_text(
        "from rnnlens.corpus import batches\nfrom rnnlens import run\n"
    )
    assert violations(tmp_path) == [
        "corpus.reader imports rnnlens.lens",
        "model imports rnnlens.run",
    ]


def graph(package: Path, name: str = "rnnlens") -> dict[str, set[str]]:
    """What each module imports of the package: at the top, in functions and for types only."""
    paths = {}
    for path in package.rglob("*.py"):
        parts = path.relative_to(package).with_suffix("").parts
        paths[".".join([name, *parts]).removesuffix(".__init__")] = path
    found: dict[str, set[str]] = {module: set() for module in paths}
    for module, path in paths.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                inside = [f"{node.module}.{alias.name}" for alias in node.names]
                names = [name if name in paths else str(node.module) for name in inside]
            found[module] |= paths.keys() & names
    return found


def cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """The largest sets of modules in which each imports each, in however many steps."""

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        ahead = list(graph[start])
        while ahead:
            if (module := ahead.pop()) not in seen:
                seen.add(module)
                ahead += graph[module]
        return seen

    reach = {module: reached(module) for module in graph}
    sets = {frozenset(n for n in reach[m] if m in reach[n]) for m in graph if m in reach[m]}
    return sorted(sorted(each) for each in sets)


def test_no_modules_import_each_other():
    assert cycles(graph(PACKAGE)) == []


def test_the_check_sees_cycles_through_local_and_typing_imports(tmp_path):
    (tmp_path / "lens").mkdir()
    for name, text in {
        "__init__": "def load():\n    from rnnlens import run\n",
        "run": "import rnnlens\n",
        "lens/__init__": "",
        "lens/lens": "class Lens:\n    def grid(self):\n        from rnnlens.lens import grid\n",
        "lens/grid": "from rnnlens.lens.state import State\nfrom rnnlens import files\n",
        "lens/state": "if TYPE_CHECKING:\n    from rnnlens.lens.lens import Lens\n",
        "files": "import os\n",
    }.items():
        (tmp_path / f"{name}.py").write_text(text)
    assert cycles(graph(tmp_path)) == [
        ["rnnlens", "rnnlens.run"],
        ["rnnlens.lens.grid", "rnnlens.lens.lens", "rnnlens.lens.state"],
    ]


def test_importing_rnnlens_loads_no_server_no_plotting_and_no_notebook():
    heavy = """starlette fastapi pydantic uvicorn matplotlib nltk textblob
        IPython anywidget ipywidgets traitlets""".split()
    code = f"import rnnlens, sys; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"


def test_the_names_of_tasks_stand_where_the_documentation_says():
    docs = (PACKAGE.parents[1] / "docs/tasks.md").read_text(encoding="utf-8")
    section = docs.split("## Adding a task")[1]
    named = set(re.findall(r"`([a-z_]+/[a-z_/]+\.py)`", section))
    assert all((PACKAGE / name).is_file() for name in named)
    names = re.compile(r"read\.task import .*\b(NEXT|TAG|CLASSIFY|TASKS)\b|(?<!read)\.task\b")
    using = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if names.search(path.read_text(encoding="utf-8"))
    }
    assert using <= named
    assert len(using) > 5  # they are found
