"""`rnnlens train`: from a corpus to a run with a trained model."""

import argparse
import json
import math
import os
import shlex
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from rnnlens.cli.dataset import sentence_dataset
from rnnlens.cli.evaluate import table
from rnnlens.cli.watch import Watch, check_seconds
from rnnlens.contents import TRAINED, TRAINING, Record
from rnnlens.corpus.corpus import CorpusConfig, EncodedCorpus, load_corpus
from rnnlens.corpus.groups import parts_of_speech
from rnnlens.errors import RnnlensError
from rnnlens.files import is_present, remove
from rnnlens.flags import add_flags, check_same, from_flags
from rnnlens.model.network import Network, NetworkConfig
from rnnlens.model.train.checkpoint import load_checkpoint, save_checkpoint
from rnnlens.model.train.distributed import Processes, pick_device, processes
from rnnlens.model.train.training import Trainer, TrainingConfig
from rnnlens.run import Run
from rnnlens.view.palette import default_colours, read_colours

_HELP = """\
Train a language model: it reads a sentence word by word and predicts the next word.

CORPUS is a text file with one tokenised sentence a line, raw text, a CoNLL-U file, Penn Treebank
brackets, a folder of files of one of these, gzipped or not, or nltk:NAME for a corpus that NLTK has
installed. The defaults are the paper's: lower case, numerals as NUM, words seen less than three
times as UNK, 80/10/10 of the sentences for training, validation and testing, an LSTM of 2 layers of
300.

examples:
  rnnlens train news.conllu.gz -o runs/news
  rnnlens train nltk:brown -o runs/brown --cell gru --width 200
  rnnlens train train.txt --valid valid.txt --test test.txt -o runs/ptb --min-count 1
  torchrun --nproc-per-node 2 -m rnnlens train news.conllu.gz -o runs/news

Ctrl-C stops; the same command continues where it stopped, to the same result."""

_COPIES = 8  # of the weights that training holds, at most: optimiser, averages, gradients, ...


@dataclass(frozen=True)
class Order:
    """All options of a training; with equal options and corpora, two runs are the same."""

    corpus: CorpusConfig
    network: NetworkConfig
    training: TrainingConfig

    def record(self, corpus: EncodedCorpus, words: Sequence[str]) -> dict[str, Any]:
        """What run.json says of how a run is made."""
        return {
            "command": shlex.join(["rnnlens", *words]),
            "corpus": {"source": corpus.name, "hash": corpus.hash, **asdict(self.corpus)},
            "network": asdict(self.network),
            "training": asdict(self.training),
        }

    def refuse_other(self, run: Run, before: Record) -> None:
        """Refuse to continue a run that was begun with other options."""
        if before.network is None:
            raise RnnlensError(
                f"{run.path} holds the run of a module of your own; choose another folder with -o"
            )
        for part in ("corpus", "network", "training"):
            check_same(run.path, getattr(before, part) or {}, asdict(getattr(self, part)))


def add_to(verbs: Any) -> None:
    """Declare the verb."""
    parser = verbs.add_parser("train", help="train a model on a corpus", description=_HELP)
    parser.add_argument("corpus", metavar="CORPUS", help="a file, a folder or nltk:NAME")
    parser.add_argument("-o", "--output", metavar="RUN", required=True, type=Path,
                        help="the run folder to make, or to continue")  # fmt: skip
    parser.add_argument("--device", default="auto", metavar="NAME",
                        help="cpu, cuda or cuda:N (default: cuda where there is any)")  # fmt: skip
    parser.add_argument("--colours", type=Path, metavar="FILE",
                        help="JSON with your own groups of words and their colours")  # fmt: skip
    parser.add_argument("--checkpoint-seconds", type=float, default=60.0, metavar="X",
                        help="save this often, in case of a crash (default: 60)")  # fmt: skip
    add_flags(parser, CorpusConfig, "corpus")
    add_flags(parser, NetworkConfig, "network")
    add_flags(parser, TrainingConfig, "training")
    parser.set_defaults(run=run_train)


def run_train(args: argparse.Namespace) -> int:
    """Carry out the verb."""
    order = Order(
        corpus=from_flags(CorpusConfig, args),
        network=from_flags(NetworkConfig, args),
        training=from_flags(TrainingConfig, args),
    )
    check_seconds(args.checkpoint_seconds)
    run = Run(args.output)
    before = run.record() if run.exists() else None
    if before:
        order.refuse_other(run, before)
    user_colours = read_colours(args.colours) if args.colours else None
    device = pick_device(args.device)
    with processes(device) as group, ExitStack() as lock:
        say = print if group.first else _silence
        corpus = load_corpus(args.corpus, order.corpus)
        if before and before.corpus.get("hash") != corpus.hash:
            raise RnnlensError(
                f"{args.corpus} has changed since {run.path} was begun; choose another folder"
            )
        if before and before.status == TRAINED:
            if user_colours and group.first:
                with run.writing():
                    run.write_colours(user_colours)
            say(f"{run.path} is trained already; see it with: rnnlens eval {run.path}")
            return 0
        labels, counts = corpus.vocabulary.labels, corpus.vocabulary.counts
        colours = user_colours or default_colours(
            labels, *parts_of_speech(labels, counts, corpus.tag_counts), counts
        )
        say(f"{describe(corpus)}\ncolours     {colours['source']}")
        _refuse_too_large(order.network, len(corpus.vocabulary))
        record = order.record(corpus, args.words)
        group.any(False)  # no process writes before all have looked at the folder
        if group.first:
            lock.enter_context(run.writing())
            if (run.record() if run.exists() else None) != before:
                raise RnnlensError(
                    f"another command has written to {run.path} meanwhile; give this one again to "
                    "continue, or choose another folder with -o"
                )
            run.write_record({**record, "status": TRAINING})  # first: it marks the folder as a run
            run.write_vocabulary(corpus.vocabulary)
            run.write_colours(colours)
        return _train(run, record, order, corpus, device, group, args.checkpoint_seconds)


