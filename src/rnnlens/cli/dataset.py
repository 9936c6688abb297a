"""The model of a run with its data, which `rnnlens fit` and `rnnlens eval` work on."""

import argparse
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from rnnlens.adapter.corpus_batches import batches_of, tag_names
from rnnlens.base.errors import RnnlensError
from rnnlens.cli.trust import heed
from rnnlens.corpus.corpus import Corpus, CorpusConfig, EncodedCorpus, load_corpus
from rnnlens.corpus.tokens import ReadingConfig
from rnnlens.labels.parts_of_speech import UNIVERSAL
from rnnlens.labels.sets import LabelSet
from rnnlens.model.network import Network
from rnnlens.model.traceable import Traceable
from rnnlens.model.train.distributed import pick_device
from rnnlens.probe.data import Sentences
from rnnlens.probe.dataset import Dataset
from rnnlens.probe.inspect import inspect_module
from rnnlens.probe.semantics import TAG
from rnnlens.run.folder import Run

Config = TypeVar("Config", bound=ReadingConfig)


def add_corpus_flags(parser: argparse.ArgumentParser) -> None:
    """Declare the flags that say where the run's corpus is, if it has moved since training."""
    for name, what in (("corpus", "corpus"), ("valid", "validation"), ("test", "test corpus")):
        parser.add_argument(f"--{name}", metavar="CORPUS", help=f"where the run's {what} is now")


def dataset_of(run: Run, args: argparse.Namespace) -> Dataset:
    """The model of a run, ready to trace, with the corpus that it was made with."""
    run.check_finished()
    record = run.record()
    if not record.corpus:
        raise RnnlensError(
            f"the run.json of {run.path} names no corpus; of a run that was fitted in Python, "
            "measure it there: lens.evaluate(batches)"
        )
    if record.made_by == "fit":
        return _of_batches(run, args)
    network = run.network().to(pick_device(args.device))
    return sentence_dataset(network, encoded_corpus(run, args))


def of_model(dataset: Dataset, model: Traceable, splits: Sequence[str] = ()) -> Dataset:
    """The same data for another model that reads them alike; all splits, or those named."""
    other = copy(dataset)
    other.model = model
    other.splits = {name: dataset.splits[name] for name in splits or dataset.splits}
    vars(other).pop("classifier", None)  # which was the model's
    return other


def sentence_dataset(network: Network, corpus: EncodedCorpus) -> Dataset:
    """A network that rnnlens has trained, with its corpus as encoded sentences."""
    back, follows = not network.causal, corpus.vocabulary.words is None
    tagged = any((tags >= 0).any() for tags in corpus.tags.values())
    data = {
        name: Sentences(split, tags=corpus.tags[name] if tagged else None, with_lengths=back)
        for name, split in corpus.splits.items()
    }
    return Dataset(
        network, data, len(corpus.vocabulary), reads_labels=follows, follows=follows,
        answers={TAG: LabelSet(tuple(UNIVERSAL))} if tagged else {},
        of_texts=corpus.vocabulary.of_texts,
    )  # fmt: skip


def encoded_corpus(run: Run, args: argparse.Namespace) -> EncodedCorpus:
    """The corpus that a run was trained on, read again and checked to be the same."""
    source, sha, config = recorded(run, args, CorpusConfig)
    corpus = load_corpus(source, config)
    if corpus.hash != sha or corpus.vocabulary != run.vocabulary():
        raise _another(run, source)
    return corpus


def _of_batches(run: Run, args: argparse.Namespace) -> Dataset:
    """For a user's module: its corpus as the batches that its code makes of it."""
    source, sha, config = recorded(run, args, ReadingConfig)
    heed(args, run)
    module = run.module()
    user, record = module.user, module.record  # before a large corpus is read in vain
    corpus = Corpus.read(source, config)
    if corpus.hash != sha:
        raise _another(run, source)
    if args.device != "auto":
        module.on(pick_device(args.device))
    batches = batches_of(user, run.vocabulary(), corpus, config.longest, record.fed)
    names = tag_names(user, batches)
    _, dataset, _ = inspect_module(user, batches, follows=record.follows, names=names)
    known = {kind.id for kind in record.kinds}  # rnnlens may read more kinds than it did then
    dataset.kinds = tuple(kind for kind in dataset.kinds if kind in known)
    return dataset


def recorded(run: Run, args: argparse.Namespace, sort: type[Config]) -> tuple[str, str, Config]:
    """The source of a run's corpus, its hash, and how it is read, from run.json and the flags."""
    record: dict[str, Any] = dict(run.record().corpus)
    try:
        source, sha = str(record.pop("source")), str(record.pop("hash"))
        config = sort(**record)
        config.check()
    except (KeyError, TypeError, RnnlensError) as error:
        raise RnnlensError(
            f"{run.path / 'run.json'} is damaged ({error}); restore it or make the run anew"
        ) from error
    for flag, was in (("corpus", source), ("valid", config.valid), ("test", config.test)):
        is_there = not was or was.startswith("nltk:") or Path(was).exists()
        if not is_there and not getattr(args, flag):
            raise RnnlensError(
                f"the corpus of {run.path} was at {was} and is not there now; say where it is: "
                f"--{flag}"
            )
    config = replace(config, valid=args.valid or config.valid, test=args.test or config.test)
    return args.corpus or source, sha, config


def _another(run: Run, source: str) -> RnnlensError:
    return RnnlensError(
        f"{source} is not what {run.path} was trained on; say where that is: --corpus"
    )
