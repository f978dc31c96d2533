"""One split: encoded, filtered if it is training data, and written as shards."""

from __future__ import annotations

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
from fenster.data.prepare.encode import EncodedChunk, encode_documents
from fenster.data.prepare.filters import CODES, KEPT, Filter, Removal, bad_text
from fenster.data.prepare.inputs import read, stream
from fenster.data.tokenizer import Ids, Longs, Tokenizer
from fenster.errors import FensterError, InputError
from fenster.io.files import TextFiles

SHARD_TOKENS = 1 << 22  # target tokens a shard: 8 MiB of ids a side, held in memory until written
Mask = npt.NDArray[np.bool_]


@dataclass
class Ratio:
    """Running averages of source over target tokens of training parts (SPEC 4.3 item 21)."""

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
            raise FensterError("no training pair is left", fix="loosen the filters or check the training corpus")
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
    tokens: int = 0

    def shard(self) -> Shard:
        def offsets(lengths: list[Longs]) -> Longs:
            return np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(np.int64)

        def side(parts: list[tuple[Ids, Longs]]) -> Side:
            return Side(np.concatenate([ids for ids, _ in parts]), offsets([lengths for _, lengths in parts]))

        return Shard(side(self.source), side(self.target), offsets(self.sizes), self.names)


def encode_split(
    name: str,
    corpora: Sequence[CorpusConfig],
    config: PrepareConfig,
    tokenizer: Tokenizer,
    workers: int,
    folder: Path,
    ratio: Ratio,
) -> SplitRecord:
    training = name == "train"
    held_out = (d for corpus in config.filters.held_out for d in read(corpus, TextFiles()))
    judge = Filter(config.filters, held_out if training else ())
    counts = dict.fromkeys(("read_documents", "read_sentences", "cut", "dropped", "kept_bad", "references"), 0)
    removed = dict.fromkeys(CODES, 0)
    records: list[ShardRecord] = []
    buffer = _ShardBuffer()
    folder.mkdir()
    for chunk in encode_documents(stream(f"encoding {name}", corpora), tokenizer, workers):
        sizes = chunk.sizes
        counts["read_documents"] += len(sizes)
        counts["read_sentences"] += int(sizes.sum())
        counts["references"] += sum(len(document.references) for document in chunk.documents)
        if training:
            codes = judge.judge(chunk.documents, chunk.source[1], chunk.target[1])
            for reason, number in CODES.items():
                removed[reason] += int(np.sum(codes == number))
        else:
            codes = np.zeros(int(sizes.sum()), dtype=np.uint8)
            counts["kept_bad"] += _count_bad(chunk, config)
        removal = Removal.apply(codes, sizes, config.filters.after_removal)
        counts["cut"] += removal.cut
        counts["dropped"] += removal.dropped
        if config.filters.after_removal == "drop":
            removed["dropped_document"] = removed.get("dropped_document", 0) + int(
                np.sum((codes == KEPT) & ~removal.keep)
            )
        _check_lengths(chunk, removal.keep, config)
        source, target = (_kept(side, removal.keep) for side in (chunk.source, chunk.target))
        if training:
            ratio.add(source[1], target[1], removal.sizes)
        buffer.source.append(source)
        buffer.target.append(target)
        buffer.sizes.append(removal.sizes)
        buffer.names += removal.names(chunk.documents)
        buffer.tokens += len(target[0])
        if buffer.tokens >= SHARD_TOKENS:
            records.append(buffer.shard().save(folder / f"{len(records):05d}"))
            buffer = _ShardBuffer()
    if buffer.names:
        records.append(buffer.shard().save(folder / f"{len(records):05d}"))
    return SplitRecord(
        documents=sum(record.documents for record in records),
        sentences=sum(record.sentences for record in records),
        source_tokens=sum(record.source_tokens for record in records),
        target_tokens=sum(record.target_tokens for record in records),
        read_documents=counts["read_documents"],
        read_sentences=counts["read_sentences"],
        removed={reason: count for reason, count in removed.items() if count},
        documents_cut=counts["cut"],
        documents_dropped=counts["dropped"],
        kept_bad_text=counts["kept_bad"],
        further_references=counts["references"],
        shards=tuple(records),
    )


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
