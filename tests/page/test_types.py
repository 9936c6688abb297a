"""The types of the page's modules are those of the server's schema."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import get_type_hints

import pytest
from scripts import page_types

from rnnlens.ask import json_types as answers
from rnnlens.page import saved_page as view

ROOT = Path(__file__).parents[2]
TSC = ROOT / "node_modules/.bin/tsc"


def test_the_types_are_up_to_date():
    written = page_types.TARGET.read_text(encoding="utf-8")
    assert written == page_types.declarations(), "run: python scripts/page_types.py"


def test_the_rules_of_both_languages_are_the_same():
    for path, loaded in page_types.RULES.items():
        written = path.read_text(encoding="utf-8")
        assert written == page_types.rules_module(loaded), "run: python scripts/page_types.py"


def test_every_field_is_declared():
    declared = page_types.declarations()
    for model in (answers.Grid, answers.State, answers.Accuracy, view.View, view.NotebookView):
        body = declared.split(f"export interface {model.__name__} {{\n")[1].split("}\n")[0]
        for name in get_type_hints(model):
            assert f"  {name}: " in body


@pytest.mark.parametrize(
    ("schema", "declared"),
    [
        ({"type": "integer"}, "number"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "string | null"),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, '("a" | "b")[]'),
        ({"type": "array", "prefixItems": [{"type": "string"}, {"const": 1}]}, "[string, 1]"),
        ({"type": "object", "additionalProperties": {"$ref": "#/x/Word"}}, "Record<string, Word>"),
    ],
)
def test_schemas_become_types(schema, declared):
    assert page_types._type(schema) == declared


def test_a_model_that_may_hold_more_is_refused():
    with pytest.raises(ValueError, match="Loose may hold fields"):
        page_types._interface("Loose", {"properties": {}, "required": []})


READS = {  # what a module may write, and what tsc says of it
    "grid.columns[0].letter": "",
    "grid.rows[0][0]?.wanted?.[2]": "",
    "grid.columns[0].colour": "'colour' does not exist on type 'Column'",
    "grid.rows[0][0]?.top[0][2]": "has no element at index '2'",
    "grid.columns[0].perplexity.toFixed(1)": "is possibly 'null'",
    "grid.version === 2": "have no overlap",
    '(await ask("api/divergence", { pairs: [] })).exact': "'exact' does not exist",
    'await ask("api/grid", { words: "" })': "'words' does not exist in type 'GridQuestion'",
    'await ask("api/accuracies", {})': "not assignable to parameter",
}


@pytest.mark.slow
@pytest.mark.skipif(not TSC.exists() or not shutil.which("node"), reason="needs tsc: make test")
def test_a_field_that_is_not_sent_cannot_be_read(tmp_path):
    web = ROOT / "src/rnnlens/page/web"
    lines = [
        f'import {{ server }} from "{web}/net/source.js"; const {{ ask }} = server;',
        f'/** @param {{import("{web}/base/schema.d.ts").Grid}} grid */',
        "export const reads = async (grid) => [ask,",
        *(f"  {read}," for read in READS),
        "];",
    ]
    (tmp_path / "reader.js").write_text("\n".join(lines))
    (tmp_path / "tsconfig.json").write_text(
        f'{{"extends": "{ROOT}/tsconfig.json", "include": ["reader.js"]}}'
    )
    done = subprocess.run(
        [str(TSC), "--project", str(tmp_path)],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    found = dict(re.findall(r"reader\.js\((\d+),\d+\): error (.*)", done.stdout))
    for number, (read, problem) in enumerate(READS.items(), 4):
        said = found.pop(str(number), "")
        assert problem in said, read
        assert bool(problem) == bool(said), read
    assert found == {}
