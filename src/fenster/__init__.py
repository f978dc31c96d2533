"""Fenster: document-level neural machine translation with window attention."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from fenster.data.sentence_split import sentences
from fenster.document import Document, ParallelDocument, Segment
from fenster.errors import FensterError

if TYPE_CHECKING:
    from fenster.decode.files.translate import FileTranslator

__version__ = "0.3.0.dev0"
__all__ = ["Document", "FensterError", "ParallelDocument", "Segment", "__version__", "load", "sentences"]


def load(folder: Path | str | None = None, *, device: str = "auto", **settings: Any) -> FileTranslator:
    """A translator from a model folder: `fenster.load("model", beam=4).translate(["A sentence.", "Another."])`, or
    `fenster.load().translate_file("report.docx")`.

    Without a folder, the bundled English-German model. Settings are those of
    `fenster.decode.config.DecodeConfig`; what is needed is imported here, not with the package.
    """
    from fenster.config import check
    from fenster.decode.config import DecodeConfig
    from fenster.decode.files.translate import FileTranslator
    from fenster.io.model_json import DEFAULT_MODEL

    return FileTranslator.load(folder or DEFAULT_MODEL, check(settings, DecodeConfig), device)
