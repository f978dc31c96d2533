"""A text and its translation side by side, and whether it keeps to one form of address: side_by_side.py FILE.jsonl

FILE.jsonl is what `fenster translate --format jsonl` wrote.
"""

import json
import sys
from itertools import groupby
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from fenster.evaluate.metrics.form_f1 import FormCounter
from fenster.evaluate.rules import load_rules
from fenster.evaluate.tagging import TAGGERS
from fenster.evaluate.tagging.tokens import words

COLOURS = {"formal": "bold blue", "informal": "bold dark_orange3"}


def main(path: Path) -> None:
    segments = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    rules = load_rules("en-de")
    counter = FormCounter(rules, TAGGERS["lists"]("en"), TAGGERS["lists"]("de"))
    active = counter.active("formality", [segment["source"] for segment in segments])
    counts = counter.count("formality", active, [segment["target"] for segment in segments]).sum(0)
    table = Table("English", "German", show_lines=True)
    number = 0
    for _, line in groupby(segments, key=lambda segment: segment["line"]):
        english, german = [], Text()
        for segment in line:
            english.append(segment["source"])
            german.append(" " if german else "")
            german.append_text(marked(segment["target"], counter, bool(active[number].any())))
            number += 1
        if english != [""]:
            table.add_row(" ".join(english), german)
    console = Console(width=None if sys.stdout.isatty() else 140, highlight=False)
    console.print(table)
    total, seconds = int(counts.sum()), sum(segment["seconds"] for segment in segments)
    named = ", ".join(f"{n} {name}" for name, n in zip(rules.scores["formality"].classes, counts, strict=True))
    alike = f"; {100 * counts.max() / total:.0f} % in one register" if total else ""
    console.print(f"{len(segments)} segments in {seconds:.0f} s of search; forms of address: {named}{alike}")


def marked(text: str, counter: FormCounter, active: bool) -> Text:
    """Forms of address in colour, where the source says "you"; a small "sie" is mostly she or they."""
    shown = Text(text)
    for name, group in counter.rules.forms["formality"].items():
        for form in set(words(text)) & group if active else ():
            if name == "informal" or form[0].isupper():
                shown.highlight_regex(rf"\b{form}\b", COLOURS[name])
    return shown


if __name__ == "__main__":
    main(Path(sys.argv[1]))
