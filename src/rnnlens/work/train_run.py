"""Training a network from a corpus into a run folder: `rnnlens train`, and `rnnlens.train`."""

import math
import os
import shlex
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import is_present, remove
from rnnlens.base.flags import as_words, check_known
from rnnlens.base.progress import Shorter
from rnnlens.corpus.corpus import Corpus, CorpusConfig, EncodedCorpus, encode
from rnnlens.corpus.split import Split
from rnnlens.corpus.storage import BLOCK
from rnnlens.corpus.vocabulary import Vocabulary
from rnnlens.draw.measured import model_table
from rnnlens.labels.colours import colours_of, default_colours, read_colours
from rnnlens.labels.parts_of_speech import parts_of_speech
from rnnlens.model.network import Network, NetworkConfig
from rnnlens.model.network_config import KEYED
from rnnlens.model.softmax import rows_at_once
from rnnlens.model.text import TextSide
from rnnlens.model.train.distributed import Processes, pick_device, processes
from rnnlens.model.train.dropout import Unknown
from rnnlens.model.train.training import (
    Trainer,
    TrainingConfig,
    load_checkpoint,
    save_checkpoint,
)
from rnnlens.probe.evaluation import evaluate_model
from rnnlens.reading.session import TEXTS, chosen_examples
from rnnlens.run.corpus_data import sentence_dataset
from rnnlens.run.folder import Keeper, Run, epochs_to_keep
from rnnlens.run.record import TRAINED, TRAINING, Record
from rnnlens.work.observer import Observer, Resumable, among, check_seconds
from rnnlens.work.recipes import QUICK
from rnnlens.work.train_options import TrainOptions, plain_identity

if TYPE_CHECKING:  # a command that trains looks through nothing
    from rnnlens.lens.lens import Lens

_COPIES = 8  # of the weights that training holds, at most: optimiser, averages, gradients, ...
_STATES = 4  # of each state of a memory that is a matrix: itself, what is written, gradients, ...
_LOGITS = 4  # numbers that a step holds for each word and label: logits, their logarithms, ...
_MUCH = 2 * 10**9  # bytes of memory that somebody wants to know of before


