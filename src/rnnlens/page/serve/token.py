"""A secret in the address, on machines that others use too: any of them can connect to a port."""

import os
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager, suppress
from hmac import compare_digest
from html import escape
from pathlib import Path
from tempfile import mkstemp
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from rnnlens.page.serve.guard import Application, Receive, Send

_MISSING = (
    "this server wants a token; open the address that rnnlens printed when it began, with all that "
    "follows the question mark"
)


class Locked:
    """Around an application: whoever asks must have the token.

    It comes in the address, and from then on in a cookie, so that everything the page asks for and
    links to it have it too. Programs may send it as `Authorization: Bearer TOKEN`.
    """

    def __init__(self, app: Application, token: str) -> None:
        self.app, self._token = app, token.encode()

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """One connection's message."""
        answer = self._answer(Request(scope)) if scope["type"] == "http" else None
        await (answer or self.app)(scope, receive, send)

    def _answer(self, request: Request) -> Response | None:
        """What to answer in place of the application; None: the token is here."""
        cookie = f"rnnlens-{request.url.port or 80}"  # browsers share them among ports
        scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
        if self._is_right(bearer if scheme.lower() == "bearer" else ""):
            return None
        if self._is_right(request.query_params.get("token", "")):
            if request.method not in ("GET", "HEAD"):  # whose body a redirection would lose
                return None
            there = RedirectResponse(str(request.url.remove_query_params("token")), 303)
            value = self._token.decode()
            there.set_cookie(cookie, value, httponly=True, samesite="lax")
            return there
        if self._is_right(request.cookies.get(cookie, "")):
            return None
        if "text/html" in request.headers.get("accept", ""):
            return HTMLResponse(f"<title>rnnlens</title><p>{escape(_MISSING.capitalize())}.", 403)
        return JSONResponse({"error": _MISSING}, 403)

    def _is_right(self, given: str) -> bool:
        """Whether this is the token; it takes as long whichever letter is wrong."""
        return compare_digest(given.encode("utf-8", "replace"), self._token)


@contextmanager
def forwarding(address: str) -> Iterator[str]:
    """The address of a file that only this user can read and that leads to `address`.

    A browser's command line, which all can read, then does not tell the token.
    """
    handle, name = mkstemp(prefix="rnnlens-", suffix=".html")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(f'<meta http-equiv="refresh" content="0; url={escape(address)}">')
        yield Path(name).as_uri()
    finally:
        with suppress(OSError):
            Path(name).unlink()
