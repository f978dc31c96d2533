"""Search results to translated segments: protected spans written out, alternatives, warnings."""

from __future__ import annotations

from collections.abc import Sequence

from fenster.data.text import SPACES
from fenster.data.tokenizer import SEP_ID, Ids
from fenster.decode.cross_attention import cross_attention
from fenster.decode.document_style import DocumentStyle
from fenster.decode.guards import UNSURE, Checker
from fenster.decode.mark_placement import Words, insert_marks
from fenster.decode.piece import Piece, SegmentPlan
from fenster.decode.result import Translated
from fenster.decode.search import Hypothesis
from fenster.decode.stand_ins import StandIns
from fenster.decode.strategies import SentenceResult
from fenster.decode.strategies.base import without_symbols
from fenster.language.capitals import begun_as, capitals
from fenster.language.protected_text import Placeholder, visible
from fenster.language.quotes import DocumentQuotes, with_quotes
from fenster.model.description import AnyModel

_FEWEST_TOKENS = 5  # of a translation that may be called unsure


class Assembler:
    def __init__(self, loaded: AnyModel, checker: Checker) -> None:
        self._loaded, self._tokenizer, self._checker = loaded, loaded.tokenizer, checker

    def translated(
        self, plan: SegmentPlan, results: Sequence[SentenceResult], seconds: float, style: DocumentStyle
    ) -> Translated:
        if not results:
            return Translated(plan.source, plan.joined([]), warnings=plan.warnings)
        best = [result.hypotheses[0] for result in results]
        # Hypotheses that differ only in their end symbol or spelling are one text, with the best score. A segment of
        # several pieces has no alternatives, nor has one with inline markup.
        texts: dict[str, float] = {}
        only_best = len(results) > 1 or plan.pieces[0].enclosed
        for hypotheses in [best] if only_best else [[one] for one in results[0].hypotheses]:
            score = sum(one.score for one in hypotheses) / len(hypotheses)
            texts.setdefault(self._text(plan, hypotheses, style.quotes), score)
        (text, score), *others = texts.items()
        ids = [without_symbols(hypothesis).tolist() for hypothesis in best]
        missed = self._missed_terms(plan, best)
        return Translated(
            plan.source,
            text,
            tuple(id for number, piece in enumerate(ids) for id in ([SEP_ID] if number else []) + piece),
            score,
            any(hypothesis.capped for hypothesis in best),
            any(result.misaligned for result in results),
            tuple(others),
            seconds,
            self._warnings(plan, best, text, style) + ("glossary",) * bool(missed),
            missed,
        )

    def _missed_terms(self, plan: SegmentPlan, best: Sequence[Hypothesis]) -> tuple[str, ...]:
        return tuple(
            str(term)
            for piece, hypothesis in zip(plan.pieces, best, strict=True)
            if piece.terms
            for term in piece.missing_terms(visible(self._tokenizer.decode_marked(without_symbols(hypothesis))))
        )

    def _text(self, plan: SegmentPlan, hypotheses: Sequence[Hypothesis], quotes: DocumentQuotes) -> str:
        """The translation of a segment; its protected spans are written out last, so that nothing changes them."""
        pieces: list[str] = []
        for piece, hypothesis in zip(plan.pieces, hypotheses, strict=True):
            parts = self._tokenizer.decode_marked(without_symbols(hypothesis))
            # Bytes may spell line breaks, which no segment may hold.
            cleaned = [SPACES.sub(" ", part) if isinstance(part, str) else part for part in parts]
            if pair := quotes.pair_for(piece.text.visible):
                cleaned = with_quotes(cleaned, pair)
            if piece.is_capitals:
                cleaned = [capitals(part) if isinstance(part, str) else part for part in cleaned]
            cleaned = piece.text.spaced(cleaned)
            if piece.enclosed:
                cleaned = self._with_marks(piece, hypothesis, cleaned)
            text = piece.text.restore(piece.text.rejoined(cleaned))
            text = piece.with_figures(text.strip(" "))
            if text.endswith("..") and not text.endswith("...") and not piece.text.source.endswith(".."):
                text = text[:-1]  # a stop behind a placeholder, said twice
            pieces.append(text if pieces else begun_as(text, piece.text.source))
        return plan.joined(pieces)

    def _with_marks(
        self, piece: Piece, hypothesis: Hypothesis, parts: Sequence[str | Placeholder]
    ) -> list[str | Placeholder]:
        """A translation with inline markup around the words that it belongs to."""
        target = without_symbols(hypothesis)
        stand_ins = StandIns(self._tokenizer.placeholders, piece.text.marks, visible(parts) + piece.text.visible)
        shown = stand_ins.shown(parts)
        source, words = self._words(piece.source, stand_ins), self._words(target, stand_ins, shown)
        attention = cross_attention(self._loaded, piece.source, target)
        return stand_ins.parts(insert_marks(shown, piece.enclosed, source, words, attention, stand_ins.words))

    def _words(self, ids: Ids, stand_ins: StandIns, text: str | None = None) -> Words:
        """The words of some ids; each placeholder is one character."""

        def shown(count: int) -> str:
            return stand_ins.shown(self._tokenizer.decode_marked(ids[:count]))

        return Words.of(text or shown(len(ids)), [len(shown(count + 1)) for count in range(len(ids))])

    def _warnings(
        self, plan: SegmentPlan, best: Sequence[Hypothesis], text: str, style: DocumentStyle
    ) -> tuple[str, ...]:
        warnings: dict[str, None] = dict.fromkeys(plan.warnings)
        for piece, hypothesis in zip(plan.pieces, best, strict=True):
            warnings |= dict.fromkeys(self._checker.problems(piece, hypothesis))
            if len(hypothesis.ids) >= _FEWEST_TOKENS and hypothesis.logprob < UNSURE * len(hypothesis.ids):
                warnings["unsure"] = None
            if hypothesis.capped:
                warnings["limit"] = None
        if style.is_duplicate(plan.source, text):
            warnings["duplicate"] = None
        return tuple(warnings)
