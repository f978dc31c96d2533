"""Triton kernels of self-attention with small windows: tiles that hold whole windows, read by tensor descriptors.

As in `kernels.window` every query sees one interval of key rows. A tile of queries comes with all keys that its
windows can reach, so that the softmax needs one pass and the backward pass computes scores once (but for the first
tile of each program).

The relative term q_i · r_{i-j} is a product here. With the vectors r as sums of waves of the distance, of a period
that no window exceeds, r_d = Σ_f a_f cos(ωf d) + b_f sin(ωf d), cos and sin of i - j come apart into those of i and
of j: queries' amplitudes q_i · a_f, q_i · b_f are rotated by the query's position (`rotate`), and multiplied with the
basis at the keys' positions. Positions count from the tile's first query, so all tiles share one small table.

Sums are float32. Nothing is accumulated with atomics: the table's gradient goes to one slot per program.
"""
# Kernel arguments follow the habit of such code: capitals for pointers and compile-time constants.
# ruff: noqa: N803
# mypy: ignore-errors

from __future__ import annotations

import triton
import triton.language as tl

PERIOD: tl.constexpr = tl.constexpr(63)  # of the waves: odd, so that 32 cosines and 31 sines are all there are


@triton.jit
def rotate(x, basis, ROWS: tl.constexpr):
    """Amplitudes x [ROWS, 64] (cosine and sine side by side, as waves) rotated to their positions. Its own
    inverse."""
    cos, sin = tl.split(tl.reshape(basis, [ROWS, 32, 2]))
    a, b = tl.split(tl.reshape(x, [ROWS, 32, 2]))
    return tl.reshape(tl.join(a * cos + b * sin, a * sin - b * cos), [ROWS, 64])


@triton.jit
def fourier_coeffs(TABLE, TRANSFORM, OUT, distances, H, D: tl.constexpr, RP: tl.constexpr):
    """Vectors by distance [distances, H, D] as sums of waves [64, H, D]; of one head."""
    head = tl.program_id(0)
    wave, distance = tl.arange(0, 64), tl.arange(0, RP)
    columns = head * D + tl.arange(0, D)[None, :]
    real = distance < distances
    transform = tl.load(TRANSFORM + wave[:, None] * distances + distance[None, :], mask=real[None, :], other=0.0)
    table = tl.load(TABLE + distance[:, None] * (H * D) + columns, mask=real[:, None], other=0.0).to(tl.float32)
    tl.store(OUT + wave[:, None] * (H * D) + columns, tl.dot(transform, table, input_precision="tf32x3"))


