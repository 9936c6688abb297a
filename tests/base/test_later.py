"""Libraries that are imported when they are first used."""

import subprocess
import sys

import pytest

from rnnlens.base.later import Later


def test_a_library_is_imported_when_something_of_it_is_asked_for():
    code = """
import sys
from rnnlens.base.later import Later
fractions = Later("fractions")
assert "fractions" not in sys.modules
assert fractions.Fraction(1, 2) == 0.5
assert "fractions" in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_it_has_what_the_library_has():
    import math

    later = Later("math")
    assert later.pi == math.pi
    assert vars(later)["pi"] == math.pi  # and is not asked for it a second time
    with pytest.raises(AttributeError, match="nothing"):
        _ = later.nothing


def test_torch_is_imported_without_looking_for_garbage_which_is_looked_for_again_later():
    code = """
import gc
looked = []
gc.callbacks.append(lambda phase, _: looked.append(phase))
from rnnlens.base.later import import_torch
looked.clear()
import_torch()
assert not looked
assert gc.isenabled()
frozen = gc.get_freeze_count()
assert frozen > 10_000
gc.disable()
made = [[] for _ in range(100)]
import_torch()
assert not gc.isenabled()
assert gc.get_freeze_count() <= frozen  # what was made since may still be thrown away
"""
    subprocess.run([sys.executable, "-c", code], check=True)
