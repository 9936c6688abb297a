"""Training a network on a corpus."""
