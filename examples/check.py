"""A text and its translation side by side, and whether what must be right in it is: check.py ENGLISH.md GERMAN.md

Written for examples/clock.md. Exit code 1 if something is wrong.
"""

import re
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from fenster.language import load_language
from fenster.language.register import RegisterCounter

FIGURES = ["2,5", "187,50 €", "1.240,00 €", "7,5 %", "14:30", "halb neun"]


def checks(english: str, german: str) -> dict[str, bool]:
    """What must be right, and whether it is."""
    counter = RegisterCounter(load_language("en"), load_language("de"))
    lines = list(zip(english.splitlines(), german.splitlines(), strict=True))
    counts = [counter.counts(*pair) for pair in lines]
    address = re.search(r"<https?://[^>]+>", english)
    heavy = next(line for source, line in lines if "It was very heavy" in source)
    assert address is not None
    return {
        "everybody is addressed as Sie": any(one["formal"] for one in counts)
        and not any(one["informal"] for one in counts),
        'the clock is "sie" in the next sentence, die Uhr being feminine': "Sie war" in heavy,
        "the URL is unchanged, byte for byte": german.count(address.group()) == 1,
        "prices, hours, the percentage and the times are written as in German": all(
            len(re.findall(rf"(?<![\d.,]){re.escape(figure)}(?![\d.,]*\d)", german)) == 1 for figure in FIGURES
        ),
        "names are unchanged": all(german.count(name) >= english.count(name) for name in ("Becker", "Thomas Lang")),
        "the table is intact": german.count("|") == english.count("|"),
    }


def main(source: Path, target: Path) -> None:
    english, german = (path.read_text(encoding="utf-8") for path in (source, target))
    console = Console(width=None if sys.stdout.isatty() else 140, highlight=False)
    table = Table("English", "German", show_lines=True)
    for pair in zip(english.split("\n\n"), german.split("\n\n"), strict=True):
        table.add_row(*(Text(paragraph.strip()) for paragraph in pair))
    console.print(table)
    found = checks(english, german)
    for name, right in found.items():
        console.print("[green]right:[/]" if right else "[bold red]WRONG:[/]", name)
    sys.exit(0 if all(found.values()) else 1)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:3]))
