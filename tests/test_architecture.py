"""Imports point one way: from the corpus towards the screen, never back."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import rnnlens

PACKAGE = Path(rnnlens.__file__).parent
# A module may import from its own layer and the ones before it.
LAYERS = [
    "__init__",
    "errors",
    "files",
    "flags",
    "corpus",
    "model",
    "adapter",
    "probe",
    "run",
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
