"""The page at /, and what only the page needs: settings in words, and where a word of a translation looked."""

from __future__ import annotations

from importlib.resources import files
from typing import Any, Literal

from fastapi import APIRouter, Request, Response
from pydantic import Field

from fenster.config import Config
from fenster.decode.cross_attention import heat
from fenster.decode.problems import PROBLEMS
from fenster.document import Document, ParallelDocument
from fenster.language import load_language
from fenster.model.description import AnyModel
from fenster.serve.access import RefusedError
from fenster.serve.files import suffixes
from fenster.serve.requests import check_access, service_of

router = APIRouter()
_MOST_ATTENTION = 5000  # characters: the weights of all layers and heads are kept
_SPACE = "\u2581"
_TYPES = {
    "index.html": "text/html",
    "page.css": "text/css",
    "page.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class AttentionRequest(Config):
    """The last of some sentences with their translations, and one of its words."""

    sources: tuple[str, ...] = Field(min_length=1, max_length=20)
    targets: tuple[str, ...] = Field(min_length=1, max_length=20)
    word: int = Field(ge=0)


@router.get("/", include_in_schema=False)
async def page() -> Response:
    return _asset("index.html")


@router.get("/page/{name}", include_in_schema=False)
async def asset(name: Literal["page.css", "page.js", "icon.svg"]) -> Response:
    return _asset(name)


@router.get("/v1/settings", tags=["documents"])
async def settings(request: Request) -> dict[str, Any]:
    """What a page should know: languages, formats, what warnings mean."""
    service = service_of(request)
    source, target = service.languages
    return {
        "source": source,
        "target": target,
        "names": [load_language(source).name, load_language(target).name],
        "formats": sorted(suffixes()),
        "problems": PROBLEMS,
        "key": service.access.needs_key,
        "characters": service.config.most_characters,
    }


@router.post("/v1/attention", tags=["documents"])
async def attention(request: Request, body: AttentionRequest) -> dict[str, Any]:
    """How much a word of the last translation looked at each word of its source and of the sentences before it."""
    check_access(request, None)
    service = service_of(request)
    if len(body.sources) != len(body.targets):
        raise RefusedError(400, "there must be as many targets as sources")
    service.check_length([*body.sources, *body.targets])
    if sum(map(len, (*body.sources, *body.targets))) > _MOST_ATTENTION:
        raise RefusedError(413, f"attention is shown for at most {_MOST_ATTENTION} characters")
    pair = ParallelDocument(Document.of("", body.sources), Document.of("", body.targets))
    loaded = service.engine.translator.loaded
    return {"words": await service.engine.call(lambda: looked_at(loaded, pair, body.word))}


def looked_at(loaded: AnyModel, pair: ParallelDocument, word: int) -> list[dict[str, Any]]:
    """Of each source word that the sentence can see: its text, the share of attention, and if it is of the
    sentence."""
    seen = heat(loaded, pair, len(pair) - 1)
    words = _words(seen.target)
    if word not in words:
        raise RefusedError(400, f"the last target has no word {word}; the first is 0")
    rows = [row for row, owner in zip(seen.weights, words, strict=True) if owner == word]
    shares = [sum(column) / max(1, len(rows)) for column in zip(*rows, strict=True)] or [0.0] * len(seen.source)
    made: list[dict[str, Any]] = []
    for number, (piece, owner) in enumerate(zip(seen.source, _words(seen.source), strict=True)):
        if owner >= len(made):
            made.append({"text": "", "weight": 0.0, "inside": seen.first <= number < seen.last})
        made[-1]["text"] += piece.replace(_SPACE, "")
        made[-1]["weight"] = round(made[-1]["weight"] + shares[number], 4)
    return [one for one in made if one["text"] and not one["text"].startswith("<")]


def _words(pieces: tuple[str, ...]) -> list[int]:
    """The word of each piece. Control symbols are words of their own."""
    numbers, current = [], -1
    after_symbol = True
    for piece in pieces:
        symbol = piece.startswith("<") and piece.endswith(">") and len(piece) > 2
        if piece.startswith(_SPACE) or symbol or after_symbol:
            current += 1
        numbers.append(current)
        after_symbol = symbol
    return numbers


def _asset(name: str) -> Response:
    text = files("fenster.serve").joinpath("page", name).read_text(encoding="utf-8")
    return Response(text, media_type=_TYPES[name], headers={"Content-Security-Policy": _POLICY})
