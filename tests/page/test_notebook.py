"""Grids and lenses as a notebook is given them, and the kernel's answers to their widgets."""

import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat
import pytest
from tests.asks import ask as ask_python
from tests.asks import grid_json
from tests.held import held_to
from tests.table import Table

import rnnlens
from rnnlens.ask.questions import Subjects
from rnnlens.ask.state_pairs import DivergenceQuestion, Pair, PairEnd
from rnnlens.draw.printable import clip, name_of
from rnnlens.page import notebook
from rnnlens.page.saved_page import NotebookView

VIEW = "application/vnd.jupyter.widget-view+json"
NASTY = "the <img/src=x/onerror=alert(1)> dogs $a$ see &amp; a bird"


def plain(value: Any) -> Any:
    """As JSON gives it back."""
    return json.loads(json.dumps(value))


def bundle(shown: Any) -> dict[str, Any]:
    data, metadata = shown._repr_mimebundle_(include=None, exclude=None)
    assert isinstance(metadata, dict)
    return dict(data)


def test_a_grid_gives_its_widget_a_table_and_a_line(formula):
    grid = formula("the old dogs see a bird")
    data = bundle(grid)
    assert set(data) == {VIEW, "text/html", "text/plain"}
    assert data["text/plain"] == repr(grid)
    widget = notebook._widgets[grid]
    assert data[VIEW]["model_id"] == widget.model_id
    start = json.loads(widget.start)
    held_to(NotebookView, widget.start)
    assert start == {"grid": plain(grid.json), "typing": False, "examples": []}
    assert bundle(grid)[VIEW] == data[VIEW], "shown twice it is one widget"
    widget.close()
    assert bundle(grid)[VIEW] != data[VIEW], "a closed one cannot be shown again"


def test_a_lens_gives_its_first_example_and_a_field(formula):
    data = bundle(formula)
    assert set(data) == {VIEW, "text/html", "text/plain"}
    assert data["text/plain"] == f"<lens {formula.title}>"
    start = json.loads(notebook._widgets[formula].start)
    held_to(NotebookView, notebook._widgets[formula].start)
    assert (start["typing"], start["examples"]) == (True, formula.examples())
    assert start["grid"] == plain(grid_json(formula, formula.examples()[0]))


@pytest.mark.parametrize(
    "text", ["the old dogs see a bird", NASTY, "مرحبا \ud800 the \u202e dogs", ""]
)
def test_the_table_is_text_and_nothing_else(formula, text):
    grid = formula(text)
    table = Table(bundle(grid)["text/html"])
    assert table.tags <= set("div p b i sub br small span bdi table thead tbody tr th td".split())
    assert table.attributes <= {"class", "style", "align", "colspan"}
    shown = [column for column in grid.json["columns"] if column["shown"]]
    assert len(table.words) == len(grid)
    for word, seen in zip(grid.json["words"], table.words, strict=True):
        mark = " ?" if word["unknown"] else ""
        assert seen == clip(word["text"], 24) + mark
    for step, row in enumerate(table.rows[2:]):
        assert len(row) == len(shown) + 1
        for column, cell in zip(shown, row[1:], strict=True):
            state = grid.json["rows"][step][grid.kinds.index(column["id"])]
            if state["unread"]:
                assert cell == "nothing read"
                continue
            label, probability = state["top"][0]
            percent = f"{probability:.0%}" if probability >= 0.005 else "<1%"
            assert cell == f"{name_of(label, grid.json) or label}\xa0{percent}"
    assert "<" not in re.sub(r"</?[a-z]+[^<>]*>", "", bundle(grid)["text/html"])


def test_a_long_text_begins_with_a_part_and_has_a_small_table(formula):
    grid = formula("the old dogs see a bird " * 300)
    data = bundle(grid)
    assert len(data["text/html"]) < 80_000
    table = Table(data["text/html"])
    assert len(table.words) == 40
    assert "… and 1,760 more words" in table.text
    start = json.loads(notebook._widgets[grid].start)["grid"]
    assert (len(start["words"]), len(start["rows"])) == (1800, 100)


def test_every_cell_and_family_and_runs_without_probes(formulas):
    for lens in formulas.values():
        table = Table(bundle(lens)["text/html"])
        assert len(table.words) == len(lens.examples()[0].split())


@pytest.fixture
def without_anywidget(monkeypatch):
    monkeypatch.setitem(sys.modules, "anywidget", None)
    notebook._widget_class.cache_clear()
    yield
    notebook._widget_class.cache_clear()


@pytest.mark.usefixtures("without_anywidget")
def test_without_anywidget_there_is_the_table_and_a_hint(formula):
    for shown in (formula, formula("the dogs")):
        data = bundle(shown)
        assert set(data) == {"text/html", "text/plain"}
        assert notebook.HINT in Table(data["text/html"]).text
        assert data["text/plain"].endswith(notebook.HINT)


