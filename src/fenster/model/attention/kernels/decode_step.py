"""The Triton kernel of one decoding step: the hypotheses of a group attend to the slots that they share.

A program takes all queries of one group and head, and reads each key and value once, wherever it is in memory.
"""
# Kernel arguments follow the habit of such code: capitals for pointers and compile-time constants.
# ruff: noqa: N803
# mypy: ignore-errors

from __future__ import annotations

import triton
import triton.language as tl

from fenster.model.attention.kernels.window import online_softmax_update


@triton.jit
def decode_attention(
    Q, KV, ROWS, ALLOWED, TABLE, INDEX, OUT,
    q_row, kv_group, kv_slot, allowed_row, slots, distances, scale,
    H: tl.constexpr, D: tl.constexpr, EACH: tl.constexpr, EACH_MASK: tl.constexpr, BE: tl.constexpr,
    BN: tl.constexpr, RP: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """EACH queries per group, EACH_MASK per row of the mask. Without ROWS the slots of a group are contiguous."""
    group, head = tl.program_id(0), tl.program_id(1)
    each, d = tl.arange(0, BE), tl.arange(0, D)
    n, real = group * EACH + each, each < EACH
    q = tl.load(Q + n[:, None] * q_row + head * D + d[None, :], mask=real[:, None], other=0.0)
    if TABLE is not None:
        r = tl.arange(0, RP)
        table = tl.load(TABLE + (r[:, None] * H + head) * D + d[None, :], mask=(r < distances)[:, None], other=0.0)
        shift = tl.dot(q, tl.trans(table.to(q.dtype)), input_precision=PRECISION)  # [BE, RP]
    row_max = tl.full([BE], float("-inf"), tl.float32)
    denominator = tl.zeros([BE], tl.float32)
    context = tl.zeros([BE, D], tl.float32)
    for m0 in range(0, slots, BN):
        m = m0 + tl.arange(0, BN)
        inside = m < slots
        both = real[:, None] & inside[None, :]
        row = (n // EACH_MASK)[:, None] * allowed_row
        mask = tl.load(ALLOWED + row + m[None, :], mask=both, other=0) != 0
        if tl.max(mask.to(tl.int32)) > 0:  # room for future tokens is not read
            if ROWS is not None:
                offset = tl.load(ROWS + group * slots + m, mask=inside, other=0).to(tl.int64) * kv_slot
            else:
                offset = tl.cast(group, tl.int64) * kv_group + m * kv_slot
            pointers = KV + offset[:, None] + head * D + d[None, :]
            k = tl.load(pointers, mask=inside[:, None], other=0.0)
            v = tl.load(pointers + H * D, mask=inside[:, None], other=0.0)
            logits = tl.dot(q, tl.trans(k), input_precision=PRECISION)  # [BE, BN]
            if TABLE is not None:
                index = tl.load(INDEX + n[:, None] * slots + m[None, :], mask=both, other=0)
                logits += tl.gather(shift, index.to(tl.int32), 1)
            p, decay, row_max, denominator = online_softmax_update(logits, mask, scale, row_max, denominator)
            context = context * decay[:, None] + tl.dot(p.to(v.dtype), v, input_precision=PRECISION)
    denominator = tl.where(denominator == 0.0, 1.0, denominator)  # padding queries
    out = OUT + (n[:, None] * H + head) * D + d[None, :]
    tl.store(out, (context / denominator[:, None]).to(OUT.dtype.element_ty), mask=real[:, None])
