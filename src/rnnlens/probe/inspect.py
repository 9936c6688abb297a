"""How a user's module is read, and what its states are asked about: found from its batches, before
probes are fitted to it.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from rnnlens.adapter import modules
from rnnlens.adapter.adapter import Adapter
from rnnlens.adapter.axes.axes import Axes
from rnnlens.adapter.batches import (
    LABELS,
    NOTHING,
    NUMBER,
    OUTPUT,
    Batch,
    Pair,
    most_telling,
    words_of,
)
from rnnlens.adapter.module_record import ModuleRecord, StoredOptions
from rnnlens.adapter.source_reading import source_reading
from rnnlens.adapter.stored import StoredModule
from rnnlens.adapter.texts import TextReading, text_reading
from rnnlens.adapter.user_model import UserModel, names_of
from rnnlens.base.errors import RnnlensError, RnnlensWarning
from rnnlens.corpus.vocabulary import Vocabulary
from rnnlens.labels.sets import LabelSet, Scale
from rnnlens.model.kinds import PREDICTION
from rnnlens.model.lazy import at_hand
from rnnlens.model.traceable import Trace
from rnnlens.probe import data
from rnnlens.probe.dataset import Dataset

_COMPARED_BATCHES = 4  # with the unigram baseline
_COMPARED_STATES = 512  # of each of them: of many labels, more logits would fill the memory
_LEAST_ERROR = 1e-4  # of the axis: how well a number is told at best
_SURE_ERRORS = 2.0  # standard errors by which the module must be worse for a warning
_FEW_STATES = 50  # of which nothing can be said
_NOT_SO_FREQUENT, _NOT_ONE = 0.15, 0.1  # how far sigmoids of logits may be from frequencies
_LEAST_GAP = 0.005  # nats by which a reading of logits has to predict better than another
_PIECES_TRIED = 500  # of a batch, that are split anew by its tokenizer
_SAME_TOKENIZER = 0.85  # of which at least so many come again, where texts begin inside of words
_MOST_LABELS = 100  # that are kept as floats: more whole numbers are hardly labels


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
    answers = _other_labels(batches["train"], names or {})
    _check_pieces(user, batches)
    adapter = Adapter(user, sort=sort)
    telling, *others = (
        Batch.of(adapter.few_sequences(batch)) for batch in most_telling(batches["train"])
    )
    axes = adapter.align(telling, *others)
    follows = axes.follows or follows
    trace = adapter.trace(telling.inputs)
    user = _with_pieces(user, trace, sort) if follows else user
    own = _own_labels(user, batches, trace, next(iter(answers.values()), None))
    inputs = _inputs(user, own, may_be_own=follows and not axes.features)
    _check_embedding(adapter, inputs)
    if sort == NUMBER:
        own = replace(own, scale=_with_error(own.scale, adapter, batches["valid"]))
    record = _record(user, adapter, axes, own, inputs, follows=follows, predicts=sort != NOTHING)
    model = StoredModule(record, lambda: adapter, user.tokenizer)
    random = _warn_if_random(adapter, telling)
    reads_own, every = inputs == own.names, [telling, *batches["train"]]
    record, reading = _with_texts(
        user, adapter, model, axes, every, inputs, reads_own=reads_own
    )  # fmt: skip
    model = StoredModule(record, lambda: adapter, user.tokenizer)
    model.verified = _verified(model, axes, reading, inputs, random, _given_back(model, telling))
    of_texts = _of_texts(trace)
    dataset = Dataset(
        model,
        {name: data.of_batches(model, some) for name, some in batches.items()},
        len(own),
        reads_labels=reads_own,
        follows=follows,
        answers={OUTPUT: record.answers(own.names), **answers},
        of_texts=of_texts,
    )
    _warn_of_padding(model, telling)
    if model.predicts:
        _warn_if_worse_than_unigram(dataset, user.logits is not None)
    vocabulary = Vocabulary.of_user(own.names, (0,) * len(own), inputs)
    return model, dataset, replace(vocabulary, of_texts=of_texts)


def _inputs(user: UserModel, own: LabelSet, *, may_be_own: bool) -> tuple[str, ...]:
    """The names of what the module reads: its own labels or those given; of neither, none."""
    inputs = own.names if may_be_own else ()
    if user.inputs is not None and not (user.tokenizer and len(inputs) > len(user.inputs)):
        inputs = tuple(user.inputs)
    return inputs


def _record(
    user: UserModel, adapter: Adapter, axes: Axes, own: LabelSet, inputs: Sequence[str], *,
    follows: bool, predicts: bool,
) -> ModuleRecord:  # fmt: skip
    """What is known of the module before it is found out how a text becomes a batch."""
    return ModuleRecord(
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
        scale=own.scale,
        predicts=predicts,
    )


def _with_texts(
    user: UserModel, adapter: Adapter, model: StoredModule, axes: Axes, every: Sequence[Batch],
    inputs: Sequence[str], *, reads_own: bool,
) -> tuple[ModuleRecord, TextReading]:  # fmt: skip
    """The module's record with how a text becomes a batch, and what that was seen by."""
    record = model.record
    if axes.source:
        pair = source_reading(adapter, axes, every, record.follows and reads_own)
        reading = TextReading(begin=pair.begin, seen=pair.seen, trusted=pair.trusted)
        record = replace(record, source=pair.record)
    else:
        named = bool(inputs or record.features)
        make = model.fed if named and (record.fed or user.prepare) else None
        reading = text_reading(user, adapter.trace, axes, every, make, record.settings.mark)
    begin = reading.begin if inputs else None
    return replace(record, padding=reading.padding, begin=begin, first=reading.first), reading


