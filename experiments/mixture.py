"""Which weights of corpora are best: perplexity of models on every development set, and its geometric mean over them.

    python experiments/mixture.py now=runs/now/model even=runs/even/model … -o results/mixture.json

Each model was trained from the same weights for the same number of updates, with another `mixture` (docs/model.md has
the settings). The best is the one with the lowest mean; its name is printed last.
"""

from __future__ import annotations

import math
from pathlib import Path

import torch
from script import DATA, parser, write

from fenster.data.corpora import read_corpus
from fenster.decode.scoring import score_in_context
from fenster.model.model_folder import LoadedModel, load_model

SETS = {
    "Europarl": "europarl/en-de.dev.tsv.xz",
    "newstest2015": "news/newstest2015.en-de.tsv.xz",
    "TED": "ted/en-de.dev.tsv.xz",
    "manuals": "manuals/en-de.dev.tsv.xz",
    "everyday": "everyday/en-de.dev.tsv.xz",
    "stories": "stories/en-de.dev.tsv.xz",
    "novels": "novels/en-de.dev.tsv.xz",
    "suttas": "suttas/en-de.dev.tsv.xz",
    "chat": "chat/en-de.dev.tsv.xz",
    "dialogue": "dialogue/en-de.dev.tsv.xz",
}


def main() -> None:
    options = parser(__doc__)
    options.add_argument("models", nargs="+", metavar="NAME=FOLDER")
    given = options.parse_args()
    made = []
    for named in given.models:
        name, _, folder = named.partition("=")
        loaded = load_model(Path(folder), torch.device("cuda" if torch.cuda.is_available() else "cpu"))
        scores = {test: perplexity(loaded, DATA / path) for test, path in SETS.items()}
        mean = math.prod(scores.values()) ** (1 / len(scores))
        made.append({"model": name, **scores, "mean": mean})
        print(name, *(f"{test} {value:.3f}" for test, value in scores.items()), f"mean {mean:.3f}", flush=True)
    write(made, given.output)
    print(min(made, key=lambda row: row["mean"])["model"])


def perplexity(loaded: LoadedModel, corpus: Path) -> float:
    """Of the references, each sentence in the context that the model was trained with."""
    logs = [
        log
        for document in read_corpus([corpus])
        for sentence in score_in_context(loaded, document.source.texts, document.target.texts)
        for log in sentence
    ]
    return math.exp(-sum(logs) / len(logs))


if __name__ == "__main__":
    main()
