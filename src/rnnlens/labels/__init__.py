"""Labels: their sets and scales, their groups, and the colours of these."""
