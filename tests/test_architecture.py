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
    "errors",
    "files",
    "tensors",
    "lock",
    "trust",
    "flags",
    "threads",
    "progress",
    "corpus",
    "model",
    "adapter",
    "waves",
    "probe",
    "contents",
    "run",
    "kept",
    "view",
    "cli",
]
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
    assert violations(PACKAGE) == []


def test_the_check_sees_an_import_that_points_down(tmp_path):
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "reader.py").write_text("def f():\n    from rnnlens.view import grid\n")
    (tmp_path / "model.py").write_text(
        "from rnnlens.corpus import batches\nfrom rnnlens import run\n"
    )
    assert violations(tmp_path) == [
        "corpus.reader imports rnnlens.view",
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
    (tmp_path / "view").mkdir()
    for name, text in {
        "__init__": "def load():\n    from rnnlens import run\n",
        "run": "import rnnlens\n",
        "view/__init__": "",
        "view/lens": "class Lens:\n    def grid(self):\n        from rnnlens.view import grid\n",
        "view/grid": "from rnnlens.view.state import State\nfrom rnnlens import files\n",
        "view/state": "if TYPE_CHECKING:\n    from rnnlens.view.lens import Lens\n",
        "files": "import os\n",
    }.items():
        (tmp_path / f"{name}.py").write_text(text)
    assert cycles(graph(tmp_path)) == [
        ["rnnlens", "rnnlens.run"],
        ["rnnlens.view.grid", "rnnlens.view.lens", "rnnlens.view.state"],
    ]


def test_files_stay_short():
    long = {
        path.name: lines
        for path in [*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.js"), *PACKAGE.rglob("*.css")]
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > 300
    }
    assert long == {}


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
    names = re.compile(r"read\.labels import .*\b(NEXT|TAG|CLASSIFY|TASKS)\b|\.task\b")
    using = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if names.search(path.read_text(encoding="utf-8"))
    }
    assert using <= named
    assert len(using) > 5  # they are found
