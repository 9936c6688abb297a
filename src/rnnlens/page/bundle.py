"""The page as one file: its modules bundled into one script, its style and a grid inside."""

import base64
import hashlib
import json
import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from rnnlens.base.errors import RnnlensError
from rnnlens.base.pace import checkpoint

WEB: Traversable = files("rnnlens.page") / "web"

_IMPORT = re.compile(
    r'import\s*\{([\w$\s,]*)\}\s*from\s*"((?:\./|(?:\.\./)+)(?:[\w-]+/)*[\w-]+\.js)"\s*;'
)
_EXPORT = re.compile(r"export\s+((?:async\s+function|function|const|class)\s+([A-Za-z_$][\w$]*))")
_BUNDLED = re.compile(r'bundled\$\["([^"]+)"\]')
_KEYWORD = re.compile(r"(?<![\w$.])(?:import|export)(?![\w$])")
_NAME = re.compile(r"[A-Za-z_$][\w$]*")
_FORMS = (
    'write import { name } from "./module.js", inside the folder of the page; '
    "or export function, async function, const, class"
)

# What JavaScript is made of, as far as needed to know code from everything else.
_ASIDE = re.compile(
    r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", flags=re.DOTALL
)
_COMMENT = re.compile(r"/\*.*?\*/", flags=re.DOTALL)  # of style sheets, whose texts have none
_TEMPLATE = re.compile(r"(?:\\.|\$(?!\{)|[^\\`$])*(`|\$\{)", flags=re.DOTALL)
_PATTERN = re.compile(r"/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\[\n])+/")
_TIGHT = frozenset(",;:{}()[]=?<>|&!*%")  # that need no blank beside them
_SIGNS = frozenset("+-")  # nor do these, but beside each other
_GOES_ON, _CLOSES = frozenset("{([,;"), frozenset(")]}")  # no statement ends after or before these
_TOKEN = re.compile(r"[\w$]+|\s+|.", flags=re.DOTALL)
_BEFORE_PATTERN = {*"(,=:[!&|?{};+-*%~^<>", ""} | set(
    "return typeof case in of delete void throw new else do instanceof yield await".split()
)

_SHELL = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>rnnlens</title>
<style>{style}</style>
</head>
<body>
<noscript>rnnlens draws with JavaScript, which this browser does not run.</noscript>
<script type="application/json" id="embedded">{embedded}</script>
<script>{script}</script>
</body>
</html>
"""


@dataclass
class _Module:
    """A module, with its imports and exports taken out of the way."""

    name: str
    body: str = ""
    imports: list[tuple[int, str, list[str]]] = field(default_factory=list)  # line, module, names
    exports: list[str] = field(default_factory=list)


def standalone(embedded: dict[str, Any] | None) -> str:
    """The self-contained page: no network, and no script or style but its own."""
    style, script = inline("style.css"), small_script("standalone.js")
    policy = (
        f"default-src 'none'; script-src {source_hash(script)}; style-src {source_hash(style)}; "
        "base-uri 'none'; form-action 'none'"
    )
    return _SHELL.format(policy=policy, style=style, script=script, embedded=embeddable(embedded))


def inline(name: str) -> str:
    """A style sheet of the page without comments and indents, to be written into HTML."""
    text = _COMMENT.sub("", (WEB / name).read_text(encoding="utf-8"))
    return check_inline(name, "\n".join(line.strip() for line in text.splitlines() if line.strip()))


def check_inline(name: str, text: str) -> str:
    """A script or style as it is, if nothing in it ends it in HTML."""
    for end in ("</script", "</style", "<!--"):
        if end in text.lower():
            raise RnnlensError(f"{name} holds {end}, which ends it in HTML; write it apart")
    return text


def embeddable(value: Any) -> str:
    """JSON that no HTML or JavaScript parser takes for anything else."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def source_hash(text: str) -> str:
    """How a content security policy names a script or style."""
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"


@cache
def served_page() -> str:
    """The page that a server sends. Its head names each module, so that none waits for those that
    import it.
    """
    modules: dict[str, _Module] = {}
    _collect("served.js", WEB, modules, (), frozenset())
    links = [f'<link rel="modulepreload" href="{name}">\n' for name in sorted(modules)]
    page = (WEB / "index.html").read_text(encoding="utf-8")
    return page.replace("<script", f"{''.join(links)}<script", 1)


@cache
def bundle(entry: str, web: Traversable = WEB, without: frozenset[str] = frozenset()) -> str:
    """One script that does what the module `entry` does, each module in a function of its own.

    Of modules that it has to be `without`, nothing is there but empty objects by their names.
    """
    modules: dict[str, _Module] = {}
    _collect(entry, web, modules, (), without)
    parts = [_inlined(module) for module in modules.values()]
    return "".join(['(() => {\n"use strict";\nconst bundled$ = {};\n', *parts, "})();\n"])


@cache
def small_script(entry: str, without: frozenset[str] = frozenset()) -> str:
    """A script for HTML that does what the module `entry` does, without comments and indents, and
    with numbers for the names of modules.
    """
    numbers: dict[str, int] = {}

    def numbered(module: re.Match[str]) -> str:
        return f"bundled$[{numbers.setdefault(module[1], len(numbers))}]"

    script = compact(bundle(entry, without=without))
    return check_inline(entry, _BUNDLED.sub(numbered, script))