def test_in_a_terminal_there_is_one_line(formula, monkeypatch):
    import IPython

    monkeypatch.setattr(IPython, "get_ipython", SimpleNamespace)
    grid = formula("the dogs")
    assert bundle(grid) == {"text/plain": repr(grid)}


def test_in_a_kernel_the_table_is_an_output_of_its_own(formula, monkeypatch):
    import IPython

    told: list[dict[str, str]] = []
    shell = SimpleNamespace(kernel=object(), display_pub=SimpleNamespace(publish=told.append))
    monkeypatch.setattr(IPython, "get_ipython", lambda: shell)
    grid = formula("the dogs")
    assert set(bundle(grid)) == {VIEW, "text/plain"}
    assert [set(one) for one in told] == [{"text/html", "text/plain"}]
    assert f'class="{notebook._widgets[grid].table} ' in told[0]["text/html"]


def ask(lens: Any, path: str, body: Any) -> Any:
    said = notebook.answer(Subjects.of(lens.subject), {"id": "7", "path": path, "body": body})
    assert said["id"] == "7"
    return json.loads(said["answer"]) if "answer" in said else said["error"]


def test_the_kernel_answers_as_the_server_does(formula):
    body: dict[str, Any] = {
        "text": "the old dogs see", "previous": "the old bird see", "have": 4, "limit": 100,
    }  # fmt: skip
    part = ask(
        formula, "api/grid", {"run": formula.name, "semantic": None, "palette": None, **body}
    )
    assert part == plain(grid_json(formula, **body))
    assert (part["from"], len(part["rows"])) == (1, 3)
    a: dict[str, Any] = {"column": "h2", "row": 1, "text": "the dogs", "semantic": "input"}
    b = {"column": "l1", "row": 0, "text": None, "semantic": None}
    asked = {"text": "a bird", "semantic": "output", "pairs": [{"a": a, "b": b}]}
    ends = PairEnd(**a), PairEnd(column="l1", row=0, text="a bird", semantic="output")
    question = DivergenceQuestion(pairs=(Pair(a=ends[0], b=ends[1]),))
    assert ask(formula, "api/divergence", asked) == ask_python(formula, question)


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        ("api/grid", {"text": "x" * 20_001}, "20,001 characters are too many"),
        ("api/grid", {"text": "the", "semantic": "nonsense"}, "no probes for the semantic"),
        ("api/grid", {"text": 3}, "text: Input should be a valid string"),
        ("api/divergence", {"pairs": [{"a": {}, "b": {}}]}, "pairs.0.a.column"),
        ("api/publish", {}, "'api/publish'"),
    ],
)
def test_what_the_kernel_cannot_answer_is_one_line(formula, path, body, said):
    error = ask(formula, path, body)
    assert isinstance(error, str)
    assert said in error
    assert "\n" not in error


def test_what_is_no_question_is_answered_too(formula):
    assert "kernel failed" in notebook.answer(Subjects.of(formula.subject), 3)["error"]


def test_the_module_stands_alone():
    module = notebook.module()
    assert module.count("export default ") == 1
    assert not re.search(r"^\s*import\b", module, flags=re.MULTILINE)
    assert set(re.findall(r"\w+://[^\s\"'`)]+", module)) == {"http://www.w3.org/2000/svg"}
    assert "@media (max-width" not in notebook.style(), "the window is not the widget"


def test_the_example_is_small_and_holds_what_it_would_print():
    path = Path(__file__).parents[2] / "examples" / "notebook.ipynb"
    read = nbformat.read(path, as_version=4)
    nbformat.validate(read)
    assert path.stat().st_size < 50_000
    code = [cell for cell in read.cells if cell.cell_type == "code"]
    names: dict[str, Any] = {}
    for cell in code:
        *before, last = cell.source.splitlines()
        exec("\n".join(before), names)
        value = eval(last, names)
        if not isinstance(value, rnnlens.Grid | rnnlens.Lens):
            told = re.sub(r"\d\.\d{4,}", lambda p: f"{float(p[0]):.3f}", repr(value))
            held = re.sub(r"\d\.\d{4,}", lambda p: f"{float(p[0]):.3f}", pretty(cell))
            assert held == told
            continue
        static, live = cell.outputs
        table = Table(bundle(value)["text/html"])
        assert Table(static.data["text/html"]).rows == table.rows
        assert live.data["text/plain"] == bundle(value)["text/plain"]


def pretty(cell: Any) -> str:
    """What a cell printed last, on one line."""
    return re.sub(r"\n\s*", " ", cell.outputs[-1].data["text/plain"])


def test_the_table_is_headed_by_the_ends_of_long_paths(formula):
    grid = plain(grid_json(formula, "the dogs"))
    for k, column in enumerate(grid["columns"]):
        path = f"some.large.backbone.encoder.layers.{k}"
        column |= {"letter": "", "name": path, "symbol": path, "shown": k < 3}
    headed = re.findall(r"<th [^>]*><small>(.*?)</small></th>", notebook.table(grid))
    assert headed == [f"…encoder.layers.{k}" for k in range(3)]
