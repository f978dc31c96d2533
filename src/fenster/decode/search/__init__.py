"""Beam search on ids: requests in, hypotheses out. `pytorch` searches on any device with any model, `compiled` on a
CPU with the compiled library. Shape letters: B searches, K hypotheses per search, C candidates."""

from fenster.decode.search.base import Searcher
from fenster.decode.search.constraints import ControlSymbols, LengthConstraints
from fenster.decode.search.hypothesis import Hypothesis
from fenster.decode.search.request import SearchRequest, SharedContext

__all__ = ["ControlSymbols", "Hypothesis", "LengthConstraints", "SearchRequest", "Searcher", "SharedContext"]