def _train(
    run: Run,
    record: dict[str, Any],
    order: Order,
    corpus: EncodedCorpus,
    device: torch.device,
    group: Processes,
    checkpoint_seconds: float,
) -> int:
    """Train to the end, from the checkpoint where there is one; returns the exit code."""
    network = Network(order.network, len(corpus.vocabulary)).initialise(order.training.seed)
    train, valid = corpus.splits["train"], corpus.splits["valid"]
    trainer = Trainer(network, train, valid, order.training, device, group)
    identity = json.dumps([corpus.hash, asdict(order)], sort_keys=True)
    if is_present(run.checkpoint):
        load_checkpoint(trainer, run.checkpoint, identity)
    group.any(False)  # no process writes a checkpoint before all have read the last
    code = _watch(trainer, run, identity, checkpoint_seconds)
    if code or not group.first:
        return code
    with torch.no_grad():
        for name, p in trainer.average.named_parameters():
            p.copy_(trainer.best[name])
    run.write_model(trainer.average)
    measured = sentence_dataset(trainer.average, corpus).measured()
    run.write_evaluation({"model": measured})
    history = {"epochs": trainer.progress.epoch, "best_epoch": trainer.progress.best_epoch}
    run.write_record({**record, "status": TRAINED, "metrics": {**history, "perplexity": measured}})
    remove(run.checkpoint)
    print(table(measured))
    return 0


def _watch(trainer: Trainer, run: Run, identity: str, seconds: float) -> int:
    """Train with progress and checkpoints; the exit code, 0 unless a signal stops it."""
    progress, epochs = trainer.progress, trainer.config.epochs

    def epoch(number: int) -> str:
        return f"epoch {number:>{len(str(epochs))}}/{epochs}"

    def look() -> str:
        trainer.check_finite()
        seen = trainer.progress.seen
        perplexity = trainer.training_perplexity() if seen else trainer.progress.best or math.inf
        return f"{epoch(trainer.progress.epoch + 1)}, perplexity {perplexity:.1f}"

    def save() -> None:
        trainer.check_weights()
        save_checkpoint(trainer, run.checkpoint, identity)

    def after_epoch() -> None:
        now, record = trainer.progress, trainer.progress.history[-1]
        mark = " *" if now.best_epoch == now.epoch else ""
        watch.say(
            f"{epoch(now.epoch)}  perplexity: training {record['train']:.2f}, "
            f"validation {record['valid']:.2f}{mark}  ({watch.elapsed:.1f} s)"
        )
        watch.landmark()

    with Watch(
        run,
        trainer.processes,
        total=epochs * trainer.steps,
        done=progress.epoch * trainer.steps + progress.step,
        unit="step",
        seconds=seconds,
        look=look,
        save=save,
    ) as watch:
        if progress.epoch or progress.step:
            watch.say(f"continuing in epoch {progress.epoch + 1}, after step {progress.step}")
        if not trainer.run(watch.stop, after_epoch):
            return watch.stopped()
        if trainer.progress.epoch < epochs:
            watch.say(f"no better validation for {trainer.config.patience} epochs: done")
    return 0


def describe(corpus: EncodedCorpus) -> str:
    """A summary of a corpus in a few lines."""
    vocabulary = corpus.vocabulary
    lines = [f"corpus      {corpus.name} ({corpus.format}), vocabulary of {len(vocabulary):,}"]
    for name, split in corpus.splits.items():
        lines.append(
            f"{name:<12}{len(split):>9,} sentences {len(split.ids):>12,} words"
            f"  {corpus.unknown[name]:6.1%} unknown"
        )
    if corpus.short:
        lines.append(f"left out    {corpus.short:,} sentences of a single word")
    if corpus.cut:
        lines.append(f"cut         {corpus.cut:,} sentences that were too long (--longest)")
    return "\n".join(lines)


def _refuse_too_large(network: NetworkConfig, labels: int) -> None:
    """Refuse a network that needs more memory than this machine has."""
    with torch.device("meta"):
        size = sum(p.numel() for p in Network(network, labels).parameters()) * 4 * _COPIES
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if size > memory:
        raise RnnlensError(
            f"training a {network.cell} of width {network.width} and {network.layers} layers on "
            f"{labels:,} labels takes about {size / 2**30:,.0f} GiB and this machine has "
            f"{memory / 2**30:,.0f}; give a smaller --width or --layers"
        )


def _silence(text: str) -> None:
    """Print nothing: what all processes but the first do."""
