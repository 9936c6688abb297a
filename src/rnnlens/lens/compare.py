"""`rnnlens.compare`: two of anything side by side."""

from rnnlens.ask.comparison import Comparison, compared
from rnnlens.base.errors import RnnlensError
from rnnlens.lens.grid import Grid
from rnnlens.lens.lens import Lens


def compare(
    first: Grid | Lens,
    second: Grid | Lens | str,
    text: str | None = None,
    semantic: str | None = None,
) -> Comparison:
    """Two grids side by side, or two lenses on a text, or one lens on two texts.

    Rows stand side by side by the words read, kinds by their ids, labels by their names; what only
    one of the two has is said in `notes`.

    >>> import rnnlens
    >>> lens = rnnlens.load("english-news")
    >>> number = rnnlens.compare(lens, "the keys to the cabinet {is|are} on the table")
    >>> number.words[5], number.pairs[5]
    ('are', (5, 5))
    >>> bool(number["y"][4] == 0 < number["y"][5])
    True
    >>> shorter = rnnlens.compare(lens("the old man left"), lens("the man left"))
    >>> shorter.pairs
    ((0, 0), (1, None), (2, 1), (3, 2))

    `rnnlens.compare(lens, other, "a text")` has another lens read the same text.
    """
    if isinstance(first, Grid) and isinstance(second, Grid) and text is None:
        return compared(second, first)
    if isinstance(first, Lens) and isinstance(second, Lens) and isinstance(text, str):
        return compared(second(text, semantic), first(text, semantic))
    if isinstance(first, Lens) and isinstance(second, str) and text is None:
        texts = first.two_texts(second)
        if texts is None:
            raise RnnlensError(
                f"{second[:60]!r} is one text; write two in one, as in the keys {{is|are}} "
                "here, or give another lens to read it"
            )
        return compared(first(texts.second, semantic), first(texts.first, semantic))
    given = ", ".join(type(one).__name__ for one in (first, second, text) if one is not None)
    raise RnnlensError(
        f"{given} cannot be compared; give two grids, two lenses and a text, or a lens and a text "
        "with two alternatives, such as {is|are}"
    )
