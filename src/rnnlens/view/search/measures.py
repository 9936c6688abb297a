"""What states say, as numbers for many words at once: on the CPU in the processor's cache, on a GPU
in large blocks. `view/encoding.py` has the rule for what is drawn; here are the divergences, and
the same rule in operations that a GPU has.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rnnlens.errors import RnnlensError
from rnnlens.model.cell import States
from rnnlens.model.kinds import PREDICTION
from rnnlens.model.traceable import Traceable
from rnnlens.probe.probes import Probes
from rnnlens.view.encoding import Encodings, Integers, Palette, encode, top_of
from rnnlens.view.search.layout import TOP, Pair

_TINY = 1e-30  # its logarithm is finite, and nothing times it is nothing
# Numbers of a kind's distributions that are held at once: they stay in the cache, or fill a GPU.
_NUMBERS = {"cpu": 1 << 18, "cuda": 1 << 24}
_MOST_WORDS = 4096  # at once, where there are few labels
_ROWS = 40  # states that are encoded at once on a CPU


@dataclass(frozen=True)
class Measures:
    """What the states of N words say, kind by kind, and how far those of each pair are apart."""

    encodings: Mapping[str, Encodings]
    divergences: Mapping[Pair, NDArray[np.float32]]  # (N,) bits; NaN: there is no other state


class Measuring:
    """A model's prediction and its probes, ready to be asked about states."""

    def __init__(
        self,
        model: Traceable,
        probes: Probes | None,
        semantic: str,
        palette: Palette,
        pairs: Sequence[Pair],
        device: torch.device,
    ) -> None:
        self.predict, self.palette, self.device = model.predict, palette, device
        self.stack = probes.stacks[semantic].to(device) if probes else None
        self.kinds = (*(probes.kinds if probes else ()), PREDICTION)
        self.pairs = tuple(pairs)
        self.group_of = torch.from_numpy(palette.group_of).to(device)
        numbers = _NUMBERS[device.type] // len(palette.group_of)
        self.words = max(1, min(_MOST_WORDS, numbers))

    @torch.inference_mode()
    def of(self, states: States, wanted: Mapping[str, Integers], starts: Integers) -> Measures:
        """The measures of N words, sentence after sentence.

        `states` are of every kind and of the prediction, (N, H); `wanted` the labels that came;
        `starts` the numbers of the words that begin a sentence.
        """
        count = len(states[PREDICTION])
        begins = np.zeros(count + 1, bool)
        begins[starts] = begins[count] = True  # whether a word has none before it
        blocks, above = [], None
        for first in range(0, count, self.words):
            here = slice(first, min(first + self.words, count))
            block = {kind: values[here] for kind, values in states.items()}
            asked = {kind: labels[here] for kind, labels in wanted.items()}
            last = _Block(self, block, asked, above)
            blocks.append(last)
            above = last.last_row()
        encodings = {
            kind: Encodings.join([block.encodings[kind] for block in blocks]) for kind in self.kinds
        }
        return Measures(encodings, self._joined(blocks, begins))

    def _joined(
        self, blocks: "Sequence[_Block]", begins: NDArray[np.bool_]
    ) -> dict[Pair, NDArray[np.float32]]:
        """The divergences of all blocks, with NaN where a sentence has no other word there."""
        bits: dict[Pair, NDArray[np.float32]] = {}
        for pair in self.pairs:
            values = torch.cat([block.bits[pair] for block in blocks]).cpu().numpy()
            if pair.back > 0:
                values[begins[:-1]] = np.nan
            elif pair.back < 0:  # the first has been compared with nothing: all move up by one
                values = np.append(values[1:], np.float32(np.nan))
                values[begins[1:]] = np.nan
            bits[pair] = values
        return bits


@dataclass(frozen=True)
class _Row:
    """What a word's states predict, for the word after it."""

    p: Mapping[str, Tensor]  # (1, V)
    negentropy: Mapping[str, Tensor]  # (1,)


