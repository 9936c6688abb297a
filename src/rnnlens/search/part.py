"""One part of an index: its sentences are traced, measured and written."""

import hashlib
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from rnnlens.base.files import write_bytes, write_json
from rnnlens.base.tensors import write_tensors
from rnnlens.base.threads import one_thread, pool
from rnnlens.model.cell import States
from rnnlens.model.kinds import PREDICTION
from rnnlens.model.text import TextSide
from rnnlens.model.traceable import Traceable
from rnnlens.probe.semantics import offset
from rnnlens.reading.encoding import Integers, Palette
from rnnlens.search.layout import Part
from rnnlens.search.measures import Measures, Measuring
from rnnlens.search.reading import Text, chunks, labels_asked, states_of
from rnnlens.search.table import packed, rows_table, scattered

_WORDS = {"cpu": 512, "cuda": 16_384}  # traced at once
_AHEAD = 4  # lists of words that are traced while others are measured


@dataclass(frozen=True)
class Kept:
    """The states that an index keeps, for similarity."""

    precision: str  # int8, fp16, or empty: none
    kinds: tuple[str, ...]

    def of(self, states: States, measuring: Measuring) -> dict[str, Tensor]:
        """Standardised states as they are stored, on the CPU."""
        stack = measuring.stack
        if not self.precision or stack is None:
            return {}
        rows: dict[str, Tensor] = {}
        for kind in self.kinds:
            k = stack.kinds.index(kind)
            z = stack.prepare(k, states[kind])[:, : stack.widths[k]]
            rows |= {name: t.cpu() for name, t in narrowed(kind, z, self.precision).items()}
        return rows


def narrowed(kind: str, z: Tensor, precision: str) -> dict[str, Tensor]:
    """States (N, H) in 16 bits, or in 8: then each is divided by what makes its largest number
    127, and that is kept as KIND/scale.
    """
    if precision == "fp16":
        return {kind: z.clamp(-60_000, 60_000).half()}
    scale = z.abs().amax(1).clamp_min(1e-12) / 127
    return {kind: (z / scale[:, None]).round().to(torch.int8), f"{kind}/scale": scale}


@dataclass(frozen=True)
class Maker:
    """Everything that is needed to make a part of its texts."""

    folder: Path
    model: Traceable
    side: TextSide
    palette: Palette
    semantic: str
    measuring: Measuring
    kept: Kept

    def make(self, number: int, texts: Sequence[Text], identity: str) -> "Future[Part]":
        """Measure the texts; writing goes on while the next part is measured."""
        measures, states = self._measured(texts)
        return pool().submit(self._write, number, texts, measures, states, identity)

    def _measured(self, texts: Sequence[Text]) -> tuple[Measures, dict[str, Tensor]]:
        lengths = np.array([len(text.ids) for text in texts])
        starts = np.cumsum(lengths) - lengths
        places, parts, kept = [], [], []
        for chosen, measures, states in self._chunks(texts):
            places.append(np.concatenate([starts[k] + np.arange(lengths[k]) for k in chosen]))
            parts.append(measures)
            kept.append(states)
        order = torch.from_numpy(np.argsort(np.concatenate(places), kind="stable"))
        rows = {kind: torch.cat([one[kind] for one in kept])[order] for kind in kept[0]}
        return scattered(parts, places), rows

    def _chunks(
        self, texts: Sequence[Text]
    ) -> Iterator[tuple[list[int], Measures, dict[str, Tensor]]]:
        """Lists of texts with their measures: traced here, measured on several threads."""
        device = self.measuring.device
        waiting: list[tuple[list[int], Future[Measures], dict[str, Tensor]]] = []
        for chosen in chunks(texts, _WORDS[device.type]):
            sentences = [texts[k].ids for k in chosen]
            states = states_of(self.model, self.side, sentences, device)
            work = pool().submit(self._measure, states, sentences)
            waiting.append((chosen, work, self.kept.of(states, self.measuring)))
            if len(waiting) > _AHEAD or device.type == "cuda":
                first, done, rows = waiting.pop(0)
                yield first, done.result(), rows
        for first, done, rows in waiting:
            yield first, done.result(), rows

    def _measure(self, states: States, sentences: Sequence[Sequence[int]]) -> Measures:
        lengths = np.array([len(ids) for ids in sentences])
        came = labels_asked(self.side, sentences, offset(self.semantic))
        wanted = dict.fromkeys(self.measuring.kinds, came)
        wanted[PREDICTION] = self.following(sentences)
        with one_thread():
            return self.measuring.of(states, wanted, np.cumsum(lengths) - lengths)

    def following(self, sentences: Sequence[Sequence[int]]) -> Integers:
        """The labels that the prediction is for."""
        return labels_asked(self.side, sentences, 1)

    def _write(
        self, number: int, texts: Sequence[Text], measures: Measures, states: dict[str, Tensor],
        identity: str,
    ) -> Part:  # fmt: skip
        """Write the rows, the states beside them, and last a note that both are there."""
        vocabulary = self.side.vocabulary
        following = self.following([text.ids for text in texts])
        table = rows_table(
            texts, measures, following, vocabulary.labels, self.palette, vocabulary.unknown
        )
        data, rows = packed(table), len(table)
        part = Part(number, rows, len(data), hashlib.sha256(data).hexdigest())
        write_bytes(self.folder / part.file, data)
        if states:
            sha = write_tensors(self.folder / part.states_file, states)
            part = Part(number, rows, len(data), part.sha256, sha)
        write_json(note_of(self.folder, number), {"identity": identity, **asdict(part)})
        return part


def note_of(folder: Path, number: int) -> Path:
    """Where it is noted, until the index is whole, that a part is."""
    return folder / f"part-{number:05d}.json"
