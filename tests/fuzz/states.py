"""Mutated files of recorded states: refused in one line, or read as states that are numbers."""

import random
import shutil
from pathlib import Path

import numpy as np
from tests import recorded
from tests.fuzz import mutations

from rnnlens.base.errors import RnnlensError
from rnnlens.states.kept import Kept, opened


class States:
    """States in every format, each to be spoilt."""

    forms: tuple[str, ...] = recorded.FORMATS

    def __init__(self, folder: Path) -> None:
        some = recorded.arrays(20)
        self.whole = {
            form: recorded.write(folder / "whole" / form, form, some) for form in self.forms
        }
        self.wanted = {form: _read(opened(path)) for form, path in self.whole.items()}

    def __call__(self, chance: random.Random, folder: Path) -> str:
        form = chance.choice(self.forms)
        path = Path(shutil.copytree(self.whole[form], folder / "states"))
        file = chance.choice(sorted(path.iterdir()))
        if chance.random() < 0.1:
            mutations.replace_file(file, chance)
        else:
            for _ in range(chance.choice([1, 1, 3])):
                mutations.spoil_bytes(file, chance)
        try:
            found = _read(opened(path))
        except RnnlensError as error:
            return "refused" if "\n" not in str(error) else "different"
        return "same" if found == self.wanted[form] else "other"  # states have no checksum


def _read(kept: Kept) -> list[object]:
    """All that is there."""
    states = {name: some.rows(0, kept.rows).tobytes() for name, some in kept.kinds.items()}
    targets = {name: (t.values.tobytes(), t.names) for name, t in kept.targets.items()}
    words = [kept.word(row) for row in range(kept.rows)]
    return [states, targets, words, np.asarray(kept.starts).tolist()]


class PlainStates(States):
    """Those that are read in this process, without starting others."""

    forms = ("safetensors", "npz", "npz-packed")
