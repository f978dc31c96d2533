"""Label-smoothed cross-entropy straight from hidden states, in chunks: all logits never exist at once.

Each chunk's gradient is computed right after its logits, in the forward pass, so that the largest thing in memory
is `chunk` x vocabulary however long the document is.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

CHUNK = 1024  # tokens; at 15k pieces 60 MB of logits


class Loss(NamedTuple):
    """Sums over tokens; divide by the number of tokens of the whole (global) batch."""

    smoothed: Tensor
    """What is minimised."""
    nll: Tensor
    """Without smoothing, for perplexity; carries no gradient."""


def smoothed_loss(hidden: Tensor, weight: Tensor, target: Tensor, smoothing: float, chunk: int = CHUNK) -> Loss:
    """Loss of predicting `target` [T] from `hidden` [T, d] with the output matrix `weight` [V, d].

    (1 - smoothing) * nll + smoothing * mean over the vocabulary, as fairseq and PyTorch define it.
    """
    wanted = torch.is_grad_enabled() and (hidden.requires_grad or weight.requires_grad)
    smoothed, nll = _Chunked.apply(hidden, weight, target.long(), smoothing, chunk, wanted)  # type: ignore[no-untyped-call]
    return Loss(smoothed, nll)


class _Chunked(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, weight: Tensor, target: Tensor, smoothing: float, chunk: int, wanted: bool
    ) -> tuple[Tensor, Tensor]:
        grad_hidden = torch.empty_like(hidden) if wanted else None
        grad_weight = torch.zeros_like(weight, dtype=torch.float32) if wanted else None
        total = torch.zeros((), device=hidden.device, dtype=torch.float32)
        plain = torch.zeros_like(total)
        for begin in range(0, len(hidden), chunk):
            part, gold = hidden[begin : begin + chunk], target[begin : begin + chunk]
            logits = F.linear(part, weight).float()  # [chunk, V]
            nll = F.cross_entropy(logits, gold, reduction="sum")
            plain += nll
            log_mass = logits.logsumexp(-1)
            total += (1 - smoothing) * nll + smoothing * (log_mass.sum() - logits.mean(-1).sum())
            if grad_hidden is None or grad_weight is None:
                continue
            # d loss / d logits = softmax - (1 - smoothing) * onehot - smoothing / V
            grad = logits.sub_(log_mass[:, None]).exp_().sub_(smoothing / weight.shape[0])
            grad[torch.arange(len(gold), device=gold.device), gold] -= 1 - smoothing
            grad = grad.to(weight.dtype)
            grad_hidden[begin : begin + chunk] = grad @ weight
            grad_weight += (grad.t() @ part.to(weight.dtype)).float()
        if grad_hidden is not None and grad_weight is not None:
            ctx.save_for_backward(grad_hidden, grad_weight.to(weight.dtype))
        ctx.mark_non_differentiable(plain)
        return total, plain

    @staticmethod
    def backward(ctx: Any, grad_total: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        if torch.is_grad_enabled():  # create_graph: what was saved is not part of a graph
            raise RuntimeError("the chunked loss has no second derivative; F.cross_entropy has one")
        grad_hidden, grad_weight = ctx.saved_tensors
        return (
            grad_total.to(grad_hidden.dtype) * grad_hidden,
            grad_total.to(grad_weight.dtype) * grad_weight,
            *(None,) * 4,
        )
