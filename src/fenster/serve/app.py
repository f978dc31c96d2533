"""The application: routes, limits, errors as `{"error": …}`, one line of log per request."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.cors import CORSMiddleware
from fastapi.responses import JSONResponse
from fastapi_offline import FastAPIOffline
from starlette.exceptions import HTTPException

from fenster import __version__
from fenster.config import problems_of
from fenster.decode.files.translate import file_options
from fenster.decode.translator import Translator
from fenster.errors import ConfigError, FensterError
from fenster.serve import documents, files, libretranslate, pages
from fenster.serve.access import Access, RefusedError
from fenster.serve.config import ServeConfig
from fenster.serve.engine import Engine, FailedError, OverloadedError, TooLateError
from fenster.serve.jobs import FileJobs
from fenster.serve.metrics import Metrics
from fenster.serve.requests import Service
from fenster.serve.sessions import Sessions
from fenster.serve.watch import DOCS, Watch, error_response

_RETRY = 5  # seconds after which a client may try again when the queue is full
_ABOUT = """Document-level machine translation. There is a web page at [/](/).

Requests under *LibreTranslate* are answered as that program answers them; those under *documents* and *files* support
documents, registers, glossaries and history. Errors are `{"error": "…"}`."""
_CROSS_ORIGIN: dict[str, Any] = {
    "allow_methods": ["GET", "POST", "DELETE"],
    "allow_headers": ["Authorization", "Content-Type"],
}


def create_app(translator: Translator, config: ServeConfig) -> FastAPI:
    pair = translator.loaded.description.languages
    if pair is None:
        raise ConfigError(
            "the model does not say which languages it translates", fix="serve a model of fenster 0.3 or newer"
        )
    engine = Engine(translator, config.most_waiting)
    service = Service(
        config,
        engine,
        Access(config.keys, config.requests_per_minute),
        Metrics(engine),
        FileJobs(engine, file_options(translator), config.jobs, config.most_waiting),
        Sessions(),
        pair,
        file_options(translator),
    )

    @asynccontextmanager
    async def running(_: FastAPI) -> AsyncIterator[None]:
        engine.start()
        service.jobs.start()
        yield
        await service.jobs.stop()
        await asyncio.to_thread(engine.stop)

    service.jobs.lock()
    app = FastAPIOffline(
        DOCS,
        None,
        title="Fenster",
        version=__version__,
        lifespan=running,
        description=_ABOUT,
        static_url="/docs-page",
    )
    app.state.service = service
    app.include_router(libretranslate.router)
    app.include_router(documents.router)
    app.include_router(files.router)
    app.include_router(pages.router)
    if config.origins:
        app.add_middleware(CORSMiddleware, allow_origins=list(config.origins), **_CROSS_ORIGIN)
    _add_errors(app)
    app.add_middleware(Watch, service=service)

    @app.head("/health", include_in_schema=False)
    @app.get("/health", tags=["LibreTranslate"])
    async def health() -> dict[str, str]:
        if not engine.alive:
            raise RefusedError(503, "the engine has stopped: restart the service")
        return {"status": "ok"}

    @app.get("/metrics", include_in_schema=False)
    async def metrics() -> Response:
        return Response(service.metrics.text(), media_type="text/plain; version=0.0.4")

    return app


def _add_errors(app: FastAPI) -> None:
    @app.exception_handler(RefusedError)
    async def refused(_: Request, error: RefusedError) -> JSONResponse:
        return error_response(error.status, str(error), error.retry_after)

    @app.exception_handler(OverloadedError)
    async def overloaded(_: Request, error: OverloadedError) -> JSONResponse:
        return error_response(429, "Slowdown: too many requests are waiting", _RETRY)

    @app.exception_handler(TooLateError)
    async def too_late(_: Request, error: TooLateError) -> JSONResponse:
        return error_response(504, "the translation took longer than allowed")

    @app.exception_handler(FailedError)
    async def failed(_: Request, error: FailedError) -> JSONResponse:
        return error_response(500, str(error))

    @app.exception_handler(FensterError)
    async def ours(_: Request, error: FensterError) -> JSONResponse:
        return error_response(400, str(error))

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        errors = [
            {**one, "loc": tuple(part for part in one["loc"] if part != "body" and one["type"] != "json_invalid")}
            for one in error.errors()
        ]
        return error_response(400, f"Invalid request: {problems_of(errors)[0]}")

    @app.exception_handler(HTTPException)
    async def http(_: Request, error: HTTPException) -> JSONResponse:
        return error_response(error.status_code, str(error.detail))
