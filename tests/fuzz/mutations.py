"""Ways to spoil a file or a folder."""

import hashlib
import json
import os
import random
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save
from torch import Tensor

from rnnlens.base.files import write_json

ODD: list[Any] = [
    None, True, False, 0, 1, -1, 3, 10**9, 2**63, -(2**63), 10**400, 0.5, 1e308, -0.0, "", "a",
    "a" * 50_000, "\0", "\x1b[31m", "é", [], [[]], {}, {"a": 1}, ["a", "a"], [1] * 3000, "UNK", "y",
    "../x", "os:abort", "1e999",
]  # fmt: skip
MOST = 5_000_000  # characters that copies of a list may have
FOREIGN = "float8_e4m3fn float8_e5m2 bfloat16 float16 complex64 uint16 bool int8".split()
RAW = ['"\\ud800"', "NaN", "1e999", "9" * 5000, "[" * 3000 + "]" * 3000, "{", "-", "Infinity"]


def spoil_bytes(path: Path, chance: random.Random) -> None:
    """Change some bytes of a file."""
    data = bytearray(path.read_bytes())
    at = chance.randrange(len(data) + 1)
    to = min(len(data), at + chance.choice([1, 2, 8, 64, 1024]))
    how = chance.randrange(8)
    if how == 0 and at < len(data):
        data[at] ^= 1 << chance.randrange(8)
    elif how == 1:
        data[at:to] = chance.randbytes(to - at)
    elif how == 2:
        del data[at:]
    elif how == 3:
        del data[at:to]
    elif how == 4:
        data[at:at] = data[at:to] or b"x"
    elif how == 5:
        data[at:to] = bytes(to - at)
    elif how == 6:
        data += chance.randbytes(chance.choice([1, 100]))
    else:
        other = chance.randrange(len(data) + 1)
        data[at:to] = data[other : other + to - at]
    path.write_bytes(data)


def _places(value: Any, found: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Every container of a JSON value with each of its keys; of long lists a few."""
    keys: list[Any] = []
    if isinstance(value, dict):
        keys = list(value)
    elif isinstance(value, list):
        keys = list(range(min(4, len(value))))
    for key in keys[:60]:
        found.append((value, key))
        _places(value[key], found)
    return found


def spoil_value(value: Any, chance: random.Random) -> None:
    """Change one thing in a JSON value."""
    places = _places(value, [])
    if not places:
        return
    within, key = chance.choice(places)
    how = chance.randrange(6)
    if how == 0:
        del within[key]
    elif how == 1 and isinstance(within, dict):
        within[str(chance.choice(ODD))[:20]] = within[key]
    elif how == 2 and isinstance(within[key], list):
        times = chance.choice([2, 1000])
        within[key] = within[key] * min(times, max(2, MOST // len(str(within[key]))))
    elif how == 3 and isinstance(within[key], int | float):
        within[key] = within[key] * chance.choice([-1, 2, 1e30]) + chance.choice([0, 1])
    elif how == 4 and isinstance(within[key], dict):
        odd = _odd(chance)
        within[key] |= {f"k{k}": odd for k in range(20_000 if len(str(odd)) < 9 else 1)}
    else:
        within[key] = _odd(chance)


def _odd(chance: random.Random) -> Any:
    """A copy, which may be spoilt in its turn: the same list in two places could hold itself."""
    return deepcopy(chance.choice(ODD))


def spoil_json(path: Path, chance: random.Random, *, sealed: bool) -> None:
    """Change one thing in a JSON file; `sealed`: its checksum is then right."""
    if sealed:
        value = json.loads(path.read_bytes())
        value.pop("checksum", None)
        spoil_value(value, chance)
        write_json(path, value)
    elif chance.random() < 0.5:
        text = path.read_text(encoding="utf-8")
        at = chance.randrange(len(text))
        path.write_text(text[:at] + chance.choice(RAW) + text[at + 1 :], encoding="utf-8")
    else:
        value = json.loads(path.read_bytes())
        spoil_value(value, chance)
        layout = chance.choice([None, 1])
        path.write_text(json.dumps(value, indent=layout, ensure_ascii=False) + "\n", "utf-8")


def tensors_of(path: Path) -> tuple[dict[str, Tensor], Any]:
    """The tensors and the header of a file."""
    with safe_open(path, framework="pt") as file:
        header = json.loads((file.metadata() or {}).get("rnnlens", "null"))
        return {name: file.get_tensor(name) for name in file.keys()}, header  # noqa: SIM118


def spoil_tensors(tensors: dict[str, Tensor], chance: random.Random) -> None:
    """Change one tensor, or add one where there is none."""
    if not tensors:
        tensors["0/y"] = torch.zeros(2, 3)
        return
    name = chance.choice(sorted(tensors))
    t = tensors[name]
    changes: list[Callable[[], Tensor | None]] = [
        lambda: None,
        t.double,
        lambda: t.to(torch.int64),
        t.flatten,
        lambda: t[None],
        lambda: t[:0] if t.dim() else t[None][:0],
        lambda: torch.cat([t, t]) if t.dim() else t[None].repeat(2),
        lambda: t.mT.contiguous() if t.dim() == 2 else t.flip(0) if t.dim() else t,
        lambda: torch.full_like(t.float(), 10.0 ** chance.choice([38, 20, 6]))
        if t.is_floating_point() else t * 9,
        lambda: torch.full_like(t, float(chance.choice(["nan", "inf", "-inf"])))
        if t.is_floating_point() else t - 10**6,
        lambda: torch.zeros_like(t),
        lambda: t.float().to(getattr(torch, chance.choice(FOREIGN))),
        lambda: torch.zeros(chance.choice([0, 1, 7]), chance.choice([0, 1, 9])),
    ]  # fmt: skip
    changed = chance.choice(changes)()
    if chance.random() < 0.1:
        tensors[chance.choice(["", "output/x/weight", "x" * 9000, f"{name}/x"])] = tensors.pop(name)
    elif changed is None:
        del tensors[name]
    else:
        tensors[name] = changed


def replace_file(path: Path, chance: random.Random) -> None:
    """Put something else in the place of a file."""
    how = chance.randrange(6)
    path.unlink()
    if how == 0:
        path.mkdir()
    elif how == 1:
        os.mkfifo(path)
    elif how == 2:
        path.symlink_to(chance.choice(["/dev/zero", "/dev/random", "/dev/tty", str(path), "gone"]))
    elif how == 3:
        with path.open("wb") as file:
            file.truncate(1 << 32)
    elif how == 4:
        path.write_bytes(b"")
    elif others := [p for p in path.parent.iterdir() if p.is_file() and p != path]:
        path.write_bytes(chance.choice(others).read_bytes())


def write_sealed(path: Path, tensors: dict[str, Tensor], header: dict[str, Any]) -> None:
    """Write tensors and any header, with a checksum that is right."""
    header.pop("checksum", None)
    text = json.dumps({"checksum": "0" * 64, **header})
    ready = {name: t.contiguous() for name, t in tensors.items()}
    data = save(ready, {"rnnlens": text})
    sha = hashlib.sha256(data).hexdigest().encode()
    path.write_bytes(
        data.replace(b'\\"checksum\\": \\"' + b"0" * 64, b'\\"checksum\\": \\"' + sha, 1)
    )
