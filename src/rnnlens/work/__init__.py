"""Jobs as plain functions: what commands and Python do alike, told to whoever watches."""
