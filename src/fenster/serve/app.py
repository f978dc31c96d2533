"""The application: routes, limits, errors as `{"error": …}`, one line of log per request."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.cors import CORSMiddleware
from fastapi.responses import JSONResponse
from fastapi_offline import FastAPIOffline
from starlette.exceptions import HTTPException

from fenster import __version__
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

_RETRY = 5  # seconds after which a client may try again when the queue is full
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'",
}
_ABOUT = """Document-level machine translation. A page for people is at [/](/).

Requests under *LibreTranslate* are answered as that program answers them; those under *documents* and *files* know
documents, registers, glossaries and history. Errors are `{"error": "…"}`."""
_CROSS_ORIGIN: dict[str, Any] = {
    "allow_methods": ["GET", "POST", "DELETE"],
    "allow_headers": ["Authorization", "Content-Type"],
}
_DOCS = "/docs"
_DOCS_POLICY = (  # Swagger's page has its start inline
    "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


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
        _DOCS,
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
    app.middleware("http")(_watched)

    @app.get("/health", tags=["LibreTranslate"])
    async def health() -> dict[str, str]:
        if not engine.alive:
            raise RefusedError(503, "the engine has stopped: restart the service")
        return {"status": "ok"}

    @app.get("/metrics", include_in_schema=False)
    async def metrics() -> Response:
        return Response(service.metrics.text(), media_type="text/plain; version=0.0.4")

    return app


async def _watched(request: Request, call: Callable[[Request], Awaitable[Response]]) -> Response:
    """Refuse bodies that are too large, count and log every request, and set headers that keep browsers safe."""
    service: Service = request.app.state.service
    began = time.monotonic()
    size = request.headers.get("content-length", "0")
    if not size.isdigit() or int(size) > service.config.most_bytes or "transfer-encoding" in request.headers:
        most = service.config.most_bytes
        response: Response = _error(413, f"Invalid request: the body must have a length, of at most {most} bytes")
    else:
        response = await call(request)
    seconds = time.monotonic() - began
    route = request.scope.get("route")
    path = getattr(route, "path", "other")
    service.metrics.requests.labels(path, str(response.status_code)).inc()
    service.metrics.seconds.labels(path).observe(seconds)
    line = {"time": time.time(), "path": path, "status": response.status_code, "seconds": round(seconds, 4)}
    print(json.dumps(line), file=sys.stderr, flush=True)
    if request.url.path == _DOCS:
        response.headers["Content-Security-Policy"] = _DOCS_POLICY
    for name, value in _HEADERS.items():
        response.headers.setdefault(name, value)
    return response


def _add_errors(app: FastAPI) -> None:
    @app.exception_handler(RefusedError)
    async def refused(_: Request, error: RefusedError) -> JSONResponse:
        return _error(error.status, str(error), error.retry_after)

    @app.exception_handler(OverloadedError)
    async def overloaded(_: Request, error: OverloadedError) -> JSONResponse:
        return _error(429, "Slowdown: too many requests are waiting", _RETRY)

    @app.exception_handler(TooLateError)
    async def too_late(_: Request, error: TooLateError) -> JSONResponse:
        return _error(504, "the translation took longer than it may")

    @app.exception_handler(FailedError)
    async def failed(_: Request, error: FailedError) -> JSONResponse:
        return _error(500, str(error))

    @app.exception_handler(FensterError)
    async def ours(_: Request, error: FensterError) -> JSONResponse:
        return _error(400, str(error))

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"] if part != "body")
        return _error(400, f"Invalid request: {where}: {first['msg']}")

    @app.exception_handler(Exception)
    async def defect(_: Request, error: Exception) -> JSONResponse:
        return _error(500, "something went wrong; the server's log says what")

    @app.exception_handler(HTTPException)
    async def http(_: Request, error: HTTPException) -> JSONResponse:
        return _error(error.status_code, str(error.detail))


def _error(status: int, message: str, retry_after: int | None = None) -> JSONResponse:
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    return JSONResponse({"error": message}, status, headers)
