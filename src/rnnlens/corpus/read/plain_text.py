"""Untagged text: already tokenised (one sentence a line), or raw."""

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby, islice
from pathlib import Path

from rnnlens.base.errors import RnnlensError
from rnnlens.corpus.read import Sentence
from rnnlens.corpus.read.penn import penn_words
from rnnlens.corpus.read.text_files import lines

Split = Callable[[str], list[str]]  # from a text to its words

# Abbreviations that rarely end an English sentence; Punkt learns further ones from the text.
_ABBREVIATIONS = (
    "mr mrs ms dr prof sen rep gov gen col lt capt sgt st jr sr rev hon vs etc inc corp co ltd "
    "no vol fig e.g i.e u.s u.k u.n a.m p.m jan feb mar apr jun jul aug sep sept oct nov dec"
).split()
_LONGEST_PARAGRAPH = 50_000  # letters of a paragraph: what takes seconds to split, NLTK refuses
SAMPLE = 1 << 20  # letters that Punkt learns from; all of a long text would take minutes

# What well-known corpora write: the unknown word, the end of a sentence, and WikiText's
# headings and the signs that it sets apart within a word.
_END = "<eos>"
_HEADING = re.compile(r"\s*(= )+.+( =)+\s*")
_WITHIN = re.compile(r" @([-,.])@ ")
_SIGNS = ("<unk>", _END, "@-@", "@,@", "@.@")
_NUMBER = "N"
_MARKS = frozenset((".", ",", ";", ":", "!", "?", '"', ")", "``", "''"))
_LETTERS = re.compile(r"[A-Za-z]+(-[A-Za-z]+)*")
_APART = frozenset(("cannot", "gimme", "gonna", "gotta", "lemme", "wanna"))  # of letters alone
_MOST_CLINGING = 0.01  # share of words with punctuation: abbreviations that the list above lacks


def read_tokenised(path: Path, encoding: str) -> Iterator[Sentence]:
    """One sentence a line, words separated by white space; <eos> ends a sentence too.

    WikiText's headings are left out, and words that it takes apart (`3 @.@ 5`) are joined.
    """
    for line in lines(path, encoding):
        if _HEADING.fullmatch(line):
            continue
        words: list[str] = []
        for word in [*_WITHIN.sub(r"\1", line).split(), _END]:
            if word != _END:
                words.append(word)
            elif words:
                yield Sentence(tuple(words))
                words = []


def read_raw(path: Path, encoding: str) -> Iterator[Sentence]:
    """Running text: sentences by NLTK's Punkt, learnt from this very text; words as in Penn."""
    size = sum(map(len, _paragraphs(path, encoding)))
    # Spread over the text, so that abbreviations of all its parts are met.
    sample = islice(_paragraphs(path, encoding), 0, None, 1 + size // SAMPLE)
    try:
        sentences = running(sample)
        for paragraph in _paragraphs(path, encoding):
            yield from sentences(paragraph)
    except TimeoutError as error:  # NLTK gives up on what is no language
        raise RnnlensError(
            f"{path} is not split into sentences in reasonable time; is it text? Where it has a "
            "sentence a line, give --format text"
        ) from error


def running(sample: Iterable[str]) -> Callable[[str], Iterator[Sentence]]:
    """What splits running text into sentences, learnt from some paragraphs of it."""
    from nltk.tokenize import NLTKWordTokenizer
    from nltk.tokenize.punkt import PunktSentenceTokenizer, PunktTrainer

    trainer = PunktTrainer()
    for paragraph in sample:
        trainer.train(paragraph, finalize=False)
    parameters = trainer.get_params()
    parameters.abbrev_types.update(_ABBREVIATIONS)
    splitter, tokeniser = PunktSentenceTokenizer(parameters), NLTKWordTokenizer()

    def sentences(paragraph: str) -> Iterator[Sentence]:
        for sentence in splitter.tokenize(paragraph):
            yield Sentence(tuple(tokeniser.tokenize(sentence)))

    return sentences


def words_of(text: str, is_known: Callable[[str], bool]) -> tuple[str, ...]:
    """The words of a sentence that somebody typed; unknown ones are taken apart as in Penn."""
    words: list[str] = []
    for piece in text.split():
        words += [piece] if is_known(piece) or is_whole(piece) else penn_words(piece)
    return tuple(words)


def is_whole(piece: str) -> bool:
    """Whether nothing can be taken apart: letters and single hyphens, and no *cannot*."""
    return bool(_LETTERS.fullmatch(piece)) and not _APART & {*piece.lower().split("-")}


def splitter(sample: str) -> Split:
    """What splits texts like a sample into words: at blanks, and as in Penn where the sample has
    punctuation that clings to words.
    """
    if tokenised(sample):
        return str.split
    known: dict[str, list[str]] = {}

    def split(text: str) -> list[str]:
        words: list[str] = []
        for piece in text.split():
            if piece not in known:
                known[piece] = penn_words(piece)
            words += known[piece]
        return words

    return split


def tokenised(text: str) -> str:
    """The reason why a text is taken to be tokenised; empty where it is raw."""
    words = text.split()
    if signs := [sign for sign in _SIGNS if sign in words]:
        return f"it has {' and '.join(signs)}"
    apart = sum(word in _MARKS for word in words)
    clinging = sum(map(_is_clinging, words))
    if clinging > max(apart, _MOST_CLINGING * len(words)):
        return ""
    return "punctuation stands apart" if apart else "it has no punctuation"


def _is_clinging(word: str) -> bool:
    """Whether a word ends in punctuation, other than the full stop of an abbreviation."""
    stem, mark = word[:-1], word[-1]
    shortened = mark == "." and (stem.lower() in _ABBREVIATIONS or len(stem) == 1)
    return mark in '.,;:!?")' and stem.isalpha() and not shortened


def number_mark(text: str) -> str:
    """What stands for every number in a text, if anything does.

    The usual Penn Treebank has the letter N, the only capital in it.
    """
    capitals = {word for word in text.split() if word != word.lower()}
    return _NUMBER if capitals == {_NUMBER} else ""


def _paragraphs(path: Path, encoding: str) -> Iterator[str]:
    """Paragraphs, which have blank lines between; long ones in pieces, as they are read."""
    for is_filled, group in groupby(lines(path, encoding), lambda line: bool(line.strip())):
        if is_filled:
            held, size = [next(group)], 0
            for line in group:
                held.append(line)
                size += len(line) + 1
                if size > _LONGEST_PARAGRAPH:
                    *pieces, rest = cut("\n".join(held))
                    yield from pieces
                    held, size = [rest], len(rest)
            yield from cut("\n".join(held))


def cut(paragraph: str) -> Iterator[str]:
    """A paragraph that is too long in pieces, where they can be after a full stop."""
    at = 0
    while len(paragraph) - at > _LONGEST_PARAGRAPH:
        most, least = at + _LONGEST_PARAGRAPH, at + _LONGEST_PARAGRAPH // 2
        ends = (paragraph.rfind(mark, at, most) + len(mark) for mark in (". ", ".\n", " "))
        end = next((end for end in ends if end > least), most)
        yield paragraph[at:end]
        at = end
    yield paragraph[at:]
