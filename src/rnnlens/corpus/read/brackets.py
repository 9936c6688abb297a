"""Penn Treebank brackets: ( (S (NP (DT the) (NN dog)) (VP (VBZ barks)) (. .)) )"""

import re
from collections.abc import Iterator
from pathlib import Path

from rnnlens.base.errors import RnnlensError
from rnnlens.corpus.read import Sentence
from rnnlens.corpus.read.task import TAG, WORDS, Task
from rnnlens.corpus.read.text_files import lines
from rnnlens.labels.parts_of_speech import universal

_PIECE = re.compile(r"[()]|[^()\s]+")
_ESCAPES = {
    "-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}",
}  # fmt: skip
_ESCAPED = re.compile(r"\\([/*])")


def read_brackets(path: Path, encoding: str, task: Task = WORDS) -> Iterator[Sentence]:
    """The words of each tree with their parts of speech; traces (tag -NONE-) are dropped."""
    depth, opened = 0, 0
    inner: list[str] = []  # what stands in the innermost bracket: a tag, then its word
    leaves: list[tuple[str, str]] = []
    for number, line in enumerate(lines(path, encoding), 1):
        where = f"{path}, line {number}"
        for piece in _PIECE.findall(line):
            if piece == "(":
                opened = number if depth == 0 else opened
                leaves += _leaf(inner[1:], where)  # a word with brackets after it is no leaf
                depth, inner = depth + 1, []
            elif piece == ")":
                depth -= 1
                leaves += _leaf(inner, where)
                inner = []
            else:
                inner.append(piece)
            if depth < 0:
                raise RnnlensError(f"{where}: a bracket closes that never opened; mend the tree")
            if depth == 0 and piece != ")":
                raise RnnlensError(
                    f"{where}: {piece!r} stands outside any bracket; is this a treebank? "
                    "give --format"
                )
            if depth == 0 and leaves:
                words, tags = zip(*leaves, strict=True)
                parts = tuple(universal(tag) or "X" for tag in tags)
                each = zip(tags, parts, strict=True)
                labels = tuple(task.of_tag(*one) for one in each) if task.name == TAG else None
                yield Sentence(words, parts, labels)
                leaves = []
    if depth:
        raise RnnlensError(
            f"{path}: the tree that opens at line {opened} never closes; is the file whole?"
        )


def _leaf(pieces: list[str], where: str) -> list[tuple[str, str]]:
    """The word and part of speech in a bracket; none for a trace or an inner node."""
    if not pieces:
        return []
    if len(pieces) != 2:
        raise RnnlensError(f"{where}: {' '.join(pieces)!r} is no tag with its word; mend the tree")
    tag, word = pieces
    if tag == "-NONE-":
        return []
    return [(_ESCAPES.get(word, _ESCAPED.sub(r"\1", word)), tag)]
