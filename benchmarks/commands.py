"""Where the seconds of whole commands go: train, fit, eval and index of a corpus, one after the
other.

    python -m benchmarks.commands --corpus amalgum_news.conllu.gz --device cuda --preset gpu
    python -m benchmarks.commands --corpus amalgum_news.conllu.gz --folder runs fit eval

Each command runs in a process of its own, in which the parts that it consists of are timed: a part
that calls another does not count what that takes, and a GPU is waited for at the end of each. What
is not the command's work, and not the start of the GPU, is *outside*: at most 4 s are wanted. The
start of the GPU is its first product, and the loading of CUDA's libraries, which a torch for CPUs
does not have; both are told. A corpus that is read while torch is imported costs what is then still
waited for.
"""

import argparse
import ctypes
import functools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.noted import note

GOAL = 4.0  # seconds outside the work
WORK = "the work itself"
GPU, LIBRARIES = "the GPU's own start", "CUDA's libraries"
TORCH, READING = "importing torch", "reading the corpus"
#: By command: the module that its flags lead to.
COMMANDS = {
    "train": "rnnlens.work.train_run", "fit": "rnnlens.work.fit_run",
    "eval": "rnnlens.work.evaluate_run", "index": "rnnlens.work.corpus_jobs",
}  # fmt: skip
#: By part: the functions whose time it is, as module:name, or module:class.name.
PARTS: dict[str, Sequence[str]] = {
    WORK: (
        "rnnlens.model.train.training:Trainer.run",
        "rnnlens.work.fit_run:fit_probes",
        "rnnlens.work.evaluate_run:evaluate_model",
        "rnnlens.work.evaluate_run:evaluate_probes",
        "rnnlens.search.build:Builder.make",
    ),
    READING: (
        "rnnlens.corpus.corpus:Corpus.read", "rnnlens.run.corpus_data:load_corpus",
    ),
    "encoding it": ("rnnlens.work.train_run:encode",),
    "colours and examples": (
        "rnnlens.work.train_run:_colours", "rnnlens.work.train_run:chosen_examples",
    ),
    "making the trainer": ("rnnlens.work.train_run:_Job._trainer",),
    "the run's data": (
        "rnnlens.work.fit_run:run_dataset", "rnnlens.work.evaluate_run:run_dataset",
    ),
    "evaluating what was trained": ("rnnlens.work.train_run:evaluate_model",),
    "checkpoints": (
        "rnnlens.work.train_run:save_checkpoint", "rnnlens.work.fit_run:save_fit",
        "rnnlens.run.folder:Keeper.after_epoch",
    ),
    "writing": (
        "rnnlens.run.folder:Run.write_model", "rnnlens.run.folder:Run.write_probes",
        "rnnlens.run.folder:Run.write_record", "rnnlens.run.folder:Run.write_vocabulary",
        "rnnlens.run.folder:Run.write_colours", "rnnlens.run.folder:Run.write_evaluation",
    ),
    "hashing": ("rnnlens.run.folder:Run.model_hash", "rnnlens.run.folder:Run.probes_hash"),
    "opening the run": ("rnnlens.work.corpus_jobs:opened",),
    "the index's texts": ("rnnlens.work.corpus_jobs:_texts",),
    "the map's axes, and what was begun": ("rnnlens.search.build:Builder.begin",),
    "finishing the index": ("rnnlens.search.build:Builder.finish",),
}  # fmt: skip


class Clock:
    """Seconds by part; of parts within each other the innermost has them."""

    def __init__(self, since: float, *, gpu: bool) -> None:
        self.seconds: dict[str, float] = {}
        self._gpu = gpu  # whether it has to be started
        self._since, self._parts = since, ["all else"]

    def _take(self) -> None:
        now = time.time()
        part = self._parts[-1]
        self.seconds[part] = self.seconds.get(part, 0.0) + now - self._since
        self._since = now

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """What is done within it is that part's."""
        self._take()
        self._parts.append(name)
        try:
            yield
            if "torch" in sys.modules and sys.modules["torch"].cuda.is_initialized():
                sys.modules["torch"].cuda.synchronize()
        finally:
            self._take()
            self._parts.pop()

    def timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function whose time is that part's."""

        @functools.wraps(function)
        def run(*args: Any, **options: Any) -> Any:
            if name != READING:  # which a process beside this one has begun meanwhile
                self.start_gpu()
            with self.part(name):
                return function(*args, **options)

        return run

    def start_gpu(self) -> None:
        """Have the GPU's first product, if there is to be one and it was not yet."""
        if self._gpu:
            self._gpu = False
            with self.part(GPU):
                a = sys.modules["torch"].ones(64, 64, device="cuda")
                float((a @ a).sum())

    def finish(self) -> Mapping[str, float]:
        """All seconds until now."""
        self._take()
        return self.seconds


