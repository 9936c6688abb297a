"""The page in one file: bundled modules do what the modules do, and nothing else can run."""

import base64
import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rnnlens.base.errors import RnnlensError
from rnnlens.page import bundle
from rnnlens.page.saved_page import readable_json

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="there is no node")

# Everything that could be taken for an import or an export, or hide one.
MODULES = {
    "leaf.js": """\
// export const commented = 1;
/* import { nothing } from "./nowhere.js"; */
const hidden = "leaf";
let count = 0 /* a comment that ends
  the statement before it */ count += 1 - 1;
export const text = "export const inner = 1; import x";
export const quoted = 'it\\'s // no comment';
export function next() { count += 1; return count; }
export class Box { constructor(value) { this.value = value; } }
export async function later(value) { return `${hidden} ${value}`; }
""",
    "middle.js": """\
import { next, text as_is } from "./leaf.js";
""".replace("text as_is", "text")
    + """\
import {
  Box,
  quoted,
} from "./leaf.js";
const hidden = `a template
export const never = ${`nested ${{ a: "}" }.a} import`} end
import of a template`;
export const pattern = /[/"'`]export \\/ const/g.source;
export const half = (4 + 4) / 2 / 2; const other = "/ export const";
export const $all = [hidden, other, next(), text, quoted, new Box(3).value, half];
""",
    "entry.js": """\
import { later, next } from "./leaf.js";
import { $all, pattern } from "./middle.js";
const hidden = 1;
console.log(JSON.stringify([$all, pattern, next(), hidden]));
later("x").then((said) => console.log(said));
""",
}


def write(folder: Path, **modules: str) -> Path:
    for name, text in modules.items():
        (folder / f"{name}.js").write_text(text, encoding="utf-8")
    return folder


def run_node(path: Path) -> str:
    assert NODE
    done = subprocess.run([NODE, str(path)], capture_output=True, text=True, check=True, timeout=60)
    return done.stdout


@needs_node
def test_a_bundle_does_what_its_modules_do(tmp_path):
    for name, text in MODULES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "package.json").write_text('{"type": "module"}')
    bundled = bundle.bundle("entry.js", tmp_path)
    plain = run_node(tmp_path / "entry.js")
    assert "leaf x" in plain
    for script in (bundled, bundle.compact(bundled)):
        (tmp_path / "bundled.cjs").write_text(script)
        assert run_node(tmp_path / "bundled.cjs") == plain
    assert "a comment" not in script
    assert "\n\n" not in script
    assert "\n " not in script


@needs_node
def test_the_pages_own_modules_bundle_into_a_script_that_parses(tmp_path):
    (tmp_path / "bundled.cjs").write_text(bundle.bundle("standalone.js"))
    subprocess.run([str(NODE), "--check", str(tmp_path / "bundled.cjs")], check=True, timeout=60)


@pytest.mark.parametrize(
    "line",
    [
        'import main from "./leaf.js";',
        'import * as leaf from "./leaf.js";',
        'import { text as words } from "./leaf.js";',
        'import "./leaf.js";',
        'import { text } from "leaf";',
        'import { text } from "../leaf.js";',
        'import { text } from "../../leaf.js";',
        'import { text } from "./part/../leaf.js";',
        'import { text } from "/leaf.js";',
        'import { text } from "https://example.org/leaf.js";',
        "import { text } from './leaf.js';",
        'const leaf = await import("./leaf.js");',
        "console.log(import.meta.url);",
        "export default 1;",
        "export { text };",
        'export * from "./leaf.js";',
        "export let text = 1;",
        "export var text = 1;",
        "export const { a } = {};",
        "export function* steps() {}",
    ],
)
def test_what_it_does_not_understand_is_refused_by_module_and_line(tmp_path, line):
    write(tmp_path, leaf='export const text = "";', entry=f"// first\n{line}\n")
    with pytest.raises(RnnlensError, match=r"^entry\.js line 2: cannot inline ") as told:
        bundle.bundle("entry.js", tmp_path)
    assert "\n" not in str(told.value)


@needs_node
def test_modules_in_folders_are_found_from_where_they_are_imported(tmp_path):
    for folder in ("part", "other/deep"):
        (tmp_path / folder).mkdir(parents=True)
    write(
        tmp_path,
        entry='import { told } from "./part/same.js";\nconsole.log(told);',
        same='export const said = "at the top";',
    )
    write(
        tmp_path / "part",
        same='import { deep } from "../other/deep/leaf.js";\nimport { said } from "../same.js";\n'
        "export const told = `${deep}, ${said}`;",
    )
    write(tmp_path / "other/deep", leaf='export const deep = "deep";')
    (tmp_path / "bundled.cjs").write_text(bundle.bundle("entry.js", tmp_path))
    assert run_node(tmp_path / "bundled.cjs") == "deep, at the top\n"


