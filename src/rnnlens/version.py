"""The version, where every module can import it: `rnnlens` itself imports most of them."""

__version__ = "0.1.0"
