"""`rnnlens train`: from a corpus to a run with a trained model."""

import argparse
import math
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import torch

from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import is_present, remove
from rnnlens.base.flags import add_flags, add_preset
from rnnlens.base.progress import Shorter
from rnnlens.cli.dataset import sentence_dataset
from rnnlens.cli.evaluate import evaluation_of, table
from rnnlens.cli.order import (
    PRESETS,
    QUICK,
    Order,
    new_network,
    plain_identity,
    refuse_too_large,
    shorter,
    unknown_words,
)
from rnnlens.cli.watch import Watch, check_seconds
from rnnlens.corpus.corpus import Corpus, CorpusConfig, EncodedCorpus, encode
from rnnlens.labels.colours import colours_of, default_colours, read_colours
from rnnlens.labels.parts_of_speech import parts_of_speech
from rnnlens.model.network import NetworkConfig
from rnnlens.model.text import TextSide
from rnnlens.model.train.checkpoint import load_checkpoint, save_checkpoint
from rnnlens.model.train.distributed import Processes, pick_device, processes
from rnnlens.model.train.training import Trainer, TrainingConfig
from rnnlens.reading.examples import TEXTS, chosen_examples
from rnnlens.run.folder import Keeper, Run, epochs_to_keep
from rnnlens.run.run_files import TRAINED, TRAINING

_HELP = """\
Train a network: it reads a sentence word by word and predicts the next word; with --task tag a
label of each word, and with --task classify one of the whole text.

CORPUS is a text file with one tokenised sentence a line, raw text, a CoNLL-U file, Penn Treebank
brackets, a folder of files of one of these, gzipped or not, or nltk:NAME for a corpus that NLTK has
installed. The defaults are the paper's: lower case, numerals as NUM, words seen less than three
times as UNK, 80/10/10 of the sentences for training, validation and testing, an LSTM of 2 layers of
300.

With --task tag CORPUS is CoNLL-U, brackets, nltk:NAME or a word a line with columns of labels; with
--task classify label<TAB>text, CSV, lines of JSON, or a folder of folders or files that are named
for labels. These tasks have recipes of their own, which any flag can change.

examples:
  rnnlens train news.conllu.gz -o runs/news
  rnnlens train news.conllu.gz -o runs/small --preset quick      in minutes without a GPU
  rnnlens train nltk:brown -o runs/brown --cell gru --width 200
  rnnlens train news.conllu.gz -o runs/news --keep 8              to look at the training itself
  rnnlens train train.txt --valid valid.txt --test test.txt -o runs/ptb --min-count 1
  rnnlens train ewt.conllu --task tag --bidirectional -o runs/tagger
  rnnlens train reviews.csv --task classify --text-column review --label-column stars -o runs/stars
  torchrun --nproc-per-node 2 -m rnnlens train news.conllu.gz -o runs/news

Ctrl-C stops; the same command continues where it stopped, to the same result."""


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
    add_preset(parser, PRESETS)
    add_flags(parser, CorpusConfig, "corpus")
    add_flags(parser, NetworkConfig, "network")
    add_flags(parser, TrainingConfig, "training")
    parser.set_defaults(run=run_train)


def run_train(args: argparse.Namespace) -> int:
    """Carry out the verb."""
    order, quick = Order.of(args, args.preset), Order.of(args, QUICK)
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
        colours = user_colours or _colours(corpus)
        say(f"{corpus.describe()}\ncolours     {colours['source']}")
        refuse_too_large(order.network, corpus.vocabulary)
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
        tip = shorter(order, quick, corpus.vocabulary, device)
        return _train(run, record, order, corpus, device, group, args.checkpoint_seconds, tip)


def _colours(corpus: EncodedCorpus) -> dict[str, Any]:
    """What colours.json holds: words go by their part of speech, other labels by what they are."""
    labels, counts = corpus.vocabulary.labels, corpus.vocabulary.counts
    if corpus.vocabulary.words is not None:
        return colours_of(labels, counts, corpus.tag_counts)
    return default_colours(labels, *parts_of_speech(labels, counts, corpus.tag_counts), counts)


def _train(
    run: Run,
    record: dict[str, Any],
    order: Order,
    corpus: EncodedCorpus,
    device: torch.device,
    group: Processes,
    checkpoint_seconds: float,
    tip: Shorter,
) -> int:
    """Train to the end, from the checkpoint where there is one; returns the exit code."""
    network = new_network(order.network, corpus.vocabulary).initialise(order.training.seed)
    train, valid = corpus.splits["train"], corpus.splits["valid"]
    unknown = unknown_words(corpus.vocabulary, train)
    trainer = Trainer(network, train, valid, order.training, device, group, unknown)
    identity = order.identity(corpus.hash)
    if is_present(run.checkpoint):
        load_checkpoint(trainer, run.checkpoint, identity, plain_identity)
    group.any(False)  # no process writes a checkpoint before all have read the last
    keeper = Keeper(run, record, tuple(epochs_to_keep(order.training.keep, order.training.epochs)))
    code = _watch(trainer, run, identity, checkpoint_seconds, tip, keeper)
    if code or not group.first:
        return code
    with torch.no_grad():
        for name, p in trainer.average.named_parameters():
            p.copy_(trainer.best[name])
    run.write_model(trainer.average)
    evaluation = evaluation_of(sentence_dataset(trainer.average, corpus), corpus.vocabulary.labels)
    run.write_evaluation(evaluation)
    history = {"epochs": trainer.progress.epoch, "best_epoch": trainer.progress.best_epoch}
    run.write_record(
        {**record, "status": TRAINED, "metrics": {**history, "perplexity": evaluation["model"]}}
    )
    remove(run.checkpoint)
    print(table(evaluation["model"]))
    return 0


def _watch(
    trainer: Trainer, run: Run, identity: str, seconds: float, tip: Shorter, keeper: Keeper
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
        shorter=tip,
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


def _silence(text: str) -> None:
    """Print nothing: what all processes but the first do."""
