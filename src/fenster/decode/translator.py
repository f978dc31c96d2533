"""Text in, translations out: the one object that the command line, programs and tests use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path
from typing import Any, Self

import numpy as np

from fenster.data.text import normalise
from fenster.data.tokenizer import SEP_ID, Ids
from fenster.decode.assemble import Assembler
from fenster.decode.config import FILE_SETTINGS, DecodeConfig
from fenster.decode.cross_attention import cross_attention
from fenster.decode.document_plan import DocumentPlan, PlannedSegment
from fenster.decode.document_state import DocumentState
from fenster.decode.document_style import DocumentStyle
from fenster.decode.given import Given, Pairs, as_document, as_done, as_history
from fenster.decode.glossary import GivenTerms
from fenster.decode.glossary_search import GlossarySearch
from fenster.decode.guards import Checker
from fenster.decode.loading import load_for_decoding, make_searcher
from fenster.decode.passthrough import split_passthrough
from fenster.decode.piece import SegmentPlan
from fenster.decode.plan import Planner
from fenster.decode.pool import DocumentPool, SegmentEvent
from fenster.decode.result import Translated, Translation
from fenster.decode.search import ControlSymbols, Hypothesis, SearchRequest
from fenster.decode.second_try import SecondTry
from fenster.decode.strategies import SourceDocument, SourceSentence, make_strategy
from fenster.document import Document, Segment
from fenster.errors import ConfigError, InputError
from fenster.io.hashing import file_sha256
from fenster.language import REGISTERS, Register, checked_register
from fenster.language.quotes import DocumentQuotes
from fenster.model.attention.alignment import decoding_alignments
from fenster.model.description import AnyModel


class Translator:
    """A loaded model and a way of decoding. Segments without text that the model can read are copied."""

    def __init__(self, loaded: AnyModel, config: DecodeConfig | None = None) -> None:
        self.loaded, self.config = loaded, config or DecodeConfig()
        self.tokenizer = loaded.tokenizer
        _check_windows(loaded, self.config)
        self.strategy = make_strategy(loaded, self.config)
        symbols = ControlSymbols.of(self.tokenizer)
        self._searcher = make_searcher(loaded, self.config, symbols, self.tokenizer.joins_word)
        self.planner = Planner(self.tokenizer, loaded.description.languages, self.config, loaded.lexicon)
        attention = partial(cross_attention, loaded)
        planner = self.planner
        checker = Checker(self.tokenizer, planner.counter, planner.converter, planner.target_letters, attention)
        self._assembler = Assembler(loaded, checker)
        self._second_try = SecondTry(self._searcher, self.planner, self.tokenizer, self.strategy, checker)
        self._glossary_search = GlossarySearch(self._searcher, self.planner, self.tokenizer)
        # Not of `self`: a translator is freed as soon as nobody uses it, with its weights.
        self._planner_with = lru_cache(8)(lambda terms: planner.with_terms(dict(terms)))
        self.memory = read_memory(self.config.memory)
        self._register(Segment(""))  # the settings' own

    @classmethod
    def load(cls, folder: Path | str, config: DecodeConfig | None = None, device: str = "auto") -> Self:
        """From a model folder; on a GPU if there is one."""
        config = config or DecodeConfig()
        return cls(load_for_decoding(Path(folder), config, device), config)

    def settings(self) -> dict[str, Any]:
        """All settings that translations depend on, files by their content."""
        return settings_of(self.config)

    def translate(
        self,
        document: Given,
        history: Pairs = (),
        gold: Given | None = None,
        register: Register | None = None,
    ) -> Translation:
        """One document: a Document, its segments, or a single one.

        `history` are earlier sentences with their translations, which serve as context and are not translated again;
        `gold` are translations that serve as context instead of the model's own (both sequential decoding only).
        `register` is that of all segments that have none of their own, instead of the settings'.

            translator.translate(["Here is the lamp.", "It is very old."]).texts
        """
        given = as_document(document)
        if register is not None:
            segments = (one if one.register else one._replace(register=register) for one in given.segments)
            given = Document(given.id, tuple(segments))
        return next(self.translate_all([given], history=history, gold=gold))

    def stream(
        self, document: Given, history: Pairs = (), gold: Given | None = None, done: Sequence[Translated] = ()
    ) -> Iterator[Translated]:
        """The segments of one document in order, as they are ready. `done` are translations of its first segments
        that an earlier call made: only the rest is translated, and yielded."""
        events = self.segments([document], {0: done}, history=history, gold=gold)
        return (event.translated for event in events)

    def translate_all(
        self, documents: Iterable[Given], *, history: Pairs = (), gold: Given | None = None
    ) -> Iterator[Translation]:
        """Several documents in order, each as soon as it and those before it are ready."""
        if isinstance(documents, str | Document) or not isinstance(documents, Iterable):
            raise InputError(f"{documents!r} is not several documents", fix="call translate for a single one")
        segments: dict[int, list[Translated]] = {}
        ids: list[str] = []
        sizes: list[int] = []
        next_number = 0

        def read() -> Iterator[Document]:
            for given in documents:
                document = as_document(given)
                ids.append(document.id)
                sizes.append(len(document))
                yield document

        def whole() -> Iterator[Translation]:
            nonlocal next_number
            while next_number < len(sizes) and len(segments.get(next_number, ())) == sizes[next_number]:
                yield Translation(ids[next_number], tuple(segments.pop(next_number, ())))
                next_number += 1

        for event in self.segments(read(), history=history, gold=gold):
            segments.setdefault(event.document, []).append(event.translated)
            yield from whole()
        yield from whole()

    def segments(
        self,
        documents: Iterable[Given],
        done: Mapping[int, Sequence[Translated]] | None = None,
        *,
        history: Pairs = (),
        gold: Given | None = None,
    ) -> Iterator[SegmentEvent]:
        """Every segment as soon as it is ready, in order within its document.

        `batch_size` searches run at once, of as many documents as that takes; a document that is finished makes room
        for the next. `done` holds, by document, the translations of its first segments that an earlier call made:
        they are context, and are not made again.
        """
        history = as_history(history)
        if history or gold is not None:
            self.strategy.require_history()
        waiting = enumerate(documents)
        pool = self.pool()
        exhausted = False
        while not exhausted or len(pool):
            pool.gather()
            while pool.has_room and not exhausted:
                number, given = next(waiting, (None, ""))
                if number is None:
                    exhausted = True
                    break
                known = (done or {}).get(number, ())
                pool.add(self.open(number, as_document(given), known, history=history, gold=gold))
            yield from pool.step()

    def pool(self) -> DocumentPool:
        """For documents that come and go: `open` them, and add them to it."""
        return DocumentPool(self._search, self._assembler, self.config.batch_size)

    def is_unreadable(self, text: str) -> bool:
        """True if a segment is copied because the model does not know its characters, not because it has no words."""
        text = normalise(text)
        if split_passthrough(text, self.tokenizer.characters).is_copied:
            return not set(text) <= self.tokenizer.characters
        if not self.planner.reader.has_unusual_letters(text):
            return False
        plan = self.planner.plan(text)
        return plan.is_copied and not plan.warnings

    def _search(self, requests: Sequence[SearchRequest], owners: Sequence[DocumentState]) -> list[list[Hypothesis]]:
        """The hypotheses of each request; those of results that look wrong, or lack a term of the glossary, come from
        a second try."""
        results = self._searcher.search(requests)
        pieces = [state.piece(request) for state, request in zip(owners, requests, strict=True)]
        if self.config.guards:
            results = self._second_try.improved(requests, pieces, results)
        return self._glossary_search.improved(requests, pieces, results)

    def open(
        self,
        number: int,
        document: Document,
        done: Sequence[Translated] = (),
        *,
        history: Pairs = (),
        gold: Given | None = None,
        terms: GivenTerms | None = None,
    ) -> DocumentState:
        """A document that is ready for a pool, under a number of the caller's choice; `terms` are its glossary."""
        gold = None if gold is None else as_document(gold)
        if gold is not None and len(gold) != len(document):
            raise ConfigError(f"gold has {len(gold)} segments, but the document has {len(document)}")
        for segment in document.segments:
            self._register(segment)
        plan = DocumentPlan(self._planned(document, self.planner_with(terms or {}), gold), len(document))
        known: list[Ids] = []
        done = as_done(done, document)
        for index, one in enumerate(done):
            if one.source != plan[index].source:
                raise InputError(
                    f"done: segment {index} translates {one.source!r}, but the document has {plan[index].source!r}"
                )
            known += (
                np.array(ids, dtype=self.tokenizer.dtype) for ids in _by_piece(one.ids, len(plan[index].pieces))
            )
            plan.drop(index)
        earlier = list(zip(*(self._encode([pair[side] for pair in history]) for side in (0, 1)), strict=True))
        context = (SourceSentence(ours, known=theirs) for ours, theirs in earlier)
        session = self.strategy.begin(SourceDocument(chain(context, plan.sentences()), known))
        policy = self.config.quotes if self.config.protection else "model"
        quotes = DocumentQuotes(self.planner.quotes, policy, [*(source for source, _ in history), *document.texts])
        style = DocumentStyle(self.planner.counter, quotes, self.config.register == "steady")
        for one in done:
            style.add(one.source, one.text)
        return DocumentState(number, plan, len(done), session, style)

    def _planned(self, document: Document, planner: Planner, gold: Document | None) -> Iterator[PlannedSegment]:
        """Segment by segment. Of gold translations, as the model would have spelt them, the first piece has all."""
        for index, segment in enumerate(document.segments):
            text = normalise(segment.text)
            if text in self.memory and not segment.marks:
                ours, theirs = self._encode([text, self.memory[text]])
                copied = SegmentPlan(text, (self.memory[text],))
                yield PlannedSegment(copied, (SourceSentence(ours, known=theirs),))
                continue
            plan = planner.plan(segment.text, self._register(segment), segment.marks)
            sentences = [SourceSentence(piece.source) for piece in plan.pieces]
            if gold is not None:
                (spelt,) = self._encode([gold.segments[index].text])
                golds = [spelt, *([spelt[:0]] * len(sentences))]
                sentences = [one._replace(gold=ids) for one, ids in zip(sentences, golds, strict=False)]
            yield PlannedSegment(plan, tuple(sentences))

    def planner_with(self, terms: GivenTerms) -> Planner:
        """The planner of documents with these terms; those of the last few glossaries are kept."""
        if not terms:
            return self.planner
        forms = ((source, form if isinstance(form, str) else tuple(form)) for source, form in terms.items())
        return self._planner_with(tuple(forms))

    def _register(self, segment: Segment) -> Register | None:
        """The register that a segment asks for, or the settings do."""
        wanted = checked_register(segment.register) or self.config.register
        register = next((known for known in REGISTERS if known == wanted), None)
        return None if register is None else self._check_register(register)

    def _check_register(self, register: Register) -> Register:
        if register not in self.tokenizer.registers:
            raise ConfigError(
                "this model does not support registers: it has no symbols for them",
                fix="leave the register out, or choose a model that was prepared with tokenizer.symbols",
            )
        return register

    def _encode(self, texts: Sequence[str]) -> list[Ids]:
        return self.tokenizer.encode_each([normalise(text) for text in texts])


