"""The run folder: what is kept, and how it is read again."""
