"""Files of runs, to be looked into and spoilt."""

import json
from pathlib import Path
from typing import Any

from safetensors.torch import load_file
from torch import Tensor

from rnnlens.base.files import parsed, write_json
from rnnlens.corpus.vocabulary import Vocabulary, VocabularyFile


def contents(path: Path) -> dict[str, Any]:
    """What a JSON file says, but for its checksum."""
    value: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    value.pop("checksum", None)
    return value


def edit(path: Path, **entries: Any) -> None:
    """Change entries of a JSON file, or drop them where None is given; its checksum is right."""
    changed = {**contents(path), **entries}
    write_json(path, {name: value for name, value in changed.items() if value is not None})


def tensors_in(path: Path) -> dict[str, Tensor]:
    """The tensors of a file."""
    return load_file(path)


def vocabulary_in(value: Any) -> Vocabulary:
    """The vocabulary that a file with these entries holds."""
    text = json.dumps(value)
    return Vocabulary.of_file(parsed(text, VocabularyFile, Path("vocabulary.json")))
