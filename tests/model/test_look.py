"""The kernel of a decoding step equals PyTorch's attention: on CUDA, or in Triton's interpreter."""

import pytest
import torch

pytest.importorskip("triton", reason="Triton is not installed")

from fenster.model.compute import look
from fenster.model.state import Sight

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
TOLERANCE = {torch.float32: 1e-5, torch.float16: 3e-3}


def some_sight(groups: int, each: int, slots: int, shared: bool, distances: int | None, rows: bool) -> Sight:
    """Masks with at least one slot a query, drawn at random."""
    masks = []
    for _ in range(2):
        mask = torch.rand(groups if shared else groups * each, slots) < 0.4
        mask[:, slots // 2 :] &= slots < 100  # room that no one uses yet
        mask[torch.arange(len(mask)), torch.randint((slots + 1) // 2, (len(mask),))] = True
        masks.append(mask.to(DEVICE))
    relative = None if distances is None else torch.randint(distances, (groups * each, slots)).to(DEVICE)
    where = torch.randint(groups * slots, (groups, slots)).to(DEVICE) if rows else None
    return Sight(tuple(masks), relative, where)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=str)
@pytest.mark.parametrize(
    ("groups", "each", "slots", "shared", "distances", "rows"),
    [
        (1, 1, 1, False, None, False),
        (3, 4, 84, False, 41, False),
        (2, 12, 130, True, None, False),
        (5, 1, 41, False, None, True),
        (2, 20, 65, False, 9, True),
    ],
)
def test_it_equals_plain_attention(
    groups: int, each: int, slots: int, shared: bool, distances: int | None, rows: bool, dtype: torch.dtype
) -> None:
    torch.manual_seed(0)
    heads, size = 3, 16
    sight = some_sight(groups, each, slots, shared, distances, rows)
    # Queries are a part of a wider projection, and slots have room behind them, as states give them.
    q = torch.randn(groups * each, 3 * heads * size).to(DEVICE, dtype)[:, : heads * size].unflatten(1, (heads, size))
    kv = torch.randn(groups, slots + 5, 2, heads, size).to(DEVICE, dtype)[:, :slots]
    kv = kv.reshape(-1, 2, heads, size) if rows else kv
    table = None if distances is None else torch.randn(distances, heads, size).to(DEVICE)
    found = look.fused(q, kv, sight, table)
    for mask, out in zip(sight.allowed, found, strict=True):
        torch.testing.assert_close(
            out.float(), plain(q, kv, mask, sight, table), atol=TOLERANCE[dtype], rtol=TOLERANCE[dtype]
        )


def plain(
    q: torch.Tensor, kv: torch.Tensor, mask: torch.Tensor, sight: Sight, table: torch.Tensor | None
) -> torch.Tensor:
    """[N, H, D] query by query, in float32."""
    groups = len(kv) if sight.rows is None else len(sight.rows)
    each = len(q) // groups
    outs = []
    for n, query in enumerate(q.float()):
        k, v = (kv[n // each] if sight.rows is None else kv[sight.rows[n // each]]).float().unbind(1)  # [M, H, D]
        logits = torch.einsum("hd,mhd->hm", query, k)
        if table is not None and sight.relative is not None:
            logits = logits + torch.einsum("hd,mhd->hm", query, table[sight.relative[n]])
        seen = mask[n * len(mask) // len(q)]
        weights = (logits * query.shape[-1] ** -0.5).masked_fill(~seen, -torch.inf).softmax(-1)
        outs.append(torch.einsum("hm,mhd->hd", weights, v))
    return torch.stack(outs)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_without_the_kernel(dtype: torch.dtype) -> None:
    """What `look` takes on a CPU, and on a GPU in float64."""
    torch.manual_seed(1)
    sight = some_sight(2, 3, 30, False, 7, True)
    q, table = torch.randn(6, 3, 16).to(DEVICE, dtype), torch.randn(7, 3, 16).to(DEVICE, dtype)
    kv = torch.randn(60, 2, 3, 16).to(DEVICE, dtype)
    for mask, out in zip(sight.allowed, look.look(q, kv, sight, table), strict=True):
        torch.testing.assert_close(out.float(), plain(q, kv, mask, sight, table.float()), atol=1e-5, rtol=1e-5)
