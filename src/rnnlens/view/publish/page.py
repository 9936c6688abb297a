"""The page around a published lens: one file of HTML that asks for nothing from elsewhere."""

import gzip
import json
from base64 import b64encode
from functools import cache
from html import escape
from typing import Any

from rnnlens.view.page.bundle import (
    bundle,
    check_inline,
    compact,
    embeddable,
    inline,
    source_hash,
)
from rnnlens.view.publish.pack import Packed

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
cut short, or the browser is older than 2022: get the file again, or open it in another browser.</p>
<style>{style}</style>
<script type="application/json" id="head">{head}</script>
<script>{script}</script>
<script type="text/plain" id="engine">{engine}</script>
<script type="text/plain" id="manifest">{manifest}</script>
<script type="text/plain" id="weights">{weights}</script>
</body>
</html>
"""


def live_page(packed: Packed, head: dict[str, Any]) -> bytes:
    """The whole file; `head` is shown before the engine is ready."""
    style = inline("style.css") + inline("published.css")
    script, engine = (_script(entry) for entry in ("published.js", "worker.js"))
    policy = (
        f"default-src 'none'; script-src {source_hash(script)} 'wasm-unsafe-eval'; "
        f"style-src {source_hash(style)}; worker-src blob:; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )
    return _SHELL.format(
        policy=policy,
        title=escape(f"rnnlens · {head['run']['title']}"),
        style=style,
        head=embeddable(head),
        script=script,
        engine=engine,
        manifest=_zipped(json.dumps(packed.manifest, allow_nan=False).encode()),
        weights=_zipped(packed.blob),
    ).encode("utf-8", "replace")


@cache
def _script(entry: str) -> str:
    return check_inline(entry, compact(bundle(entry)))


def _zipped(data: bytes) -> str:
    """As net/unzip.js reads it; the same bytes give the same text."""
    return b64encode(gzip.compress(data, mtime=0)).decode()
