"""A published file whose sums are right and whose layers are not: it is refused in one line."""

import base64
import json
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.page.publish.engine import answered
from tests.page.publish.lenses import LINEAR, of_linear
from tests.sampling import sampled

from rnnlens.page.publish.pack import packed

Manifest = dict[str, Any]
SIZES = [0, 1, 2, 3, 5, -1, 1.5, 10**9]


def spoilt(whole: Manifest, chance: random.Random) -> Iterator[tuple[str, Manifest]]:
    """The description of a lens with another thing wrong in a layer, each by its name."""

    def made(name: str, spoil: Callable[[Manifest, Manifest], None]) -> tuple[str, Manifest]:
        manifest = json.loads(json.dumps(whole))
        layer = manifest["network"]["layers"][chance.randrange(2)]
        spoil(manifest, layer)
        return name, manifest

    layer = whole["network"]["layers"][1]
    for letter, sizes in layer.get("sizes", {}).items():  # heads, keys and values of every kind
        for at in range(len(sizes)):
            other = chance.choice([size for size in SIZES if size != sizes[at]])

            def size(_: Manifest, one: Manifest, letter=letter, at=at, other=other) -> None:
                one["sizes"][letter] = list(one["sizes"][letter])
                one["sizes"][letter][at] = other

            yield made(f"{letter} {at} {other}", size)
    for name in layer["weights"]:

        def missing(_: Manifest, one: Manifest, name=name) -> None:
            del one["weights"][name]

        def shaped(manifest: Manifest, one: Manifest, name=name) -> None:  # such as taps
            layout = manifest["tensors"][one["weights"][name]]
            layout["shape"] = [*layout["shape"][:-1], layout["shape"][-1] - 1]

        yield made(f"no {name}", missing)
        if name != "w_s":  # which alone says how many heads an sLSTM has
            yield made(f"shape of {name}", shaped)
    for name in layer["carried"]:

        def left(_: Manifest, one: Manifest, name=name) -> None:
            one["carried"].remove(name)

        yield made(f"not carried {name}", left)
    yield made("cell", lambda _, one: one.update(cell="toString"))
    yield made("memories", lambda _, one: one.update(memories={}))
    yield made("letter", lambda _, one: one["ids"].update(Q="Q1"))


@pytest.mark.slow
@pytest.mark.parametrize("cell", sampled(LINEAR, "mamba2", "slstm"))
def test_layers_whose_parts_do_not_fit_together_are_refused_in_one_line(cell, tmp_path):
    lens = of_linear(tmp_path, cell, "output")
    pack = packed(lens.subject, lens.semantics, "fp16")
    names, manifests = zip(*spoilt(pack.manifest, random.Random(0)), strict=True)
    asked = {"blob": base64.b64encode(pack.blob).decode(), "text": "the dog sees"}
    answers = answered("opened.mjs", {**asked, "manifests": [pack.manifest, *manifests]})
    assert "gives" in answers[0]
    told = dict(zip(names, answers[1:], strict=True))
    wrong = {name: answer for name, answer in told.items() if "refuses" not in answer}
    assert wrong == {}
    assert all("\n" not in one["refuses"] and "publish" in one["refuses"] for one in told.values())
