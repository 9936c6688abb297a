"""States that others have recorded: read where they lie, or written from any loop."""
