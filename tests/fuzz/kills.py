"""Commands that are killed at any moment: given again, they come to the same bytes."""

import os
import random
import shutil
import signal
import time
from pathlib import Path

from tests import grammar
from tests.fuzz.checkpoints import FIT, TRAIN
from tests.fuzz.harness import Different
from tests.fuzz.runs import command

from rnnlens.run.folder import Run

OFTEN = ["--checkpoint-seconds", "0"]
KEEP = ["--keep", "2"]  # checkpoints, which are fitted and measured with the run
REFIT = [*FIT, "--weight-decay", "0.01"]
RESULTS = ("model.json", "model.safetensors", "vocabulary.json", "colours.json", "evaluation.json",
           "probes.json", "probes.safetensors")  # fmt: skip


class Kills:
    """Training, fitting, fitting anew and measuring, each in a process that is killed."""

    longest = 300.0  # seconds: several commands

    def __init__(self, folder: Path) -> None:
        self.corpus = folder / "corpus.conllu"
        self.corpus.write_text(grammar.conllu(60), encoding="utf-8")
        self.before: dict[str, Path | None] = {"train": None}
        self.after: dict[str, dict[str, bytes]] = {}
        self.seconds: dict[str, float] = {}
        path = folder / "whole" / "run"
        for verb in ("train", "fit", "refit", "eval"):
            began = time.monotonic()
            assert not self._go(verb, path)
            self.seconds[verb] = time.monotonic() - began
            self.after[verb] = _results(path)
            following = {"train": "fit", "fit": "refit", "refit": "eval"}.get(verb)
            if following:
                self.before[following] = Path(shutil.copytree(path, folder / following / "run"))

    def _go(self, verb: str, path: Path) -> str:
        """Give the command; what it complains of where it fails."""
        words: list[object] = ["fit", path, *(REFIT if verb == "refit" else FIT), *OFTEN]
        if verb == "train":
            words = ["train", self.corpus, "-o", path, *TRAIN, *OFTEN, *KEEP]
        if verb == "eval":
            words = ["eval", path, "--device", "cpu"]
        code, complaint = command(*words)
        return f"{code} {complaint}" if code else ""

    def __call__(self, chance: random.Random, folder: Path) -> str:
        verb = chance.choice(list(self.before))
        path, begun = folder / "run", self.before[verb]
        if begun:
            shutil.copytree(begun, path)
        for _ in range(chance.choice([1, 1, 2])):
            self._killed(verb, path, chance.random() * self.seconds[verb])
            if begun:  # what was there before stays readable
                Run(path).probes() if verb != "fit" else Run(path).model()
        if complaint := self._go(verb, path):
            raise Different(f"{verb}: {complaint}")
        found = _results(path)
        others = [name for name, data in self.after[verb].items() if found.get(name) != data]
        scraps = [str(p.relative_to(path)) for p in path.rglob(".*")]
        if others or scraps:
            raise Different(f"{verb}: {others} {scraps}")
        return "same"

    def _killed(self, verb: str, path: Path, seconds: float) -> None:
        process = os.fork()
        if not process:
            try:
                self._go(verb, path)
            finally:
                os._exit(0)
        time.sleep(seconds)
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)


def _results(path: Path) -> dict[str, bytes]:
    """What a run and its checkpoints hold."""
    files = [path / name for name in RESULTS] + [
        p for n in RESULTS for p in path.glob(f"kept/*/{n}")
    ]
    return {str(p.relative_to(path)): p.read_bytes() for p in files if p.exists()}
