"""What the engine is told of texts: how they are split, and the names of words and labels."""

from typing import Any

from rnnlens.base.errors import RnnlensError
from rnnlens.labels.sets import LabelSet
from rnnlens.model.text import TextSide


def text_json(text: TextSide) -> dict[str, Any]:
    """All that `Text` of engine/text.js needs to do what `text` does."""
    if text.splitting is None:
        raise RnnlensError(
            "its texts are split by a function of its user's (words=), which a page cannot run; "
            'save grids instead: lens("a text").save("grid.html")'
        )
    words = text.vocabulary
    return {
        "labels": answers_json(text.labels),
        "inputs": words.words,
        "numerals": sorted(words.numerals),
        "lowercase": words.lowercase,
        "numbers": words.numbers,
        "splitting": text.splitting,
        "follows": text.follows,
        "mark": text.mark,
        "features": text.features,
    }


def answers_json(answers: LabelSet) -> dict[str, Any]:
    """What a state can be asked for, as `Answers` of engine/text.js has it."""
    scale = answers.scale
    return {
        "names": answers.names,
        "several": answers.several,
        "scale": scale and {
            "edges": scale.edges,
            "middles": scale.middles,
            "names": scale.names,
            "error": scale.error,
        },
    }  # fmt: skip
