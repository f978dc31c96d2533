"""`fenster evaluate`: all metrics of one system's translations of one test set."""

from __future__ import annotations

import math
import os
import re
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter
from rich.table import Table

from fenster.cli.convert import FormatName, stream
from fenster.cli.decoding import Decoding, described, model_folder
from fenster.cli.output import Output, Segment, stamp
from fenster.document import ParallelDocument
from fenster.errors import ConfigError
from fenster.evaluate.evaluation import Options
from fenster.evaluate.evaluation import evaluate as evaluated
from fenster.evaluate.result import Result, Score, System
from fenster.evaluate.texts import Evaluated, read_hypotheses, read_lines
from fenster.progress import bar, wide_console
from fenster.progress import console as stderr

if TYPE_CHECKING:
    from fenster.decode.result import Translated
    from fenster.decode.translator import Translator

Paths = Annotated[list[Path] | None, Parameter(consume_multiple=True, negative="")]


@Parameter(name="*")
@dataclass(frozen=True)
class TestSet:
    """The test set, in one of two ways."""

    test: Paths = None
    "A parallel corpus in any format that `fenster data formats` lists."
    format: FormatName = None
    "Of --test; guessed from the names if left out."
    src: Path | None = None
    "Instead of --test: source lines. Without them, metrics that need the source are left out."
    ref: Paths = None
    "Reference lines; several files are several references."
    docs: Path | None = None
    "The document of each line; otherwise lines that are blank in all files end documents."
    name: str | None = None
    "Of the test set, in tables; from the files' names if left out."

    @property
    def files(self) -> dict[str, Path]:
        """For a result to name."""
        source = {} if self.src is None else {"source": self.src}
        return (
            source | ({"references": self.ref[0]} if self.ref else {}) | ({"test": self.test[0]} if self.test else {})
        )

    def read(self) -> tuple[tuple[ParallelDocument, ...], bool, str]:
        """(documents, whether the source is known, name)"""
        if (self.test is None) == (self.ref is None):
            raise ConfigError("which test set?", expected="--test CORPUS, or --ref FILE (with --src FILE)")
        if self.ref is not None:
            name = self.name or self.ref[0].name.split(".")[0]
            return read_lines(self.src, self.ref, self.docs), self.src is not None, name
        assert self.test is not None
        if self.src is not None or self.docs is not None:
            raise ConfigError("--src and --docs go with --ref, not with --test")
        first = self.test[0]
        return (
            tuple(stream(self.test, self.format, "reading")),
            True,
            self.name or re.sub(r"(\.(tsv|jsonl?|sgml?|xml))?(\.(xz|gz))?$", "", first.name),
        )


@Parameter(name="*")
@dataclass(frozen=True)
class Counting:
    """How pronouns and registers are counted, and what is drawn in significance tests."""

    rules: str = "en-de"
    "Word lists and rules: en-de, en-de-mended, a YAML file like those, or none."
    tagger: Literal["hanta", "lists", "spacy"] = "hanta"
    "hanta (offline), spacy (the paper's; an extra), lists (no part-of-speech filter)."
    lowercase: Annotated[bool, Parameter(negative="")] = False
    "Lower-case all text before pronouns are counted, as the published code's command line does."
    resample: Literal["documents", "segments"] = "documents"
    "What confidence intervals draw."
    samples: int = 1000
    "How often."

    @property
    def options(self) -> Options:
        rules = None if self.rules == "none" else self.rules
        return Options(rules, self.tagger, self.lowercase, self.resample, self.samples)


def evaluate(
    hypotheses: Path | None = None,
    /,
    *,
    test_set: TestSet = TestSet(),
    hyp: Path | None = None,
    model: Annotated[Path | None, Parameter(name=["--model", "-m"])] = None,
    system: str | None = None,
    title: str | None = None,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    by_document: Annotated[bool, Parameter(negative="")] = False,
    counting: Counting = Counting(),
    decoding: Decoding = Decoding(),
    device: Literal["auto", "cpu", "cuda"] = "auto",
) -> None:
    """BLEU, TER, chrF, document BLEU, pronoun and formality F1 and consistency, with confidence intervals.

    Translations may come from any system: a file with a line for each segment. With --model they are made first (an
    interrupted call goes on), and kept beside --output.

    Examples:

    ```
    fenster evaluate hyp.de --test test.tsv.xz
    fenster evaluate --hyp hyp.txt --ref ref.txt --src src.txt --title baseline -o results/baseline.json
    fenster evaluate --model runs/europarl/window/model --test test.tsv.xz --beam 4 -o results/window.json
    fenster evaluate hyp.it --test test.it.tsv --rules none
    ```

    Parameters
    ----------
    hypotheses
        Translated lines, or what `fenster translate --format jsonl` wrote; also as --hyp.
    model
        Translate with this model instead.
    system
        A run below --model.
    title
        The system's name in tables.
    output
        Keep the result as JSON, for `fenster report` and tests between systems.
    by_document
        Also the scores of each document.
    """
    path = hypotheses or hyp
    if (path is None) == (model is None):
        raise ConfigError("what is to be evaluated?", expected="either a file of translations or --model")
    documents, with_source, name = test_set.read()
    who = System(name=title or (path.stem if path else ""))
    if model is not None:
        if output is None:
            raise ConfigError("where do the translations go?", fix="give --output RESULT.json")
        path = output.with_suffix(".txt")
        who = translated(documents, model_folder(model, system), decoding, device, path)
        who = who.model_copy(update={} if title is None else {"name": title})
    assert path is not None
    texts = Evaluated(documents, read_hypotheses(path, documents), with_source)
    with stderr.status("scoring") if stderr.is_terminal else nullcontext():
        result = evaluated(texts, who, name, counting.options)
    show(result)
    if by_document:
        _show_documents(result)
    if output is not None:
        keep(result, output, {"hypotheses": path, **test_set.files})


