"""The engine's parts run by node, beside Python's."""

import json
import subprocess
from pathlib import Path
from typing import Any

from rnnlens.base.errors import RnnlensError
from rnnlens.model.text import TextSide
from rnnlens.page.publish.pack import text_json

HERE = Path(__file__).parent


def engine_readings(side: TextSide, texts: list[str]) -> Any:
    """What engine/text.js makes of texts."""
    return answered("text_side.mjs", {"side": text_json(side), "texts": texts})


def python_reading(side: TextSide, text: str) -> dict[str, Any]:
    """What Python makes of a text."""
    try:
        words = side.words(text)
        ids = side.encode(words)
    except RnnlensError as error:
        return {"refused": str(error)}
    return {
        "words": list(words),
        "ids": [list(side.values(k)) for k in ids] if side.features else ids,
        "names": [side.name(k) for k in ids],
        "unknown": [side.is_unknown(k) for k in ids],
        "came": side.came(ids),
        "labels": side.labels_of(ids),
        "places": side.places(ids),
    }


def answered(script: str, question: Any) -> Any:
    """What a script of this folder writes, given a question as JSON."""
    done = subprocess.run(
        ["node", HERE / script], input=json.dumps(question), capture_output=True, text=True,
        check=False, timeout=300, encoding="utf-8",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout, parse_int=float)  # JavaScript has no others
