"""Blocks that CommonMark lacks, as blocks that it has: MkDocs, Hugo, Jekyll, Docusaurus, Obsidian, pandoc."""

from __future__ import annotations

import re

_NOTE = re.compile(r"^( {0,3})(\[\^[^\]\s]+\]:)(?=[ \t])", re.MULTILINE)
_LONG_NOTE = re.compile(r"^ {0,3}\[\^[^\]\s]+\]:[^\n]*(?:\n(?:[ \t]*$|[ \t]+\S[^\n]*))+", re.MULTILINE)
_LATER_PARAGRAPH = re.compile(r"(?<=\n)( {3}) (?=\S)")
_FENCE = re.compile(r"^[ \t]*:::.*$", re.MULTILINE)
_ADMONITION = re.compile(r"^([ \t]*)((?:!!!|\?\?\?)\+?[ \t].*)$", re.MULTILINE)  # of MkDocs
_DEFINITION = re.compile(r"(\S\n(?:[ \t]*\n)? {0,3}):(?=[ \t]+\S)")
_ALERT_TITLE = re.compile(r"^((?:[ \t]*>)+[ \t]?)(\[![A-Za-z]+\][-+]?)(?=[ \t]+\S)", re.MULTILINE)
_TEMPLATE_LINE = re.compile(  # of Hugo, Jekyll and kramdown
    r"^[ \t>]*(?:\{\{[<%](?:(?!\}\}).)*\}\}|\{%(?:(?!%\}).)*%\}|\{:[^{}\n]*\})[ \t]*$", re.MULTILINE
)
_TEMPLATE_CODE = re.compile(
    r"^[ \t]*\{%-?[ \t]*(highlight|raw)\b.*?^[ \t]*\{%-?[ \t]*end\1\b.*?$", re.MULTILINE | re.DOTALL
)
_TEMPLATE_CODE_END = re.compile(r"^[ \t]*\{%-?[ \t]*end(?:highlight|raw)\b.*?$", re.MULTILINE)
_IMPORT = re.compile(r"^(?:import|export)\b[^\n]*\bfrom[ \t]+[\"'][^\n]+$", re.MULTILINE)  # of Docusaurus
_GRID_TABLE = re.compile(r"^[ \t]*\+[-=:+]+\+[ \t]*(?:\n[ \t]*[|+][^\n]*)+", re.MULTILINE)


def as_commonmark(text: str) -> tuple[str, int]:
    """What the parser reads, of the same length: blocks of other dialects end the paragraph before them. Notes are
    items of a list, as are definitions and admonitions (!!! note); lines around others (:::note), templates, imports
    and tables that are drawn are blank. Also how many of those tables there are."""
    text, tables = _GRID_TABLE.subn(_blank, text)
    # Behind the last end of code, every beginning would be read to the end of the text in vain.
    last = max((match.end() for match in _TEMPLATE_CODE_END.finditer(text)), default=0)
    text = _TEMPLATE_CODE.sub(_blank, text[:last]) + text[last:]
    for pattern in (_TEMPLATE_LINE, _IMPORT, _FENCE):
        text = pattern.sub(_blank, text)
    text = _ALERT_TITLE.sub(lambda match: match[1] + "#".ljust(len(match[2])), text)
    text = _ADMONITION.sub(lambda match: match[1] + "-".ljust(len(match[2])), text)
    text = _LONG_NOTE.sub(_with_quoted_paragraphs, text)
    text = _NOTE.sub(lambda match: match[1] + _item(len(match[2])), text)
    return _DEFINITION.sub(r"\1-", text), tables


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match.group())


def _with_quoted_paragraphs(note: re.Match[str]) -> str:
    """A note whose further paragraphs are quotations: its item's text is indented by more than they are."""
    first, blank, rest = re.split(r"(\n[ \t]*\n)", note.group() + "\n\n", maxsplit=1)
    return (first + blank + _LATER_PARAGRAPH.sub(r"\1>", f"\n{rest}")[1:])[: len(note.group())]


def _item(width: int) -> str:
    """The mark of an item of so many characters, which may interrupt a paragraph."""
    digits = min(width - 1, 9)
    return ">" * (width - 1 - digits) + "1".rjust(digits, "0") + ")"
