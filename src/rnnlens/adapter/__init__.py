"""Reading a user's torch module: every kind by name, with the module left as it was."""
