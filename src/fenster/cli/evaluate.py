"""`fenster evaluate`: all metrics of one system's translations of one test set."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from fenster.cli.evaluation_options import CountingOption, TestSetOption
from fenster.cli.options import Decoding, Device, Flag, ModelOption, Output
from fenster.cli.output import print_documents, print_result, save_result
from fenster.data.corpora.stream import stream
from fenster.decode.config import DecodeConfig
from fenster.errors import ConfigError, InputError
from fenster.evaluate.evaluation import evaluate as evaluate_test_set
from fenster.evaluate.overlap import overlap, seen_segments
from fenster.evaluate.result import resampling_unit
from fenster.evaluate.system import System
from fenster.evaluate.test_set import TranslatedTestSet, read_hypotheses
from fenster.evaluate.translations import translate_test_set, translations_path
from fenster.io.files import check_not_input
from fenster.io.progress import console as stderr


def evaluate(
    hypotheses: Path | None = None,
    /,
    *,
    test_set: TestSetOption = TestSetOption(),
    hyp: Path | None = None,
    model: ModelOption = ModelOption(),
    title: str | None = None,
    output: Output = None,
    by_document: Flag = False,
    training: Annotated[tuple[Path, ...], Parameter(consume_multiple=True)] = (),
    counting: CountingOption = CountingOption(),
    decoding: Decoding = DecodeConfig(),
    device: Device = "auto",
) -> None:
    """BLEU, TER, chrF, document BLEU, pronoun and formality F1 and consistency, with confidence intervals.

    Translations may come from any system: a file with one line per segment. With --model they are made first, and
    kept beside --output; an interrupted call resumes.

    Examples:

    ```
    fenster evaluate hyp.de --test test.tsv.xz
    fenster evaluate --hyp hyp.txt --ref ref.txt --src src.txt --title baseline -o results/baseline.json
    fenster evaluate --model runs/europarl/window/model --test test.tsv.xz --beam 4 -o results/window.json
    fenster evaluate hyp.it --test test.it.tsv --rules none
    fenster evaluate hyp.de --test test.tsv.xz --training europarl.tsv.xz novels.tsv.xz
    ```

    Parameters
    ----------
    hypotheses
        Translated lines, or what `fenster translate --format jsonl` wrote; also as --hyp.
    title
        The system's name in tables.
    output
        Keep the result as JSON, for `fenster report` and tests between systems.
    by_document
        Also show the scores of each document.
    training
        The system's training corpora, one file each: report how many pairs of the test set they contain, and the
        scores without those.
    """
    if (hypotheses is not None) + (hyp is not None) + (model.model is not None) > 1:
        raise ConfigError(
            "more than one thing to evaluate", expected="one of: a file of translations, --hyp, --model"
        )
    path = hypotheses or hyp
    check_not_input(output, [path, *test_set.paths])
    for corpus in training:
        if not corpus.is_file():
            raise InputError("no such corpus (--training)", path=corpus)
    documents, with_source, name = test_set.read()
    if by_document and resampling_unit(len(documents), counting.resample) != "documents":
        raise ConfigError("--by-document needs more than one document, and --resample documents")
    system = System(name=title or (path.stem if path else ""))
    extra: dict[str, Any] = {}
    if path is None:
        path = translations_path(output)
        translator = model.translator(decoding, device)
        extra = translate_test_set(documents, translator, path)
        system = System.of(translator.loaded, decoding, translator.strategy.name).renamed(title)
    assert path is not None
    texts = TranslatedTestSet(documents, read_hypotheses(path, documents), with_source)
    seen = None
    if training:
        seen = seen_segments(documents, (one for path in training for one in stream("reading", [path])))
        extra["overlap"] = overlap(documents, seen).record()
    with stderr.status("scoring") if stderr.is_terminal else nullcontext():
        result = evaluate_test_set(texts, system, name, counting.options, seen)
    extra |= {} if test_set.format is None else {"format": test_set.format}
    result = result.model_copy(update={"extra": extra})
    if output is not None:
        save_result(result, output, {"hypotheses": [path], **test_set.files})
    print_result(result)
    if seen is not None:
        print(overlap(documents, seen))
    if by_document:
        print_documents(result)