def compact(script: str) -> str:
    """A script without its comments and indents, and without blanks beside brackets, commas and the
    like. Between + and - they may matter. Lines end only where that may end a statement.
    """
    kept = [""]
    for start, end, is_code in _pieces(script):
        if not start % 16:
            checkpoint()
        piece = script[start:end]
        if piece.isspace() or (not is_code and piece.startswith(("//", "/*"))):
            piece = "\n" if "\n" in piece else " "  # the end of a line can end a statement
            if kept[-1] in {" ", "\n"}:
                piece = "\n" if "\n" in (piece, kept.pop()) else " "
        kept.append(piece)
    last = len(kept) - 1
    beside = ((kept[k - 1][-1:], kept[min(k + 1, last)][:1]) for k in range(1, last + 1))
    return "".join(
        ""
        if (piece == " " and _is_needless(before, after))
        or (piece == "\n" and (before in _GOES_ON or after in _CLOSES))
        else piece
        for piece, (before, after) in zip(kept[1:], beside, strict=True)
    )


def _is_needless(before: str, after: str) -> bool:
    """Whether a blank between these two letters of a script changes nothing."""
    if before in _TIGHT or after in _TIGHT:
        return True
    return (before in _SIGNS) != (after in _SIGNS)


def _collect(
    name: str,
    web: Traversable,
    modules: dict[str, _Module],
    path: tuple[str, ...],
    without: frozenset[str],
) -> _Module:
    """Read a module and, before it, what it imports."""
    checkpoint()
    module = _emptied(_read(name, web)) if name in without else _read(name, web)
    for line, source, names in module.imports:
        where = f"{name} line {line}"
        if source in (*path, name):
            circle = " -> ".join((*path, name, source))
            raise RnnlensError(f"{where}: imports go in a circle: {circle}; break it")
        if not (web / source).is_file():
            raise RnnlensError(f"{where}: there is no {source}; mend the import")
        found = modules.get(source)
        imported = found or _collect(source, web, modules, (*path, name), without)
        if absent := [wanted for wanted in names if wanted not in imported.exports]:
            raise RnnlensError(f"{where}: {source} exports no {absent[0]}; mend the import")
    modules[name] = module
    return module


def _emptied(module: _Module) -> _Module:
    body = "".join(f"const {name} = {{}};" for name in module.exports)
    return _Module(module.name, body, exports=module.exports)


def _inlined(module: _Module) -> str:
    exports = ", ".join(module.exports)
    scope = f"(() => {{\n{module.body}\nreturn {{ {exports} }};\n}})()"
    return f'bundled$["{module.name}"] = {scope};\n'


def _read(name: str, web: Traversable) -> _Module:
    """Take a module's imports and exports by the few forms the modules keep to."""
    try:
        source = (web / name).read_text(encoding="utf-8")
    except OSError as error:
        raise RnnlensError(f"cannot read the module {name}: {error.strerror}") from error
    module, parts, at = _Module(name), [], 0
    for keyword in _KEYWORD.finditer(_code(source, name)):
        line = source.count("\n", 0, keyword.start()) + 1
        parts.append(source[at : keyword.start()])
        if taken := _IMPORT.match(source, keyword.start()):
            names = [word.strip() for word in taken[1].split(",") if word.strip()]
            imported = posixpath.normpath(posixpath.join(posixpath.dirname(name), taken[2]))
            module.imports.append((line, imported, names))
            inside = not imported.startswith("../")
            understood = inside and all(_NAME.fullmatch(word) for word in names)
            # One line for each, so that an error's line is easily found again.
            parts.append(f'const {{ {", ".join(names)} }} = bundled$["{imported}"];')
        elif taken := _EXPORT.match(source, keyword.start()):
            module.exports.append(taken[2])
            understood = True
            parts.append(taken[1])
        else:
            understood = False
        if not (taken and understood):
            text = source.splitlines()[line - 1].strip()
            raise RnnlensError(f"{name} line {line}: cannot inline {text!r}; {_FORMS}")
        at = taken.end()
    module.body = "".join([*parts, source[at:]])
    return module


def _code(source: str, name: str) -> str:
    """The source with comments, strings, templates and patterns blanked; as long as before."""
    parts = []
    for start, end, is_code in _pieces(source):
        if end < 0:
            line = source.count("\n", 0, start) + 1
            raise RnnlensError(f"{name} line {line}: a template never ends; close it with `")
        parts.append(source[start:end] if is_code else " " * (end - start))
    return "".join(parts)


def _pieces(source: str) -> Iterator[tuple[int, int, bool]]:
    """Cut a source: (start, end, whether it is code); an end of -1: a template that never ends."""
    at, before, braces = 0, "", [""]  # braces: "`" where one opened inside a template
    while at < len(source):
        first, match = source[at], None
        in_template = first == "`" or (first == "}" and braces[-1] == "`")
        if first == "}" and len(braces) > 1:
            braces.pop()
        if in_template:
            match = _TEMPLATE.match(source, at + 1)
            inner = match is not None and match[1] == "${"
            braces += ["`"] if inner else []
            before = "" if inner else "`"
            if not match:
                yield at, -1, False
                return
        elif match := _ASIDE.match(source, at):
            before = first if first in "'\"" else before
        elif first == "/" and before in _BEFORE_PATTERN:
            match, before = _PATTERN.match(source, at), first
        if is_code := not match:
            match = _TOKEN.match(source, at)
            braces += ["{"] if first == "{" else []
            before = before if first.isspace() else match[0] if match else ""
        end = match.end() if match else at + 1
        yield at, end, is_code
        at = end
