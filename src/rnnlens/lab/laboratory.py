"""A model in the laboratory: a suite as it reads it, and all that can be asked of both."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rnnlens.base.errors import RnnlensError
from rnnlens.base.progress import Progress
from rnnlens.base.schema import to_json
from rnnlens.base.tables import csv_text, data_frame
from rnnlens.lab.accuracy import Accuracy, SuiteAccuracy, read_published, suite_accuracy
from rnnlens.lab.by_kind import ByParadigm
from rnnlens.lab.concept import (
    CONTRAST,
    Concept,
    Given,
    Teller,
    contrast_concept,
    read_sentences,
    told_concept,
)
from rnnlens.lab.contrasts import Contrast, Sort, contrasts, forms
from rnnlens.lab.encoded import Encoded, encoded
from rnnlens.lab.erase import MOST_ERASED, Erasures, erasures
from rnnlens.lab.erase_concept import ConceptErasures, erased_concept
from rnnlens.lab.half_lives import HORIZON, MOST_TEXTS, HalfLives, half_lives
from rnnlens.lab.interchange import MOST_CONTRASTS, drawn, interchange
from rnnlens.lab.preference import preferences
from rnnlens.lab.prefixes import Reader
from rnnlens.lab.scoring import Scored, scored
from rnnlens.lab.shuffled import shuffled
from rnnlens.lab.subspace import Directions, directions
from rnnlens.lab.suite import LEAVE, Suite, check_seed, read_suite
from rnnlens.lab.units import TOP, Units, UnitTrace, responsible, unit_trace
from rnnlens.reading.subject import Subject, names

if TYPE_CHECKING:
    import pandas as pd

_UNTRAINED = "untrained: with the weights in another order"
_MOST_ITEMS = 1_000  # of a suite that are asked again and again
_PUBLISHED = "models_summary.jsonl"  # as BLiMP calls what it has of other models


class Lab:
    """A model and a suite: how often it is right, and what of it is responsible.

    `lab.accuracy` is the mean over paradigms with at least 50 items, `lab.paradigms` has each of
    them with its interval, `lab.conditions` the sorts of items within them.
    """

    def __init__(
        self, subject: Subject, items: Encoded, published: Mapping[str, Mapping[str, float]]
    ) -> None:
        self.subject, self.items = subject, items
        self._published = published
        self.quiet = False  # whether nothing is said of how far long work is
        self.reader = Reader(subject.model, subject.session.text)

    @cached_property
    def scored(self) -> Scored:
        """Which items it is right about, and by how much."""
        words = sum(len(s.ids) for one in self.items.items for s in one.sentences.values())
        with self._progress(words, "reading") as progress:
            return scored(self.reader, self.items.items, progress.advance)

    @cached_property
    def result(self) -> SuiteAccuracy:
        """All accuracies."""
        return suite_accuracy(self.items, self.scored, self._published)

    @property
    def accuracy(self) -> float | None:
        """The mean over paradigms with at least 50 items."""
        return self.result.accuracy

    @property
    def paradigms(self) -> tuple[Accuracy, ...]:
        """The accuracy of each paradigm."""
        return self.result.paradigms

    @property
    def conditions(self) -> tuple[Accuracy, ...]:
        """The accuracy of each sort of items within a paradigm, where there are several."""
        return self.result.conditions

    @property
    def notes(self) -> tuple[str, ...]:
        """What has to be known of what was asked."""
        asked, out = len(self.items.items), sum(self.items.left_out.values())
        silent = sum(self.items.silent.values())
        lines = [f"{asked:,} items were asked"]
        if out:
            words = ", ".join(word for word, _ in self.items.unknown[:5])
            lines.append(f"{out:,} have words that the model does not know ({words}), and are left "
                         "out")  # fmt: skip
        if silent:
            lines.append(f"{silent:,} are about a first word, which nothing predicts, or their "
                         "sentences are the same to the model")  # fmt: skip
        if self.reader.ahead:
            lines.append("the first word of a sentence, which nothing predicts, is in no sum")
        return tuple(lines)

    def preferences(self, paradigm: str | None = None) -> ByParadigm:
        """Share of items in which each kind's probe prefers the right form, at every word; of one
        paradigm, or of all.
        """
        found = self._of(forms(self.items.items), paradigm)
        with self._progress(sum(len(one.context) for one in found), "reading kinds") as progress:
            return preferences(self.reader, self.subject.probes, found, progress.advance)

    def interchange(
        self,
        kinds: Sequence[str] | None = None,
        most: int = MOST_CONTRASTS,
        seed: int = 0,
        untrained: bool = False,
        paradigm: str | None = None,
    ) -> ByParadigm:
        """Share of the difference between two contexts that moves with each kind's state.

        At most so many contrasts are looked at. With `untrained`, in the place of the model is one
        with the same weights, each matrix of them in another order.
        """
        chosen = None if kinds is None else names(kinds)
        some = self._contrasts(paradigm, most, seed)
        reader = self.reader
        if untrained:
            reader = Reader(shuffled(self.subject.model, seed), self.subject.session.text)
        count = len(self.subject.model.kinds if chosen is None else chosen)
        total = sum(2 * count * (len(one.first) - one.begin) for one in some)
        with self._progress(total, "interchanging") as progress:
            found = interchange(reader, some, chosen, seed, progress.advance)
        return replace(found, name=f"{found.name}, {_UNTRAINED}") if untrained else found

    def units(
        self,
        kinds: Sequence[str] | None = None,
        top: int = TOP,
        seed: int = 0,
        paradigm: str | None = None,
    ) -> Units:
        """The units without which the right form is preferred least: of all memories and outputs,
        or of some kinds; confirmed on items that the ranking has not seen.
        """  # fmt: skip
        if top < 1:
            raise RnnlensError(f"top={top}: give a number of units from 1 up")
        check_seed(seed)
        some = self._of(forms(self.items.items), paradigm)
        with self._progress(0, "taking units out") as progress:
            return responsible(
                self.reader, some, kinds and names(kinds), top, seed, progress.advance
            )

    def unit(self, kind: str, unit: int, text: str) -> UnitTrace:
        """One unit over a text: gates, memory, and the words that its direction speaks for."""
        session = self.subject.session
        ids = session.numbers(text, session.words(text))
        if not ids:
            raise RnnlensError("there is no word to follow a unit over; give a text")
        return unit_trace(self.reader, self.subject.probes, kind, unit, ids)

    def directions(
        self,
        kinds: Sequence[str] | None = None,
        most: int = MOST_CONTRASTS,
        seed: int = 0,
        paradigm: str | None = None,
    ) -> Directions:
        """Directions of kinds along which the difference between two contexts moves: that of means
        and a learned one, beside a placebo and a random one; and what is right without them.
        """  # fmt: skip
        some = self._contrasts(paradigm, most, seed)
        with self._progress(0, "finding directions") as progress:
            return directions(self.reader, some, kinds and names(kinds), seed,
                              progress.advance)  # fmt: skip

    def erase(
        self,
        kinds: Sequence[str] | None = None,
        most: int = MOST_ERASED,
        seed: int = 0,
        paradigm: str | None = None,
    ) -> Erasures:
        """What two sorts of contexts differ in taken out of kinds, linearly and at every word: what
        a probe can still read, what words cost the model, and how often it is right.
        """  # fmt: skip
        some = self._contrasts(paradigm, most, seed)
        with self._progress(0, "erasing") as progress:
            return erasures(self.reader, some, kinds and names(kinds), seed,
                            progress.advance)  # fmt: skip

    def erase_concept(
        self,
        texts: Iterable[Given],
        concept: str | Teller,
        kinds: Sequence[str] | None = None,
        most: int = MOST_TEXTS,
        seed: int = 0,
        paradigm: str | None = None,
    ) -> ConceptErasures:
        """A concept taken out of kinds, linearly and at every word of at most so many texts: what a
        probe can still read, what words cost the model, and how often it is right.

        `concept` is a tag of the texts (`rnnlens.Sentence` has tags), a group of the run's labels
        or a word: `"NOUN"`, of the word that is read, or `"next:NOUN"`, of the one that comes;
        `"contrast"`: what the suite's contrasts differ in; or a function from a sentence to True,
        False or None for each of its words.
        """
        check_seed(seed)
        if most < 1:
            raise RnnlensError(f"most={most}: give a number of texts from 1 up")
        read = read_sentences(self.subject, islice(_several(texts), min(most, sys.maxsize)))
        asked = [ids for _, ids in read[2::3] if len(ids) > 1]
        if not asked:
            raise RnnlensError(f"{len(read)} texts are too few to erase by and to ask; give more")
        told: Concept
        if concept == CONTRAST:
            told = contrast_concept(self._contrasts(paradigm, MOST_CONTRASTS, seed), seed)
        else:
            told = told_concept(self.subject, read, concept, seed)
        items = [one for one in self.items.items if paradigm in (None, one.item.paradigm)]
        if not items:
            raise RnnlensError(f"there is no paradigm {str(paradigm)[:60]!r} in the suite")
        step = -(-len(items) // _MOST_ITEMS)
        chosen = kinds and names(kinds)
        with self._progress(0, "erasing") as progress:
            return erased_concept(self.reader, told, asked, items[::step], chosen,
                                  progress.advance)  # fmt: skip

    def half_lives(self, texts: Iterable[Given], horizon: int = HORIZON) -> HalfLives:
        """How long memory lasts over some sentences, texts or lists of words: of every unit by its
        gates, of every kind by what can be told of the words before.
        """
        read = read_sentences(self.subject, islice(_several(texts), MOST_TEXTS))
        some = [ids for _, ids in read]
        with self._progress(sum(map(len, some)), "how long memory lasts") as progress:
            return half_lives(self.reader, some, horizon, progress.advance)

    def _contrasts(self, paradigm: str | None, most: int, seed: int) -> list[Contrast]:
        check_seed(seed)
        return drawn(self._of(contrasts(self.items.items), paradigm), most, seed)

    @staticmethod
    def _of(some: Sequence[Sort], paradigm: str | None) -> list[Sort]:
        """Those of a paradigm; None: of all."""
        known = dict.fromkeys(one.paradigm for one in some)
        if paradigm is not None and paradigm not in known:
            raise RnnlensError(
                f"there is no paradigm {paradigm[:60]!r}; there is {', '.join(known)[:300]}"
            )
        return [one for one in some if paradigm in (None, one.paradigm)]

    def _progress(self, total: int, title: str) -> Progress:
        device = self.subject.model.device
        return Progress(total, unit="state", device=device, title=title, quiet=self.quiet)

    def to_json(self) -> dict[str, Any]:
        """All that was found, as JSON."""
        found = to_json(self.result)
        return {
            "run": self.subject.name,
            "suite": self.items.suite.name,
            "items": len(self.items.items),
            "left_out": sum(self.items.left_out.values()),
            "silent": sum(self.items.silent.values()),
            "unknown": [{"word": word, "items": count} for word, count in self.items.unknown],
            "notes": list(self.notes),
            **found,
        }

    def to_csv(self) -> str:
        """A line for each paradigm, and for each of its conditions."""
        rows = self._rows()
        return csv_text(rows[0], (row.values() for row in rows))

    def to_pandas(self) -> "pd.DataFrame":
        """A row for each paradigm, and for each of its conditions; needs pandas."""
        return data_frame(self._rows())

    def _rows(self) -> list[dict[str, Any]]:
        rows = [to_json(one) for one in (*self.paradigms, *self.conditions)]
        models = list(dict.fromkeys(name for row in rows for name in row["published"]))
        for row in rows:
            beside = row.pop("published")
            row.update({f"published {name}": beside.get(name) for name in models})
        return rows

    def __repr__(self) -> str:
        mean = "-" if self.accuracy is None else f"{self.accuracy:.1%}"
        about = f"{self.subject.name} on {self.items.suite.name}"
        return f"<{about}: {mean} of {len(self.paradigms)} paradigms>"


def _several(texts: Iterable[Given]) -> Iterable[Given]:
    """Texts, of which one may be given alone."""
    return (texts,) if isinstance(texts, str) else texts


def lab(
    subject: Subject,
    suite: str | Path | Suite,
    *,
    unknown: str = LEAVE,
    published: str | Path | None = None,
    most: int | None = None,
    seed: int = 0,
) -> Lab:
    """A model in the laboratory with a suite, a file or one that comes with the package.

    Items with words that the model does not know are left out, unless `unknown` is "keep". Of a
    template at most so many items are made. `published` is a file of other models' accuracies;
    without it, that is the `models_summary.jsonl` beside the suite's file, if there is one.
    """
    check_seed(seed)
    given = suite
    if not isinstance(suite, Suite):
        suite = read_suite(suite, seed) if most is None else read_suite(suite, seed, most)
    beside = None if published is None else Path(published)
    if beside is None and not isinstance(given, Suite):
        there = Path(given).with_name(_PUBLISHED)
        beside = there if Path(given).is_file() and there.is_file() else None
    if beside is not None and not beside.is_file():
        raise RnnlensError(f"there is no file {beside}; give JSON lines of accuracies")
    return Lab(
        subject, encoded(suite, subject.session.text, unknown),
        {} if beside is None else read_published(beside),
    )  # fmt: skip
