"""Imports point one way: from the corpus towards the screen, never back."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from itertools import combinations
from pathlib import Path

import rnnlens
from rnnlens.model.cells.classic import TORCHS
from rnnlens.model.kinds import INPUT, JOINED, PREDICTION

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
    "states",
    "waves",
    "probe",
    "run",
    "reading",
    "search",
    "draw",
    "ask",
    "lab",
    "page",
    "lens",
    "work",
    "cli",
]
FACES = ("__init__", "__main__")  # what users meet; they import when they are asked


@cache
def parsed(source: str) -> ast.Module:
    """A file is looked at in many ways, and read once."""
    return ast.parse(source)


def layer(module: str) -> int:
    name = module.removeprefix("rnnlens").removeprefix(".").split(".")[0] or "__init__"
    return LAYERS.index(name)


def imports(source: str) -> Iterator[str]:
    for node in ast.walk(parsed(source)):
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


def strangers(package: Path) -> list[str]:
    """Packages and files that have no layer, and folders of code that are no packages."""
    modules = sorted(package.rglob("*.py"))
    tops = {path.relative_to(package).with_suffix("").parts[0] for path in modules}
    bare = {path.parent for path in modules if not (path.parent / "__init__.py").exists()}
    return sorted(tops - {*LAYERS, *FACES}) + sorted(folder.name for folder in bare)


def test_every_package_and_file_has_its_layer():
    assert strangers(PACKAGE) == []
    assert all((PACKAGE / name).is_dir() or (PACKAGE / f"{name}.py").exists() for name in LAYERS)


def test_the_check_sees_packages_without_a_layer(tmp_path):
    for name in ("__init__.py", "corpus/__init__.py", "corpus/read/text.py", "view/page.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert strangers(tmp_path) == ["view", "read", "view"]


def test_imports_point_up():
    assert violations(PACKAGE) == []


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
        for node in ast.walk(parsed(path.read_text(encoding="utf-8"))):
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


def heirs(package: Path) -> dict[str, str]:
    """Of each class the classes of other packages that it inherits from, by their modules."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        tree = parsed(path.read_text(encoding="utf-8"))
        module = ".".join(path.relative_to(package).with_suffix("").parts)
        names = {
            alias.asname or alias.name: f"{node.module}.{alias.name}"
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        for node in (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)):
            for base in node.bases:
                first, _, rest = re.sub(r"\[.*", "", ast.unparse(base)).partition(".")
                whole = ".".join(filter(None, [names.get(first, ""), rest]))
                ours, _, inherited = whole.partition(".")
                if ours == "rnnlens" and inherited.split(".")[0] != module.split(".")[0]:
                    found[f"{module}.{node.name} inherits from {inherited}"] = whole
    return found


def contracts(document: str) -> set[str]:
    """The classes that the documentation of the architecture names as contracts."""
    section = document.split("## The contracts")[1].split("\n## ", maxsplit=1)[0]
    return set(re.findall(r"\*\*(\w+)\*\*", section))


def strange_heirs(package: Path, document: str) -> set[str]:
    named = contracts(document)
    return {heir for heir, base in heirs(package).items() if base.split(".")[-1] not in named}


def test_classes_inherit_from_their_own_package_or_from_a_contract():
    document = (PACKAGE.parents[1] / "docs/architecture.md").read_text(encoding="utf-8")
    assert strange_heirs(PACKAGE, document) == set()


def test_the_check_sees_classes_that_inherit_across_packages(tmp_path):
    for name, text in {
        "model/cell.py": "class Cell: ...\nclass Gru(Cell): ...\n",
        "lens/lens.py": "from rnnlens.model.cell import Cell, Gru as G\n"
        "from rnnlens.model import cell\nfrom rnnlens.lens.base import Base\n"
        "class A(Cell): ...\nclass B(Base, G[int]): ...\nclass C(cell.Gru): ...\n",
    }.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    document = "## The contracts\n**Cell** is one.\n## The rooms\n**Gru** is none.\n"
    assert strange_heirs(tmp_path, document) == {
        "lens.lens.B inherits from model.cell.Gru",
        "lens.lens.C inherits from model.cell.Gru",
    }


