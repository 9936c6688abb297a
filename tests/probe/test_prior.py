"""The unigram baseline, against numbers worked by hand."""

import pytest
import torch

from rnnlens.labels.answers import Answers


def test_every_label_counts_once_more_than_it_came():
    frequencies = (
        Answers.numbered(len(torch.tensor([5, 2, 0]))).prior(torch.tensor([5, 2, 0])).exp()
    )
    assert frequencies.tolist() == pytest.approx([0.6, 0.3, 0.1], rel=1e-12)
