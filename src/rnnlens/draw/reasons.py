"""What edits have changed, and how a model goes on, as lines for a terminal."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rnnlens.ask.follow import percent
from rnnlens.draw.visible import clip, printable, width_of

if TYPE_CHECKING:
    from rnnlens.ask.continuation import Continuation

_WIDEST = 18  # columns of a word


def changed_lines(grid: Mapping[str, Any]) -> list[str]:
    """What the prediction was and is after each word, and how far apart these are."""
    if not grid["edits"]:
        return []
    margin = min(_WIDEST, max(width_of(printable(word["text"])) for word in grid["words"]))
    lines = [f"edited: {', '.join(map(printable, grid['edits']))}",
             "the prediction before, and now: bits between them"]  # fmt: skip
    for word, states, changes in zip(grid["words"], grid["rows"], grid["changes"], strict=True):
        change, (label, now) = changes[-1], states[-1]["top"][0]
        shown = clip(printable(word["text"]), margin)
        was = f"{printable(change['before'][0])} {percent(change['before'][1])}"
        line = " " * (margin - width_of(shown)) + f"{shown}  {change['bits']:.3f}  {was}"
        lines.append(f"{line} → {printable(label)} {percent(now)}" if change["bits"] else line)
    return lines


def goes_on_lines(continued: "Continuation") -> list[str]:
    """How the model goes on, with edits and without."""
    if not continued.edited:
        return [f"goes on: {' '.join(continued.words)}"]
    before, after = " ".join(continued.before), " ".join(continued.words)
    return [f"goes on before: {before}", f"goes on after:  {after}"]
