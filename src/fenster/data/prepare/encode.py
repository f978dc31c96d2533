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

from fenster.data.tokenizer import Ids, Longs, Tokenizer
from fenster.document import ParallelDocument
from fenster.errors import FensterError

CHUNK = 2_000  # sentence pairs
EncodedSide = tuple[Ids, Longs]


@dataclass(frozen=True)
class EncodedChunk:
    """Some whole documents with their ids: sentence n of a side has lengths[n] of the ids, in order."""

    documents: list[ParallelDocument]
    source: EncodedSide
    target: EncodedSide

    @property
    def sizes(self) -> Longs:
        return np.array([len(document) for document in self.documents], dtype=np.int64)


def encode_documents(
    documents: Iterable[ParallelDocument], tokenizer: Tokenizer, workers: int
) -> Iterator[EncodedChunk]:
    """Encode a stream of documents, in order. One worker means this process, without a pool."""
    chunks = _chunks(documents)
    if workers == 1:
        for chunk in chunks:
            yield EncodedChunk(chunk, *_encode(tokenizer, *_texts(chunk)))
        return
    # spawn: this process has threads (progress display), which must not be forked.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context, _start, (tokenizer.model,)) as pool:
        waiting: deque[tuple[list[ParallelDocument], Future[tuple[EncodedSide, EncodedSide]]]] = deque()
        try:
            for chunk in chunks:
                waiting.append((chunk, pool.submit(_work, *_texts(chunk))))
                if len(waiting) > 4 * workers:
                    done, future = waiting.popleft()
                    yield EncodedChunk(done, *future.result())
            while waiting:
                done, future = waiting.popleft()
                yield EncodedChunk(done, *future.result())
        except BrokenProcessPool:
            raise FensterError(
                "an encoding worker was killed, probably out of memory", fix="set fewer workers, or free memory"
            ) from None
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _chunks(documents: Iterable[ParallelDocument]) -> Iterator[list[ParallelDocument]]:
    chunk: list[ParallelDocument] = []
    pairs = 0
    for document in documents:
        chunk.append(document)
        pairs += len(document)
        if pairs >= CHUNK:
            yield chunk
            chunk, pairs = [], 0
    if chunk:
        yield chunk


def _texts(chunk: list[ParallelDocument]) -> tuple[str, str]:
    """Both sides as lines; normalised text holds no line break."""
    return (
        "\n".join(chain.from_iterable(document.source.texts for document in chunk)),
        "\n".join(chain.from_iterable(document.target.texts for document in chunk)),
    )


def _encode(tokenizer: Tokenizer, source: str, target: str) -> tuple[EncodedSide, EncodedSide]:
    return tokenizer.encode(source.split("\n")), tokenizer.encode(target.split("\n"))


_tokenizer: Tokenizer | None = None  # of a worker process, set once by _start


def _start(model: bytes) -> None:
    global _tokenizer
    _tokenizer = Tokenizer(model)


def _work(source: str, target: str) -> tuple[EncodedSide, EncodedSide]:
    assert _tokenizer is not None
    return _encode(_tokenizer, source, target)
