"""Encoder-decoders as people write them, and batches of pairs for them: letters that are written
in the reverse order.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

SOURCE = ["<pad>", "ka", "ke", "ki", "ko", "ku"]
TARGET = ["<pad>", "<s>", "</s>", "a", "e", "i", "o", "u"]
S, V = len(SOURCE), len(TARGET)


def pairs(
    batch_first: bool = True, count: int = 10, size: int = 6, seed: int = 0, ragged: bool = True
) -> list[tuple[Any, Tensor]]:
    """Sources of 2 to 5 words and their targets, which are these from the end, padded with 0."""
    draw = torch.Generator().manual_seed(seed)
    made = []
    for _ in range(count):
        lengths = torch.randint(2, 6, (size,), generator=draw).tolist() if ragged else [4] * size
        longest = max(lengths)
        source = torch.zeros(size, longest, dtype=torch.long)
        target = torch.zeros(size, longest + 2, dtype=torch.long)
        for b, n in enumerate(lengths):
            words = torch.randint(1, 6, (n,), generator=draw)
            source[b, :n] = words
            target[b, : n + 2] = torch.tensor([1, *(words.flip(0) + 2).tolist(), 2])
        read, wanted = target[:, :-1].clone(), target[:, 1:].masked_fill(target[:, 1:] == 0, -100)
        read[read == 2] = 0  # behind the last word that is asked about
        tensors = (source, read, wanted)
        source, read, wanted = tensors if batch_first else tuple(t.T.contiguous() for t in tensors)
        made.append(((source, read), wanted))
    return made


class Plain(nn.Module):
    """No attention: the decoder goes on from the encoder's last state, that of the last word."""

    def __init__(self, batch_first: bool = True, cell: Any = nn.GRU, both: bool = False) -> None:
        super().__init__()
        self.first = batch_first
        self.source, self.target = nn.Embedding(S, 5), nn.Embedding(V, 5)
        self.encoder = cell(5, 6, batch_first=batch_first, bidirectional=both)
        self.join = nn.Linear(12, 6) if both else nn.Identity()
        self.decoder, self.readout = cell(5, 6, batch_first=batch_first), nn.Linear(6, V)

    def forward(self, source: Tensor, target: Tensor) -> Any:
        words = self.join(self.encoder(self.source(source))[0])
        real = (source != 0).sum(1 if self.first else 0) - 1
        across = torch.arange(len(real))
        last = (words[across, real] if self.first else words[real, across])[None]
        start = (last, torch.zeros_like(last)) if isinstance(self.decoder, nn.LSTM) else last
        return self.readout(self.decoder(self.target(target), start)[0])


class Packed(Plain):
    """Sources with their lengths, packed."""

    def forward(self, source: Tensor, lengths: Tensor, target: Tensor) -> Any:  # type: ignore[override]
        x = pack_padded_sequence(
            self.source(source), lengths, batch_first=True, enforce_sorted=False
        )
        words, last = self.encoder(x)
        pad_packed_sequence(words, batch_first=True)
        return self.readout(self.decoder(self.target(target), last)[0])


class Bahdanau(nn.Module):
    """Scores by a layer of their own, before each step of the decoder."""

    def __init__(self) -> None:
        super().__init__()
        self.source, self.target = nn.Embedding(S, 5), nn.Embedding(V, 5)
        self.encoder = nn.GRU(5, 6, batch_first=True, bidirectional=True)
        self.attention = Scores()
        self.decoder, self.readout = nn.GRUCell(5 + 12, 6), nn.Linear(6, V)

    def forward(self, source: Tensor, target: Tensor) -> Any:
        words = self.encoder(self.source(source))[0]
        state, written = words.new_zeros(len(source), 6), []
        for step in range(target.shape[1]):
            weights = self.attention(state, words, source != 0)
            seen = (weights[..., None] * words).sum(1)
            state = self.decoder(torch.cat([self.target(target[:, step]), seen], -1), state)
            written.append(self.readout(state))
        return torch.stack(written, 1)


