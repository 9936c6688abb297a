"""Two of anything side by side: two texts, two runs on one text, two checkpoints of a run."""
