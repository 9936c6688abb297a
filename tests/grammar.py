"""A small generated corpus: English-like sentences with tags, for tests.

Subjects agree with their verbs across relative clauses and quotations close where they opened, so
that a recurrent network has something to remember.
"""

import random
from collections.abc import Iterator

from rnnlens.corpus.read import Sentence

_WORDS = {
    "DET": "the a this every",
    "ADJ": "old young quiet red brave small famous hungry strange national former early",
    "ADV": "often never quickly quietly also still suddenly rarely",
    "NOUN.1": "dog cat teacher city minister child river president writer house bird garden",
    "NOUN.2": "dogs cats teachers cities ministers children rivers writers houses birds gardens",
    "VERB.1": "sees likes follows hears remembers paints visits helps chases finds",
    "VERB.2": "see like follow hear remember paint visit help chase find",
    "SAY": "said added wrote announced whispered emphasized",
    "ADP": "in near behind under with from",
    "PRON": "she he they we it",
}
_CHOICES = {part: words.split() for part, words in _WORDS.items()}
_PLURAL_PRONOUNS = {"they", "we"}

Tagged = list[tuple[str, str]]


def sentences(count: int, seed: int = 0) -> Iterator[Sentence]:
    """Random sentences of the grammar."""
    source = _Source(random.Random(seed))
    for _ in range(count):
        words, tags = zip(*source.sentence(), strict=True)
        yield Sentence(words, tags)


def conllu(count: int, seed: int = 0) -> str:
    """The same as the text of a CoNLL-U file."""
    blocks = []
    for sentence in sentences(count, seed):
        rows = enumerate(zip(sentence.words, sentence.tags or (), strict=True), 1)
        blocks.append("".join(f"{k}\t{w}\t_\t{t}\t_\t_\t_\t_\t_\t_\n" for k, (w, t) in rows))
    return "\n".join(blocks)


class _Source:
    def __init__(self, chance: random.Random) -> None:
        self.chance = chance

    def sentence(self) -> Tagged:
        if self.chance.random() < 0.25:
            return [("``", "PUNCT"), *self.clause(), (",", "PUNCT"), ("''", "PUNCT"),
                    self.word("PRON"), self.word("SAY", "VERB"), (".", "PUNCT")]  # fmt: skip
        return [*self.clause(), (".", "PUNCT")]

    def clause(self) -> Tagged:
        subject, number = self.subject()
        adverb = [self.word("ADV")] if self.chance.random() < 0.2 else []
        verb = self.word(f"VERB.{number}", "VERB")
        place = (
            [self.word("ADP"), *self.phrase(self.number())] if self.chance.random() < 0.3 else []
        )
        return [*subject, *adverb, verb, *self.phrase(self.number()), *place]

    def subject(self) -> tuple[Tagged, int]:
        if self.chance.random() < 0.25:
            pronoun = self.word("PRON")
            return [pronoun], 2 if pronoun[0] in _PLURAL_PRONOUNS else 1
        number = self.number()
        phrase = self.phrase(number)
        if self.chance.random() < 0.2:  # the dog that the children see
            other = self.number()
            phrase += [("that", "PRON"), *self.phrase(other), self.word(f"VERB.{other}", "VERB")]
        return phrase, number

    def phrase(self, number: int) -> Tagged:
        det = [("the", "DET")] if number == 2 else [self.word("DET")]
        count = [(str(self.chance.randint(2, 99)), "NUM")] if self.chance.random() < 0.1 else []
        adj = [self.word("ADJ")] if self.chance.random() < 0.35 else []
        noun = self.word(f"NOUN.{number}", "NOUN")
        return [*det, *(count if number == 2 else []), *adj, noun]

    def number(self) -> int:
        return self.chance.choice((1, 2))

    def word(self, part: str, tag: str = "") -> tuple[str, str]:
        return self.chance.choice(_CHOICES[part]), tag or part
