"""`rnnlens eval`: how well a run's model predicts, beside the unigram baseline."""

import argparse
import json
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from tqdm import tqdm

from rnnlens.corpus.batches import Split
from rnnlens.corpus.corpus import Corpus, CorpusConfig, load_corpus
from rnnlens.errors import RnnlensError
from rnnlens.model.distributed import pick_device
from rnnlens.model.network import Network
from rnnlens.model.perplexity import model_perplexity, unigram_perplexity
from rnnlens.probe.evaluation import evaluate, log_prior_of, over_corpus
from rnnlens.probe.fitting import Fitter, shuffled
from rnnlens.probe.probes import Probes
from rnnlens.run import Run
from rnnlens.view.accuracy import check_figure, write_figure

_HELP = """\
Measure a trained run: the model's own perplexity (lower is better) on the training, validation and
test sentences, beside a unigram model that knows only how often each word occurs; and, where probes
are fitted, every kind's on the test sentences: perplexity, its ratio to the model's own, how often
the most probable label is right, how far it is from the model's own prediction, and how far its
confidence is from the truth.

The corpus is read again from where training found it; if it has moved, say where with --corpus.

examples:
  rnnlens eval runs/news
  rnnlens eval runs/news --figure accuracy.svg
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
    add_corpus_flags(parser)
    parser.add_argument("--states", type=int, default=0, metavar="N",
                        help="look at so many test states only (default: all)")  # fmt: skip
    parser.add_argument("--control", action="store_true",
                        help="also fit to shuffled labels: what a probe memorises")  # fmt: skip
    parser.add_argument("--figure", type=Path, metavar="FILE",
                        help="draw perplexity per kind: .svg, .png or .pdf")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--device", default="auto", metavar="NAME", help="cpu, cuda or cuda:N")
    parser.set_defaults(run=run_eval)


def run_eval(args: argparse.Namespace) -> int:
    """Carry out the verb."""
    if args.states < 0:
        raise RnnlensError(f"--states {args.states}: give a number from 0 up")
    if args.figure:
        check_figure(args.figure)
    run, device = Run(args.path), pick_device(args.device)
    network = run.model().to(device)
    corpus = corpus_of(run, args)
    probes = run.probes().to(device) if run.has_probes() else None
    found: dict[str, Any] = {"model": measure(network, corpus, device)}
    if probes:
        found["probes"] = scores(probes, network, corpus.splits, device, args.states)
    if probes and args.control:
        found["control"] = control(run, probes.semantics, network, corpus, device, args.states)
    try:
        run.write_evaluation(found)
    except RnnlensError as error:  # a run of somebody else's is still worth measuring
        print(f"rnnlens: not saved: {error}", file=sys.stderr)
    if args.figure:
        write_figure(found, args.figure)
    print(json.dumps(found, indent=1) if args.json else "\n\n".join(tables(found)))
    return 0


def scores(
    probes: Probes, network: Network, splits: dict[str, Split], device: torch.device, states: int
) -> list[dict[str, Any]]:
    """Every kind and semantic on the test split."""
    train, test = splits["train"], splits["test"]
    size = min(states or test.pairs, test.pairs) * len(probes.semantics)
    with tqdm(total=size, unit="state", disable=None, leave=False) as bar:
        source, prior = over_corpus(network, test, device), log_prior_of(train, probes.labels)
        found = evaluate(probes, source, prior, states, bar.update)
        return [asdict(score) for score in found]


def control(
    run: Run,
    semantics: tuple[str, ...],
    network: Network,
    corpus: Corpus,
    device: torch.device,
    states: int,
) -> list[dict[str, Any]]:
    """The same fit and evaluation on shuffled labels: how much of a score is the probe's memory."""
    config = run.fit_config()
    splits = {name: shuffled(split, config.seed) for name, split in corpus.splits.items()}
    tensors: dict[str, Tensor] = {}
    for semantic in semantics:
        fitter = Fitter.of(
            network, splits["train"], splits["valid"], semantic, config, device, closed_form=False
        )
        chunks = config.epochs * len(fitter.train.plan(None))
        with tqdm(
            total=chunks, unit="chunk", desc=f"shuffled {semantic}", disable=None, leave=False
        ) as bar:
            fitter.run(lambda: bool(bar.update()) and False, lambda: None)
        tensors |= fitter.result()
    kinds = tuple(kind.id for kind in network.kinds)
    probes = Probes(config.probe, kinds, semantics, network.labels, tensors)
    return scores(probes, network, splits, device, states)


def tables(found: dict[str, Any]) -> list[str]:
    """Everything that was measured, for people."""
    made = [table(found["model"])]
    by_chance = {(s["semantic"], s["kind"]): s["perplexity"] for s in found.get("control", ())}
    for semantic in dict.fromkeys(score["semantic"] for score in found.get("probes", ())):
        rows = [score for score in found["probes"] if score["semantic"] == semantic]
        seen, unigram = rows[0]["pairs"], rows[0]["unigram"]
        lines = [f"{semantic}, on {seen:,} test states; unigram perplexity {unigram:.2f}"]
        head = ("perplexity", "of own", "top-1", "KL bits", "calibration")
        lines.append(f"{'kind':<6}{head[0]:>12}{head[1]:>9}{head[2]:>9}{head[3]:>10}{head[4]:>13}")
        lines[-1] += f"{'shuffled':>12}" if by_chance else ""
        for row in rows:
            ratio = "-" if row["ratio"] is None else f"{row['ratio']:.3f}"
            apart = "-" if row["divergence"] is None else f"{row['divergence']:.3f}"
            shown = f"{by_chance[semantic, row['kind']]:>12.2f}" if by_chance else ""
            lines.append(
                f"{row['kind']:<6}{row['perplexity']:>12.2f}{ratio:>9}{row['accuracy']:>9.2%}"
                f"{apart:>10}{row['calibration']:>13.4f}{shown}"
            )
        made.append("\n".join(lines))
    return made


def add_corpus_flags(parser: argparse.ArgumentParser) -> None:
    """Where the run's corpus is now, if it has moved since training."""
    for name, what in (("corpus", "corpus"), ("valid", "validation"), ("test", "test corpus")):
        parser.add_argument(f"--{name}", metavar="CORPUS", help=f"where the run's {what} is now")


def corpus_of(run: Run, args: argparse.Namespace) -> Corpus:
    """The corpus a run was trained on, read again and checked."""
    record = dict(run.record()["corpus"])
    try:
        source, digest, config = record.pop("source"), record.pop("hash"), CorpusConfig(**record)
        config.check()
    except (KeyError, TypeError) as error:
        raise RnnlensError(
            f"{run.path / 'run.json'} is damaged ({error}); restore it or make the run anew"
        ) from error
    for flag, was in (("corpus", source), ("valid", config.valid), ("test", config.test)):
        here = getattr(args, flag) or not was or was.startswith("nltk:") or Path(was).exists()
        if not here:
            raise RnnlensError(
                f"the corpus of {run.path} was at {was} and is not there now; say where it is: "
                f"--{flag}"
            )
    source = args.corpus or source
    config = replace(config, valid=args.valid or config.valid, test=args.test or config.test)
    corpus = load_corpus(source, config)
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
