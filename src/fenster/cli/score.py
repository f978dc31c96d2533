"""`fenster score`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

from fenster.cli.options import Device, Flag, FormatName, ModelOption
from fenster.data.corpora import FORMATS
from fenster.data.corpora.stream import stream
from fenster.errors import ConfigError


def score(
    paths: list[Path],
    /,
    *,
    model: ModelOption = ModelOption(),
    format: FormatName = None,
    alignment: str | None = None,
    context: Literal["auto", "document", "sentence"] | int = "auto",
    tokens: Flag = False,
    device: Device = "auto",
) -> None:
    """Score the translations of a parallel corpus with a model: log-probabilities as JSONL, one object per sentence.

    Examples:

    ```
    fenster score test.jsonl
    fenster score test.jsonl --model runs/europarl/window/model
    fenster score source.en target.de -m MODEL --context sentence --tokens
    ```

    Parameters
    ----------
    paths
        A parallel corpus in any format that `fenster data formats` lists.
    alignment
        Alignment of windows; by default that of training; give sent-align to cross-check.
    context
        auto: as the model was trained (each sentence alone, after k others, or in parts of documents).
        document: each document is one sequence. sentence: each sentence alone. A number: each sentence after that
        many preceding ones.
    tokens
        Also give the log-probability of each token, the end symbol last.
    """
    from fenster.decode.scoring import score_in_context

    if isinstance(context, int) and context < 0:
        raise ConfigError(f"--context is {context}", expected="auto, document, sentence, or 0 or more")

    loaded = model.load(device)
    for document in stream("scoring", paths, None if format is None else FORMATS[format]):
        source, target = document.source.texts, document.target.texts
        scores = score_in_context(loaded, source, target, context, alignment=alignment)
        for number, logs in enumerate(scores):
            entry: dict[str, Any] = {
                "document": document.id,
                "segment": number,
                "source": source[number],
                "target": target[number],
                "logprob": sum(logs),
                "length": len(logs),
            }
            if tokens:
                entry["tokens"] = list(logs)
            print(json.dumps(entry, ensure_ascii=False))
