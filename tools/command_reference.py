"""Write docs/commands.md from the commands' own help: python -m tools.command_reference"""

from __future__ import annotations

import re
from pathlib import Path

from fenster.cli import app

DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "commands.md"
_NOTE = "Generated from the commands' own help (`make docs`); `fenster COMMAND --help` shows the same.\n"


def reference() -> str:
    text = app.generate_docs(output_format="markdown", recursive=True)
    _, _, rest = text.partition("\n")
    rest = rest.replace(" -m tools.command_reference", "")  # how this program was called
    return re.sub(r"\n{3,}", "\n\n", f"# Command reference\n\n{_NOTE}\n{rest}").rstrip() + "\n"


if __name__ == "__main__":
    DOCUMENT.write_text(reference(), encoding="utf-8")
