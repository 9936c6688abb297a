"""What people import: every name is there, and so is whatever a public function takes or gives."""

import dataclasses
import inspect
import pkgutil
import types
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import rnnlens

FACE = [getattr(rnnlens, name) for name in rnnlens.__all__]
FUNCTIONS = [one for one in FACE if inspect.isfunction(one)]
CLASSES = [one for one in FACE if inspect.isclass(one)]
# Classes behind the face that public methods still name. The list only shrinks.
BEHIND: frozenset[str] = frozenset(
    """Anatomy Axes Column LabelSet Lines Palette Reading RecurrentLayer Subject
    Traceable TwoTexts""".split()
)


def classes_in(annotation: Any) -> Iterator[type]:
    """The classes of rnnlens that an annotation names."""
    if inspect.isclass(annotation) and not typing.get_args(annotation):
        if annotation.__module__.startswith("rnnlens"):
            yield annotation
        return
    for inner in typing.get_args(annotation):
        yield from classes_in(inner)


def public(owner: type) -> Iterator[Any]:
    """The public methods and properties of a class."""
    for name, member in inspect.getmembers(owner):
        function = member.fget if isinstance(member, property) else member
        inside = str(getattr(function, "__module__", ""))
        if inside.startswith("rnnlens") and (name == "__call__" or not name.startswith("_")):
            yield function


def hints(of: Any) -> dict[str, Any]:
    """The annotations of something; classes of other packages that are loaded late are any."""
    names = {name: getattr(rnnlens, name) for name in rnnlens.__all__}
    late: dict[str, Any] = dict.fromkeys(("Figure", "Path"), Path)
    late["Any"], late["Tensor"] = Any, torch.Tensor
    late["pd"] = late["pa"] = types.SimpleNamespace(DataFrame=Path, Table=Path)
    return typing.get_type_hints(of, localns=names | late)


def test_every_name_can_be_imported():
    assert len(set(rnnlens.__all__)) == len(rnnlens.__all__)
    assert {*rnnlens.__all__} <= {*dir(rnnlens)}
    assert {one.__name__ for one in FACE} == {*rnnlens.__all__}
    assert {one.__name__ for one in FUNCTIONS} == {
        "compare", "disagreement", "fit", "fit_run", "from_states", "index", "load", "record",
        "train",
    }  # fmt: skip


def test_a_name_that_is_not_there_is_refused_as_python_does():
    with pytest.raises(AttributeError, match="has no attribute 'retrain'"):
        _ = rnnlens.retrain


def test_no_module_stands_in_the_place_of_a_name():
    modules = {module.name for module in pkgutil.iter_modules(rnnlens.__path__)}
    assert not modules & {*rnnlens.__all__}


@pytest.mark.parametrize("one", [*FUNCTIONS, *CLASSES], ids=lambda one: str(one.__name__))
def test_what_it_takes_and_gives_can_be_imported(one):
    parts = [*public(one)] if inspect.isclass(one) else [one]
    if dataclasses.is_dataclass(one):
        parts.append(one)  # its fields
    named = {cls for part in parts for hint in hints(part).values() for cls in classes_in(hint)}
    assert {cls.__name__ for cls in named if cls not in CLASSES} - BEHIND == set()


def test_a_lens_shows_few_names():
    names = [name for name in dir(rnnlens.load("brackets")) if not name.startswith("_")]
    assert len(names) <= 16, names
