"""Translate generated documents with both toy systems and show where context decided: python examples/toy.py FOLDER

FOLDER holds what `examples/toy.sh` made: test.jsonl, test.decisions.jsonl, sentence/model and window/model.
"""

import json
import re
import sys
from collections import Counter
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

import fenster
from fenster.data.corpora import read_corpus
from fenster.data.corpora.synthetic import Decision

SYSTEMS = ("sentence", "window")


def marked(text: str, decision: Decision | None) -> Text:
    """The forms that an earlier sentence decides, green where right and red where not."""
    shown = Text(text)
    if decision is not None:
        for word in re.finditer(r"\w+", text):
            if word[0].lower() in decision.options:
                right = word[0].lower() == decision.expected
                shown.stylize("bold green" if right else "bold red", *word.span())
    return shown


def main(folder: Path) -> None:
    documents = [pair.source for pair in read_corpus([folder / "test.jsonl"])]
    decisions = {
        (entry["document"], entry["segment"]): Decision(
            entry["segment"],
            entry["kind"],
            entry["expected"],
            tuple(entry["options"]),
            entry["segment"] - entry["distance"],
        )
        for entry in map(json.loads, (folder / "test.decisions.jsonl").read_text().splitlines())
    }
    found = {name: list(fenster.load(folder / name / "model", beam=4).translate_all(documents)) for name in SYSTEMS}
    console = Console(width=None if sys.stdout.isatty() else 140, highlight=False)
    first = documents[0]
    table = Table("", "source", "sentence-level", "window attention", title=f"document {first.id}")
    for number, text in enumerate(first.texts):
        decision = decisions.get((first.id, number))
        why = "" if decision is None else f"{decision.kind}: sentence {decision.decided_by + 1}"
        cells = (marked(found[name][0].texts[number], decision) for name in SYSTEMS)
        table.add_row(f"{number + 1}", Text(text + (f"  [{why}]" if why else "")), *cells)
    console.print(table)
    right: Counter[tuple[str, str]] = Counter()
    total: Counter[str] = Counter()
    for place, document in enumerate(documents):
        for (id, segment), decision in decisions.items():
            if id == document.id:
                total[decision.kind] += 1
                for name in SYSTEMS:
                    right[name, decision.kind] += decision.right(found[name][place].texts[segment])
    summary = Table("right, of all choices that an earlier sentence decides", *total, box=None)
    for name in SYSTEMS:
        summary.add_row(name, *(f"{100 * right[name, kind] / total[kind]:.1f} % of {total[kind]}" for kind in total))
    console.print(summary)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
