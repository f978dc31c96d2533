"""Search results to translated segments: protected spans written out, alternatives, warnings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fenster.data.text import SPACES
from fenster.data.tokenizer import SEP_ID, Tokenizer
from fenster.decode.guards import UNSURE, Checker
from fenster.decode.plan import SegmentPlan
from fenster.decode.result import Translated
from fenster.decode.search import Hypothesis
from fenster.decode.strategies import SentenceResult
from fenster.decode.strategies.base import without_symbols

_DUPLICATE_WORDS = 6  # shorter translations may well occur twice


class Assembler:
    def __init__(self, tokenizer: Tokenizer, checker: Checker) -> None:
        self._tokenizer, self._checker = tokenizer, checker

    def translated(
        self, plan: SegmentPlan, results: Sequence[SentenceResult], seconds: float, seen: Mapping[str, str]
    ) -> Translated:
        if not results:
            return Translated(plan.source, plan.source, warnings=plan.warnings)
        best = [result.hypotheses[0] for result in results]
        # Hypotheses that differ only in their end symbol or spelling are one text, with the best score. A segment of
        # several pieces has no alternatives.
        texts: dict[str, float] = {}
        for hypotheses in [best] if len(results) > 1 else [[one] for one in results[0].hypotheses]:
            score = sum(one.score for one in hypotheses) / len(hypotheses)
            texts.setdefault(self._text(plan, hypotheses), score)
        (text, score), *others = texts.items()
        ids = [without_symbols(hypothesis).tolist() for hypothesis in best]
        return Translated(
            plan.source,
            text,
            tuple(id for number, piece in enumerate(ids) for id in ([SEP_ID] if number else []) + piece),
            score,
            any(hypothesis.capped for hypothesis in best),
            any(result.misaligned for result in results),
            tuple(others),
            seconds,
            self._warnings(plan, best, text, seen),
        )

    def _text(self, plan: SegmentPlan, hypotheses: Sequence[Hypothesis]) -> str:
        """The translation of a segment; its protected spans are written out last, so that nothing changes them."""
        pieces = []
        for piece, hypothesis in zip(plan.pieces, hypotheses, strict=True):
            parts = self._tokenizer.decode_marked(without_symbols(hypothesis))
            # Bytes may spell line breaks, which no segment may hold.
            cleaned = [SPACES.sub(" ", part) if isinstance(part, str) else part for part in parts]
            pieces.append(piece.with_figures(piece.text.restore(cleaned).strip(" ")))
        return plan.joined(pieces)

    def _warnings(
        self, plan: SegmentPlan, best: Sequence[Hypothesis], text: str, seen: Mapping[str, str]
    ) -> tuple[str, ...]:
        found: dict[str, None] = dict.fromkeys(plan.warnings)
        for piece, hypothesis in zip(plan.pieces, best, strict=True):
            found |= dict.fromkeys(self._checker.problems(piece, hypothesis))
            if hypothesis.logprob < UNSURE * len(hypothesis.ids):
                found["unsure"] = None
            if hypothesis.capped:
                found["limit"] = None
        if (
            len(text.split(" ")) >= _DUPLICATE_WORDS
            and seen.get(text, plan.source).casefold() != plan.source.casefold()
        ):
            found["duplicate"] = None
        return tuple(found)