def keep(result: Result, output: Path, files: dict[str, Path] | None = None) -> None:
    """Write a result; files are named relative to it, so that a folder of results can move."""
    near = {key: os.path.relpath(path, output.parent) for key, path in (files or {}).items()}
    result.model_copy(update={"files": near}).write(output)
    stderr.print(f"-> {output}", highlight=False)


def translated(
    documents: tuple[ParallelDocument, ...],
    folder: Path,
    decoding: Decoding,
    device: str,
    path: Path,
) -> System:
    """Translate a test set into `path`, blank lines between documents; what is there from an interrupted or an equal
    call is not translated again."""
    from fenster.decode.translator import Translator

    translator = Translator.load(folder, decoding.config, device)
    mark = stamp([document.source.texts for document in documents], folder, decoding.settings)
    done = path.with_name(f".{path.name}.stamp")
    who = described(translator.saved, decoding.config, translator.strategy)
    if path.is_file() and done.is_file() and done.read_text() == mark:
        stderr.print(f"{path} is there already, made by the same model with the same settings", highlight=False)
        return who
    with Output(path, "text", 1, mark) as out:
        _translate(translator, documents, out)
        out.finish()
    done.write_text(mark)
    return who


def _translate(translator: Translator, documents: tuple[ParallelDocument, ...], out: Output) -> None:
    rest = list(documents)
    with bar("translating", sum(map(len, documents))) as advance:

        def add(document: ParallelDocument, segments: list[Segment]) -> None:
            if document is not documents[0]:
                out.end_line()
            for segment in segments:
                out.add(segment)
                out.end_line()
            advance(len(segments))

        # What an interrupted call finished; the document it was in the middle of goes on where it was.
        while rest and (known := out.known(len(rest[0]))):
            document = rest.pop(0)
            if len(known) < len(document):
                ready = [_known(segment) for segment in known]
                for each in translator.stream(document.source, done=ready):
                    known.append(_segment(each))
                    out.note(known[-1])
            add(document, known)
        found = translator.translate_all(document.source for document in rest)
        for document, translation in zip(rest, found, strict=True):
            segments = [_segment(each) for each in translation.segments]
            for segment in segments:
                out.note(segment)
            add(document, segments)


def _known(segment: Segment) -> Translated:
    from fenster.decode.result import Translated

    return Translated("", segment["target"], tuple(segment["ids"]))


def _segment(found: Translated) -> Segment:
    return {"target": found.text, "ids": list(found.ids), "alternatives": []}


def show(result: Result) -> None:
    """The readable table."""
    console = wide_console()
    drawn = f"{len(result.names)} documents" if result.unit == "documents" else "segments"
    title = f"{result.system.name} on {result.test}: {result.segments:,} segments; 95 % intervals over {drawn}"
    table = Table("metric", "score", "95 %", "details", title=title, title_justify="left", box=None)
    for score in result.scores:
        table.add_row(score.name, number(score.score), _interval(score), _details(score))
    console.print(table)
    for reason in result.skipped:
        console.print(f"left out: {reason}")
    for signature in dict.fromkeys(f"{score.name}: {score.signature}" for score in result.scores if score.signature):
        console.print(f"[dim]{signature}[/]")


def number(value: float | None, places: int = 1) -> str:
    return "–" if value is None or math.isnan(value) else f"{value:.{places}f}"


def _interval(score: Score) -> str:
    return f"{number(score.low)} – {number(score.high)}" if score.low is not None else ""


def _details(score: Score) -> str:
    details = score.details
    parts = [f"{key} {number(details[key])}" for key in ("precision", "recall") if key in details]
    if "counts" in details:
        pairs = [
            f"{label} {details['counts']['hypothesis'][label]}/{details['counts']['reference'][label]}"
            for label in details["counts"]["reference"]
        ]
        parts.append(f"{', '.join(pairs)} (hyp/ref, {details['counts']['sentences']} sentences)")
    if "reference" in details:
        parts.append(f"reference {number(details['reference'])}")
    if "cases" in details:
        parts.append(f"{details['cases']:,} cases")
    return ", ".join(parts)


def _show_documents(result: Result) -> None:
    if result.unit != "documents":
        raise ConfigError("--by-document needs more than one document, and --resample documents")
    table = Table("document", *(score.name for score in result.scores), box=None)
    measures = [score.measure() for score in result.scores]
    for place, name in enumerate(result.names):
        table.add_row(name, *(number(measure.of(measure.rows[place])) for measure in measures))
    wide_console().print(table)
