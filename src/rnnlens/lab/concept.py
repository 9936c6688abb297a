"""A concept: what holds of some words of texts and not of others, and what it is of chance.

A concept is a tag of the corpus, a group of the run's labels or a word, of the word that is read or
of the one that comes next; whatever a function of a sentence says; or what the two sides of a
suite's contrasts differ in.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rnnlens.base.errors import RnnlensError
from rnnlens.corpus.read import Sentence
from rnnlens.draw.printable import printable
from rnnlens.lab.contrasts import Contrast, parted
from rnnlens.reading.subject import Subject

NEXT = "next:"  # before the name of a concept: of the word that comes, not of the one that is read
CONTRAST = "contrast"
PARTS = 3  # to erase by, to fit a probe on, and to ask
NOT_ASKED = -1
Told = Sequence[bool | None]  # of each word whether a concept holds; None: that is not asked
Teller = Callable[[Sentence], Told]
Labels = NDArray[np.int64]
Given = str | Sequence[str] | Sentence  # a text, its words, or these with their tags


@dataclass(frozen=True)
class Labelled:
    """A text, and of each of its words 1 where the concept holds, 0 where not, -1: not asked."""

    ids: tuple[int, ...]
    labels: Labels


def counted(texts: Sequence[Labelled]) -> Labels:
    """Of how many words of some texts a concept does not hold, and of how many it does."""
    every = np.concatenate([one.labels for one in texts])
    return np.bincount(every[every >= 0], minlength=2)


@dataclass(frozen=True)
class Concept:
    """Texts that a concept is told of: to erase by, to fit probes on, and to ask."""

    about: str  #: What it is, in words.
    control: str  #: What is as frequent, and chance.
    parts: tuple[tuple[Labelled, ...], ...]
    by_chance: tuple[tuple[Labelled, ...], ...]  #: The same texts with labels of chance.


def read_sentences(subject: Subject, texts: Iterable[Given]) -> list[tuple[Sentence, list[int]]]:
    """Sentences, with their tags where they have some, and the numbers of their words."""
    session, found = subject.session, list[tuple[Sentence, list[int]]]()
    for one in texts:
        if isinstance(one, str):
            words = session.words(one)
            found.append((Sentence(tuple(words)), session.numbers(one, words)))
        else:
            sentence = one if isinstance(one, Sentence) else Sentence(tuple(one))
            found.append((sentence, session.text.encode(sentence.words)))
    return [(sentence, ids) for sentence, ids in found if ids]


def told_concept(
    subject: Subject,
    sentences: Sequence[tuple[Sentence, Sequence[int]]],
    concept: str | Teller,
    seed: int = 0,
) -> Concept:
    """A concept over some sentences, of which every third is for a part."""
    if any(len(ids) != len(one.words) for one, ids in sentences):
        raise RnnlensError(
            "a concept is told word by word, and this model reads texts in other pieces; give a "
            "model of words"
        )
    ahead = isinstance(concept, str) and concept.startswith(NEXT)
    if isinstance(concept, str):
        tell, about = _teller(subject, [one for one, _ in sentences], concept.removeprefix(NEXT))
    else:
        tell, about = concept, "what a function tells of words"
    texts = [_labelled(tell(one), tuple(ids), ahead) for one, ids in sentences]
    words = [(*one.ids[1:], NOT_ASKED) if ahead else one.ids for one in texts]
    chance = _frequent_as(texts, words, seed)
    parts, by_chance = (
        tuple(tuple(some[k::PARTS]) for k in range(PARTS)) for some in (texts, chance)
    )
    which = "the word that comes next" if ahead else "the word that is read"
    shown = about if not isinstance(concept, str) else f"{which} is {about}"
    return Concept(shown, f"{which} is one of some drawn at random, as frequent together", parts,
                   by_chance)  # fmt: skip


def _teller(subject: Subject, sentences: Sequence[Sentence], name: str) -> tuple[Teller, str]:
    """What tells a tag, a group or a word of this name, the first of these that there is."""
    tags = {tag for one in sentences for tag in one.tags or ()}
    if name in tags:
        return lambda one: [None] * len(one.words) if one.tags is None else [
            tag == name for tag in one.tags], f"tagged {name}"  # fmt: skip
    for title, palette in subject.palettes.items():
        if name in palette.groups:
            members = palette.group_of == palette.groups.index(name)
            known = {label for label, there in zip(subject.labels, members, strict=True) if there}
            return _one_of(subject, known), f"of the group {name} ({title})"
    if name in subject.labels:
        return _one_of(subject, {name}), f"{name!r}"
    groups = dict.fromkeys(g for one in subject.palettes.values() for g in one.groups)
    raise RnnlensError(
        f"there is no tag of the corpus, no group of labels and no word {name[:40]!r}; there is "
        f"{printable(', '.join(sorted(tags))[:200]) or 'no tag'}, {', '.join(groups)[:200]}, or "
        f"{CONTRAST}"
    )


def _one_of(subject: Subject, known: AbstractSet[str]) -> Teller:
    """What tells whether a word, as the model has it, is one of some."""
    text = subject.session.text
    return lambda one: [text.name(number) in known for number in text.encode(one.words)]


def _labelled(told: Told, ids: tuple[int, ...], ahead: bool) -> Labelled:
    if len(told) != len(ids):
        raise RnnlensError(
            f"a concept is told of {len(told)} words of a sentence that has {len(ids)}; give one "
            "answer a word, None where there is none"
        )
    labels = np.array([NOT_ASKED if one is None else int(bool(one)) for one in told], np.int64)
    return Labelled(ids, np.append(labels[1:], NOT_ASKED) if ahead else labels)


def _frequent_as(
    texts: Sequence[Labelled], words: Sequence[Sequence[int]], seed: int
) -> list[Labelled]:
    """The same texts with a concept of chance: some words, together as frequent."""
    counts, holds = Counter[int](), 0
    for one, some in zip(texts, words, strict=True):
        asked = one.labels >= 0
        counts.update(word for word, there in zip(some, asked, strict=True) if there)
        holds += int((one.labels == 1).sum())
    order = np.random.default_rng((seed, 11)).permutation(sorted(counts)).tolist()
    chosen, total = set[int](), 0
    for word in order:
        if total + counts[word] <= holds:
            chosen.add(word)
            total += counts[word]
    chance = [
        replace(one, labels=np.where(one.labels >= 0, np.isin(some, [*chosen]), NOT_ASKED))
        for one, some in zip(texts, words, strict=True)
    ]
    alike = {bool(told) for one, other in zip(texts, chance, strict=True)
             for told in (one.labels == other.labels)[one.labels >= 0]}  # fmt: skip
    if holds and (not chosen or len(alike) < 2):
        raise RnnlensError(
            f"of the {len(counts):,} different words of the texts none are together as frequent as "
            "the concept, and neither the concept nor its opposite; give texts of more words"
        )
    return chance


def contrast_concept(some: Sequence[Contrast], seed: int = 0) -> Concept:
    """What the two sides of contrasts differ in, at every word from which on they do."""
    third = len(some) // PARTS
    groups = parted(some, [third] * (PARTS - 1), (seed, 9))
    draw = np.random.default_rng((seed, 12))
    parts, by_chance = list[tuple[Labelled, ...]](), list[tuple[Labelled, ...]]()
    for group in groups:
        pairs = {one.contexts: one for one in group}  # a context comes once with every verb
        texts, chance = list[Labelled](), list[Labelled]()
        for one in pairs.values():
            for ids in one.contexts:
                asked = np.arange(len(ids)) >= one.begin
                side = int(ids == one.second)
                texts.append(Labelled(ids, np.where(asked, side, NOT_ASKED)))
                coin = int(draw.integers(2))
                chance.append(Labelled(ids, np.where(asked, coin, NOT_ASKED)))
        parts.append(tuple(texts))
        by_chance.append(tuple(chance))
    return Concept("which side of a contrast a context is on", "a side drawn by a coin",
                   tuple(parts), tuple(by_chance))  # fmt: skip
