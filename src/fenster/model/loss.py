"""Label-smoothed cross-entropy straight from hidden states, in chunks: all logits never exist at once. With R-Drop,
over two passes with different dropout, whose predictions should agree.

Each chunk's gradient is computed right after its logits, in the forward pass, so that the largest thing in memory
is a chunk of logits however long the document is. Targets that are padding (as fixed shapes need) do not count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from fenster.data.tokenizer import PAD_ID
from fenster.model.ops.precision import at_least_float32, to_autocast_dtype

LOGITS = 1 << 24  # numbers in a chunk; of 15k pieces about 1,100 tokens


class Loss(NamedTuple):
    """Sums over tokens; divide by the number of tokens of the whole (global) batch."""

    smoothed: Tensor
    """What is minimised."""
    nll: Tensor
    """Without smoothing, for perplexity; carries no gradient."""


def chunk_loss(logits: Tensor, gold: Tensor, smoothing: float) -> tuple[Tensor, Tensor, Tensor]:
    """(smoothed loss, nll, gradient of the former by logits [C, V]) of one chunk; `logits` are written over."""
    dtype, vocabulary = logits.dtype, logits.shape[-1]
    logits = at_least_float32(logits)
    real = gold != PAD_ID
    log_mass = logits.logsumexp(-1)
    nll = torch.where(real, log_mass - logits.gather(-1, gold[:, None]).squeeze(-1), 0)
    spread = torch.where(real, log_mass - logits.mean(-1), 0)
    # d loss / d logits = softmax - (1 - smoothing) * onehot - smoothing / V
    grad = logits.sub_(log_mass[:, None]).exp_().sub_(smoothing / vocabulary).mul_(real[:, None]).to(dtype)
    at_gold = ((-nll).exp() - (1 - smoothing) - smoothing / vocabulary) * real
    grad = grad.scatter(-1, gold[:, None], at_gold[:, None].to(dtype))
    return ((1 - smoothing) * nll + smoothing * spread).sum(), nll.sum(), grad


def rdrop_chunk_loss(
    logits: Tensor, gold: Tensor, smoothing: float, strength: float
) -> tuple[Tensor, Tensor, Tensor]:
    """As `chunk_loss`, of two passes [2, C, V]: their mean loss, and strength / 4 times the divergence of their
    predictions in both directions (Liang et al. 2021, their loss divided by two)."""
    dtype, vocabulary = logits.dtype, logits.shape[-1]
    real = gold != PAD_ID
    log_p = at_least_float32(logits).log_softmax(-1)
    p = log_p.exp()
    apart = torch.stack((log_p[0] - log_p[1], log_p[1] - log_p[0]))  # log of p by the other pass's
    divergence = (p * apart).sum(-1)  # [2, C]
    nll = -log_p.gather(-1, gold.expand(2, -1)[..., None]).squeeze(-1)
    loss = ((1 - smoothing) * nll - smoothing * log_p.mean(-1)) / 2 + strength / 4 * divergence
    right = torch.arange(vocabulary, device=gold.device) == gold[:, None]
    grad = (p - smoothing / vocabulary - (1 - smoothing) * right) / 2
    grad = grad + strength / 4 * (p * (apart - divergence[..., None]) + p - p.flip(0))
    smoothed, plain = (torch.where(real, part, 0).sum() for part in (loss, nll / 2))
    return smoothed, plain, (grad * real[:, None]).to(dtype)


ChunkLoss = Callable[..., tuple[Tensor, Tensor, Tensor]]


def smoothed_loss(
    hidden: Tensor,
    weight: Tensor,
    target: Tensor,
    smoothing: float,
    *,
    chunk: int | None = None,
    loss_of_chunk: ChunkLoss = chunk_loss,
) -> Loss:
    """Loss of predicting `target` [T] from `hidden` [T, d] with the output matrix `weight` [V, d]; from [2, T, d] if
    `loss_of_chunk` takes two passes.

    (1 - smoothing) * nll + smoothing * mean over the vocabulary, as fairseq and PyTorch define it. `chunk` is the
    tokens taken at a time; `loss_of_chunk` may be `chunk_loss` compiled.
    """
    wanted = torch.is_grad_enabled() and (hidden.requires_grad or weight.requires_grad)
    smoothed, nll = _Chunked.apply(  # type: ignore[no-untyped-call]
        hidden, weight, target.long(), chunk or _chunk(weight), partial(loss_of_chunk, smoothing=smoothing), wanted
    )
    return Loss(smoothed, nll)


def rdrop_loss(
    passes: Tensor,
    weight: Tensor,
    target: Tensor,
    smoothing: float,
    strength: float,
    *,
    chunk: int | None = None,
    loss_of_chunk: ChunkLoss = rdrop_chunk_loss,
) -> Loss:
    """As `smoothed_loss`, from the hidden states of two passes [2, T, d]; see `rdrop_chunk_loss`."""
    size = chunk or max(1, _chunk(weight) // 2)
    return smoothed_loss(
        passes, weight, target, smoothing, chunk=size, loss_of_chunk=partial(loss_of_chunk, strength=strength)
    )


@torch.no_grad()
def token_nll(hidden: Tensor, weight: Tensor, target: Tensor, chunk: int | None = None) -> Tensor:
    """[T] negative log-probability of each target token, in float32; no smoothing, no gradient."""
    weight = to_autocast_dtype(weight)
    chunks = [
        F.cross_entropy(at_least_float32(F.linear(part.to(weight.dtype), weight)), gold, reduction="none")
        for part, gold in _parts(hidden, target.long(), chunk or _chunk(weight))
    ]
    return torch.cat(chunks)


def _chunk(weight: Tensor) -> int:
    return max(1, LOGITS // len(weight))


def _parts(hidden: Tensor, target: Tensor, chunk: int) -> Iterator[tuple[Tensor, Tensor]]:
    return zip(torch.split(hidden, chunk, dim=-2), torch.split(target, chunk), strict=True)


class _Chunked(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        target: Tensor,
        chunk: int,
        loss_of_chunk: ChunkLoss,
        wanted: bool,
    ) -> tuple[Tensor, Tensor]:
        narrow = to_autocast_dtype(weight)
        total = at_least_float32(hidden).new_zeros(())
        plain = torch.zeros_like(total)
        grads, grad_weight = [], torch.zeros_like(weight) if wanted else None
        with torch.autocast(hidden.device.type, enabled=False):
            for part, gold in _parts(hidden.to(narrow.dtype), target, chunk):
                smoothed, nll, grad = loss_of_chunk(F.linear(part, narrow), gold)
                total += smoothed
                plain += nll
                if grad_weight is not None:
                    grads.append(grad @ narrow)
                    grad_weight += grad.flatten(0, -2).t() @ part.flatten(0, -2)
        if grad_weight is not None:
            ctx.save_for_backward(torch.cat(grads, dim=-2).to(hidden.dtype), grad_weight)
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
