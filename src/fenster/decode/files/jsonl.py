"""Text in, one JSON object per segment out: source, target, score, seconds and alternatives, for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from fenster.decode.files.base import DocumentFormat, FileOptions
from fenster.decode.files.text import TextDocument, split_lines
from fenster.decode.result import Translated
from fenster.io.files import TextLines


@dataclass(frozen=True)
class JsonlDocument(TextDocument):
    def render(self, translated: Iterator[Translated]) -> Iterator[str]:
        for segment in self.segments:
            yield json.dumps(self._record(segment.line, next(translated)), ensure_ascii=False) + "\n"

    def _record(self, line: int, segment: Translated) -> dict[str, Any]:
        record = {
            "line": line,
            "source": segment.source,
            "target": segment.text,
            "score": segment.score,
            "capped": segment.capped,
            "seconds": round(segment.seconds, 4),
        }
        if self.options.nbest > 1:
            others = segment.alternatives[: self.options.nbest - 1]
            record["alternatives"] = [{"target": text, "score": score} for text, score in others]
        return record


class JsonlFormat(DocumentFormat):
    holds_nbest = True
    about = "text in; one JSON object per segment with source, target, score and seconds"

    def parse(self, lines: TextLines, options: FileOptions) -> JsonlDocument:
        return JsonlDocument(split_lines(lines, options), options)
