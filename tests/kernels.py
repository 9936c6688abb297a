"""Triton's kernels where tests can run them: on CUDA, and elsewhere by Triton's interpreter."""

import os
import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest
import torch

CUDA = torch.cuda.is_available()
DEVICE = "cuda" if CUDA else "cpu"

if not CUDA and "triton" not in sys.modules:
    os.environ["TRITON_INTERPRET"] = "1"  # now, since torch imports Triton in some other test


def kernels_of(module: str) -> Any:
    """A module of kernels; without CUDA and Triton's interpreter the test is skipped."""
    if not CUDA and find_spec("triton") is None:
        pytest.skip("needs Triton")
    if not CUDA and os.environ.get("TRITON_INTERPRET") != "1":
        pytest.skip("Triton was imported without its interpreter")
    return import_module(module)
