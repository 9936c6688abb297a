"""The page in the browser: its server, its one-file form, its notebook form."""
