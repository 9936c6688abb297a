"""A user's project: code of its own, an untagged corpus and a tagged one."""

from typing import Any

from tests.grammar import sentences

from rnnlens.corpus.read import Sentence

DATA = list(sentences(60))
WORDS = sorted({word for s in DATA for word in s.words})
TAGS = sorted({tag for s in DATA for tag in s.tags or ()})
FIT = ("--epochs", "1")
TRUST = ("--trust", "--path", ".")  # what the code of a run in this folder takes


def conllu(sentence: Sentence) -> str:
    """A sentence in that format."""
    pairs = enumerate(zip(sentence.words, sentence.tags or (), strict=True), 1)
    return "\n".join(f"{k}\t{word}\t_\t{tag}" + "\t_" * 6 for k, (word, tag) in pairs)


def fit(command, factory, output, *flags, corpus="plain.txt"):
    """`rnnlens fit --model`, in the project's folder."""
    return command(
        "fit", "--model", f"usermodels:{factory}", "--path", ".", "--corpus", corpus, "-o", output,
        *FIT, *flags,
    )  # fmt: skip


def complaints(answer: Any) -> str:
    """What a command complains of, but that these modules are not trained."""
    lines = answer.err.splitlines(keepends=True)
    return "".join(line for line in lines if "predicts its targets worse" not in line)