def settings_of(config: DecodeConfig) -> dict[str, Any]:
    """All settings that translations depend on, files by their content."""
    files = {name: getattr(config, name) for name in FILE_SETTINGS}
    hashes = {name: None if path is None else file_sha256(path) for name, path in files.items()}
    return config.model_dump(exclude={"threads"}) | hashes


def read_memory(path: Path | None) -> dict[str, str]:
    """Translations by their sources; of several the last."""
    if path is None:
        return {}
    from fenster.data.corpora.pairs import read_pairs  # and with it the readers of all corpora

    pairs = read_pairs(path)
    return {normalise(source): normalise(target) for source, target in pairs}


def _by_piece(ids: Sequence[int], count: int) -> list[list[int]]:
    """The ids of each piece of a translation, cut at `<sep>`."""
    pieces: list[list[int]] = [[]]
    for id in ids:
        if id == SEP_ID:
            pieces.append([])
        else:
            pieces[-1].append(id)
    return (pieces + [[] for _ in range(count)])[:count]


def _check_windows(loaded: AnyModel, config: DecodeConfig) -> None:
    """Settings of windows are refused if the model has none."""
    known = decoding_alignments()
    if config.alignment is not None and config.alignment not in known:
        raise ConfigError(f"unknown alignment for decoding {config.alignment!r}", expected=", ".join(known))
    for name, value in (("alignment", config.alignment), ("focus", config.focus)):
        if value and loaded.description.model.variant.decoding_alignment is None:
            raise ConfigError(f"{name} applies only to window attention", fix="leave it out")
