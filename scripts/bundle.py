"""Rebuild a bundled network: train, round to half precision, fit probes, measure, pack.

    python scripts/bundle.py english-news amalgum_news.conllu.gz
    python scripts/bundle.py english-news amalgum_news.conllu.gz --probes-only
    python scripts/bundle.py english-news amalgum_news.conllu.gz --index-only
    python scripts/bundle.py brackets brackets/train.txt --fit-only
    python scripts/bundle.py english-tags amalgum_news.conllu.gz
    python scripts/brackets.py make brackets --words 60000
    python scripts/bundle.py brackets brackets/train.txt
    python scripts/bundle.py brackets-rglru brackets/train.txt
    python scripts/recall.py make recall
    python scripts/bundle.py recall recall/train.txt

Each step is an ordinary rnnlens command and is left out where its result is already there, so that
an interrupted build continues. Two minutes on one GPU; what is rounded is what probes are fitted
to and what is measured, so every figure in a model card is of the very files that are shipped.
With --probes-only the probes that are shipped are stored anew, as the recipe says, and measured;
with --fit-only the network that is shipped gets new ones, by the recipe.
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
from rnnlens.probe.probes import Precision
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
    probes: Precision = "half"  # how exactly they are stored


_NO_DROPOUT = "--dropout-words 0 --dropout-input 0 --dropout-output 0 --dropout-weight 0"
RECIPES = {
    "english-news": Recipe(
        fit="--probe shared --semantic output,input",
        eval="--all --horizon 4",
        search="--split test --words 3200",
    ),
    "english-tags": Recipe(  # small, so that there is room for it
        "--task tag --bidirectional --width 32 --min-count 5 --epochs 8 --learning-rate 0.005 "
        "--dropout-input 0.1 --dropout-hidden 0.1 --dropout-output 0.1 --dropout-weight 0"
    ),
    "brackets": Recipe(
        "--format text --min-count 1 --width 64 --layers 1 --epochs 30 --learning-rate 0.003 "
        f"--weight-decay 0 --patience 8 {_NO_DROPOUT}"
    ),
    # Two recurrences with a linear memory: a vector, beside the LSTM on the same language, and a
    # matrix on one in which what it has to hold is known.
    "brackets-rglru": Recipe(
        "--format text --min-count 1 --cell rglru --width 48 --layers 2 --epochs 12 --batch 64 "
        f"--learning-rate 0.005 --weight-decay 0 --patience 8 --dropout-hidden 0 {_NO_DROPOUT}",
        probes="byte",
    ),
    "recall": Recipe(
        "--format text --min-count 1 --no-lowercase --no-numbers --cell deltanet --width 24 "
        "--heads 2 --keys 8 --layers 1 --epochs 16 --batch 64 --learning-rate 0.01 "
        f"--weight-decay 0 --dropout-hidden 0 {_NO_DROPOUT} --colours recall/colours.json",
        probes="byte",
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
    if not half.has_probes():
        command("fit", half.path, "--corpus", args.corpus, *recipe.fit.split())
    store_and_measure(half, args, recipe, to)


def again(args: argparse.Namespace, recipe: Recipe, to: Path) -> None:
    """Store the probes that are shipped as the recipe says, or fit others, and measure them."""
    run = Run(args.work / args.name / "again")
    shutil.rmtree(run.path, ignore_errors=True)
    shutil.copytree(SHIPPED / args.name, run.path, ignore=shutil.ignore_patterns("index"))
    if args.fit_only:
        command("fit", run.path, "--corpus", args.corpus, *recipe.fit.split())
    store_and_measure(run, args, recipe, to)


def store_and_measure(run: Run, args: argparse.Namespace, recipe: Recipe, to: Path) -> None:
    """Store the probes of a run as the recipe says, measure what is then there, and put it in its
    place. What is stored so already stays as it is, to the bit.
    """
    run.write_probes(run.probes(), asdict(run.fit_config()), recipe.probes)
    command("eval", run.path, "--corpus", args.corpus, *recipe.eval.split())
    to.mkdir(parents=True, exist_ok=True)
    for name in filter(lambda name: (run.path / name).exists(), (*FILES, EXAMPLES)):
        shutil.copy(run.path / name, to)
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
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--probes-only", action="store_true", help="of the run that is shipped")
    only.add_argument("--index-only", action="store_true", help="of the run that is shipped")
    only.add_argument("--fit-only", action="store_true", help="of the network that is shipped")
    args = parser.parse_args()
    recipe, to = RECIPES[args.name], args.to / args.name
    if args.probes_only or args.fit_only:
        again(args, recipe, to)
    elif not args.index_only:
        build(args, recipe, to)
    if recipe.search and not args.probes_only:
        command("index", to, "--corpus", args.corpus, *recipe.search.split(),
                "-o", to / "index", "--anew")  # fmt: skip
        _name_source(to / "index/manifest.json", args.corpus.name)
    size = sum(path.stat().st_size for path in args.to.rglob("*") if path.is_file())
    print(f"{size / 1e6:.1f} MB in {args.to}; at most {LARGEST / 1e6:.0f} are allowed")
    sys.exit(size > LARGEST)


if __name__ == "__main__":
    main()
