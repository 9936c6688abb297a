"""Whether a module predicts its own targets at all: a net under every mistake in reading it."""

import warnings
from collections.abc import Sequence

import torch
import torch.nn.functional as F

from rnnlens.adapter.adapter import Adapter
from rnnlens.adapter.axes.targets import Batch
from rnnlens.errors import RnnlensError, RnnlensWarning

_TRIED = 4  # batches
_SURE = 2.0  # standard errors


@torch.no_grad()
def warn_if_worse_than_unigram(adapter: Adapter, batches: Sequence[Batch], labels: int) -> None:
    """Warn where a module is worse on some of its batches than the frequencies of the labels.

    Then targets are most likely not beside what the module says of them, or it is not trained.
    """
    counts = torch.ones(labels, dtype=torch.float64)
    for _, targets in batches:
        there = targets[(targets >= 0) & (targets < labels)].flatten().long().cpu()
        counts += torch.bincount(there, minlength=labels)
    prior = (counts / counts.sum()).log()
    own, unigram = [], []
    for inputs, targets in batches[:: -(-len(batches) // _TRIED)]:
        trace = adapter.trace(inputs)
        try:
            wanted = adapter.in_time(targets, lambda: trace)  # noqa: B023 - called at once
        except RnnlensError:  # raised where states are asked for
            return
        if trace.logits is None or int(wanted.max()) >= labels:
            return
        logits = trace.logits.expand(len(wanted), -1, -1)
        keep = wanted >= 0
        wanted = wanted[keep]
        own.append(F.cross_entropy(logits[keep].double(), wanted, reduction="none").cpu())
        unigram.append(-prior[wanted.cpu()])
    mine, theirs = torch.cat(own), torch.cat(unigram)
    gap = mine - theirs
    if len(gap) > 1 and float(gap.mean()) > _SURE * float(gap.std()) / len(gap) ** 0.5:
        warnings.warn(
            f"the module predicts its targets worse (perplexity {float(mine.mean().exp()):.3g}) "
            f"than their frequencies do ({float(theirs.mean().exp()):.3g}); look whether it is "
            "trained, targets lie in the order of the batch (batch_first=), padding has negative "
            "targets, and logits= picks the logits",
            RnnlensWarning,
            stacklevel=3,
        )
