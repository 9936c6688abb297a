"""Files that are written whole or not at all."""

import errno
import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from glob import escape
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from rnnlens.errors import RnnlensError


def write_bytes(path: Path, data: bytes) -> None:
    """Write a temporary neighbour, flush it to disk, and move it into place."""
    handle, name = -1, ""
    try:
        prefix = f".{path.name}.rnnlens-"  # no other program names its files so
        for leftover in path.parent.glob(f"{escape(prefix)}*"):  # of a write that was killed
            leftover.unlink()
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=prefix)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except OSError as error:
        raise RnnlensError(_write_problem(path, len(data), error)) from error
    finally:
        if name:
            Path(name).unlink(missing_ok=True)


def _write_problem(path: Path, size: int, error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        need = f"{size / 1e6:.1f} MB"
        return f"no space left to write {path} ({need}); free some and run the same command again"
    return f"cannot write {path}: {error.strerror}; choose a folder you can write to"


def write_json(path: Path, value: Any) -> None:
    """Write `value` as readable JSON. NaN and infinity are not JSON and are refused."""
    text = json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False)
    write_bytes(path, (text + "\n").encode())


def read_json(path: Path, remedy: str = "restore it or make the run anew") -> Any:
    """Read a JSON file; `remedy` says what to do if it is damaged."""
    try:
        return json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError) as error:
        raise RnnlensError(f"{path} is missing; is {path.parent} a run folder?") from error
    except (ValueError, OSError, RecursionError) as error:
        raise RnnlensError(f"{path} is damaged ({error}); {remedy}") from error


def write_tensors(
    path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, Any] | None = None
) -> str:
    """Write tensors as safetensors, with JSON `metadata` in the header; return the SHA-256."""
    data = _packed(tensors, metadata)
    write_bytes(path, data)
    return hashlib.sha256(data).hexdigest()


def digest(tensors: Mapping[str, Tensor]) -> str:
    """The SHA-256 of the file that `write_tensors` would write."""
    return hashlib.sha256(_packed(tensors)).hexdigest()


def _packed(tensors: Mapping[str, Tensor], metadata: Mapping[str, Any] | None = None) -> bytes:
    ready = {name: t.detach().cpu().contiguous() for name, t in tensors.items()}
    try:
        return save(ready, {"rnnlens": json.dumps(metadata)} if metadata is not None else None)
    except (KeyError, ValueError) as error:  # safetensors has no complex numbers, for example
        types = {str(t.dtype).removeprefix("torch.") for t in ready.values()}
        raise RnnlensError(
            f"weights of {', '.join(sorted(types))} cannot all be kept ({error}); use others"
        ) from error


def read_tensors(path: Path) -> tuple[dict[str, Tensor], Any]:
    """Read the tensors and the metadata of a file that `write_tensors` has written."""
    if not path.exists():
        raise RnnlensError(f"{path} is missing; is {path.parent} a run folder?")
    try:
        with safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            header = file.metadata() or {}
        return tensors, json.loads(header.get("rnnlens", "null"))
    except (SafetensorError, OSError, ValueError) as error:
        raise RnnlensError(
            f"{path} is damaged ({error}); restore it or make the run anew"
        ) from error


def sha256(path: Path) -> str:
    """The SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
