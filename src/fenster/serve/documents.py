"""Our own interface: documents whose sentences come back one by one, as server-sent events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Request
from fastapi.sse import EventSourceResponse, ServerSentEvent
from pydantic import ConfigDict, Field

from fenster.config import Config
from fenster.decode.result import Translated
from fenster.document import Document, Segment
from fenster.errors import FensterError
from fenster.language.register import Form
from fenster.serve.access import RefusedError
from fenster.serve.engine import FailedError, OverloadedError, TooLateError
from fenster.serve.requests import GlossaryField, Service, check_access, service_of
from fenster.serve.texts import RequestText

_MOST_HISTORY = 100  # pairs: what came before them is out of every window's reach
router = APIRouter(prefix="/v1", tags=["documents"])


class DocumentRequest(Config):
    """A document: `segments`, each of which is one sentence, or a `text`, which is split into sentences."""

    segments: tuple[str, ...] = ()
    text: str = ""
    register_: Literal["", "formal", "informal"] = Field(default="", alias="register")
    """How people are addressed; by default as the context suggests."""
    history: tuple[tuple[str, str], ...] = ()
    """Earlier sentences with their translations: context only."""
    session: str = ""
    """A session from /v1/sessions: its earlier translations are context, and this document is added to it."""
    glossary: GlossaryField = Field(default={})
    """Terms with their translations, or with all forms of them; they win over those of the service."""
    alternatives: int = Field(default=0, ge=0, le=10)

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "segments": ["Here is the lamp.", "It is very old."],
                    "register": "formal",
                    "glossary": {"lamp": "Leuchte"},
                }
            ]
        },
    )


async def accepted(request: Request, body: DocumentRequest) -> AsyncIterator[Translated]:
    """The translations to come; whatever is wrong with a request is said before the stream begins."""
    check_access(request, None)
    service = service_of(request)
    history = body.history[-_MOST_HISTORY:]
    terms = [f"{source}{forms}" for source, forms in body.glossary.items()]
    service.check_length(
        [*([body.text] if body.text else ()), *body.segments, *terms, *(text for pair in history for text in pair)]
    )
    document = await asyncio.to_thread(_document, body, service)
    earlier = service.sessions.history(body.session) if body.session else []
    if earlier is None:
        raise RefusedError(404, "no such session")
    return await service.engine.stream(document, [*earlier, *history], service.config.deadline, terms=body.glossary)


@router.post("/documents", response_class=EventSourceResponse)
async def documents(
    request: Request, body: DocumentRequest, translations: Annotated[AsyncIterator[Translated], Depends(accepted)]
) -> AsyncIterator[ServerSentEvent]:
    """Translate a document. Each `segment` event is one sentence, in order; `done` ends the stream, or `error` if
    something fails. Closing the connection cancels the translation."""
    service = service_of(request)
    index, counter = 0, service.engine.translator.planner.counter
    try:
        async for translated in translations:
            service.sessions.add(body.session, translated.source, translated.text)
            forms = [] if counter is None else counter.forms(translated.source, translated.text)
            yield ServerSentEvent(event="segment", data=_segment(index, translated, forms, body.alternatives))
            index += 1
    except (FensterError, FailedError, OverloadedError, TooLateError) as error:
        yield ServerSentEvent(event="error", data={"error": str(error) or type(error).__name__})
        return
    yield ServerSentEvent(event="done", data={"segments": index})


@router.post("/sessions", status_code=201)
async def new_session(request: Request) -> dict[str, str]:
    """Begin a conversation: requests to `/documents` with this `session` have those before them as context. A session
    is forgotten after an hour without use."""
    check_access(request, None)
    return {"session": service_of(request).sessions.new()}


@router.delete("/sessions/{name}")
async def end_session(request: Request, name: str) -> dict[str, str]:
    check_access(request, None)
    if not service_of(request).sessions.end(name):
        raise RefusedError(404, "no such session")
    return {"session": name, "state": "ended"}


def _document(body: DocumentRequest, service: Service) -> Document:
    if bool(body.segments) == bool(body.text):
        raise RefusedError(400, "give either segments or a text")
    if body.text:
        return RequestText.of([body.text], "text", service.options).document(body.register_)
    return Document("", tuple(Segment(text, register=body.register_) for text in body.segments))


def _segment(index: int, translated: Translated, address: Sequence[Form], alternatives: int) -> dict[str, Any]:
    made: dict[str, Any] = {
        "index": index,
        "source": translated.source,
        "target": translated.text,
        "score": round(translated.score, 4),
        "warnings": list(translated.warnings),
        "address": address,
    }
    if translated.missed_terms:
        made["missed_terms"] = list(translated.missed_terms)
    if alternatives:
        made["alternatives"] = [
            {"target": text, "score": round(score, 4)} for text, score in translated.alternatives[:alternatives]
        ]
    return made
