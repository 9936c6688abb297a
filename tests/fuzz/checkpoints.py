"""Mutated checkpoints: refused, or continued to the very same result."""

import random
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests import grammar
from tests.fuzz import mutations
from tests.fuzz.runs import command

from rnnlens.work.observer import Resumable

TRAIN = "--width 4 --batch 16 --epochs 2 --min-count 1 --device cpu".split()
FIT = "--probe shared --rank 3 --epochs 2 --semantic output,input --device cpu".split()


@contextmanager
def stopping(after: int) -> Iterator[None]:
    """Stop long work after so many steps, as a signal would."""
    real, steps = Resumable.stop, iter(range(10**6))
    setattr(Resumable, "stop", lambda _: next(steps) >= after)  # noqa: B010
    yield
    setattr(Resumable, "stop", real)  # noqa: B010


class Checkpoints:
    """A training and a fit that were stopped, to be continued."""

    def __init__(self, folder: Path) -> None:
        self.corpus = folder / "corpus.conllu"
        self.corpus.write_text(grammar.conllu(60), encoding="utf-8")
        self.begun = {"train": folder / "train" / "run", "fit": folder / "fit" / "run"}
        with stopping(4):
            assert self._go("train", self.begun["train"])[0] == 143
        trained = Path(shutil.copytree(self.begun["train"], folder / "whole" / "run"))
        assert self._go("train", trained)[0] == 0
        shutil.copytree(trained, self.begun["fit"])
        with stopping(1):
            assert self._go("fit", self.begun["fit"])[0] == 143
        fitted = Path(shutil.copytree(self.begun["fit"], folder / "fitted" / "run"))
        assert self._go("fit", fitted)[0] == 0
        self.wanted = {
            "train": (trained / "model.safetensors").read_bytes(),
            "fit": (fitted / "probes.safetensors").read_bytes(),
        }

    def _go(self, verb: str, path: Path) -> tuple[int, str]:
        if verb == "train":
            return command("train", self.corpus, "-o", path, *TRAIN)
        return command("fit", path, *FIT)

    def __call__(self, chance: random.Random, folder: Path) -> str:
        verb = chance.choice(["train", "fit"])
        path = Path(shutil.copytree(self.begun[verb], folder / "run"))
        result = path / ("model.safetensors" if verb == "train" else "probes.safetensors")
        saved = path / ("checkpoint.safetensors" if verb == "train" else "fit.safetensors")
        sealed = chance.random() < 0.4
        if sealed:
            tensors, header = mutations.tensors_of(saved)
            if chance.random() < 0.5:
                mutations.spoil_value(header, chance)
            else:
                mutations.spoil_tensors(tensors, chance)
            mutations.write_sealed(saved, tensors, header)
        elif chance.random() < 0.1:
            mutations.replace_file(saved, chance)
        else:
            mutations.spoil_bytes(saved, chance)
        gone = not saved.exists() and not saved.is_symlink()
        code, err = self._go(verb, path)
        if code:
            return "refused" if code == 2 and err.count("\n") == 1 else "different"
        if result.read_bytes() == self.wanted[verb]:
            return "same"
        return "other" if sealed or gone else "different"
