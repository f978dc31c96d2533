"""Messages with plurals and choices, as ICU writes them: `{count, plural, one {# file} other {# files}}`. The texts
of the branches are translated, each by itself; keywords and braces are code."""

from __future__ import annotations

import re

_CHOICE = re.compile(r"\{\s*[\w.-]+\s*,\s*(?:plural|select|selectordinal)\s*,\s*(?:offset:\s*\d+\s*)?")
_BRANCH = re.compile(r"\s*(?:=\d+|[\w-]+)\s*\{")
_END = re.compile(r"\s*\}")


def has_choice(message: str) -> bool:
    return _CHOICE.search(message) is not None


def icu_parts(message: str) -> list[tuple[str, bool]]:
    """(characters, True if they are text) in order. A choice that cannot be followed is no text, anything else is."""
    parts: list[tuple[str, bool]] = []
    try:
        end = _message(message, 0, parts)
    except (ValueError, RecursionError):
        end = -1
    return parts if end == len(message) else [(message, not has_choice(message))]


def is_broken(message: str) -> bool:
    """True for a choice that cannot be followed."""
    return has_choice(message) and not any(is_text for _, is_text in icu_parts(message))


def _message(text: str, at: int, parts: list[tuple[str, bool]]) -> int:
    """Read up to the brace that closes the branch, or the end."""
    begin = at
    while at < len(text) and text[at] != "}":
        choice = _CHOICE.match(text, at) if text[at] == "{" else None
        if choice is None:
            end = "}}" if text.startswith("{{", at) else "}"  # of a plain argument
            at = text.index(end, at) + len(end) if text[at] == "{" else at + 1
            continue
        parts.append((text[begin:at], True))
        begin = at = _branches(text, choice, parts)
    parts.append((text[begin:at], True))
    return at


def _branches(text: str, choice: re.Match[str], parts: list[tuple[str, bool]]) -> int:
    code, at = choice.group(), choice.end()
    while (branch := _BRANCH.match(text, at)) is not None:
        parts.append((code + branch.group(), False))
        at = _message(text, branch.end(), parts)
        if at >= len(text):
            raise ValueError("a branch is not closed")
        code, at = "}", at + 1
    end = _END.match(text, at)
    if end is None or code != "}":
        raise ValueError("a choice is not closed, or has no branch")
    parts.append((code + end.group(), False))
    return end.end()
