"""Which labels a reader takes from a source: none, those of words, or those of whole texts."""

from collections.abc import Callable
from typing import NamedTuple

from rnnlens.base.errors import RnnlensError
from rnnlens.corpus.read.plain_text import Split, splitter

NEXT, TAG, CLASSIFY = "next", "tag", "classify"
TASKS = (NEXT, TAG, CLASSIFY)
_UPOS, _XPOS = "upos", "xpos"


class Task(NamedTuple):
    """What a network is trained for, and where words and labels stand; empty: where they usually
    do.
    """

    name: str = NEXT
    text: str = ""  # the name of a column, or its number from 1
    label: str = ""
    splitter: Callable[[str], Split] = splitter  # what splits texts like a sample

    def of_tag(self, tag: str, part: str) -> str:
        """The label of a word in a source of tags: its universal part of speech or its tag."""
        if (self.label or _UPOS) not in (_UPOS, _XPOS):
            raise RnnlensError(
                f"--label-column {self.label!r}: the words have universal parts of speech, "
                f"{_UPOS}, and the tags of their source, {_XPOS}; choose one"
            )
        return tag if self.label == _XPOS else part

    def of_one_corpus(self) -> "Task":
        """A task whose texts, from now on, are all split as the first of them are."""
        chosen: list[Split] = []

        def as_the_first(sample: str) -> Split:
            if not chosen:
                chosen.append(self.splitter(sample))
            return chosen[0]

        return self._replace(splitter=as_the_first)


WORDS = Task()  # words alone


def column(given: str, names: list[str] | None, width: int, flag: str, where: str) -> int:
    """The place of a column that is asked for by its name or by its number from 1."""
    if given.isdecimal():
        if not 1 <= int(given) <= width:
            raise RnnlensError(
                f"{where}: there is no column {given} for {flag}; there are {width}, from 1"
            )
        return int(given) - 1
    if names is None:
        raise RnnlensError(
            f"{where}: the columns have no names, and {flag} is {given!r}; give a number from 1 to "
            f"{width}"
        )
    folded = [name.lower() for name in names]
    if given.lower() not in folded:
        raise RnnlensError(
            f"{where}: there is no column {given!r} for {flag}; there is {', '.join(names)}"
        )
    return folded.index(given.lower())
