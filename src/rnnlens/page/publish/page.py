"""The page around a published lens: one file of HTML that asks for nothing from elsewhere."""

import gzip
import json
from functools import cache
from html import escape
from typing import Any

import numpy as np

from rnnlens.page.bundle import (
    bundle,
    check_inline,
    compact,
    embeddable,
    inline,
    source_hash,
)
from rnnlens.page.publish.pack import Packed

# First a line that says what is wrong where nothing else does: its script removes it, unless the
# file was cut before its end or changed since. The script comes before what is large, so that
# something is drawn while the rest is on its way.
_SHELL = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="rnnlens">
<title>{title}</title>
</head>
<body>
<noscript>rnnlens draws with JavaScript, which this browser does not run.</noscript>
<p id="opening">A lens of rnnlens is about to be drawn. If this line stays, the file is damaged or \
cut short, or the browser is older than 2023: get the file again, or open it in another browser.</p>
<style>{style}</style>
<script type="application/json" id="head">{head}</script>
<script>{script}</script>
<script type="text/plain" id="engine">{engine}</script>
<script type="text/plain" id="manifest">{manifest}</script>
<script type="text/plain" id="weights">{weights}</script>
</body>
</html>
"""
_PIECE = 7 << 16  # bytes that are written at once, so that large lenses take no more memory
_CODES = np.arange(128, dtype=np.uint8)
_CODES[[0, ord("\r"), ord("<")]] = range(ord("À"), ord("À") + 3)


def live_page(packed: Packed, head: dict[str, Any]) -> bytes:
    """The whole file; `head` is shown before the engine is ready."""
    style = _styles()
    script, engine = (_script(entry) for entry in ("published.js", "worker.js"))
    policy = (
        f"default-src 'none'; script-src {source_hash(script)} 'wasm-unsafe-eval'; "
        f"style-src {source_hash(style)}; worker-src blob:; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )
    manifest = json.dumps(packed.manifest, allow_nan=False).encode()
    sizes = {"manifest": len(manifest), "weights": len(packed.blob)}
    return _SHELL.format(
        policy=policy,
        title=escape(f"rnnlens · {head['run']['title']}"),
        style=style,
        head=embeddable({**head, "sizes": sizes}),
        script=script,
        engine=engine,
        manifest=_zipped(manifest),
        weights=_zipped(packed.blob),
    ).encode("utf-8", "replace")


def code_size() -> int:
    """Bytes of the page itself: style, page and engine."""
    parts = _styles(), _script("published.js"), _script("worker.js")
    return sum(len(part.encode()) for part in parts)


def _styles() -> str:
    return inline("style.css") + inline("published.css")


@cache
def _script(entry: str) -> str:
    return check_inline(entry, compact(bundle(entry)))


def _zipped(data: bytes) -> str:
    """As net/unzip.js reads it; the same bytes give the same text."""
    return seven_bits(gzip.compress(data, mtime=0))


def seven_bits(data: bytes) -> str:
    """Bytes as text that HTML leaves as it is, seven bits a character: it takes an eighth less room
    than base64. The characters are those of ASCII but for three, which one of Latin-1 stands for.
    """
    return "".join(_seven_bits(data[at : at + _PIECE]) for at in range(0, len(data), _PIECE))


def _seven_bits(data: bytes) -> str:
    blocks = np.frombuffer(data + bytes(-len(data) % 7), np.uint8).reshape(-1, 7).astype(np.uint64)
    number = (blocks << np.arange(48, -1, -8, dtype=np.uint64)).sum(1, dtype=np.uint64)  # 56 bits
    codes = (number[:, None] >> np.arange(49, -1, -7, dtype=np.uint64)) & np.uint64(127)
    text: str = _CODES[codes.astype(np.uint8).ravel()].tobytes().decode("latin-1")
    return text[: -(-8 * len(data) // 7)]
