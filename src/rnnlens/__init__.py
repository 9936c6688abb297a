"""See what every hidden state of a recurrent network predicts."""

__version__ = "0.1.0"
