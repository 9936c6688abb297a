"""Texts as a model reads them: their states, edited or not, alone or two side by side."""