def test_a_module_in_a_folder_cannot_reach_outside(tmp_path):
    (tmp_path / "web" / "part").mkdir(parents=True)
    write(tmp_path, leaf="export const text = 1;")
    write(tmp_path / "web", entry='import { part } from "./part/part.js";')
    write(
        tmp_path / "web/part",
        part='import { text } from "../../leaf.js";\nexport const part = text;',
    )
    with pytest.raises(RnnlensError, match=r"^part/part\.js line 1: cannot inline "):
        bundle.bundle("entry.js", tmp_path / "web")


def test_the_page_loads_its_modules_at_once():
    """Each module of the page is named in its head, so that none waits for those before it."""
    loaded = re.findall(r'^bundled\$\["(.+)"\]', bundle.bundle("served.js"), re.MULTILINE)
    head, _, script = bundle.served_page().partition("<script")
    assert re.findall('rel="modulepreload" href="(.+)"', head) == sorted(loaded)
    assert script.startswith(' type="module" src="served.js">')


FOLDERS = ["base", "engine", "grid", "panel", "net", "frame", "corpus", "host", ""]  # entry points


def test_modules_import_from_their_own_folder_and_those_before_it():
    def place(module):
        return FOLDERS.index(module.partition("/")[0] if "/" in module else "")

    web = Path(str(bundle.WEB))
    modules = [path.relative_to(web).as_posix() for path in web.rglob("*.js")]
    imports = [(name, to) for name in modules for _, to, _ in bundle._read(name, web).imports]
    assert len(imports) > 50
    assert [pair for pair in imports if place(pair[1]) > place(pair[0])] == []


def test_circles_are_refused(tmp_path):
    write(
        tmp_path,
        a='import { b } from "./b.js";\nexport const a = 1;',
        b='\nimport { a } from "./a.js";\nexport const b = 1;',
        own='import { me } from "./own.js";\nexport const me = 1;',
    )
    with pytest.raises(RnnlensError, match=r"b\.js line 2: .*circle: a\.js -> b\.js -> a\.js"):
        bundle.bundle("a.js", tmp_path)
    with pytest.raises(RnnlensError, match=r"own\.js line 1: .*circle: own\.js -> own\.js"):
        bundle.bundle("own.js", tmp_path)


def test_names_and_modules_that_are_missing_are_refused(tmp_path):
    write(
        tmp_path,
        leaf="export const here = 1, there = 2;",
        a='import {\n here, there } from "./leaf.js";',
        b='\n\nimport { x } from "./gone.js";',
        c="const text = `never",
    )
    with pytest.raises(RnnlensError, match=r"^a\.js line 1: leaf\.js exports no there"):
        bundle.bundle("a.js", tmp_path)
    with pytest.raises(RnnlensError, match=r"^b\.js line 3: there is no gone\.js"):
        bundle.bundle("b.js", tmp_path)
    with pytest.raises(RnnlensError, match=r"^c\.js line 1: a template never ends"):
        bundle.bundle("c.js", tmp_path)
    with pytest.raises(RnnlensError, match=r"gone\.js"):
        bundle.bundle("gone.js", tmp_path)


def test_a_module_that_two_import_is_there_once_and_first(tmp_path):
    write(
        tmp_path,
        leaf="export const leaf = 1;",
        left='import { leaf } from "./leaf.js";\nexport const left = leaf;',
        entry='import { left } from "./left.js";\nimport { leaf } from "./leaf.js";\nleft + leaf;',
    )
    made = bundle.bundle("entry.js", tmp_path)
    assert re.findall(r'^bundled\$\["(\w+)\.js"\]', made, re.MULTILINE) == ["leaf", "left", "entry"]


def hashed(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def test_only_its_own_script_and_style_may_run():
    page = bundle.standalone(None)
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    allowed = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert allowed == {
        "default-src": "'none'",
        "script-src": hashed(script),
        "style-src": hashed(style),
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    assert '<script type="application/json" id="embedded">null</script>' in page
    assert not re.search(r"""(?:src|href)\s*=\s*["']?(?:https?:)?//""", page)


@given(st.recursive(st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_whatever_is_embedded_comes_out_again_and_ends_nothing(value):
    text = bundle.embeddable(value)
    assert json.loads(text) == value
    assert not set("<\u2028\u2029") & set(text)


def test_numbers_that_are_no_json_are_refused():
    with pytest.raises(ValueError, match="JSON"):
        bundle.embeddable({"share": float("nan")})


def test_readable_json_is_the_grid_with_a_row_to_a_line():
    grid: dict[str, Any] = {"title": "a", "words": [], "groups": {"é": "#fff"}, "rows": [[1], [2]]}
    text = readable_json(grid)
    assert json.loads(text) == grid
    assert text.splitlines()[-5:] == [' "rows": [', "  [1],", "  [2]", " ]", "}"]
    assert text.endswith("}\n")
    assert '"é"' in text


def test_lines_are_joined_only_where_no_statement_can_end():
    script = "const a = {\n  b: 1,\n};\nlet c = a\n(d)\nlet e = `x {\n}`\nf([\n1\n])\n"
    joined = "const a={b:1,};let c=a\n(d)\nlet e=`x {\n}`\nf([1])\n"
    assert bundle.compact(script) == joined
