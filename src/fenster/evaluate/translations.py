"""A model's translations of a test set, kept beside its result: made once, resumable, never mistaken for others.

`RESULT.txt` holds the translations, blank lines between documents; `.RESULT.txt.stamp` says which model made them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fenster.decode.result import Translated
from fenster.decode.resume import Journal, journal_path, stamp
from fenster.document import ParallelDocument
from fenster.errors import ConfigError, counted
from fenster.io.files import atomic_text
from fenster.io.hashing import file_sha256
from fenster.io.progress import bar, report

if TYPE_CHECKING:
    from fenster.decode.translator import Translator


def translations_path(output: Path | None) -> Path:
    """Where a model's translations go: beside the result, and never over a file that fenster did not write."""
    if output is None or output.suffix != ".json":
        problem = (
            "--output is required to translate" if output is None else f"--output {output} does not end in .json"
        )
        raise ConfigError(
            problem,
            fix="give --output RESULT.json (translations go to RESULT.txt), or a file of translations",
        )
    path = output.with_name(output.name.removesuffix(".json") + ".txt")
    if path.exists():
        if not _stamp_path(path).exists() and not journal_path(path).exists():
            raise ConfigError("exists and was not written by fenster", path=path, fix="choose another --output")
        made = _read_stamp(path).get("sha256")
        if made is not None and made != file_sha256(path) and not journal_path(path).exists():
            raise ConfigError(
                "was changed after a model's translation was written there",
                path=path,
                fix="evaluate it with --hyp, or remove it to translate again",
            )
    return path


def translate_test_set(documents: Sequence[ParallelDocument], translator: Translator, path: Path) -> dict[str, Any]:
    """Translate a test set into `path`; what an interrupted or an identical call made is not translated again.
    Returns what went wrong: segments at the length limit, blocks with a different count."""
    mark = stamp(
        [document.source.texts for document in documents],
        translator.loaded.folder,
        translator.settings(),
    )
    known = _read_stamp(path)
    if path.is_file() and (known.pop("stamp", None), known.pop("sha256", None)) == (mark, file_sha256(path)):
        report(f"{path} exists already, made by the same model with the same settings")
        return known
    texts = [text for document in documents for text in document.source.texts]
    copied = sum(translator.is_unreadable(text) for text in texts)
    if copied:
        report(f"{counted(copied, 'segment has', 'segments have')} nothing that the model can read; copied unchanged")
    with Journal(path, mark) as journal:
        translated = _translated(documents, translator, journal)
        problems = {
            "capped": sum(segment.capped for document in translated for segment in document),
            "misaligned": sum(segment.misaligned for document in translated for segment in document),
        }
        with atomic_text(path) as stream:
            stream.write("\n".join("".join(f"{segment.text}\n" for segment in document) for document in translated))
        # After the text: if this is killed in between, the next call finds a complete journal, and writes both again.
        with atomic_text(_stamp_path(path)) as stream:
            json.dump({"stamp": mark, "sha256": file_sha256(path), **problems}, stream)
        journal.remove()
    if any(problems.values()):
        report(
            f"{counted(problems['capped'], 'sentence')} reached the length limit; "
            f"{counted(problems['misaligned'], 'block')} produced a different number of sentences than the source"
        )
    return dict(problems)


def _translated(
    documents: Sequence[ParallelDocument], translator: Translator, journal: Journal
) -> list[list[Translated]]:
    translated = [list(journal.known.get(number, ())) for number in range(len(documents))]
    with bar("translating", sum(map(len, documents))) as advance:
        advance(sum(map(len, translated)))
        for event in translator.segments((document.source for document in documents), journal.known):
            journal.note(event.document, event.translated)
            translated[event.document].append(event.translated)
            advance(1)
    return translated


def _stamp_path(path: Path) -> Path:
    """Says which model made a file of translations, and how."""
    return path.with_name(f".{path.name}.stamp")


def _read_stamp(path: Path) -> dict[str, Any]:
    """What the stamp says; nothing if it is damaged."""
    try:
        body = json.loads(_stamp_path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return body if isinstance(body, dict) else {}
