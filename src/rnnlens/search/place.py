"""Where the index of a run is."""

from pathlib import Path

from rnnlens.base.files import is_present
from rnnlens.run.folder import Run

MANIFEST, LABELS = "manifest.json", "labels.parquet"


def index_place(run: Run, folder: Path | None = None) -> Path:
    """The folder of a run's index, unless another is given."""
    return folder or run.path / "index"


def has_index(run: Run, folder: Path | None = None) -> bool:
    """Whether there is an index that is finished."""
    return is_present(index_place(run, folder) / MANIFEST)
