"""Files of every format, read as sentences."""
