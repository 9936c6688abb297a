"""The live lens in one file: what the page's engine computes with, and the page around it."""
