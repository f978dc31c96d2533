"""Output for programs, one JSON object per segment: source, target, score, seconds, warnings and alternatives. Input:
text, or a .jsonl file whose objects have a `source` and optionally a `document`, an `id` and a `register`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from fenster.data.text import check_texts, normalise
from fenster.decode.files.base import DocumentFormat, FileOptions, FileSegment, ParsedFile
from fenster.decode.files.text import split_lines
from fenster.decode.result import Translated
from fenster.errors import InputError
from fenster.io.files import FileSource, bare_suffix
from fenster.language import checked_register

SUFFIX = ".jsonl"
_OURS = ("line", "target", "score", "capped", "seconds", "warnings", "missed_terms", "alternatives")  # what we write


@dataclass(frozen=True)
class JsonlDocument(ParsedFile):
    groups: Sequence[Sequence[FileSegment]]
    """The segments of each document."""
    options: FileOptions
    given: Mapping[int, Mapping[str, Any]]
    """By line, what the input's objects say, which the output repeats."""

    @property
    def documents(self) -> Sequence[Sequence[FileSegment]]:
        return self.groups

    def render(self, translated: Iterator[Translated]) -> Iterator[str]:
        for segment in self.segments:
            yield json.dumps(self._record(segment.line, next(translated)), ensure_ascii=False) + "\n"

    def _record(self, line: int, segment: Translated) -> dict[str, Any]:
        record = {
            "line": line,
            "source": segment.source,
            **self.given.get(line, {}),
            "target": segment.text,
            "score": segment.score,
            "capped": segment.capped,
            "seconds": round(segment.seconds, 4),
            "warnings": list(segment.warnings),
        }
        if segment.missed_terms:
            record["missed_terms"] = list(segment.missed_terms)
        if self.options.nbest > 1:
            others = segment.alternatives[: self.options.nbest - 1]
            record["alternatives"] = [{"target": text, "score": score} for text, score in others]
        return record


class JsonlFormat(DocumentFormat):
    suffixes = (SUFFIX,)
    holds_nbest = True
    about = "text or JSON objects in; one object per segment with source, target, score, warnings"

    def parse(self, source: FileSource, options: FileOptions) -> JsonlDocument:
        has_objects = source.is_piped and source.data.lstrip()[:1] == b"{"
        if has_objects or bare_suffix(source.path) == SUFFIX:
            return _objects(source, options)
        lines = split_lines(source, options)
        documents = [[FileSegment(text, line.number) for line in group for text in line.segments] for group in lines]
        return JsonlDocument(documents, options, {})


def _objects(source: FileSource, options: FileOptions) -> JsonlDocument:
    """One segment per object; a new document begins where `document` changes."""
    given: dict[int, dict[str, Any]] = {}
    segments: list[tuple[Any, FileSegment]] = []
    for number, text in source.lines():
        if text.strip():
            record = _record(text, source, number)
            given[number] = record
            register = checked_register(record.get("register"), path=source.path, line=number)
            segment = FileSegment(normalise(record["source"]), number, register)
            segments.append((record.get("document"), segment))
    documents = [[segment for _, segment in group] for _, group in groupby(segments, key=lambda one: one[0])]
    return JsonlDocument(documents, options, given)


def _record(text: str, source: FileSource, number: int) -> dict[str, Any]:
    expected = 'an object such as {"source": "Hello!", "document": "a", "register": "formal"}'
    try:
        record = json.loads(text)
    except ValueError as error:
        raise InputError(f"not JSON ({error})", path=source.path, line=number, expected=expected) from None
    if not isinstance(record, dict) or not isinstance(record.get("source"), str):
        holds_document = isinstance(record, dict) and ("text" in record or "segments" in record)
        raise InputError(
            "has no text under `source`",
            path=source.path,
            line=number,
            expected=expected,
            fix="whole documents are translated into a folder: -o FOLDER --workers 1" if holds_document else None,
        )
    try:
        check_texts([record["source"]])
    except InputError:
        raise InputError(
            "contains an unpaired surrogate", path=source.path, line=number, expected="whole characters"
        ) from None
    return {key: value for key, value in record.items() if key not in _OURS}
