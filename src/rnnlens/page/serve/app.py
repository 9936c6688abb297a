"""Runs in the browser, served to this machine only."""

import gc
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields
from importlib.resources.abc import Traversable
from inspect import Parameter, Signature
from threading import Thread
from typing import Any, get_type_hints

import pydantic_core
import uvicorn
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic.fields import FieldInfo
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, Response

from rnnlens.ask.answer import TABLE, Entry, Table
from rnnlens.ask.grids import GridQuestion, grid_steps
from rnnlens.ask.json_types import Problem
from rnnlens.ask.questions import Subjects, UnknownRunError, readable
from rnnlens.base.errors import RnnlensError
from rnnlens.base.schema import json_type, to_json
from rnnlens.base.threads import forget_pool
from rnnlens.lab.lab_page import STYLE
from rnnlens.page import bundle
from rnnlens.page.publish.live_page import PublishQuestion, Words, published
from rnnlens.page.serve.connections import Announced, Impatient, listen, listen_often
from rnnlens.page.serve.guard import Application, Guard, Locked
from rnnlens.page.serve.lab_served import served_lab
from rnnlens.page.serve.work import Work
from rnnlens.page.serve.workers import Workers, check_workers
from rnnlens.reading.subject import Subject
from rnnlens.version import __version__

