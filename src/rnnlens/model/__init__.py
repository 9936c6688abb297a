"""Recurrent networks whose every hidden state has a name."""
