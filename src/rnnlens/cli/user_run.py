"""A run for a user's module: the first part of `rnnlens fit --model`."""

import argparse
import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from rnnlens.adapter.corpus_batches import batches_of, tag_names
from rnnlens.adapter.stored import ModuleRecord, StoredModule
from rnnlens.adapter.user_model import UserModel, user_model_at
from rnnlens.base.errors import RnnlensError
from rnnlens.base.flags import check_same, from_flags
from rnnlens.base.tensors import digest
from rnnlens.corpus.corpus import Corpus, numbered, tag_counts_of
from rnnlens.corpus.tokens import Ints, ReadingConfig
from rnnlens.corpus.vocabulary import Vocabulary
from rnnlens.labels.colours import colours_of, read_colours
from rnnlens.lens.save import keep
from rnnlens.model.train.distributed import pick_device
from rnnlens.probe.dataset import Dataset
from rnnlens.probe.inspect import counted, inspect_module
from rnnlens.reading.examples import EXAMPLES, chosen_examples
from rnnlens.reading.session import Session
from rnnlens.run.folder import Run
from rnnlens.run.run_files import TRAINED, TRAINING, Record


@dataclass(frozen=True)
class UserRun:
    """A user's module, its corpus, and the run that is to be made of them."""

    run: Run
    before: Record | None  # what run.json said when the folder was looked at
    record: Mapping[str, Any]
    colours: Mapping[str, Any]
    model: StoredModule
    dataset: Dataset
    session: Session
    corpus: str  # a description
    recoloured: bool  # whether the user gave the colours

    @classmethod
    def asked_for(cls, run: Run, args: argparse.Namespace) -> "UserRun":
        """The run that the command line asks for; an error where the folder holds another run."""
        config = from_flags(ReadingConfig, args)
        colours = read_colours(args.colours) if args.colours else None
        user = user_model_at(args.model)
        if args.device != "auto":
            user.module.to(pick_device(args.device))
        corpus = Corpus.read(args.corpus, config)
        record: dict[str, Any] = {
            "command": shlex.join(["rnnlens", *args.words]),
            "made_by": "fit",
            "corpus": {"source": corpus.name, "hash": corpus.hash, **asdict(config)},
        }
        before = run.record() if run.exists() else None
        if before:
            _refuse_other(run, record["corpus"], user)
        vocabulary = _vocabulary(user)
        words_follow = user.batches is None and vocabulary.inputs == vocabulary.labels
        batches = batches_of(user, vocabulary, corpus, config.longest)
        model, dataset, names = inspect_module(
            user, batches, follows=words_follow, names=tag_names(user, batches)
        )
        if before and before.status == TRAINED:
            _refuse_other_kinds(run, model.record, names)
        size, tag_counts = _size_and_tags(user, vocabulary, corpus, config.longest)
        names = counted(names, dataset)
        text = model.text(names)
        test = corpus.sentences("test") if model.reads_texts(names) else ()
        examples = [example.text for example in chosen_examples(test, text, EXAMPLES)]
        session = Session(model, text, examples)
        in_order = model.record.scale is not None
        all_colours = colours or colours_of(
            names.labels, names.counts, tag_counts, in_order=in_order
        )
        description = f"{corpus.name} ({corpus.format}){size}"
        given = colours is not None
        return cls(run, before, record, all_colours, model, dataset, session, description, given)

    def describe(self) -> str:
        """A summary of the module and its corpus in a few lines."""
        record = self.model.record
        checked = f"recomputed outputs differ from the module's by {record.difference:.1g}"
        if not self.model.adapter.is_recurrent:
            checked = "nothing: kinds are outputs of submodules as they are"
        return (
            f"module      {record.factory}: {record.description}, {len(record.kinds)} kinds, "
            f"{record.labels:,} labels\n"
            f"checked     {checked}\n"
            f"corpus      {self.corpus}\n"
            f"colours     {self.colours['source']}"
        )

    def write(self) -> None:
        """Make the folder, unless an earlier command has made it."""
        self.run.check_unchanged(self.before)
        if self.run.exists() and self.run.record().status == TRAINED:
            if self.recoloured:
                self.run.write_colours(self.colours)
            return
        begun = {**self.record, "status": TRAINING}
        keep(self.run, begun, self.model, self.session, self.colours)
        self.run.write_record({**self.record, "status": TRAINED})


def _refuse_other(run: Run, corpus: Mapping[str, Any], user: UserModel) -> None:
    """Refuse to continue a run of another corpus, other options or other weights."""
    before = run.record()
    if before.made_by == "train":
        raise RnnlensError(f"{run.path} holds a run that was trained; choose another with -o")
    if before.corpus.get("hash") != corpus["hash"]:
        raise RnnlensError(
            f"{corpus['source']} is not the corpus that {run.path} was begun with; choose "
            "another folder with -o"
        )
    flags = {name: value for name, value in corpus.items() if name not in ("hash", "source")}
    check_same(run.path, before.corpus, flags)
    if before.status == TRAINED and run.model_hash() != digest(user.weights()):
        raise RnnlensError(
            f"{user.where} gives other weights than those {run.path} was made with; choose another "
            "folder with -o, or see to it that the same weights are loaded each time"
        )


def _vocabulary(user: UserModel) -> Vocabulary:
    """The names of the words and labels, as the user gives them; nothing is counted yet."""
    if user.labels is None and user.batches is None:
        raise RnnlensError(
            f"{user.where} does not name the labels of its module; return (module, labels)"
        )
    labels = tuple(user.labels or ())
    inputs = labels if user.inputs is None else tuple(user.inputs)
    return Vocabulary.of_user(labels, (0,) * len(labels), inputs)


def _size_and_tags(
    user: UserModel, vocabulary: Vocabulary, corpus: Corpus, longest: int
) -> tuple[str, Ints | None]:
    """A phrase on how many words there are for training; and how often each label has each tag, if
    labels are the words of the corpus.
    """
    if user.batches:
        return "", None
    train, tags = numbered(corpus.sentences("train"), vocabulary, user.words, longest)
    unknown = 0.0 if vocabulary.unknown is None else float((train.ids == vocabulary.unknown).mean())
    size = f", {len(train.ids):,} words for training, {unknown:.1%} of them unknown"
    if vocabulary.inputs != vocabulary.labels:
        return size, None
    return size, tag_counts_of(train.ids, tags, len(vocabulary.labels))


def _refuse_other_kinds(run: Run, record: ModuleRecord, names: Vocabulary) -> None:
    """Refuse a module whose kinds or labels are not those of the run that it is to continue."""
    before = run.module().record
    if (before.kinds, run.vocabulary().labels) != (record.kinds, names.labels):
        raise RnnlensError(
            f"{record.factory} gives other kinds or labels than those {run.path} was made "
            "with; choose another folder with -o"
        )
