"""Documents to token ids on all cores, in order, with bounded memory.

Documents are grouped into chunks; worker processes encode them while this one keeps reading. Text crosses the
process border as one string per side and ids as one array per side, so that crossing it costs next to nothing.
"""

from __future__ import annotations

import multiprocessing
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from itertools import chain

import numpy as np

from fenster.data.prepare.augment import Augmenter
from fenster.data.prepare.config import AugmentConfig
from fenster.data.tokenizer import Ids, Longs, Tokenizer
from fenster.document import ParallelDocument
from fenster.errors import FensterError

CHUNK = 2_000  # sentence pairs
_CACHED_WORDS = 1 << 18  # by the tokenizer of each process
EncodedSide = tuple[Ids, Longs]
EncodedPair = tuple[EncodedSide, EncodedSide]
NumberedDocument = tuple[int, ParallelDocument]


@dataclass(frozen=True)
class EncodedChunk:
    """Some whole documents of one corpus with their ids: sentence n of a side has lengths[n] of the ids, in order."""

    corpus: int
    documents: list[ParallelDocument]
    versions: list[EncodedPair]
    """The plain one first, then the augmented ones."""

    @property
    def source(self) -> EncodedSide:
        return self.versions[0][0]

    @property
    def target(self) -> EncodedSide:
        return self.versions[0][1]

    @property
    def sizes(self) -> Longs:
        return np.array([len(document) for document in self.documents], dtype=np.int64)


def encode_documents(
    documents: Iterable[NumberedDocument],
    tokenizer: Tokenizer,
    workers: int,
    augment: AugmentConfig | None = None,
    languages: tuple[str, str] = ("en", "de"),
) -> Iterator[EncodedChunk]:
    """Encode a stream of (corpus, document), in order. One worker means this process, without a pool."""
    chunks = _chunks(documents)
    settings = (tokenizer.model, augment if augment is not None and augment.versions else None, languages)
    if workers == 1:
        encoder = _Encoder(*settings)
        for corpus, chunk in chunks:
            yield EncodedChunk(corpus, chunk, encoder.encode(*_texts(chunk)))
        return
    # spawn: this process has threads (progress display), which must not be forked.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context, _start, settings) as pool:
        waiting: deque[tuple[int, list[ParallelDocument], Future[list[EncodedPair]]]] = deque()
        try:
            for corpus, chunk in chunks:
                waiting.append((corpus, chunk, pool.submit(_work, *_texts(chunk))))
                if len(waiting) > 4 * workers:
                    number, done, future = waiting.popleft()
                    yield EncodedChunk(number, done, future.result())
            while waiting:
                number, done, future = waiting.popleft()
                yield EncodedChunk(number, done, future.result())
        except BrokenProcessPool:
            raise FensterError(
                "an encoding worker was killed, probably out of memory", fix="set fewer workers, or free memory"
            ) from None
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _chunks(documents: Iterable[NumberedDocument]) -> Iterator[tuple[int, list[ParallelDocument]]]:
    chunk: list[ParallelDocument] = []
    pairs = current = 0
    for corpus, document in documents:
        if chunk and (corpus != current or pairs >= CHUNK):
            yield current, chunk
            chunk, pairs = [], 0
        current = corpus
        chunk.append(document)
        pairs += len(document)
    if chunk:
        yield current, chunk


def _texts(chunk: list[ParallelDocument]) -> tuple[str, str, list[int], list[str]]:
    """Both sides as lines, and the size and name of each document; normalised text holds no line break."""
    return (
        "\n".join(chain.from_iterable(document.source.texts for document in chunk)),
        "\n".join(chain.from_iterable(document.target.texts for document in chunk)),
        [len(document) for document in chunk],
        [document.id for document in chunk],
    )


class _Encoder:
    def __init__(self, model: bytes, augment: AugmentConfig | None, languages: tuple[str, str]) -> None:
        self._tokenizer = Tokenizer(model, _CACHED_WORDS)
        self._versions = 0 if augment is None else augment.versions
        self._augmenter = None if augment is None else Augmenter(augment, languages, self._tokenizer)

    def encode(self, source: str, target: str, sizes: list[int], names: list[str]) -> list[EncodedPair]:
        """Every version of some documents."""
        sources, targets = source.split("\n"), target.split("\n")
        versions = [(self._tokenizer.encode(sources), self._tokenizer.encode(targets))]
        if self._augmenter is not None:
            for version in range(1, self._versions + 1):
                versions.append(self._augmenter.encode(sources, targets, sizes, names, version))
        return versions


_encoder: _Encoder | None = None  # of a worker process, set once by _start


def _start(model: bytes, augment: AugmentConfig | None, languages: tuple[str, str]) -> None:
    global _encoder
    _encoder = _Encoder(model, augment, languages)


def _work(source: str, target: str, sizes: list[int], names: list[str]) -> list[EncodedPair]:
    assert _encoder is not None
    return _encoder.encode(source, target, sizes, names)
