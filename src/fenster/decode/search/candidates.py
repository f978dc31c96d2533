"""The best next words of hypotheses, from logits."""

from __future__ import annotations

import torch
from torch import Tensor

from fenster.model.ops.native import call, runs, thread_count
from fenster.model.ops.precision import at_least_float32


def best_words(logits: Tensor, first: int, banned: Tensor, count: int) -> tuple[Tensor, Tensor, Tensor]:
    """Log-probabilities and ids [B, K, count] of the best words: ids from `first` on that `banned` [B, V] (or [B, 0])
    does not mark. Also log-probabilities of the symbols before them [B, K, first]. `logits` [B, K, V] may be
    overwritten."""
    count = min(count, logits.shape[-1])
    if runs(logits):
        return best_words_native(logits, first, banned, count)
    logs = at_least_float32(logits).log_softmax(-1)
    symbols = logs[:, :, :first].clone()
    logs[:, :, :first] = -torch.inf
    if banned.shape[1]:
        logs.masked_fill_(banned[:, None], -torch.inf)
    return *logs.topk(count, -1), symbols


def best_words_native(
    logits: Tensor, first: int, banned: Tensor, count: int, *, plain: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """The same with the compiled loop; `plain`: without the processor's vector instructions, for tests."""
    shape, logits = logits.shape[:2], logits.contiguous()
    values, ids = logits.new_empty(*shape, count), torch.empty(*shape, count, dtype=torch.long)
    log_sums = logits.new_empty(*shape, 1)
    call(
        "fenster_best_tokens",
        *(logits, log_sums.numel(), logits.shape[2], first),
        *(banned.contiguous() if banned.shape[1] else None, len(banned), count),
        *(values, ids, log_sums, thread_count(), plain),
    )
    return values, ids, logits[:, :, :first] - log_sums
