"""The built-in configurations, by name: `europarl` for prepare, `europarl/window` for train."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

from fenster.errors import ConfigError

Kind = Literal["prepare", "train"]
KINDS: tuple[Kind, ...] = ("prepare", "train")
_FOLDER = Path(__file__).parent


def built_in(kind: Kind) -> dict[str, Path]:
    """The built-in configurations of a command, by name."""
    folder = _FOLDER / kind
    return {path.relative_to(folder).with_suffix("").as_posix(): path for path in sorted(folder.rglob("*.yaml"))}


def find_config(given: Path, kind: Kind) -> Path:
    """The file itself if it exists, or the built-in configuration of that name."""
    if given.is_file():
        return given
    known = built_in(kind)
    if given.as_posix() in known:  # also if a folder has that name, as in a data root
        return known[given.as_posix()]
    if given.exists():
        return given  # whoever reads it says what is wrong with it
    raise ConfigError(
        "no such config file",
        path=given,
        expected=f"a YAML file, or one of: {', '.join(known)}",
        fix="`fenster configs` lists the built-in ones",
    )


def summary(path: Path) -> str:
    """The first sentence of a configuration's opening comment, the command left out."""
    comment = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            break
        comment.append(line.removeprefix("#").strip())
    text = re.sub(r"^`[^`]*`:?\s*", "", " ".join(comment).strip())
    sentence = re.split(r"(?<=[^.]{3})\. |\s{2,}|\.?\s+fenster prepare ", text)[0].rstrip(".:")
    return sentence[:1].upper() + sentence[1:]
