"""A published lens: its size, how long its engine takes, and how far rounding moves what it says.

    python -m benchmarks.publishing amalgum_news.conllu.gz

The engine runs in node. Grids of sentences of the corpus are compared with Python's, state by
state: the perplexity of each kind, its most probable label, its group.
"""

import argparse
import base64
import gzip
import json
import math
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from tests.asks import grid_json
from tests.page.publish.engine import answered

from rnnlens.corpus.read.formats import read
from rnnlens.lens.lens import Lens
from rnnlens.lens.open import opened
from rnnlens.page.publish.pack import Packed, packed
from rnnlens.run.folder import BUNDLED, run_at

LONGEST = 40  # words of a sentence
PIECE = 25  # sentences that one engine is asked for
SIZE = 16e6  # bytes of the bundled model with two semantics, what is wanted
MS, PLAIN_MS, WAIT = 10, 40, 50  # a word in WebAssembly and without, and for others to wait


def size(pack: Packed) -> int:
    """Bytes of its numbers and its description in a file: packed, and in base64."""
    description = json.dumps(pack.manifest, ensure_ascii=False, separators=(",", ":"))
    return sum(4 * len(gzip.compress(part, 9)) // 3 for part in (pack.blob, description.encode()))


def speed(pack: Packed, texts: list[str]) -> dict[str, dict[str, float]]:
    """What publishing.mjs measures."""
    with tempfile.TemporaryDirectory() as folder:
        manifest, blob = Path(folder) / "manifest.json", Path(folder) / "blob"
        manifest.write_text(json.dumps(pack.manifest), encoding="utf-8")
        blob.write_bytes(pack.blob)
        command = ["node", str(Path(__file__).with_suffix(".mjs")), str(manifest), str(blob)]
        done = subprocess.run(
            command, input=json.dumps({"texts": texts}), capture_output=True, text=True, check=True
        )
    found: dict[str, dict[str, float]] = json.loads(done.stdout)
    return found


def batched(texts: list[str], count: int) -> Iterator[list[str]]:
    """So many at a time."""
    return (texts[k : k + count] for k in range(0, len(texts), count))


def states(grid: Any) -> Iterator[tuple[str, Any]]:
    """Every state of a grid with its kind; those of the row before are in that row."""
    for row in grid["rows"]:
        for column, state in zip(grid["columns"], row, strict=True):
            if not column["back"]:
                yield column["id"], state


def quality(lens: Lens, pack: Packed, texts: list[str]) -> None:
    """Print how far the engine's grids lie from Python's."""
    sent = {"manifest": pack.manifest, "blob": base64.b64encode(pack.blob).decode()}
    for semantic in pack.manifest["semantics"]:
        answers = list[Any]()
        for some in batched(texts, PIECE):
            asked = [(0, "api/grid", {"text": text, "semantic": semantic}) for text in some]
            answers += answered("grids.mjs", {"lenses": [sent], "ways": [True], "questions": asked})
        losses = defaultdict[str, list[float]](lambda: [0.0, 0.0, 0.0])
        cells = tops = groups = 0
        for text, answer in zip(texts, answers, strict=True):
            real = grid_json(lens, text, semantic, limit=100)
            for (kind, ours), (_, theirs) in zip(
                states(answer["gives"]), states(real), strict=True
            ):
                cells += 1
                tops += ours["top"][0][0] != theirs["top"][0][0]
                groups += ours["group"] != theirs["group"]
                if theirs["wanted"] and min(ours["wanted"][1], theirs["wanted"][1]) > 0:
                    for k, state in enumerate((ours, theirs)):
                        losses[kind][k] -= math.log(state["wanted"][1])
                    losses[kind][2] += 1
        ratios = {k: math.exp((a - b) / n) for k, (a, b, n) in losses.items()}
        worst = max(ratios, key=lambda kind: ratios[kind])
        print(
            f"{semantic}: of {cells:,} states another top label {tops / cells:.2%}, another group "
            f"{groups / cells:.2%}; perplexity of y times {ratios.get('y', 1):.5f}, of probes at "
            f"most {ratios[worst]:.5f} ({worst}); 1%, 0.5% and 1.001 are wanted of int8"
        )


def main() -> None:
    """Measure a run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus")
    parser.add_argument("--run", default=BUNDLED)
    parser.add_argument("--precision", default="int8")
    parser.add_argument("--sentences", type=int, default=200)
    args = parser.parse_args()
    lens = opened(run_at(args.run))
    pack = packed(lens.subject, lens.semantics, args.precision)
    print(f"{size(pack):,} bytes with base64; {SIZE:,.0f} are wanted at most; {pack.sizes}")
    short = (s.words for s in read(args.corpus) if 8 <= len(s.words) <= LONGEST)
    texts = [" ".join(words) for words in islice(short, args.sentences)]
    for way, found in speed(pack, texts[:4]).items():
        said = ", ".join(f"{name} {value:.1f}" for name, value in found.items())
        print(f"{way}: ms to {said}; {MS} or, plain, {PLAIN_MS} ms a word and {WAIT} are wanted")
    quality(lens, pack, texts)


if __name__ == "__main__":
    main()
