"""The Triton kernels of window attention: forward, and backward in two passes (queries, then keys).

Every query sees one interval of key rows, `first` to `last` (see `AttentionMask.interval`); that is all the kernels
know of windows, causality, ragged sequences and alignments. A program takes a tile of queries (or keys) of one
head and walks over the tiles of the other side that its intervals reach: for self-attention usually one.

The relative term q_i · r_{i-j} is a small product q·Rᵀ whose rows are shifted into place with a gather inside the
tile; its gradient takes the inverse gather. Tables of up to RP rows are one tile (`WHOLE`); wider ones are read a
slice at a time, the slice of distances that the two tiles can have.

Sums are float32. Nothing is accumulated with atomics, so results are the same in every run: table gradients go to
one slot per program and are summed afterwards.
"""
# Kernel arguments follow the habit of such code: capitals for pointers and compile-time constants.
# ruff: noqa: N803
# mypy: ignore-errors

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def _rows(BASE, row0, stride, count, ROWS: tl.constexpr, D: tl.constexpr):
    """Rows row0 … row0 + ROWS of a matrix of `count` rows; zeros outside. [ROWS, D]"""
    index = row0 + tl.arange(0, ROWS)
    inside = (index >= 0) & (index < count)
    pointers = (
        BASE + tl.cast(row0, tl.int64) * stride + tl.arange(0, ROWS)[:, None] * stride + tl.arange(0, D)[None, :]
    )
    return tl.load(pointers, mask=inside[:, None], other=0.0)


@triton.jit
def _store_rows(BASE, row0, stride, count, value, ROWS: tl.constexpr, D: tl.constexpr):
    index = row0 + tl.arange(0, ROWS)
    pointers = (
        BASE + tl.cast(row0, tl.int64) * stride + tl.arange(0, ROWS)[:, None] * stride + tl.arange(0, D)[None, :]
    )
    tl.store(pointers, value.to(BASE.dtype.element_ty), mask=(index < count)[:, None])


@triton.jit
def _slice_base(m0, n0, W, BN: tl.constexpr, WHOLE: tl.constexpr):
    """The table row that slot 0 of a slice holds: 0, or the smallest distance between the two tiles."""
    return 0 * m0 if WHOLE else m0 - (n0 + BN - 1) + W


@triton.jit
def online_softmax_update(logits, mask, scale, row_max, denominator):
    """One more block of an online softmax: its weights, what sums so far shrink by, and the new row_max and
    denominator.

    Powers of two; where no key has been visible yet, row_max is -inf, and weights are zeros."""
    logits = tl.where(mask, logits * (scale * 1.4426950408889634), float("-inf"))
    new_top = tl.maximum(row_max, tl.max(logits, 1))
    safe = tl.where(new_top == float("-inf"), 0.0, new_top)
    p = tl.exp2(logits - safe[:, None])
    decay = tl.exp2(row_max - safe)
    return p, decay, new_top, denominator * decay + tl.sum(p, 1)


