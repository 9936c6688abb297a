"""Penn Treebank brackets: ( (S (NP (DT the) (NN dog)) (VP (VBZ barks)) (. .)) )"""

import re
from collections.abc import Iterator
from pathlib import Path

from rnnlens.corpus.sentence import Sentence
from rnnlens.corpus.source import lines
from rnnlens.corpus.tags import universal
from rnnlens.errors import RnnlensError

_PIECE = re.compile(r"[()]|[^()\s]+")
_ESCAPES = {
    "-LRB-": "(",
    "-RRB-": ")",
    "-LSB-": "[",
    "-RSB-": "]",
    "-LCB-": "{",
    "-RCB-": "}",
}


def read_brackets(path: Path, encoding: str) -> Iterator[Sentence]:
    """The words of each tree with their parts of speech; traces (tag -NONE-) are dropped."""
    words: list[str] = []
    tags: list[str] = []
    depth, opened, pending = 0, 0, [""]
    for number, line in enumerate(lines(path, encoding), 1):
        for piece in _PIECE.findall(line):
            if piece == "(":
                opened = number if depth == 0 else opened
                depth, pending = depth + 1, []
            elif piece == ")":
                depth -= 1
                if depth < 0:
                    raise RnnlensError(f"{path}, line {number}: a bracket closes that never opened")
                if len(pending) == 2 and pending[0] != "-NONE-":
                    words.append(_ESCAPES.get(pending[1], pending[1].replace("\\/", "/")))
                    tags.append(universal(pending[0]) or "X")
                pending = []
                if depth == 0 and words:
                    yield Sentence(tuple(words), tuple(tags))
                    words, tags = [], []
            elif depth == 0:
                raise RnnlensError(
                    f"{path}, line {number}: {piece!r} stands outside any bracket; "
                    "is this a treebank? give --format"
                )
            else:
                pending.append(piece)
    if depth:
        raise RnnlensError(
            f"{path}: the tree that opens at line {opened} never closes; is the file whole?"
        )
