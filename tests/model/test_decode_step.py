"""The kernel of a decoding step equals PyTorch's attention: on CUDA, or in Triton's interpreter."""

import pytest
import torch

pytest.importorskip("triton", reason="Triton is not installed")

from fenster.model import multihead
from fenster.model.attention.backends import decode_step
from fenster.model.attention.cache import CacheView
from tests.helpers.cache_views import VIEWS, some_view
from tests.helpers.transformers import VARIANTS, make, some_batch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
TOLERANCE = {torch.float32: 1e-5, torch.float16: 3e-3}


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=str)
@pytest.mark.parametrize(*VIEWS)
def test_it_equals_plain_attention(
    groups: int, each: int, slots: int, shared: bool, distances: int | None, rows: bool, dtype: torch.dtype
) -> None:
    torch.manual_seed(0)
    number, size = 3, 16
    view = some_view(groups, each, slots, shared, distances, rows, DEVICE)
    # Queries are a part of a wider projection, and slots have room behind them, as states give them.
    joined = torch.randn(groups * each, 3 * number * size).to(DEVICE, dtype)
    q = joined[:, : number * size].unflatten(1, (number, size))
    kv = torch.randn(groups, slots + 5, 2, number, size).to(DEVICE, dtype)[:, :slots]
    kv = kv.reshape(-1, 2, number, size) if rows else kv
    table = None if distances is None else torch.randn(distances, number, size).to(DEVICE)
    found = decode_step.decode_attention_gpu(q, kv, view, table)
    for mask, out in zip(view.allowed, found, strict=True):
        torch.testing.assert_close(
            out.float(), plain(q, kv, mask, view, table), atol=TOLERANCE[dtype], rtol=TOLERANCE[dtype]
        )


def plain(
    q: torch.Tensor, kv: torch.Tensor, mask: torch.Tensor, view: CacheView, table: torch.Tensor | None
) -> torch.Tensor:
    """[N, H, D] query by query, in float32."""
    groups = len(kv) if view.rows is None else len(view.rows)
    each = len(q) // groups
    outs = []
    for n, query in enumerate(q.float()):
        k, v = (kv[n // each] if view.rows is None else kv[view.rows[n // each]]).float().unbind(1)  # [M, H, D]
        logits = torch.einsum("hd,mhd->hm", query, k)
        if table is not None and view.relative is not None:
            logits = logits + torch.einsum("hd,mhd->hm", query, table[view.relative[n]])
        seen = mask[n * len(mask) // len(q)]
        weights = (logits * query.shape[-1] ** -0.5).masked_fill(~seen, -torch.inf).softmax(-1)
        outs.append(torch.einsum("hm,mhd->hd", weights, v))
    return torch.stack(outs)


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
def test_states_hand_over_what_it_reads(variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few steps of every variant: slots, masks and rows as states really give them."""
    model = make(variant).float().to(DEVICE)
    ids, _, source, _ = some_batch()
    ids, source = ids.to(DEVICE), source.map(lambda x: x.to(DEVICE))
    words = torch.randint(6, 40, (5, 4), generator=torch.Generator().manual_seed(2)).to(DEVICE)

    def steps() -> list[torch.Tensor]:
        alignment = model.alignment("sent-align")
        rows = torch.tensor([0, 0, 1, 1], device=DEVICE)
        state = model.begin(model.encode(ids, source), source, rows, alignment=alignment)
        found = []
        for previous in words:
            hidden, state = model.step(previous, state)
            found.append(hidden)
        return found

    with torch.no_grad():
        wanted = steps()
        calls = []

        def counted(
            q: torch.Tensor, kv: torch.Tensor, view: CacheView, table: torch.Tensor | None
        ) -> list[torch.Tensor]:
            calls.append(1)
            return decode_step.decode_attention_gpu(q, kv, view, table)

        monkeypatch.setattr(multihead, "decode_attention", counted)
        found = steps()
    assert calls
    for a, b in zip(found, wanted, strict=True):
        torch.testing.assert_close(a, b, atol=1e-5, rtol=1e-4)


def test_what_does_not_fit_goes_another_way() -> None:
    q = torch.zeros(4, 2, 64)
    assert decode_step.available(q, 12, torch.zeros(41, 2, 64))
    assert not decode_step.available(q, 400, None)
    assert not decode_step.available(q, 4, torch.zeros(2001, 2, 64))
    assert not decode_step.available(q.double(), 4, None)
    assert not decode_step.available(torch.zeros(4, 2, 24), 4, None)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_without_the_kernel(dtype: torch.dtype) -> None:
    """What `decode_attention` takes on a CPU, and on a GPU in float64."""
    torch.manual_seed(1)
    view = some_view(2, 3, 30, False, 7, True)
    q, table = torch.randn(6, 3, 16).to(DEVICE, dtype), torch.randn(7, 3, 16).to(DEVICE, dtype)
    kv = torch.randn(60, 2, 3, 16).to(DEVICE, dtype)
    for mask, out in zip(view.allowed, decode_step.decode_attention(q, kv, view, table), strict=True):
        torch.testing.assert_close(out.float(), plain(q, kv, mask, view, table.float()), atol=1e-5, rtol=1e-5)
