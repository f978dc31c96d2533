"""Source and translation side by side, for whoever reviews them: a web page, a Word table, a TMX or an XLIFF file.

The last two come back, once corrected, as `--history` of the next document or as a corpus.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

from fenster.data.corpora.tmx import TMX_END, tmx_start, tmx_unit
from fenster.decode.files.inline import plain
from fenster.decode.problems import PROBLEMS
from fenster.decode.result import Translated
from fenster.errors import ConfigError
from fenster.io.files import atomic_path
from fenster.language import locale


class Pair(NamedTuple):
    line: int
    source: str
    target: str
    warnings: tuple[str, ...]

    @classmethod
    def of(cls, line: int, translated: Translated) -> Pair:
        """A segment without its markup."""
        return cls(line, plain(translated.source), plain(translated.text), translated.warnings)


class Review(NamedTuple):
    """What is written."""

    name: str
    """Of the document."""
    languages: tuple[str, str]
    pairs: Sequence[Pair]

    @property
    def title(self) -> str:
        """The name, as XML and HTML can hold it."""
        return escape("".join(one if one.isprintable() else "\ufffd" for one in self.name))


class ReviewFile:
    """A review that takes the segments of a translation one by one, and is written at its end."""

    def __init__(self, path: Path, name: str, languages: tuple[str, str]) -> None:
        """`name` is that of the document."""
        if path.suffix.lower() not in REVIEWS:
            raise ConfigError(
                f"--bilingual {path}: unknown kind of file", expected=f"a name with {', '.join(REVIEWS)}"
            )
        self._path, self._pairs = path, list[Pair]()
        self._review = Review(name, languages, self._pairs)

    def add(self, line: int, translated: Translated) -> None:
        self._pairs.append(Pair.of(line, translated))

    def write(self) -> None:
        with atomic_path(self._path) as temporary:
            temporary.write_bytes(rendered_review(self._path.suffix.lower(), self._review))


def rendered_review(suffix: str, review: Review) -> bytes:
    """One of `REVIEWS`."""
    return REVIEWS[suffix](review)


def _page(review: Review) -> bytes:
    source, target = review.languages
    rows = "".join(
        f'<tr{_marked(one)}><td>{one.line}</td><td lang="{source}">{escape(one.source)}</td>'
        f'<td lang="{target}">{escape(one.target)}{_notes(one)}</td></tr>\n'
        for one in review.pairs
    )
    style = (
        "body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:75rem;padding:0 1rem}"
        "table{border-collapse:collapse;width:100%}td,th{border-top:1px solid #ccc;padding:.4rem .6rem;"
        "text-align:left;vertical-align:top}td:first-child{color:#666;width:3rem}.w{background:#fff4ce}"
        "small{display:block;color:#7a4b00}@media(prefers-color-scheme:dark){body{background:#111;color:#eee}"
        ".w{background:#3a2f00}small{color:#ffd27a}}"
    )
    return (
        f'<!DOCTYPE html>\n<html lang="{target}">\n<meta charset="utf-8">\n<title>{review.title}</title>\n'
        f"<style>{style}</style>\n<h1>{review.title}</h1>\n<table>\n"
        f"<tr><th>line</th><th>{source}</th><th>{target}</th></tr>\n{rows}</table>\n</html>\n"
    ).encode()


def _marked(one: Pair) -> str:
    return ' class="w"' if one.warnings else ""


def _notes(one: Pair) -> str:
    return "".join(f"<small>{escape(PROBLEMS[name])}</small>" for name in one.warnings)


def _tmx(review: Review) -> bytes:
    units = (tmx_unit(review.name, review.languages, (one.source, one.target)) for one in review.pairs if one.source)
    return (tmx_start(review.languages[0]) + "".join(units) + TMX_END).encode()


def _xliff(review: Review) -> bytes:
    source, target = review.languages
    units = "".join(
        f'      <trans-unit id="{number}"><source>{escape(one.source, quote=False)}</source>'
        f'<target state="needs-review-translation">{escape(one.target, quote=False)}</target>'
        + "".join(f"<note>{escape(PROBLEMS[name], quote=False)}</note>" for name in one.warnings)
        + "</trans-unit>\n"
        for number, one in enumerate(review.pairs, start=1)
        if one.source
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">\n'
        f'  <file original="{review.title}" source-language="{source}" target-language="{target}" '
        f'datatype="plaintext">\n    <body>\n{units}    </body>\n  </file>\n</xliff>\n'
    ).encode()


_TYPES = (
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" '
    'ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/word/document.xml" '
    'ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>'
)
_RELATIONS = (
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" '
    'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" '
    'Target="word/document.xml"/></Relationships>'
)


def _word(review: Review) -> bytes:
    border = "".join(f'<w:{side} w:val="single" w:sz="4" w:color="999999"/>' for side in ("top", "bottom", "insideH"))
    source, target = review.languages
    rows = "".join(
        f"<w:tr>{_cell(one.source, source)}{_cell(one.target, target, bool(one.warnings))}</w:tr>"
        for one in review.pairs
        if one.source
    )
    grid = '<w:tblGrid><w:gridCol w:w="4800"/><w:gridCol w:w="4800"/></w:tblGrid>'
    document = (
        '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p><w:r><w:rPr>'
        f"<w:b/></w:rPr><w:t>{review.title}</w:t></w:r></w:p><w:tbl><w:tblPr><w:tblBorders>{border}"
        f"</w:tblBorders></w:tblPr>{grid}{rows}</w:tbl><w:p/></w:body></w:document>"
    )
    declaration = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
    parts = {"[Content_Types].xml": _TYPES, "_rels/.rels": _RELATIONS, "word/document.xml": document}
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(zipfile.ZipInfo(name, (2000, 1, 1, 0, 0, 0)), declaration + text)
    return made.getvalue()


def _cell(text: str, language: str, doubtful: bool = False) -> str:
    shade = '<w:highlight w:val="yellow"/>' if doubtful else ""
    return (
        '<w:tc><w:tcPr><w:tcW w:w="4800" w:type="dxa"/></w:tcPr><w:p><w:r><w:rPr>'
        f'{shade}<w:lang w:val="{locale(language)}"/></w:rPr><w:t xml:space="preserve">{escape(text)}</w:t></w:r>'
        "</w:p></w:tc>"
    )


REVIEWS: dict[str, Callable[[Review], bytes]] = {
    ".html": _page,
    ".docx": _word,
    ".tmx": _tmx,
    ".xlf": _xliff,
    ".xliff": _xliff,
}
"""What a review can be written as."""
