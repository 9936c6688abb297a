"""The laboratory: suites of minimal pairs, what kinds say of them, and what is responsible."""
