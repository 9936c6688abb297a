"""Whether a published page splits and numbers texts as Python does, on sentences of a corpus.

Each sentence is given as the corpus has it, words with blanks between, and as people type: with the
punctuation clinging to the words. `python -m benchmarks.splitting CORPUS`
"""

import argparse
import re
from itertools import islice

from tests.page.publish.engine import engine_readings, python_reading

from rnnlens.corpus.read.formats import read
from rnnlens.model.text import TextSide
from rnnlens.run.folder import run_at

_CLINGING = ((r" ([.,;:?!%)\]’”]|''|'\w+|n't)(?= |$)", r"\1"), (r"(^| )([(\[$“‘]|``) ", r"\1\2"))


def typed(text: str) -> str:
    """A sentence of words between blanks as people type it."""
    for pattern, put in _CLINGING:
        text = re.sub(pattern, put, text)
    return text.replace("``", '"').replace("''", '"')


def main() -> None:
    """Print how many texts are read otherwise, and the first few of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus")
    parser.add_argument("--run", default="english-news", help="whose vocabulary it is")
    parser.add_argument("--sentences", type=int, default=10_000)
    args = parser.parse_args()
    side = TextSide.of_words(run_at(args.run).vocabulary())
    sentences = [" ".join(one.words) for one in islice(read(args.corpus), args.sentences)]
    texts = [*sentences, *map(typed, sentences)]
    pairs = zip(texts, engine_readings(side, texts), strict=True)
    wrong = [text for text, reading in pairs if reading != python_reading(side, text)]
    print(
        f"{len(wrong):,} of {len(texts):,} texts of {args.corpus} are read otherwise; 0 is wanted"
    )
    for text in wrong[:5]:
        print(ascii(text))


if __name__ == "__main__":
    main()
