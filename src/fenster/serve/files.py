"""Translation of files in the background: upload one, ask for its progress, fetch the result."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, Request, Response
from fastapi.responses import FileResponse
from pydantic import TypeAdapter, ValidationError
from starlette.datastructures import UploadFile

from fenster.decode.files import DOCUMENT_FORMATS
from fenster.decode.glossary import GivenTerms
from fenster.language import checked_register
from fenster.serve import openapi
from fenster.serve.access import RefusedError
from fenster.serve.jobs import FileJob
from fenster.serve.requests import GlossaryField, check_access, fields_of, service_of

router = APIRouter(prefix="/v1/files", tags=["files"])
_GLOSSARY = '{"lamp": "Leuchte"}'
_TERMS: TypeAdapter[GlossaryField] = TypeAdapter(GlossaryField)


def suffixes() -> set[str]:
    """Names of files that can be translated end like this."""
    return {suffix for kind in DOCUMENT_FORMATS.values() for suffix in kind.suffixes}


def upload_name(upload: object) -> str:
    """The name of an uploaded file, without folders."""
    if not isinstance(upload, UploadFile) or not upload.filename:
        raise RefusedError(400, "Invalid request: missing file parameter")
    name = upload.filename.replace("\\", "/").rsplit("/", 1)[-1]
    if Path(name).suffix.lower() not in suffixes():
        raise RefusedError(400, "Invalid request: file format not supported")
    return name


def shown_name(name: str, language: str) -> str:
    """The name that a translation is offered under."""
    return re.sub(r"[^\w.-]+", "_", f"{Path(name).stem}_{language}{Path(name).suffix}")


@router.post("", status_code=202, openapi_extra=openapi.upload({"register": "formal", "glossary": _GLOSSARY}))
async def add(request: Request) -> dict[str, Any]:
    """Send a `file`, and optionally a `register` and a `glossary`: a JSON object of terms with their translations, or
    with lists of all forms. The response names the job."""
    service, fields = service_of(request), await fields_of(request)
    check_access(request, fields.get("api_key"))
    upload = fields.get("file")
    name = upload_name(upload)
    register = checked_register(fields.get("register"))
    assert isinstance(upload, UploadFile)
    given = str(fields.get("glossary") or "{}")
    service.check_length([given])
    glossary = _glossary(given)
    # An error in it is said now, not later; a large one takes a while to read.
    await asyncio.to_thread(service.engine.translator.planner_with, glossary)
    return service.jobs.add(await upload.read(), name, register, glossary).status()


@router.get("/{token}")
async def status(request: Request, token: str) -> dict[str, Any]:
    """The progress of a job: `state` is waiting, running, done or failed."""
    return _job(request, token).status()


@router.get("/{token}/result", name="file_result")
async def result(request: Request, token: str) -> FileResponse:
    """The translated file."""
    job, service = _finished(request, token), service_of(request)
    name = shown_name(job.name, service.languages[1])
    return FileResponse(service.jobs.result(job), filename=name, media_type="application/octet-stream")


@router.get("/{token}/bilingual", name="file_bilingual")
async def bilingual(
    request: Request, token: str, format: Literal["html", "docx", "tmx", "xliff"] = "html"
) -> Response:
    """Source and translation side by side, for review."""
    job = _finished(request, token)
    try:
        data = await service_of(request).jobs.bilingual(job, f".{format}")
    except FileNotFoundError:
        raise RefusedError(409, "this file was translated by an earlier version, which kept no review") from None
    name = shown_name(f"{Path(job.name).stem}.{format}", "bilingual")
    headers = {"Content-Disposition": f"attachment; filename*=utf-8''{quote(name)}"}
    return Response(data, media_type="application/octet-stream", headers=headers)


@router.delete("/{token}")
async def remove(request: Request, token: str) -> dict[str, Any]:
    """Cancel a job, and forget its files."""
    await service_of(request).jobs.remove(_job(request, token))
    return {"job": token, "state": "removed"}


def _glossary(text: str) -> GivenTerms:
    try:
        return _TERMS.validate_json(text)
    except ValidationError:
        raise RefusedError(400, f"glossary must be a JSON object such as {_GLOSSARY}") from None


def _finished(request: Request, token: str) -> FileJob:
    job = _job(request, token)
    if job.state != "done":
        raise RefusedError(409, f"the job is {job.state}")
    return job


def _job(request: Request, token: str) -> FileJob:
    job = service_of(request).jobs.find(token)
    if job is None:
        raise RefusedError(404, "no such job")
    return job
