"""Questions about a run's corpus. They queue for each other, apart from those of who types."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from fastapi import FastAPI, Request
from starlette.responses import Response

from rnnlens.page.serve import corpus
from rnnlens.page.serve.work import Work
from rnnlens.reading.side_by_side import SideBySide
from rnnlens.search.find import CorpusPage
from rnnlens.search.pictures import picture as picture_of
from rnnlens.search.similar import similar as similar_of

_AT_ONCE, _WAITING = 1, 32
Documented = Callable[[type[Any]], dict[int | str, dict[str, Any]]]


def add_searching(
    app: FastAPI,
    chosen: Callable[[str | None], SideBySide],
    answers: Documented,
    json: Callable[[Any], Response],
) -> None:
    """Answer what the corpus page asks; `answers` documents an answer, and `json` writes it."""
    work = Work(_AT_ONCE, _WAITING)

    @app.post("/api/corpus", responses=answers(corpus.Corpus))
    async def about(request: Request, asked: corpus.CorpusRequest) -> Response:
        """What is known of a run's corpus."""
        lens = chosen(asked.run)
        return json(await work.do(request, lambda: asdict(CorpusPage(lens).about())))

    @app.post("/api/find", responses=answers(corpus.Found))
    async def find(request: Request, asked: corpus.FindRequest) -> Response:
        """The words whose states say what is asked for, or how many they are."""
        lens, given = chosen(asked.run), asked.model_dump(exclude={"run"})
        return json(await work.do(request, lambda: asdict(CorpusPage(lens).find(**given))))

    @app.post("/api/table", responses=answers(corpus.Table))
    async def table(request: Request, asked: corpus.TableRequest) -> Response:
        """The same as a table to be saved."""
        lens = chosen(asked.run)
        return json(await work.do(request, lambda: asdict(CorpusPage(lens).table(asked.question))))

    @app.post("/api/picture", responses=answers(corpus.Picture))
    async def picture(request: Request, asked: corpus.PictureRequest) -> Response:
        """A picture of the whole corpus, as numbers."""
        lens = chosen(asked.run)
        return json(await work.do(request, lambda: asdict(picture_of(lens, asked.name))))

    @app.post("/api/similar", responses=answers(corpus.Similar))
    async def similar(request: Request, asked: corpus.SimilarRequest) -> Response:
        """States of the corpus that are like one of a text."""
        lens, given = chosen(asked.run), asked.model_dump(exclude={"run"})
        return json(await work.do(request, lambda: asdict(similar_of(lens, **given))))
