"""The labels of a corpus whose words or texts have some: their order, and what is wrong of them."""

import numpy as np

from rnnlens.base.errors import RnnlensError
from rnnlens.corpus.flat import Numbers, release, spans
from rnnlens.corpus.read.labels import CLASSIFY
from rnnlens.corpus.tokens import SPLITS, Ints, ReadingConfig, Tokens

_LONG = 300  # characters: such names are no numbers to be ordered by
_MANY = 0.5  # labels for each text: they are names or numbers rather than classes


def label_numbers(
    source: str, tokens: Tokens, part: Numbers, config: ReadingConfig
) -> tuple[tuple[str, ...], Ints]:
    """The names of all labels, the most frequent in training first, and the number that each has of
    those that were read.

    Names that are whole numbers stay in their order, as grades and stars have one.
    """
    labels, names = tokens.labels, tokens.label_names
    if labels is None:
        raise RnnlensError(f"{source} has no labels; give another corpus")
    texts, counts = len(part), np.zeros(len(names), np.int64)
    for first, last in spans(tokens.starts):
        lengths = np.diff(tokens.starts[first : last + 1])
        some = labels[tokens.starts[first] : tokens.starts[last]]
        train = some[np.repeat(part[first:last] == 0, lengths)]
        counts += np.bincount(train, minlength=len(names))
        release(labels)
    if len(names) < 2:
        raise RnnlensError(
            f"{source} has the label {names[0]!r} alone, of which nothing can be learnt; give "
            "another --label-column or corpus"
        )
    if config.asked.task == CLASSIFY and len(names) > max(2, _MANY * texts):
        raise RnnlensError(
            f"{source} has {len(names):,} labels for {texts:,} texts; give the column that "
            "has few: --label-column"
        )
    for number in np.flatnonzero(counts == 0):
        raise RnnlensError(_unseen(names[number], int(number), tokens, part, config))
    order = np.argsort(-counts, kind="stable")
    if all(len(name) < _LONG and name.removeprefix("-").isdecimal() for name in names):
        order = np.argsort([int(name) for name in names], kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return tuple(names[k] for k in order), place


def _unseen(name: str, number: int, tokens: Tokens, part: Numbers, config: ReadingConfig) -> str:
    """What to do about a label that the training part does not have."""
    first = int(np.flatnonzero(tokens.labels == number)[0])
    sentence = int(np.searchsorted(tokens.starts, first, side="right")) - 1
    which = SPLITS[part[sentence]]
    given = config.valid if which == "valid" else config.test
    remedy = f"mend {given}" if given else "give more text or another --split-seed"
    return f"the label {name!r} is in the {which} part and never in training; {remedy}"