class _Block:
    """Some words one after the other, of which all distributions are held until it is done."""

    def __init__(
        self, measuring: Measuring, states: States, wanted: Mapping[str, Integers],
        above: _Row | None,
    ) -> None:  # fmt: skip
        self.device = measuring.device
        self.p: dict[str, Tensor] = {}
        self.encodings: dict[str, Encodings] = {}
        encoded = encode_in_pieces if self.device.type == "cpu" else encode_there
        for kinds, logits in _logits(measuring, states):
            p = logits.softmax(1)
            labels = np.concatenate([wanted[kind] for kind in kinds])
            made = encoded(logits, p, measuring, labels)
            size = len(p) // len(kinds)
            for k, kind in enumerate(kinds):
                here = slice(k * size, (k + 1) * size)
                self.p[kind], self.encodings[kind] = p[here], made.of(here)
        self.negentropy = {
            kind: torch.from_numpy(e.entropy).to(self.device).float() * -math.log(2)
            for kind, e in self.encodings.items()
        }
        for p in self.p.values():
            p.add_(_TINY)
        room = torch.empty(2, *next(iter(self.p.values())).shape, device=self.device)
        self.bits = {pair: self._divergence(pair, above, room) for pair in measuring.pairs}

    def last_row(self) -> _Row:
        """What the next block compares its first word with."""
        row = _Row(
            {kind: p[-1:].clone() for kind, p in self.p.items()},
            {kind: h[-1:] for kind, h in self.negentropy.items()},
        )
        self.p = {}  # nobody needs them any more
        return row

    def _divergence(self, pair: Pair, above: _Row | None, room: Tensor) -> Tensor:
        """Of each word, (n,); of a pair of rows the lower one's, whichever kind that is."""
        if not pair.back:
            return self._bits(
                (self.p[pair.kind], self.negentropy[pair.kind]),
                (self.p[pair.other], self.negentropy[pair.other]),
                room,
            )
        lower, upper = (pair.kind, pair.other) if pair.back > 0 else (pair.other, pair.kind)
        below = self.p[lower], self.negentropy[lower]
        first = torch.zeros(1, device=self.device)
        if above is not None:
            one = below[0][:1], below[1][:1]
            first = self._bits(one, (above.p[upper], above.negentropy[upper]), room)
        others = self.p[upper][:-1], self.negentropy[upper][:-1]
        return torch.cat([first, self._bits((below[0][1:], below[1][1:]), others, room)])

    @staticmethod
    def _bits(one: tuple[Tensor, Tensor], other: tuple[Tensor, Tensor], room: Tensor) -> Tensor:
        """Jensen-Shannon of distributions and their negative entropies in nats."""
        total, log = room[0, : len(one[0])], room[1, : len(one[0])]
        torch.add(one[0], other[0], out=total)
        torch.log(total, out=log)
        nats = math.log(2) + (one[1] + other[1] - torch.linalg.vecdot(total, log)) / 2
        bits: Tensor = nats / math.log(2)
        return bits.clamp_(0, 1)


def _logits(measuring: Measuring, states: States) -> Iterator[tuple[tuple[str, ...], Tensor]]:
    """What states say of every label, (N, V): some kinds at once, one after the other."""
    stack = measuring.stack
    if stack is not None:
        every = len(states[PREDICTION]) * len(stack.kinds)
        pieces = stack.pieces(states, every)
        size = len(stack.kinds) // len(pieces)
        for k, piece in enumerate(pieces):
            yield stack.kinds[k * size : (k + 1) * size], piece.logits()
    yield (PREDICTION,), measuring.predict(states[PREDICTION])


def encode_in_pieces(
    logits: Tensor, p: Tensor, measuring: Measuring, wanted: Integers
) -> Encodings:
    """On a CPU, few states at once."""
    logits = logits.contiguous()
    top = min(TOP, logits.shape[1])
    parts = [
        encode(logits[k : k + _ROWS], measuring.palette, wanted[k : k + _ROWS], top,
               p[k : k + _ROWS])
        for k in range(0, len(logits), _ROWS)
    ]  # fmt: skip
    return Encodings.join(parts)


def encode_there(logits: Tensor, p: Tensor, measuring: Measuring, wanted: Integers) -> Encodings:
    """The same as `encode`, in operations that leave the logits where they are."""
    palette, size = measuring.palette, logits.shape[1]
    values, labels = logits.topk(min(TOP, size), 1)
    probabilities = p.gather(1, labels)
    among = logits.topk(top_of(size), 1, sorted=False).indices
    sums = p.new_zeros(len(p), len(palette.groups))
    sums.scatter_add_(1, measuring.group_of[among], p.gather(1, among))
    dominant, group = sums.max(1)
    nats = values[:, 0] - probabilities[:, 0].log() - torch.linalg.vecdot(p, logits)
    asked = torch.from_numpy(wanted).to(logits.device)[:, None]
    there = asked[:, 0] >= 0
    value = logits.gather(1, asked.clamp_min(0))
    came = torch.where(there, p.gather(1, asked.clamp_min(0))[:, 0], 0)
    rank = torch.where(there, 1 + (logits > value).sum(1), 0)
    if not bool(torch.isfinite(probabilities[:, 0]).all()):
        raise RnnlensError("the network's numbers are too large to index; train it anew")
    return Encodings(
        labels.cpu().numpy(),
        probabilities.cpu().numpy(),
        group.cpu().numpy(),
        (dominant / sums.sum(1)).cpu().numpy(),
        (nats / math.log(2)).clamp_min(0).cpu().numpy(),
        came.cpu().numpy(),
        rank.cpu().numpy(),
        np.zeros((len(p), 0)),  # of labels that are numbers, which no index has
    )
