"""A user's project: code of its own, an untagged corpus and a tagged one."""

from tests.grammar import sentences

from rnnlens.corpus.sentence import Sentence

DATA = list(sentences(60))
WORDS = sorted({word for s in DATA for word in s.words})
TAGS = sorted({tag for s in DATA for tag in s.tags or ()})
FIT = ("--epochs", "1")


def conllu(sentence: Sentence) -> str:
    """A sentence in that format."""
    pairs = enumerate(zip(sentence.words, sentence.tags or (), strict=True), 1)
    return "\n".join(f"{k}\t{word}\t_\t{tag}" + "\t_" * 6 for k, (word, tag) in pairs)


def fit(command, factory, output, *flags, corpus="plain.txt"):
    """`rnnlens fit --model`, in the project's folder."""
    return command(
        "fit", "--model", f"usermodels:{factory}", "--corpus", corpus, "-o", output, *FIT, *flags
    )


def besides_training(err: str) -> list[str]:
    """What a command says, but for the warning that a module is not trained, which none here is."""
    return [line for line in err.splitlines() if "predicts its targets worse" not in line]
