"""`rnnlens train`: from a corpus to a run with a trained model."""

import argparse
import json
import math
import os
import shlex
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from rnnlens.cli.dataset import sentence_dataset
from rnnlens.cli.evaluate import measured, table
from rnnlens.cli.watch import Watch, check_seconds
from rnnlens.contents import TRAINED, TRAINING, Record
from rnnlens.corpus.corpus import Corpus, CorpusConfig, EncodedCorpus, encode
from rnnlens.corpus.groups import parts_of_speech
from rnnlens.errors import RnnlensError
from rnnlens.files import is_present, remove
from rnnlens.flags import add_flags, add_preset, check_same, from_flags
from rnnlens.kept import Keeper, epochs_to_keep
from rnnlens.model.network import Network, NetworkConfig
from rnnlens.model.text import TextSide
from rnnlens.model.train.checkpoint import load_checkpoint, save_checkpoint
from rnnlens.model.train.distributed import Processes, pick_device, processes
from rnnlens.model.train.training import Trainer, TrainingConfig
from rnnlens.progress import Shorter
from rnnlens.run import Run
from rnnlens.view.examples import TEXTS, chosen_examples
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
  rnnlens train news.conllu.gz -o runs/small --preset quick      in minutes without a GPU
  rnnlens train nltk:brown -o runs/brown --cell gru --width 200
  rnnlens train news.conllu.gz -o runs/news --keep 8              to look at the training itself
  rnnlens train train.txt --valid valid.txt --test test.txt -o runs/ptb --min-count 1
  torchrun --nproc-per-node 2 -m rnnlens train news.conllu.gz -o runs/news

