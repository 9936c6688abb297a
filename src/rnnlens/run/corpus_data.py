"""The corpus that a run was made with, read again, and the run's model with it as a dataset."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from rnnlens.base.errors import RnnlensError
from rnnlens.corpus.corpus import Corpus, CorpusConfig, EncodedCorpus, load_corpus
from rnnlens.corpus.tokens import ReadingConfig
from rnnlens.labels.parts_of_speech import UNIVERSAL
from rnnlens.labels.sets import LabelSet
from rnnlens.model.network import Network
from rnnlens.model.text import TextSide
from rnnlens.model.traceable import Traceable
from rnnlens.model.train.distributed import pick_device
from rnnlens.probe.data import Sentences
from rnnlens.probe.dataset import Dataset
from rnnlens.probe.probes import Probes
from rnnlens.probe.recorded_data import answers_of, recorded_dataset
from rnnlens.probe.semantics import OUTPUT, TAG
from rnnlens.run.folder import Run
from rnnlens.states.recorded import RecordedStates

Config = TypeVar("Config", bound=ReadingConfig)


@dataclass(frozen=True)
class Moved:
    """Where a run's corpus and its parts are now, if they have moved since the run was made."""

    corpus: str | None = None
    valid: str | None = None
    test: str | None = None


def run_dataset(run: Run, device: str = "auto", moved: Moved | None = None) -> Dataset:
    """The model of a run, ready to trace, with the corpus that it was made with."""
    run.check_finished()
    moved, record = moved or Moved(), run.record()
    if isinstance(model := run.model() if not record.corpus else None, RecordedStates):
        model.on(pick_device(device))
        return states_dataset(model, run.text(model), run.probes() if run.has_probes() else None)
    if not record.corpus:
        raise RnnlensError(
            f"the run.json of {run.path} names no corpus; of a run that was fitted in Python, "
            "measure it there: lens.evaluate(batches)"
        )
    if record.made_by == "fit":
        return _module_dataset(run, device, moved)
    network = run.network().to(pick_device(device))
    return sentence_dataset(network, encoded_corpus(run, moved))


def states_dataset(model: RecordedStates, text: TextSide, probes: Probes | None) -> Dataset:
    """Recorded states with all that they can be asked for; the bins of numbers are the probes'."""
    answers = dict(probes.answers if probes else {})
    if model.has_labels:
        answers[OUTPUT] = text.labels
    missing = [name for name in model.kept.targets if name not in answers]
    answers |= {name: answers_of(model.kept, model.kept.targets[name]) for name in missing}
    return recorded_dataset(model, text.vocabulary, answers)


def of_model(dataset: Dataset, model: Traceable, splits: Sequence[str] = ()) -> Dataset:
    """The data of a dataset for another model that reads them alike; all splits, or those named."""
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


def encoded_corpus(run: Run, moved: Moved | None = None) -> EncodedCorpus:
    """The corpus that a run was trained on, read again and checked to be the same."""
    source, sha, config = recorded(run, moved or Moved(), CorpusConfig)
    corpus = load_corpus(source, config)
    if corpus.hash != sha or corpus.vocabulary != run.vocabulary():
        raise _another(run, source)
    return corpus


def _module_dataset(run: Run, device: str, moved: Moved) -> Dataset:
    """For a user's module: its corpus as the batches that its code makes of it."""
    from rnnlens.adapter.corpus_batches import batches_of, tag_names
    from rnnlens.probe.inspect import inspect_module

    source, sha, config = recorded(run, moved, ReadingConfig)
    module = run.module()
    user, record = module.user, module.record  # before a large corpus is read in vain
    corpus = Corpus.read(source, config)
    if corpus.hash != sha:
        raise _another(run, source)
    if device != "auto":
        module.on(pick_device(device))
    batches = batches_of(user, run.vocabulary(), corpus, config.longest, record.fed)
    names = tag_names(user, batches)
    _, dataset, _ = inspect_module(user, batches, follows=record.follows, names=names)
    known = {kind.id for kind in record.kinds}  # rnnlens may read more kinds than it did then
    dataset.kinds = tuple(kind for kind in dataset.kinds if kind in known)
    return dataset


def recorded(run: Run, moved: Moved, sort: type[Config]) -> tuple[str, str, Config]:
    """The source of a run's corpus, its hash, and how it is read, from run.json."""
    record: dict[str, Any] = dict(run.record().corpus)
    try:
        source, sha = str(record.pop("source")), str(record.pop("hash"))
        config = sort(**record)
        config.check()
    except (KeyError, TypeError, RnnlensError) as error:
        raise RnnlensError(
            f"{run.path / 'run.json'} is damaged ({error}); restore it or make the run anew"
        ) from error
    for name, was in (("corpus", source), ("valid", config.valid), ("test", config.test)):
        is_there = not was or was.startswith("nltk:") or Path(was).exists()
        if not is_there and not getattr(moved, name):
            raise RnnlensError(
                f"the corpus of {run.path} was at {was} and is not there now; say where it is: "
                f"--{name}"
            )
    config = replace(config, valid=moved.valid or config.valid, test=moved.test or config.test)
    return moved.corpus or source, sha, config


def _another(run: Run, source: str) -> RnnlensError:
    return RnnlensError(
        f"{source} is not what {run.path} was trained on; say where that is: --corpus"
    )
