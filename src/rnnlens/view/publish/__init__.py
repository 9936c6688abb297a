"""A lens in one file, which computes by itself wherever it is opened."""