Ctrl-C stops; the same command continues where it stopped, to the same result."""

# A smaller network, chosen by what two CPU cores reach in minutes (docs/results.md).
_QUICK = "quick"
_PRESETS: dict[str, dict[str, Any]] = {
    _QUICK: {
        "width": 128,
        "epochs": 12,
        "batch": 32,
        "dropout_input": 0.2,
        "dropout_hidden": 0.15,
    }
}
_COPIES = 8  # of the weights that training holds, at most: optimiser, averages, gradients, ...


@dataclass(frozen=True)
class Order:
    """All options of a training; with equal options and corpora, two runs are the same."""

    corpus: CorpusConfig
    network: NetworkConfig
    training: TrainingConfig

    @classmethod
    def of(cls, args: argparse.Namespace, preset: str | None) -> "Order":
        """What the flags ask for, with a preset where they say nothing."""
        values = _PRESETS[preset] if preset else {}
        return cls(
            corpus=from_flags(CorpusConfig, args, values),
            network=from_flags(NetworkConfig, args, values),
            training=from_flags(TrainingConfig, args, values),
        )

    def work(self, labels: int) -> int:
        """What training computes, up to a factor that is the same for all on one corpus."""
        return _weights(self.network, labels) * self.training.epochs

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
    add_preset(parser, _PRESETS)
    add_flags(parser, CorpusConfig, "corpus")
    add_flags(parser, NetworkConfig, "network")
    add_flags(parser, TrainingConfig, "training")
    parser.set_defaults(run=run_train)


def run_train(args: argparse.Namespace) -> int:
    """Carry out the verb."""
    order, quick = Order.of(args, args.preset), Order.of(args, _QUICK)
    check_seconds(args.checkpoint_seconds)
    run = Run(args.output)
    before = run.record() if run.exists() else None
    if before:
        order.refuse_other(run, before)
    user_colours = read_colours(args.colours) if args.colours else None
    device = pick_device(args.device)
    with processes(device) as group, ExitStack() as lock:
        say = print if group.first else _silence
        source = Corpus.read(args.corpus, order.corpus, lowercase=order.corpus.lowercase)
        corpus = encode(source, order.corpus)
        if before and before.corpus.get("hash") != corpus.hash:
            raise RnnlensError(
                f"{args.corpus} has changed since {run.path} was begun; choose another folder"
            )
        if before and before.status == TRAINED:
            if group.first:
                # What is asked for has to be written; leftovers of a killed command may stay.
                with suppress(*() if user_colours else (RnnlensError,)), run.writing():
                    remove(run.checkpoint)
                    if user_colours:
                        run.write_colours(user_colours)
            say(f"{run.path} is trained already; see it with: rnnlens eval {run.path}")
            return 0
        labels, counts = corpus.vocabulary.labels, corpus.vocabulary.counts
        colours = user_colours or default_colours(
            labels, *parts_of_speech(labels, counts, corpus.tag_counts), counts
        )
        say(f"{corpus.describe()}\ncolours     {colours['source']}")
        _refuse_too_large(order.network, len(corpus.vocabulary))
        record = order.record(corpus, args.words)
        group.any(False)  # no process writes before all have looked at the folder
        if group.first:
            lock.enter_context(run.writing())
            run.check_unchanged(before)
            run.write_record({**record, "status": TRAINING})  # first: it marks the folder as a run
            run.write_vocabulary(corpus.vocabulary)
            run.write_colours(colours)
            text = TextSide.of_words(corpus.vocabulary)
            if examples := chosen_examples(source.sentences("test"), text, TEXTS):
                run.write_examples(examples)
        shorter = _shorter(order, quick, len(corpus.vocabulary), device)
        return _train(run, record, order, corpus, device, group, args.checkpoint_seconds, shorter)


def _train(
    run: Run,
    record: dict[str, Any],
    order: Order,
    corpus: EncodedCorpus,
    device: torch.device,
    group: Processes,
    checkpoint_seconds: float,
    shorter: Shorter,
) -> int:
    """Train to the end, from the checkpoint where there is one; returns the exit code."""
    network = Network(order.network, len(corpus.vocabulary)).initialise(order.training.seed)
    train, valid = corpus.splits["train"], corpus.splits["valid"]
    trainer = Trainer(network, train, valid, order.training, device, group)
    identity = json.dumps([corpus.hash, asdict(order)], sort_keys=True)
    if is_present(run.checkpoint):
        load_checkpoint(trainer, run.checkpoint, identity)
    group.any(False)  # no process writes a checkpoint before all have read the last
    keeper = Keeper(run, record, tuple(epochs_to_keep(order.training.keep, order.training.epochs)))
    code = _watch(trainer, run, identity, checkpoint_seconds, shorter, keeper)
    if code or not group.first:
        return code
    with torch.no_grad():
        for name, p in trainer.average.named_parameters():
            p.copy_(trainer.best[name])
    run.write_model(trainer.average)
    perplexities = measured(sentence_dataset(trainer.average, corpus))
    run.write_evaluation({"model": perplexities})
    history = {"epochs": trainer.progress.epoch, "best_epoch": trainer.progress.best_epoch}
    run.write_record(
        {**record, "status": TRAINED, "metrics": {**history, "perplexity": perplexities}}
    )
    remove(run.checkpoint)
    print(table(perplexities))
    return 0


def _watch(
    trainer: Trainer, run: Run, identity: str, seconds: float, shorter: Shorter, keeper: Keeper
) -> int:
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
        if trainer.processes.first:
            keeper.after_epoch(now.epoch, trainer.average)
        watch.landmark()

    with Watch(
        run,
        trainer.processes,
        total=epochs * trainer.steps,
        done=progress.epoch * trainer.steps + progress.step,
        unit="step",
        device=trainer.device,
        shorter=shorter,
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


def _shorter(order: Order, quick: Order, labels: int, device: torch.device) -> Shorter:
    """What makes a training shorter, and the share of the time that it takes then: without a GPU
    the preset, where it saves half or more, else fewer epochs.
    """
    share = quick.work(labels) / order.work(labels)
    if device.type == "cpu" and share <= 1 / 2:
        return f"--preset {_QUICK}", share
    epochs = order.training.epochs
    fewer = max(1, epochs // 3)
    return (f"--epochs {fewer}", fewer / epochs) if fewer < epochs else None


def _weights(network: NetworkConfig, labels: int) -> int:
    """How many weights a network has."""
    with torch.device("meta"):
        return sum(p.numel() for p in Network(network, labels).parameters())


def _refuse_too_large(network: NetworkConfig, labels: int) -> None:
    """Refuse a network that needs more memory than this machine has."""
    size = _weights(network, labels) * 4 * _COPIES
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if size > memory:
        raise RnnlensError(
            f"training a {network.cell} of width {network.width} and {network.layers} layers on "
            f"{labels:,} labels takes about {size / 2**30:,.0f} GiB and this machine has "
            f"{memory / 2**30:,.0f}; give a smaller --width or --layers"
        )


def _silence(text: str) -> None:
    """Print nothing: what all processes but the first do."""
