"""Give the JSON files of a run that an older version made their checksums.

    python scripts/seal.py RUN

Nothing else in them changes, except that model.json says which vocabulary is its own.
"""

import json
import sys
from pathlib import Path

from rnnlens.base.files import sha256, write_json

NAMES = ("run", "vocabulary", "colours", "evaluation", "model", "probes")


def main(run: Path) -> None:
    """Write each file again, as it is, with its checksum; the vocabulary before the model."""
    for path in filter(Path.exists, (run / f"{name}.json" for name in NAMES)):
        value = json.loads(path.read_bytes())
        value.pop("checksum", None)
        if path.name == "model.json":
            value["vocabulary"] = sha256(run / "vocabulary.json")
        write_json(path, value)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
