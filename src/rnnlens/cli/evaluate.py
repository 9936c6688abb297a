"""`rnnlens eval`: how well a run's model predicts, beside the unigram baseline."""

import argparse
import json
from pathlib import Path
from typing import Any

import torch

from rnnlens.corpus.corpus import Corpus, CorpusConfig, load_corpus
from rnnlens.errors import RnnlensError
from rnnlens.model.distributed import pick_device
from rnnlens.model.network import Network
from rnnlens.model.perplexity import model_perplexity, unigram_perplexity
from rnnlens.run import Run

_HELP = """\
Measure a trained run: the model's own perplexity (lower is better) on the training, validation and
test sentences, beside a unigram model that knows only how often each word occurs.

The corpus is read again from where training found it; if it has moved, say where with --corpus.

examples:
  rnnlens eval runs/news
  rnnlens eval runs/news --json"""


def add_to(verbs: Any) -> None:
    """Declare the verb."""
    parser = verbs.add_parser(
        "eval",
        help="measure a run's perplexity",
        description=_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("path", metavar="RUN", type=Path, help="a run folder")
    parser.add_argument("--corpus", metavar="CORPUS", help="where the run's corpus is now")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--device", default="auto", metavar="NAME", help="cpu, cuda or cuda:N")
    parser.set_defaults(run=run_eval)


def run_eval(args: argparse.Namespace) -> int:
    """Carry out the verb."""
    run, device = Run(args.path), pick_device(args.device)
    network = run.model().to(device)
    measured = measure(network, corpus_of(run, args.corpus), device)
    run.write_evaluation({"model": measured})
    print(json.dumps(measured, indent=1) if args.json else table(measured))
    return 0


def corpus_of(run: Run, moved_to: str | None) -> Corpus:
    """The corpus a run was trained on, read again and checked."""
    record = dict(run.record()["corpus"])
    try:
        source, digest, config = record.pop("source"), record.pop("hash"), CorpusConfig(**record)
    except (KeyError, TypeError) as error:
        raise RnnlensError(
            f"{run.path / 'run.json'} is damaged ({error}); restore it or make the run anew"
        ) from error
    corpus = load_corpus(moved_to or source, config)
    if corpus.hash != digest or corpus.vocabulary != run.vocabulary():
        raise RnnlensError(
            f"{corpus.name} is not what {run.path} was trained on; say where that is: --corpus"
        )
    return corpus


def measure(network: Network, corpus: Corpus, device: torch.device) -> dict[str, dict[str, float]]:
    """Perplexity of the model and of the unigram baseline on each split."""
    return {
        name: {
            "sentences": len(split),
            "pairs": split.pairs,
            "perplexity": model_perplexity(network, split, device),
            "unigram": unigram_perplexity(corpus.vocabulary.counts, split),
        }
        for name, split in corpus.splits.items()
    }


def table(measured: dict[str, dict[str, float]]) -> str:
    """The same for people."""
    lines = [f"{'':<8}{'sentences':>12}{'pairs':>14}{'perplexity':>14}{'unigram':>12}"]
    for name, row in measured.items():
        lines.append(
            f"{name:<8}{row['sentences']:>12,}{row['pairs']:>14,}"
            f"{row['perplexity']:>14.2f}{row['unigram']:>12.2f}"
        )
    return "\n".join(lines)
