"""A run in the browser, served to this machine only."""

import socket
from collections.abc import Awaitable, Callable
from importlib.resources import files

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from rnnlens.errors import RnnlensError
from rnnlens.view.grid import Lens

_TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript"}
_SAFE = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}
_LONGEST_TEXT = 20_000  # characters
HOSTS = ["127.0.0.1", "localhost", "[::1]"]

Handler = Callable[[Request], Awaitable[Response]]


def application(lens: Lens) -> Starlette:
    """The page and what it asks for."""

    async def grid(request: Request) -> Response:
        text = request.query_params.get("text", "")
        if len(text) > _LONGEST_TEXT:
            return _problem(f"{len(text)} characters are too many; give at most {_LONGEST_TEXT}")
        try:
            return JSONResponse(await run_in_threadpool(lens.grid, text, 5), headers=_SAFE)
        except RnnlensError as error:
            return _problem(str(error))

    routes = [Route("/api/grid", grid)]
    for item in files("rnnlens.view").joinpath("web").iterdir():
        name = "" if item.name == "index.html" else item.name
        kind = _TYPES.get(item.name.rpartition(".")[2])
        if kind:
            routes.append(Route(f"/{name}", _static(item.read_bytes(), kind)))
    hosts = Middleware(TrustedHostMiddleware, allowed_hosts=HOSTS)
    return Starlette(routes=routes, middleware=[hosts])


def serve(lens: Lens, port: int, ready: Callable[[str], None]) -> None:
    """Serve until interrupted; `ready` is given the address once it answers."""
    listener = _listen(port)
    address = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    config = uvicorn.Config(application(lens), log_level="warning", access_log=False)
    server = uvicorn.Server(config)
    ready(address)
    server.run(sockets=[listener])


def _listen(port: int) -> socket.socket:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen(128)
    except (OSError, OverflowError) as error:
        listener.close()
        reason = getattr(error, "strerror", None) or error
        raise RnnlensError(
            f"cannot serve on port {port} ({reason}); give another --port"
        ) from error
    return listener


def _static(content: bytes, kind: str) -> Handler:
    async def answer(_request: Request) -> Response:
        return Response(content, media_type=kind, headers=_SAFE)

    return answer


def _problem(message: str) -> Response:
    return JSONResponse({"error": message}, status_code=400, headers=_SAFE)
