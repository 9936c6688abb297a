"""`rnnlens fit`: probes for every kind of a run's network."""

import argparse
import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from rnnlens.cli.evaluate import add_corpus_flags, corpus_of
from rnnlens.cli.watch import Watch, check_seconds
from rnnlens.corpus.corpus import Corpus
from rnnlens.errors import RnnlensError
from rnnlens.flags import add_flags, from_flags
from rnnlens.model.distributed import Processes, pick_device, processes
from rnnlens.model.network import Network
from rnnlens.model.perplexity import perplexity
from rnnlens.probe.checkpoint import SavedFit, save_fit
from rnnlens.probe.fitting import FitConfig, Fitter
from rnnlens.probe.probes import Probes
from rnnlens.probe.semantics import parse
from rnnlens.run import Run

_HELP = """\
Fit the probes of a trained run: for every kind of hidden state, what that state alone says about
the next word (or whatever --semantic asks for). Each is a linear softmax classifier.

It starts from a closed form, the best linear guess of the network's last output read by the
network's own readout, and goes on by gradient steps over states streamed from the model. The
validation sentences decide when to stop; the test sentences are never looked at.

examples:
  rnnlens fit runs/news
  rnnlens fit runs/news --probe shared --semantic output,input,output+2
  rnnlens fit runs/news --epochs 0            the closed form alone, in one pass

Ctrl-C stops; the same command continues where it stopped."""


def add_to(verbs: Any) -> None:
    """Declare the verb."""
    parser = verbs.add_parser(
        "fit",
        help="fit the probes of a run",
        description=_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("path", metavar="RUN", type=Path, help="a run folder")
    add_corpus_flags(parser)
    parser.add_argument("--device", default="auto", metavar="NAME", help="cpu, cuda or cuda:N")
    parser.add_argument("--checkpoint-seconds", type=float, default=300.0, metavar="X",
                        help="save this often, in case of a crash (default: 300)")  # fmt: skip
    add_flags(parser, FitConfig, "fit")
    parser.set_defaults(run=run_fit)


def run_fit(args: argparse.Namespace) -> int:
    """Carry out the verb."""
    config = from_flags(FitConfig, args)
    config.check()
    check_seconds(args.checkpoint_seconds)
    run, device = Run(args.path), pick_device(args.device)
    network = run.model().to(device)
    with processes(device) as group:
        corpus = corpus_of(run, args)
        return _fit(run, network, corpus, config, device, group, args.checkpoint_seconds)


def _fit(
    run: Run,
    network: Network,
    corpus: Corpus,
    config: FitConfig,
    device: torch.device,
    group: Processes,
    seconds: float,
) -> int:
    identity = json.dumps([run.model_hash(), asdict(config)], sort_keys=True)
    saved = SavedFit(run.fit_checkpoint, identity) if run.fit_checkpoint.exists() else None
    group.any(False)  # nobody writes before everybody has read
    done = saved.done if saved else {}
    train, valid = corpus.splits["train"], corpus.splits["valid"]
    for semantic in parse(config.semantic):
        if any(name.startswith(f"{semantic}/") for name in done):
            continue
        fitter = Fitter.of(network, train, valid, semantic, config, device, group)
        if saved and saved.semantic == semantic:
            saved.restore(fitter)
        code = _watch(run, fitter, identity, done, seconds)
        if code:
            return code
        done |= {name: t.cpu() for name, t in fitter.result().items()}
        if group.first:
            save_fit(run.fit_checkpoint, identity, done)
    kinds = tuple(kind.id for kind in network.kinds)
    probes = Probes(config.probe, kinds, parse(config.semantic), network.labels, done)
    if group.first:
        run.write_probes(probes, asdict(config))
        run.fit_checkpoint.unlink(missing_ok=True)
        print(f"{probes.parameters:,} parameters; see how good they are: rnnlens eval {run.path}")
    return 0


def _watch(run: Run, fitter: Fitter, identity: str, done: dict[str, Tensor], seconds: float) -> int:
    """Fit one semantic under watch; 0 at the end, else the exit code of what stopped it."""
    chunks = len(fitter.train.plan(None))

    def look() -> str:
        nll = float(fitter.nll.mean())
        if not math.isfinite(nll):
            raise RnnlensError(
                f"the loss is {nll} while fitting {fitter.semantic}; what was saved stays: "
                f"try a lower --learning-rate (now {fitter.rate:g})"
            )
        mean = perplexity(nll, fitter.seen)  # of this process's share
        return f"{fitter.semantic}, epoch {fitter.progress.epoch + 1}, mean perplexity {mean:.1f}"

    def after_epoch() -> None:
        best = fitter.progress.best
        name = f"epoch {fitter.progress.epoch}" if fitter.progress.epoch else "start"
        mean = perplexity(sum(best), len(best))
        watch.say(
            f"{fitter.semantic:<10} {name:<9} validation perplexity: mean of kinds {mean:8.2f}, "
            f"{fitter.kinds[-1]} {perplexity(best[-1], 1):8.2f}  ({watch.elapsed:.1f} s)"
        )

    with Watch(
        run,
        fitter.processes,
        total=fitter.config.epochs * chunks,
        done=fitter.progress.epoch * chunks + fitter.progress.chunk,
        unit="chunk",
        seconds=seconds,
        look=look,
        save=lambda: save_fit(run.fit_checkpoint, identity, done, fitter),
    ) as watch:
        if not fitter.run(watch.stop, after_epoch):
            return watch.stopped()
    return 0
