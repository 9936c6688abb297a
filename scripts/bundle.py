"""Rebuild a bundled network: train, round to half precision, fit probes, measure, pack.

    python scripts/bundle.py english-news amalgum_news.conllu.gz
    python scripts/bundle.py english-news amalgum_news.conllu.gz --index-only
    python scripts/bundle.py english-tags amalgum_news.conllu.gz
    python scripts/brackets.py make brackets --words 60000
    python scripts/bundle.py brackets brackets/train.txt

Each step is an ordinary rnnlens command and is left out where its result is already there, so that
an interrupted build continues. Two minutes on one GPU; what is rounded is what probes are fitted
to and what is measured, so every figure in a model card is of the very files that are shipped.
Of english-news a small index of its test sentences is shipped too, which is of these very files and
is made anew whenever one of them changes: with --index-only, in a minute or two on a CPU.
"""

import argparse
import json
import shutil
import sys
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

from rnnlens.base.files import write_json
from rnnlens.cli import main as rnnlens
from rnnlens.run.folder import Run
from rnnlens.run.record import TRAINED

SHIPPED = Path(__file__).parents[1] / "src/rnnlens/bundled"
FILES = (
    "run.json", "vocabulary.json", "colours.json", "evaluation.json",
    "model.json", "model.safetensors", "probes.json", "probes.safetensors",
)  # fmt: skip
EXAMPLES = "examples.safetensors"  # texts to begin with, where the training wrote some
LARGEST = 34_000_000  # bytes, everything the package ships


class Recipe(NamedTuple):
    """What the commands are given beside the corpus."""

    train: str = ""
    fit: str = ""
    eval: str = "--all"
    search: str = ""  # of its index; empty: none is shipped


_NO_DROPOUT = "--dropout-words 0 --dropout-input 0 --dropout-output 0 --dropout-weight 0"
RECIPES = {
    "english-news": Recipe(
        fit="--probe shared --semantic output,input",
        eval="--all --horizon 4",
        search="--split test --words 4800",
    ),
    "english-tags": Recipe(  # small, so that there is room for it
        "--task tag --bidirectional --width 32 --min-count 5 --epochs 8 --learning-rate 0.005 "
        "--dropout-input 0.1 --dropout-hidden 0.1 --dropout-output 0.1 --dropout-weight 0"
    ),
    "brackets": Recipe(
        "--format text --min-count 1 --width 64 --layers 1 --epochs 30 --learning-rate 0.003 "
        f"--weight-decay 0 --patience 8 {_NO_DROPOUT}"
    ),
}


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
    for name in ("vocabulary.json", "colours.json", EXAMPLES):
        if (full.path / name).exists():
            shutil.copy(full.path / name, half.path)
    half.write_model(full.network().half())
    record = full.record().to_json()
    record.pop("weights", None)  # those in full precision
    half.write_record(record)


def build(args: argparse.Namespace, recipe: Recipe, to: Path) -> None:
    """Train, round, fit and measure, and put what is shipped in its place."""
    full, half = (Run(args.work / args.name / which) for which in ("full", "half"))
    if not (full.exists() and full.record().status == TRAINED):
        command("train", args.corpus, "-o", full.path, *recipe.train.split())
    if not (half.path / "model.json").exists():
        rounded(full, half)
    corpus = ("--corpus", args.corpus)
    if not half.has_probes():
        command("fit", half.path, *corpus, *recipe.fit.split())
        half.write_probes(half.probes(), asdict(half.fit_config()), half=True)
    command("eval", half.path, *corpus, *recipe.eval.split())
    to.mkdir(parents=True, exist_ok=True)
    for name in filter(lambda name: (half.path / name).exists(), (*FILES, EXAMPLES)):
        shutil.copy(half.path / name, to)
    shorten(to / "evaluation.json")


def shorten(path: Path) -> None:
    """Keep eleven digits of what was measured: a seventh of a large file is digits beyond these."""
    measured = json.loads(
        path.read_bytes(), parse_float=lambda number: float(f"{float(number):.11g}")
    )
    measured.pop("checksum", None)
    write_json(path, measured)


def _name_source(path: Path, name: str) -> None:
    """Say which file the corpus was, and not where it lay."""
    manifest = json.loads(path.read_bytes())
    manifest.pop("checksum")
    manifest["contents"]["source"] = name
    write_json(path, manifest)


def main() -> None:
    """Build, and say how large it is."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", choices=RECIPES)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--work", type=Path, default=Path("runs/bundle"), help="where to build")
    parser.add_argument("--to", type=Path, default=SHIPPED, help="where to put what is shipped")
    parser.add_argument("--index-only", action="store_true", help="of the run that is shipped")
    args = parser.parse_args()
    recipe, to = RECIPES[args.name], args.to / args.name
    if not args.index_only:
        build(args, recipe, to)
    if recipe.search:
        command("index", to, "--corpus", args.corpus, *recipe.search.split(),
                "-o", to / "index", "--anew")  # fmt: skip
        _name_source(to / "index/manifest.json", args.corpus.name)
    size = sum(path.stat().st_size for path in args.to.rglob("*") if path.is_file())
    print(f"{size / 1e6:.1f} MB in {args.to}; at most {LARGEST / 1e6:.0f} are allowed")
    sys.exit(size > LARGEST)


if __name__ == "__main__":
    main()
