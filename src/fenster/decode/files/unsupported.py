"""Files that look like text and are not for people, or that are no text: to be translated only if somebody asks."""

from __future__ import annotations

import re

_AS_TEXT = "to translate every line of it as plain text, add --format text"
_PROGRAMS = (
    ".adoc .asciidoc .bib .c .cfg .conf .cpp .cs .css .dtd .env .go .h .hpp .ini .ipynb .java .js .jsx .kt .less "
    ".lua .php .pl .properties .ps1 .py .r .rb .resx .rs .rst .scss .sh .sql .strings .stringsdict .svg .swift "
    ".tex .toml .ts .tsx .vue .xml .xsl"
)
UNSUPPORTED = {
    **dict.fromkeys(_PROGRAMS.split(), _AS_TEXT),
    **dict.fromkeys((".doc", ".rtf", ".pages"), "save it as .docx"),
    ".pdf": "convert it to .docx or plain text first",
    **dict.fromkeys((".xls", ".xlsx", ".ods", ".numbers"), "save its sheets as .csv"),
    **dict.fromkeys((".ppt", ".key"), "save it as .pptx"),
    **dict.fromkeys((".mobi", ".azw3"), "convert it to .epub"),
}
"""Suffixes that no format has, and what to do."""

_FOR_PROGRAMS = re.compile(
    r"(?:robots|requirements[\w.-]*|constraints|CMakeLists|security)\.txt"
    r"|(?:package|package-lock|composer|tsconfig|jsconfig|deno|manifest|angular|openapi|swagger)(?:\.\w+)?\.json"
    r"|(?:mkdocs|_config|docker-compose|compose|openapi|swagger|pnpm-lock|pubspec|environment|codecov)\.ya?ml"
)


def for_programs(name: str) -> bool:
    """True for files that only programs read, though their format may hold texts: robots.txt, package.json."""
    return _FOR_PROGRAMS.fullmatch(name) is not None
