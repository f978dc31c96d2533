"""What can be known of a model folder without torch: where the bundled one is, and its `model.json`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fenster.errors import InputError

DEFAULT_MODEL = Path(__file__).parents[1] / "pretrained" / "en-de"
"""The bundled model."""
MODEL_JSON = "model.json"
FORMAT_VERSION = 2
_LANGUAGES = ("en", "de")  # of models of fenster 0.2 and earlier, which did not say


def read_model_json(folder: Path) -> dict[str, Any]:
    """An error if it is not there, not JSON, or of a version that we do not know."""
    path = folder / MODEL_JSON
    try:
        body = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(
            f"no {MODEL_JSON}: not a model folder",
            path=folder,
            fix="give the `model` folder of a `fenster train` run",
        ) from None
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read ({error})", path=path, expected="JSON that `fenster train` wrote") from None
    version = body.get("format_version") if isinstance(body, dict) else None
    if version not in (1, FORMAT_VERSION):
        raise InputError(f"a model of format {version}", path=path, expected=f"format {FORMAT_VERSION}")
    made: dict[str, Any] = body
    return made


def model_languages(folder: Path) -> tuple[str, str]:
    """Codes of the source and the target language."""
    given = read_model_json(folder).get("languages")
    source, target = given if isinstance(given, list) and len(given) == 2 else _LANGUAGES
    return str(source), str(target)
