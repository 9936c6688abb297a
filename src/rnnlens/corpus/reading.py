"""Reading a corpus from its source, unless an earlier command has."""

from collections.abc import Iterable

from rnnlens.base.errors import RnnlensError
from rnnlens.corpus.cache import kept
from rnnlens.corpus.flat import Shelf
from rnnlens.corpus.read.formats import number_mark_of, read, recognise
from rnnlens.corpus.read.labels import NEXT
from rnnlens.corpus.sentence import Sentence
from rnnlens.corpus.tokens import ReadingConfig, Tokens, collect
from rnnlens.corpus.vocabulary import NUM


def read_tokens(source: str, config: ReadingConfig, *, lowercase: bool) -> tuple[str, Tokens]:
    """Read a corpus, and the corpora for validation and test where the configuration names any.

    Returns the format, with the reason where it was recognised, and the tokens.
    """
    config.check()
    return kept(source, config, lowercase, lambda shelf: _read(source, config, lowercase, shelf))


def _read(source: str, config: ReadingConfig, lowercase: bool, shelf: Shelf) -> tuple[str, Tokens]:
    format_, reason = config.format, ""
    if format_ == "auto":
        format_, reason = recognise(source, config.encoding, config.asked.task)
    is_text = format_ == "text" and config.numbers
    mark = number_mark_of(source, config.encoding) if is_text else ""
    how = config.format, config.encoding, config.swelling, config.asked.of_one_corpus()
    parts: list[Iterable[Sentence]] = [read(source, *how)]
    parts += [read(s, *how) if s else () for s in (config.valid, config.test)]
    tokens = collect(parts, lowercase, mark, shelf)
    _check(source, config, tokens)
    details = "; ".join(filter(None, [reason, mark and f"{mark} is {NUM}"]))
    return f"{format_}: {details}" if details else format_, tokens


def _check(source: str, config: ReadingConfig, tokens: Tokens) -> None:
    """Refuse a source that holds nothing to learn from."""
    for which, corpus in ((1, config.valid), (2, config.test)):
        if corpus and not (tokens.part == which).any():
            size = "of two words or more" if config.asked.task == NEXT else "with labels"
            raise RnnlensError(f"{corpus} holds no sentence {size}; give another")
    if (tokens.part == 0).any():
        return
    if config.asked.task != NEXT:
        raise RnnlensError(f"{source} holds no sentence with labels; give another corpus")
    what = f"only {tokens.short} sentences of a single word" if tokens.short else "no sentence"
    raise RnnlensError(
        f"{source} holds {what}; a language model needs sentences of at least two words"
    )
