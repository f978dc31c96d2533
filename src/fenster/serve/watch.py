"""What happens to every request: bodies that are too large are refused, each is counted and logged, and headers keep
browsers safe. A layer of plain ASGI, so that handlers see when their client goes away."""

from __future__ import annotations

import json
import sys
import time
import traceback
from typing import TYPE_CHECKING

from fastapi.responses import JSONResponse
from starlette.datastructures import Headers, MutableHeaders

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from fenster.serve.requests import Service

DOCS = "/docs"
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'",
}
_DOCS_POLICY = (  # Swagger's page has its start inline
    "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class Watch:
    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app, self._service = app, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.monotonic(), 0

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                if scope["path"] == DOCS:
                    headers["Content-Security-Policy"] = _DOCS_POLICY
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            most = self._service.config.most_bytes
            if _is_too_large(Headers(scope=scope), most):
                message = f"Invalid request: the body must have a Content-Length of at most {most} bytes"
                await error_response(413, message)(scope, receive, watched)
            else:
                await self._app(scope, receive, watched)
        except Exception as error:
            traceback.print_exception(error)
            if status:
                raise  # the answer has begun: the connection is closed
            await error_response(500, "something went wrong; see the server's log")(scope, receive, watched)
        finally:
            self._note(scope, status, time.monotonic() - began)

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        path = getattr(scope.get("route"), "path", "other")
        self._service.metrics.requests.labels(path, str(status)).inc()
        self._service.metrics.seconds.labels(path).observe(seconds)
        line = {"time": time.time(), "path": path, "status": status, "seconds": round(seconds, 4)}
        print(json.dumps(line), file=sys.stderr, flush=True)


def _is_too_large(headers: Headers, most: int) -> bool:
    size = headers.get("content-length", "0")
    return not size.isdigit() or int(size) > most or "transfer-encoding" in headers


def error_response(status: int, message: str, retry_after: int | None = None) -> JSONResponse:
    """`{"error": …}`; half characters in it become question marks."""
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    return JSONResponse({"error": message.encode("utf-8", "replace").decode()}, status, headers)
