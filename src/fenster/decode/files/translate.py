"""Translate a file: parse, translate in context, render; resumable if it has an output of its own."""

from __future__ import annotations

import shutil
import sys
import tempfile
from array import array
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from fenster.data.text import normalise, why_refused
from fenster.decode.files import document_format
from fenster.decode.files.base import FileOptions, FileSegment, ParsedFile
from fenster.decode.files.output import beside, check_output
from fenster.decode.given import Pairs
from fenster.decode.problems import PROBLEMS
from fenster.decode.result import Translated
from fenster.decode.resume import Journal, stamp
from fenster.decode.translator import Translator
from fenster.document import Document
from fenster.errors import FensterError, counted, first_of, writing
from fenster.io.files import FileSource, atomic_path, check_not_input, compressing
from fenster.io.machine import release_memory
from fenster.io.progress import bar, report
from fenster.language.characters import INVISIBLE

OnSegment = Callable[[int, Translated], None]
"""Takes each segment's line and translation, in order."""
_RELEASED = 100  # segments between two times that freed memory is returned to the system
_STANDARD_OUTPUT = (Path("/dev/stdout"), Path("/dev/fd/1"))


@dataclass
class FileSummary:
    """What a reader of the translation should know."""

    warnings: dict[str, list[int]] = field(default_factory=dict)
    """By problem, the lines of the segments that have it."""
    missed_terms: Counter[str] = field(default_factory=Counter)
    """Terms of the glossary that are missing, and how often."""
    output: Path | None = None
    """Where it was written."""
    segments: int = 0
    misaligned: int = 0
    remarks: list[str] = field(default_factory=list)
    """What the format has to say."""


class FileTranslator(Translator):
    """A translator of whole files."""

    def translate_file(
        self,
        path: Path | str,
        output: Path | str | None = None,
        *,
        format: str | None = None,
        history: Pairs = (),
        **reading: Any,
    ) -> FileSummary:
        """Translate a file in any of the formats of `fenster translate` into `output`, or beside itself: report.docx
        becomes report.de.docx. `reading` are settings of `FileOptions`. An interrupted call is resumed by the same
        call."""
        file = Path(path)
        options = file_options(self, **reading)
        target = beside(file, options.target) if output is None else Path(output)
        check_not_input(target, [file])
        kind = document_format(format, file)
        check_output(kind, file, target)
        parsed = kind.parse(FileSource.read(file), options)
        return translate_parsed(self, parsed, target, options, history)


def file_options(translator: Translator, **reading: Any) -> FileOptions:
    """How files are read for a model: in its languages unless told otherwise."""
    source, target = translator.loaded.description.languages or ("en", "de")
    return FileOptions(**({"language": source, "target": target} | reading))


def translate_parsed(
    translator: Translator,
    file: ParsedFile,
    output: Path | None,
    options: FileOptions,
    history: Pairs = (),
    on_segment: OnSegment | None = None,
) -> FileSummary:
    """Translate a parsed file into `output`, or to standard output as pieces are ready. With an output an interrupted
    call is resumed by the same call; the output appears when it is complete. Translations are not kept, so that long
    files need no more memory than short ones: whoever needs them passes `on_segment`."""
    output = None if output in _STANDARD_OUTPUT else output
    if output is not None and (not output.name or output.is_dir()):
        raise FensterError("is a folder", path=output, expected="the name of a file to write")
    documents = file.as_documents()
    reading = {key: value for key, value in asdict(options).items() if key != "nbest"}  # the journal has all of them
    settings = {**translator.settings(), "history": list(history), **reading}
    ordinary = output is not None and (output.is_file() or not output.exists())  # not a pipe
    summary = FileSummary()
    reused = sum(normalise(one.text) in translator.memory and not one.marks for one in file.segments)
    mark = stamp([document.segments for document in documents], translator.loaded.folder, settings)
    with Journal(output if ordinary else None, mark) as journal:
        segments = _translated(translator, documents, journal, history)
        summarised = _summarised(file, segments, summary, on_segment)
        if output is None:
            with writing(Path("standard output")):
                for piece in file.render(summarised):
                    _print(piece)
            summary.remarks = _remarks(file, reused)
            return summary
        # The output waits in a file without a name: it needs no memory, and a kill leaves nothing of it.
        with writing(output), tempfile.TemporaryFile(dir=output.parent if ordinary else None) as pieces:
            pieces.writelines(file.encoded(summarised))
            segments.close()
            summary.remarks = _remarks(file, reused)
            pieces.seek(0)
            with atomic_path(output) as temporary, temporary.open("wb") as raw, compressing(raw, output) as stream:
                shutil.copyfileobj(pieces, stream)
        journal.remove()
    summary.output = output if ordinary else None
    return summary


