"""What handlers share: the service behind a request, its fields, and translation that ends when the client goes."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from fastapi import Request
from pydantic import Field
from starlette.datastructures import UploadFile

from fenster.decode.files.base import FileOptions
from fenster.decode.result import Translated
from fenster.document import Document
from fenster.serve.access import Access, RefusedError
from fenster.serve.config import ServeConfig
from fenster.serve.engine import Engine
from fenster.serve.jobs import FileJobs
from fenster.serve.metrics import Metrics
from fenster.serve.sessions import Sessions

GlossaryField = Annotated[dict[str, str | Annotated[list[str], Field(max_length=100)]], Field(max_length=1000)]
"""Terms with their translations, or with all forms of them."""
Result = TypeVar("Result")
_LOOK = 0.5  # seconds between looks whether the client is still there


@dataclass(frozen=True)
class Service:
    """Everything that handlers need; kept in the application's state."""

    config: ServeConfig
    engine: Engine
    access: Access
    metrics: Metrics
    jobs: FileJobs
    sessions: Sessions
    languages: tuple[str, str]
    options: FileOptions

    async def translate(self, request: Request, document: Document) -> list[Translated]:
        """All of a document; given up if the client goes away."""
        return await self.unless_gone(request, self.engine.translate(document, deadline=self.config.deadline))

    async def unless_gone(self, request: Request, work: Coroutine[Any, Any, Result]) -> Result:
        """The result of some work, which is cancelled if the client goes away."""
        task = asyncio.create_task(work)
        try:
            while not task.done():
                await asyncio.wait([task], timeout=_LOOK)
                if not task.done() and await request.is_disconnected():
                    raise RefusedError(499, "the client has gone")
            return task.result()
        finally:
            task.cancel()

    def check_length(self, texts: Sequence[str]) -> None:
        """Refuse texts that are too long together, each counting as one character more, and what is no text."""
        length, most = max(0, sum(map(len, texts)) + len(texts) - 1), self.config.most_characters
        if length > most:
            raise RefusedError(413, f"Invalid request: request ({length}) exceeds text limit ({most})")
        if any("\ud800" <= character <= "\udfff" for text in texts for character in text):
            raise RefusedError(400, "Invalid request: the text contains half a surrogate pair, not a character")
        self.metrics.characters.inc(length)


def service_of(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


async def fields_of(request: Request) -> dict[str, Any]:
    """The fields of a JSON or form body; JSON's types stay."""
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind in ("application/x-www-form-urlencoded", "multipart/form-data"):
        form = await request.form()
        return {name: _form_value(form.getlist(name)) for name in form}
    if not await request.body():
        return dict(request.query_params)
    try:
        body = await request.json()
    except (ValueError, RecursionError):
        raise RefusedError(400, "Invalid request: the body is not JSON") from None
    if not isinstance(body, dict):
        raise RefusedError(400, "Invalid request: the body must be a JSON object")
    return body


def _form_value(values: list[UploadFile | str]) -> object:
    return values[0] if len(values) == 1 else values


def text_field(fields: dict[str, Any], name: str) -> str:
    value = fields.get(name)
    if value is None or value == "":
        raise RefusedError(400, f"Invalid request: missing {name} parameter")
    if not isinstance(value, str):
        raise RefusedError(400, f"Invalid request: {name} must be text")
    return value


def check_access(request: Request, key: object) -> None:
    """The key of a field, or of the header `Authorization: Bearer KEY`."""
    header = request.headers.get("authorization", "").removeprefix("Bearer ").strip()
    given = key if isinstance(key, str) and key else header
    address = request.client.host if request.client else ""
    service_of(request).access.check(given, address)
