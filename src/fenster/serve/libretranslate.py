"""LibreTranslate's interface, as its clients know it, except that what they send is translated in context."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter, Request
from starlette.datastructures import UploadFile

from fenster.decode.result import Translated
from fenster.language import checked_register, load_language
from fenster.language.identify import detect_language
from fenster.serve import openapi
from fenster.serve.access import RefusedError
from fenster.serve.engine import TooLateError
from fenster.serve.files import suffixes, upload_name
from fenster.serve.requests import Service, check_access, fields_of, service_of, text_field
from fenster.serve.texts import RequestText

router = APIRouter(tags=["LibreTranslate"])
_MOST_ALTERNATIVES = 10
_EXAMPLE = {
    "q": ["Here is the lamp.", "It is very old."],
    "source": "en",
    "target": "de",
    "format": "text",
    "alternatives": 0,
    "register": "formal",
    "api_key": "",
}


@router.post("/translate", openapi_extra=openapi.body(_EXAMPLE, ("q", "source", "target")))
async def translate(request: Request) -> dict[str, Any]:
    """Translate `q`, a text or a list of texts, which are one document. `format`: text or html. `alternatives`: how
    many more translations to give, for texts of a single sentence. `register` (our addition): formal or informal."""
    service, fields = service_of(request), await fields_of(request)
    check_access(request, fields.get("api_key"))
    given = fields.get("q")
    listed = given if isinstance(given, list) else [given]
    texts = [text for text in listed if isinstance(text, str)]
    if not texts or len(texts) < len(listed) or given == "":
        raise RefusedError(400, "Invalid request: missing q parameter")
    service.check_length(texts)
    source, answer = _languages(service, fields, texts)
    kind = fields.get("format") or "text"
    if kind not in ("text", "html"):
        raise RefusedError(400, f"{kind} format is not supported")
    alternatives = _count(fields.get("alternatives"))
    if source == fields["target"]:
        return {"translatedText": given} | answer
    register = checked_register(fields.get("register"))
    text = await asyncio.to_thread(RequestText.of, texts, kind, service.options)
    segments = await service.translate(request, text.document(register))
    translated = await asyncio.to_thread(text.rendered, segments)
    answer["translatedText"] = translated if isinstance(given, list) else translated[0]
    if alternatives:
        others = [_alternatives(own, alternatives) for own in _by_text(text, segments)]
        answer["alternatives"] = others if isinstance(given, list) else others[0]
    return answer


@router.get("/languages")
async def languages(request: Request) -> list[dict[str, Any]]:
    source, target = service_of(request).languages
    return [
        {"code": source, "name": load_language(source).name, "targets": [source, target]},
        {"code": target, "name": load_language(target).name, "targets": [target]},
    ]


@router.post("/detect", openapi_extra=openapi.body({"q": "Guten Tag!"}, ("q",)))
async def detect(request: Request) -> list[dict[str, Any]]:
    """The language of `q`."""
    service, fields = service_of(request), await fields_of(request)
    check_access(request, fields.get("api_key"))
    text = text_field(fields, "q")
    service.check_length([text])
    code, sure = detect_language(text, service.languages)
    return [{"confidence": round(100 * sure, 1), "language": code}]


@router.post("/translate_file", openapi_extra=openapi.upload({"source": "en", "target": "de"}))
async def translate_file(request: Request) -> dict[str, str]:
    """Translate an uploaded `file`; the answer says where the result can be fetched."""
    service, fields = service_of(request), await fields_of(request)
    check_access(request, fields.get("api_key"))
    upload = fields.get("file")
    name = upload_name(upload)
    assert isinstance(upload, UploadFile)
    source, _ = _languages(service, fields, [])
    if source == fields["target"]:
        raise RefusedError(400, f"{source} to {source} is not supported for files")
    job = service.jobs.add(await upload.read(), name, "")
    try:
        in_time = await service.unless_gone(request, service.jobs.finished(job, service.config.deadline))
    except RefusedError:
        await service.jobs.remove(job)
        raise
    if not in_time:
        raise TooLateError
    if job.state == "failed":
        raise RefusedError(400, job.error)
    return {"translatedFileUrl": str(request.url_for("file_result", token=job.token))}


@router.get("/frontend/settings")
async def frontend_settings(request: Request) -> dict[str, Any]:
    service = service_of(request)
    source, target = service.languages
    return {
        "apiKeys": service.access.needs_key,
        "charLimit": service.config.most_characters,
        "filesTranslation": True,
        "frontendTimeout": 500,
        "keyRequired": service.access.needs_key,
        "language": {
            "source": {"code": source, "name": load_language(source).name},
            "target": {"code": target, "name": load_language(target).name},
        },
        "suggestions": False,
        "supportedFilesFormat": sorted(suffixes()),
    }


def _languages(service: Service, fields: dict[str, Any], texts: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """The source language, and what the answer says of it if it was to be detected. Both must be the model's; text
    that is in the target language already is allowed, and stays."""
    source, target = text_field(fields, "source"), text_field(fields, "target")
    answer: dict[str, Any] = {}
    if source == "auto":
        code, sure = detect_language(" ".join(texts), service.languages) if texts else (service.languages[0], 1.0)
        answer["detectedLanguage"] = {"confidence": round(100 * sure, 1), "language": code}
        source = code if code == target else service.languages[0]
    for code in (source, target):
        if code not in service.languages:
            raise RefusedError(400, f"{code} is not supported")
    if (source, target) != service.languages and source != target:
        raise RefusedError(400, f"{source} to {target} is not supported")
    return source, answer


def _count(value: object) -> int:
    try:
        count = int(value or 0)  # type: ignore[call-overload]
    except (TypeError, ValueError, OverflowError):
        raise RefusedError(400, "Invalid request: alternatives parameter is not a number") from None
    if not 0 <= count <= _MOST_ALTERNATIVES:
        raise RefusedError(400, f"Invalid request: alternatives parameter must be <= {_MOST_ALTERNATIVES}")
    return int(count)


def _by_text(text: RequestText, segments: Sequence[Translated]) -> list[Sequence[Translated]]:
    """The segments of each text."""
    parts, at = [], 0
    for file in text.parsed:
        parts.append(segments[at : at + len(file.segments)])
        at += len(file.segments)
    return parts


def _alternatives(own: Sequence[Translated], count: int) -> list[str]:
    return [text for text, _ in own[0].alternatives[:count]] if len(own) == 1 else []
