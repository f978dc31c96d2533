"""Files that are ZIP archives of XML: Word, OpenDocument, PowerPoint, EPUB.

Archives are checked before anything is unpacked, XML is read without entities, document types or the network, and
parts that do not change keep their bytes.
"""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from lxml import etree

from fenster.errors import InputError
from fenster.io.files import FileSource

_DECLARATION = re.compile(rb"\s*(?:\xef\xbb\xbf)?<\?xml[^>]*\?>\s*")
_MOST_PARTS = 10_000
_LARGEST = 1 << 29  # bytes of all parts together
_LARGEST_XML = 1 << 27  # bytes of a part that is read as XML
_RATIO = 300  # of a part's size to its compressed size; text compresses to a tenth or so
_SMALL = 1 << 20  # below this any ratio will do


@dataclass(frozen=True)
class Package:
    """The parts of an archive by name, in their order."""

    source: FileSource
    parts: Mapping[str, bytes]

    @classmethod
    def read(cls, source: FileSource, kind: str) -> Package:
        """`kind` is what the file should be, for messages."""
        try:
            with zipfile.ZipFile(io.BytesIO(source.data)) as archive:
                _check(archive, source.path)
                return cls(source, {info.filename: archive.read(info) for info in archive.infolist()})
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
            # RuntimeError: encrypted.
            raise InputError(
                f"cannot be read as {kind} ({error})",
                path=source.path,
                expected=f"a whole {kind} file, not encrypted",
                fix="open it in the program that made it, and save it again",
            ) from None

    def xml(self, name: str) -> etree._Element:
        """The root of a part."""
        if name not in self.parts:
            raise InputError(f"has no part {name}", path=self.source.path, fix="save it again in its program")
        return parse_xml(self.parts[name], self.source.path, name)

    def written(self, changed: Mapping[str, bytes]) -> bytes:
        """The archive with some parts replaced; the same bytes if none is."""
        if all(self.parts.get(name) == data for name, data in changed.items()):
            return self.source.data
        made = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(self.source.data)) as old, zipfile.ZipFile(made, "w") as new:
            for info in old.infolist():
                copied = zipfile.ZipInfo(info.filename, info.date_time)
                copied.compress_type, copied.external_attr = info.compress_type, info.external_attr
                copied.create_system = info.create_system
                new.writestr(copied, changed.get(info.filename, self.parts[info.filename]))
            new.comment = old.comment
        return made.getvalue()


def parse_xml(data: bytes, path: Path, part: str = "") -> etree._Element:
    """XML that cannot reach anything outside itself."""
    where = f"its part {part}" if part else "it"
    if len(data) > _LARGEST_XML:
        raise InputError(f"{where} has {len(data):,} bytes", path=path, expected=f"at most {_LARGEST_XML:,}")
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


def _check(archive: zipfile.ZipFile, path: Path) -> None:
    """Refuse archives that are not what an office program writes."""
    infos = archive.infolist()
    if len(infos) > _MOST_PARTS:
        raise InputError(f"has {len(infos):,} parts", path=path, expected=f"at most {_MOST_PARTS:,}")
    if sum(info.file_size for info in infos) > _LARGEST:
        raise InputError("would be too large unpacked", path=path, expected=f"at most {_LARGEST:,} bytes")
    seen: set[str] = set()
    for info in infos:
        name = PurePosixPath(info.filename)
        if name.is_absolute() or ".." in name.parts or "\\" in info.filename or ":" in info.filename:
            raise InputError(f"has a part called {info.filename!r}, which leads outside", path=path)
        if info.filename in seen:
            raise InputError(f"has two parts called {info.filename!r}", path=path)
        seen.add(info.filename)
        if info.file_size > _SMALL and info.file_size > _RATIO * max(1, info.compress_size):
            raise InputError(f"its part {info.filename!r} is packed far too densely", path=path)
