"""Why a state says so, and whether it matters: edits, who wrote it, read beside used."""
