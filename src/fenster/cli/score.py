"""`fenster score`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from fenster.cli.convert import FormatName, stream
from fenster.cli.decoding import model_folder


def score(
    paths: list[Path],
    /,
    *,
    model: Annotated[Path | None, Parameter(name=["--model", "-m"])] = None,
    system: str | None = None,
    format: FormatName = None,
    alignment: str | None = None,
    context: Literal["auto", "document", "sentence"] = "auto",
    tokens: Annotated[bool, Parameter(negative="")] = False,
    device: Literal["auto", "cpu", "cuda"] = "auto",
) -> None:
    """Log-probabilities that a model gives to translations of a parallel corpus: an object a sentence, as JSONL.

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
    model
        A model folder; the English-German model of the package if left out.
    alignment
        Of windows; that of training if left out, sent-align as a check.
    context
        auto: what the model was trained with (each sentence alone, after k others, or in parts of documents).
        document: each document is one sequence. sentence: each alone.
    tokens
        Also the log-probability of each token, the end symbol last.
    """
    from fenster.decode.score import score_in_context
    from fenster.model.device import find_device
    from fenster.model.saved import load_model

    saved = load_model(model_folder(model, system), find_device(device))
    for document in stream(paths, format, "scoring"):
        texts = [(a, b) for a, b in zip(document.source.texts, document.target.texts, strict=True)]
        found = score_in_context(saved, document.source.texts, document.target.texts, context, alignment=alignment)
        for number, (pair, logs) in enumerate(zip(texts, found, strict=True)):
            entry = {
                "document": document.id,
                "segment": number,
                "source": pair[0],
                "target": pair[1],
                "logprob": sum(logs),
            }
            entry |= {"length": len(logs)} | ({"tokens": list(logs)} if tokens else {})
            print(json.dumps(entry, ensure_ascii=False))
