"""What one file of states holds before it is understood: arrays by name, and names of numbers."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rnnlens.base.files import damaged
from rnnlens.base.rules import text
from rnnlens.states.arrays import REMEDY, Stored

LENGTHS, WORDS, TARGETS, NAMES = "lengths", "words", "targets", "names"
Y = text("prediction")  # the network's own logits
TEXT_BYTES = 1 << 30  # of names and words that are held in memory


@dataclass(frozen=True)
class RawPart:
    """Arrays of one file by their names; `names` of the numbers of words and of targets."""

    path: Path
    arrays: Mapping[str, Stored]
    names: Mapping[str, list[str]] = field(default_factory=dict)
    steps: int = 0  # of every sequence, where all are of one length


def is_names(name: str) -> bool:
    """Whether an array holds names: `names.words` those of words, `names.tag` those of a target."""
    return name.startswith((f"{NAMES}.", f"{NAMES}/"))


def names_in(path: Path, metadata: Any) -> dict[str, list[str]]:
    """The names in the metadata of a safetensors file: `names.words` is a JSON list of texts."""
    found: dict[str, list[str]] = {}
    for key, value in metadata.items() if isinstance(metadata, Mapping) else ():
        if is_names(key):
            try:
                names = json.loads(value)
            except (TypeError, ValueError, RecursionError) as error:
                raise damaged(path, f"{key[:80]!r} of its metadata is no JSON", REMEDY) from error
            if not isinstance(names, list) or not all(isinstance(one, str) for one in names):
                raise damaged(path, f"{key[:80]!r} of its metadata is no list of texts", REMEDY)
            found[key[len(NAMES) + 1 :]] = names
    return found