@triton.jit
def vectors(
    SHARES, TRANSFORM, OUT, shares, distances, H,
    D: tl.constexpr, RP: tl.constexpr, SOME: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """The opposite way, for gradients: [shares, 64, H, D] summed to [distances, H, D]; COLUMNS of one head."""
    columns = tl.program_id(0) * D + tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    wave, distance, number = tl.arange(0, 64), tl.arange(0, RP), tl.arange(0, SOME)
    total = tl.zeros([64, COLUMNS], tl.float32)
    for first in range(0, shares, SOME):
        rows = (first + number)[:, None] * 64 + wave[None, :]  # [SOME, 64]
        offsets = SHARES + tl.cast(rows, tl.int64)[:, :, None] * (H * D) + columns[None, None, :]
        total += tl.sum(tl.load(offsets, mask=(first + number < shares)[:, None, None], other=0.0), 0)
    real = distance < distances
    transform = tl.load(TRANSFORM + wave[:, None] * distances + distance[None, :], mask=real[None, :], other=0.0)
    found = tl.dot(tl.trans(transform), total, input_precision="tf32x3")
    tl.store(OUT + distance[:, None] * (H * D) + columns[None, :], found, mask=real[:, None])


@triton.jit
def forward(
    Q, K, V, R, BASIS, PHASE, FIRST, LAST, OUT, LSE, ROTATED_Q,
    T, scale, H, blocks, programs,
    D: tl.constexpr, W: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, RELATIVE: tl.constexpr,
):  # fmt: skip
    """BN keys from W before the first of BM queries on. OUT [T, H, D] is dense, and so is ROTATED_Q [T, H, 64],
    the queries' amplitudes at their places in blocks of BM, which the backward pass takes."""
    program, head = tl.program_id(0), tl.program_id(1)
    columns = head * D + tl.arange(0, D)[None, :]
    if RELATIVE:
        table = R.load([0, head * D])  # [64, D]
        basis = BASIS.load([PERIOD - W, 0])  # [BN, 64]
    for block in range(program, blocks, programs):
        m0 = block * BM
        m = m0 + tl.arange(0, BM)
        n = m0 - W + tl.arange(0, BN)
        first = tl.load(FIRST + m, mask=m < T, other=2147483647)
        last = tl.load(LAST + m, mask=m < T, other=-1)
        q = Q.load([m0, head * D])
        k = K.load([m0 - W, head * D])
        if RELATIVE:  # before the logits: fewer numbers live at once
            own = tl.load(PHASE + tl.arange(0, BM)[:, None] * 64 + tl.arange(0, 64)[None, :])
            rotated_q = rotate(tl.dot(q, tl.trans(table)), own, BM).to(q.dtype)
            offsets = tl.cast(m, tl.int64)[:, None] * (H * 64) + (head * 64 + tl.arange(0, 64)[None, :])
            tl.store(ROTATED_Q + offsets, rotated_q, mask=(m < T)[:, None])
        logits = tl.dot(q, tl.trans(k))  # [BM, BN]
        if RELATIVE:
            logits = tl.dot(rotated_q, tl.trans(basis), logits)
        mask = (n[None, :] >= first[:, None]) & (n[None, :] <= last[:, None])
        logits = tl.where(mask, logits * (scale * 1.4426950408889634), float("-inf"))
        row_max = tl.max(logits, 1)
        row_max = tl.where(row_max == float("-inf"), 0.0, row_max)  # rows beyond the end, which are not stored
        p = tl.exp2(logits - row_max[:, None])
        denominator = tl.sum(p, 1)
        denominator = tl.where(denominator == 0.0, 1.0, denominator)
        v = V.load([m0 - W, head * D])
        context = tl.dot(p.to(v.dtype), v) / denominator[:, None]
        tl.store(OUT + tl.cast(m, tl.int64)[:, None] * (H * D) + columns, context.to(q.dtype), mask=(m < T)[:, None])
        tl.store(LSE + head * T + m, row_max + tl.log2(denominator), mask=m < T)


@triton.jit
def backward(
    Q, K, V, R, BASIS, PHASE, ROTATED_Q, OUT, DOUT, FIRST, LAST, LSE, DQ, DK, DV, DR,
    T, scale, H, blocks, each,
    D: tl.constexpr, W: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, RELATIVE: tl.constexpr,
    STAGES: tl.constexpr,
):  # fmt: skip
    """The whole backward pass. Gradients are dense, DR [programs, 64, H, D].

    A program walks along `each` blocks of BM queries. Their windows are in the BM + BN keys from W before the first
    query on: `parts` tiles of BN keys, one a step. The last part of a block is the first of the next one, so its
    gradients are carried there; the program begins a step early, with the last part of the block before its own,
    of which it keeps nothing else.
    """
    parts: tl.constexpr = BM // BN + 1
    program, head = tl.program_id(0), tl.program_id(1)
    columns = head * D + tl.arange(0, D)[None, :]
    if RELATIVE:
        table = R.load([0, head * D])  # [64, D]
        dterm = tl.zeros([BM, 64], tl.float32)
        dtable = tl.zeros([64, D], tl.float32)
    dq = tl.zeros([BM, D], tl.float32)
    dk = tl.zeros([BN, D], tl.float32)
    dv = tl.zeros([BN, D], tl.float32)
    before = program * each - 1
    count = tl.minimum(each, blocks - before - 1) + 1
    for step in tl.range(parts - 1, count * parts, num_stages=STAGES):
        part = step % parts
        block = before + step // parts
        m0 = block * BM
        n0 = m0 - W + part * BN
        m = m0 + tl.arange(0, BM)
        n = n0 + tl.arange(0, BN)
        real = (m >= 0) & (m < T)
        first = tl.load(FIRST + m, mask=real, other=2147483647)
        last = tl.load(LAST + m, mask=real, other=-1)
        lse = tl.load(LSE + head * T + m, mask=real, other=0.0)
        q = Q.load([m0, head * D])
        k = K.load([n0, head * D])
        logits = tl.dot(q, tl.trans(k))  # [BM, BN]
        if RELATIVE:
            rotated_q = ROTATED_Q.load([m0, head * 64])
            basis = BASIS.load([part * BN + (PERIOD - W), 0])  # [BN, 64]
            logits = tl.dot(rotated_q, tl.trans(basis), logits)
        mask = (n[None, :] >= first[:, None]) & (n[None, :] <= last[:, None])
        p = tl.where(mask, tl.exp2(logits * (scale * 1.4426950408889634) - lse[:, None]), 0.0)
        dout = DOUT.load([m0, head * D])
        dv = tl.dot(tl.trans(p.to(q.dtype)), dout, tl.where(part == 0, dv, 0.0))
        delta = tl.sum(OUT.load([m0, head * D]).to(tl.float32) * dout.to(tl.float32), 1)
        v = V.load([n0, head * D])
        ds = (p * (tl.dot(dout, tl.trans(v)) - delta[:, None]) * scale).to(q.dtype)
        dk = tl.dot(tl.trans(ds), q, tl.where(part == 0, dk, 0.0))
        if (part < parts - 1) | (block == blocks - 1):  # no later block adds to these keys
            keys = tl.cast(n0, tl.int64) * (H * D) + (tl.arange(0, BN)[:, None] * (H * D) + columns)
            there = ((n >= 0) & (n < T))[:, None]
            tl.store(DV + keys, dv.to(q.dtype), mask=there)
            tl.store(DK + keys, dk.to(q.dtype), mask=there)
        dq = tl.dot(ds, k, tl.where(part == 0, 0.0, dq))
        if RELATIVE:
            dterm = tl.dot(ds, basis, tl.where(part == 0, 0.0, dterm))  # [BM, 64]
        if (part == parts - 1) & (step >= parts):
            if RELATIVE:
                own = tl.load(PHASE + tl.arange(0, BM)[:, None] * 64 + tl.arange(0, 64)[None, :])
                rotated = rotate(dterm, own, BM).to(q.dtype)
                dq = tl.dot(rotated, table, dq)
                dtable = tl.dot(tl.trans(rotated), q, dtable)
            queries = tl.cast(m0, tl.int64) * (H * D) + (tl.arange(0, BM)[:, None] * (H * D) + columns)
            tl.store(DQ + queries, dq.to(q.dtype), mask=real[:, None])
    if RELATIVE:
        wave = tl.arange(0, 64)[:, None]
        tl.store(DR + (tl.cast(program, tl.int64) * 64 + wave) * (H * D) + columns, dtable)
