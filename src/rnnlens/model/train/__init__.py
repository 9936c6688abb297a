"""Training a network of ours."""
