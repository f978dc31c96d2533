"""What the hypotheses of a search need to continue."""

from __future__ import annotations

from dataclasses import dataclass, replace

from torch import Tensor

from fenster.model.attention.alignment.state import AlignmentState
from fenster.model.attention.cache import CrossAttentionCache, SelfAttentionCache


@dataclass(frozen=True)
class DecoderState:
    """Everything that N hypotheses need to continue: KV caches and the alignment's state."""

    self_cache: SelfAttentionCache
    cross_cache: CrossAttentionCache
    alignment_state: AlignmentState
    n_hyps: int = 0
    """Hypotheses of each source, side by side, if that is so for all; 0 if it is not known."""

    def reorder(self, index: Tensor, n_hyps: int = 0, keep: Tensor | None = None) -> DecoderState:
        """Hypothesis n continues from hypothesis index[n].

        A search that keeps `n_hyps` hypotheses per source side by side says so, and which sources (`keep`) it still
        needs: then less has to be moved."""
        self_cache = self.self_cache.reorder(index, n_hyps, keep)
        source = self.cross_cache if keep is None else self.cross_cache.narrow(keep)
        return DecoderState(self_cache, source, self.alignment_state.reorder(index), n_hyps)

    def with_static_shapes(self, extra: int) -> DecoderState:
        """The same in tensors whose shapes recur and stay, with room for `extra` more tokens."""
        layout = self.alignment_state.source.bucketed()
        alignment_state = replace(self.alignment_state, source=layout)
        return DecoderState(
            self.self_cache.with_static_shapes(extra),
            self.cross_cache.with_static_shapes(layout),
            alignment_state,
            self.n_hyps,
        )
