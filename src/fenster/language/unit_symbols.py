"""Symbols of units that are the same in all languages."""

from __future__ import annotations

import re

UNIT_SYMBOLS = (
    r"(?:[kmcdnµμ]?m[²³23]?|[kmnµμ]?g|mcg|[mdcµμ]?[lL]|[KMGTP]i?B|[kMGT]?bit(?:/s)?|[kMGT]?Hz|[kMG]?W|[kM]?Wh|"
    r"[mkµμ]?V|m?A(?! [a-z])|m?Ah|km/h|m/s|mph|[kM]?Pa|bar|[kM]?N|k?J|k?cal|[mkM]?Ω|°[CFNESW]?|px|pt|dpi|ms|fps|I?U|"
    r"(?:[mµ]?mol|[kmµn]?g|m?I?U)/(?:[dm]?[lL]|kg|day|d|h)|%|‰)"
)
"""As a regular expression, what may follow a number with or without a space."""
_BEHIND_SPACE = re.compile(rf" ?({UNIT_SYMBOLS})(?![\w/]|-\w)")
_CAPITAL = re.compile(r" [A-Z]")


def has_unit(after: str) -> bool:
    """True if text behind a number begins with the symbol of a unit; a single letter before a capital is none."""
    match = _BEHIND_SPACE.match(after)
    is_letter = match is not None and len(match[1]) == 1 and match[1].isalpha()
    return match is not None and not (is_letter and _CAPITAL.match(after, match.end()))


def is_unit(after: str) -> bool:
    """True if it begins with one of several letters, or is nothing but one."""
    match = _BEHIND_SPACE.match(after)
    return match is not None and (len(match[1]) > 1 or not after[match.end() :].strip(" ."))
