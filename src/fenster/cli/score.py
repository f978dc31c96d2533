"""`fenster score`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from fenster.cli.convert import FormatName, stream
from fenster.cli.decoding import model_folder
from fenster.errors import ConfigError


def score(
    paths: list[Path],
    /,
    *,
    model: Annotated[Path, Parameter(name=["--model", "-m"])],
    system: str | None = None,
    format: FormatName = None,
    alignment: str | None = None,
    context: Literal["document", "sentence"] = "document",
    tokens: Annotated[bool, Parameter(negative="")] = False,
    device: Literal["auto", "cpu", "cuda"] = "auto",
) -> None:
    """Log-probabilities that a model gives to translations of a parallel corpus: an object a sentence, as JSONL.

    Examples:

    ```
    fenster score test.jsonl --model runs/europarl/window/model
    fenster score source.en target.de -m MODEL --context sentence --tokens
    ```

    Parameters
    ----------
    paths
        A parallel corpus in any format that `fenster data formats` lists.
    alignment
        Of windows; that of training if left out, sent-align as a check.
    context
        document: each document is one sequence, so sentences are scored in their context. sentence: each alone.
    tokens
        Also the log-probability of each token, the end symbol last.
    """
    from fenster.decode.score import score as scored
    from fenster.model.align import ALIGNMENTS
    from fenster.model.device import find_device
    from fenster.model.saved import load_model

    if alignment is not None and alignment not in ALIGNMENTS:
        raise ConfigError(f"no alignment is called {alignment!r}", expected=", ".join(ALIGNMENTS))
    saved = load_model(model_folder(model, system), find_device(device))
    for document in stream(paths, format, "scoring"):
        texts = [(a, b) for a, b in zip(document.source.texts, document.target.texts, strict=True)]
        inputs = (
            [([a], [b]) for a, b in texts]
            if context == "sentence"
            else [([a for a, _ in texts], [b for _, b in texts])]
        )
        found = [each for result in scored(saved, inputs, alignment=alignment) for each in result.tokens]
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
