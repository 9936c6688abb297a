"""How a text is split into pieces, by rules that a run keeps and that need nobody's code."""
