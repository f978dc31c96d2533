"""One split: encoded, filtered if it is training data, and written as shards."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from fenster.data.context import split_points
from fenster.data.dataset import Shard, Side
from fenster.data.manifest import ShardRecord, SplitRecord, TrainRatio
from fenster.data.prepare.config import CorpusConfig, PrepareConfig
from fenster.data.prepare.encode import EncodedChunk, EncodedSide, encode_documents
from fenster.data.prepare.filters import CODES, KEPT, Codes, Filter, Removal, bad_text
from fenster.data.prepare.inputs import read, stream
from fenster.data.tokenizer import Ids, Longs, Tokenizer
from fenster.errors import FensterError, InputError
from fenster.io.files import TextFiles

SHARD_TOKENS = 1 << 22  # target tokens per shard: 8 MiB of ids per side, held in memory until written
Mask = npt.NDArray[np.bool_]
_DROPPED = "dropped_document"  # pairs that went with a document that lost others


@dataclass
class Ratio:
    """Running averages of source over target tokens of training parts."""

    limit: int
    total: float = 0.0
    parts: int = 0
    source: int = 0
    target: int = 0

    def add(self, source: Longs, target: Longs, sizes: Longs) -> None:
        """Token lengths of sentences without end symbols, and the sentences of each document."""
        ends = np.concatenate([[0], np.cumsum(sizes)])
        for begin, end in pairwise(ends):
            cuts = split_points(target[begin:end] + 1, self.limit)[:-1]
            sources = np.add.reduceat(source[begin:end] + 1, cuts)
            targets = np.add.reduceat(target[begin:end] + 1, cuts)
            self.total += float(np.sum(sources / targets))
            self.parts += len(cuts)
            self.source += int(sources.sum())
            self.target += int(targets.sum())

    def result(self) -> TrainRatio:
        if not self.parts:
            raise FensterError("no training pairs are left", fix="loosen the filters or check the training corpus")
        return TrainRatio(
            macro=self.total / self.parts, micro=self.source / self.target, limit=self.limit, parts=self.parts
        )


@dataclass
class _ShardBuffer:
    """Collects chunks until a shard is full."""

    source: list[tuple[Ids, Longs]] = field(default_factory=list)
    target: list[tuple[Ids, Longs]] = field(default_factory=list)
    sizes: list[Longs] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    corpora: list[int] = field(default_factory=list)
    groups: list[int] = field(default_factory=list)
    tokens: int = 0

    def add(
        self,
        source: EncodedSide,
        target: EncodedSide,
        sizes: Longs,
        names: list[str],
        corpus: int,
        groups: list[int],
    ) -> None:
        self.corpora += [corpus] * len(names)
        self.groups += groups
        self.source.append(source)
        self.target.append(target)
        self.sizes.append(sizes)
        self.names += names
        self.tokens += len(target[0])

    def shard(self) -> Shard:
        def offsets(lengths: list[Longs]) -> Longs:
            return np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(np.int64)

        def side(parts: list[tuple[Ids, Longs]]) -> Side:
            return Side(np.concatenate([ids for ids, _ in parts]), offsets([lengths for _, lengths in parts]))

        return Shard(
            side(self.source),
            side(self.target),
            offsets(self.sizes),
            self.names,
            np.array(self.corpora, dtype=np.uint16),
            np.array(self.groups, dtype=np.int64),
        )


@dataclass
class _SplitWriter:
    """Filters chunks of one split, collects them into shards, and counts everything."""

    folder: Path
    config: PrepareConfig
    filter: Filter | None
    """None for test sets: nothing may be removed from them."""
    ratio: Ratio
    corpora: Sequence[CorpusConfig]
    read_documents: int = 0
    read_sentences: int = 0
    references: int = 0
    kept_bad_text: int = 0
    cut: int = 0
    dropped: int = 0
    removed: dict[str, int] = field(default_factory=lambda: dict.fromkeys([*CODES, _DROPPED], 0))
    records: list[ShardRecord] = field(default_factory=list)
    buffer: _ShardBuffer = field(default_factory=_ShardBuffer)
    documents: int = 0
    sentences: int = 0
    source_tokens: int = 0
    target_tokens: int = 0
    groups: int = 0
    _versions_of: dict[bytes, int] = field(default_factory=dict)
    """Groups of the documents of corpora with variants, by a hash of their source."""

    def add(self, chunk: EncodedChunk) -> None:
        sizes = chunk.sizes
        self.read_documents += len(sizes)
        self.read_sentences += int(sizes.sum())
        self.references += sum(len(document.references) for document in chunk.documents)
        codes = self._judge(chunk)
        removal = Removal.apply(codes, sizes, self.config.filters.after_removal)
        self.cut += removal.cut
        self.dropped += removal.dropped
        self.removed[_DROPPED] += int(np.sum((codes == KEPT) & ~removal.keep))
        _check_lengths(chunk, removal.keep, self.config)
        source, target = (_kept(side, removal.keep) for side in (chunk.source, chunk.target))
        if self.filter is not None:
            self.ratio.add(source[1], target[1], removal.sizes)
        self.documents += len(removal.sizes)
        self.sentences += len(source[1])
        self.source_tokens += len(source[0])
        self.target_tokens += len(target[0])
        names, groups = removal.names(chunk.documents), self._groups(chunk, removal)
        for version in chunk.versions:
            source, target = (_kept(side, removal.keep) for side in version)
            self.buffer.add(source, target, removal.sizes, names, chunk.corpus, groups)
        if self.buffer.tokens >= SHARD_TOKENS:
            self._write()

    def _groups(self, chunk: EncodedChunk, removal: Removal) -> list[int]:
        """The group of each remaining document: its versions have the same, and an epoch draws one of them."""
        groups = []
        variants = self.corpora[chunk.corpus].variants
        for number, size in zip(removal.document.tolist(), removal.sizes.tolist(), strict=True):
            document = chunk.documents[number]
            group = self.groups
            if variants and size == len(document):
                key = hashlib.blake2b("\n".join(document.source.texts).encode(), digest_size=16).digest()
                group = self._versions_of.setdefault(key + chunk.corpus.to_bytes(4), self.groups)
            self.groups += group == self.groups
            groups.append(group)
        return groups

    def _judge(self, chunk: EncodedChunk) -> Codes:
        """Why each pair is removed, counted; KEPT for all pairs of a test set."""
        if self.filter is None:
            self.kept_bad_text += _count_bad(chunk, self.config)
            return np.zeros(int(chunk.sizes.sum()), dtype=np.uint8)
        codes = self.filter.judge(chunk.documents, chunk.source[1], chunk.target[1])
        for reason, number in CODES.items():
            self.removed[reason] += int(np.sum(codes == number))
        return codes

    def _write(self) -> None:
        self.records.append(self.buffer.shard().save(self.folder / f"{len(self.records):05d}"))
        self.buffer = _ShardBuffer()

    def finish(self) -> SplitRecord:
        if self.buffer.names:
            self._write()
        return SplitRecord(
            documents=self.documents,
            sentences=self.sentences,
            source_tokens=self.source_tokens,
            target_tokens=self.target_tokens,
            read_documents=self.read_documents,
            read_sentences=self.read_sentences,
            removed={reason: count for reason, count in self.removed.items() if count},
            documents_cut=self.cut,
            documents_dropped=self.dropped,
            kept_bad_text=self.kept_bad_text,
            further_references=self.references,
            shards=tuple(self.records),
        )


def encode_split(
    name: str,
    corpora: Sequence[CorpusConfig],
    config: PrepareConfig,
    tokenizer: Tokenizer,
    workers: int,
    folder: Path,
    ratio: Ratio,
) -> SplitRecord:
    """Encode a split on `workers` processes and write its shards below `folder`; training data is filtered first."""
    held_out = (document for corpus in config.filters.held_out for document in read(corpus, TextFiles()))
    training_filter = Filter(config.filters, held_out) if name == "train" else None
    writer = _SplitWriter(folder, config, training_filter, ratio, corpora)
    folder.mkdir()
    augment = config.augment if name == "train" else None
    documents = stream(f"encoding {name}", corpora)
    for chunk in encode_documents(documents, tokenizer, workers, augment, config.languages):
        writer.add(chunk)
    return writer.finish()


def _kept(side: tuple[Ids, Longs], keep: Mask) -> tuple[Ids, Longs]:
    ids, lengths = side
    return side if keep.all() else (ids[np.repeat(keep, lengths)], lengths[keep])


def _count_bad(chunk: EncodedChunk, config: PrepareConfig) -> int:
    """Bad text in a test set: an error, or kept and counted; never removed."""
    count = 0
    for document in chunk.documents:
        for index in range(len(document)):
            error = bad_text(document, index)
            if error is not None and config.filters.bad_text == "error":
                raise error
            count += error is not None
    return count


def _check_lengths(chunk: EncodedChunk, keep: Mask, config: PrepareConfig) -> None:
    longest = np.where(keep, np.maximum(chunk.source[1], chunk.target[1]), 0)
    if not len(longest) or longest.max() <= config.max_sentence_tokens:
        return
    number = int(longest.argmax())
    for document in chunk.documents:
        if number < len(document):
            raise InputError(
                f"segment {number + 1} of document {document.id!r} has {longest.max()} tokens",
                path=document.place(number)[0],
                line=document.place(number)[1],
                expected=f"at most {config.max_sentence_tokens} (max_sentence_tokens)",
                fix="split the sentence, raise max_sentence_tokens, or, for training data, set filters.max_tokens",
            )
        number -= len(document)
