"""Why context gains less formality F1 than consistency: is the first form of address of a document right, and what
follows? From translations that `fenster reproduce` left.

    python experiments/first_form.py results/dlg/window/seed-*/dialogue.txt -o results/dlg/first-form-window.json

The name of each file is that of its test set. Only sentences that show exactly one register count.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from script import DATA, parser, write

from fenster.data.corpora import read_corpus
from fenster.evaluate.evaluation import EvaluationOptions
from fenster.evaluate.metrics.form_f1 import FormCounter
from fenster.evaluate.test_set import TranslatedTestSet, read_hypotheses


def measure(path: Path, counter: FormCounter) -> dict[str, Any]:
    documents = list(read_corpus([DATA / path.stem / "en-de.test.tsv.xz"]))
    test_set = TranslatedTestSet(tuple(documents), read_hypotheses(path, documents), True)
    active = counter.active("formality", test_set.sources)
    ours, theirs = (counter.count("formality", active, texts) for texts in (test_set.outputs, test_set.references[0]))
    clear = ((ours > 0).sum(1) == 1) & ((theirs > 0).sum(1) == 1)
    chosen, right = ours.argmax(1), ours.argmax(1) == theirs.argmax(1)
    counts = Counter[str]()
    for document in range(len(documents)):
        numbers: list[int] = np.flatnonzero(clear & (test_set.document_index == document)).tolist()
        if not numbers:
            continue
        first, *later = numbers
        counts.update({"first": 1, "first right": int(right[first]), "later": len(later)})
        counts["later right"] += int(right[later].sum())
        counts["later as the first"] += int((chosen[later] == chosen[first]).sum())
        if right[first]:
            counts["later, the first right"] += len(later)
            counts["later right, the first right"] += int(right[later].sum())
    return {"file": str(path), "test": path.stem, **counts}


def main() -> None:
    options = parser(__doc__)
    options.add_argument("translations", type=Path, nargs="+")
    given = options.parse_args()
    counter = EvaluationOptions().counter()
    assert counter is not None
    made = [measure(path, counter) for path in given.translations]
    for row in made:
        print(
            f"{row['file']}: the first right {row['first right']} of {row['first']}; "
            f"later right {row['later right']} of {row['later']}, as the first {row['later as the first']}; "
            f"right where the first is {row['later right, the first right']} of {row['later, the first right']}"
        )
    write(made, given.output)


if __name__ == "__main__":
    main()