def hook(clock: Clock) -> None:
    """Time every part of what is imported, from now on."""
    for part, functions in PARTS.items():
        for place in functions:
            module, names = place.split(":")
            if module not in sys.modules:
                continue
            *owners, name = names.split(".")
            owner: Any = functools.reduce(getattr, owners, import_module(module))
            kept = vars(owner)[name]
            if isinstance(kept, classmethod):
                setattr(owner, name, classmethod(clock.timed(part, kept.__func__)))
            else:
                setattr(owner, name, clock.timed(part, kept))


def load_libraries(clock: Clock) -> None:
    """Load CUDA's libraries, and torch's own for it, in the order in which torch loads them; of a
    torch for CPUs nothing. What both have is not counted with them.
    """
    spec = find_spec("torch")
    folder = Path(spec.origin or "").parent / "lib" if spec else Path()
    if not (folder / "libtorch_cuda.so").exists():
        return
    with clock.part(LIBRARIES):
        ctypes.CDLL(str(folder / "libtorch_global_deps.so"), mode=ctypes.RTLD_GLOBAL)
    with clock.part(TORCH):
        ctypes.CDLL(str(folder / "libtorch_cpu.so"))
    with clock.part(LIBRARIES):
        ctypes.CDLL(str(folder / "libtorch_cuda.so"))


def inside(since: float, words: Sequence[str], target: Path) -> int:
    """Run one command in this process, and write its seconds by part."""
    clock = Clock(since, gpu="cpu" not in words)
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # as the command has it
    with clock.part("other imports"):
        from rnnlens.cli import main

        flags: Any = import_module("rnnlens.cli.shared_flags")
    import_torch = flags.import_torch

    def import_all() -> None:
        """What a command imports where it imports torch."""
        load_libraries(clock)
        with clock.part(TORCH):
            import_torch()
        with clock.part("other imports"):
            import_module(COMMANDS[words[0]])
            hook(clock)

    flags.import_torch = import_all
    code = main(words)
    target.write_text(json.dumps(clock.finish()), encoding="utf-8")
    return code


def measured(words: Sequence[str]) -> Mapping[str, float]:
    """Seconds by part of one command, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "seconds.json"
        given = ["-m", "benchmarks.commands", "--inside", str(time.time()), str(target), *words]
        subprocess.run([sys.executable, *given], check=True)
        found: Mapping[str, float] = json.loads(target.read_text(encoding="utf-8"))
    return found


def main() -> None:
    """Print the seconds of each command."""
    if sys.argv[1:2] == ["--inside"]:
        sys.exit(inside(float(sys.argv[2]), sys.argv[4:], Path(sys.argv[3])))
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("commands", nargs="*", metavar="COMMAND", help=f"of {', '.join(COMMANDS)}")
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--folder", type=Path, help="where the run is kept, or is already")
    parser.add_argument("--preset", help="of training")
    parser.add_argument("--options", default="", help="more flags of training, with spaces")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run = str((args.folder or Path(folder)) / "run")
        preset = ["--preset", args.preset] if args.preset else []
        commands = {
            "train": [args.corpus, "-o", run, *preset, *args.options.split()],
            "fit": [run],
            "eval": [run],
            "index": [run, "--corpus", args.corpus, "--split", "test,valid,train"],
        }
        for name in args.commands or COMMANDS:
            given = commands[name]
            began = time.perf_counter()
            seconds = measured([name, *given, "--device", args.device])
            whole = time.perf_counter() - began
            without = sum(s for part, s in seconds.items() if part not in (WORK, GPU, LIBRARIES))
            note(f"{name}, outside its work", without, "s", GOAL)
            parts = ", ".join(
                f"{part} {s:.2f}" for part, s in sorted(seconds.items(), key=lambda p: -p[1])
                if s >= 0.005
            )  # fmt: skip
            print(f"{name}: {whole:.1f} s, outside its work {without:.2f} of at most {GOAL:g}\n"
                  f"    {parts}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
