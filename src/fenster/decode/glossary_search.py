"""A second try for translations that lack a term of the glossary: another hypothesis of the same search that has it,
or a search that must produce it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from fenster.data.tokenizer import Tokenizer
from fenster.decode.glossary import GlossaryTerm
from fenster.decode.piece import Piece
from fenster.decode.plan import Planner
from fenster.decode.search import Hypothesis, Searcher, SearchRequest
from fenster.decode.strategies.base import without_symbols
from fenster.language.protected_text import visible

_MOST_TERMS = 6  # of one search: each makes the beam wider


class GlossarySearch:
    def __init__(self, searcher: Searcher, planner: Planner, tokenizer: Tokenizer) -> None:
        self._searcher, self._planner, self._tokenizer = searcher, planner, tokenizer

    def improved(
        self, requests: Sequence[SearchRequest], pieces: Sequence[Piece | None], results: list[list[Hypothesis]]
    ) -> list[list[Hypothesis]]:
        """The results, with a hypothesis that has all terms first where there is one. Requests without a piece (of
        several sentences) stay as they are."""
        for number, piece in enumerate(pieces):
            lacking = [] if piece is None else self._missing(piece, results[number][0])
            if piece is None or not lacking:
                continue
            good = next((one for one in results[number] if not self._missing(piece, one)), None)
            if good is None:
                # Only what is missing: a term that is there may be part of a compound. Then all, if another got lost.
                for terms in dict.fromkeys((tuple(lacking[:_MOST_TERMS]), piece.terms[:_MOST_TERMS])):
                    hypotheses = self._searcher.search_terms(self._readings(requests[number], piece, terms))
                    results[number] = sorted([*hypotheses, *results[number]], key=partial(self._misses, piece))
                    if not self._misses(piece, results[number][0]):
                        break
            else:
                results[number] = [good, *(one for one in results[number] if one is not good)]
        return results

    def _readings(self, request: SearchRequest, piece: Piece, terms: Sequence[GlossaryTerm]) -> list[SearchRequest]:
        """A search that must produce some terms, and the same with these terms in the source. From the second the
        model knows where they go, and translates nothing twice; from the first, numbers and cases."""
        glossary, ours = piece.glossary, len(request.given)
        assert glossary is not None
        parts = tuple(
            glossary.with_targets(part, terms) if isinstance(part, str) else part for part in piece.text.parts
        )
        text = replace(piece.text, parts=parts)
        ids = self._planner.reader.encode(text, piece.register, rewrites=not piece.enclosed)
        source = [*request.source[:ours], ids, *request.source[ours + 1 :]]
        wanted = replace(request, terms=tuple(map(self._ids, terms)))
        return [wanted, replace(wanted, source=source)]

    def _misses(self, piece: Piece, hypothesis: Hypothesis) -> int:
        return len(self._missing(piece, hypothesis))

    def _missing(self, piece: Piece, hypothesis: Hypothesis) -> list[GlossaryTerm]:
        if not piece.terms:
            return []
        return piece.missing_terms(visible(self._tokenizer.decode_marked(without_symbols(hypothesis))))

    def _ids(self, term: GlossaryTerm) -> tuple[tuple[int, ...], ...]:
        """The ids of each form, also with a capital as at the start of a sentence."""
        forms = dict.fromkeys(spelt for form in term.forms for spelt in (form, form[:1].upper() + form[1:]))
        return tuple(dict.fromkeys(tuple(ids.tolist()) for ids in self._tokenizer.encode_each([*forms])))
