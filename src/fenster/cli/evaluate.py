"""`fenster evaluate`: all metrics of one system's translations of one test set."""

from __future__ import annotations

import json
import math
import os
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter
from rich.markup import escape
from rich.table import Column, Table

from fenster.cli.decoding import Decoding, described, model_folder
from fenster.cli.output import Output, Segment, kept_translation, stamp, unfinished
from fenster.cli.test_set import Counting, TestSet
from fenster.corpus.files import atomic_text, not_over
from fenster.corpus.text import normalise
from fenster.document import ParallelDocument
from fenster.errors import ConfigError
from fenster.evaluate.evaluation import evaluate as evaluated
from fenster.evaluate.result import Result, Score, System, drawn
from fenster.evaluate.texts import Evaluated, read_hypotheses
from fenster.manifest import file_sha256
from fenster.progress import bar, wide_console
from fenster.progress import console as stderr

if TYPE_CHECKING:
    from fenster.decode.result import Translated
    from fenster.decode.translator import Translator


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
    if (hypotheses is not None) + (hyp is not None) + (model is not None) != 1:
        raise ConfigError("what is to be evaluated?", expected="one of: a file of translations, --hyp, --model")
    path = hypotheses or hyp
    not_over(output, [path, *test_set.paths])
    documents, with_source, name = test_set.read()
    if by_document and drawn(len(documents), counting.resample) != "documents":
        raise ConfigError("--by-document needs more than one document, and --resample documents")
    who = System(name=title or (path.stem if path else ""))
    extra: dict[str, Any] = {}
    if model is not None:
        path = hypotheses_path(output)
        who, extra = translated(documents, model_folder(model, system), decoding, device, path)
        who = who.model_copy(update={} if title is None else {"name": title})
    assert path is not None
    texts = Evaluated(documents, read_hypotheses(path, documents), with_source)
    with stderr.status("scoring") if stderr.is_terminal else nullcontext():
        result = evaluated(texts, who, name, counting.options)
    extra |= {} if test_set.format is None else {"format": test_set.format}
    result = result.model_copy(update={"extra": extra})
    if output is not None:
        keep(result, output, {"hypotheses": [path], **test_set.files})
    show(result)
    if by_document:
        _show_documents(result)


def hypotheses_path(output: Path | None) -> Path:
    """Where a model's translations go: beside the result, and over nothing that is not ours."""
    if output is None or output.suffix != ".json":
        raise ConfigError("where do the translations go?", fix="give --output RESULT.json; they lie in RESULT.txt")
    path = output.with_name(output.name.removesuffix(".json") + ".txt")
    if path.exists():
        if not _stamp(path).exists():
            raise ConfigError("is there, and no translation of ours", path=path, fix="choose another --output")
        made = _kept(path).get("sha256")
        if made is not None and made != file_sha256(path) and not unfinished(path).exists():
            raise ConfigError(
                "was changed after a model's translation was written there",
                path=path,
                fix="evaluate it with --hyp, or remove it to translate again",
            )
    return path


def _stamp(path: Path) -> Path:
    """Says which model made a file of translations, and how."""
    return path.with_name(f".{path.name}.stamp")


