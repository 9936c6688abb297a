"""Links to the page, as its address bar writes them."""

from urllib.parse import quote

from rnnlens.model.kinds import PREDICTION
from rnnlens.search.disagreement import Disagreement, Sentence

_PLAIN = ",:;@$/?"  # what an address holds as it is


def link(found: Disagreement, sentence: Sentence) -> str:
    """The part of an address after the # that shows a sentence with the place of most disagreement:
    two runs side by side, or two kinds of one run pinned.
    """
    first, second = found.ends
    text, row = _quoted(" ".join(sentence.words)), sentence.step + 1
    semantic = "" if found.semantic == "output" else f"&semantic={_quoted(found.semantic)}"
    run = f"run={_quoted(first.lens.name)}"
    if first.lens is second.lens:
        pins = "".join(f"&pin={_quoted(end.kind)}:{row}" for end in found.ends)
        return f"#{run}&text={text}{semantic}{pins}&at={_quoted(second.kind)}:{row}"
    kinds = [end.kind for end in found.ends if end.kind != PREDICTION]
    shown = "" if not kinds else f"&kinds={','.join(dict.fromkeys(map(_quoted, [*kinds, 'y'])))}"
    beside = f"&beside={_quoted(second.lens.name)}"
    # Each word has a line of the first and one of the second.
    return f"#{run}{beside}&text={text}{semantic}{shown}&at={_quoted(second.kind)}:{2 * row}"


def _quoted(text: str) -> str:
    return quote(text, safe=_PLAIN + " ").replace(" ", "+")