def _check_pieces(user: UserModel, batches: Mapping[str, Sequence[Batch]]) -> None:
    """Refuse batches with numbers of pieces that their tokenizer does not have."""
    if user.tokenizer is None:
        return
    pieces = len(user.tokenizer.tokens)
    for batch in (batch for some in batches.values() for batch in some):
        words = words_of(batch.inputs, batch.targets)
        if words is not None and words.numel() and int(words.max()) >= pieces:
            raise RnnlensError(
                f"a batch has the number {int(words.max())} and the tokenizer pieces 0 to "
                f"{pieces - 1}, so that it is not the one the batches were made with; give that one"
            )


def counted(vocabulary: Vocabulary, dataset: Dataset) -> Vocabulary:
    """The names with how often each label comes in training."""
    labels = dataset.answers[OUTPUT]
    counts = dataset.counts(OUTPUT) if dataset.model.predicts else labels.no_counts()
    rows = counts[1] if labels.several else counts
    return replace(vocabulary, counts=tuple(rows.tolist()))


def _given_back(model: StoredModule, batch: Batch) -> float:
    """Which share of a batch's pieces its tokenizer gives again."""
    words = words_of(batch.inputs, batch.targets)
    if model.pieces is None or words is None or not words.numel():
        return 0.0
    return model.pieces.given_back(words.flatten().tolist()[:_PIECES_TRIED])


def _verified(
    model: StoredModule,
    axes: Axes,
    reading: TextReading,
    inputs: Sequence[str],
    random: bool,
    given_back: float,
) -> str:
    """What was verified of how a module is read, and what is taken on trust, in one line."""
    record, (seen, trusted) = model.record, reading.said(inputs)
    if axes.tried:
        seen.insert(0, f"each of {axes.tried} timesteps of a batch reads its own word")
    else:
        trusted.insert(0, "where words and targets lie")
    if model.adapter.is_recurrent:
        seen.insert(0, f"recomputed states are the module's ({record.difference:.0e})")
    if not inputs and not record.features:
        trusted.append("nothing of texts: what it reads has no names (give inputs=)")
    elif model.pieces and given_back >= _SAME_TOKENIZER:  # which others may reach, too
        trusted.append(
            "tokenizer=, that it is the one your batches were made with: it gives "
            f"{given_back:.0%} of a batch's pieces again"
        )
    elif model.pieces:
        trusted.append(
            f"tokenizer=, which gives only {given_back:.0%} of a batch's pieces again where their "
            "text is split anew: is it the one that your batches were made with?"
        )
    elif model.user.functions.get("words"):
        trusted.append("words=, that it splits texts as yours were")
    picked = [] if record.several or record.scale or model.user.logits else ["a softmax over them"]
    named = [] if model.user.labels is None else ["the order of labels"]
    trusted += [" and ".join([*named, *picked])] if model.predicts and named else named
    if random:
        trusted.append("its states, which are random")
    return f"verified: {'; '.join(seen) or 'nothing'}. On trust: {'; '.join(trusted) or 'nothing'}."


def _check_sums(logits: Tensor, labels: Tensor) -> None:
    """Refuse what a sigmoid gives for each label, where one of them is right: what lies between 0
    and 1, and as shares of their sum predicts better than as logits.
    """
    if logits.shape[-1] < 2 or not bool(((logits > 0) & (logits < 1)).all()):
        return
    readings = (F.cross_entropy(rows, labels, reduction="none") for rows in (logits, logits.log()))
    as_logits, as_shares = readings
    gap = as_logits - as_shares
    if len(gap) > 1 and float(gap.mean()) > _SURE_ERRORS * float(gap.std()) / len(gap) ** 0.5:
        raise RnnlensError(
            "what the module gives for its labels lies between 0 and 1 and does not sum to 1, as "
            "after a sigmoid, and one label is right each time; give logits=lambda p: p.log() to "
            "see each as a share of their sum"
        )


