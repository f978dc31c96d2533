"""Text in, translations out: the one object that the command line, programs and tests use."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from fenster.corpus.text import checked, normalise
from fenster.decode import full_segment
from fenster.decode.config import DecodeConfig
from fenster.decode.frame import Frame, framed
from fenster.decode.full_segment import Block
from fenster.decode.job import Job, run
from fenster.decode.lane import Lane
from fenster.decode.plan import Plan
from fenster.decode.quantise import quantised
from fenster.decode.result import Translated, Translation
from fenster.decode.sequential import Reading
from fenster.decode.trail import Hypothesis
from fenster.document import Document
from fenster.errors import ConfigError
from fenster.model.align import ALIGNMENTS
from fenster.model.device import find_device
from fenster.model.saved import Saved, load_model
from fenster.tokenize import EOS_ID, SEP_ID, Ids

Pairs = Sequence[tuple[str, str]]
Part = tuple[list[Ids], Block]  # a document's sentences, and some of them to be searched together


class Translator:
    """A loaded model and a way of decoding. Segments without text that the model can read stay as they are."""

    def __init__(self, saved: Saved, config: DecodeConfig | None = None) -> None:
        self.saved, self.config = saved, config or DecodeConfig()
        self.model, self.tokenizer = saved.model, saved.tokenizer
        self._plan = Plan(saved, self.config)
        self.misaligned = 0
        """Parts of the document translated last whose number of sentences was not the source's."""
        alignment = self.config.alignment
        fit = [name for name, kind in ALIGNMENTS.items() if not kind.needs_length]
        if alignment is not None and alignment not in fit:
            raise ConfigError(f"no alignment for decoding is called {alignment!r}", expected=", ".join(fit))
        for name, given in (("alignment", alignment), ("focus", self.config.focus)):
            if given and self.model.config.attention.kind != "window":
                raise ConfigError(f"{name} is for window attention", fix="leave it out")
        self._plan.check()

    @classmethod
    def load(cls, folder: Path | str, config: DecodeConfig | None = None, device: str = "auto") -> Translator:
        """From a model folder; on a GPU where there is one."""
        config = config or DecodeConfig()
        where = find_device("cpu" if config.int8 and device == "auto" else device)
        saved = load_model(Path(folder), where)
        small = saved.description.bits == 8 and where == "cpu" if config.int8 is None else config.int8
        return cls(replace(saved, model=quantised(saved.model)) if small else saved, config)

    @property
    def strategy(self) -> str:
        return self._plan.strategy

    def require_sequential(self) -> None:
        """An error unless earlier translations serve as context."""
        if self.strategy != "sequential":
            raise ConfigError(
                f"{self.strategy} decoding has no use for earlier translations", fix="take the sequential strategy"
            )

    def translate(
        self, document: Document | Sequence[str] | str, history: Pairs = (), gold: Document | None = None
    ) -> Translation:
        """One document: a Document, its segments, or a single one.

        `history` are earlier sentences with their translations, which serve as context and are not translated again;
        `gold` are translations that serve as context instead of the model's own (both sequential decoding only).
        """
        document = _document(document)
        found = list(self.stream(document, history, gold))
        return Translation(document.id, tuple(found), self.misaligned)

    def translate_all(
        self,
        documents: Iterable[Document],
        done: Mapping[int, Sequence[Translated]] | None = None,
        noted: Callable[[int, Translated], None] | None = None,
    ) -> Iterator[Translation]:
        """Several documents in order, each as soon as it and those before it are ready.

        Sequential decoding goes sentence by sentence through `lanes` documents at once, and a document that is done
        makes room for the next; with the other strategies `lanes` blocks are searched at once, of as many documents
        as it takes. Sequential decoding can go on: `done` has what an earlier call made of the first sentences of
        documents (by number; segments without text left out), and `noted` is told of every other one at once.
        """
        if self.strategy != "sequential":
            return self._by_blocks(documents)
        return self._side_by_side(documents, done or {}, noted or (lambda number, translated: None))

    def stream(
        self,
        document: Document | Sequence[str] | str,
        history: Pairs = (),
        gold: Document | None = None,
        done: Sequence[Translated] = (),
    ) -> Iterator[Translated]:
        """The segments of one document in order, as they are ready. `done` are translations of its first segments
        that an earlier call made: only the rest is translated, and yielded."""
        document = _document(document)
        self.misaligned = 0
        return self._stream(document, history, gold, done)

    def _stream(
        self, document: Document, history: Pairs, gold: Document | None, done: Sequence[Translated]
    ) -> Iterator[Translated]:
        if history or gold is not None:
            self.require_sequential()
        frames = [self.frame(text) for text in document.texts]
        real = [place for place, frame in enumerate(frames) if frame.core]
        source = self.tokenizer.encode_each([frames[place].core for place in real])
        if gold is not None and len(gold) != len(document):
            raise ConfigError(f"gold has {len(gold)} segments, and the document {len(document)}")
        golden = (
            None if gold is None else self.tokenizer.encode_each([normalise(gold.texts[place]) for place in real])
        )
        ready = [
            np.array(segment.ids, dtype=self.tokenizer.dtype)
            for segment, frame in zip(done, frames, strict=False)
            if frame.core
        ]
        found = (
            self._sequential(source, history, golden, ready)
            if self.strategy == "sequential"
            else self._blocks([(source, block) for block in self._plan.cut(source)], len(ready))
        )
        for frame in frames[len(done) :]:
            if not frame.core:
                yield Translated(frame.before, frame.before)
                continue
            hypotheses, seconds, misaligned = next(found)
            self.misaligned += misaligned
            yield self._translated(frame, hypotheses, seconds)

    def frame(self, text: str) -> Frame:
        """What the model reads of a segment, and what stays around it."""
        return framed(normalise(text), self.tokenizer.characters)

    # What the strategies yield for each sentence: its hypotheses, best first, how long they took, and whether it
    # begins a part that came out with another number of sentences.

    def _sequential(
        self, source: list[Ids], history: Pairs, gold: list[Ids] | None, done: Sequence[Ids]
    ) -> Iterator[tuple[list[Hypothesis], float, bool]]:
        reading = self._reading(source, history)
        for place, translation in enumerate(done):
            reading.add(translation if gold is None else gold[place])
        for place in range(len(done), len(source)):
            began = time.perf_counter()
            (hypotheses,) = self._run([self._plan.next(reading)])
            reading.add(self._ids(hypotheses[0]) if gold is None else gold[place])
            yield hypotheses, time.perf_counter() - began, False

    def _blocks(self, blocks: list[Part], done: int = 0) -> Iterator[tuple[list[Hypothesis], float, bool]]:
        """From sentence `done` of the first document on; a block that was interrupted is searched again."""
        blocks = [(source, block) for source, block in blocks if block.last > done]
        for begin in range(0, len(blocks), self.config.lanes):
            group = blocks[begin : begin + self.config.lanes]
            began = time.perf_counter()
            found = list(self._search_blocks(group))
            seconds = (time.perf_counter() - began) / len(found)
            skip = max(0, done - group[0][1].first) if begin == 0 else 0
            before = any(misaligned for _, misaligned in found[:skip])  # of a block that was begun already
            for place, (hypotheses, misaligned) in enumerate(found[skip:]):
                yield hypotheses, seconds, misaligned or (before and place == 0)

    def _by_blocks(self, documents: Iterable[Document]) -> Iterator[Translation]:
        waiting: list[Lane] = []
        blocks: list[Part] = []
        for document in documents:
            waiting.append(self._lane(document))
            source = waiting[-1].reading.source
            blocks += [(source, block) for block in self._plan.cut(source)]
            if len(blocks) >= self.config.lanes:
                yield from self._searched(waiting, blocks)
                waiting, blocks = [], []
        yield from self._searched(waiting, blocks)

    def _searched(self, lanes: list[Lane], blocks: list[Part]) -> Iterator[Translation]:
        found = self._blocks(blocks)
        for lane in lanes:
            self.misaligned = 0
            for frame in lane.real:
                hypotheses, seconds, misaligned = next(found)
                self.misaligned += misaligned
                lane.add(self._translated(frame, hypotheses, seconds), self._ids(hypotheses[0]))
            yield replace(lane.translation, misaligned=self.misaligned)

    def _side_by_side(
        self,
        documents: Iterable[Document],
        done: Mapping[int, Sequence[Translated]],
        noted: Callable[[int, Translated], None],
    ) -> Iterator[Translation]:
        waiting, lanes = enumerate(documents), deque[Lane]()  # in the order of documents
        while True:
            while sum(not lane.done for lane in lanes) < self.config.lanes:
                number, document = next(waiting, (-1, None))
                if document is None:
                    break
                lanes.append(self._lane(document, number))
                for each in done.get(number, ()):
                    lanes[-1].add(each, np.array(each.ids, dtype=self.tokenizer.dtype))
            active = [lane for lane in lanes if not lane.done]
            if active:
                began = time.perf_counter()
                results = self._run([self._plan.next(lane.reading) for lane in active])
                seconds = (time.perf_counter() - began) / len(active)
                for lane, hypotheses in zip(active, results, strict=True):
                    translated = self._translated(lane.frame, hypotheses, seconds)
                    lane.add(translated, self._ids(hypotheses[0]))
                    noted(lane.number, translated)
            while lanes and lanes[0].done:
                yield lanes.popleft().translation
            if not lanes and not active:
                return

    def _lane(self, document: Document, number: int = 0) -> Lane:
        frames = [self.frame(text) for text in document.texts]
        real = [frame for frame in frames if frame.core]
        source = self.tokenizer.encode_each([frame.core for frame in real])
        return Lane(number, document.id, frames, real, self._reading(source, ()))

    def _reading(self, source: list[Ids], history: Pairs) -> Reading:
        earlier = self.tokenizer.encode_each([normalise(pair[0]) for pair in history])
        reading = Reading(earlier + source)
        for translation in self.tokenizer.encode_each([normalise(pair[1]) for pair in history]):
            reading.add(translation)
        return reading

    def _search_blocks(self, group: list[Part]) -> Iterator[tuple[list[Hypothesis], bool]]:
        """Of each sentence of some blocks: its hypotheses, and whether it begins a block with another count."""
        forced = self.config.count == "forced" or self.strategy == "sentence"
        jobs = [self._plan.whole(source, block, forced=forced) for source, block in group]
        for (source, block), found in zip(group, self._run(jobs), strict=True):
            count = block.last - block.first
            if count == 1 and forced:
                yield [_sentence(h, 0, full_segment.sentences(h)) for h in found], False
                continue
            best = found[0]
            parts = full_segment.sentences(best)
            misaligned = len(parts) != count
            if misaligned and self.config.count == "repair":
                for place, hypotheses in enumerate(self._repair(source, block)):
                    yield hypotheses, place == 0
                continue
            parts = full_segment.fitted(parts, count)
            for place in range(count):
                yield [_sentence(best, place, parts)], misaligned and place == 0

    def _repair(self, source: list[Ids], block: Block) -> Iterator[list[Hypothesis]]:
        """The sentences of a block again, one after the other."""
        reading = Reading(source[block.first : block.last])
        for _ in reading.source:
            (hypotheses,) = self._run([self._plan.in_context(reading, first=0, bod=block.bod)])
            reading.add(self._ids(hypotheses[0]))
            yield hypotheses

    def _run(self, jobs: list[Job]) -> list[list[Hypothesis]]:
        config = self.config
        return run(
            self.model,
            jobs,
            beam=config.beam,
            normalisation=config.normalisation,
            alignment=config.alignment,
            focus=config.focus,
            precision=config.precision,
        )

    def _ids(self, hypothesis: Hypothesis) -> Ids:
        kept = [token for token in hypothesis.ids if token not in (SEP_ID, EOS_ID)]
        return np.array(kept, dtype=self.tokenizer.dtype)

    def _translated(self, frame: Frame, hypotheses: list[Hypothesis], seconds: float) -> Translated:
        # Hypotheses that differ only in their end symbol or spelling are one text, with the best score. Bytes may
        # spell line breaks, which no segment may hold.
        texts: dict[str, float] = {}
        for hypothesis in hypotheses:
            text = normalise(self.tokenizer.decode(self._ids(hypothesis)))
            texts.setdefault(f"{frame.before}{text}{frame.after}", hypothesis.score)
        (text, score), *others = texts.items()
        best = hypotheses[0]
        ids = tuple(self._ids(best).tolist())
        return Translated("".join(frame), text, ids, score, bool(best.capped), tuple(others), seconds)


def _sentence(hypothesis: Hypothesis, place: int, parts: list[tuple[int, ...]]) -> Hypothesis:
    """One sentence of a hypothesis over several; the score stays that of the whole."""
    capped = (0,) if place in hypothesis.capped else ()
    return Hypothesis(parts[place], hypothesis.score, hypothesis.logprob, capped)


def _document(given: Document | Sequence[str] | str) -> Document:
    if isinstance(given, Document):
        return given
    return Document.of("", checked([given] if isinstance(given, str) else given))
