"""Grids as figures, in the terminal and as tables."""
