"""A configuration dataclass is its command-line flags, their help and their limits."""

import argparse
import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from rnnlens.base.errors import RnnlensError

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
    """One flag for each field: `dropout_words: float = 0.1` is `--dropout-words 0.1`.

    A flag that is not given is None, so that a preset can say what it is instead.
    """
    group = parser.add_argument_group(title)
    for one in fields(config):
        flag, default = f"--{one.name.replace('_', '-')}", one.default
        text = one.metadata["help"]
        if default != "":
            text += f" (default: {default})".replace("%", "%%")
        if isinstance(default, bool):
            group.add_argument(flag, action=argparse.BooleanOptionalAction, help=text)
        else:
            group.add_argument(flag, type=type(default), help=text, metavar=_metavar(default))


def from_flags(
    config: type[Config],
    args: argparse.Namespace | Mapping[str, Any],
    preset: Mapping[str, Any] | None = None,
) -> Config:
    """The configuration that flags ask for, or options of Python, checked; the preset fills in what
    neither gives.
    """
    given = vars(args) if isinstance(args, argparse.Namespace) else args
    values = dict(preset or {})
    values |= {name: value for name, value in given.items() if value is not None}
    names = [one.name for one in fields(config)]
    options = config(**{name: values[name] for name in names if name in values})
    options.check()
    return options


def check_known(function: str, given: Iterable[str], *configs: type[Options]) -> None:
    """Refuse options of a function of Python that no configuration has."""
    known = [one.name for config in configs for one in fields(config)]
    for name in given:
        if name not in known:
            raise RnnlensError(f"{function} has no option {name!r}; it has {', '.join(known)}")


def as_words(given: Mapping[str, Any]) -> list[str]:
    """Options as somebody would type them, word by word."""
    words: list[str] = []
    for name, value in given.items():
        flag = name.replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{flag}" if value else f"--no-{flag}")
        elif value is not None:
            words += [f"--{flag}", str(value)]
    return words


def add_preset(parser: argparse.ArgumentParser, presets: Mapping[str, Mapping[str, Any]]) -> None:
    """Declare `--preset`, a name for settings that belong together."""
    each = (
        f"{name}: {' '.join(as_flag(*one) for one in values.items())}"
        for name, values in presets.items()
    )
    help_ = f"settings that flags of their own can change: {'; '.join(each)}"
    parser.add_argument("--preset", choices=tuple(presets), help=help_.replace("%", "%%"))


def as_flag(name: str, value: object) -> str:
    """What somebody would type: `--width 300`, `--no-tied`."""
    flag = name.replace("_", "-")
    if isinstance(value, bool):
        return f"--{flag}" if value else f"--no-{flag}"
    return f"--{flag} {value!r}"


def check_same(path: Path, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Refuse to continue the run at `path` with options other than those it was begun with.

    An option that an older version did not have is not compared.
    """
    for name, value in now.items():
        if (was := before.get(name, value)) != value:
            raise RnnlensError(
                f"{path} holds another run, made with {as_flag(name, was)}, not "
                f"{as_flag(name, value)}; give the same flags to continue it, or another folder "
                "with -o"
            )


def _metavar(default: object) -> str:
    return {int: "N", float: "X"}.get(type(default), "NAME")
