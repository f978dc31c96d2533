"""Figures of measurements (`fenster bench … --json`) for tables of documents.

    {bench/attention-h200.json | way=window-gpu, length=736 | seconds ms}
    {bench/train-h200.json | system=window, length=1024 | tokens_per_second / system=nn.Transformer, length=1024}

Three parts: a file below results/; which row of it; a field with its unit, or its ratio to that of another row. A
field may be one over another (`measured/seconds`). Rows are all objects in the file's lists.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any


def significant(value: float, digits: int = 3) -> str:
    """12,399; 273; 45.4; 0.043."""
    if value == 0:
        return "0"
    places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:,.{places}f}"


UNITS: dict[str, Callable[[float], str]] = {
    "": significant,
    "count": lambda value: f"{value:,.0f}",
    "s": lambda value: f"{value:.1f} s",
    "ms": lambda value: f"{significant(1000 * value)} ms",
    "thousandths": lambda value: f"{value:.3f}",
    "percent": lambda value: f"{100 * value:.0f} %",
    "MiB": lambda value: f"{value / 2**20:,.0f} MiB",
    "GiB": lambda value: f"{value / 2**30:.2f} GiB",
    "GB": lambda value: f"{value / 1e9:.2f}",
}


class NoRowError(Exception):
    """The file has no such row, or the row no such field: it was not measured."""


def measured(text: str, results: Path) -> str:
    """What stands for one pair of braces."""
    name, where, what = (part.strip() for part in text.split(" | "))
    top, _, bottom = what.partition(" / ")
    field, _, unit = top.partition(" ")
    value = _field(results / name, where, field)
    if bottom:
        value /= _field(results / name, bottom, field)
        return f"{value:.2f}" if value < 10 else f"{value:.1f}"
    return UNITS[unit](value)


def _field(path: Path, where: str, field: str) -> float:
    conditions = [part.partition("=")[::2] for part in re.split(r", (?=\w+=)", where)]
    found = [row for row in _rows(path) if all(str(row.get(key)) == value for key, value in conditions)]
    if not found:
        raise NoRowError(f"{path.name}: no row with {where}")
    if len(found) > 1:
        raise ValueError(f"{path.name}: {len(found)} rows with {where}")
    top, _, bottom = field.partition("/")
    if top not in found[0]:
        raise NoRowError(f"{path.name}: no {top} with {where}")
    return float(found[0][top]) / (float(found[0][bottom]) if bottom else 1.0)


@cache
def _rows(path: Path) -> list[dict[str, Any]]:
    body = json.loads(path.read_text(encoding="utf-8"))
    lists = [body] if isinstance(body, list) else [value for value in body.values() if isinstance(value, list)]
    return [row for rows in lists for row in rows if isinstance(row, dict)]
