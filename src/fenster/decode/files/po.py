"""Catalogues of gettext (.po, .pot): entries without a translation, or with a fuzzy one, get one, which is marked
fuzzy until somebody has looked at it. Everything else stays as it is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import polib

from fenster.decode.files.base import DocumentFormat, FileOptions
from fenster.decode.files.ranges import RangesDocument, TextRange, whole_text
from fenster.errors import InputError
from fenster.io.files import FileSource

_KEYWORD = re.compile(r'(#~ )?\s*(msgctxt|msgid_plural|msgid|msgstr(?:\[(\d+)\])?)\s+"(.*)"\s*$')
_BEGINS = re.compile(r"(?:#~ )?\s*(?:msgctxt|msgid|msgid_plural|msgstr(?:\[\d+\])?)\s|\s*\"")
_ODD_ENDS = re.compile("[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_MORE = re.compile(r'(#~ )?\s*"(.*)"\s*$')
_LANGUAGE = re.compile(r'(?<="Language:)[^"\\]*')
_PLURAL = re.compile(r'"Plural-Forms:[^"\\]*(?:INTEGER|EXPRESSION)[^"\\]*')
_PLURALS = {"fr": "nplurals=2; plural=(n > 1);"} | dict.fromkeys(
    ("de", "en", "es", "it", "nl", "pt", "sv", "da", "nb"), "nplurals=2; plural=(n != 1);"
)
# The letter that a key chooses in a menu: &Open, E&xit, _Quit. Not AT&T, &amp; or file_name.
_ACCELERATOR = re.compile(r"(?<![\w&])([&_])(?=[^\W_])(?!\w+;)|(?<=[^\W\d_])(&)(?=[a-z])(?!\w+;)")
_LONGEST_LABEL = 60  # characters
_CHARSET = re.compile(r"(?<=charset=)[^\"\\]*")


@dataclass
class _Entry:
    first: int
    """Index of its first line, comments included."""
    texts: dict[str, str] = field(default_factory=dict)
    """By keyword, as they are spelt."""
    lines: dict[str, tuple[int, int]] = field(default_factory=dict)
    """The lines of each keyword: first, and the one after the last."""
    flag_lines: list[int] = field(default_factory=list)
    """Indices of the lines with its flags."""
    obsolete: bool = False


class GettextFormat(DocumentFormat):
    suffixes = (".po", ".pot")
    about = "gettext catalogues: entries without a translation get one, marked fuzzy"
    writes_file = True

    def parse(self, source: FileSource, options: FileOptions) -> RangesDocument:
        text = whole_text(source)
        try:
            # Without what polib takes for ends of lines, and gettext does not; with a line break, since polib may
            # take a text without one for the path of a file.
            polib.pofile(_ODD_ENDS.sub(" ", text) + "\n")
        except OSError as error:
            line = re.search(r"line (\d+)", str(error))
            raise InputError(
                f"not a gettext catalogue ({error})",
                path=source.path,
                line=int(line[1]) if line else None,
                expected='entries such as msgid "Open" and msgstr ""',
                fix=f"check it with msgfmt -c {source.path.name}",
            ) from None
        lines = re.findall(r"[^\n]*\n|[^\n]+", text)
        for number, line in enumerate(lines, start=1):
            if _BEGINS.match(line) and not _KEYWORD.match(line) and not _MORE.match(line):
                raise InputError("a text is not closed", path=source.path, line=number, expected='text in "quotes"')
        starts = [0]
        for one in lines:
            starts.append(starts[-1] + len(one))
        end = "\r\n" if "\r\n" in text else "\n"
        ranges: list[TextRange] = []
        further: list[tuple[int, int, str]] = []
        for entry in _entries(lines):
            fuzzy = any("fuzzy" in lines[number] for number in entry.flag_lines)
            translated = any(value for key, value in entry.texts.items() if key.startswith("msgstr"))
            if not entry.texts.get("msgid"):
                further += _header(text, starts, entry, options.target)
            elif not entry.obsolete and (fuzzy or not translated):
                made = _ranges(entry, lines, starts, end, options)
                ranges += made
                if made and not fuzzy:
                    flags = entry.flag_lines[0] if entry.flag_lines else None
                    at = starts[entry.first if flags is None else flags]
                    flag = f"#, fuzzy{end}" if flags is None else lines[flags].replace("#,", "#, fuzzy,", 1)
                    further.append((at, at if flags is None else at + len(lines[flags]), flag))
        said = ["new translations are marked fuzzy, which means that they need a review"] if ranges else []
        return RangesDocument(text, tuple(ranges), source.bom, tuple(further), said)


def _entries(lines: list[str]) -> Iterator[_Entry]:
    entry, keyword = _Entry(0), ""
    for number, line in enumerate([*lines, ""]):
        match, more = _KEYWORD.match(line), _MORE.match(line)
        if match is not None:
            starts_anew = match[2] in entry.texts or (match[2] == "msgctxt" and entry.texts)
            if starts_anew or (match[2] == "msgid" and "msgstr" in "".join(entry.texts)):
                yield entry
                entry = _Entry(number)
            keyword = match[2]
            entry.obsolete = bool(match[1])
            entry.texts[keyword], entry.lines[keyword] = match[4], (number, number + 1)
        elif more is not None and keyword:
            entry.texts[keyword] += more[2]
            entry.lines[keyword] = (entry.lines[keyword][0], number + 1)
        elif keyword and not (line.startswith("#") and "msgstr" not in "".join(entry.texts)):
            # A blank line begins the next entry, and so does a comment, unless it stands before the translation.
            if entry.texts:
                yield entry
            entry, keyword = _Entry(number), ""
            entry.first = number + 1 if not line.strip() else number
            entry.flag_lines = [number] if line.startswith("#,") else []
        elif not line.strip():
            entry.first = number + 1
        elif line.startswith("#,"):
            entry.flag_lines.append(number)


def _ranges(entry: _Entry, lines: list[str], starts: list[int], end: str, options: FileOptions) -> list[TextRange]:
    """One range per form: the singular is translated for the first, the plural for all others."""
    made = []
    for keyword, (first, last) in entry.lines.items():
        if not keyword.startswith("msgstr"):
            continue
        plural = keyword not in ("msgstr", "msgstr[0]") and "msgid_plural" in entry.texts
        spelt = entry.texts["msgid_plural" if plural else "msgid"]

        value, key = _without_accelerator(polib.unescape(spelt))

        def written(text: str, keyword: str = keyword, last: int = last, key: str = key) -> str:
            text = _with_accelerator(text, key)
            return f'{keyword} "{polib.escape(text)}"' + (end if lines[last - 1].endswith("\n") else "")

        position = starts[first], starts[last]
        one = TextRange.of(*position, value, first + 1, options.language, written, elsewhere=True)
        made += [one] if one is not None else []
    return made


def _without_accelerator(label: str) -> tuple[str, str]:
    """(a label, the sign before the letter that chooses it with that letter, or "")."""
    signs = list(_ACCELERATOR.finditer(label))
    if len(signs) != 1 or len(label) > _LONGEST_LABEL or "\n" in label or "://" in label:
        return label, ""
    start, end = signs[0].span()
    return label[:start] + label[end:], label[start : end + 1]


def _with_accelerator(label: str, key: str) -> str:
    """The sign before the same letter, if the translation has it, or before the first."""
    if not key:
        return label
    at = label.lower().find(key[1].lower())
    if at < 0:
        at = next((number for number, one in enumerate(label) if one.isalpha()), len(label))
    return label[:at] + key[0] + label[at:]


def _header(text: str, starts: list[int], entry: _Entry, target: str) -> list[tuple[int, int, str]]:
    """The header names the language, the encoding, which msginit guesses from the computer that it runs on, and how
    plurals are formed."""
    if "msgstr" not in entry.lines:
        return []
    first, last = entry.lines["msgstr"]
    named = {_LANGUAGE: f" {target}", _CHARSET: "UTF-8"}
    plural = None if target not in _PLURALS else f'"Plural-Forms: {_PLURALS[target]}'
    if plural is not None:
        named[_PLURAL] = plural
    matches = [(pattern.search(text, starts[first], starts[last]), new) for pattern, new in named.items()]
    made = [(*match.span(), new) for match, new in matches if match is not None]
    header = text[starts[first] : starts[last]]
    lacking = [f'"Language: {target}'] if "Language:" not in header else []
    lacking += [plural] if plural is not None and "Plural-Forms:" not in header else []
    if lacking:
        end = "\r\n" if "\r\n" in text else "\n"
        before = "" if text[: starts[last]].endswith("\n") else end
        added = "".join(f'{line}\\n"{end}' for line in lacking)
        made.append((starts[last], starts[last], before + added))
    return made
