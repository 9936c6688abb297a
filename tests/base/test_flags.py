"""A configuration is its command-line flags and their help."""

import argparse
from dataclasses import dataclass, fields

import pytest

from rnnlens.base.errors import RnnlensError
from rnnlens.base.flags import Options, add_flags, add_preset, from_flags, option
from rnnlens.corpus.corpus import CorpusConfig
from rnnlens.model.network import NetworkConfig
from rnnlens.model.train.training import TrainingConfig


@dataclass(frozen=True)
class Tea(Options):
    """One field of each type."""

    leaf_kind: str = option("green", "the leaves")
    sugar: str = option("", "none, if not given")
    cups: int = option(2, "how many", least=1, most=9)
    minutes: float = option(2.5, "how long", above=0, below=10)
    milk: bool = option(False, "with milk")


def parser(config: type) -> argparse.ArgumentParser:
    flags = argparse.ArgumentParser()
    add_flags(flags, config, "tea")
    return flags


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", Tea()),
        ("--leaf-kind black", Tea(leaf_kind="black")),
        ("--sugar brown --cups 7", Tea(sugar="brown", cups=7)),
        ("--minutes 3", Tea(minutes=3.0)),
        ("--milk", Tea(milk=True)),
        ("--milk --no-milk", Tea(milk=False)),
    ],
)
def test_flags_become_a_configuration(line, expected):
    assert from_flags(Tea, parser(Tea).parse_args(line.split())) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", Tea(cups=3, milk=True)),
        ("--cups 2", Tea(cups=2, milk=True)),  # the default, but asked for
        ("--no-milk --sugar brown", Tea(cups=3, sugar="brown")),
    ],
)
def test_a_preset_fills_in_what_no_flag_gives(line, expected):
    preset = {"cups": 3, "milk": True, "of_another_verb": 1}
    assert from_flags(Tea, parser(Tea).parse_args(line.split()), preset) == expected


def test_a_preset_is_a_flag_that_says_what_it_stands_for(capsys):
    flags = parser(Tea)
    add_preset(flags, {"strong": {"cups": 3, "milk": False}})
    assert flags.parse_args([]).preset is None
    assert flags.parse_args(["--preset", "strong"]).preset == "strong"
    assert "strong: --cups 3 --no-milk" in " ".join(flags.format_help().split())
    with pytest.raises(SystemExit):
        flags.parse_args(["--preset", "weak"])
    assert "invalid choice" in capsys.readouterr().err


@pytest.mark.parametrize("line", ["--cups 1.5", "--cups x", "--minutes soon", "--leaf_kind black"])
def test_values_of_another_type_are_refused(line, capsys):
    with pytest.raises(SystemExit):
        parser(Tea).parse_args(line.split())
    assert line.split()[0] in capsys.readouterr().err


@pytest.mark.parametrize(
    ("tea", "message"),
    [
        (Tea(cups=0), "--cups 0: give at least 1 and at most 9"),
        (Tea(cups=10), "--cups 10: give at least 1 and at most 9"),
        (Tea(minutes=0.0), "--minutes 0.0: give more than 0 and less than 10"),
        (Tea(minutes=10.0), "--minutes 10.0: give more than 0 and less than 10"),
        (Tea(minutes=float("nan")), "--minutes nan: give more than 0"),
    ],
)
def test_values_outside_their_limits_are_refused(tea, message):
    with pytest.raises(RnnlensError, match=message):
        tea.check()


@pytest.mark.parametrize("tea", [Tea(cups=1), Tea(cups=9), Tea(minutes=0.1), Tea(minutes=9.9)])
def test_values_within_their_limits_are_taken(tea):
    tea.check()


@pytest.mark.parametrize(
    "shown",
    [
        "tea:",
        "--leaf-kind NAME the leaves (default: green)",
        "--sugar NAME none, if not given --cups",
        "--cups N how many (default: 2)",
        "--minutes X how long (default: 2.5)",
        "--milk, --no-milk with milk",
    ],
)
def test_help_tells_name_kind_meaning_and_default(shown):
    assert shown in " ".join(parser(Tea).format_help().split())


@pytest.mark.parametrize("config", [CorpusConfig, NetworkConfig, TrainingConfig])
def test_no_flags_give_the_defaults_and_every_field_is_explained(config):
    flags = parser(config)
    assert from_flags(config, flags.parse_args([])) == config()
    text = " ".join(flags.format_help().split())
    for one in fields(config):
        assert one.metadata["help"] in text
