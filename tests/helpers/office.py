"""Files of every document format with given lines in them, one paragraph, cue or entry each."""

from __future__ import annotations

import html
import io
import json
import re
import zipfile
from collections.abc import Sequence

_INVALID = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def xml(text: str) -> str:
    return html.escape(_INVALID.sub("", text), quote=True)


def zipped(parts: dict[str, str]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return made.getvalue()


def docx(body: str) -> bytes:
    """A Word document with this XML in its body."""
    space = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    declaration = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
    return zipped({"word/document.xml": f"{declaration}<w:document {space}><w:body>{body}</w:body></w:document>"})


def odt(body: str) -> bytes:
    text = 'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"'
    office = 'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"'
    return zipped({"content.xml": f"<office:document-content {office} {text}>{body}</office:document-content>"})


def pptx(body: str) -> bytes:
    space = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
    return zipped({"ppt/slides/slide1.xml": f"<slide {space}>{body}</slide>"})


def epub(body: str) -> bytes:
    item = '<item id="c" href="c.xhtml" media-type="application/xhtml+xml"/>'
    return zipped(
        {
            "META-INF/container.xml": '<container><rootfile full-path="a.opf"/></container>',
            "a.opf": f'<package><dc:title>A book.</dc:title>{item}<itemref idref="c"/></package>'.replace(
                "<package>", '<package xmlns:dc="http://purl.org/dc/elements/1.1/">'
            ),
            "c.xhtml": f"<html><body>{body}</body></html>",
        }
    )


def wrapped(name: str, lines: Sequence[str]) -> bytes:
    """A file of the document format called `name`."""
    text = "\n".join(lines)
    paragraphs = [xml(line) for line in lines]
    match name:
        case "subtitles":
            rows = [f"{n}\n00:00:{n:02d},000 --> 00:00:{n:02d},500\n{line}\n" for n, line in enumerate(lines, 1)]
            return "\n".join(rows).encode("utf-8", "replace")
        case "html":
            return "".join(f"<p>{line}</p>\n" for line in paragraphs).encode()
        case "epub":
            return epub("".join(f"<p>{line}</p>" for line in paragraphs))
        case "docx":
            runs = (f'<w:p><w:r><w:t xml:space="preserve">{line}</w:t></w:r></w:p>' for line in paragraphs)
            return docx("".join(runs))
        case "odf":
            return odt("".join(f"<text:p>{line}</text:p>" for line in paragraphs))
        case "pptx":
            return pptx("".join(f"<a:p><a:r><a:t>{line}</a:t></a:r></a:p>" for line in paragraphs))
        case "po":
            entries = (f'msgid {json.dumps(_INVALID.sub("", line))}\nmsgstr ""\n' for line in lines if line.strip())
            return "\n".join(['msgid ""\nmsgstr "Language: \\n"\n', *entries]).encode("utf-8", "replace")
        case "xliff":
            units = (
                f'<trans-unit id="{n}"><source>{line}</source></trans-unit>' for n, line in enumerate(paragraphs)
            )
            space = 'xmlns="urn:oasis:names:tc:xliff:document:1.2"'
            return f'<xliff {space} version="1.2"><file><body>{"".join(units)}</body></file></xliff>'.encode()
        case "json":
            return json.dumps({"a": {"b": list(lines)}}, indent=2).encode()
        case "yaml":
            values = (f"  k{n}: {json.dumps(line)}\n" for n, line in enumerate(lines))
            return ("en:\n" + "".join(values)).encode() if lines else b""
        case "csv":
            cells = ('"' + line.replace('"', '""') + '"' for line in lines)
            rows = [f"{n},{cell}" for n, cell in enumerate(cells)]
            return "\r\n".join(["id,en", *rows]).encode("utf-8", "replace")
        case _:
            return text.encode("utf-8", "surrogatepass")
