"""A configuration is its command-line flags and their help."""

import argparse
from dataclasses import dataclass, field, fields

import pytest

from rnnlens.corpus.corpus import CorpusConfig
from rnnlens.flags import add_flags, from_flags
from rnnlens.model.network import NetworkConfig
from rnnlens.model.train.training import TrainingConfig


@dataclass(frozen=True)
class Tea:
    """One field of each type."""

    leaf_kind: str = field(default="green", metadata={"help": "the leaves"})
    sugar: str = field(default="", metadata={"help": "none, if not given"})
    cups: int = field(default=2, metadata={"help": "how many"})
    minutes: float = field(default=2.5, metadata={"help": "how long"})
    milk: bool = field(default=False, metadata={"help": "with milk"})


def parser(config: type) -> argparse.ArgumentParser:
    made = argparse.ArgumentParser()
    add_flags(made, config, "tea")
    return made


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


@pytest.mark.parametrize("line", ["--cups 1.5", "--cups x", "--minutes soon", "--leaf_kind black"])
def test_values_of_another_type_are_refused(line, capsys):
    with pytest.raises(SystemExit):
        parser(Tea).parse_args(line.split())
    assert line.split()[0] in capsys.readouterr().err


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
    made = parser(config)
    assert from_flags(config, made.parse_args([])) == config()
    text = " ".join(made.format_help().split())
    for option in fields(config):
        assert option.metadata["help"] in text
