"""A configuration dataclass is its command-line flags, their help and their limits."""

import argparse
import operator
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from rnnlens.errors import RnnlensError

_LIMITS = {
    "least": ("at least", operator.ge),
    "above": ("more than", operator.gt),
    "most": ("at most", operator.le),
    "below": ("less than", operator.lt),
}


def option(default: object, help: str, **limits: float) -> Any:
    """A field of a configuration; limits are `least` or `above`, and `most` or `below`."""
    return field(default=default, metadata={"help": help, "limits": limits})


@dataclass(frozen=True)
class Options:
    """The base of configurations, whose fields are made by `option`."""

    def check(self) -> None:
        """Refuse values of another type or outside their limits."""
        for one in fields(self):
            value, limits = getattr(self, one.name), one.metadata["limits"]
            sort = type(one.default)
            if type(value) is not sort and (sort, type(value)) != (float, int):
                raise RnnlensError(f"{as_flag(one.name, value)}: give {sort.__name__}")
            if not all(_LIMITS[name][1](value, limit) for name, limit in limits.items()):
                wanted = " and ".join(f"{_LIMITS[name][0]} {limits[name]}" for name in limits)
                raise RnnlensError(f"{as_flag(one.name, value)}: give {wanted}")


Config = TypeVar("Config", bound=Options)


def add_flags(parser: argparse.ArgumentParser, config: type[Any], title: str) -> None:
    """One flag for each field: `dropout_words: float = 0.1` is `--dropout-words 0.1`."""
    group = parser.add_argument_group(title)
    for one in fields(config):
        flag, default = f"--{one.name.replace('_', '-')}", one.default
        text = one.metadata["help"]
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
    """The configuration that the flags ask for, checked."""
    options = config(**{one.name: getattr(args, one.name) for one in fields(config)})
    options.check()
    return options


def as_flag(name: str, value: object) -> str:
    """What somebody would type: `--width 300`, `--no-tied`."""
    flag = name.replace("_", "-")
    if isinstance(value, bool):
        return f"--{flag}" if value else f"--no-{flag}"
    return f"--{flag} {value!r}"


def check_same(path: Path, before: Mapping[str, Any], asked: Mapping[str, Any]) -> None:
    """Refuse to continue the run at `path` with options other than those it was begun with.

    An option that an older version did not have is not compared.
    """
    for name, value in asked.items():
        if (was := before.get(name, value)) != value:
            raise RnnlensError(
                f"{path} holds another run, made with {as_flag(name, was)}, not "
                f"{as_flag(name, value)}; give the same flags to continue it, or another folder "
                "with -o"
            )


def _metavar(default: object) -> str:
    return {int: "N", float: "X"}.get(type(default), "NAME")
