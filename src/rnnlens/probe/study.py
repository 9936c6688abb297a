"""Find out from a user's module and its batches how it is read, before probes are fitted to it."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from rnnlens.adapter import modules
from rnnlens.adapter.adapter import Adapter
from rnnlens.adapter.axes.targets import Batch, most_telling, words_of
from rnnlens.adapter.known import KnownModule
from rnnlens.adapter.settings import mark_of
from rnnlens.adapter.user_model import UserModel, UserRecord
from rnnlens.corpus.vocabulary import Vocabulary
from rnnlens.errors import RnnlensError, RnnlensWarning
from rnnlens.model.kinds import PREDICTION
from rnnlens.probe import data
from rnnlens.probe.dataset import Dataset
from rnnlens.probe.prior import log_prior

_TRIED = 4  # batches that are compared with the unigram baseline
_SURE = 2.0  # standard errors by which the module must be worse for a warning


@dataclass(frozen=True)
class Study:
    """A user's module, how rnnlens reads it, and its data."""

    user: UserModel
    model: KnownModule
    dataset: Dataset
    labels: tuple[str, ...]
    inputs: tuple[str, ...]  # names of the words that it reads; empty where they have none

    @property
    def padding(self) -> int | None:
        """The number of padding in the module's embedding; None where it has none."""
        embedding = modules.embedding(self.model.adapter.module)
        return None if embedding is None else embedding.padding_idx

    @property
    def is_readable(self) -> bool:
        """Whether rnnlens knows how to make a text into a batch for the module."""
        return bool(self.inputs and (self.model.record.fed or self.user.prepare))

    def vocabulary(self) -> Vocabulary:
        """The names, with how often each label comes in training."""
        counts = tuple(self.dataset.counts("output").tolist())
        names = Vocabulary.of_user(self.labels, counts, self.inputs)
        return replace(names, of_texts=self.dataset.of_texts)


def study(
    user: UserModel, batches: Mapping[str, Sequence[Batch]], *, follows: bool = False
) -> Study:
    """Trace some batches, and find the labels, the kinds, and how a text becomes a batch.

    `follows`: targets are known to be the next words, which short batches may not show.
    """
    adapter = user.adapter()
    telling, *others = most_telling(batches["train"])
    axes = adapter.align(telling, *others)
    follows = axes.follows or follows
    trace = adapter.trace(telling[0])
    labels = _labels(user, trace.prediction.shape[-1])
    of_texts = len(trace.prediction) == 1 < len(trace.states[adapter.kinds[-1].id])
    inputs = labels if follows else ()
    if user.inputs is not None:
        inputs = tuple(user.inputs)
    _check_embedding(adapter, inputs)
    record = UserRecord(
        user.where, modules.description(adapter.module), follows,
        None if user.prepare else axes.fed, adapter.kinds, len(labels), adapter.difference,
        replace(user.settings(), mark=mark_of(user.prepare, len(inputs))),
    )  # fmt: skip
    model = KnownModule(record, lambda: (user, adapter))
    splits = {name: data.of_batches(model, pairs) for name, pairs in batches.items()}
    dataset = Dataset(
        model, splits, len(labels), reads_labels=inputs == labels, follows=follows,
        of_texts=of_texts,
    )  # fmt: skip
    result = Study(user, model, dataset, labels, inputs)
    _warn_of_padding(result, telling)
    _warn_if_worse_than_unigram(dataset, [targets for _, targets in batches["train"]])
    return result


def _warn_of_padding(study: Study, batch: Batch) -> None:
    words = words_of(*batch)
    if words is None or study.padding is None:
        return
    model, trace = study.model, study.model.trace(batch[0])
    try:
        read, targets = (model.in_time(labels, lambda: trace) for labels in (words, batch[1]))
    except RnnlensError:  # fitting meets the same error and reports it
        return
    if bool(((read == study.padding) & (targets >= 0)).any()):
        warnings.warn(
            f"padding (number {study.padding}) has targets, so that its states are fitted and "
            "measured too; give it negative targets",
            RnnlensWarning,
            stacklevel=2,
        )


@torch.no_grad()
def _warn_if_worse_than_unigram(dataset: Dataset, targets: Sequence[Tensor]) -> None:
    """Warn of a module that predicts its targets worse than the frequencies of labels do.

    This catches mistakes in reading a module that nothing else shows: most likely targets lie in
    another order than predictions, or else the module is not trained.
    """
    stream = dataset.stream("train", "output", kinds=(PREDICTION,))
    try:
        every = torch.cat([one[one >= 0].flatten().long().cpu() for one in targets])
        prior = log_prior(torch.bincount(every, minlength=dataset.label_count))
        count = len(stream.data.counts)
        chunk = stream.chunk(np.arange(0, count, -(-count // _TRIED)))
    except RnnlensError:  # fitting meets the same error and reports it
        return
    logits, labels = dataset.model.predict(chunk.states[PREDICTION]), chunk.labels
    model = F.cross_entropy(logits.double(), labels, reduction="none").cpu()
    unigram = -prior[labels.cpu()]
    gap = model - unigram
    if len(gap) > 1 and float(gap.mean()) > _SURE * float(gap.std()) / len(gap) ** 0.5:
        warnings.warn(
            f"the module predicts its targets worse (perplexity {float(model.mean().exp()):.3g}) "
            f"than their frequencies do ({float(unigram.mean().exp()):.3g}); look whether it is "
            "trained, targets lie in the order of the batch (batch_first=), padding has negative "
            "targets, and logits= picks the logits",
            RnnlensWarning,
            stacklevel=3,
        )


def _check_embedding(adapter: Adapter, inputs: Sequence[str]) -> None:
    embedding = modules.embedding(adapter.module)
    if embedding is not None and len(inputs) > embedding.num_embeddings:
        raise RnnlensError(
            f"inputs= names {len(inputs)} words and the module's embedding has "
            f"{embedding.num_embeddings}; name what it has"
        )


def _labels(user: UserModel, count: int) -> tuple[str, ...]:
    names = tuple(map(str, range(count) if user.labels is None else user.labels))
    if count == 1:
        raise RnnlensError(
            "the module predicts one number; name its labels and make logits of it, of yes and no "
            "logits=lambda z: torch.cat([0 * z, z], -1), of bins, by their middles and width, "
            "logits=lambda z: -(((z - torch.tensor(middles)) / width) ** 2)"
        )
    if len(names) != count:
        raise RnnlensError(
            f"the module predicts {count} labels and {len(names)} are named; name every one, or "
            "give logits= a function that picks the logits"
        )
    return names