def shorter(
    options: TrainOptions, given: Mapping[str, Any], vocabulary: Vocabulary, device: torch.device
) -> Shorter:
    """What makes a training shorter, and the share of the time that it takes then: without a GPU
    the preset, where it is possible with what is given and saves half or more, else fewer epochs.
    """
    with suppress(RnnlensError):  # heads that do not divide the preset's width
        share = _work(TrainOptions.of(given, QUICK), vocabulary) / _work(options, vocabulary)
        if device.type == "cpu" and share <= 1 / 2:
            return f"--preset {QUICK}", share
    epochs = options.training.epochs
    fewer = max(1, epochs // 3)
    return (f"--epochs {fewer}", fewer / epochs) if fewer < epochs else None


def _work(options: TrainOptions, vocabulary: Vocabulary) -> int:
    """What training computes, up to a factor that is the same for all on one corpus."""
    return _weights(options.network, vocabulary) * options.training.epochs


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


def _words_at_once(options: TrainOptions, train: Split) -> int:
    """How many words the largest step has, padding and all."""
    return int(train.steps.max(initial=0)) * min(options.training.batch, len(train))


def _memories(options: TrainOptions, train: Split) -> int:
    """Bytes of all states that a step holds of memories that are matrices."""
    network = options.network
    if network.cell not in KEYED:
        return 0
    numbers = network.width * network.parts[1] * network.layers * network.directions
    return 4 * _STATES * numbers * _words_at_once(options, train)


def refuse_too_large(
    options: TrainOptions, vocabulary: Vocabulary, train: Split, device: torch.device
) -> None:
    """Refuse a network that needs more memory than the machine, or its GPU, has."""
    network, words = options.network, len(vocabulary.inputs)
    memories = _memories(options, train)
    size = _weights(network, vocabulary) * 4 * _COPIES + memories
    where, memory = _memory(device)
    if size > memory:
        less = "a smaller --width or --layers, or a larger --min-count"
        if memories > size / 2:
            less = "a smaller --keys, --batch, --longest or --width"
        raise RnnlensError(
            f"training --cell {network.cell} of width {network.width} in {network.layers} "
            f"layer(s) on {words:,} words takes about {size / 2**30:,.0f} GiB and {where} has "
            f"{memory / 2**30:,.0f}; give {less}"
        )


def _memory(device: torch.device) -> tuple[str, int]:
    """What computes there, and how many bytes of memory it has."""
    if device.type == "cuda":
        return "this GPU", torch.cuda.get_device_properties(device).total_memory
    return "this machine", os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def memory_needed(
    options: TrainOptions, vocabulary: Vocabulary, train: Split, device: torch.device
) -> str:
    """What a training takes of memory, and which flags make it less; empty where it is little."""
    words, memories = _words_at_once(options, train), _memories(options, train)
    flags = "--batch, --longest or --width"
    if device.type != "cuda":  # which holds the logits of a block alone
        words, flags = min(words, rows_at_once(len(vocabulary))), "--width"
    if memories:
        flags = "--batch, --longest, --width or --keys"
    step = 4 * _LOGITS * words * len(vocabulary) + memories
    size = 4 * _COPIES * _weights(options.network, vocabulary) + step
    if size < _MUCH:
        return ""
    return (
        f"memory      training takes up to about {size / 1e9:,.0f} GB, {step / 1e9:,.0f} of them "
        f"for a step over {len(vocabulary):,} labels; less with a larger --min-count (now "
        f"{options.corpus.min_count}), or a smaller {flags}"
    )


def train(
    corpus: str | Path,
    folder: str | Path,
    *,
    preset: str | None = None,
    device: str = "auto",
    colours: str | Path | None = None,
    checkpoint_seconds: float = 60.0,
    observer: Observer | None = None,
    **options: Any,
) -> "Lens":
    """Train a network on a corpus and look through it; everything is kept in a run folder.

    `corpus` is a file, a folder or nltk:NAME. `options` are the flags of `rnnlens train`, such as
    `cell="gru"`, `width=100`, `epochs=10`, `task="tag"` or `min_count=1`; `preset="quick"` trains a
    smaller network in minutes. Ctrl-C stops after the step; the same call continues to the same
    result, and so does the command. The lens shows the model's own predictions until probes are
    fitted: `rnnlens.fit_run("runs/mine")`.
    """
    from rnnlens.lens.open import opened

    run = Run(Path(folder))
    train_into(
        run, str(corpus), preset=preset, device=device, colours=colours,
        checkpoint_seconds=checkpoint_seconds, observer=observer, **options,
    )  # fmt: skip
    return opened(run)


def train_into(
    run: Run,
    corpus: str,
    *,
    preset: str | None = None,
    device: str = "auto",
    colours: str | Path | None = None,
    checkpoint_seconds: float = 60.0,
    observer: Observer | None = None,
    **options: Any,
) -> None:
    """What `train` does, without looking through it: what a lens can do takes long to import."""
    check_known("train", options, CorpusConfig, NetworkConfig, TrainingConfig)
    observer = observer or Observer()
    words = as_words({"preset": preset, "colours": colours, **options})
    command = shlex.join(["rnnlens", "train", corpus, "-o", str(run.path), *words])
    observer = replace(observer, command=observer.command or command)
    chosen = TrainOptions.of(options, preset)
    check_seconds(checkpoint_seconds)
    run.check_place()
    before = run.record() if run.exists() else None
    begun = before if before and run.has_begun(before) else None
    if begun:
        chosen.refuse_other(run, begun)
    own_colours = read_colours(Path(colours)) if colours else None
    place = pick_device(device)
    with processes(place) as group:
        texts = Corpus.read(corpus, chosen.corpus, lowercase=chosen.corpus.lowercase)
        encoded = encode(texts, chosen.corpus)
        if begun and begun.corpus.get("hash") != encoded.hash:
            raise RnnlensError(
                f"{corpus} has changed since {run.path} was begun; choose another folder"
            )
        job = _Job(run, chosen, encoded, group, among(observer, group), checkpoint_seconds)
        if before and before.status == TRAINED:
            job.recolour(own_colours)
        else:
            tip = shorter(chosen, options, encoded.vocabulary, place)
            job.train(before, texts, own_colours or _colours(encoded), place, tip)
        group.any(False)  # no process reads the run before it is whole


def _colours(corpus: EncodedCorpus) -> dict[str, Any]:
    """What colours.json holds: words go by their part of speech, other labels by what they are."""
    labels, counts = corpus.vocabulary.labels, corpus.vocabulary.counts
    if corpus.vocabulary.words is not None:
        return colours_of(labels, counts, corpus.tag_counts)
    return default_colours(labels, *parts_of_speech(labels, counts, corpus.tag_counts), counts)


@dataclass(frozen=True)
class _Job:
    """The training of one run, in one process or several."""

    run: Run
    options: TrainOptions
    corpus: EncodedCorpus
    group: Processes
    observer: Observer
    seconds: float

    def recolour(self, colours: Mapping[str, Any] | None) -> None:
        """Give a run that is trained already the colours that are asked for, if any are."""
        if self.group.first:
            # What is asked for has to be written; leftovers of a killed command may stay.
            with suppress(*() if colours else (RnnlensError,)), self.run.writing():
                remove(self.run.checkpoint)
                if colours:
                    self.run.write_colours(colours)
        path = self.run.path
        self.observer.say(f"{path} is trained already; see it with: rnnlens eval {path}")

    def train(
        self,
        before: Record | None,
        texts: Corpus,
        colours: Mapping[str, Any],
        device: torch.device,
        tip: Shorter,
    ) -> None:
        """Train from the beginning, or from the checkpoint that the run holds."""
        self.observer.say(f"{self.corpus.describe()}\ncolours     {colours['source']}")
        vocabulary, split = self.corpus.vocabulary, self.corpus.splits["train"]
        refuse_too_large(self.options, vocabulary, split, device)
        if much := memory_needed(self.options, vocabulary, split, device):
            self.observer.say(much)
        run, record = self.run, self.options.record(self.corpus, self.observer.command)
        self.group.any(False)  # no process writes before all have looked at the folder
        with run.writing() if self.group.first else nullcontext():
            if self.group.first:
                run.check_unchanged(before)
                if before and run.has_begun(before):  # perhaps only since the folder was looked at
                    self.options.refuse_other(run, before)
                elif before:
                    run.forget_log()
                run.write_record({**record, "status": TRAINING})  # first: it marks a run
                run.write_vocabulary(self.corpus.vocabulary)
                run.write_colours(colours)
                text = TextSide.of_words(self.corpus.vocabulary)
                if examples := chosen_examples(texts.sentences("test"), text, TEXTS):
                    run.write_examples(examples)
            trainer = self._trainer(device)
            identity = self.options.identity(self.corpus.hash)
            if is_present(run.checkpoint):
                load_checkpoint(trainer, run.checkpoint, identity, plain_identity)
            self.group.any(False)  # no process writes a checkpoint before all have read the last
            self._epochs(trainer, identity, record, tip)
            if self.group.first:
                self._finish(trainer, record)

    def _trainer(self, device: torch.device) -> Trainer:
        """A network at its beginning, with all that it learns from."""
        options, vocabulary = self.options, self.corpus.vocabulary
        network = new_network(options.network, vocabulary).initialise(options.training.seed)
        train, valid = self.corpus.splits["train"], self.corpus.splits["valid"]
        unknown = unknown_words(vocabulary, train)
        return Trainer(network, train, valid, options.training, device, self.group, unknown)

    def _epochs(
        self, trainer: Trainer, identity: str, record: Mapping[str, Any], tip: Shorter
    ) -> None:
        """Train to the end with progress and checkpoints, unless a signal stops it."""
        progress, epochs = trainer.progress, trainer.config.epochs
        keeper = Keeper(self.run, record, tuple(epochs_to_keep(trainer.config.keep, epochs)))

        def epoch(number: int) -> str:
            return f"epoch {number:>{len(str(epochs))}}/{epochs}"

        def look() -> str:
            trainer.check_finite()
            now = trainer.progress
            perplexity = trainer.training_perplexity() if now.seen else now.best or math.inf
            return f"{epoch(now.epoch + 1)}, perplexity {perplexity:.1f}"

        def save() -> None:
            trainer.check_weights()
            save_checkpoint(trainer, self.run.checkpoint, identity)

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
            self.run,
            self.group,
            self.observer,
            total=epochs * trainer.steps,
            done=progress.epoch * trainer.steps + progress.step,
            unit="step",
            device=trainer.device,
            shorter=tip,
            seconds=self.seconds,
            look=look,
            save=save,
        ) as work:
            if progress.epoch or progress.step:
                work.say(f"continuing in epoch {progress.epoch + 1}, after step {progress.step}")
            if not trainer.run(work.stop, after_epoch):
                work.stopped()
            if trainer.progress.epoch < epochs:
                work.say(f"no better validation for {trainer.config.patience} epochs: done")

    def _finish(self, trainer: Trainer, record: Mapping[str, Any]) -> None:
        """Write the best network to the run, and what it is worth."""
        with torch.no_grad():
            for name, p in trainer.average.named_parameters():
                p.copy_(trainer.best[name])
        self.run.write_model(trainer.average)
        dataset = sentence_dataset(trainer.average, self.corpus)
        evaluation = evaluate_model(dataset, self.corpus.vocabulary.labels)
        self.run.write_evaluation(evaluation.to_json())
        progress = trainer.progress
        history = {"epochs": progress.epoch, "best_epoch": progress.best_epoch}
        metrics = {**history, "perplexity": evaluation.model}
        self.run.write_record({**record, "status": TRAINED, "metrics": metrics})
        remove(self.run.checkpoint)
        self.observer.say(model_table(evaluation.model))
        if said := _too_little(evaluation.model, progress.epoch * trainer.steps, trainer.config):
            self.observer.say(said)


def _too_little(model: Mapping[str, Mapping[str, Any]], steps: int, config: TrainingConfig) -> str:
    """What to do where so many steps gave a network that predicts no better than the labels'
    frequencies, by the test or else the validation sentences; empty where it does.
    """
    row = next((model[name] for name in ("test", "valid") if model[name]["pairs"]), None)
    if row is None or row["perplexity"] < row["unigram"]:
        return ""
    return (
        f"it predicts no better than the labels' frequencies (perplexity {row['perplexity']:.2f}, "
        f"and {row['unigram']:.2f}): {steps:,} step(s) may be too few; give more --epochs (now "
        f"{config.epochs}), or a smaller --batch (now {config.batch})"
    )
