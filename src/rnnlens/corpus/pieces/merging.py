"""From a word to numbers of pieces: by merges, by the likeliest split, or by the longest piece.

These are the models that tokenizers have, BPE, Unigram, WordPiece and WordLevel, as the library
`tokenizers` computes them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from rnnlens.base.pace import checkpoint

_UNLIKELY = 10.0  # by how much an unknown letter is less likely than the least likely piece


@dataclass(frozen=True)
class Fallback:
    """What stands for what no piece has."""

    unknown: int | None  # a piece
    letters: tuple[int, ...] | None  # a piece for each byte, 0 to 255
    fused: bool  # whether unknown letters side by side are one

    def bytes_of(self, text: str) -> list[int] | None:
        """The pieces of a text's bytes, where there are such."""
        return None if self.letters is None else [self.letters[b] for b in text.encode()]


@dataclass(frozen=True)
class Merges:
    """Byte-pair encoding: of all neighbours that can be merged, those of the earliest rule are."""

    numbers: Mapping[str, int]
    rules: Mapping[tuple[int, int], tuple[int, int]]  # a pair -> its rank and what it becomes
    fallback: Fallback
    prefix: str = ""  # of letters that do not begin a word
    suffix: str = ""  # of letters that end one
    whole: bool = False  # whether a word that is a piece is not merged

    def __call__(self, word: str) -> list[int]:
        if self.whole and word in self.numbers:
            return [self.numbers[word]]
        return self._merged(self._letters(word))

    def _letters(self, word: str) -> list[int]:
        found, unknown = list[int](), False
        for at, letter in enumerate(word):
            name = (self.prefix if at else "") + letter
            name += self.suffix if at == len(word) - 1 else ""
            number = self.numbers.get(name)
            if number is not None:
                found.append(number)
                unknown = False
            elif (letters := self.fallback.bytes_of(name)) is not None:
                found += letters
                unknown = False
            elif self.fallback.unknown is not None:
                if not (unknown and self.fallback.fused):
                    found.append(self.fallback.unknown)
                unknown = True
        return found

    def _merged(self, numbers: list[int]) -> list[int]:
        """All merges, the earliest rule first and of one rule from left to right."""
        after = [*range(1, len(numbers)), -1]
        before = list(range(-1, len(numbers) - 1))
        there = [True] * len(numbers)
        waiting = [
            (*rule, at, at + 1)
            for at in range(len(numbers) - 1)
            if (rule := self._rule(numbers, at, at + 1))
        ]
        heap = [(rank, left, right, new) for rank, new, left, right in waiting]
        heapify(heap)
        while heap:
            checkpoint()
            rank, left, right, new = heappop(heap)
            current = there[left] and after[left] == right
            if not current or self._rule(numbers, left, right) != (rank, new):
                continue
            numbers[left], there[right] = new, False
            after[left] = after[right]
            if after[left] >= 0:
                before[after[left]] = left
            for a, b in ((before[left], left), (left, after[left])):
                if a >= 0 and b >= 0 and (rule := self._rule(numbers, a, b)):
                    heappush(heap, (rule[0], a, b, rule[1]))
        return [number for number, is_there in zip(numbers, there, strict=True) if is_there]

    def _rule(self, numbers: Sequence[int], left: int, right: int) -> tuple[int, int] | None:
        return self.rules.get((numbers[left], numbers[right]))


@dataclass(frozen=True)
class Likeliest:
    """Unigram: of all ways to split a word the one whose pieces have the largest sum of scores."""

    numbers: Mapping[str, int]
    scores: Sequence[float]
    fallback: Fallback
    longest: int  # letters of a piece
    least: float  # of all scores

    def __call__(self, word: str) -> list[int]:
        unlikely = self.least - _UNLIKELY
        best = [0.0] + [float("-inf")] * len(word)
        way: list[tuple[int, bool]] = [(0, True)] * (len(word) + 1)  # from where, by a piece
        for at in range(len(word)):
            checkpoint()
            single = False
            for end in range(at + 1, min(len(word), at + self.longest) + 1):
                number = self.numbers.get(word[at:end])
                if number is None:
                    continue
                single = single or end == at + 1
                if best[at] + self.scores[number] > best[end]:
                    best[end], way[end] = best[at] + self.scores[number], (at, True)
            if not single and best[at] + unlikely > best[at + 1]:
                best[at + 1], way[at + 1] = best[at] + unlikely, (at, False)
        parts: list[tuple[str, bool]] = []
        end = len(word)
        while end:
            at, known = way[end]
            if parts and not known and not parts[-1][1] and self.fallback.fused:
                parts[-1] = (word[at:end] + parts[-1][0], False)
            else:
                parts.append((word[at:end], known))
            end = at
        return [number for part, _ in reversed(parts) for number in self._numbers(part)]

    def _numbers(self, part: str) -> list[int]:
        if part in self.numbers:
            return [self.numbers[part]]
        letters = self.fallback.bytes_of(part)
        if letters is not None:
            return letters
        return [] if self.fallback.unknown is None else [self.fallback.unknown]


@dataclass(frozen=True)
class LongestFirst:
    """WordPiece: from left to right always the longest piece; a word that no pieces make is
    unknown as a whole. Without pieces that go on, WordLevel.
    """

    numbers: Mapping[str, int]
    fallback: Fallback
    prefix: str | None  # of pieces that do not begin a word; None: a word is one piece
    most: int  # letters of a word that is looked at
    longest: int  # letters of a piece

    def __call__(self, word: str) -> list[int]:
        found, at = list[int](), 0
        while self.prefix is not None and at < len(word) <= self.most:
            checkpoint()
            lead = self.prefix if at else ""
            ends = range(min(len(word), at + self.longest), at, -1)
            end = next((end for end in ends if lead + word[at:end] in self.numbers), None)
            if end is None:
                break
            found.append(self.numbers[lead + word[at:end]])
            at = end
        if self.prefix is None and word in self.numbers:
            found, at = [self.numbers[word]], len(word)
        if at == len(word):
            return found
        return [] if self.fallback.unknown is None else [self.fallback.unknown]