def _check_against_rest(logits: Tensor, labels: Tensor) -> None:
    """Refuse logits that were trained for each label against all others: their sigmoids are as
    large as the labels are frequent, so that they sum to about 1, which those of a softmax do not,
    and as shares of that sum they predict better.
    """
    said = logits.sigmoid()
    right = torch.bincount(labels, minlength=logits.shape[-1]).double() / max(1, len(labels))
    apart, total = float((said.mean(0) - right).abs().sum()), float(said.sum(-1).mean())
    if len(labels) < _FEW_STATES or apart > _NOT_SO_FREQUENT or abs(total - 1) > _NOT_ONE:
        return
    as_softmax, as_shares = (
        F.cross_entropy(rows, labels, reduction="none") for rows in (logits, F.logsigmoid(logits))
    )
    gap = as_softmax - as_shares
    # Of two labels of a softmax, and of a module that knows nothing, sigmoids may sum to 1, too.
    least = max(_SURE_ERRORS * float(gap.std()) / len(gap) ** 0.5, _LEAST_GAP)
    if float(gap.mean()) > least:
        raise RnnlensError(
            f"the module's logits look like those of each label against all others (BCE): their "
            f"sigmoids sum to {total:.2f}, and predict better than their softmax; give "
            "logits=torch.nn.functional.logsigmoid to see each as a share of their sum, or "
            "logits=lambda z: z if they are of a softmax"
        )


@torch.no_grad()
def _warn_if_random(adapter: Adapter, batch: Batch) -> bool:
    """Whether states or predictions depend on random numbers, which is warned of."""
    passes = []
    for seed in (1, 0):
        adapter.seed = seed
        passes.append(adapter.trace(batch.inputs))
    there = at_hand(passes[0].states)
    pairs = [(values, passes[1].states[kind]) for kind, values in there.items()]
    if passes[0].y is not None and passes[1].y is not None:
        pairs.append((passes[0].y, passes[1].y))
    if all(torch.equal(a, b) for a, b in pairs):
        return False
    warnings.warn(
        "the module is random in evaluation mode too (dropout or sampling that is always on); it "
        "is read with the same random numbers each time, which is one of many readings",
        RnnlensWarning,
        stacklevel=3,
    )
    return True


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
    return replace(scale, error=max((squares / max(1, count)) ** 0.5, _LEAST_ERROR * spread))


