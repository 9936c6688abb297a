"""The unigram baseline: what can be said of a label by its frequency in training alone."""

import torch.nn.functional as F
from torch import Tensor

from rnnlens.labels.answers import Answers


def prior_nll(answers: Answers, prior: Tensor, labels: Tensor) -> float:
    """The negative log-likelihood of labels, all together, by `answers.prior` of their counts."""
    labels = labels.cpu()
    if not answers.several:
        return -float(prior[labels].sum())
    logits = prior.expand(len(labels), -1)
    return float(F.cross_entropy(*answers.questions(logits, labels), reduction="sum"))
