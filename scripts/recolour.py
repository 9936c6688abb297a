"""Give a run whose labels are coloured by part of speech the groupings and colours that a new one
gets: word classes, the paper's five, and universal parts of speech.

    python scripts/recolour.py RUN

Each label's part of speech is that of the run's own universal grouping, so that no corpus is
needed. The bundled runs were coloured so. An index of the run is still of it: the groups of the
groupings that it had stay as they are.
"""

import sys
from pathlib import Path

from rnnlens.labels.colours import OTHER, default_colours
from rnnlens.run.folder import run_at


def main(place: Path) -> None:
    """Write colours.json anew."""
    run = run_at(str(place))
    labels, before = run.vocabulary().labels, run.colours()
    listed = before["groupings"]["universal"]["groups"]
    parts = [listed.get(label, OTHER) for label in labels]
    made = default_colours(labels, parts, before["source"], ())
    for name in before["groupings"].keys() & made["groupings"].keys():
        if made["groupings"][name]["groups"] != before["groupings"][name]["groups"]:
            sys.exit(f"{place}: {name} would have other groups; train the run anew to recolour it")
    run.write_colours(made)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
