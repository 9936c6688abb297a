"""Rebuild the bundled model: train, round to half precision, fit probes, measure, pack.

    python scripts/bundle.py amalgum_news.conllu.gz

Each step is an ordinary rnnlens command and is left out where its result is already there, so that
an interrupted build continues. Two minutes on one GPU; what is rounded is what probes are fitted
to and what is measured, so every figure in the model card is of the very files that are shipped.
"""

import argparse
import shutil
import sys
from dataclasses import asdict
from pathlib import Path

from rnnlens.cli import main as rnnlens
from rnnlens.contents import TRAINED
from rnnlens.run import Run

SHIPPED = Path(__file__).parents[1] / "src/rnnlens/bundled/english-news"
FILES = (
    "run.json", "vocabulary.json", "colours.json", "evaluation.json",
    "model.json", "model.safetensors", "probes.json", "probes.safetensors",
)  # fmt: skip
LARGEST = 30_000_000  # bytes, everything the package ships


def command(*words: str | Path) -> None:
    """Run a rnnlens command, and end with it where it fails."""
    line = [str(word) for word in words]
    print("rnnlens", *line, flush=True)
    code = rnnlens(line)
    if code:
        sys.exit(code)


def rounded(full: Run, half: Run) -> None:
    """Copy a run with its weights in half precision."""
    half.path.mkdir(parents=True, exist_ok=True)
    for name in ("run.json", "vocabulary.json", "colours.json"):
        shutil.copy(full.path / name, half.path)
    half.write_model(full.network().half())


def main() -> None:
    """Build, and say how large it is."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus", type=Path, help="the news part of AMALGUM, CoNLL-U")
    parser.add_argument("--work", type=Path, default=Path("runs/bundle"), help="where to build")
    parser.add_argument("--to", type=Path, default=SHIPPED, help="where to put what is shipped")
    args = parser.parse_args()
    full, half = Run(args.work / "full"), Run(args.work / "half")
    if not (full.exists() and full.record().status == TRAINED):
        command("train", args.corpus, "-o", full.path)
    if not (half.path / "model.json").exists():
        rounded(full, half)
    corpus = ("--corpus", args.corpus)
    if not half.has_probes():
        command("fit", half.path, *corpus, "--probe", "shared", "--semantic", "output,input")
        half.write_probes(half.probes(), asdict(half.fit_config()), half=True)
    command("eval", half.path, *corpus, "--used")
    args.to.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        shutil.copy(half.path / name, args.to)
    size = sum((args.to / name).stat().st_size for name in FILES)
    print(f"{size / 1e6:.1f} MB in {args.to}; at most {LARGEST / 1e6:.0f} are allowed")
    sys.exit(size > LARGEST)


if __name__ == "__main__":
    main()
