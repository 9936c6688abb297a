"""Find out from a user's module and its batches how it is read, before probes are fitted to it."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
import torch.nn.functional as F

from rnnlens.adapter import modules
from rnnlens.adapter.adapter import Adapter
from rnnlens.adapter.axes.targets import NOTHING, NUMBER, Batch, Pair, most_telling, words_of
from rnnlens.adapter.known import KnownModule
from rnnlens.adapter.settings import mark_of
from rnnlens.adapter.user_model import UserModel
from rnnlens.adapter.user_record import UserRecord
from rnnlens.base.errors import RnnlensError, RnnlensWarning
from rnnlens.corpus.vocabulary import Vocabulary
from rnnlens.labels.sets import Scale
from rnnlens.model.kinds import PREDICTION
from rnnlens.model.traceable import Trace
from rnnlens.probe import data
from rnnlens.probe.dataset import Dataset
from rnnlens.probe.module_answers import other_answers, own_answers

_TRIED = 4  # batches that are compared with the unigram baseline
_EXACT = 1e-4  # of the axis: how well a number is told at best
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
        record = self.model.record
        return bool((self.inputs or record.features) and (record.fed or self.user.prepare))

    def vocabulary(self) -> Vocabulary:
        """The names, with how often each label comes in training."""
        answers = self.model.record.answers(self.labels)
        counts = answers.no_counts()
        if self.model.predicts:
            counts = self.dataset.counts("output")
        rows = counts[1] if answers.several else counts
        names = Vocabulary.of_user(self.labels, tuple(rows.tolist()), self.inputs)
        return replace(names, of_texts=self.dataset.of_texts)


def study(
    user: UserModel,
    pairs: Mapping[str, Sequence[Pair]],
    *,
    follows: bool = False,
    names: Mapping[str, Sequence[str] | None] | None = None,
) -> Study:
    """Trace some batches, and find the labels, the kinds, and how a text becomes a batch.

    `follows`: targets are known to be the next words, which short batches may not show. `names`:
    those of labels that are not the module's own, by semantic.
    """
    batches = {name: [Batch.of(pair) for pair in some] for name, some in pairs.items()}
    user = replace(user, sort=batches["train"][0].sort)
    answers = other_answers(batches["train"], names or {})
    adapter = user.adapter()
    telling, *others = most_telling(batches["train"])
    axes = adapter.align(telling, *others)
    follows = axes.follows or follows
    trace = adapter.trace(telling.inputs)
    own = own_answers(user, batches, trace, next(iter(answers.values()), None))
    inputs = own.names if follows and not axes.features else ()
    if user.inputs is not None:
        inputs = tuple(user.inputs)
    _check_embedding(adapter, inputs)
    scale = _with_error(own.scale, adapter, batches["valid"]) if user.sort == NUMBER else own.scale
    record = UserRecord(
        user.where, modules.description(adapter.module), follows,
        None if user.prepare else axes.fed, adapter.kinds, len(own), adapter.difference,
        replace(user.settings(), mark=mark_of(user.prepare, len(inputs))),
        0 if inputs else axes.features, own.several, scale, user.sort != NOTHING,
    )  # fmt: skip
    model = KnownModule(record, lambda: (user, adapter))
    splits = {name: data.of_batches(model, some) for name, some in batches.items()}
    dataset = Dataset(
        model, splits, len(own), reads_labels=inputs == own.names, follows=follows,
        answers={"output": record.answers(own.names), **answers}, of_texts=_of_texts(trace),
    )  # fmt: skip
    result = Study(user, model, dataset, own.names, inputs)
    _warn_of_padding(result, telling)
    if model.predicts:
        _warn_if_worse_than_unigram(dataset)
    return result


@torch.no_grad()
def _with_error(scale: Scale | None, adapter: Adapter, valid: Sequence[Batch]) -> Scale | None:
    """The scale of a module's numbers with the deviation of these from the right ones."""
    if scale is None or adapter.axes is None:
        return scale
    squares, count = 0.0, 0
    for batch in valid:
        trace = adapter.trace(batch.inputs)
        codes = adapter.axes.in_time(batch.targets, trace).cpu()
        y = trace.prediction[..., 0].double().cpu().expand(codes.shape)
        there = codes >= 0
        right = batch.tables["output"][codes[there]]
        squares += float((y[there] - right).square().sum())
        count += int(there.sum())
    spread = scale.edges[-1] - scale.edges[0]
    return replace(scale, error=max((squares / max(1, count)) ** 0.5, _EXACT * spread))


def _of_texts(trace: Trace) -> bool:
    """Whether a module has one prediction for a whole sequence of several steps."""
    return trace.y is not None and len(trace.y) == 1 < len(next(reversed(trace.states.values())))


def _warn_of_padding(study: Study, batch: Batch) -> None:
    words = words_of(batch.inputs, batch.targets)
    if words is None or study.padding is None:
        return
    model, trace = study.model, study.model.trace(batch[0])
    try:
        read, targets = (model.in_time(labels, lambda: trace) for labels in (words, batch.targets))
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
def _warn_if_worse_than_unigram(dataset: Dataset) -> None:
    """Warn of a module that predicts its targets worse than the frequencies of labels do.

    This catches mistakes in reading a module that nothing else shows: most likely targets lie in
    another order than predictions, or else the module is not trained.
    """
    stream = dataset.stream("train", "output", kinds=(PREDICTION,))
    answers = stream.answers
    try:
        prior = answers.prior(stream.frequencies())
        count = len(stream.data.counts)
        chunk = stream.chunk(np.arange(0, count, -(-count // _TRIED)))
    except RnnlensError:  # fitting meets the same error and reports it
        return
    logits = dataset.model.predict(chunk.states[PREDICTION]).double().cpu()
    model, unigram = (
        F.cross_entropy(*answers.questions(rows, chunk.labels.cpu()), reduction="none")
        for rows in (logits, prior.expand_as(logits))
    )
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
