"""Learning what to ask of memories: on a sample of states, before probes are fitted.

Questions start in closed form: those whose answers vary most with what is to be predicted, for how
much they vary at all. From there they go down the gradient together with a probe of the answers,
and stay as they were where held-out states do not get better by it. After that they are held, so
that the fit streams answers, and never holds more than one memory at once.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from rnnlens.labels.sets import LabelSet
from rnnlens.model.traceable import Readout
from rnnlens.model.transition import Matrix
from rnnlens.probe.dataset import Chunk, Dataset
from rnnlens.probe.families import Family
from rnnlens.probe.kernels import adamw_
from rnnlens.probe.memory_questions import Questions, how_many
from rnnlens.probe.moments import Moments, measure

SAMPLE = 16_384  # states that questions are learned from, at most
_LEAST = 512  # states, however large memories are
_ROOM = {"cpu": 2**29, "cuda": 2**34}  # bytes of memories that are held for it, about
_CHUNKS = 8  # of a sample, one of which tells whether questions got better
_EPOCHS, _BATCH = 3, 256
_RATE, _QUESTION_RATE = 1e-3, 3e-3
_TARGETS = 64  # numbers that what is to be predicted is told by
_RIDGE = 1e-3  # of the mean variance of what a key says

#: Makes the probes of some kinds as a fit does, with the labels' log-frequencies.
FamilyOf = Callable[[Moments, Sequence[str], Readout | None, Tensor], Family]


def asked_kinds(dataset: Dataset, wanted: int) -> dict[str, int]:
    """The memories that are asked questions, and how many; see `how_many`."""
    there = {kind: m for kind, m in dataset.model.matrices.items() if kind in dataset.kinds}
    counts = {kind: how_many(matrix, wanted) for kind, matrix in there.items()}
    return {kind: count for kind, count in counts.items() if count}


@torch.no_grad()
def learned_questions(
    dataset: Dataset, semantic: str, counts: Mapping[str, int], readout: Readout | None,
    family_of: FamilyOf, seed: int = 0,
) -> dict[str, Questions]:  # fmt: skip
    """Learn so many questions to each of some memories."""
    dataset.questions.pop(semantic, None)  # of an earlier fit: here memories are read as they are
    if not counts:
        return {}
    chunks = _sample(dataset, semantic, [*counts], readout, seed)
    learn, held = (chunks[1:], chunks[:1]) if len(chunks) > 1 else (chunks, chunks)
    answers = dataset.answers_to(semantic)
    told = _told(readout, answers, dataset.device)
    memories = {
        kind: _Memory(kind, dataset.model.matrices[kind], count, learn, told)
        for kind, count in counts.items()
    }
    fit = _Bilinear(memories, learn, readout, answers, family_of)
    return fit.run(learn, held, seed)


def _sample(
    dataset: Dataset, semantic: str, kinds: list[str], readout: Readout | None, seed: int
) -> list[Chunk]:
    """Some states of memories, and of the kind that the prediction is read from."""
    matrices = dataset.model.matrices
    size = 4 * sum(matrices[kind].numbers for kind in kinds)
    most = max(_LEAST, min(SAMPLE, _ROOM[dataset.device.type] // size))
    if readout and readout.kind not in kinds:
        kinds = [*kinds, readout.kind]
    stream = dataset.stream("train", semantic, most // _CHUNKS, kinds, most // _CHUNKS)
    chunks, count = list[Chunk](), 0
    for chunk in stream.chunks((seed, 0)):
        chunks += [chunk] if len(chunk.labels) else []
        count += len(chunk.labels)
        if count >= most:
            break
    return chunks


def _told(
    readout: Readout | None, answers: LabelSet, device: torch.device
) -> Callable[[Chunk], Tensor]:
    """What is to be predicted of states, as a few numbers (N, R): where the model reads its
    prediction from a kind, the directions of that which move its logits most; else a random code
    for each label.
    """
    if readout is not None:
        weight = readout.weight.double()
        values, vectors = torch.linalg.eigh(weight.T @ weight)
        most = slice(-min(_TARGETS, len(values)), None)
        basis = (vectors[:, most] * values[most].clamp_min(0).sqrt()).float()
        kind = readout.kind
        return lambda chunk: chunk.states[kind] @ basis
    generator = torch.Generator().manual_seed(0)
    code = torch.randn(len(answers), _TARGETS, generator=generator).to(device)
    if answers.several:
        return lambda chunk: chunk.labels.float() @ code
    return lambda chunk: code[chunk.labels]


class _Memory:
    """A memory whose questions are learned: they are `root` times what is moved, so that every
    direction of it makes answers vary as much.
    """

    def __init__(
        self, kind: str, matrix: Matrix, count: int, chunks: Sequence[Chunk],
        told: Callable[[Chunk], Tensor],
    ) -> None:  # fmt: skip
        self.kind, self.matrix = kind, matrix
        total = sum(len(chunk.labels) for chunk in chunks)
        sums = torch.stack([chunk.states[kind].double().sum(0) for chunk in chunks])
        self.mean = sums.sum(0) / total
        within, across = self._moments(chunks, told)
        size = within.diagonal(dim1=1, dim2=2).mean(1).clamp_min(torch.finfo(torch.float32).tiny)
        ridge = torch.diag_embed((_RIDGE * size)[:, None].expand(-1, matrix.keys))
        values, vectors = torch.linalg.eigh(within + ridge)
        root = vectors * values.clamp_min(1e-30).rsqrt()[:, None] @ vectors.transpose(1, 2)
        _, best = torch.linalg.eigh(root @ across @ root)
        self.root = root.float()  # (heads, keys, keys)
        self.moved = best[..., -count:].flip(-1).float().contiguous()  # (heads, keys, questions)
        self.gradient = torch.zeros_like(self.moved)
        self.first, self.second = torch.zeros_like(self.moved), torch.zeros_like(self.moved)

    def _moments(
        self, chunks: Sequence[Chunk], told: Callable[[Chunk], Tensor]
    ) -> tuple[Tensor, Tensor]:
        """How much what two keys say varies together, and how much of it with what is to be
        predicted, each (heads, keys, keys).
        """
        m = self.matrix
        targets = [told(chunk) for chunk in chunks]
        middle = torch.cat(targets).mean(0)
        within = torch.zeros(m.heads, m.keys, m.keys, dtype=torch.float64, device=middle.device)
        with_targets: Tensor | float = 0.0
        for chunk, target in zip(chunks, targets, strict=True):
            near = m.by_keys(self.centred(chunk.states[self.kind]))  # (N, heads, keys, values)
            rows = near.permute(1, 2, 0, 3).flatten(2)  # (heads, keys, N x values)
            within += (rows @ rows.transpose(1, 2)).double()
            with_targets = with_targets + near.flatten(1).T @ (target - middle)
        assert isinstance(with_targets, Tensor)  # noqa: S101 - there is at least one chunk
        each = with_targets.double().view(m.heads, m.keys, -1)
        return within, each @ each.transpose(1, 2)

    def centred(self, states: Tensor) -> Tensor:
        """Memories without what is in all of them."""
        return states - self.mean.to(states.dtype)

    @property
    def questions(self) -> Questions:
        """As they are now."""
        return Questions(self.matrix, self.root @ self.moved)

    def learn(self, states: Tensor, back: Tensor) -> None:
        """Add to the gradient, from that by the answers of centred memories."""
        by_questions = self.questions.gradient(states, back)
        self.gradient += self.root.transpose(1, 2) @ by_questions

    def step(self, number: int, rate: float) -> None:
        """Go down the gradient."""
        adamw_(self.moved, self.first, self.second, self.gradient, number, rate, 0.0)


class _Bilinear:
    """Probes of answers, and the questions, learned together."""

    def __init__(
        self, memories: Mapping[str, _Memory], chunks: Sequence[Chunk], readout: Readout | None,
        answers: LabelSet, family_of: FamilyOf,
    ) -> None:  # fmt: skip
        self.memories = list(memories.values())
        kinds = [*memories]
        last = readout.kind if readout else kinds[-1]
        asked = (self._answered(chunk) for chunk in chunks)
        moments = measure(asked, last, answers)
        self.family = family_of(moments, kinds, readout, answers.prior(moments.label_counts))
        self.adam = {
            name: (torch.zeros_like(w), torch.zeros_like(w))
            for name, w in self.family.weights.items()
        }

    def _answered(self, chunk: Chunk) -> Chunk:
        """A chunk with answers in the place of memories."""
        asked = {one.kind: one.questions(chunk.states[one.kind]) for one in self.memories}
        return replace(chunk, states={**chunk.states, **asked})

    def run(self, learn: Sequence[Chunk], held: Sequence[Chunk], seed: int) -> dict[str, Questions]:
        """The questions after some passes; those of the start where they have not got better."""
        before, first = self._nll(held), [one.questions for one in self.memories]
        batches = [(chunk, rows) for chunk in learn
                   for rows in torch.arange(len(chunk.labels)).split(_BATCH)]  # fmt: skip
        generator = torch.Generator().manual_seed(seed)
        steps = _EPOCHS * len(batches)
        number = 0
        for _ in range(_EPOCHS):
            for place in torch.randperm(len(batches), generator=generator).tolist():
                number += 1
                self._learn(*batches[place])
                self._step(number, 1 - number / (steps + 1))
        after = self._nll(held)
        return {
            one.kind: one.questions if good < bad else start
            for one, start, good, bad in zip(self.memories, first, after, before, strict=True)
        }

    def _learn(self, chunk: Chunk, rows: Tensor) -> None:
        rows = rows.to(chunk.labels.device)
        for k, one in enumerate(self.memories):
            states = one.centred(chunk.states[one.kind][rows])
            x = self.prepared(k, states)
            back = torch.empty_like(x)
            self.family.learn(k, x, chunk.labels[rows], 1 / len(rows), back)
            width = self.family.stack.widths[k]
            one.learn(states, back[:, :width].float() / self.family.stack.scale[k, :width])

    def prepared(self, k: int, states: Tensor) -> Tensor:
        """The answers of centred memories as the probe of the k-th takes them."""
        stack = self.family.stack
        width = stack.widths[k]
        x = stack.map.new_zeros(len(states), stack.map.shape[2])
        x[:, :width] = self.memories[k].questions(states) / stack.scale[k, :width]
        x[:, width] = 1
        return x

    def _step(self, number: int, share: float) -> None:
        for name, weight in self.family.weights.items():
            gradient, working = self.family.gradients[name], self.family.working[name]
            adamw_(weight, *self.adam[name], gradient, number, share * _RATE, 0.0, working)
        for one in self.memories:
            one.step(number, share * _QUESTION_RATE)

    def _nll(self, chunks: Sequence[Chunk]) -> list[float]:
        """The negative log-likelihood of labels by each memory."""
        found = []
        for k, one in enumerate(self.memories):
            total = 0.0
            for chunk in chunks:
                for states, labels in zip(
                    chunk.states[one.kind].split(_BATCH), chunk.labels.split(_BATCH), strict=True
                ):
                    x = self.prepared(k, one.centred(states))
                    total += float(self.family.nll(k, x, labels).double().sum())
            found.append(total)
        return found
