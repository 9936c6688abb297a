"""What states predict, as numbers for many words at once: on the CPU in the processor's cache, on a
GPU in large blocks. `reading/encoding.py` has the rule for what is drawn, which `on_device.py` has
once more in operations of a GPU, and `reading/divergence.py` that for how far states are apart.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import torch
from numpy.lib.introspect import opt_func_info
from numpy.typing import NDArray
from torch import Tensor

from rnnlens.labels.sets import LabelSet, width_at
from rnnlens.model.cell import States
from rnnlens.model.kinds import PREDICTION
from rnnlens.model.traceable import Traceable
from rnnlens.probe.probes import Probes, Stack
from rnnlens.probe.semantics import of_model
from rnnlens.reading.divergence import from_entropies
from rnnlens.reading.encoding import Encodings, Integers, Palette, encode
from rnnlens.search.index_files import TOP, Pair
from rnnlens.search.on_device import Drawing, Drawn, negentropies_on_device, on_host

_TINY = 1e-30  # its logarithm is finite, and nothing times it is nothing
# Numbers of a kind's distributions that are held at once: on a CPU so few that two rooms of them
# stay in a core's own cache, and on a GPU as many as keep it busy while a few lists are computed.
_NUMBERS = {"cpu": 120_000, "cuda": 1 << 23}
_LINEAR = 1 << 18  # on a CPU where each kind has label weights of its own, which are read for each
_MOST_WORDS = 4096  # at once, where there are few labels
_PAIRS = 8  # whose middles a GPU holds at once, so that it is told to add them up less often
_TOGETHER = 48  # words at least that a CPU takes through maps, and through the model's own readout


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


#: The columns of labels that came; of numbers the model's own, and what intervals are widened by.
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
        self.probed = self.stack.kinds if self.stack else ()
        self.own = model.predicts and of_model(semantic)  # whether it has a prediction of its own
        self.kinds = (*self.probed, *((PREDICTION,) if self.own else ()))
        self.answers = palette.answers or LabelSet.numbered(len(palette.group_of))
        self.widths = probes.widths.get(semantic, {}) if probes else {}  # of numbers
        self.pairs = tuple(pairs)
        self.labels = len(palette.group_of) * (2 if self.answers.several else 1)  # yes and no
        apart = self.stack is not None and self.stack.labels is None and device.type == "cpu"
        numbers = _LINEAR if apart else _NUMBERS[device.type]
        self.drawn_by, self.place = palette, np.arange(len(palette.group_of))
        plain = not (self.answers.several or self.answers.scale)
        self.on_cpu = device.type == "cpu"
        ordered = self.stack is not None and not apart if self.on_cpu else True
        if plain and palette.base is not None and ordered:
            self.drawn_by = palette.by_group
            self.place = np.argsort(self.order)
            self.numbers = torch.from_numpy(self.order).to(device)
            self.stack = _in_order(self.stack, self.numbers) if self.stack else None
        #: What is drawn of states where they are, unless that is the CPU.
        self.drawing = Drawing(self.drawn_by, device) if plain and not self.on_cpu else None
        #: Words whose distributions are held at once, and whose states are made ready together.
        self.words = max(1, min(_MOST_WORDS, numbers // len(palette.group_of)))
        self.together = self.words
        if device.type == "cpu":
            self.together *= -(-_TOGETHER // self.words)

    @property
    def order(self) -> Integers:
        """The labels that logits are of, column by column: those of a group together, unless that
        costs a CPU a copy of weights that each kind has of its own.
        """
        numbers = self.drawn_by.numbers
        return self.place if numbers is None else numbers

    def own_logits(self, states: Tensor) -> Tensor:
        """The model's own logits."""
        logits: Tensor = self.predict(states)
        if self.drawn_by.numbers is not None:
            logits = logits.index_select(1, self.numbers)
        return logits

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
        columns = {kind: self._columns(labels) for kind, labels in wanted.items()}
        made = _Pass(self, min(count, self.together))
        for first in range(0, count, self.together):
            here = slice(first, min(first + self.together, count))
            some = {kind: values[here] for kind, values in states.items()}
            came = {kind: numbers[here] for kind, numbers in columns.items()}
            made.add(some, came, steps[here])
        return Predictions(made.by_kind(), self._known(made.divergences(), begins))

    def _columns(self, labels: Integers) -> Tensor:
        """The columns of labels, where the logits are; -1 where there is no label."""
        columns = np.where(labels < 0, -1, self.place[labels])
        return torch.from_numpy(columns).to(self.device)

    def _known(
        self, rows: NDArray[np.float32], begins: NDArray[np.bool_]
    ) -> dict[Pair, NDArray[np.float32]]:
        """The divergences (pairs, N), with NaN where a sentence has no other word there."""
        bits: dict[Pair, NDArray[np.float32]] = {}
        for pair, values in zip(self.pairs, rows, strict=True):
            if pair.back > 0:
                values[begins[:-1]] = np.nan
            elif pair.back < 0:  # the first has been compared with nothing: all move up by one
                values[:-1] = values[1:]
                values[begins[1:]] = np.nan
            bits[pair] = values
        return bits


