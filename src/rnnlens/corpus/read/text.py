"""Untagged text: already tokenised (one sentence a line), or raw."""

from collections.abc import Callable, Iterator
from pathlib import Path

from rnnlens.corpus.read.source import lines
from rnnlens.corpus.sentence import Sentence

# Abbreviations that rarely end an English sentence; Punkt learns further ones from the text.
_ABBREVIATIONS = (
    "mr mrs ms dr prof sen rep gov gen col lt capt sgt st jr sr rev hon vs etc inc corp co ltd "
    "no vol fig e.g i.e u.s u.k u.n a.m p.m jan feb mar apr jun jul aug sep sept oct nov dec"
).split()


def read_tokenised(path: Path, encoding: str) -> Iterator[Sentence]:
    """One sentence a line, words separated by white space."""
    for line in lines(path, encoding):
        if words := line.split():
            yield Sentence(tuple(words))


def read_raw(path: Path, encoding: str) -> Iterator[Sentence]:
    """Running text: sentences by NLTK's Punkt, learnt from this very text; words as in Penn."""
    from nltk.tokenize import NLTKWordTokenizer
    from nltk.tokenize.punkt import PunktSentenceTokenizer, PunktTrainer

    paragraphs = list(_paragraphs(path, encoding))
    trainer = PunktTrainer()
    for paragraph in paragraphs:
        trainer.train(paragraph, finalize=False)
    parameters = trainer.get_params()
    parameters.abbrev_types.update(_ABBREVIATIONS)
    splitter, tokeniser = PunktSentenceTokenizer(parameters), NLTKWordTokenizer()
    for paragraph in paragraphs:
        for sentence in splitter.tokenize(paragraph):
            yield Sentence(tuple(tokeniser.tokenize(sentence)))


def words_of(text: str, is_known: Callable[[str], bool]) -> tuple[str, ...]:
    """Words of a sentence somebody typed: kept where they are known, else taken apart."""
    from nltk.tokenize import NLTKWordTokenizer

    tokeniser = NLTKWordTokenizer()
    words: list[str] = []
    for piece in text.split():
        words += [piece] if is_known(piece) else tokeniser.tokenize(piece)
    return tuple(words)


def looks_tokenised(text: str) -> bool:
    """Whether punctuation stands apart from words rather than clinging to them."""
    words = text.split()
    apart = sum(word in _MARKS for word in words)
    clinging = sum(word[-1] in '.,;:!?")' and word[:-1].isalpha() for word in words)
    return apart >= clinging


def _paragraphs(path: Path, encoding: str) -> Iterator[str]:
    held: list[str] = []
    for line in lines(path, encoding):
        if line.strip():
            held.append(line)
        elif held:
            yield "\n".join(held)
            held = []
    if held:
        yield "\n".join(held)


_MARKS = frozenset((".", ",", ";", ":", "!", "?", '"', ")", "``", "''"))
