"""The directive `commands`: every verb of `rnnlens`, from the parser of the command line."""

import argparse
from collections.abc import Iterable

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from rnnlens.cli import parser


class Commands(SphinxDirective):
    """A section for each verb."""

    def run(self) -> list[nodes.Node]:
        """Called by Sphinx."""
        return [_section(verb) for verb in verbs()]


def verbs() -> list[argparse.ArgumentParser]:
    """The parsers of the verbs, in the order of `rnnlens --help`."""
    actions = parser()._actions
    found = next(a for a in actions if isinstance(a, argparse._SubParsersAction))
    return list(found.choices.values())


def _section(verb: argparse.ArgumentParser) -> nodes.section:
    made = nodes.section(ids=[nodes.make_id(verb.prog)], names=[verb.prog])
    made += nodes.title("", verb.prog)
    made += _prose(verb.description or "")
    for group in verb._action_groups:
        actions = [a for a in group._group_actions if a.dest != "help"]
        if actions:
            made += nodes.rubric("", group.title or "")
            made += _flags(actions, verb)
    return made


def _prose(text: str) -> Iterable[nodes.Node]:
    """Paragraphs; indented lines are shown as they are."""
    for paragraph in text.split("\n\n"):
        lines = paragraph.splitlines()
        plain = [line for line in lines if not line.startswith(" ")]
        code = "\n".join(line.strip() for line in lines if line.startswith(" "))
        yield nodes.paragraph("", " ".join(plain))
        if code:
            yield nodes.literal_block(code, code, language="text")


def _flags(
    actions: Iterable[argparse.Action], verb: argparse.ArgumentParser
) -> nodes.definition_list:
    made = nodes.definition_list(classes=["flags"])
    for action in actions:
        value = "" if action.nargs == 0 else " " + _value(action)
        names = ", ".join(action.option_strings)
        term = nodes.term("", "", nodes.literal("", f"{names}{value}".strip()))
        help_ = verb._get_formatter()._expand_help(action)
        text = nodes.definition("", nodes.paragraph("", help_))
        made += nodes.definition_list_item("", term, text)
    return made


def _value(action: argparse.Action) -> str:
    """What stands for a flag's value."""
    if action.choices:
        return "{" + ",".join(map(str, action.choices)) + "}"
    return str(action.metavar or action.dest.upper())


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True}
