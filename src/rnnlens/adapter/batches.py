"""Batches for somebody's own module, made from the sentences of a corpus."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rnnlens.adapter.axes.targets import NONE, Batch, check_batches, largest
from rnnlens.adapter.settings import mark_of
from rnnlens.adapter.user_model import UserModel
from rnnlens.corpus.batches import Split, equally_long
from rnnlens.corpus.corpus import Corpus, numbered
from rnnlens.corpus.tags import UNIVERSAL
from rnnlens.corpus.tokens import SPLITS, Ints
from rnnlens.corpus.vocabulary import Vocabulary, is_special
from rnnlens.errors import RnnlensError

_FEW, _MANY = 32, 512  # sentences side by side, on a CPU and on a GPU

Fed = tuple[int, ...] | None


def batches_of(
    own: UserModel, vocabulary: Vocabulary, corpus: Corpus, longest: int, fed: Fed = None
) -> dict[str, list[Batch]]:
    """The batches of every split: as the module's owner makes them, else the words of the corpus.

    `fed` is the shape of one sentence's numbers, where that is known already.
    """
    if own.batches:
        made = {
            name: check_batches(own.batches([*corpus.sentences(name)]), "batches", own.ignore_index)
            for name in SPLITS
        }
    else:
        made = _made(own, vocabulary, corpus, longest, fed)
    for name, some in made.items():
        if not some:
            raise RnnlensError(
                f"the {name} part of {corpus.name} gives no batch; give more text, or sentences of "
                "two words or more"
            )
    return made


def _made(
    own: UserModel, vocabulary: Vocabulary, corpus: Corpus, longest: int, fed: Fed
) -> dict[str, list[Batch]]:
    label_of = _label_of_tags(vocabulary)
    texts = {
        name: Texts(*numbered(corpus.sentences(name), vocabulary, own.words, longest), label_of)
        for name in SPLITS
    }
    if label_of is not None and not any((label_of[t.tags] >= 0).any() for t in texts.values()):
        raise RnnlensError(
            f"{corpus.name} has no tags among the module's labels "
            f"({', '.join(vocabulary.labels[:3])}, ...); give a tagged corpus"
        )
    if own.prepare:
        marked = mark_of(own.prepare, len(vocabulary.inputs)) is not None
        return {name: _one_by_one(own.prepare, some, marked) for name, some in texts.items()}
    first = fed == (1, -1) if fed else _sequences_first(own, texts["train"])
    return {name: _side_by_side(own, some, first) for name, some in texts.items()}


@dataclass(frozen=True)
class Texts:
    """Numbered sentences, and what they are asked: the next word, or each word's label."""

    split: Split
    tags: Ints
    label_of: Ints | None  # of each tag

    def rows(self, chosen: Ints) -> tuple[Tensor, Tensor]:
        """What sentences of one length read and are asked, (B, T)."""
        places = self.split.starts[chosen][:, None] + np.arange(self.split.lengths[chosen[0]])
        words = torch.from_numpy(self.split.ids[places])
        if self.label_of is None:
            return words[:, :-1].contiguous(), words[:, 1:].contiguous()
        return words, torch.from_numpy(self.label_of[self.tags[places]])


def _label_of_tags(vocabulary: Vocabulary) -> Ints | None:
    """The label of each tag and of none, where labels are tags; None where they are words."""
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
    made = []
    for number in np.flatnonzero(texts.split.lengths > 1):
        words, targets = texts.rows(np.array([number]))
        if marked and texts.label_of is None:
            words = targets = torch.cat([words, targets[:, -1:]], 1)
        made.append((prepare(words[0].tolist()), targets[0]))
    return made


def _side_by_side(own: UserModel, texts: Texts, first: bool) -> list[Batch]:
    """Sentences of one length together; no module has to know of padding."""
    device = own.device
    if device.type == "meta":
        raise RnnlensError("the module is on the meta device, without values; load its weights")
    most = _FEW if device.type == "cpu" else _MANY
    made: list[Batch] = []
    for chosen in equally_long(texts.split, most):
        words, targets = texts.rows(chosen)
        if not first:
            words, targets = words.T.contiguous(), targets.T.contiguous()
        made.append((words.to(device), targets))
    return made


def _sequences_first(own: UserModel, texts: Texts) -> bool:
    """Whether sentences are rows or columns of what the module is fed: it is tried."""
    wrong: RnnlensError | None = None
    for first in (True, False):
        batches = _side_by_side(own, texts, first)
        try:
            told = own.adapter().align(largest(batches)).sequences_first if batches else None
        except RnnlensError as error:
            wrong = wrong or error
            continue
        if told is not None:
            return told
    if own.batch_first is not None and not wrong:
        return own.batch_first
    raise wrong or RnnlensError(
        "nothing tells whether sequences or timesteps come first in what the module is fed; give "
        "batch_first=True or False"
    )
