"""What a segment's text may hold. The one place where raw text is normalised.

`normalise` only touches white space (Unicode spaces, tabs, runs); letters are never changed, so that
training data, references and input are what the user wrote. `why_refused` says why a text may not enter
training data as it is.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from fenster.errors import InputError

SEP, BOD, EOS, BOS, PAD, UNK = "<sep>", "<bod>", "<eos>", "<bos>", "<pad>", "<unk>"
RESERVED = (SEP, BOD, EOS, BOS, PAD)

# Unicode's White_Space, less the four file separators and \v \f, which are control characters here.
SPACES = re.compile("[ \\t\\n\\r\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]+")
LONE_RETURN = re.compile(r"\r(?!\n)")  # ends lines, too, on very old machines
_HALF = re.compile("[\\ud800-\\udfff]")
_CONTROL = re.compile("[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x84\\x86-\\x9f]")


def normalise(text: str) -> str:
    """White space to single plain spaces, none at the ends. Idempotent; leaves no line break."""
    # isprintable() is false for every white space but " ", so most lines need no regular expression.
    if text.isprintable() and "  " not in text:
        return text.strip(" ")
    return SPACES.sub(" ", text).strip(" ")


def check_texts(texts: Iterable[object]) -> list[str]:
    """Segments that a program gives, if they are text that can be written in UTF-8."""
    checked = []
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputError(f"segment {number} is {text!r}", expected="text")
        if _HALF.search(text):
            raise InputError(
                f"segment {number} contains an unpaired surrogate",
                expected="text that can be written in UTF-8",
                fix="decode it again with the right encoding",
            )
        checked.append(text)
    return checked


def why_refused(text: str) -> str | None:
    """Why `text` may not enter a corpus; None if it may.

    Reserved symbols could not become control ids anyway (the tokenizer never produces those from text),
    but a literal `<sep>` in data nearly always means that somebody else's preprocessing is still in it.
    """
    if not text.isprintable():
        control = _CONTROL.search(text)
        if control:
            code = ord(control[0])
            return f"control character U+{code:04X} {unicodedata.name(control[0], '')}".rstrip()
    if "<" in text:
        for symbol in RESERVED:
            if symbol in text:
                return f"the reserved symbol {symbol}"
    return None