def _of_texts(trace: Trace) -> bool:
    """Whether a module has one prediction for a whole sequence of several steps."""
    last = next(reversed(at_hand(trace.states).values()))
    return trace.y is not None and len(trace.y) == 1 < len(last)


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
def _warn_if_worse_than_unigram(dataset: Dataset, picked: bool) -> None:
    """Warn of a module that predicts its targets worse than the frequencies of labels do.

    This catches mistakes in reading a module that nothing else shows: most likely targets lie in
    another order than predictions, or else the module is not trained. `picked`: the user has said
    what its logits are.
    """
    stream = dataset.stream("train", OUTPUT, kinds=(PREDICTION,), most=_COMPARED_STATES)
    answers = stream.answers
    try:
        prior = answers.prior(stream.given_frequencies())
        count = len(stream.data.counts)
        chunk = stream.chunk(np.arange(0, count, -(-count // _COMPARED_BATCHES)))
    except RnnlensError:  # fitting meets the same error and reports it
        return
    logits = dataset.model.predict(chunk.states[PREDICTION]).double().cpu()
    if not (answers.several or answers.scale):
        _check_sums(logits, chunk.labels.cpu())
        if not picked:
            _check_against_rest(logits, chunk.labels.cpu())
    model, unigram = (
        F.cross_entropy(*answers.questions(rows, chunk.labels.cpu()), reduction="none")
        for rows in (logits, prior.expand_as(logits))
    )
    gap = model - unigram
    if len(gap) > 1 and float(gap.mean()) > _SURE_ERRORS * float(gap.std()) / len(gap) ** 0.5:
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


def _with_pieces(user: UserModel, trace: Trace, sort: str) -> UserModel:
    """A language model's labels, where a tokenizer names them."""
    if user.tokenizer is None or user.labels is not None or sort == NOTHING:
        return user
    count = trace.prediction.shape[-1]
    return replace(user, labels=user.tokenizer.named(count, "predicts"))


def _own_labels(
    user: UserModel, batches: Mapping[str, Sequence[Batch]], trace: Trace, other: LabelSet | None
) -> LabelSet:
    """The labels of the module itself; where it predicts none of them, those of `other` targets."""
    first = batches["train"][0]
    if first.sort == NOTHING:
        return other or LabelSet(("",))
    count = trace.prediction.shape[-1]
    table = first.tables.get(OUTPUT)
    if first.sort == NUMBER and table is not None:
        return _numbers(user, table, [b.targets for b in batches["train"]], count)
    if count == 1:
        raise RnnlensError(
            "the module predicts one number, and targets are whole numbers; give numbers as "
            "targets.float(), and of yes and no name both and give "
            "logits=lambda z: torch.cat([0 * z, z], -1)"
        )
    names = _names(user.labels, count)
    if len(names) != count:
        raise RnnlensError(
            f"the module predicts {count} labels and {len(names)} are named; name every one, or "
            "give logits= a function that picks the logits"
        )
    if table is not None and table.shape[1] != count:
        raise RnnlensError(
            f"the module predicts {count} labels and targets have an axis of {table.shape[1]}; "
            "give a 0 or 1 for each of them"
        )
    return LabelSet(names, several=first.sort == LABELS)


def _numbers(user: UserModel, table: Tensor, codes: Sequence[Tensor], count: int) -> LabelSet:
    """The bins of a module's numbers."""
    whole = bool((table == table.round()).all())
    if count > 1 and whole and len(table) <= max(_MOST_LABELS, count):
        raise RnnlensError(
            f"targets are whole numbers, {table[0]:g} to {table[-1]:g}, kept as floats, and the "
            f"module predicts {count} labels; give them as labels: targets.long()"
        )
    if user.labels is not None or count > 1:
        named = f"labels= names {len(user.labels)}" if user.labels is not None else ""
        raise RnnlensError(
            "targets are numbers, of which the module must predict one, and "
            f"{named or f'it predicts {count}'}; leave labels= out, give logits= a function that "
            "picks the number, or give labels as targets"
        )
    if table.tolist() == [0, 1]:
        raise RnnlensError(
            "every target is 0 or 1, which are labels and no numbers; give targets.long() and "
            "logits=lambda z: torch.cat([0 * z, z], -1), with the names of no and yes"
        )
    scale = _scale_of(table, codes)
    return LabelSet(scale.names, scale=scale)


def _scale_of(table: Tensor, codes: Sequence[Tensor]) -> Scale:
    """The bins of all targets, which are places in a table of numbers."""
    there = [table[one[one >= 0].flatten().long().cpu()] for one in codes]
    values = [part for part in there if len(part)]
    if not values:
        raise RnnlensError("every target is ignored, so that there is nothing to learn from")
    return Scale.of(torch.cat(values))


def _other_labels(
    batches: Sequence[Batch], names: Mapping[str, Sequence[str] | None]
) -> dict[str, LabelSet]:
    """What is asked beside the module's own labels, by semantic."""
    first = batches[0]
    if missing := [name for name in names if name not in first.others]:
        there = ", ".join(first.others) or "output alone"
        raise RnnlensError(
            f"targets= names {missing[0]!r}, and the batches have targets for {there}; give pairs "
            f"(inputs, {{'output': ..., '{missing[0]}': ...}})"
        )
    return {name: _other(name, batches, names.get(name)) for name in first.others}


def _other(name: str, batches: Sequence[Batch], names: Sequence[str] | None) -> LabelSet:
    table, codes = batches[0].tables.get(name), [batch.others[name] for batch in batches]
    if table is not None and table.dim() == 1:
        _check_numbers(name, table, names)
        scale = _scale_of(table, codes)
        return LabelSet(scale.names, scale=scale)
    largest = max(int(one.max()) for one in codes)
    count = largest + 1 if table is None else table.shape[1]
    chosen = _names(None if names is None else names_of(names, f"targets={{{name!r}: ...}}"), count)
    if len(chosen) < count or (table is not None and len(chosen) > count):
        raise RnnlensError(
            f"the targets of {name} have {count} labels and {len(chosen)} are named; name every one"
        )
    if count < 2 and table is None:
        raise RnnlensError(
            f"the targets of {name} have a single label, so that there is nothing to tell apart; "
            "give more"
        )
    return LabelSet(chosen, several=table is not None)


def _check_numbers(name: str, table: Tensor, names: Sequence[str] | None) -> None:
    """Refuse floats that are labels, or that should be: numbers have no names."""
    if names is not None:
        raise RnnlensError(
            f"targets= names {len(names)} labels of {name}, whose targets are numbers and no sets "
            f"with a last axis of {len(names)}; leave the names out, or give one 0 or 1 for each"
        )
    if table.tolist() == [0, 1]:
        raise RnnlensError(
            f"every target of {name} is 0 or 1, which are labels and no numbers; give one label as "
            f"a whole number, or name all that may hold: targets={{{name!r}: [...]}}"
        )


def _names(given: Sequence[str] | None, count: int) -> tuple[str, ...]:
    return tuple(map(str, range(count) if given is None else given))
