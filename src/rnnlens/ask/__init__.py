"""What can be asked of a text that was read, and the answers."""