def _remarks(file: ParsedFile, reused: int) -> list[str]:
    return [
        *([f"{counted(reused, 'segment comes', 'segments come')} from the memory"] if reused else []),
        *file.remarks(),
    ]


def _print(piece: str | bytes) -> None:
    if isinstance(piece, bytes):
        sys.stdout.flush()
        sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
    else:
        print(piece, end="", flush=True)


def _translated(
    translator: Translator, documents: Sequence[Document], journal: Journal, history: Pairs
) -> Generator[Translated]:
    """The segments of all documents in order; those of the journal first, new ones as they are ready."""
    ready = [deque(journal.known.get(number, ())) for number in range(len(documents))]
    with bar("translating", sum(map(len, documents))) as advance:
        advance(sum(map(len, ready)))
        events = translator.segments(documents, journal.known, history=history)
        for number, document in enumerate(documents):
            for index, _ in enumerate(document.segments):
                if index % _RELEASED == 0:
                    release_memory()  # what searches freed lies scattered, and adds up
                while not ready[number]:
                    event = next(events)
                    journal.note(event.document, event.translated)
                    ready[event.document].append(event.translated)
                    advance(1)
                yield ready[number].popleft()


def _summarised(
    file: ParsedFile, segments: Iterator[Translated], summary: FileSummary, on_segment: OnSegment | None
) -> Iterator[Translated]:
    lines = array("q", (segment.line for segment in file.segments))
    for line, translated in zip(lines, segments, strict=True):
        for warning in translated.warnings:
            summary.warnings.setdefault(warning, []).append(line)
        summary.missed_terms.update(translated.missed_terms)
        summary.segments += 1
        summary.misaligned += translated.misaligned
        if on_segment is not None:
            on_segment(line, translated)
        yield translated


def report_problems(translator: Translator, file: ParsedFile) -> None:
    """Say on stderr which lines hold text that the model can do little with."""
    refused, copied, unknown = set[int](), set[int](), dict[int, list[str]]()
    for segment in file.segments:
        if why_refused(segment.text):
            refused.add(segment.line)
        if translator.is_unreadable(segment.words):
            copied.add(segment.line)
        strange = _unknown(translator, segment)
        if strange:
            unknown.setdefault(segment.line, []).extend(strange)
    if refused:
        report(
            f"{counted(len(refused), 'line has', 'lines have')} control characters or reserved symbols, which no "
            "model was trained on: "
            f"{listed(refused)}"
        )
    if copied:
        lines = counted(len(copied), "line")
        report(f"{lines} with segments that the model cannot read, which are copied: {listed(copied)}")
    if unknown:
        characters = list(dict.fromkeys(character for line in unknown.values() for character in line))
        some = first_of(characters, " ")
        report(
            f"{counted(len(unknown), 'line has', 'lines have')} characters inside a sentence that the model hardly "
            f"knows ({some}); check: "
            f"{listed(unknown)}"
        )


def report_summary(summary: FileSummary) -> None:
    for remark in summary.remarks:
        report(remark)
    for problem, explanation in PROBLEMS.items():
        if lines := summary.warnings.get(problem):
            lines_of = "line" if len(set(lines)) == 1 else "lines"
            report(
                f"{counted(len(lines), 'segment')} to check, {explanation}: {lines_of} {listed(dict.fromkeys(lines))}"
            )
    if summary.missed_terms:
        report("missing terms of the glossary: " + ", ".join(map(_counted, summary.missed_terms.items())))
    if summary.misaligned:
        report(f"{counted(summary.misaligned, 'block')} produced a different number of sentences than the source")


def _counted(term: tuple[str, int]) -> str:
    return term[0] if term[1] == 1 else f"{term[0]} ({term[1]} times)"


def listed(lines: Iterable[int]) -> str:
    numbers = sorted(lines)
    return ", ".join(map(str, numbers[:20])) + (" …" if len(numbers) > 20 else "")


def _unknown(translator: Translator, segment: FileSegment) -> list[str]:
    """Characters without a piece in what the model reads of a segment."""
    pieces = translator.planner.plan(segment.text, marks=segment.marks).pieces
    seen = "".join(piece.text.visible for piece in pieces).translate(INVISIBLE)
    return [character for character in seen if character not in translator.tokenizer.characters]
