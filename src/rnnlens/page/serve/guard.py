"""What stands around the application: whom it answers, how much it reads, and a secret in the
address on machines that others use too.
"""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import contextmanager, suppress
from hmac import compare_digest
from html import escape
from pathlib import Path
from tempfile import mkstemp
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

HOSTS = frozenset({"127.0.0.1", "localhost", "[::1]"})
MOST_BODY = 256 * 1024  # bytes
ARRIVAL, DEPARTURE = 10.0, 20.0  # seconds for a body to come and for a part of an answer to go
_PART = 64 * 1024  # bytes
SAFE = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-cache",
}
_SAFE = [(name.encode(), value.encode()) for name, value in SAFE.items()]

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]


class RefusedError(Exception):
    """A request that is answered before any work is done for it."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class _GoneError(Exception):
    """Nobody takes the answer."""


class Guard:
    """Around an application: hosts checked, bodies whole and small, answers safe to show."""

    def __init__(
        self, app: Application, arrival: float = ARRIVAL, departure: float = DEPARTURE
    ) -> None:
        self.app, self.arrival, self.departure = app, arrival, departure

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """One connection's message."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        safe = self._safe(send)
        try:
            check_origin(headers)
            body = await self._body(headers, receive)
        except RefusedError as refused:
            await _answer(safe, refused.status, str(refused))
            return
        if body is not None:
            with suppress(_GoneError):
                await self.app(scope, _replayed(body, receive), safe)

    async def _body(self, headers: dict[bytes, str], receive: Receive) -> bytes | None:
        """The whole body; None where the client has gone before it was whole."""
        try:
            announced = int(headers.get(b"content-length", "0"))
        except ValueError as error:
            raise RefusedError(400, "the content-length is no number; send one") from error
        too_large = RefusedError(
            413, f"the request is larger than {MOST_BODY // 1024} KB; send less text"
        )
        if announced > MOST_BODY:
            raise too_large
        body = bytearray()
        try:
            async with asyncio.timeout(self.arrival):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return None
                    body += message.get("body", b"")
                    if len(body) > MOST_BODY:
                        raise too_large
                    if not message.get("more_body", False):
                        return bytes(body)
        except TimeoutError as error:
            raise RefusedError(
                408, f"the request did not arrive within {self.arrival:g} s; send it again"
            ) from error

    def _safe(self, send: Send) -> Send:
        """Sending with the headers of `SAFE`, in parts that each must leave in time."""

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = [pair for pair in message.get("headers", ()) if pair[0].decode() not in SAFE]
                message = {**message, "headers": [*own, *_SAFE]}
            body, follows = message.get("body", b""), message.get("more_body", False)
            parts = [body[k : k + _PART] for k in range(0, len(body), _PART)] or [b""]
            for number, part in enumerate(parts, 1):
                if message["type"] == "http.response.body":
                    more = follows or number < len(parts)
                    message = {**message, "body": part, "more_body": more}
                try:
                    async with asyncio.timeout(self.departure):
                        await send(message)
                except TimeoutError as error:
                    raise _GoneError from error

        return guarded


def check_origin(headers: dict[bytes, str]) -> None:
    """Refuse other names of this machine (DNS rebinding) and other sites' pages."""
    host = headers.get(b"host", "")
    name = host if host.endswith("]") else host.rpartition(":")[0] or host
    if name.lower() not in HOSTS:
        raise RefusedError(400, f"this server is not {name[:100]!r}; open it as 127.0.0.1")
    origin = headers.get(b"origin")
    # `null` is what a browser says of our own page where its settings hide origins. Whoever else
    # says so gains nothing: they cannot send JSON nor read answers, and no request changes a thing.
    if origin is not None and origin.lower() not in (f"http://{host}".lower(), "null"):
        raise RefusedError(403, f"pages of {origin[:100]!r} may not ask this server")


def _replayed(body: bytes, receive: Receive) -> Receive:
    """The body as one message, and then whatever comes after it."""
    left = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return left.pop() if left else await receive()

    return replay


async def _answer(send: Send, status: int, message: str) -> None:
    body = json.dumps({"error": message}).encode()
    head = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),  # the rest of the request is not read
    ]
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": body})


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
