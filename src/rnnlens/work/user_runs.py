"""Runs that a fit makes: of a user's module with its corpus, and of recorded states."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from rnnlens.adapter.corpus_batches import batches_of, tag_names
from rnnlens.adapter.module_record import ModuleRecord
from rnnlens.adapter.stored import StoredModule
from rnnlens.adapter.user_model import UserModel, user_model_at
from rnnlens.base.errors import RnnlensError
from rnnlens.base.flags import check_same
from rnnlens.base.tensors import digest
from rnnlens.corpus.corpus import Corpus, numbered, tag_counts_of
from rnnlens.corpus.tokens import Ints, ReadingConfig
from rnnlens.corpus.vocabulary import Vocabulary
from rnnlens.labels.colours import colours_of, read_colours
from rnnlens.lens.from_states import RecordedSource
from rnnlens.lens.save import keep
from rnnlens.model.train.distributed import pick_device
from rnnlens.probe.dataset import Dataset
from rnnlens.probe.fit_config import FitConfig
from rnnlens.probe.inspect import counted, inspect_module
from rnnlens.reading.session import EXAMPLES, Session, chosen_examples
from rnnlens.run.folder import Run
from rnnlens.run.record import TRAINED, TRAINING, Record


@dataclass(frozen=True)
class ModuleRun:
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
    def of(
        cls,
        run: Run,
        factory: str,
        source: str,
        config: ReadingConfig,
        *,
        device: str = "auto",
        colours: Path | None = None,
        command: str = "",
    ) -> "ModuleRun":
        """The run of the module that `factory` gives, package.module:function, with the corpus at
        `source`; an error where the folder holds another run.
        """
        own_colours = read_colours(colours) if colours else None
        user = user_model_at(factory)
        if device != "auto":
            user.module.to(pick_device(device))
        corpus = Corpus.read(source, config)
        record: dict[str, Any] = {
            "command": command,
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
        all_colours = own_colours or colours_of(
            names.labels, names.counts, tag_counts, in_order=in_order
        )
        description = f"{corpus.name} ({corpus.format}){size}"
        given = own_colours is not None
        return cls(run, before, record, all_colours, model, dataset, session, description, given)

    @property
    def semantics(self) -> str:
        """What its states are asked for where nobody says otherwise."""
        return FitConfig().semantic

    @property
    def where(self) -> str:
        """What gives the module."""
        return self.model.user.where

    def differs(self, run: Run) -> bool:
        """Whether the module has other weights than the run that was made of it."""
        return digest(self.model.user.weights()) != run.model_hash()

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


@dataclass(frozen=True)
class StatesRun:
    """Recorded states, and the run that is to be made of them."""

    run: Run
    source: RecordedSource
    colours: Mapping[str, Any]
    recoloured: bool  # whether the user gave the colours
    command: str = ""

    @classmethod
    def of(
        cls,
        run: Run,
        folder: str | Path,
        *,
        end: str | None = None,
        device: str = "auto",
        colours: Path | None = None,
        command: str = "",
    ) -> "StatesRun":
        """The run of the states in a folder; an error where RUN is of something else."""
        own = read_colours(colours) if colours else None
        source = RecordedSource.of(folder, end=end)
        begun = run.exists() and run.record().status == TRAINED
        if begun and run.model_hash() != source.model.record.sha256:
            raise RnnlensError(f"{run.path} holds a run of something else; choose another with -o")
        if device != "auto":
            source.model.on(pick_device(device))
        names, in_order = source.vocabulary, source.model.record.scale is not None
        found = own or colours_of(names.labels, names.counts, None, in_order=in_order)
        return cls(run, source, found, own is not None, command)

    @property
    def dataset(self) -> Dataset:
        """The states with what they are asked for."""
        return self.source.dataset

    @property
    def semantics(self) -> str:
        """What the states are asked for where nobody says otherwise."""
        return self.source.semantics

    @property
    def where(self) -> str:
        """Where the states are."""
        return self.source.model.record.states

    def differs(self, run: Run) -> bool:
        """Whether the states are others than those of the run."""
        return self.source.model.record.sha256 != run.model_hash()

    def describe(self) -> str:
        """A summary in a few lines."""
        kept = self.source.model.kept
        size = sum(column.width for column in kept.kinds.values())
        return (
            f"states      {kept.path}: {kept.rows:,} rows in {len(kept):,} sequences, "
            f"{len(kept.kinds)} kinds, {size:,} numbers a row\n"
            f"asked for   {self.semantics}, unless --semantic says otherwise\n"
            "parts       a tenth of the sequences decides when to stop, another is for rnnlens eval"
        )

    def write(self) -> None:
        """Make the folder, or note where the states are now."""
        if self.run.exists() and self.run.record().status == TRAINED:
            self.run.write_model(self.source.model)
            if self.recoloured:
                self.run.write_colours(self.colours)
            return
        record: dict[str, Any] = {"command": self.command, "made_by": "fit", "corpus": {}}
        begun = {**record, "status": TRAINING}
        keep(self.run, begun, self.source.model, self.source.session(), self.colours)
        self.run.write_record({**record, "status": TRAINED})


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
    if user.labels is None and user.tokenizer is not None:
        user = replace(user, labels=user.inputs)
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
    train, tags = numbered(corpus.sentences("train"), vocabulary, user.split, longest)
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
