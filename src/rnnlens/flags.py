"""A configuration dataclass is its command-line flags and their help."""

import argparse
from dataclasses import fields
from typing import Any, TypeVar

Config = TypeVar("Config")


def add_flags(parser: argparse.ArgumentParser, config: type[Any], title: str) -> None:
    """One flag for each field: `dropout_words: float = 0.1` is `--dropout-words 0.1`."""
    group = parser.add_argument_group(title)
    for option in fields(config):
        flag, default = f"--{option.name.replace('_', '-')}", option.default
        text = option.metadata["help"]
        if isinstance(default, bool):
            group.add_argument(
                flag, default=default, action=argparse.BooleanOptionalAction, help=text
            )
        else:
            shown = f"{text} (default: %(default)s)" if default != "" else text
            group.add_argument(
                flag, default=default, type=type(default), help=shown, metavar=_metavar(default)
            )


def from_flags(config: type[Config], args: argparse.Namespace) -> Config:
    """The configuration the flags ask for."""
    return config(**{option.name: getattr(args, option.name) for option in fields(config)})  # type: ignore[arg-type]


def as_flag(name: str, value: object) -> str:
    """What somebody would type: `--width 300`, `--no-tied`."""
    flag = name.replace("_", "-")
    if isinstance(value, bool):
        return f"--{flag}" if value else f"--no-{flag}"
    return f"--{flag} {value!r}"


def _metavar(default: object) -> str:
    return {int: "N", float: "X"}.get(type(default), "NAME")
