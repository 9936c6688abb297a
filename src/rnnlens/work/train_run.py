"""Training a network from a corpus into a run folder: `rnnlens train`, and `rnnlens.train`."""

import json
import math
import os
import shlex
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import is_present, remove
from rnnlens.base.flags import as_words, check_known, check_same, from_flags
from rnnlens.base.progress import Shorter
from rnnlens.corpus.batches import Split
from rnnlens.corpus.corpus import Corpus, CorpusConfig, EncodedCorpus, encode
from rnnlens.corpus.read.task import CLASSIFY, NEXT, TAG
from rnnlens.corpus.storage import BLOCK
from rnnlens.corpus.vocabulary import Vocabulary
from rnnlens.labels.colours import colours_of, default_colours, read_colours
from rnnlens.labels.parts_of_speech import parts_of_speech
from rnnlens.lens.lens import Lens
from rnnlens.lens.open import opened
from rnnlens.model.network import Network, NetworkConfig
from rnnlens.model.text import TextSide
from rnnlens.model.train.distributed import Processes, pick_device, processes
from rnnlens.model.train.dropout import Unknown
from rnnlens.model.train.training import (
    Trainer,
    TrainingConfig,
    load_checkpoint,
    save_checkpoint,
)
from rnnlens.probe.evaluation import Evaluation, evaluate_model
from rnnlens.reading.examples import TEXTS, chosen_examples
from rnnlens.run.corpus_data import sentence_dataset
from rnnlens.run.folder import Keeper, Run, epochs_to_keep
from rnnlens.run.run_files import TRAINED, TRAINING, Record
from rnnlens.work.observer import Observer, Resumable, check_seconds

# A smaller network, chosen by what two CPU cores reach in minutes (docs/results.md).
QUICK = "quick"
PRESETS: dict[str, dict[str, Any]] = {
    QUICK: {
        "width": 96,
        "epochs": 12,
        "batch": 32,
        "dropout_words": 0.05,
        "dropout_input": 0.15,
        "dropout_hidden": 0.1,
        "dropout_output": 0.2,
        "dropout_weight": 0.1,
    }
}
# How each task is trained where no flag says otherwise (docs/results.md).
RECIPES: dict[str, dict[str, Any]] = {
    TAG: {
        "tied": False,
        "lowercase": False,
        "min_count": 1,
        "unknown": 0.5,
        "epochs": 20,
        "batch": 32,
        "learning_rate": 3e-3,
        "dropout_words": 0.0,
        "dropout_input": 0.4,
        "dropout_hidden": 0.4,
        "dropout_output": 0.4,
    },
    CLASSIFY: {
        "tied": False,
        "min_count": 2,
        "unknown": 0.25,
        "longest": 1000,
        "epochs": 4,
        "learning_rate": 3e-3,
        "dropout_input": 0.4,
        "dropout_hidden": 0.4,
        "dropout_output": 0.4,
    },
}
_COPIES = 8  # of the weights that training holds, at most: optimiser, averages, gradients, ...


@dataclass(frozen=True)
class TrainOptions:
    """All options of a training; with equal options and corpora, two runs are the same."""

    corpus: CorpusConfig
    network: NetworkConfig
    training: TrainingConfig

    @classmethod
    def of(cls, given: Mapping[str, Any], preset: str | None = None) -> "TrainOptions":
        """What is asked for by name, with the task's recipe and a preset where nothing is said."""
        if preset and preset not in PRESETS:
            raise RnnlensError(f"no preset is called {preset!r}; there is {', '.join(PRESETS)}")
        task = given.get("task") or NEXT
        values = {**RECIPES.get(str(task), {}), **(PRESETS[preset] if preset else {})}
        options = cls(
            corpus=from_flags(CorpusConfig, given, values),
            network=from_flags(NetworkConfig, given, values),
            training=from_flags(TrainingConfig, given, values),
        )
        options.check()
        return options

    def check(self) -> None:
        """Refuse networks that cannot learn the task."""
        if self.corpus.task == NEXT and self.network.bidirectional:
            raise RnnlensError(
                "--bidirectional: a network that reads backwards has read the next word already; "
                "give --task tag or classify with it"
            )
        if self.corpus.task != NEXT and self.network.tied:
            raise RnnlensError(
                f"--tied: the labels of --task {self.corpus.task} are no words, so that the "
                "readout cannot share their matrix; leave it out"
            )

    def work(self, vocabulary: Vocabulary) -> int:
        """What training computes, up to a factor that is the same for all on one corpus."""
        return _weights(self.network, vocabulary) * self.training.epochs

    def record(self, corpus: EncodedCorpus, command: str) -> dict[str, Any]:
        """What run.json says of how a run is made."""
        return {
            "command": command,
            "made_by": "train",
            "corpus": {"source": corpus.name, "hash": corpus.hash, **asdict(self.corpus)},
            "network": asdict(self.network),
            "training": asdict(self.training),
        }

    def identity(self, sha: str) -> str:
        """What tells this training from others, on the corpus of this hash."""
        return json.dumps([sha, asdict(self)])

    def refuse_other(self, run: Run, before: Record) -> None:
        """Refuse to continue a run that was begun with other options."""
        if before.made_by == "fit":
            raise RnnlensError(
                f"{run.path} holds the run of a module of your own; choose another folder with -o"
            )
        for part in ("corpus", "network", "training"):
            check_same(run.path, getattr(before, part) or {}, asdict(getattr(self, part)))


