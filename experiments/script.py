"""What the scripts beside this one share: their options, and the file of their results."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

from fenster.io.model_json import DEFAULT_MODEL

DATA = Path(os.environ.get("FENSTER_DATA", "data/raw"))
"""The folder of raw corpora."""


def parser(about: str | None) -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--model", type=Path, default=DEFAULT_MODEL)
    made.add_argument("--beam", type=int, default=4)
    made.add_argument("-o", "--output", type=Path)
    return made


def write(result: object, output: Path | None) -> None:
    """Into a JSON file, if one was named."""
    if output is not None:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
