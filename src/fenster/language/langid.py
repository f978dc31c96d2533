"""py3langid with its model left in a file: of its 70 MB a sentence needs a few hundred bytes here and there."""

from __future__ import annotations

import lzma
import os
import shutil
import struct
import tempfile
import zipfile
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt

_CHUNK = 1 << 16  # bytes unpacked at a time
_LOCAL_HEADER = 30  # bytes before the name of a file in a zip archive
_LENGTHS = 26  # where it says how long its name and what follows it are


@cache
def identifier() -> Any:
    """A `LanguageIdentifier` for all languages that py3langid knows, with probabilities."""
    from py3langid.langid import MODEL_DIR, MODEL_FILE, LanguageIdentifier

    file = tempfile.TemporaryFile(buffering=0)
    with lzma.open(MODEL_DIR / MODEL_FILE) as packed:
        shutil.copyfileobj(packed, file, _CHUNK)
    model = dict(_arrays(file))
    made = LanguageIdentifier(
        model["ptc"],
        model["pc"].read(),
        model["classes"].read().tolist(),
        model["nextmove"],
        array("i", model["out_feat"].read()),
        norm_probs=True,
        tk_row=array("I", model["nextmove_row"].read().astype(np.uint32)),
    )
    made._rowbase = array("I", made._rowbase)  # a list needs eight times the memory
    return made


def among(text: str, codes: tuple[str, ...]) -> tuple[str, float]:
    """The likeliest of some languages, and its probability if it must be one of them."""
    known = dict(identifier().rank(text))
    total = sum(known[code] for code in codes)
    best = max(codes, key=lambda code: known[code])
    return best, known[best] / total if total else 1 / len(codes)


@dataclass(frozen=True)
class _FileArray:
    """An array in a file, of which parts are read. Threads and forked processes may share it."""

    file: Any
    lock: Lock
    begin: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def read(self, first: int = 0, count: int | None = None) -> npt.NDArray[Any]:
        """So many of its numbers from one on; by default all."""
        count = int(np.prod(self.shape)) - first if count is None else count
        data = self._bytes(count * self.dtype.itemsize, self.begin + first * self.dtype.itemsize)
        return np.frombuffer(data, self.dtype)

    def _bytes(self, size: int, begin: int) -> bytes:
        data = b""
        while len(data) < size:
            if hasattr(os, "pread"):  # forked processes share the place in a file
                more = os.pread(self.file.fileno(), size - len(data), begin + len(data))
            else:  # Windows, which does not fork
                with self.lock:
                    self.file.seek(begin + len(data))
                    more = self.file.read(size - len(data))
            if not more:
                raise OSError("the file of the language model is shorter than it was")
            data += more
        return data

    def __getitem__(self, index: Any) -> Any:
        """One number of a vector, or some rows of a matrix."""
        if len(self.shape) == 1:
            return int(self.read(index, 1)[0])
        columns = self.shape[1]
        return np.stack([self.read(row * columns, columns) for row in index.tolist()])


def _arrays(file: Any) -> Iterator[tuple[str, _FileArray]]:
    """Those of an uncompressed .npz file, by name."""
    lock = Lock()
    with zipfile.ZipFile(file) as archive:
        for member in archive.infolist():
            with archive.open(member) as content:
                np.lib.format.read_magic(content)
                shape, _, dtype = np.lib.format.read_array_header_1_0(content)
                header = content.tell()
            file.seek(member.header_offset + _LENGTHS)
            name, extra = struct.unpack("<HH", file.read(4))
            begin = member.header_offset + _LOCAL_HEADER + name + extra + header
            yield member.filename.removesuffix(".npy"), _FileArray(file, lock, begin, shape, dtype)