def twins(package: Path) -> set[str]:
    """Files of one name in one package, or in two of which one imports the other."""
    paths = [path.relative_to(package) for path in package.rglob("*.py")]
    pairs = {
        (module.split(".")[1], other.split(".")[1])
        for module, others in graph(package).items()
        for other in others
        if module != "rnnlens" != other
    }
    return {
        " and ".join(sorted([first.as_posix(), second.as_posix()]))
        for first, second in combinations(paths, 2)
        if first.name == second.name != "__init__.py"
        and {(a := first.parts[0], b := second.parts[0]), (b, a), (a, a)} & {*pairs, (b, b)}
    }


def test_no_two_files_of_one_name_in_packages_that_import_each_other():
    assert twins(PACKAGE) == set()


def test_the_check_sees_twins(tmp_path):
    for name, text in {
        "model/text.py": "",
        "page/text.py": "",
        "page/serve.py": "from rnnlens.corpus import words\n",
        "corpus/text.py": "",
        "corpus/words.py": "",
        "corpus/read/words.py": "",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert twins(tmp_path) == {
        "corpus/text.py and page/text.py",
        "corpus/read/words.py and corpus/words.py",
    }


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
    names = re.compile(
        r"read\.task import .*\b(NEXT|TAG|CLASSIFY|TASKS)\b|\breader_task\b|\bself\.task\b"
    )
    using = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if names.search(path.read_text(encoding="utf-8"))
    }
    assert using <= named
    assert len(using) > 5  # they are found


LETTERS = {kind.id for cell in TORCHS.values() for kind in cell.kinds} | {INPUT, JOINED, PREDICTION}
# What takes a letter that is no kind's: files are opened and arrays made by them.
OTHERS_LETTERS = {"array", "memmap", "fdopen", "open", "plot"}
_AN_ID = re.compile(rf"[{''.join(sorted(LETTERS))}]\d+<?")


def letters_named(source: str) -> list[tuple[int, str]]:
    """Where code names kinds by letter (`"h"`, `letter in "lckh"`) or by id (`"h1"`)."""
    tree = parsed(source)
    passed: set[ast.AST] = set()  # docstrings, pieces of texts, plurals, columns of a table
    several: set[ast.AST] = set()  # strings that are used letter by letter
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):
            passed.add(node.value)
        elif isinstance(node, ast.JoinedStr):
            passed |= {*node.values}
        elif isinstance(node, ast.BinOp):
            passed.add(node.left)
        elif isinstance(node, ast.Subscript) and getattr(node.value, "id", "") == "row":
            passed.add(node.slice)
        elif isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
            several |= {*node.comparators}
        elif isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if name in OTHERS_LETTERS:
                passed |= {*node.args, *(keyword.value for keyword in node.keywords)}
            if name in ("fromkeys", "frozenset", "set", "list", "tuple"):
                several |= {*node.args}
    return [
        (node.lineno, node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in passed
        if node.value in LETTERS
        or _AN_ID.fullmatch(node.value)
        or (node in several and node.value and {*node.value} <= LETTERS)
    ]


def test_only_the_model_names_the_letters_of_kinds():
    named = {
        path.relative_to(PACKAGE).as_posix(): letters
        for path in sorted(PACKAGE.rglob("*.py"))
        if "model" not in path.relative_to(PACKAGE).parts[:1]
        and path.name != "pattern.py"  # whose letters are those of regular expressions
        and (letters := letters_named(path.read_text(encoding="utf-8")))
    }
    assert named == {}


def test_the_check_sees_letters_and_passes_what_is_none():
    lines = ["h = states['h']", "start = place.id('c') if kind.letter == 'y' else {'l': 1}",
             "ranges = dict.fromkeys('fiorz', (0, 1))",
             "memory = letter in 'lckh' or kind in ('c2', 'encoder')"]  # fmt: skip
    found = [(1, "h"), (2, "c"), (2, "y"), (2, "l"), (3, "fiorz"), (4, "lckh"), (4, "c2")]
    assert sorted(letters_named("\n".join(lines))) == sorted(found)
    others = ["'h'", "text = f'{width:g} n{k}' + 's' * (left > 1)", "column = row['x'], 'hi'",
              "words, file = array('i'), open(path, 'w')", "look = how == 'long'"]  # fmt: skip
    assert letters_named("\n".join(others)) == []
