"""How a corpus is read, split and preprocessed; read without NumPy, for the flags of commands."""

from dataclasses import dataclass

from rnnlens.base.errors import RnnlensError
from rnnlens.base.flags import Options, option
from rnnlens.corpus.read.formats import SWELLING, check_format
from rnnlens.corpus.read.task import NEXT, WORDS, Task

SPLITS = ("train", "valid", "test")


@dataclass(frozen=True)
class ReadingConfig(Options):
    """How a corpus is read and split; the defaults are the paper's."""

    format: str = option("auto", "auto, text, raw, conllu, brackets, jsonl, parquet or arrow")
    encoding: str = option("utf-8", "encoding of text files")
    valid: str = option("", "a corpus of its own for validation")
    test: str = option("", "a corpus of its own for testing")
    valid_share: float = option(0.1, "share of sentences for validation, without --valid")
    test_share: float = option(0.1, "share of sentences for testing, without --test")
    split_seed: int = option(0, "seed of the random split", least=0, below=2**31)
    # Pieces of at most 2 words would leave single words, which predict nothing.
    longest: int = option(
        200, "cut longer sentences into pieces of this many words", least=3, below=2**31
    )
    swelling: int = option(
        SWELLING,
        "times its size that may be made of a gzipped file, Parquet or Arrow",
        least=1,
        below=2**31,
    )
    numbers = False  # whether a sign for numbers is read as NUM

    @property
    def reader_task(self) -> Task:
        """Which labels are read beside the words: here, none."""
        return WORDS

    def sources(self, source: str) -> list[str]:
        """All that a corpus is read from."""
        return [source, *filter(None, (self.valid, self.test))]

    def check(self) -> None:
        """Refuse values that cannot work."""
        super().check()
        check_format(self.format, self.reader_task.name)
        shares = self.valid_share, self.test_share
        if not all(0 < share < 1 for share in shares) or sum(shares) >= 1:
            raise RnnlensError(
                f"shares of {self.valid_share} and {self.test_share} leave a part of the "
                "corpus empty; give --valid-share and --test-share between 0 and 1, together "
                "below 1"
            )


@dataclass(frozen=True)
class CorpusConfig(ReadingConfig):
    """How a corpus is read and preprocessed; the defaults are the paper's."""

    min_count: int = option(3, "words seen less often in training become UNK", least=1, below=2**31)
    lowercase: bool = option(True, "fold case")
    numbers: bool = option(True, "map numerals to NUM")
    task: str = option(NEXT, "next: the next word; tag: a label a word; classify: one a text")
    text_column: str = option("", "where words or texts stand: a column's name, or number from 1")
    label_column: str = option("", "where labels stand; of tagged words upos (default) or xpos")

    @property
    def reader_task(self) -> Task:
        return Task(self.task, self.text_column, self.label_column)

    def check(self) -> None:
        super().check()
        if self.task == NEXT and (self.text_column or self.label_column):
            raise RnnlensError(
                "--text-column and --label-column are of labels; give --task tag or classify"
            )
