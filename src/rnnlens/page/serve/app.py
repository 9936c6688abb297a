"""Runs in the browser, served to this machine only."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.resources.abc import Traversable
from threading import Thread
from typing import Any

import uvicorn
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, Response

from rnnlens.ask.continuation import continued_json
from rnnlens.ask.divergence import divergences
from rnnlens.ask.follow import joined
from rnnlens.ask.readings import following, turning
from rnnlens.ask.written import written_json
from rnnlens.base.errors import RnnlensError
from rnnlens.page import bundle
from rnnlens.page.publish.publish import Words, published
from rnnlens.page.serve import api, questions
from rnnlens.page.serve.connections import Announced, Impatient, listen
from rnnlens.page.serve.fields import Name
from rnnlens.page.serve.figures import Figure, FigureRequest, figured
from rnnlens.page.serve.guard import Application, Guard
from rnnlens.page.serve.measured import Accuracy
from rnnlens.page.serve.searching import add_searching
from rnnlens.page.serve.token import Locked
from rnnlens.page.serve.work import Work
from rnnlens.reading.side_by_side import SideBySide
from rnnlens.version import __version__

_TYPES = {
    "html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml",
    "png": "image/png", "ico": "image/x-icon",
}  # fmt: skip
_NO_JSON = "the body is no JSON that can be read; send what /api/openapi.json describes"
_Chosen = Callable[[str | None], SideBySide]
_Written = tuple[str, dict[str, str], str, str]
_PROBLEMS: dict[int | str, dict[str, Any]] = {
    "4XX": {"model": api.Problem, "description": "what was asked for cannot be given"},
    503: {"model": api.Problem, "description": "too much to do; ask again in a moment"},
}
_REFERRED = {"application/json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
_PAGE: dict[int | str, dict[str, Any]] = {
    status: {"description": problem["description"], "content": _REFERRED}
    for status, problem in _PROBLEMS.items()
}


def application(lenses: Mapping[str, SideBySide], token: str = "") -> Guard:
    """The page and what it asks for; `lenses` by the ids they are asked for with.

    With a token, nothing is answered to those who do not have it.
    """
    app = FastAPI(
        title="rnnlens", version=__version__, docs_url=None, redoc_url=None,
        openapi_url="/api/openapi.json", description="What every hidden state predicts.",
    )  # fmt: skip
    _explain_problems(app)
    work = Work()

    def chosen(run: str | None) -> SideBySide:
        name = next(iter(lenses)) if run is None else run
        if name not in lenses:
            raise HTTPException(404, f"no run is called {name!r}; there is {', '.join(lenses)}")
        return lenses[name]

    _add_questions(app, lenses, chosen, work)
    _add_readings(app, chosen, work)
    _add_reasons(app, chosen, work)
    add_searching(app, chosen, _answers, _json)
    _add_files(app)
    return Guard(Locked(app, token) if token else app)


def _add_questions(
    app: FastAPI, lenses: Mapping[str, SideBySide], chosen: _Chosen, work: Work
) -> None:
    @app.get("/api/runs", responses=_answers(api.Runs))
    async def runs() -> Response:
        """Every run that is served."""
        return _json({"runs": [lens.summary() for lens in lenses.values()]})

    @app.post("/api/grid", responses=_answers(api.Grid))
    async def grid(request: Request, asked: questions.GridRequest) -> Response:
        """The grid of a text, or those of its rows that the asker does not have."""
        steps = _written(chosen(asked.run).steps(**_given(asked, chosen)))
        return _answer(_joined(await work.all_of(request, steps)))

    @app.post("/api/divergence", responses=_answers(api.Divergences))
    async def divergence(request: Request, asked: questions.DivergenceRequest) -> Response:
        """How far apart pairs of states are."""
        lens = chosen(asked.run)
        return await work.do(request, lambda: _json({"bits": divergences(lens, asked.ends())}))

    @app.get("/api/accuracy", responses=_answers(Accuracy))
    async def accuracy(run: Name | None = None) -> Response:
        """How well each kind predicts, as `rnnlens eval` measured it."""
        lens = chosen(run)
        found = lens.accuracy(lenses.values())
        if found is None:
            raise HTTPException(404, f"{lens.name} was not measured yet; run: rnnlens eval RUN")
        return _json(found)

    @app.get("/api/standalone", response_class=HTMLResponse, responses=_PAGE)
    async def standalone(request: Request) -> Response:
        """The page in one file, ready for a grid to be put into it."""
        return HTMLResponse(await work.do(request, lambda: bundle.standalone(None)))

    @app.post("/api/publish", response_class=HTMLResponse, responses=_PAGE)
    async def publish(request: Request, asked: questions.PublishRequest) -> Response:
        """The live page of a run in one file, which reads a text first and then any other."""
        lens, words = chosen(asked.run), Words(text=asked.text)
        return HTMLResponse(await work.do(request, lambda: published(lens, words=words).page))


def _add_readings(app: FastAPI, chosen: _Chosen, work: Work) -> None:
    @app.post("/api/follow", responses=_answers(api.Followed))
    async def follow(request: Request, asked: questions.FollowRequest) -> Response:
        """How probable labels are in every state of some rows."""
        steps = following(chosen(asked.run), **_given(asked, chosen))
        return _json(joined(await work.all_of(request, steps)))

    @app.post("/api/turns", responses=_answers(api.Turns))
    async def turns(request: Request, asked: questions.TurnsRequest) -> Response:
        """How far the states of some rows lie from those that feed them and from the row above."""
        steps = turning(chosen(asked.run), **_given(asked, chosen))
        return _json(joined(await work.all_of(request, steps)))

    @app.post("/api/figure", responses=_answers(Figure))
    async def figure(request: Request, asked: FigureRequest) -> Response:
        """A part of a grid as a figure for print."""
        beside = None if asked.beside is None else chosen(asked.beside)
        return _json(await work.last_of(request, figured(chosen(asked.run), asked, beside)))


def _add_reasons(app: FastAPI, chosen: _Chosen, work: Work) -> None:
    @app.post("/api/written", responses=_answers(api.Written))
    async def written(request: Request, asked: questions.WrittenRequest) -> Response:
        """Which words have made a state say some labels rather than others."""
        given, lens = asked.model_dump(exclude={"run"}), chosen(asked.run)
        return await work.do(request, lambda: _json(written_json(lens, **given)))

    @app.post("/api/continue", responses=_answers(api.Continued))
    async def continued(request: Request, asked: questions.ContinueRequest) -> Response:
        """How the model goes on by itself, with edits and without."""
        given, lens = asked.model_dump(exclude={"run"}), chosen(asked.run)
        return await work.do(request, lambda: _json(continued_json(lens, **given)))


def _given(asked: questions.GridRequest | questions.RowsRequest, chosen: _Chosen) -> dict[str, Any]:
    """What a lens is asked, with the lens that reads beside it."""
    beside = None if asked.beside is None else chosen(asked.beside)
    return {**asked.model_dump(exclude={"run"}), "beside": beside}


def _add_files(app: FastAPI) -> None:
    found = dict(_files(bundle.WEB))

    @app.api_route("/{name:path}", methods=["GET", "HEAD"], include_in_schema=False)
    async def file(name: str) -> Response:
        """The page and its modules, by the names they have in the package and by no others."""
        item = found.get(name or "index.html")
        kind = _TYPES.get((name or "index.html").rpartition(".")[2])
        if item is None or kind is None:
            raise HTTPException(404, f"there is nothing at /{name[:100]}")
        return Response(item.read_bytes(), media_type=kind)


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
        elif first["type"] in ("json_invalid", "model_attributes_type"):
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
        return _json({"error": str(error)}, 400)

    @app.exception_handler(Exception)
    async def broken(_: Request, error: Exception) -> Response:
        return _json({"error": f"the server failed ({type(error).__name__})"}, 500)


def _answers(model: type[Any]) -> dict[int | str, dict[str, Any]]:
    return {200: {"model": model}, **_PROBLEMS}


def _json(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """By hand: checking our own answers against their models takes longer than making them."""
    return _answer(_dumps(value), status, headers)


def _answer(text: str, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    body = text.encode("utf-8", "replace")
    return Response(body, status, headers, media_type="application/json")


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _written(steps: Iterator[tuple[dict[str, Any], bool]]) -> Iterator[tuple[_Written, bool]]:
    """Each step's head, labels, rows and changes, long ones as JSON: writing takes turns too."""
    for grid, more in steps:
        labels, rows, changes = (grid.pop(name) for name in ("labels", "rows", "changes"))
        yield (_dumps(grid)[1:-1], labels, _dumps(rows)[1:-1], _dumps(changes)[1:-1]), more


def _joined(steps: Sequence[_Written]) -> str:
    """One grid of its steps."""
    labels = {label: group for _, part, *_ in steps for label, group in part.items()}
    rows = ",".join(rows for _, _, rows, _ in steps if rows)
    changes = ",".join(changes for *_, changes in steps if changes)
    head = f'{steps[0][0]},"labels":{_dumps(labels)}'
    return f'{{{head},"rows":[{rows}],"changes":[{changes}]}}'


def serve(
    lenses: Mapping[str, SideBySide],
    port: int,
    ready: Callable[[str], None],
    token: str = "",
    ended: Callable[[], None] = lambda: None,
) -> None:
    """Serve until interrupted; `ready` is given the address once it answers.

    `ended` is called when it ends, by a signal too.
    """
    listener = listen(port)
    address = f"http://127.0.0.1:{listener.getsockname()[1]}/" + (f"?token={token}" * bool(token))
    server = over_http(application(lenses, token), lambda: ready(address), ended)
    # The first grid takes longest; made now, it is over before the page asks for it.
    first = next(iter(lenses.values()))
    Thread(target=lambda: first.grid(first.examples()[0]), daemon=True).start()
    server.run(sockets=[listener])


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
