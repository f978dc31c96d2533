"""Translation memories in TMX 1.4.

In each unit, the header's `srclang` is the source language, and the first other language is the target. A property
`x-document` names a unit's document; without it, the file is one document.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from pathlib import Path

from fenster.data.corpora.format import Format
from fenster.data.corpora.plain import Row, grouped
from fenster.document import ParallelDocument
from fenster.errors import InputError
from fenster.io.files import TextFiles, atomic_text
from fenster.io.xml import stream_xml, text_without

_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
_CODES = frozenset({"bpt", "ept", "ph", "it", "ut"})  # what is inside them is markup of another format
_DOCUMENT = "x-document"


def read_tmx(paths: Sequence[Path], files: TextFiles) -> Iterator[ParallelDocument]:
    (path,) = paths
    return grouped(_rows(path, files), path)


def _rows(path: Path, files: TextFiles) -> Iterator[Row]:
    source = ""
    for line, element in stream_xml(path, files, ("header", "tu")):
        if element.tag == "header":
            source = (element.get("srclang") or "").lower()
            continue
        texts = {
            (one.get(_LANGUAGE) or one.get("lang") or "").lower(): text_without(one.find("seg"), _CODES)
            for one in element.iterfind("tuv")
        }
        ours = next((code for code in texts if _same(code, source)), next(iter(texts), None))
        theirs = next((code for code in texts if code != ours), None)
        if ours is None or theirs is None:
            raise InputError("a <tu> without both languages", path=path, line=line, expected="<tuv> of both")
        named = (one.text or "" for one in element.iterfind("prop") if one.get("type") == _DOCUMENT)
        document = next(named, path.name.split(".")[0])
        yield Row(line, document, document, texts[ours], texts[theirs])


def _same(code: str, source: str) -> bool:
    return bool(code) and code.split("-")[0] == source.split("-")[0]


def write_tmx(documents: Iterable[ParallelDocument], paths: Sequence[Path]) -> int:
    """TMX of a pair of languages that are not known here: they are called `x-source` and `x-target`."""
    count = 0
    with atomic_text(paths[0]) as out:
        out.write(tmx_start("x-source"))
        for document in documents:
            for pair in zip(document.source.texts, document.target.texts, strict=True):
                out.write(tmx_unit(document.id, ("x-source", "x-target"), pair))
            count += 1
        out.write(TMX_END)
    return count


def tmx_start(source: str) -> str:
    tool = 'creationtool="fenster" creationtoolversion="1" segtype="sentence" o-tmf="fenster" adminlang="en"'
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<tmx version="1.4">\n  <header {tool} srclang="{source}" ' + (
        'datatype="plaintext"/>\n  <body>\n'
    )


TMX_END = "  </body>\n</tmx>\n"


def tmx_unit(document: str, languages: tuple[str, str], texts: tuple[str, str]) -> str:
    """A pair of sentences."""
    sides = "".join(
        f'      <tuv xml:lang="{code}"><seg>{escape(text, quote=False)}</seg></tuv>\n'
        for code, text in zip(languages, texts, strict=True)
    )
    named = f'      <prop type="{_DOCUMENT}">{escape(document, quote=False)}</prop>\n' if document else ""
    return f"    <tu>\n{named}{sides}    </tu>\n"


TMX = Format("tmx", ("FILE",), read_tmx, write_tmx, "translation memories (TMX 1.4)", (".tmx",))
