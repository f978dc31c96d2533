"""A model's translations of a test set, kept beside its result: made once, gone on with, not mistaken for others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fenster.cli.decoding import Decoding, described
from fenster.cli.output import Output, Segment, kept_translation, stamp, unfinished
from fenster.corpus.files import atomic_text
from fenster.document import ParallelDocument
from fenster.errors import ConfigError
from fenster.evaluate.result import System
from fenster.manifest import file_sha256
from fenster.progress import bar
from fenster.progress import console as stderr

if TYPE_CHECKING:
    from fenster.decode.result import Translated
    from fenster.decode.translator import Translator


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
    frames = [[translator.frame(text) for text in document.source.texts] for document in documents]
    sizes = [sum(bool(frame.core) for frame in each) for each in frames]
    copied = sum(bool(frame.before) and not frame.core for each in frames for frame in each)
    if copied:
        stderr.print(f"{copied} segment(s) hold nothing that the model can read, and are copied", highlight=False)
    known = _known(out, sizes, translator.strategy == "sequential")
    faults = {"capped": 0, "misaligned": 0}
    with bar("translating", sum(sizes)) as advance:
        advance(sum(map(len, known.values())))

        places = {number: len(segments) for number, segments in known.items()}

        def note(number: int, segment: Segment) -> None:
            out.note({"document": number, "place": places[number], **segment})
            places[number] += 1
            advance(1)

        todo = [number for number, size in enumerate(sizes) if len(known[number]) < size]
        translations = translator.translate_all(
            (documents[number].source for number in todo),
            {place: [kept_translation(segment) for segment in known[number]] for place, number in enumerate(todo)},
            lambda place, translated: note(todo[place], _segment(translated)),
        )
        for number, each in enumerate(frames):
            segments = known[number]
            if number in todo:
                translation = next(translations)
                made = zip(translation.segments, each, strict=True)
                segments = [_segment(found) for found, frame in made if frame.core]
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
            for frame in each:
                out.add(next(ready) if frame.core else {"target": frame.before})
                out.end_line()
    return faults


def _known(out: Output, sizes: list[int], parts: bool) -> dict[int, list[Segment]]:
    """What an interrupted call made of each document, segments without a core left out; without `parts` only of those
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