def _kept(path: Path) -> dict[str, Any]:
    """What the stamp says; nothing if it is not whole."""
    try:
        found = json.loads(_stamp(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def keep(result: Result, output: Path, files: dict[str, list[Path]] | None = None) -> None:
    """Write a result; files are named relative to it, so that a folder of results can move."""
    near = {
        key: tuple(os.path.relpath(path, output.parent) for path in paths) for key, paths in (files or {}).items()
    }
    result.model_copy(update={"files": near}).write(output)
    stderr.print(f"-> {output}", highlight=False, markup=False, soft_wrap=True)


def translated(
    documents: tuple[ParallelDocument, ...],
    folder: Path,
    decoding: Decoding,
    device: str,
    path: Path,
) -> tuple[System, dict[str, Any]]:
    """Translate a test set into `path`, blank lines between documents; what is there from an interrupted or an equal
    call is not translated again. Also what went wrong: sentences at the length limit, parts with another count."""
    from fenster.decode.translator import Translator

    translator = Translator.load(folder, decoding.config, device)
    mark = stamp([document.source.texts for document in documents], folder, decoding.settings)
    who = described(translator.saved, decoding.config, translator.strategy)
    kept = _kept(path)
    if path.is_file() and (kept.pop("stamp", None), kept.pop("sha256", None)) == (mark, file_sha256(path)):
        stderr.print(
            f"{path} is there already, made by the same model with the same settings", highlight=False, soft_wrap=True
        )
        return who, kept
    with Output(path, "text", 1, mark) as out:
        faults = _translate(translator, documents, out)
        # Before the text: killed in between, the next call finds that they do not belong together.
        with atomic_text(_stamp(path)) as stream:
            json.dump({"stamp": mark, "sha256": out.sha256, **faults}, stream)
        out.finish()
    if any(faults.values()):
        stderr.print(
            f"{faults['capped']} sentence(s) reached the length limit; {faults['misaligned']} part(s) came out with "
            "another number of sentences",
            highlight=False,
        )
    return who, dict(faults)


def _translate(translator: Translator, documents: tuple[ParallelDocument, ...], out: Output) -> dict[str, int]:
    real = [[bool(normalise(text)) for text in document.source.texts] for document in documents]
    known = _known(out, [sum(each) for each in real], translator.strategy == "sequential")
    faults = {"capped": 0, "misaligned": 0}
    with bar("translating", sum(map(sum, real))) as advance:
        advance(sum(map(len, known.values())))

        places = {number: len(segments) for number, segments in known.items()}

        def note(number: int, segment: Segment) -> None:
            out.note({"document": number, "place": places[number], **segment})
            places[number] += 1
            advance(1)

        todo = [number for number, each in enumerate(real) if len(known[number]) < sum(each)]
        found = translator.translate_all(
            (documents[number].source for number in todo),
            {place: [kept_translation(segment) for segment in known[number]] for place, number in enumerate(todo)},
            lambda place, translated: note(todo[place], _segment(translated)),
        )
        for number, texts in enumerate(real):
            segments = known[number]
            if number in todo:
                translation = next(found)
                made = zip(translation.segments, texts, strict=True)
                segments = [_segment(each) for each, there in made if there]
                if segments:
                    segments[0]["misaligned"] = translation.misaligned
                if translator.strategy != "sequential":
                    for segment in segments:
                        note(number, segment)
            faults["capped"] += sum(segment["capped"] for segment in segments)
            faults["misaligned"] += sum(segment["misaligned"] for segment in segments)
            if number:
                out.end_line()
            ready = iter(segments)
            for there in texts:
                out.add(next(ready) if there else {"target": ""})
                out.end_line()
    return faults


def _known(out: Output, sizes: list[int], parts: bool) -> dict[int, list[Segment]]:
    """What an interrupted call made of each document, segments without text left out; without `parts` only of those
    that it finished."""
    found: list[dict[int, Segment]] = [{} for _ in sizes]
    for segment in out.known():
        found[segment["document"]][segment["place"]] = segment
    return {
        number: list(each.values()) if parts or len(each) == sizes[number] else []
        for number, each in enumerate(found)
    }


def _segment(found: Translated) -> Segment:
    return {"target": found.text, "ids": list(found.ids), "capped": found.capped, "misaligned": 0, "alternatives": []}


def show(result: Result) -> None:
    """The readable table."""
    console = wide_console()
    units = f"{len(result.names)} documents" if result.unit == "documents" else "segments"
    what = escape(f"{result.system.name} on {result.test}")
    title = f"{what}: {result.segments:,} segments; 95 % intervals over {units}"
    table = Table("metric", "score", "95 %", "details", title=title, title_justify="left", box=None)
    for score in result.scores:
        table.add_row(score.name, number(score.score), _interval(score), _details(score))
    console.print(table)
    for reason in result.skipped:
        console.print(f"left out: {reason}", markup=False)
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
    table = Table(Column("document", overflow="fold"), *(score.name for score in result.scores), box=None)
    measures = [score.measure() for score in result.scores]
    for place, name in enumerate(result.names):
        table.add_row(escape(name), *(number(measure.of(measure.rows[place])) for measure in measures))
    wide_console().print(table)
