"""The model of a run and its data: what `rnnlens fit` and `rnnlens eval` work on."""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from rnnlens.adapter.batches import batches_of
from rnnlens.cli.user_run import on_path
from rnnlens.corpus.corpus import Corpus, CorpusConfig, load_corpus
from rnnlens.corpus.own import UserCorpus
from rnnlens.corpus.tokens import ReadingConfig
from rnnlens.errors import RnnlensError
from rnnlens.model.train.distributed import pick_device
from rnnlens.probe.subject import NetworkSubject, Subject
from rnnlens.run import Run
from rnnlens.view.fit import study
from rnnlens.view.opening import module_of

Config = TypeVar("Config", bound=ReadingConfig)


def add_corpus_flags(parser: argparse.ArgumentParser) -> None:
    """Where the run's corpus is now, if it has moved since training."""
    for name, what in (("corpus", "corpus"), ("valid", "validation"), ("test", "test corpus")):
        parser.add_argument(f"--{name}", metavar="CORPUS", help=f"where the run's {what} is now")


def subject_of(run: Run, args: argparse.Namespace) -> Subject:
    """The model of a run, ready to trace, and the corpus it was made with."""
    if run.is_own():
        return user_subject_of(run, args)
    device = pick_device(args.device)
    return NetworkSubject(run.model().to(device), corpus_of(run, args).splits, device)


def corpus_of(run: Run, args: argparse.Namespace) -> Corpus:
    """The corpus a run was trained on, read again and checked."""
    source, digest, config = _recorded(run, args, CorpusConfig)
    corpus = load_corpus(source, config)
    if corpus.hash != digest or corpus.vocabulary != run.vocabulary():
        raise _other(run, source)
    return corpus


def user_subject_of(run: Run, args: argparse.Namespace) -> Subject:
    """Somebody's own module, made by its code, on the corpus that the run names."""
    source, digest, config = _recorded(run, args, ReadingConfig)
    corpus = UserCorpus.read(source, config)
    if corpus.hash != digest:
        raise _other(run, source)
    on_path()
    own, vocabulary = module_of(run), run.own_vocabulary()
    if args.device != "auto":
        own.module.to(pick_device(args.device))
    about = run.own()
    batches = batches_of(own, vocabulary, corpus, config.longest, about.fed)
    return study(own, batches, follows=about.follows).subject


def _recorded(run: Run, args: argparse.Namespace, sort: type[Config]) -> tuple[str, str, Config]:
    """Where the corpus of a run is, its hash, and how it is read."""
    record: dict[str, Any] = dict(run.record()["corpus"])
    if not record and run.is_own():
        raise RnnlensError(
            f"{run.path} was fitted in Python and names no corpus; measure it there, with "
            "lens.evaluate(batches)"
        )
    try:
        source, digest = str(record.pop("source")), str(record.pop("hash"))
        config = sort(**record)
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
    config = replace(config, valid=args.valid or config.valid, test=args.test or config.test)
    return args.corpus or source, digest, config


def _other(run: Run, source: str) -> RnnlensError:
    return RnnlensError(
        f"{source} is not what {run.path} was trained on; say where that is: --corpus"
    )
