"""A run for a module of somebody's own: the first part of `rnnlens fit --model`."""

import argparse
import contextlib
import os
import shlex
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rnnlens.adapter.batches import batches_of
from rnnlens.adapter.user_model import UserModel, user_model_at
from rnnlens.corpus.corpus import Corpus, numbered, tag_counts_of
from rnnlens.corpus.tokens import Ints, ReadingConfig
from rnnlens.corpus.vocabulary import Vocabulary
from rnnlens.errors import RnnlensError
from rnnlens.files import digest
from rnnlens.flags import as_flag, from_flags
from rnnlens.model.train.distributed import pick_device
from rnnlens.probe.study import Study, study
from rnnlens.run import TRAINED, TRAINING, Run
from rnnlens.view.examples import EXAMPLES, LONG, SHORT
from rnnlens.view.lens import Lens
from rnnlens.view.opening import opened
from rnnlens.view.palette import colours_of, read_colours
from rnnlens.view.session import Session
from rnnlens.view.writing import keep


def lens_of(run: Run, colours: Path | None, name: str = "") -> Lens:
    """The lens of a run; code that is here can be imported, should the run name any."""
    lens = opened(run, colours, name)
    if lens.model.code:
        on_path()
    return lens


def on_path() -> None:
    """Let modules of the folder at hand be imported, after everything that is installed."""
    if (here := os.getcwd()) not in sys.path:  # noqa: PTH109 - sys.path holds strings
        sys.path.append(here)


@dataclass(frozen=True)
class UserRun:
    """A module, its corpus, and the run that is to be made of them."""

    run: Run
    record: Mapping[str, Any]
    colours: Mapping[str, Any]
    found: Study
    session: Session
    corpus: str  # in words
    recoloured: bool  # by the user

    @classmethod
    def asked_for(cls, run: Run, args: argparse.Namespace) -> "UserRun":
        """Get the module, read the corpus, and refuse a folder that holds another run."""
        config = from_flags(ReadingConfig, args)
        config.check()
        colours = read_colours(args.colours) if args.colours else None
        on_path()
        user = user_model_at(args.model)
        if args.device != "auto":
            user.module.to(pick_device(args.device))
        corpus = Corpus.read(args.corpus, config)
        record: dict[str, Any] = {
            "command": shlex.join(["rnnlens", *args.words]),
            "corpus": {"source": corpus.name, "hash": corpus.hash, **asdict(config)},
        }
        if run.exists():
            _refuse_other(run, record["corpus"], user)
        vocabulary = _vocabulary(user)
        words_follow = user.batches is None and vocabulary.inputs == vocabulary.labels
        batches = batches_of(user, vocabulary, corpus, config.longest)
        found = study(user, batches, follows=words_follow)
        if run.exists() and run.record()["status"] == TRAINED:
            _refuse_other_kinds(run, found)
        words, counted = _counted(user, vocabulary, corpus, config.longest)
        names = found.vocabulary()
        text = found.model.text(names)
        examples = _examples(corpus, Session(found.model, text)) if found.is_readable else []
        session = Session(found.model, text, examples)
        shown = colours or colours_of(names.labels, names.counts, counted)
        read = f"{corpus.name} ({corpus.format}){words}"
        return cls(run, record, shown, found, session, read, colours is not None)

    def describe(self) -> str:
        """What was found, in a few lines."""
        about = self.found.model.record
        checked = f"recomputed outputs differ from the module's by {about.difference:.1g}"
        if not self.found.model.adapter.is_recurrent:
            checked = "nothing: kinds are outputs of submodules as they are"
        return (
            f"module      {about.factory}: {about.description}, {len(about.kinds)} kinds, "
            f"{about.labels:,} labels\n"
            f"checked     {checked}\n"
            f"corpus      {self.corpus}\n"
            f"colours     {self.colours['source']}"
        )

    def write(self) -> None:
        """Make the folder, unless an earlier command has."""
        if self.run.exists() and self.run.record()["status"] == TRAINED:
            if self.recoloured:
                self.run.write_colours(self.colours)
            return
        begun = {**self.record, "status": TRAINING}
        keep(self.run, begun, self.found.model, self.session, self.colours)
        self.run.write_record({**self.record, "status": TRAINED})


def _refuse_other(run: Run, corpus: Mapping[str, Any], user: UserModel) -> None:
    """Refuse to write over a run that is not what was asked for."""
    before = run.record()
    if "network" in before:
        raise RnnlensError(f"{run.path} holds a run that was trained; choose another with -o")
    for name, value in corpus.items():
        was = before["corpus"].get(name)
        if name == "hash" and was != value:
            raise RnnlensError(
                f"{corpus['source']} is not the corpus that {run.path} was begun with; choose "
                "another folder with -o"
            )
        if name not in ("hash", "source") and was != value:
            raise RnnlensError(
                f"{run.path} holds another run, made with {as_flag(name, was)}, not "
                f"{as_flag(name, value)}; give the same flags to continue it, or another folder"
            )
    if before["status"] == TRAINED and run.model_hash() != digest(user.weights()):
        raise RnnlensError(
            f"{user.where} gives other weights than those {run.path} was made with; choose another "
            "folder with -o, or see to it that the same weights are loaded each time"
        )


def _vocabulary(user: UserModel) -> Vocabulary:
    """The names of what is read and predicted, as the module's owner gives them."""
    if user.labels is None and user.batches is None:
        raise RnnlensError(
            f"{user.where} does not name the labels of its module; return (module, labels)"
        )
    labels = tuple(user.labels or ())
    inputs = labels if user.inputs is None else tuple(user.inputs)
    return Vocabulary.of_user(labels, (0,) * len(labels), inputs)


def _counted(
    user: UserModel, vocabulary: Vocabulary, corpus: Corpus, longest: int
) -> tuple[str, Ints | None]:
    """How many words there are for training, in words; and how often each label has each tag,
    where labels are the words of the corpus.
    """
    if user.batches:
        return "", None
    train, tags = numbered(corpus.sentences("train"), vocabulary, user.words, longest)
    unknown = 0.0 if vocabulary.unknown is None else float((train.ids == vocabulary.unknown).mean())
    told = f", {len(train.ids):,} words for training, {unknown:.1%} of them unknown"
    if vocabulary.inputs != vocabulary.labels:
        return told, None
    return told, tag_counts_of(train.ids, tags, len(vocabulary.labels))


def _examples(corpus: Corpus, session: Session) -> list[str]:
    """Some sentences that had no part in fitting, neither short nor long, and readable."""
    kept = [sentence.words for sentence in corpus.sentences("test")]
    fitting = [words for words in kept if SHORT <= len(words) <= LONG]
    texts: list[str] = []
    for words in fitting or sorted(kept, key=len):
        text = " ".join(words[:LONG])
        with contextlib.suppress(RnnlensError):
            if text not in texts and session.vocabulary.encode(session.words(text)):
                texts.append(text)
        if len(texts) == EXAMPLES:
            break
    return texts


def _refuse_other_kinds(run: Run, found: Study) -> None:
    """Refuse a factory that reads its module otherwise than when the run was made."""
    before, record = run.module().record, found.model.record
    if (before.kinds, run.vocabulary().labels) != (record.kinds, found.labels):
        raise RnnlensError(
            f"{record.factory} gives other kinds or labels than those {run.path} was made "
            "with; choose another folder with -o"
        )
