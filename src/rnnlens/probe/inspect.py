"""How a user's module is read, found from its batches before probes are fitted to it."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import torch
import torch.nn.functional as F

from rnnlens.adapter import modules
from rnnlens.adapter.adapter import Adapter
from rnnlens.adapter.batches import (
    NOTHING,
    NUMBER,
    OUTPUT,
    Batch,
    Pair,
    most_telling,
    words_of,
)
from rnnlens.adapter.stored import ModuleRecord, StoredModule, StoredOptions
from rnnlens.adapter.user_model import UserModel
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


def inspect_module(
    user: UserModel,
    pairs: Mapping[str, Sequence[Pair]],
    *,
    follows: bool = False,
    names: Mapping[str, Sequence[str] | None] | None = None,
) -> tuple[StoredModule, Dataset, Vocabulary]:
    """Trace some batches, and find the labels, the kinds, and how a text becomes a batch.

    `follows`: targets are known to be the next words, which short batches may not show. `names`:
    those of labels that are not the module's own, by semantic. In the vocabulary, whose inputs are
    empty where what the module reads has no names, nothing is counted yet; see `counted`.
    """
    batches = {name: [Batch.of(pair) for pair in some] for name, some in pairs.items()}
    sort = batches["train"][0].sort
    answers = other_answers(batches["train"], names or {})
    adapter = Adapter(user, sort=sort)
    telling, *others = most_telling(batches["train"])
    axes = adapter.align(telling, *others)
    follows = axes.follows or follows
    trace = adapter.trace(telling.inputs)
    own = own_answers(user, batches, trace, next(iter(answers.values()), None))
    inputs = own.names if follows and not axes.features else ()
    if user.inputs is not None:
        inputs = tuple(user.inputs)
    _check_embedding(adapter, inputs)
    scale = _with_error(own.scale, adapter, batches["valid"]) if sort == NUMBER else own.scale
    record = ModuleRecord(
        user.where,
        modules.description(adapter.module),
        follows,
        None if user.prepare else axes.fed,
        adapter.kinds,
        len(own),
        adapter.difference,
        StoredOptions.of(user, len(inputs)),
        features=0 if inputs else axes.features,
        several=own.several,
        scale=scale,
        predicts=sort != NOTHING,
    )
    model = StoredModule(record, lambda: adapter)
    of_texts = _of_texts(trace)
    dataset = Dataset(
        model,
        {name: data.of_batches(model, some) for name, some in batches.items()},
        len(own),
        reads_labels=inputs == own.names,
        follows=follows,
        answers={OUTPUT: record.answers(own.names), **answers},
        of_texts=of_texts,
    )
    _warn_of_padding(model, telling)
    if model.predicts:
        _warn_if_worse_than_unigram(dataset)
    vocabulary = Vocabulary.of_user(own.names, (0,) * len(own), inputs)
    return model, dataset, replace(vocabulary, of_texts=of_texts)


def counted(vocabulary: Vocabulary, dataset: Dataset) -> Vocabulary:
    """The names with how often each label comes in training."""
    labels = dataset.answers[OUTPUT]
    counts = dataset.counts(OUTPUT) if dataset.model.predicts else labels.no_counts()
    rows = counts[1] if labels.several else counts
    return replace(vocabulary, counts=tuple(rows.tolist()))


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
        right = batch.tables[OUTPUT][codes[there]]
        squares += float((y[there] - right).square().sum())
        count += int(there.sum())
    spread = scale.edges[-1] - scale.edges[0]
    return replace(scale, error=max((squares / max(1, count)) ** 0.5, _EXACT * spread))


def _of_texts(trace: Trace) -> bool:
    """Whether a module has one prediction for a whole sequence of several steps."""
    return trace.y is not None and len(trace.y) == 1 < len(next(reversed(trace.states.values())))


def _warn_of_padding(model: StoredModule, batch: Batch) -> None:
    words = words_of(batch.inputs, batch.targets)
    if words is None or model.padding is None:
        return
    trace = model.trace(batch.inputs)
    try:
        read, targets = (model.in_time(labels, lambda: trace) for labels in (words, batch.targets))
    except RnnlensError:  # fitting meets the same error and reports it
        return
    if bool(((read == model.padding) & (targets >= 0)).any()):
        warnings.warn(
            f"padding (number {model.padding}) has targets, so that its states are fitted and "
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
    stream = dataset.stream("train", OUTPUT, kinds=(PREDICTION,))
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
