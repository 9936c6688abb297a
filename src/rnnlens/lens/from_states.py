"""A lens of states that were recorded: probes are fitted to them, and their texts are looked at."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from rnnlens.base.errors import RnnlensError
from rnnlens.base.flags import check_known, from_flags
from rnnlens.base.threads import threads_for
from rnnlens.corpus.vocabulary import Vocabulary
from rnnlens.labels.colours import checked
from rnnlens.labels.sets import LabelSet
from rnnlens.lens.lens import Lens
from rnnlens.probe.dataset import Dataset
from rnnlens.probe.fit_loop import fit_probes
from rnnlens.probe.fitting import FitConfig
from rnnlens.probe.recorded_data import answers_of, part_of, recorded_dataset
from rnnlens.probe.semantics import OUTPUT, parse
from rnnlens.reading.encoding import Palette, palettes_of
from rnnlens.reading.session import LONG, SHORT, TEXTS, Session
from rnnlens.reading.subject import Subject
from rnnlens.states.kept import Kept, opened
from rnnlens.states.recorded import RecordedStates, StatesRecord, kinds_of, named_as, word_labels

_LOOKED_AT = 2000  # texts, from which the first ones to be shown are taken


def from_states(
    folder: str | Path,
    *,
    words: Sequence[str] | None = None,
    targets: Mapping[str, Sequence[str]] | None = None,
    end: str | None = None,
    colours: Mapping[str, Any] | None = None,
    name: str | None = None,
    **options: Any,
) -> Lens:
    """Fit probes to states that were recorded, and look through them: no network is needed.

    `folder` is what `rnnlens.record` has written, or holds files of your own: arrays of floats
    (rows, units), one for each kind, with `lengths` of the sequences, `words` and `targets.NAME`,
    as safetensors, npz, HDF5 (also with the lstm.yml of LSTMVis) or Parquet. Without targets the
    states are asked for the word that follows.

    `words` and `targets` name numbers that the files do not name, as `{"tag": ["NOUN", "VERB"]}`;
    `end` is the word after which a sequence ends, where no lengths are recorded. `colours` is
    `{"colours": {group: "#rrggbb"}, "groups": {label: group}}`; `name` heads the page.

    Other options are those of `rnnlens fit`: `semantic="output,tag"`, `probe="shared"`, `epochs=8`.

    The lens has the texts that were recorded: `lens("#0")`, or by their words. What needs a network
    (texts of your own, edits, which words wrote a state, continuations) it refuses.
    """
    check_known("from_states", options, FitConfig)
    chosen = None if colours is None else {"own": checked(colours, Path("colours="))}
    source = RecordedSource.of(folder, words=words, targets=targets, end=end)
    config = from_flags(FitConfig, {"semantic": source.semantics, **options})
    labels = max(len(source.dataset.answers_to(one)) for one in parse(config.semantic))
    widest = max(column.width for column in source.model.kept.kinds.values())
    with threads_for(labels * widest):
        probes = fit_probes(source.dataset, config)
    session = source.session()
    palettes = palettes_of(session.text.labels, session.vocabulary.counts)
    if chosen:
        palettes = {key: Palette.of(session.vocabulary.labels, value, session.text.answers)
                    for key, value in chosen.items()}  # fmt: skip
    title = name or Path(folder).resolve().stem
    return Lens(Subject(title, session, palettes, probes), asdict(config))


class RecordedSource:
    """Recorded states, ready to be asked: their model, names and data."""

    def __init__(self, model: RecordedStates, vocabulary: Vocabulary, dataset: Dataset) -> None:
        self.model, self.vocabulary, self.dataset = model, vocabulary, dataset

    @classmethod
    def of(
        cls,
        folder: str | Path,
        *,
        words: Sequence[str] | None = None,
        targets: Mapping[str, Sequence[str]] | None = None,
        end: str | None = None,
    ) -> "RecordedSource":
        """Open a folder, and see what its states can be asked for."""
        kept = opened(folder, words=words, targets=targets, end=end)
        given = {**({"words": words} if words is not None else {}), **(targets or {})}
        answers = {name: answers_of(kept, target) for name, target in kept.targets.items()}
        follows = OUTPUT not in answers and kept.has_names
        labels = word_labels(kept) if follows else ()
        if not answers and len(labels) < 2:
            raise RnnlensError(
                f"{kept.path} has neither words nor targets, so that there is nothing to ask its "
                "states; record words=, or targets="
            )
        own = answers.get(OUTPUT) or (LabelSet(labels) if follows else next(iter(answers.values())))
        if kept.y is not None and (kept.y.width != len(own) or own.scale):
            raise RnnlensError(
                f"{kept.path}: y has {kept.y.width:,} logits and there are {len(own):,} labels; "
                "record a logit for each label"
            )
        record = StatesRecord(
            str(kept.path.resolve()), kinds_of(kept), len(own), follows,
            follows or OUTPUT in answers, kept.y is not None and (follows or OUTPUT in answers),
            len(kept), kept.sha256, own.several, own.scale, named_as(given), end,
        )  # fmt: skip
        model = RecordedStates(record, lambda: kept)
        vocabulary = Vocabulary.of_user(own.names, (0,) * len(own), own.names if follows else ())
        model.text(vocabulary)  # from now on it knows the labels of words
        asked = {**answers, **({OUTPUT: own} if record.has_labels else {})}
        dataset = recorded_dataset(model, vocabulary, asked)
        if missing := {"train", "valid"} - dataset.splits.keys():
            raise RnnlensError(
                f"{kept.path} has {kept.rows} rows in {len(kept)} sequences, too few to learn from "
                f"some and stop by others (no {min(missing)}); record more"
            )
        of_texts = OUTPUT in kept.targets and kept.targets[OUTPUT].of_sequences
        counts = dataset.counts(OUTPUT) if record.has_labels else own.no_counts()
        rows = counts[1] if own.several else counts
        counted = Vocabulary(
            vocabulary.labels, tuple(rows.tolist()), lowercase=False, numbers=False,
            words=vocabulary.words, of_texts=of_texts,
        )  # fmt: skip
        return cls(model, counted, dataset)

    @property
    def semantics(self) -> str:
        """What there are probes for unless somebody chooses: targets, or the word that follows."""
        targets = self.model.kept.targets
        return ",".join(targets) if targets else OUTPUT

    def session(self) -> Session:
        """The texts, and some to begin with."""
        kept = self.model.kept
        return Session(self.model, self.model.text(self.vocabulary), first_texts(kept))


def first_texts(kept: Kept) -> list[str]:
    """Some texts that had no part in fitting, neither short nor long where there are such."""
    held_out = np.flatnonzero(part_of(kept) == 2)[:_LOOKED_AT]
    held_out = held_out if len(held_out) else np.arange(min(len(kept), TEXTS))
    lengths = np.diff(kept.starts)[held_out]
    middling = held_out[(lengths >= SHORT) & (lengths <= 2 * LONG)]
    chosen = middling if len(middling) else held_out[np.argsort(lengths, kind="stable")]
    return list(dict.fromkeys(kept.text(int(number)) for number in chosen[:TEXTS]))
