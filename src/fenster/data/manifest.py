"""The record beside prepared data: what was read, with which settings, what came out, and its hashes.

The manifest carries a hash of itself, and one of every file, so that later damage is found when the
data is opened rather than as a strange loss curve.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from fenster.config import Config
from fenster.errors import InputError
from fenster.io.files import atomic_text
from fenster.io.hashing import digest

FORMAT_VERSION = 2
_READABLE = (1, 2)  # 1: without corpora, versions and languages
NAME = "manifest.json"


class InputRecord(Config):
    """One corpus that was read."""

    split: str
    format: str
    paths: tuple[str, ...]
    sha256: str


class ShardRecord(Config):
    """One shard: its counts and the hash of each of its files."""

    name: str
    documents: int
    sentences: int
    source_tokens: int
    target_tokens: int
    files: dict[str, str]


class SplitRecord(Config):
    """One split: totals over its shards, and what the filters did."""

    documents: int
    sentences: int
    source_tokens: int
    target_tokens: int
    read_documents: int
    read_sentences: int
    removed: dict[str, int]
    """Sentence pairs removed, by reason; read = kept + sum of these."""
    documents_cut: int
    documents_dropped: int
    kept_bad_text: int
    further_references: int
    """References beyond the first, which prepared data does not hold."""
    shards: tuple[ShardRecord, ...]


class CorpusRecord(Config):
    """A training corpus, in the order of the numbers that documents have."""

    name: str
    weight: float


class TrainRatio(Config):
    """Source over target tokens, separators included, for the `train ratio` alignment."""

    macro: float
    """Mean over parts, as the paper words it: the one that is used."""
    micro: float
    limit: int
    parts: int


class Manifest(Config):
    format_version: int
    fenster_version: str
    fingerprint: str
    """Hash of all inputs and settings: the same one means the same output."""
    config: dict[str, Any]
    inputs: tuple[InputRecord, ...]
    tokenizer_sha256: str
    vocab_size: int
    train_ratio: TrainRatio
    splits: dict[str, SplitRecord]
    corpora: tuple[CorpusRecord, ...] = ()
    languages: tuple[str, str] | None = None

    def save(self, folder: Path) -> None:
        body = self.model_dump(mode="json")
        with atomic_text(folder / NAME) as out:
            json.dump({**body, "sha256": digest(body)}, out, indent=1, ensure_ascii=False)
            out.write("\n")

    @classmethod
    def load(cls, folder: Path) -> Manifest:
        path = folder / NAME
        fix = "run `fenster prepare` again with --force"
        try:
            body = json.loads(path.read_text(encoding="utf-8"))
            claimed = body.pop("sha256")
        except (FileNotFoundError, NotADirectoryError):
            raise InputError(
                "no manifest: not a folder of prepared data",
                path=folder,
                fix="make it with `fenster prepare`",
            ) from None
        except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
            raise InputError(f"damaged manifest ({error})", path=path, fix=fix) from None
        if digest(body) != claimed:
            raise InputError(
                "the manifest was changed after it was written (checksum mismatch)",
                path=path,
                expected=f"sha256 {claimed}",
                fix=fix,
            )
        if body.get("format_version") not in _READABLE:
            raise InputError(
                f"prepared data of format {body.get('format_version')}",
                path=path,
                expected=f"format {FORMAT_VERSION}",
                fix="prepare it again with this version of fenster",
            )
        try:
            return cls.model_validate(body)
        except ValidationError as error:
            raise InputError(f"damaged manifest ({error})", path=path, fix=fix) from None
