"""How much context a model uses: perplexity of references after so many preceding sentences, gold on both sides.

    python experiments/context_use.py novels/en-de.dev.tsv.xz --model runs/dlg/window/seed-1/model -o FILE

Only sentences that have at least as many predecessors as the largest number count, so that all numbers are about the
same sentences.
"""

from __future__ import annotations

import math

import torch
from script import DATA, parser, write

from fenster.data.corpora import read_corpus
from fenster.decode.scoring import score_in_context
from fenster.model.model_folder import load_model


def main() -> None:
    options = parser(__doc__)
    options.add_argument("corpus", help="below FENSTER_DATA")
    options.add_argument("--preceding", type=int, nargs="+", default=[0, 1, 2, 4, 8, 16, 50])
    options.add_argument("--alignment")
    given = options.parse_args()
    loaded = load_model(given.model, torch.device("cuda" if torch.cuda.is_available() else "cpu"))
    documents = [document for document in read_corpus([DATA / given.corpus]) if len(document) > max(given.preceding)]
    if not documents:
        options.error(f"no document of {given.corpus} has more than {max(given.preceding)} sentences")
    made = []
    for preceding in given.preceding:
        logs = [
            log
            for document in documents
            for sentence in score_in_context(
                loaded, document.source.texts, document.target.texts, preceding, alignment=given.alignment
            )[max(given.preceding) :]
            for log in sentence
        ]
        made.append({"preceding": preceding, "tokens": len(logs), "perplexity": math.exp(-sum(logs) / len(logs))})
        print(made[-1], flush=True)
    write({"corpus": given.corpus, "documents": len(documents), "by_preceding": made}, given.output)


if __name__ == "__main__":
    main()
