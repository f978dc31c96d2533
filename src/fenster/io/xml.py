"""XML that cannot reach anything outside itself: no entities, no document types, no network."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence, Set
from pathlib import Path

from lxml import etree

from fenster.errors import InputError
from fenster.io.files import TextFiles

_DECLARATION = re.compile(rb"\s*(?:\xef\xbb\xbf)?<\?xml[^>]*\?>\s*")
_LARGEST = 1 << 27  # bytes


def parse_xml(data: bytes, path: Path, part: str = "") -> etree._Element:
    """The root of a file, or of a part of one."""
    where = f"its part {part}" if part else "it"
    if len(data) > _LARGEST:
        raise InputError(f"{where} has {len(data):,} bytes", path=path, expected=f"at most {_LARGEST:,}")
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, strip_cdata=False
    )
    try:
        root = etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        raise InputError(
            f"{where} is not well-formed XML ({error.msg})",
            path=path,
            line=error.lineno if not part else None,
            expected="a whole file",
            fix="open it in the program that made it, and save it again",
        ) from None
    if root.getroottree().docinfo.internalDTD is not None:
        raise InputError(f"{where} has a document type", path=path, expected="XML without DOCTYPE, for safety")
    return root


def serialised(root: etree._Element, original: bytes) -> bytes:
    """XML as it is written, with the declaration that it had."""
    declaration = _DECLARATION.match(original)
    encoding = root.getroottree().docinfo.encoding or "UTF-8"
    made = etree.tostring(root.getroottree(), xml_declaration=False, encoding=encoding)
    assert isinstance(made, bytes)
    end = b"\n" if original.endswith(b"\n") else b""
    return (b"" if declaration is None else declaration.group()) + made + end


def stream_xml(path: Path, files: TextFiles, names: Sequence[str]) -> Iterator[tuple[int, etree._Element]]:
    """(line, element) of all elements with some names, whatever their namespace. A document type is read over."""
    data = b"".join(files.raw_lines(path))
    if b"<!ENTITY" in data[:10_000]:
        raise InputError("declares an entity", path=path, expected="XML without entity declarations")
    events = etree.iterparse(
        io.BytesIO(data),
        tag=[f"{{*}}{name}" for name in names],
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
    )
    try:
        for _, element in events:
            element.tag = etree.QName(element).localname
            line: int = element.sourceline
            yield line, element
            element.clear()
    except etree.XMLSyntaxError as error:
        raise InputError(f"not well-formed XML ({error.msg})", path=path, line=error.lineno) from None


def text_without(element: etree._Element | None, names: Set[str]) -> str:
    """The text of an element, without that of some elements in it."""
    if element is None:
        return ""
    text = element.text or ""
    for child in element:
        if isinstance(child.tag, str) and etree.QName(child).localname not in names:
            text += text_without(child, names)
        text += child.tail or ""
    return text