_TYPES = {
    "html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml",
    "png": "image/png", "ico": "image/x-icon",
}  # fmt: skip
_NO_JSON = "the body is no JSON that can be read; send what /api/openapi.json describes"
_PROBLEMS: dict[int | str, dict[str, Any]] = {
    "4XX": {"model": Problem, "description": "what was asked for cannot be given"},
    503: {"model": Problem, "description": "too much to do; ask again in a moment"},
}
_REFERRED = {"application/json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
_PAGE: dict[int | str, dict[str, Any]] = {
    status: {"description": problem["description"], "content": _REFERRED}
    for status, problem in _PROBLEMS.items()
}
LONG_TEXT = 1_000  # characters: a longer text is not what somebody types, or they can wait a moment
_Step = tuple[dict[str, Any], bytes, bytes]  # of an answer: what is small; rows; changes


def application(subjects: Mapping[str, Subject], token: str = "", table: Table = TABLE) -> Guard:
    """The page and what it asks for; `subjects` by the names they are asked for with.

    With a token, nothing is answered to those who do not have it.
    """
    app = FastAPI(
        title="rnnlens", version=__version__, docs_url=None, redoc_url=None,
        openapi_url="/api/openapi.json", description="What every hidden state predicts.",
    )  # fmt: skip
    _explain_problems(app)
    asked, work = Subjects(subjects), Work()
    for name, entry in table.items():
        _add_question(app, asked, name, entry, work)
    _add_pages(app, asked, work)
    _add_files(app)
    return Guard(Locked(app, token) if token else app)


def _add_question(app: FastAPI, subjects: Subjects, name: str, entry: Entry, work: Work) -> None:
    """A route for an entry of the table."""

    async def ask(request: Request, question: Any) -> Response:
        give, seat = entry.give, name if entry.is_long else ""
        is_long = len(getattr(question, "text", "")) > LONG_TEXT
        if entry.way == "rows":
            steps = await work.all_of(
                request, lambda: _written(give(subjects, question)), is_long=is_long
            )
            return _answer(_joined(steps))
        if entry.way == "last":
            return _json(await work.last_of(request, lambda: give(subjects, question), seat))
        return await work.do(
            request, lambda: _json(to_json(give(subjects, question))), seat, is_long=is_long
        )

    async def got(request: Request, **query: Any) -> Response:
        return await ask(request, entry.question(**query))

    wanted = Parameter("request", Parameter.KEYWORD_ONLY, annotation=Request)
    if entry.is_got:
        got.__signature__ = Signature([wanted, *_query(entry.question)])  # type: ignore[attr-defined]
    else:
        ask.__annotations__["question"] = entry.question
    about = entry.question.__doc__ or ""
    app.api_route(
        f"/api/{name}", methods=["GET" if entry.is_got else "POST"], name=name,
        description=about.partition("\n\n")[0],
        responses={200: {"model": json_type(entry.answer)}, **_PROBLEMS},
    )(got if entry.is_got else ask)  # fmt: skip


def _query(question: type[Any]) -> Iterator[Parameter]:
    """The fields of a question as those of an address."""
    hints = get_type_hints(question, include_extras=True)
    for one in fields(question):
        default = one.default.default if isinstance(one.default, FieldInfo) else one.default
        given = Parameter.empty if default is MISSING else default
        yield Parameter(one.name, Parameter.KEYWORD_ONLY, default=given, annotation=hints[one.name])


def _add_pages(app: FastAPI, subjects: Subjects, work: Work) -> None:
    @app.get("/api/standalone", response_class=HTMLResponse, responses=_PAGE)
    async def standalone(request: Request) -> Response:
        """The page in one file, ready for a grid to be put into it."""
        return HTMLResponse(await work.do(request, lambda: bundle.standalone(None)))

    @app.post("/api/publish", response_class=HTMLResponse, responses=_PAGE)
    async def publish(request: Request, question: PublishQuestion) -> Response:
        """The live page of a run in one file, which reads a text first and then any other."""
        subject, words = subjects.asked(question), Words(text=question.text)
        page = await work.do(request, lambda: published(subject, words=words).page, "publish")
        return HTMLResponse(page)

    @app.get("/lab", response_class=HTMLResponse, include_in_schema=False)
    async def laboratory(
        request: Request, run: str | None = None, suite: str | None = None,
        paradigm: str | None = None,
    ) -> Response:  # fmt: skip
        """The laboratory: a suite that comes along, asked of a run."""
        asked = [None if one is None else readable(one)[:200] for one in (run, suite, paradigm)]
        page, status = await work.do(request, lambda: served_lab(subjects, *asked), "lab")
        return HTMLResponse(page, status)

    @app.get("/api/lab.css", include_in_schema=False)
    async def looks() -> Response:
        """What the laboratory looks like."""
        return Response(STYLE, media_type="text/css")


def _add_files(app: FastAPI) -> None:
    found = dict(_files(bundle.WEB))

    @app.api_route("/{name:path}", methods=["GET", "HEAD"], include_in_schema=False)
    async def file(name: str) -> Response:
        """The page and its modules, by the names they have in the package and by no others."""
        item = found.get(name or "index.html")
        kind = _TYPES.get((name or "index.html").rpartition(".")[2])
        if item is None or kind is None:
            raise HTTPException(404, f"there is nothing at /{name[:100]}")
        is_page = item.name == "index.html"
        content = bundle.served_page() if is_page else item.read_bytes()
        return Response(content, media_type=kind)


def _files(folder: Traversable, path: str = "") -> Iterator[tuple[str, Traversable]]:
    """Every file of a folder, with its path from there."""
    for item in folder.iterdir():
        if item.is_dir():
            yield from _files(item, f"{path}{item.name}/")
        else:
            yield path + item.name, item


def _explain_problems(app: FastAPI) -> None:
    """Every problem is one line of JSON."""

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"][1:])
        if first["type"] == "long":  # said for people
            message = first["msg"]
        elif first["type"] == "json_invalid" or (first["type"] == "dataclass_type" and not where):
            message = f"{_NO_JSON}, with content-type application/json"
        else:
            message = f"{where}: {first['msg']}; see /api/openapi.json".removeprefix(": ")
        return _json({"error": " ".join(message.split())}, 422)

    @app.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> Response:
        message = str(error.detail)
        if "parsing the body" in message:
            message = _NO_JSON
        if error.status_code == 405:
            message = f"{request.url.path[:100]} is not for {request.method}; see /api/openapi.json"
        return _json({"error": message}, error.status_code, error.headers)

    @app.exception_handler(RnnlensError)
    async def mendable(_: Request, error: RnnlensError) -> Response:
        return _json({"error": str(error)}, 404 if isinstance(error, UnknownRunError) else 400)

    @app.exception_handler(Exception)
    async def broken(_: Request, error: Exception) -> Response:
        return _json({"error": f"the server failed ({type(error).__name__})"}, 500)


def _json(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """By hand: checking our own answers against their types takes longer than making them."""
    return _answer(_dumps(value), status, headers)


def _answer(body: bytes, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(body, status, headers, media_type="application/json")


def _dumps(value: Any) -> bytes:
    """A value as JSON. pydantic writes it in a quarter of the time that Python takes, which a key
    waits for; but it refuses halves of characters, and lets numbers pass that are none.
    """
    try:
        written = pydantic_core.to_json(value)
    except pydantic_core.PydanticSerializationError:
        written = b"NaN"
    if b"NaN" not in written and b"Infinity" not in written:
        return written
    plain = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return plain.encode("utf-8", "replace")


def _written(steps: Iterator[tuple[dict[str, Any], bool]]) -> Iterator[tuple[_Step, bool]]:
    """Each part of an answer, its rows and changes as JSON: writing takes turns too."""
    for part, more in steps:
        rows, changes = _dumps(part.pop("rows")), _dumps(part.pop("changes", []))
        yield (part, rows[1:-1], changes[1:-1]), more


def _joined(steps: Sequence[_Step]) -> bytes:
    """One answer of its parts, as `joined` in ask/grids.py makes it."""
    head = dict(steps[0][0])
    if isinstance(head.get("labels"), dict):  # of a grid, which also says what has changed
        head["labels"] = {
            label: group for part, *_ in steps for label, group in part["labels"].items()
        }
        changes = b',"changes":[%b]' % b",".join(some for *_, some in steps if some)
    else:
        changes = b""
    rows = b",".join(some for _, some, _ in steps if some)
    return b'%b,"rows":[%b]%b}' % (_dumps(head)[:-1], rows, changes)


def serve(
    subjects: Mapping[str, Subject],
    port: int,
    ready: Callable[[str], None],
    token: str = "",
    ended: Callable[[], None] = lambda: None,
    workers: int = 1,
) -> None:
    """Serve until interrupted, by so many processes; `ready` is given the address once it answers.

    `ended` is called when it ends, by a signal too.
    """
    check_workers(workers)
    listeners = listen_often(port, workers) if workers > 1 else [listen(port)]
    number = listeners[0].getsockname()[1]
    address = f"http://127.0.0.1:{number}/" + (f"?token={token}" * bool(token))
    app, first = application(subjects, token), next(iter(subjects.values()))
    # The first grid takes longest; made now, it is over before the page asks for it.
    if workers > 1:
        _warm_up(first)  # what is made for it is shared by all
        forget_pool()
        many = Workers(listeners, lambda begun: over_http(app, begun))
        return many.run(lambda: ready(address), ended)
    server = over_http(app, lambda: ready(address), ended)
    Thread(target=_warm_up, args=[first], daemon=True).start()
    server.run(sockets=listeners)
    return None


def _warm_up(subject: Subject) -> None:
    side = subject.session.text
    if side.splitting is not None:  # which imports a library, and examples may come split already
        side.words("a text")
    question = GridQuestion(text=subject.examples()[0])
    for _ in grid_steps(Subjects.of(subject), question):
        pass
    gc.collect()
    gc.freeze()  # what is there now stays: to look through it again and again takes 0.2 s each time


def over_http(
    app: Application,
    ready: Callable[[], None] = lambda: None,
    ended: Callable[[], None] = lambda: None,
) -> uvicorn.Server:
    """A server that waits for nobody long, and calls `ready` once it answers."""
    config = uvicorn.Config(
        app, http=Impatient, ws="none", lifespan="off", server_header=False,
        log_level="error", access_log=False, timeout_graceful_shutdown=2,
    )  # fmt: skip
    return Announced(config, ready, ended)
