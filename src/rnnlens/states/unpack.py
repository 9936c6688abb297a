"""HDF5 and Parquet files, read by a process of its own: the libraries that read them are not made
for files of strangers, and what they do there costs this process neither its memory nor its life.

`python -m rnnlens.states.unpack hdf5 ROOM FILE ...` writes to ROOM what cannot be read where it
lies, and prints where every array is, as JSON; or a line that says what is wrong, with exit code 2.
"""

import json
import os
import resource
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rnnlens.base.errors import RnnlensError
from rnnlens.states.arrays import REMEDY, Stored
from rnnlens.states.part import RawPart

_MEMORY = 4 << 30  # bytes of addresses, most of which are libraries
_FOUND = "found.json"
_LIBRARIES = {"hdf5": "h5py and pyyaml", "parquet": "pyarrow"}


def unpacked(form: str, files: Sequence[Path], room: Path) -> list[RawPart]:
    """What files of a form hold, each a part, or all together one; `room` is an empty folder."""
    _check_library(form)
    command: list[str | Path] = [
        sys.executable,
        "-P",
        "-m",
        "rnnlens.states.unpack",
        form,
        room,
        *files,
    ]
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    done = subprocess.run(  # noqa: S603 - our own module
        command, capture_output=True, check=False, stdin=subprocess.DEVNULL,
        env={**os.environ, **threads, "HDF5_PLUGIN_PATH": "::",
             "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )  # fmt: skip
    said = done.stdout.decode("utf-8", "replace").strip()
    if done.returncode == 2 and said:
        raise RnnlensError(said.splitlines()[-1])
    if done.returncode:
        named = files[0] if len(files) == 1 else files[0].parent
        raise RnnlensError(
            f"{named} is damaged (reading it ended with code {done.returncode}); {REMEDY}"
        )
    found = json.loads((room / _FOUND).read_bytes())
    return [_part(one) for one in found]


def _part(one: dict[str, Any]) -> RawPart:
    arrays = {
        name: Stored(Path(file), offset, dtype, tuple(shape))
        for name, (file, offset, dtype, shape) in one["arrays"].items()
    }
    return RawPart(Path(one["path"]), arrays, one["names"])


def _check_library(form: str) -> None:
    from importlib.util import find_spec

    if any(find_spec(name) is None for name in {"hdf5": ("h5py", "yaml")}.get(form, ("pyarrow",))):
        raise RnnlensError(
            f"{form} files need {_LIBRARIES[form]}; install them: pip install 'rnnlens[states]'"
        )


def main(form: str, room: str, *files: str) -> int:
    """Read some files, and write down where their arrays are."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    paths = [Path(file) for file in files]
    try:
        if form == "hdf5":
            from rnnlens.states.hdf5_file import hdf5_part

            parts = [hdf5_part(paths, Path(room))]
        else:
            from rnnlens.states.parquet_file import parquet_part

            parts = [parquet_part(path, Path(room), k) for k, path in enumerate(paths)]
        found = [
            {
                "path": str(part.path),
                "names": part.names,
                "arrays": {
                    name: (str(one.path), one.offset, one.dtype, one.shape)
                    for name, one in part.arrays.items()
                },
            }
            for part in parts
        ]
        (Path(room) / _FOUND).write_text(json.dumps(found), encoding="utf-8")
    except RnnlensError as error:
        print(" ".join(str(error).split()))
        return 2
    except MemoryError:
        print(f"{files[0]} takes too much memory to read; {REMEDY}")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
