"""Items as a model reads them: in its words, with what is not known of them told apart."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rnnlens.base.errors import RnnlensError
from rnnlens.lab.formula import WHOLE, Formula, parsed_formula
from rnnlens.lab.suite import BAD, GOOD, LEAVE, PAIR, UNKNOWN, Item, Suite
from rnnlens.model.text import TextSide

LONGEST = 1_000  # words of a sentence
_PAIR_READ = parsed_formula(f"(2;%{GOOD}%) < (2;%{BAD}%)")


@dataclass(frozen=True)
class Sentence:
    """A sentence of an item."""

    words: tuple[str, ...]
    ids: tuple[int, ...]
    ends: tuple[int, ...]  # of each region, the word behind it

    def region(self, number: int) -> range:
        """The places of a region's words."""
        if number == WHOLE:
            return range(len(self.ids))
        return range(self.ends[number - 2] if number > 1 else 0, self.ends[number - 1])


@dataclass(frozen=True)
class EncodedItem:
    """An item in the words of a model."""

    item: Item
    sentences: Mapping[str, Sentence]
    #: What is predicted of it: of a minimal pair, that what follows the words that both begin with
    #: surprises less; these words surprise the same.
    formula: Formula


@dataclass(frozen=True)
class Encoded:
    """The items of a suite that a model is asked, and what of the others."""

    suite: Suite
    items: tuple[EncodedItem, ...]
    left_out: Mapping[str, int]  # by paradigm, items with unknown words
    unknown: tuple[tuple[str, int], ...]  # the words that most of these are left out for
    #: By paradigm, items about a first word, which is not predicted, or about sentences that are
    #: the same to the model.
    silent: Mapping[str, int]


def encoded(suite: Suite, side: TextSide, unknown: str = LEAVE) -> Encoded:
    """The items of a suite in the words of a model; those with words that it does not know are left
    out, unless `unknown` is "keep".
    """
    if unknown not in UNKNOWN:
        raise RnnlensError(f"unknown={unknown!r}: give {' or '.join(UNKNOWN)}")
    if not side.follows or side.features:
        raise RnnlensError(
            f"{suite.name} asks what word comes next, and this model predicts other labels; give a "
            "language model"
        )
    split = _splitter(side)
    items = list[EncodedItem]()
    strange, left, silent = Counter[str](), Counter[str](), Counter[str]()
    for item in suite.items:
        one = _encoded(item, split)
        new = {w for s in one.sentences.values() for w, i in zip(s.words, s.ids, strict=True)
               if side.is_unknown(i)}  # fmt: skip
        if new and unknown == LEAVE:
            left[item.paradigm] += 1
            strange.update(new)
        elif _is_silent(one, side):
            silent[item.paradigm] += 1
        else:
            items.append(one)
    if not items:
        most = ", ".join(word for word, _ in strange.most_common(5))
        raise RnnlensError(
            f"of the {len(suite.items):,} items of {suite.name} none can be asked: "
            + (f"the model does not know {most}; unknown='keep' (--unknown keep) "
               "asks them with its unknown word" if strange else
               "each is about a first word, which nothing predicts, or its sentences are the same "
               "to the model; give others")
        )  # fmt: skip
    return Encoded(suite, tuple(items), left, tuple(strange.most_common(20)), silent)


Splitter = Callable[[Sequence[str]], Sentence]  # from the texts of a sentence's regions


def _splitter(side: TextSide) -> Splitter:
    """What makes a sentence of the texts of its regions, with blanks between.

    Where words stand between blanks, what does is split once. Elsewhere, where a blank may be read
    and a text may begin with a mark, the sentence is split as a whole, and its regions end where
    its beginnings do.
    """
    known: dict[str, tuple[tuple[str, ...], tuple[int, ...]]] = {}

    def by_piece(regions: Sequence[str]) -> Sentence:
        words, ids, ends = list[str](), list[int](), list[int]()
        for text in regions:
            for piece in text.split():
                if piece not in known:
                    some = tuple(side.words(piece))
                    known[piece] = some, tuple(side.encode(some))
                words += known[piece][0]
                ids += known[piece][1]
            ends.append(len(ids))
        return Sentence(tuple(words), tuple(ids), tuple(ends))

    def whole(regions: Sequence[str]) -> Sentence:
        begins = [" ".join(filter(None, regions[:count])) for count in range(1, len(regions))]
        words = tuple(side.words(" ".join(filter(None, regions))))
        parts = [tuple(side.words(begin)) for begin in begins]
        if strange := [b for b, p in zip(begins, parts, strict=True) if words[: len(p)] != p]:
            raise RnnlensError(
                f"a region ends after {strange[0][-60:]!r}, and the model reads that in other "
                "pieces where more follows; give a suite of whole sentences, such as JSON lines"
            )
        ends = (*map(len, parts), len(words))
        return Sentence(words, tuple(side.encode(words)), ends)

    return by_piece if side.splitting in ("penn", "blanks") and side.begin is None else whole


def _encoded(item: Item, split: Splitter) -> EncodedItem:
    sentences = {}
    for condition, regions in item.sentences.items():
        sentence = sentences[condition] = split(regions)
        if not 0 < len(sentence.ids) <= LONGEST:
            raise RnnlensError(
                f"item {item.number} of {item.paradigm} has a sentence of {len(sentence.ids):,} "
                f"words; give 1 to {LONGEST:,}"
            )
    if item.prediction is not PAIR:
        return EncodedItem(item, sentences, item.prediction)
    begin = shared(sentences[GOOD].ids, sentences[BAD].ids)
    cut = {c: Sentence(s.words, s.ids, (begin, len(s.ids))) for c, s in sentences.items()}
    return EncodedItem(item, cut, _PAIR_READ)


def shared(first: Sequence[int], second: Sequence[int]) -> int:
    """With how many words both begin."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((k for k, (a, b) in pairs if a != b), min(len(first), len(second)))


def _is_silent(item: EncodedItem, side: TextSide) -> bool:
    """Whether a prediction is of nothing but the first word of a sentence, or of twice the same."""
    if len({sentence.ids for sentence in item.sentences.values()}) == 1:
        return True
    return side.mark is None and any(
        item.sentences[condition].region(region) == range(1)
        for region, condition in item.formula.regions
    )
