"""Beam search on ids: requests in, hypotheses out. Shape letters: B searches, K hypotheses per search, C
candidates."""

from fenster.decode.search.constraints import ControlSymbols, LengthConstraints
from fenster.decode.search.hypotheses import Hypothesis
from fenster.decode.search.request import SearchRequest
from fenster.decode.search.searcher import Searcher

__all__ = ["ControlSymbols", "Hypothesis", "LengthConstraints", "SearchRequest", "Searcher"]