def plain_identity(identity: str) -> str:
    """The identity of a training without options that are at their defaults: whether a version had
    such an option or not is then the same.
    """
    defaults = asdict(TrainOptions(CorpusConfig(), NetworkConfig(), TrainingConfig()))
    try:
        sha, parts = json.loads(identity)
        chosen = {
            part: {name: value for name, value in parts[part].items()
                   if value != usual.get(name, ...)}
            for part, usual in defaults.items()
        }  # fmt: skip
    except (ValueError, TypeError, KeyError, AttributeError):  # it is no identity of a training
        return identity
    return json.dumps([sha, chosen], sort_keys=True)


def shorter(
    options: TrainOptions, quick: TrainOptions, vocabulary: Vocabulary, device: torch.device
) -> Shorter:
    """What makes a training shorter, and the share of the time that it takes then: without a GPU
    the preset, where it saves half or more, else fewer epochs.
    """
    share = quick.work(vocabulary) / options.work(vocabulary)
    if device.type == "cpu" and share <= 1 / 2:
        return f"--preset {QUICK}", share
    epochs = options.training.epochs
    fewer = max(1, epochs // 3)
    return (f"--epochs {fewer}", fewer / epochs) if fewer < epochs else None


def new_network(config: NetworkConfig, vocabulary: Vocabulary) -> Network:
    """A network for the labels and words of a vocabulary."""
    words = vocabulary.words
    return Network(config, len(vocabulary), None if words is None else len(words))


def unknown_words(vocabulary: Vocabulary, train: Split) -> Unknown | None:
    """The unknown word and how often training reads each, where there is an unknown word."""
    if vocabulary.unknown is None:
        return None
    counts = np.zeros(len(vocabulary.inputs), np.int64)
    for k in range(0, len(train.ids), BLOCK):
        np.add.at(counts, train.ids[k : k + BLOCK], 1)
    return Unknown(vocabulary.unknown, torch.from_numpy(counts))


def _weights(network: NetworkConfig, vocabulary: Vocabulary) -> int:
    """How many weights a network has."""
    with torch.device("meta"):
        return sum(p.numel() for p in new_network(network, vocabulary).parameters())


def refuse_too_large(network: NetworkConfig, vocabulary: Vocabulary) -> None:
    """Refuse a network that needs more memory than this machine has."""
    size, words = _weights(network, vocabulary) * 4 * _COPIES, len(vocabulary.inputs)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if size > memory:
        raise RnnlensError(
            f"training a {network.cell} of width {network.width} and {network.layers} layers on "
            f"{words:,} words takes about {size / 2**30:,.0f} GiB and this machine has "
            f"{memory / 2**30:,.0f}; give a smaller --width or --layers"
        )


def train(
    corpus: str | Path,
    folder: str | Path,
    *,
    preset: str | None = None,
    device: str = "auto",
    colours: str | Path | None = None,
    checkpoint_seconds: float = 60.0,
    **options: Any,
) -> Lens:
    """Train a network on a corpus and look through it; everything is kept in a run folder.

    `corpus` is a file, a folder or nltk:NAME. `options` are the flags of `rnnlens train`, such as
    `cell="gru"`, `width=100`, `epochs=10`, `task="tag"` or `min_count=1`; `preset="quick"` trains a
    smaller network in minutes. Ctrl-C stops after the step; the same call continues to the same
    result, and so does the command. The lens shows the model's own predictions until probes are
    fitted: `rnnlens.fit_run("runs/mine")`.
    """
    check_known("train", options, CorpusConfig, NetworkConfig, TrainingConfig)
    run, words = Run(Path(folder)), as_words({"preset": preset, "colours": colours, **options})
    command = shlex.join(["rnnlens", "train", str(corpus), "-o", str(folder), *words])
    train_into(
        run,
        str(corpus),
        options,
        preset=preset,
        device=device,
        colours=None if colours is None else Path(colours),
        checkpoint_seconds=checkpoint_seconds,
        command=command,
    )
    return opened(run)


def train_into(
    run: Run,
    source: str,
    given: Mapping[str, Any],
    *,
    preset: str | None = None,
    device: str = "auto",
    colours: Path | None = None,
    checkpoint_seconds: float = 60.0,
    command: str = "",
    observer: Observer | None = None,
) -> Evaluation | None:
    """Train on the corpus at `source` into a run folder, from its checkpoint where there is one.

    `given` are options by their names. Returns what the model is worth; None where it was trained
    before, and in all processes but the first.
    """
    options, quick = TrainOptions.of(given, preset), TrainOptions.of(given, QUICK)
    check_seconds(checkpoint_seconds)
    before = run.record() if run.exists() else None
    if before:
        options.refuse_other(run, before)
    user_colours = read_colours(colours) if colours else None
    place = pick_device(device)
    with processes(place) as group, ExitStack() as lock:
        observer = (observer or Observer()).among(group)
        texts = Corpus.read(source, options.corpus, lowercase=options.corpus.lowercase)
        corpus = encode(texts, options.corpus)
        if before and before.corpus.get("hash") != corpus.hash:
            raise RnnlensError(
                f"{source} has changed since {run.path} was begun; choose another folder"
            )
        if before and before.status == TRAINED:
            if group.first:
                # What is asked for has to be written; leftovers of a killed command may stay.
                with suppress(*() if user_colours else (RnnlensError,)), run.writing():
                    remove(run.checkpoint)
                    if user_colours:
                        run.write_colours(user_colours)
            observer.say(f"{run.path} is trained already; see it with: rnnlens eval {run.path}")
            return None
        all_colours = user_colours or _colours(corpus)
        observer.say(f"{corpus.describe()}\ncolours     {all_colours['source']}")
        refuse_too_large(options.network, corpus.vocabulary)
        record = options.record(corpus, command)
        group.any(False)  # no process writes before all have looked at the folder
        if group.first:
            lock.enter_context(run.writing())
            run.check_unchanged(before)
            run.write_record({**record, "status": TRAINING})  # first: it marks the folder as a run
            run.write_vocabulary(corpus.vocabulary)
            run.write_colours(all_colours)
            text = TextSide.of_words(corpus.vocabulary)
            if examples := chosen_examples(texts.sentences("test"), text, TEXTS):
                run.write_examples(examples)
        trainer = new_trainer(options, corpus, place, group)
        epochs = epochs_to_keep(options.training.keep, options.training.epochs)
        identity = options.identity(corpus.hash)
        if is_present(run.checkpoint):
            load_checkpoint(trainer, run.checkpoint, identity, plain_identity)
        group.any(False)  # no process writes a checkpoint before all have read the last
        tip = shorter(options, quick, corpus.vocabulary, place)
        keeper = Keeper(run, record, tuple(epochs))
        _watched(trainer, run, identity, checkpoint_seconds, tip, keeper, observer)
        return _finished(trainer, run, record, corpus) if group.first else None


def _colours(corpus: EncodedCorpus) -> dict[str, Any]:
    """What colours.json holds: words go by their part of speech, other labels by what they are."""
    labels, counts = corpus.vocabulary.labels, corpus.vocabulary.counts
    if corpus.vocabulary.words is not None:
        return colours_of(labels, counts, corpus.tag_counts)
    return default_colours(labels, *parts_of_speech(labels, counts, corpus.tag_counts), counts)


def new_trainer(
    options: TrainOptions, corpus: EncodedCorpus, device: torch.device, group: Processes
) -> Trainer:
    """A network at its beginning, with all that it learns from."""
    network = new_network(options.network, corpus.vocabulary).initialise(options.training.seed)
    train, valid = corpus.splits["train"], corpus.splits["valid"]
    unknown = unknown_words(corpus.vocabulary, train)
    return Trainer(network, train, valid, options.training, device, group, unknown)


def _finished(
    trainer: Trainer, run: Run, record: Mapping[str, Any], corpus: EncodedCorpus
) -> Evaluation:
    """Write the best network to the run, and what it is worth."""
    with torch.no_grad():
        for name, p in trainer.average.named_parameters():
            p.copy_(trainer.best[name])
    run.write_model(trainer.average)
    dataset = sentence_dataset(trainer.average, corpus)
    evaluation = evaluate_model(dataset, corpus.vocabulary.labels)
    run.write_evaluation(evaluation.to_json())
    history = {"epochs": trainer.progress.epoch, "best_epoch": trainer.progress.best_epoch}
    metrics = {**history, "perplexity": evaluation.model}
    run.write_record({**record, "status": TRAINED, "metrics": metrics})
    remove(run.checkpoint)
    return evaluation


def _watched(
    trainer: Trainer,
    run: Run,
    identity: str,
    seconds: float,
    tip: Shorter,
    keeper: Keeper,
    observer: Observer,
) -> None:
    """Train to the end with progress and checkpoints, unless a signal stops it."""
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
        work.say(
            f"{epoch(now.epoch)}  perplexity: training {record['train']:.2f}, "
            f"validation {record['valid']:.2f}{mark}  ({work.elapsed:.1f} s)"
        )
        if trainer.processes.first:
            keeper.after_epoch(now.epoch, trainer.average)
        work.landmark()

    with Resumable(
        run,
        trainer.processes,
        observer,
        total=epochs * trainer.steps,
        done=progress.epoch * trainer.steps + progress.step,
        unit="step",
        device=trainer.device,
        shorter=tip,
        seconds=seconds,
        look=look,
        save=save,
    ) as work:
        if progress.epoch or progress.step:
            work.say(f"continuing in epoch {progress.epoch + 1}, after step {progress.step}")
        if not trainer.run(work.stop, after_epoch):
            work.stopped()
        if trainer.progress.epoch < epochs:
            work.say(f"no better validation for {trainer.config.patience} epochs: done")