def _in_order(stack: Stack, order: Tensor) -> Stack:
    """Probes whose logits are those of the labels in this order."""
    if stack.labels is None:
        return replace(stack, map=stack.map[:, order])
    return replace(stack, labels=stack.labels[order])


class _Held:
    """The distributions of some kinds at words one after the other, below those of the word above
    the first, and what is drawn of them. All kinds of a word stand together.
    """

    def __init__(self, predictor: Predictor, kinds: tuple[str, ...], words: int) -> None:
        self.predictor, self.kinds = predictor, kinds
        labels, device = predictor.labels, predictor.device
        self.p = torch.full((words + 1, len(kinds), labels), 1 / labels, device=device)
        self.encoded: list[Encodings] = []  # of words and, within a word, of kinds
        self.drawn: list[Drawn] = []  # or these, where they are not on a CPU
        self.nats: list[Tensor] = []  # their entropies

    def take(
        self, logits: Tensor, wanted: Mapping[str, Tensor], steps: Tensor, own: Tensor | None
    ) -> None:
        """Encode some words, and hold what their states predict; `own`: the model's numbers."""
        predictor, count = self.predictor, len(steps)
        answers, widths = predictor.answers, None
        p = torch.softmax(answers.pooled(logits), 1, out=self.p[1 : count + 1].flatten(0, 1))
        came = torch.stack([wanted[kind] for kind in self.kinds], 1).flatten()
        if predictor.drawing:
            self.drawn.append(predictor.drawing.of(logits, p, came, TOP))
            self.nats.append(math.log(2) * self.drawn[-1].entropy)
            return
        if answers.scale:
            known = [predictor.widths.get(kind, (1.0,)) for kind in self.kinds]
            widths = torch.stack([width_at(one, steps) for one in known], 1).flatten()
        asked = came.cpu().numpy(), own, widths
        encoded = encode_on_cpu(logits.cpu(), p.cpu(), predictor, asked)
        self.encoded.append(encoded)
        if answers.several:  # what is compared has another entropy than what is drawn
            self.nats.append(-(p * (p + _TINY).log()).sum(1))
        else:
            self.nats.append(math.log(2) * torch.from_numpy(encoded.entropy).to(p.device))

    def move(self, count: int) -> None:
        """Go on after so many words: the last of them is the one above those that come."""
        self.p[0] = self.p[count]

    def by_kind(self) -> dict[str, Encodings]:
        """What is drawn of every kind, (N,) each."""
        if self.drawn:
            return dict(zip(self.kinds, on_host(self.drawn, len(self.kinds)), strict=True))
        every, count = Encodings.join(self.encoded), len(self.kinds)
        return {kind: every.of(slice(k, None, count)) for k, kind in enumerate(self.kinds)}

    def entropies(self) -> Tensor:
        """Those of all words, (N, kinds)."""
        return torch.cat(self.nats).view(-1, len(self.kinds))


