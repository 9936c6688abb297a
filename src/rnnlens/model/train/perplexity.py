"""Perplexity: one definition for models, probes and baselines, averaged over tokens."""

import math

import torch
import torch.nn.functional as F

from rnnlens.corpus.split import Split
from rnnlens.model.network import Network
from rnnlens.model.softmax import rows_at_once

_SENTENCES = 256  # read at once
_CHUNK = 2048  # positions whose logits a GPU holds at once


def perplexity(nll: float, tokens: int) -> float:
    """The exponential of the mean negative log-likelihood (natural logarithm) of a token."""
    mean = nll / tokens if tokens else math.nan
    return math.exp(mean) if mean < 700 else math.inf


@torch.no_grad()
def model_perplexity(network: Network, split: Split, device: torch.device) -> float:
    """The network's own perplexity on a split."""
    network.eval()
    total = torch.zeros((), dtype=torch.float64, device=device)
    at_once = _CHUNK if device.type == "cuda" else rows_at_once(network.label_count)
    for chosen in split.in_order(_SENTENCES):
        batch = split.batch(chosen)
        h = network.hidden(batch.inputs.to(device), lengths=batch.lengths.to(device))
        targets = batch.targets.to(device).flatten()
        chunks = h.flatten(0, 1).split(at_once)  # (T * B, H)
        for states, labels in zip(chunks, targets.split(at_once), strict=True):
            total += F.cross_entropy(network.predict(states), labels, reduction="sum")
    return perplexity(total.item(), split.pairs)
