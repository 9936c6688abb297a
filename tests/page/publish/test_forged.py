"""A published file whose sums are right and whose layers are not: it is refused in one line."""

import base64
import json
import random
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from tests.page.publish.engine import answered
from tests.page.publish.lenses import LINEAR, of_linear
from tests.sampling import sampled

from rnnlens.page.publish.pack import packed

Manifest = dict[str, Any]
Spoil = Callable[[Manifest, Manifest], None]  # of a description and one of its layers
SIZES = [0, 1, 2, 3, 5, -1, 1.5, 10**9]


def ways(layer: Manifest, chance: random.Random) -> Iterator[tuple[str, Spoil]]:
    """What can be wrong in a layer, each by its name."""
    for letter, sizes in layer.get("sizes", {}).items():  # heads, keys and values of every kind
        for at in range(len(sizes)):
            other = chance.choice([size for size in SIZES if size != sizes[at]])
            yield f"{letter} {at} {other}", partial(_size, letter, at, other)
    for name in layer["weights"]:
        yield f"no {name}", partial(_missing, name)
        if name != "w_s":  # which alone says how many heads an sLSTM has
            yield f"shape of {name}", partial(_shaped, name)
    for name in layer["carried"]:
        yield f"not carried {name}", partial(_forgotten, name)
    yield "cell", lambda _, one: one.update(cell="toString")
    yield "memories", lambda _, one: one.update(memories={})
    yield "letter", lambda _, one: one["ids"].update(Q="Q1")


def _size(letter: str, at: int, other: float, _: Manifest, layer: Manifest) -> None:
    layer["sizes"][letter][at] = other


def _missing(name: str, _: Manifest, layer: Manifest) -> None:
    del layer["weights"][name]


def _shaped(name: str, manifest: Manifest, layer: Manifest) -> None:  # such as taps
    shape = manifest["tensors"][layer["weights"][name]]["shape"]
    shape[-1] -= 1


def _forgotten(name: str, _: Manifest, layer: Manifest) -> None:
    layer["carried"].remove(name)


def spoilt(whole: Manifest, chance: random.Random) -> dict[str, Manifest]:
    """The description of a lens with another thing wrong in one of its layers."""
    found = {}
    for name, spoil in ways(whole["network"]["layers"][1], chance):
        found[name] = manifest = json.loads(json.dumps(whole))
        spoil(manifest, manifest["network"]["layers"][chance.randrange(2)])
    return found


@pytest.mark.slow
@pytest.mark.parametrize("cell", sampled(LINEAR, "mamba2", "slstm"))
def test_layers_whose_parts_do_not_fit_together_are_refused_in_one_line(cell, tmp_path):
    lens = of_linear(tmp_path, cell, "output")
    pack = packed(lens.subject, lens.semantics, "fp16")
    manifests = spoilt(pack.manifest, random.Random(0))
    asked = {"blob": base64.b64encode(pack.blob).decode(), "text": "the dog sees"}
    answers = answered("opened.mjs", {**asked, "manifests": [pack.manifest, *manifests.values()]})
    assert "gives" in answers[0]
    told = dict(zip(manifests, answers[1:], strict=True))
    wrong = {name: answer for name, answer in told.items() if "refuses" not in answer}
    assert wrong == {}
    assert all("\n" not in one["refuses"] and "publish" in one["refuses"] for one in told.values())
