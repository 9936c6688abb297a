"""What states predict, as numbers for many words at once: on the CPU in the processor's cache, on a
GPU in large blocks. `reading/encoding.py` has the rule for what is drawn, which stands here once
more in operations that a GPU has, and `reading/divergence.py` that for how far states are apart.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rnnlens.base.errors import RnnlensError
from rnnlens.labels.sets import LabelSet, width_at
from rnnlens.model.cell import States
from rnnlens.model.kinds import PREDICTION
from rnnlens.model.traceable import Traceable
from rnnlens.probe.probes import Probes
from rnnlens.probe.semantics import of_model
from rnnlens.reading.divergence import from_entropies
from rnnlens.reading.encoding import Encodings, Integers, Palette, encode, leading
from rnnlens.search.index_files import TOP, Pair

_TINY = 1e-30  # its logarithm is finite, and nothing times it is nothing
_AT_ONCE = 110  # states whose logits a CPU computes at once: they are in its cache when encoded
# Numbers of a kind's distributions that are held at once: they stay in the cache, or fill a GPU.
_NUMBERS = {"cpu": 1 << 18, "cuda": 1 << 24}
_MOST_WORDS = 4096  # at once, where there are few labels


@dataclass(frozen=True)
class Predictions:
    """What the states of N words predict, kind by kind, and how far each pair is apart."""

    encodings: Mapping[str, Encodings]
    divergences: Mapping[Pair, NDArray[np.float32]]  # (N,) bits; NaN: there is no other state

    @classmethod
    def join(cls, some: Sequence["Predictions"], rows: Sequence[Integers]) -> "Predictions":
        """Those of several lists of words, put where these words stand."""
        order = np.argsort(np.concatenate(rows), kind="stable")
        encodings = {
            kind: Encodings.join([one.encodings[kind] for one in some]).of(order)
            for kind in some[0].encodings
        }
        bits = {
            pair: np.concatenate([one.divergences[pair] for one in some])[order]
            for pair in some[0].divergences
        }
        return cls(encodings, bits)


#: The labels that came, and of numbers the model's own and what intervals are widened by.
Asked = tuple[Integers, Tensor | None, Tensor | None]


class Predictor:
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
        own = model.predicts and of_model(semantic)
        self.kinds = (*(probes.kinds if probes else ()), *((PREDICTION,) if own else ()))
        self.answers = palette.answers or LabelSet.numbered(len(palette.group_of))
        self.widths = probes.widths.get(semantic, {}) if probes else {}  # of numbers
        self.pairs = tuple(pairs)
        self.group_of = torch.from_numpy(palette.group_of).to(device)
        numbers = _NUMBERS[device.type] // len(palette.group_of)
        self.words = max(1, min(_MOST_WORDS, numbers))

    @torch.inference_mode()
    def of(self, states: States, wanted: Mapping[str, Integers], starts: Integers) -> Predictions:
        """What the states of N words predict, sentence after sentence.

        `states` are of every kind and of the prediction, (N, H); `wanted` the labels that came;
        `starts` the numbers of the words that begin a sentence.
        """
        count = len(states[self.kinds[-1]])
        begins = np.zeros(count + 1, bool)
        begins[starts] = begins[count] = True  # whether a word has none before it
        every = np.arange(count)
        steps = torch.from_numpy(every - np.maximum.accumulate(np.where(begins[:-1], every, 0)))
        blocks: list[_Block] = []
        for first in range(0, count, self.words):
            here = slice(first, min(first + self.words, count))
            block = {kind: values[here] for kind, values in states.items()}
            came = {kind: labels[here] for kind, labels in wanted.items()}
            above = blocks[-1] if blocks else None
            blocks.append(_Block(self, block, (came, steps[here]), above))
        encodings = {
            kind: Encodings.join([block.encodings[kind] for block in blocks]) for kind in self.kinds
        }
        return Predictions(encodings, self._joined(blocks, begins))

    def _joined(
        self, blocks: "Sequence[_Block]", begins: NDArray[np.bool_]
    ) -> dict[Pair, NDArray[np.float32]]:
        """The divergences of all blocks, with NaN where a sentence has no other word there."""
        bits: dict[Pair, NDArray[np.float32]] = {}
        rows = torch.cat([block.bits for block in blocks], 1).cpu().numpy()
        for pair, values in zip(self.pairs, rows, strict=True):
            if pair.back > 0:
                values[begins[:-1]] = np.nan
            elif pair.back < 0:  # the first has been compared with nothing: all move up by one
                values[:-1] = values[1:]
                values[begins[1:]] = np.nan
            bits[pair] = values
        return bits


class _Block:
    """Some words one after the other, of which all distributions are held until it is done."""

    p: Tensor  # (K, N, V) the distributions
    room: Tensor  # that they are in, which the next block takes
    p_above: Tensor  # (K, V) those of the word above, which are there for the divergences alone
    nats_above: Tensor  # (K,) their entropies

    def __init__(
        self, predictor: Predictor, states: States,
        asked: tuple[Mapping[str, Integers], Tensor], above: "_Block | None",
    ) -> None:  # fmt: skip
        """`asked`: the labels that came, by kind, and the steps of the words; `above`: the block
        before, whose room is taken.
        """
        wanted, steps = asked
        device, labels = predictor.device, len(predictor.group_of)
        labels *= 2 if predictor.answers.several else 1  # of each its yes and its no
        kinds, count = len(predictor.kinds), len(states[predictor.kinds[-1]])
        self.encodings: dict[str, Encodings] = {}
        self.nats = torch.zeros(kinds, count, device=device)  # the entropy
        if above is None:
            room = torch.empty(kinds * count * labels, device=device)
            self.p_above = torch.full((kinds, labels), 1 / labels, device=device)
            self.nats_above = torch.zeros(kinds, device=device)
        else:
            room = above.room
            self.p_above, self.nats_above = above.p[:, -1].clone(), above.nats[:, -1]
            del above.p, above.room
        self.room = room
        self.p = room[: kinds * count * labels].view(kinds, count, labels)
        for some, logits in _logits(predictor, states):
            came = np.concatenate([wanted[kind] for kind in some])
            own, widths = None, None
            if predictor.answers.scale:
                own = states[PREDICTION][:, 0].cpu() if some == (PREDICTION,) else None
                known = [predictor.widths.get(kind, (1.0,)) for kind in some]
                widths = torch.cat([width_at(one, steps) for one in known])
            self._take(predictor, some, logits, (came, own, widths))
        self.bits = self._divergences(predictor)

    def _take(
        self, predictor: Predictor, kinds: tuple[str, ...], logits: Tensor, asked: Asked
    ) -> None:
        """Encode some kinds, one after the other, and hold what they predict."""
        answers = predictor.answers
        first, size = len(self.encodings), self.p.shape[1]
        here = slice(first, first + len(kinds))
        p = torch.softmax(answers.pooled(logits), 1, out=self.p[here].flatten(0, 1))
        plain = not (answers.several or answers.scale)
        if plain and predictor.device.type != "cpu":
            encoded = encode_on_device(logits, p, predictor, asked[0])
        else:
            encoded = encode_on_cpu(logits.cpu(), p.cpu(), predictor, asked)
        bits = torch.from_numpy(encoded.entropy).to(predictor.device).unflatten(0, (-1, size))
        if answers.several:  # what is compared has another entropy than what is drawn
            bits = -(p * (p + _TINY).log2()).sum(1).unflatten(0, (-1, size))
        self.nats[here] = math.log(2) * bits
        for k, kind in enumerate(kinds):
            self.encodings[kind] = encoded.of(slice(k * size, (k + 1) * size))

    def _divergences(self, predictor: Predictor) -> Tensor:
        """Jensen-Shannon in bits of all pairs for each word, (pairs, N).

        Of a pair of rows it belongs to the lower one's, whichever kind that is.
        """
        number = {kind: k for k, kind in enumerate(predictor.kinds)}
        room = self.p.new_empty(2, *self.p.shape[1:])
        middle, both = room.new_empty(2, len(predictor.pairs), room.shape[1])  # entropies
        p, nats = self.p, self.nats
        for k, pair in enumerate(predictor.pairs):
            lower, upper = number[pair.kind], number[pair.other]
            if pair.back < 0:
                lower, upper = upper, lower
            if pair.back:
                torch.add(p[lower, 1:], p[upper, :-1], out=room[0, 1:])
                torch.add(p[lower, 0], self.p_above[upper], out=room[0, 0])
                torch.add(nats[lower, 1:], nats[upper, :-1], out=both[k, 1:])
                both[k, 0] = nats[lower, 0] + self.nats_above[upper]
            else:
                torch.add(p[lower], p[upper], out=room[0])
                torch.add(nats[lower], nats[upper], out=both[k])
            middle[k] = _negentropy(room[0], room[1])
        return from_entropies(middle.div_(-2).add_(math.log(2)), both)


def _negentropy(p: Tensor, log: Tensor) -> Tensor:
    """The sum of p log p of each row; `log` is room for logarithms.

    On a CPU numpy's logarithms take a third of the time of torch's.
    """
    if p.device.type == "cpu":
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(p.numpy(), out=log.numpy())
            sums = torch.from_numpy(np.vecdot(p.numpy(), logs))
    else:
        sums = torch.linalg.vecdot(p, torch.log(p, out=log))
    impossible = sums.isnan()  # where both find something so: nothing times no number
    if bool(impossible.any()):
        some = p[impossible]
        sums[impossible] = torch.linalg.vecdot(some, (some + _TINY).log())
    return sums


def _logits(predictor: Predictor, states: States) -> Iterator[tuple[tuple[str, ...], Tensor]]:
    """What states say of every label, (N, V): some kinds at once, one after the other."""
    stack = predictor.stack
    if stack is not None:
        count = len(states[predictor.kinds[-1]])
        on_cpu = predictor.device.type == "cpu"
        some = max(1, _AT_ONCE // count) if on_cpu else len(stack.kinds)
        first = 0
        for piece in stack.pieces(states, some * count):
            last = first + piece.count // count
            yield stack.kinds[first:last], piece.logits()
            first = last
    if PREDICTION in predictor.kinds:
        yield (PREDICTION,), predictor.predict(states[PREDICTION])


def encode_on_cpu(logits: Tensor, p: Tensor, predictor: Predictor, asked: Asked) -> Encodings:
    """What is drawn of some states."""
    # Of sets all labels, since any number of them may hold.
    top = logits.shape[1] if predictor.answers.several else min(TOP, logits.shape[1])
    return encode(logits.contiguous(), predictor.palette, asked[0], top, p, *asked[1:])


def encode_on_device(
    logits: Tensor, p: Tensor, predictor: Predictor, wanted: Integers
) -> Encodings:
    """What `encode` computes, in operations that leave the logits where they are."""
    palette, size = predictor.palette, logits.shape[1]
    values, labels = logits.topk(min(TOP, size), 1)
    probabilities = p.gather(1, labels)
    sums = p.new_zeros(len(p), len(palette.groups))
    if palette.base is None:
        among = logits.topk(palette.taking_part, 1, sorted=False).indices
        sums.scatter_add_(1, predictor.group_of[among], p.gather(1, among))
    else:
        sums.index_add_(1, predictor.group_of, p)
    nats = values[:, 0] - probabilities[:, 0].log() - torch.linalg.vecdot(p, logits)
    bits = (nats / math.log(2)).clamp_min(0)
    entropy = bits.cpu().numpy()
    rates = palette.base.rates(entropy) if palette.base else None
    group, share, rival, lead = leading(sums.T.cpu().numpy(), rates)
    number = torch.from_numpy(wanted).to(logits.device)[:, None]
    there = number[:, 0] >= 0
    value = logits.gather(1, number.clamp_min(0))
    came = torch.where(there, p.gather(1, number.clamp_min(0))[:, 0], 0)
    rank = torch.where(there, 1 + (logits > value).sum(1), 0)
    if not bool(torch.isfinite(probabilities[:, 0]).all()):
        raise RnnlensError("the network's numbers are too large to index; train it anew")
    return Encodings(
        labels.cpu().numpy(),
        probabilities.cpu().numpy(),
        group,
        share,
        rival,
        lead,
        entropy,
        came.cpu().numpy(),
        rank.cpu().numpy(),
        np.zeros((len(p), 0)),  # of labels that are numbers, which no index has
        np.full(len(p), np.nan, np.float32),  # nor has it the sizes of states
    )