@triton.jit
def forward(
    Q, K, V, R, FIRST, LAST, OUT, LSE,
    q_row, q_head, k_row, k_head, v_row, v_head, r_row, r_head, o_row, o_head,
    T, S, W, scale,
    D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, RP: tl.constexpr,
    RELATIVE: tl.constexpr, WHOLE: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    m0, head = tl.program_id(0) * BM, tl.program_id(1)
    m = m0 + tl.arange(0, BM)
    first = tl.load(FIRST + m, mask=m < T, other=2147483647)
    last = tl.load(LAST + m, mask=m < T, other=-1)
    low, high = tl.min(first, 0), tl.max(last, 0)
    q = _rows(Q + head * q_head, m0, q_row, T, BM, D)
    if RELATIVE and WHOLE:
        table = _rows(R + head * r_head, 0 * m0, r_row, 2 * W + 1, RP, D)
        shift = tl.dot(q, tl.trans(table), input_precision=PRECISION)  # [BM, RP]
    row_max = tl.full([BM], float("-inf"), tl.float32)
    denominator = tl.zeros([BM], tl.float32)
    context = tl.zeros([BM, D], tl.float32)
    for n0 in range(low, high + 1, BN):
        n = n0 + tl.arange(0, BN)
        k = _rows(K + head * k_head, n0, k_row, S, BN, D)
        logits = tl.dot(q, tl.trans(k), input_precision=PRECISION)  # [BM, BN]
        if RELATIVE:
            base = _slice_base(m0, n0, W, BN, WHOLE)
            if not WHOLE:
                table = _rows(R + head * r_head, base, r_row, 2 * W + 1, RP, D)
                shift = tl.dot(q, tl.trans(table), input_precision=PRECISION)
            slot = m[:, None] - n[None, :] + W - base
            logits += tl.gather(shift, slot & (RP - 1), 1)
        mask = (n[None, :] >= first[:, None]) & (n[None, :] <= last[:, None])
        p, decay, row_max, denominator = online_softmax_update(logits, mask, scale, row_max, denominator)
        v = _rows(V + head * v_head, n0, v_row, S, BN, D)
        context = context * decay[:, None] + tl.dot(p.to(v.dtype), v, input_precision=PRECISION)
    denominator = tl.where(denominator == 0.0, 1.0, denominator)  # rows beyond the end, which are not stored
    _store_rows(OUT + head * o_head, m0, o_row, T, context / denominator[:, None], BM, D)
    tl.store(LSE + head * T + m, row_max + tl.log2(denominator), mask=m < T)


@triton.jit
def backward_queries(
    Q, K, V, R, FIRST, LAST, OUT, LSE, DOUT, DQ, DELTA, DR,
    q_row, q_head, k_row, k_head, v_row, v_head, r_row, r_head, o_row, o_head, do_row, do_head, dq_row, dq_head,
    T, S, W, scale, H, blocks, programs,
    D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, RP: tl.constexpr,
    RELATIVE: tl.constexpr, WHOLE: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """dq, the row sums that the other pass needs, and this program's share of dr [programs, 2 W + 1, H, D]."""
    program, head = tl.program_id(0), tl.program_id(1)
    share = DR + (tl.cast(program, tl.int64) * (2 * W + 1) * H + head) * D
    if RELATIVE and WHOLE:
        table = _rows(R + head * r_head, 0 * program, r_row, 2 * W + 1, RP, D)
        dr = tl.zeros([RP, D], tl.float32)
    for block in range(program, blocks, programs):
        m0 = block * BM
        m = m0 + tl.arange(0, BM)
        first = tl.load(FIRST + m, mask=m < T, other=2147483647)
        last = tl.load(LAST + m, mask=m < T, other=-1)
        low, high = tl.min(first, 0), tl.max(last, 0)
        q = _rows(Q + head * q_head, m0, q_row, T, BM, D)
        dout = _rows(DOUT + head * do_head, m0, do_row, T, BM, D)
        out = _rows(OUT + head * o_head, m0, o_row, T, BM, D)
        delta = tl.sum(out.to(tl.float32) * dout.to(tl.float32), 1)
        tl.store(DELTA + head * T + m, delta, mask=m < T)
        lse = tl.load(LSE + head * T + m, mask=m < T, other=0.0)
        dq = tl.zeros([BM, D], tl.float32)
        if RELATIVE and WHOLE:
            shift = tl.dot(q, tl.trans(table), input_precision=PRECISION)
            dshift = tl.zeros([BM, RP], tl.float32)
        for n0 in range(low, high + 1, BN):
            n = n0 + tl.arange(0, BN)
            k = _rows(K + head * k_head, n0, k_row, S, BN, D)
            v = _rows(V + head * v_head, n0, v_row, S, BN, D)
            logits = tl.dot(q, tl.trans(k), input_precision=PRECISION)
            if RELATIVE:
                base = _slice_base(m0, n0, W, BN, WHOLE)
                if not WHOLE:
                    table = _rows(R + head * r_head, base, r_row, 2 * W + 1, RP, D)
                    shift = tl.dot(q, tl.trans(table), input_precision=PRECISION)
                slot = m[:, None] - n[None, :] + W - base
                logits += tl.gather(shift, slot & (RP - 1), 1)
            mask = (n[None, :] >= first[:, None]) & (n[None, :] <= last[:, None])
            p = tl.where(mask, tl.exp2(logits * (scale * 1.4426950408889634) - lse[:, None]), 0.0)
            dp = tl.dot(dout, tl.trans(v), input_precision=PRECISION)
            ds = p * (dp - delta[:, None]) * scale  # [BM, BN]
            dq += tl.dot(ds.to(k.dtype), k, input_precision=PRECISION)
            if RELATIVE:
                # The inverse of the gather above: slot r of row m is key m + W - base - r.
                column = m[:, None] + W - base - tl.arange(0, RP)[None, :] - n0
                inside = (column >= 0) & (column < BN)
                taken = tl.gather(ds, column & (BN - 1), 1)
                taken = tl.where(inside, taken, 0.0)  # [BM, RP]
                if WHOLE:
                    dshift += taken
                else:
                    low_taken = taken.to(q.dtype)
                    dq += tl.dot(low_taken, table, input_precision=PRECISION)
                    dr_slice = tl.dot(tl.trans(low_taken), q, input_precision=PRECISION)  # [RP, D]
                    index = base + tl.arange(0, RP)
                    pointers = share + index[:, None] * (H * D) + tl.arange(0, D)[None, :]
                    real = ((index >= 0) & (index < 2 * W + 1))[:, None]
                    # Slices overlap: what another thread of this program wrote must be visible.
                    tl.debug_barrier()
                    tl.store(pointers, tl.load(pointers, mask=real, other=0.0) + dr_slice, mask=real)
                    tl.debug_barrier()
        if RELATIVE and WHOLE:
            low_shift = dshift.to(q.dtype)
            dq += tl.dot(low_shift, table, input_precision=PRECISION)
            dr += tl.dot(tl.trans(low_shift), q, input_precision=PRECISION)
        _store_rows(DQ + head * dq_head, m0, dq_row, T, dq, BM, D)
    if RELATIVE and WHOLE:
        _store_rows(share, 0 * program, H * D, 2 * W + 1, dr, RP, D)


@triton.jit
def backward_keys(
    Q, K, V, R, FIRST, LAST, LSE, DOUT, DELTA, DK, DV, QUERY_FIRST, QUERY_LAST,
    q_row, q_head, k_row, k_head, v_row, v_head, r_row, r_head, do_row, do_head, dk_row, dk_head, dv_row, dv_head,
    T, S, W, scale, after,
    D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, RP: tl.constexpr,
    RELATIVE: tl.constexpr, WHOLE: tl.constexpr, SELF: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """dk and dv of a tile of keys, from every query whose interval reaches it. Tiles are [keys, queries]."""
    block, head = tl.program_id(0), tl.program_id(1)
    n0 = block * BN
    n = n0 + tl.arange(0, BN)
    if SELF:
        # Query i sees keys i - W … i + after, so key j is seen by queries j - after … j + W.
        low, high = tl.maximum(n0 - after, 0), tl.minimum(n0 + BN - 1 + W, T - 1)
    else:
        low, high = tl.load(QUERY_FIRST + block), tl.load(QUERY_LAST + block)
    k = _rows(K + head * k_head, n0, k_row, S, BN, D)
    v = _rows(V + head * v_head, n0, v_row, S, BN, D)
    dk = tl.zeros([BN, D], tl.float32)
    dv = tl.zeros([BN, D], tl.float32)
    if RELATIVE and WHOLE:
        table = _rows(R + head * r_head, 0 * n0, r_row, 2 * W + 1, RP, D)
    for m0 in range(low, high + 1, BM):
        m = m0 + tl.arange(0, BM)
        first = tl.load(FIRST + m, mask=m < T, other=2147483647)
        last = tl.load(LAST + m, mask=m < T, other=-1)
        lse = tl.load(LSE + head * T + m, mask=m < T, other=0.0)
        delta = tl.load(DELTA + head * T + m, mask=m < T, other=0.0)
        q = _rows(Q + head * q_head, m0, q_row, T, BM, D)
        dout = _rows(DOUT + head * do_head, m0, do_row, T, BM, D)
        logits = tl.dot(k, tl.trans(q), input_precision=PRECISION)  # [BN, BM]
        if RELATIVE:
            base = _slice_base(m0, n0, W, BN, WHOLE)
            if not WHOLE:
                table = _rows(R + head * r_head, base, r_row, 2 * W + 1, RP, D)
            shift = tl.dot(table, tl.trans(q), input_precision=PRECISION)  # [RP, BM]
            slot = m[None, :] - n[:, None] + W - base
            logits += tl.gather(shift, slot & (RP - 1), 0)
        mask = (n[:, None] >= first[None, :]) & (n[:, None] <= last[None, :])
        p = tl.where(mask, tl.exp2(logits * (scale * 1.4426950408889634) - lse[None, :]), 0.0)
        dv += tl.dot(p.to(dout.dtype), dout, input_precision=PRECISION)
        dp = tl.dot(v, tl.trans(dout), input_precision=PRECISION)
        ds = p * (dp - delta[None, :]) * scale
        dk += tl.dot(ds.to(q.dtype), q, input_precision=PRECISION)
    _store_rows(DK + head * dk_head, n0, dk_row, S, dk, BN, D)
    _store_rows(DV + head * dv_head, n0, dv_row, S, dv, BN, D)
