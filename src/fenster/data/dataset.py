"""Prepared data on disk: memory-mapped shards of token ids with sentence and document offsets.

A shard is a folder of `.npy` files (no pickle) and a list of document names. A document never crosses shards.
Ids carry no control symbols; `examples` adds them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import overload

import numpy as np
import numpy.typing as npt

from fenster.data.manifest import Manifest, ShardRecord, SplitRecord
from fenster.data.tokenizer import Ids, Longs, Tokenizer
from fenster.errors import InputError
from fenster.io.hashing import file_sha256

TOKENIZER = "tokenizer.model"
_ARRAYS = ("source_ids", "source_starts", "target_ids", "target_starts", "document_starts")
_MIXTURE = ("corpora", "groups")  # not in data of format 1
_NAMES = "names.json"


@dataclass(frozen=True)
class Side:
    """Token ids of one language: sentence n is ids[starts[n] : starts[n + 1]]."""

    ids: Ids
    starts: Longs

    @property
    def lengths(self) -> Longs:
        return np.diff(self.starts)

    def sentence(self, number: int) -> Ids:
        return self.ids[self.starts[number] : self.starts[number + 1]]


@dataclass(frozen=True)
class Shard:
    """Sentences n of document d are document_starts[d] <= n < document_starts[d + 1]."""

    source: Side
    target: Side
    document_starts: Longs
    names: list[str]
    corpora: npt.NDArray[np.uint16] | None = None  # [D] the number of each document's corpus; None if there is one
    groups: Longs | None = (
        None  # [D] documents of the same number, over all shards, are versions of one; None: single
    )

    @property
    def documents(self) -> int:
        return len(self.names)

    def save(self, folder: Path) -> ShardRecord:
        """Write all files; the caller makes the enclosing folder appear atomically."""
        folder.mkdir(parents=True)
        arrays = (
            self.source.ids,
            self.source.starts,
            self.target.ids,
            self.target.starts,
            self.document_starts,
        )
        for name, array in zip((*_ARRAYS, *_MIXTURE), (*arrays, self.corpora, self.groups), strict=True):
            if array is not None:
                np.save(folder / f"{name}.npy", array, allow_pickle=False)
        (folder / _NAMES).write_text(json.dumps(self.names, ensure_ascii=False), encoding="utf-8")
        return ShardRecord(
            name=folder.name,
            documents=self.documents,
            sentences=len(self.source.starts) - 1,
            source_tokens=len(self.source.ids),
            target_tokens=len(self.target.ids),
            files={path.name: file_sha256(path) for path in sorted(folder.iterdir())},
        )

    @classmethod
    def load(cls, folder: Path) -> Shard:
        source_ids, source_starts, target_ids, target_starts, documents = (
            np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False) for name in _ARRAYS
        )
        names = json.loads((folder / _NAMES).read_text(encoding="utf-8"))
        files = [folder / f"{name}.npy" for name in _MIXTURE]
        corpora, groups = (np.load(file, allow_pickle=False) if file.is_file() else None for file in files)
        source, target = Side(source_ids, source_starts), Side(target_ids, target_starts)
        return cls(source, target, documents, names, corpora, groups)


class StoredShards(Sequence[Shard]):
    """Shards on disk, opened when they are asked for and not kept: a corpus may have thousands."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = folders

    def __len__(self) -> int:
        return len(self._folders)

    @overload
    def __getitem__(self, number: int) -> Shard: ...
    @overload
    def __getitem__(self, number: slice) -> StoredShards: ...
    def __getitem__(self, number: int | slice) -> Shard | StoredShards:
        if isinstance(number, slice):
            return StoredShards(self._folders[number])
        return Shard.load(self._folders[number])


@dataclass(frozen=True)
class Split:
    """All shards of one split."""

    name: str
    record: SplitRecord
    shards: Sequence[Shard]


class PreparedData:
    """A folder of prepared data, checked against its manifest when opened."""

    def __init__(self, folder: Path | str, *, verify: bool = True) -> None:
        self.folder = folder = Path(folder)
        self.manifest = Manifest.load(folder)
        self.tokenizer = Tokenizer.load(folder / TOKENIZER)
        if self.tokenizer.sha256 != self.manifest.tokenizer_sha256:
            raise _damaged(folder / TOKENIZER)
        if verify:
            for name, record in self.manifest.splits.items():
                for shard in record.shards:
                    _verify(folder / name / shard.name, shard)

    def split(self, name: str) -> Split:
        if name not in self.manifest.splits:
            raise InputError(f"unknown split {name!r}", path=self.folder, expected=", ".join(self.manifest.splits))
        record = self.manifest.splits[name]
        return Split(name, record, StoredShards([self.folder / name / shard.name for shard in record.shards]))


def _verify(folder: Path, record: ShardRecord) -> None:
    for name, claimed in record.files.items():
        path = folder / name
        if not path.is_file() or file_sha256(path) != claimed:
            raise _damaged(path)


def _damaged(path: Path) -> InputError:
    return InputError(
        "was changed after it was written (checksum mismatch)" if path.is_file() else "is missing",
        path=path,
        expected="the file that the manifest describes",
        fix="run `fenster prepare` again with --force, or copy the folder again",
    )
