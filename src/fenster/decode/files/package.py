"""Files that are ZIP archives of XML: Word, OpenDocument, PowerPoint, EPUB.

Archives are checked before anything is unpacked, XML is read without entities, document types or the network, and
parts that do not change keep their bytes.
"""

from __future__ import annotations

import io
import lzma
import struct
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from lxml import etree

from fenster.errors import InputError
from fenster.io.files import FileSource
from fenster.io.xml import parse_xml

_DAMAGED = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError, OSError, ValueError, RuntimeError)
"""What zipfile raises for archives that are damaged (some of it by accident), encrypted or of an unknown kind."""
_MOST_PARTS = 10_000
_LARGEST = 1 << 29  # bytes of all parts together
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
        except _DAMAGED as error:
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
            raise InputError(f"has a part called {info.filename!r}, whose path points outside the archive", path=path)
        if info.filename in seen:
            raise InputError(f"has two parts called {info.filename!r}", path=path)
        seen.add(info.filename)
        if info.file_size > _SMALL and info.file_size > _RATIO * max(1, info.compress_size):
            raise InputError(f"its part {info.filename!r} has a suspiciously high compression ratio", path=path)
