"""The package: what it imports is declared, and its wheel works in an environment of its own."""

import ast
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path
from zipfile import ZipFile

import pytest
from tests.shown import ROOT

import rnnlens

PACKAGE = ROOT / "src/rnnlens"
CONSTRAINTS = ROOT / "constraints.txt"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = ("figure", "pandas", "index", "states", "notebook")  # of users; the rest of developers
BROUGHT = {"triton": "torch"}  # where there is CUDA


def names(requirements: list[str]) -> set[str]:
    """The distributions that requirements are of, in lower case with hyphens."""
    return {re.split(r"[^\w.-]", one)[0].lower().replace("_", "-") for one in requirements}


def imported(path: Path) -> Iterator[str]:
    """The top-level names of what a file imports, also inside its functions."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0]


def imports(package: Path) -> dict[str, str]:
    """Modules of others that a package imports, each with the distribution it is of."""
    found = {name for path in package.rglob("*.py") for name in imported(path)}
    others = found - sys.stdlib_module_names - {package.name}
    known = packages_distributions()
    of = {name: BROUGHT.get(name) or known.get(name, [name])[0] for name in others}
    return {name: one.lower().replace("_", "-") for name, one in of.items()}


def test_every_module_that_is_imported_is_declared():
    declared = names(PROJECT["dependencies"])
    for extra in EXTRAS:
        declared |= names(PROJECT["optional-dependencies"][extra])
    found = imports(PACKAGE)
    assert {"torch", "matplotlib", "annotated_types"} <= found.keys()
    assert {name for name, of in found.items() if of not in declared} == set()


def test_imports_are_seen_wherever_they_stand(tmp_path):
    (tmp_path / "package").mkdir()
    text = "import os\nfrom . import near\ndef f():\n    from yaml.nodes import Node\n"
    (tmp_path / "package" / "module.py").write_text(text)
    assert imports(tmp_path / "package") == {"yaml": "pyyaml"}


def test_everything_tells_the_same_version():
    told = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {rnnlens.__version__}\n" in told
    history = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = re.findall(r"^## \[(.+?)\]", history, re.MULTILINE)
    assert next(one for one in versions if one != "Unreleased") == rnnlens.__version__


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `make wheel` builds."""
    folder: Path = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=120)
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (path,) = built.glob("*.whl")
    return path


@pytest.mark.release
def test_the_wheel_has_the_whole_package_and_nothing_else(wheel):
    assert wheel.name == f"rnnlens-{rnnlens.__version__}-py3-none-any.whl"
    with ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    sources = [path for path in PACKAGE.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert held == {path.relative_to(ROOT / "src").as_posix() for path in sources}
    assert "rnnlens/py.typed" in held
    assert {"rnnlens/page/web/index.html", "rnnlens/bundled/english-news/model.safetensors"} <= held
    assert not any(re.search(r"(^|/)(tests?|conftest)\b", name) for name in held)


@pytest.mark.release
def test_the_sources_can_be_built_and_tested(built):
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "constraints.txt", "Makefile", "tests/conftest.py"} <= held
    assert {"src/rnnlens/py.typed", "LICENSE", "CHANGELOG.md", "docs/conf.py"} <= held
    strays = re.compile(r"(^|/)(node_modules|\.venv|__pycache__|_build)(/|$)")
    assert not any(strays.search(name) for name in held)


@pytest.fixture(scope="module")
def clean(wheel: Path) -> Path:
    """An environment of the wheel and of what pyproject.toml declares.

    It lies beside the environment of the tests, with its dependencies until these are others.
    """
    home = Path(sys.prefix) / "clean"
    needed = [PROJECT["dependencies"], CONSTRAINTS.read_text(encoding="utf-8"), sys.version]
    digest, stamp = hashlib.sha256(json.dumps(needed).encode()).hexdigest(), home / "made-for"
    with home.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not stamp.exists() or stamp.read_text() != digest:
            shutil.rmtree(home, ignore_errors=True)
            venv.create(home, with_pip=True)
            install(home, "--constraint", str(CONSTRAINTS), *PROJECT["dependencies"])
            stamp.write_text(digest)
        install(home, "--no-deps", "--force-reinstall", str(wheel))
    return home


def install(home: Path, *what: str) -> None:
    start("python", "-I", "-m", "pip", "install", "--quiet", *what, home=home)


def start(*words: str, home: Path, folder: Path = ROOT.parent) -> str:
    """Run a program of an environment, which must succeed; gives what it prints."""
    own = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "COV_CORE_SOURCE")}
    done = subprocess.run(
        [home / "bin" / words[0], *words[1:]], cwd=folder, env=own, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


IMPORT_ALL = """
import importlib, importlib.metadata, json, pkgutil, rnnlens
missing, there = set(), importlib.metadata.distributions()
for module in pkgutil.walk_packages(rnnlens.__path__, "rnnlens."):
    if module.name != "rnnlens.__main__":
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError as error:
            missing.add(error.name.split(".")[0])
print(json.dumps([sorted(missing), [one.metadata["Name"] for one in there]]))
"""


@pytest.mark.release
@pytest.mark.timeout(900)
def test_the_wheel_works_where_nothing_else_is_installed(clean, tmp_path):
    told = start("python", "-I", "-m", "pip", "check", home=clean)
    assert "No broken requirements" in told
    shown = start("rnnlens", "show", "english-news", "a b", home=clean, folder=tmp_path)
    assert re.findall(r"^(a|b) ", shown, re.MULTILINE) == ["a", "b"]
    printed = start("python", "-I", "-c", IMPORT_ALL, home=clean, folder=tmp_path)
    missing, there = json.loads(printed)
    optional = set().union(*(names(PROJECT["optional-dependencies"][one]) for one in EXTRAS))
    assert set(missing) <= optional | BROUGHT.keys()
    assert names(PROJECT["dependencies"]) <= names(there)
    assert not names(there) & (optional | {"pytest", "hatchling"})
