"""Triton's kernels where tests can run them: on CUDA, and elsewhere by Triton's interpreter."""

import inspect
import os
import sys
from functools import cache
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
    if not CUDA:
        _let_loops_count()
    return import_module(module)


@cache
def _let_loops_count() -> None:
    """Have the interpreter make an int of an array of one number, such as a loop goes up to, by
    itself: Triton 3.6 leaves that to numpy, which refuses it from 2.4 on.
    """
    interpreter: Any = import_module("triton.runtime.interpreter")
    patch = getattr(interpreter, "_patch_lang_tensor", None)
    if patch is None or "scope" not in inspect.signature(patch).parameters:
        return  # an interpreter of another version

    def patched(tensor: Any, scope: Any) -> None:
        patch(tensor, scope)
        scope.set_attr(tensor, "__index__", lambda self: self.handle.data.item())

    interpreter._patch_lang_tensor = patched
