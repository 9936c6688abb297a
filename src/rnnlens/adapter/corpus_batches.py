"""Batches for a user's module, made from the sentences of a corpus."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from rnnlens.adapter.adapter import Adapter
from rnnlens.adapter.batches import NONE, OUTPUT, Batch, check_batches, check_forms, largest
from rnnlens.adapter.user_model import UserModel
from rnnlens.base.errors import RnnlensError
from rnnlens.corpus.corpus import Corpus, numbered
from rnnlens.corpus.split import Split, equally_long
from rnnlens.corpus.tokens import NO_TAG, SPLITS, Ints
from rnnlens.corpus.vocabulary import Vocabulary
from rnnlens.labels.parts_of_speech import UNIVERSAL
from rnnlens.labels.sets import is_special

_SIDE_BY_SIDE_CPU, _SIDE_BY_SIDE_GPU = 32, 512  # sentences in a batch

TAG = "tag"  # the semantic of the words' parts of speech

Shape = tuple[int, ...] | None


def batches_of(
    user: UserModel, vocabulary: Vocabulary, corpus: Corpus, longest: int, fed: Shape = None
) -> dict[str, list[Batch]]:
    """The batches of every split: from the user's `batches` function, else the corpus's words.

    `fed` is the shape of one sentence's numbers, where that is known already.
    """
    if user.batches:
        counts = {} if user.labels is None else {OUTPUT: len(user.labels)}
        batches = {
            name: check_batches(
                user.batches([*corpus.sentences(name)]), "batches", user.ignore_index, counts
            )
            for name in SPLITS
        }
    else:
        batches = _of_words(user, vocabulary, corpus, longest, fed)
    for name, some in batches.items():
        if not some:
            raise RnnlensError(
                f"the {name} part of {corpus.name} gives no batch; give more text, or sentences of "
                "two words or more"
            )
        check_forms(some, batches["train"][0].forms, f"the {name} part")
    return batches


def tag_names(user: UserModel, batches: Mapping[str, Sequence[Batch]]) -> dict[str, Sequence[str]]:
    """The names of the tags that batches of a corpus have beside their targets, if they have any;
    what the numbers of a user's own batches mean is not known.
    """
    return {TAG: UNIVERSAL} if not user.batches and TAG in batches["train"][0].others else {}


def _of_words(
    user: UserModel, vocabulary: Vocabulary, corpus: Corpus, longest: int, fed: Shape
) -> dict[str, list[Batch]]:
    """Batches of the corpus's words, with the next words or their tags as targets."""
    label_of = _label_of_tags(vocabulary)
    texts = {
        name: Texts(*numbered(corpus.sentences(name), vocabulary, user.split, longest), label_of)
        for name in SPLITS
    }
    if label_of is not None and not any((label_of[t.tags] >= 0).any() for t in texts.values()):
        raise RnnlensError(
            f"{corpus.name} has no tags among the module's labels "
            f"({', '.join(vocabulary.labels[:3])}, ...); give a tagged corpus"
        )
    if user.prepare:
        marked = user.mark(len(vocabulary.inputs)) is not None
        return {name: _one_by_one(user.prepare, some, marked) for name, some in texts.items()}
    first = fed == (1, -1) if fed else _sequences_first(user, texts["train"])
    return {name: _side_by_side(user, some, first) for name, some in texts.items()}


@dataclass(frozen=True)
class Texts:
    """Numbered sentences, with a target for each word: the next word, or the word's label."""

    split: Split
    tags: Ints
    label_of: Ints | None  # of each tag

    def batch(self, chosen: Ints) -> Batch:
        """Sentences of one length, (B, T), with the tags of their words where these have any."""
        places = self.split.starts[chosen][:, None] + np.arange(self.split.lengths[chosen[0]])
        words, tags = torch.from_numpy(self.split.ids[places]), self.tags[places]
        if self.label_of is None:
            words, targets = words[:, :-1].contiguous(), words[:, 1:].contiguous()
        else:
            targets = torch.from_numpy(self.label_of[tags])
        if not (self.tags != NO_TAG).any():
            return Batch(words, targets)
        tags = np.where(tags == NO_TAG, NONE, tags)[:, : targets.shape[1]]
        return Batch(words, targets, {TAG: torch.from_numpy(np.ascontiguousarray(tags))})


def _label_of_tags(vocabulary: Vocabulary) -> Ints | None:
    """The label of each tag, at the end that of no tag; None where the labels are words."""
    if vocabulary.inputs == vocabulary.labels:
        return None
    other = {label for label in vocabulary.labels if not is_special(label)} - set(UNIVERSAL)
    if other:
        raise RnnlensError(
            "the module's labels are neither the words it reads nor universal parts of speech "
            f"({min(other)} is none); "
            "give UserModel batches= a function that makes batches of sentences"
        )
    number = {label: k for k, label in enumerate(vocabulary.labels)}
    return np.array([number.get(tag, NONE) for tag in UNIVERSAL] + [NONE])


def _one_by_one(prepare: Callable[[list[int]], Any], texts: Texts, marked: bool) -> list[Batch]:
    """Single sentences; `marked`: a mark is read in front of each, and its last word is not."""
    batches: list[Batch] = []
    for number in np.flatnonzero(texts.split.lengths > 1):
        words, targets = batch = texts.batch(np.array([number]))
        others = {name: tags[0] for name, tags in batch.others.items()}
        if marked and texts.label_of is None:  # each state stands beside the word that comes
            words = targets = torch.cat([words, targets[:, -1:]], 1)
            others = {}
        batches.append(Batch(prepare(words[0].tolist()), targets[0], others))
    return batches


def _side_by_side(user: UserModel, texts: Texts, first: bool) -> list[Batch]:
    """Sentences of one length together, so that no module has to know of padding.

    `first` says whether a sentence is a row, and not a column.
    """
    device = user.device
    if device.type == "meta":
        raise RnnlensError("the module is on the meta device, without values; load its weights")
    most = _SIDE_BY_SIDE_CPU if device.type == "cpu" else _SIDE_BY_SIDE_GPU
    batches: list[Batch] = []
    for chosen in equally_long(texts.split, most):
        batch = texts.batch(chosen)
        words, targets, others = batch.inputs, batch.targets, batch.others
        if not first:
            words, targets = words.T.contiguous(), targets.T.contiguous()
            others = {name: tags.T.contiguous() for name, tags in others.items()}
        batches.append(Batch(words.to(device), targets, others))
    return batches


def _sequences_first(user: UserModel, texts: Texts) -> bool:
    """Whether the module wants sentences as rows, and not as columns; both are tried."""
    refusal: RnnlensError | None = None
    for first in (True, False):
        batches = _side_by_side(user, texts, first)
        try:
            order = Adapter(user).align(largest(batches)).sequences_first if batches else None
        except RnnlensError as error:
            refusal = refusal or error
            continue
        if order is not None:
            return order
    if user.batch_first is not None and not refusal:
        return user.batch_first
    raise refusal or RnnlensError(
        "nothing tells whether sequences or timesteps come first in what the module is fed; give "
        "batch_first=True or False"
    )