class Scores(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.state, self.words, self.score = nn.Linear(6, 7), nn.Linear(12, 7), nn.Linear(7, 1)

    def forward(self, state: Tensor, words: Tensor, real: Tensor) -> Any:
        score = self.score(torch.tanh(self.state(state)[:, None] + self.words(words)))[..., 0]
        return torch.softmax(score.masked_fill(~real, -1e9), -1)


class Luong(nn.Module):
    """Products of states, after the decoder has read all of its target; time first."""

    def __init__(self) -> None:
        super().__init__()
        self.source, self.target = nn.Embedding(S, 5), nn.Embedding(V, 5)
        self.encoder, self.decoder = nn.LSTM(5, 6), nn.LSTM(5, 6)
        self.mixed, self.readout = nn.Linear(12, 6), nn.Linear(6, V)

    def forward(self, source: Tensor, target: Tensor) -> Any:
        words = self.encoder(self.source(source))[0]  # (S, B, H)
        states = self.decoder(self.target(target))[0]  # (T, B, H)
        score = torch.einsum("tbh,sbh->bts", states, words)
        weights = score.masked_fill((source == 0).T[:, None], -1e9).softmax(-1)
        seen = torch.einsum("bts,sbh->tbh", weights, words)
        return self.readout(torch.tanh(self.mixed(torch.cat([states, seen], -1))))


class Shared(nn.Module):
    """One embedding for both sides, which have one vocabulary."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(V, 5, padding_idx=0)
        self.encoder, self.decoder = nn.GRU(5, 6, batch_first=True), nn.GRU(5, 6, batch_first=True)
        self.readout = nn.Linear(6, V)

    def forward(self, source: Tensor, target: Tensor) -> Any:
        words = self.encoder(self.embedding(source))[0]
        real = (source != 0).sum(1) - 1
        last = words[torch.arange(len(real)), real][None]
        return self.readout(self.decoder(self.embedding(target), last)[0])


class Masked(Bahdanau):
    """Masks of both sides are given by name."""

    def forward(  # type: ignore[override]
        self, src: Tensor, src_mask: Tensor, trg: Tensor, trg_padding: Tensor
    ) -> Any:
        words = self.encoder(self.source(src))[0] * src_mask[..., None]
        state, written = words.new_zeros(len(src), 6), []
        for step in range(trg.shape[1]):
            weights = self.attention(state, words, src_mask.bool())
            seen = (weights[..., None] * words).sum(1)
            state = self.decoder(torch.cat([self.target(trg[:, step]), seen], -1), state)
            written.append(self.readout(state) * (~trg_padding[:, step, None]))
        return {"logits": torch.stack(written, 1)}


class WholeTarget(Plain):
    """Leaves the last word of its target out by itself, as many do."""

    def forward(self, source: Tensor, target: Tensor) -> Any:
        return super().forward(source, target[:, :-1])


class Looking(Plain):
    """A decoder that reads its target from both sides, and cannot write it."""

    def __init__(self) -> None:
        super().__init__()
        self.ahead = nn.GRU(5, 5, batch_first=True, bidirectional=True)
        self.both = nn.Linear(10, 5)

    def forward(self, source: Tensor, target: Tensor) -> Any:
        words = self.encoder(self.source(source))[0]
        real = (source != 0).sum(1) - 1
        last = words[torch.arange(len(real)), real][None]
        read = self.both(self.ahead(self.target(target))[0])
        return self.readout(self.decoder(read, last)[0])


class Heads(nn.Module):
    """Several heads, by torch's own attention or by hand, all at once or step by step."""

    def __init__(self, how: str = "torch", heads: int = 2) -> None:
        super().__init__()
        self.how, self.heads = how, heads
        self.source, self.target = nn.Embedding(S, 6), nn.Embedding(V, 6)
        self.encoder, self.decoder = nn.GRU(6, 6, batch_first=True), nn.GRU(6, 6, batch_first=True)
        if how == "torch":
            self.attention = nn.MultiheadAttention(6, heads, batch_first=True)
        self.readout = nn.Linear(12, V)

    def forward(self, source: Tensor, target: Tensor) -> Any:
        words = self.encoder(self.source(source))[0]
        states = self.decoder(self.target(target))[0]
        seen = self.seen(states, words, source == 0)
        return self.readout(torch.cat([states, seen], -1))

    def seen(self, states: Tensor, words: Tensor, padding: Tensor) -> Tensor:
        if self.how == "torch":
            read = self.attention(states, words, words, padding, need_weights=False)
            return read[0]  # type: ignore[no-any-return]
        q, k = (one.unflatten(-1, (self.heads, -1)) for one in (states, words))
        hidden = padding[:, None, None]
        if self.how == "products":
            q, k = (one.transpose(1, 2) for one in (q, k))
            read = nn.functional.scaled_dot_product_attention(q, k, k, attn_mask=~hidden)
            return read.transpose(1, 2).flatten(2)
        if self.how == "steps":
            rows = [self.step(q[:, t], k, padding) for t in range(q.shape[1])]
            return torch.stack(rows, 1)
        scores = torch.einsum("bthd,bshd->bths", q, k).masked_fill(hidden, -1e9)
        return torch.einsum("bths,bshd->bthd", scores.softmax(-1), k).flatten(2)

    def step(self, q: Tensor, k: Tensor, padding: Tensor) -> Tensor:
        scores = torch.einsum("bhd,bshd->bhs", q, k).masked_fill(padding[:, None], -1e9)
        return torch.einsum("bhs,bshd->bhd", scores.softmax(-1), k).flatten(1)
