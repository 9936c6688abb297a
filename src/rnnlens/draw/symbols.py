"""Symbols of kinds as mathematics, for figures."""

from collections.abc import Mapping
from typing import Any


def mathematical(column: Mapping[str, Any], layered: bool) -> str:
    """A kind's symbol as mathematics; nothing for the name of some other module."""
    symbol = str(column["symbol"])
    letter, accent = symbol[:1], symbol[1:]
    drawable = letter.isascii() and letter.isalpha() and accent in ("", "\u0303")
    if not (column["letter"] and drawable):
        return ""
    base = rf"\tilde{{{letter}}}" if accent else letter
    inner = layered and column["layer"] and column["letter"] != "y"
    above = f"^{{{column['layer']}}}" if inner else ""
    below = "_{t{-}1}" if column["back"] else "_{t}" if layered else ""
    return f"${base}{above}{below}$"
