"""Searches on a CPU with the compiled library: one call runs the steps of all of a batch."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from fenster.data.examples import concatenate
from fenster.data.tokenizer import EOS_ID, SEP_ID
from fenster.decode.config import DecodeConfig
from fenster.decode.search.base import Searcher
from fenster.decode.search.constraints import ControlSymbols
from fenster.decode.search.hypothesis import Hypothesis
from fenster.decode.search.memory import free_memory, most_at_once
from fenster.decode.search.request import SearchRequest, SharedContext
from fenster.decode.search.terms import Logs
from fenster.io.native_library import required_library
from fenster.model.attention.alignment import ALIGNMENTS, Alignment, OneSequence
from fenster.model.compiled.matrix import MORE, check
from fenster.model.compiled.network import CompiledNetwork
from fenster.model.compiled.structures import Request, Settings, Source, int32, pointer
from fenster.model.compiled.target import TargetLimits, TargetSequence

_FLOAT32_SHARE = 4  # requests
_MILLISECONDS = 100  # between two looks at signals


class CompiledSearcher(Searcher):
    def __init__(
        self,
        network: CompiledNetwork,
        config: DecodeConfig,
        symbols: ControlSymbols | None = None,
        joins_word: NDArray[np.bool_] | None = None,
    ) -> None:
        super().__init__(config, symbols, joins_word)
        self.network = network
        self.trims_source = True
        """Encode only what later tokens can depend on; False only to measure."""
        self._memories: WeakKeyDictionary[SharedContext, _Memory] = WeakKeyDictionary()

    @contextmanager
    def _steps(self, readings: Sequence[SearchRequest], width: int) -> Iterator[_Steps]:
        with self._begun(readings, width, shares=1) as handle:
            yield _Steps(handle, len(readings), self.network.vocab_size)

    def _search(self, requests: Sequence[SearchRequest]) -> list[list[Hypothesis]]:
        library = required_library()
        # Each share reads all weights: those of 32 bits are worth it only for several requests.
        shares = self._threads if self.network.int8 else max(1, len(requests) // _FLOAT32_SHARE)
        with self._begun(requests, self.config.beam, shares=min(shares, self._threads)) as handle:
            while check(library.fenster_search_run(handle, _MILLISECONDS)) == MORE:
                pass
            numbers, scores = ctypes.c_void_p(), ctypes.c_void_p()
            counts = (
                library.fenster_search_numbers(handle, ctypes.byref(numbers)),
                library.fenster_search_scores(handle, ctypes.byref(scores)),
            )
            return _read(_array(numbers, np.int32, counts[0]), _array(scores, np.float64, counts[1]))

    @contextmanager
    def _begun(self, requests: Sequence[SearchRequest], lines: int, shares: int) -> Iterator[ctypes.c_void_p]:
        """Searches before their first step, of at most so many hypotheses per request. Requests are divided among so
        many threads at most, each with its share."""
        library, network = required_library(), self.network
        made = [self._request(request) for request in requests]
        structures = (Request * len(made))(*(request for request, _ in made))
        handle = ctypes.c_void_p()
        status = library.fenster_search_new(
            ctypes.byref(network.structure),
            ctypes.byref(self._settings()),
            structures,
            *(len(made), lines, self._threads, shares),
            ctypes.byref(handle),
        )
        check(status)
        try:
            yield handle
        finally:
            library.fenster_search_free(handle)

    @property
    def _threads(self) -> int:
        return self.config.threads or self.network.threads

    def _settings(self) -> Settings:
        config, placeholders = self.config, self.symbols.placeholders
        focus = self.network.config.variant.focus if config.focus is None else config.focus
        return Settings(
            *(config.beam, config.normalisation, SEP_ID, EOS_ID),
            *(self.symbols.end, placeholders.start, len(placeholders), focus),
        )

    def _alignment(self) -> Alignment | None:
        name = self.config.alignment or self.network.config.variant.decoding_alignment
        return None if name is None else ALIGNMENTS[name](self.network.ratio)

    def _request(self, request: SearchRequest) -> tuple[Request, list[Any]]:
        """The structure, and what it points to."""
        network, limits = self.network, request.constraints
        side, alignment = concatenate(request.source, bod=request.bod), self._alignment()
        source = OneSequence(side.starts, request.source_offset)
        given = TargetSequence.before(
            request.decoder_inputs, [len(sentence) for sentence in request.prefix], request.target_offset
        )
        target, kept = given.searched(source, alignment, self._target_limits(request))
        ids, max_tokens = network.tokens(side.ids), int32(limits.max_tokens)
        network.tokens(given.inputs)
        memory = None if request.shared is None else self._memory(request.shared)
        required, banned = self._required(request), self._banned(request)
        needed = given.needed_source(source, alignment, network.config) if self.trims_source else len(ids)
        begins = int32(side.starts)
        structure = Request(
            Source(
                *(pointer(ids), pointer(begins), len(ids), side.sentences, request.source_offset, needed),
                None if memory is None else memory.address,
            ),
            target,
            *(pointer(max_tokens), len(max_tokens), limits.min_tokens, limits.forced_count, limits.stop_at_separator),
            *(pointer(required), pointer(banned)),
        )
        return structure, [begins, kept, ids, max_tokens, memory, required, banned]

    def _target_limits(self, request: SearchRequest) -> TargetLimits:
        """A sentence may have its placeholders and terms beyond its limit, and a search without a forced count twice
        as many sentences as it should have, and one more."""
        limits = request.constraints
        beyond = len(self.symbols.placeholders) + sum(max(map(len, forms)) for forms in request.terms)
        count, longest = len(limits.max_tokens), max(limits.max_tokens) + beyond
        sentences = count if limits.forced_count or limits.stop_at_separator else 2 * count + 1
        return TargetLimits(sentences, longest, sentences * (longest + 1) + 1)

    def _required(self, request: SearchRequest) -> NDArray[np.uint8] | None:
        """[sentences, P] the placeholders of each sentence to come; None if there are none."""
        wanted = np.zeros((len(request.constraints.max_tokens), len(self.symbols.placeholders)), dtype=np.uint8)
        for number, sentence in enumerate(request.to_come):
            wanted[number] = self.symbols.required(sentence)
        return wanted if wanted.any() else None

    def _banned(self, request: SearchRequest) -> NDArray[np.uint8] | None:
        if not len(request.banned):
            return None
        banned = np.zeros(self.network.vocab_size, dtype=np.uint8)
        banned[list(request.banned)] = 1
        return banned

    def _memory(self, shared: SharedContext) -> _Memory:
        if shared not in self._memories:
            self._memories[shared] = _Memory()
        return self._memories[shared]

    def _fitting(self, requests: Sequence[SearchRequest]) -> int:
        network = self.network
        return most_at_once(network.config, network.vocab_size, requests, self.config.beam, free_memory())

    def _is_out_of_memory(self, error: BaseException) -> bool:
        return isinstance(error, MemoryError)


class _Memory:
    """The encoder states of a document that its next source may need; the library checks what it can use."""

    def __init__(self) -> None:
        self._library = required_library()
        self.address: int | None = self._library.fenster_memory_new()

    def __del__(self) -> None:
        self._library.fenster_memory_free(self.address)


class _Steps:
    """The steps of a search for terms."""

    def __init__(self, handle: ctypes.c_void_p, readings: int, vocab_size: int) -> None:
        self._library, self._handle, self._readings = required_library(), handle, readings
        self._vocab_size, self._lines = vocab_size, 1

    def logs(self) -> Logs:
        out = np.empty((self._readings, self._lines, self._vocab_size), dtype=np.float32)
        check(self._library.fenster_search_logs(self._handle, pointer(out)))
        return out

    def step(self, parents: Sequence[int], tokens: Sequence[int]) -> None:
        first = np.arange(self._readings)[:, None] * self._lines
        rows = np.ascontiguousarray(first + np.array(parents), dtype=np.int64)
        ids = int32(np.tile(tokens, self._readings))
        check(self._library.fenster_search_step(self._handle, pointer(rows), pointer(ids), rows.size))
        self._lines = len(parents)


def _array(address: ctypes.c_void_p, kind: type[np.generic], count: int) -> NDArray[Any]:
    """A copy of what the library has written. (`np.ctypeslib.as_array` would keep a type for each count for ever.)"""
    return np.frombuffer(ctypes.string_at(address, count * np.dtype(kind).itemsize) if count else b"", dtype=kind)


def _read(numbers: NDArray[np.int32], scores: NDArray[np.float64]) -> list[list[Hypothesis]]:
    """The hypotheses of each search, as native/search.cpp writes them."""
    values, pairs = numbers.tolist(), iter(scores.tolist())
    results: list[list[Hypothesis]] = []
    at = 0
    while at < len(values):
        count, at = values[at], at + 1
        results.append([])
        for _ in range(count):
            # Tuples of slices: those of generators are resized, of which Python keeps thousands that were freed.
            begin, middle = at + 1, at + 1 + values[at]
            at = middle + values[at]
            ids, forced = tuple(values[begin:middle]), values[middle:at]
            logprob, score = next(pairs), next(pairs)
            results[-1].append(Hypothesis(ids, score, logprob, tuple(sorted({*forced} - {-1}))))
    return results
