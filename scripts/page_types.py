"""Write what the page's JavaScript has from Python: types from the server's own schema, and the
limits, patterns and messages of base/rules.json.

    python scripts/page_types.py

What the server does not send is no field of these types, so tsc refuses a module that reads it.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from rnnlens.base.rules import rules
from rnnlens.page import saved_page as view
from rnnlens.page.serve.app import application

BASE = Path(__file__).parents[1] / "src/rnnlens/page/web/base"
TARGET = BASE / "schema.d.ts"
# What the page itself says is loaded with it; the words of refusals with the engine alone.
RULES = {BASE / "rules.js": "page", BASE.parent / "engine/messages.js": "engine"}
_HEAD = """\
// What the server is asked and answers, and what a saved page and a notebook's view begin with.
// Written by `python scripts/page_types.py` from the questions and answers in ask/ and search/, and
// page/saved_page.py: change those, not this.
"""
_RULES_HEAD = """\
// Limits, patterns, names and messages that the page shares with Python.
// Written by `python scripts/page_types.py` from base/rules.json: change that, not this.
"""
_ENGINE = ("messages",)  # sections that the page does without
_REFERENCE = "#/components/schemas/{model}"
_EMBEDDED = {"SavedPage": view.SavedPage, "NotebookView": view.NotebookView}
_NAMES = {"string": "string", "number": "number", "integer": "number", "boolean": "boolean",
          "null": "null"}  # fmt: skip
Schema = dict[str, Any]


def declarations() -> str:
    """The whole file."""
    served = application({}).app.openapi()  # type: ignore[attr-defined]
    _, embedded = TypeAdapter.json_schemas(
        [(name, "serialization", TypeAdapter(one)) for name, one in _EMBEDDED.items()],
        ref_template=_REFERENCE,
    )
    schemas: dict[str, Schema] = embedded["$defs"] | served["components"]["schemas"]
    parts = [
        _HEAD,
        *(_alias(name, schema) for name, schema in sorted(_named(schemas).items())),
        *(_interface(name, schema) for name, schema in sorted(schemas.items())),
        _questions("Gets", "What is got from a path, by a query.", served["paths"], "get"),
        _questions("Posts", "What is posted to a path.", served["paths"], "post"),
    ]
    return "\n".join(parts)


def rules_module(loaded: str) -> str:
    """The rules as constants of a module; patterns have the digits of every script, as Python's."""
    sections = {
        name: json.dumps(entries, ensure_ascii=False, separators=(",", ":")).replace(
            r"\\d", r"\\p{Nd}"
        )
        for name, entries in rules().items()
        if (name in _ENGINE) == (loaded == "engine")
    }
    lines = [f"export const {name.upper()} = {entries};" for name, entries in sections.items()]
    return f"{_RULES_HEAD}\n{_lines(lines)}"


def _type(schema: Schema) -> str:
    """A schema as a type. What it does not know it refuses, rather than guess."""
    match schema:
        case {"x-name": str(name)}:
            declared = name
        case {"$ref": str(reference)}:
            declared = reference.rpartition("/")[2]
        case {"const": value}:
            declared = json.dumps(value)
        case {"enum": values}:
            declared = " | ".join(map(json.dumps, values))
        case {"anyOf": options}:
            declared = " | ".join(map(_type, options))
        case {"prefixItems": items}:
            declared = f"[{', '.join(map(_type, items))}]"
        case {"items": item}:
            inner = _type(item)
            declared = f"({inner})[]" if "|" in inner else f"{inner}[]"
        case {"additionalProperties": dict(values)}:
            declared = f"Record<string, {_type(values)}>"
        case _:
            declared = _NAMES[schema["type"]]
    return declared


def _comment(schema: Schema, indent: str = "") -> str:
    """What a type cannot say: the meaning, and the bounds of numbers, texts and lists."""
    several = (schema, *(one for one in schema.get("anyOf", ()) if "x-name" not in one))
    low, high = (
        next((one[bound] for one in several if bound in one), None)
        for bound in ("minimum", "maximum")
    )
    said = [schema.get("description", "")]
    if low is not None and high is not None:
        said.append(f"{low:,.9g} to {high:,.9g}")
    elif low is not None:
        said.append(f"at least {low:,.9g}")
    if "exclusiveMinimum" in schema:
        said.append(f"more than {schema['exclusiveMinimum']:,.9g}")
    for one in several:
        said += [f"like {one['pattern']}"] if "pattern" in one else []
        said += [f"at most {one['maxLength']:,} characters"] if "maxLength" in one else []
        said += [f"at most {one['maxItems']:,}"] if "items" in one and "maxItems" in one else []
    text = "; ".join(filter(None, said))
    return f"{indent}/** {text} */\n" if text else ""


def _named(schemas: dict[str, Schema]) -> dict[str, Schema]:
    """Every number and text that has a name, without what a field says of itself beside it."""
    found: dict[str, Schema] = {}
    for schema in _inside(schemas):
        if name := schema.get("x-name"):
            found[name] = min(found.get(name, schema), schema, key=len)
    return found


def _inside(value: Any) -> Iterator[Schema]:
    """Every schema in a schema."""
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value:
        if isinstance(inner, dict | list):
            yield from _inside(inner)


def _alias(name: str, schema: Schema) -> str:
    return f"{_comment(schema)}export type {name} = {_NAMES[schema['type']]};\n"


def _interface(name: str, schema: Schema) -> str:
    if schema.get("additionalProperties") is not False:
        raise ValueError(f"{name} may hold fields that it does not name; forbid them")
    required = set(schema.get("required", ()))
    fields = [
        f"{_comment(_unnamed(field), '  ')}  {key}{'' if key in required else '?'}: {_type(field)};"
        for key, field in schema["properties"].items()
    ]
    return f"{_comment(schema)}export interface {name} {{\n{_lines(fields)}}}\n"


def _unnamed(field: Schema) -> Schema:
    """A field without the bounds that its named type tells already."""
    return {"description": field.get("description", "")} if "x-name" in field else field


def _questions(name: str, said: str, paths: dict[str, Schema], method: str) -> str:
    """Which answer belongs to which path."""
    lines = []
    for path, methods in paths.items():
        content = methods.get(method, {}).get("responses", {}).get("200", {}).get("content", {})
        if "application/json" in content:
            answer = _type(content["application/json"]["schema"])
            lines.append(
                f'  "{path[1:]}": {{ asked: {_asked(methods[method])}; answer: {answer} }};'
            )
    return f"/** {said} */\nexport interface {name} {{\n{_lines(lines)}}}\n"


def _asked(question: Schema) -> str:
    if "requestBody" in question:
        return _type(question["requestBody"]["content"]["application/json"]["schema"])
    query = [
        f"{one['name']}{'' if one['required'] else '?'}: {_type(_sayable(one['schema']))}"
        for one in question.get("parameters", ())
    ]
    return f"{{ {'; '.join(query)} }}" if query else "Record<string, never>"


def _sayable(schema: Schema) -> Schema:
    """A query leaves out what would be null."""
    options = [one for one in schema.get("anyOf", [schema]) if one.get("type") != "null"]
    return {"anyOf": options}


def _lines(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


if __name__ == "__main__":
    TARGET.write_text(declarations(), encoding="utf-8")
    for path, loaded in RULES.items():
        path.write_text(rules_module(loaded), encoding="utf-8")
    print(f"wrote {', '.join(map(str, [TARGET, *RULES]))}")