class _Pass:
    """What the states of words one after the other predict, of which few are held at once."""

    def __init__(self, predictor: Predictor, most: int) -> None:
        """`most`: words that are added at once."""
        self.predictor = predictor
        words = min(most, predictor.words)
        self.probed = _Held(predictor, predictor.probed, words) if predictor.probed else None
        self.own = _Held(predictor, (PREDICTION,), most) if predictor.own else None
        self.middle: list[Tensor] = []  # (pairs, N) the sums of p log p of pairs, both added
        rooms = 2 if predictor.on_cpu else max(1, min(_PAIRS, len(predictor.pairs)))
        self.room = torch.empty(
            rooms, words, predictor.labels, dtype=torch.float32, device=predictor.device
        )

    def add(self, states: States, wanted: Mapping[str, Tensor], steps: Tensor) -> None:
        """Take the words that come next."""
        predictor, count = self.predictor, len(steps)
        if self.own:
            own = states[PREDICTION]
            numbers = own[:, 0].cpu() if predictor.answers.scale else None
            self.own.take(predictor.own_logits(own), wanted, steps, numbers)
        ready = predictor.stack.side_by_side(states) if predictor.stack else None
        for first in range(0, count, predictor.words):
            here = slice(first, min(first + predictor.words, count))
            size = here.stop - first
            if self.probed and predictor.stack and ready is not None:
                came = {kind: labels[here] for kind, labels in wanted.items()}
                self.probed.take(predictor.stack.of_all(ready[here]), came, steps[here], None)
            self.middle.append(self._negentropies(first, size))
            if self.probed:
                self.probed.move(size)
        if self.own:
            self.own.move(count)

    def _negentropies(self, first: int, count: int) -> Tensor:
        """The sum of p log p of both distributions added up, for all pairs and each word, (pairs,
        N).

        Of a pair of rows it belongs to the lower one's, whichever kind that is.
        """
        pairs = self.predictor.pairs
        lower, above = dict[str, Tensor](), dict[str, Tensor]()
        for held, start in ((self.probed, 0), (self.own, first)):
            for k, kind in enumerate(held.kinds if held else ()):
                p = held.p[start : start + count + 1, k]  # type: ignore[union-attr]
                above[kind], lower[kind] = p[:-1], p[1:]
        room = self.room[:, :count]
        sums = room.new_empty(len(pairs), count)
        with_above = [_ends(pair) for pair in pairs]
        ends = [(lower[a], (above if back else lower)[b]) for a, b, back in with_above]
        if not self.predictor.on_cpu:
            negentropies_on_device(ends, room, sums)
            return sums
        _negentropies_on_cpu(ends, room[0], room[1], sums)
        for k, row in sums.isnan().nonzero().tolist() if pairs else ():
            # Where both find something impossible: nothing times no number.
            a, b, back = with_above[k]
            one = lower[a][row] + (above if back else lower)[b][row]
            sums[k, row] = (one * (one + _TINY).log()).sum()
        found: Tensor = sums
        return found

    def by_kind(self) -> dict[str, Encodings]:
        """What is drawn of every kind, (N,) each."""
        held = [held.by_kind() for held in (self.probed, self.own) if held]
        return {kind: drawn for some in held for kind, drawn in some.items()}

    def divergences(self) -> NDArray[np.float32]:
        """Jensen-Shannon in bits of all pairs for each word, (pairs, N)."""
        kinds = self.predictor.kinds
        nats = torch.cat([held.entropies() for held in (self.probed, self.own) if held], 1).T
        above = torch.cat([torch.zeros_like(nats[:, :1]), nats[:, :-1]], 1)
        both = nats.new_empty(len(self.predictor.pairs), nats.shape[1])
        for k, pair in enumerate(self.predictor.pairs):
            a, b, back = _ends(pair)
            torch.add(nats[kinds.index(a)], (above if back else nats)[kinds.index(b)], out=both[k])
        middle = torch.cat(self.middle, 1).div_(-2).add_(math.log(2))
        bits: NDArray[np.float32] = from_entropies(middle, both).cpu().numpy()
        return bits


def _ends(pair: Pair) -> tuple[str, str, bool]:
    """The kind of the lower row of a pair, the other kind, and whether that is a row above."""
    kinds = (pair.other, pair.kind) if pair.back < 0 else (pair.kind, pair.other)
    return *kinds, pair.back != 0


Ends = Sequence[tuple[Tensor, Tensor]]


def _negentropies_on_cpu(ends: Ends, both: Tensor, log: Tensor, sums: Tensor) -> None:
    """NumPy's logarithms take a third of the time of torch's."""
    x, logs, found = both.numpy(), log.numpy(), sums.numpy()
    logarithm, nats = _logarithm()
    with np.errstate(divide="ignore", invalid="ignore"):
        for k, (a, b) in enumerate(ends):
            np.add(a.numpy(), b.numpy(), out=x)
            logarithm(x, out=logs)
            np.vecdot(x, logs, out=found[k])
        np.multiply(found, nats, out=found)


@cache
def _logarithm() -> tuple[np.ufunc, float]:
    """The quicker of NumPy's logarithms on this processor, and what makes its numbers nats: that to
    base 2 takes two thirds of the other's time where NumPy has vector instructions for it, and
    twice as long elsewhere.
    """
    ways = opt_func_info(func_name="^log2$", signature="float32").get("log2", {})
    taken = [way.get("current") for way in ways.values()]  # NumPy does not promise to know
    is_quick = bool(taken) and all(way and "baseline" not in way for way in taken)
    return (np.log2, math.log(2)) if is_quick else (np.log, 1.0)


def encode_on_cpu(logits: Tensor, p: Tensor, predictor: Predictor, asked: Asked) -> Encodings:
    """What is drawn of some states, whose logits stand in the predictor's order of labels."""
    # Of sets all labels, since any number of them may hold.
    top = logits.shape[1] if predictor.answers.several else min(TOP, logits.shape[1])
    encoded = encode(logits.contiguous(), predictor.drawn_by, asked[0], top, p, *asked[1:])
    return replace(encoded, labels=predictor.order[encoded.labels])
