"""The fused kernel equals the reference, values and gradients: on CUDA, or in Triton's interpreter."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from torch._dynamo.backends.debugging import aot_eager

pytest.importorskip("triton", reason="Triton is not installed")

from fenster.errors import FensterError
from fenster.model.attention.alignment import ALIGNMENTS
from fenster.model.attention.backends import BACKENDS, band_gpu, choose
from fenster.model.attention.backends.base import Attend
from fenster.model.attention.backends.reference import reference_attention
from fenster.model.attention.backends.window_gpu import _attend, available, window_gpu_attention
from fenster.model.attention.mask import AttentionMask, Relative
from fenster.model.config import preset
from fenster.model.layout import Layout
from fenster.model.loss import smoothed_loss
from fenster.model.transformer import Transformer
from tests.helpers.attention import SENTENCES, make_mask, values_and_gradients

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # the interpreter's numpy, in masked rows
TOLERANCE = {torch.float32: 3e-6, torch.float16: 2e-3, torch.bfloat16: 1e-2}  # relative error of a whole tensor


def draw(mask: AttentionMask, relative: bool, size: int = 16, seed: int = 0, heads: int = 2) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    shapes = [(side.tokens, heads, size) for side in (mask.queries, mask.keys, mask.keys)]
    if relative:
        assert mask.window is not None
        shapes.append((2 * mask.window + 1, heads, size))
    return [torch.randn(shape, generator=generator).to(DEVICE) for shape in shapes]


def assert_near(mask: AttentionMask, inputs: list[torch.Tensor], dtype: torch.dtype = torch.float32) -> None:
    found = values_and_gradients(window_gpu_attention, mask, [x.to(dtype) for x in inputs])
    wanted = values_and_gradients(reference_attention, mask, [x.to(dtype).float() for x in inputs])
    for name, a, b in zip(("out", "dq", "dk", "dv", "dr"), found, wanted, strict=False):
        assert a.dtype == dtype
        assert torch.isfinite(a).all(), name
        # Gradients that are nearly zero (few keys: the softmax hardly moves) are differences of what is about 1.
        assert float((a.float() - b).norm()) < TOLERANCE[dtype] * max(float(b.norm()), 0.25 * b.numel() ** 0.5), name


# Shrinking would take minutes: the interpreter is slow.
@pytest.mark.slow
@settings(max_examples=12, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(
    st.lists(st.tuples(SENTENCES, SENTENCES), min_size=1, max_size=3),
    st.sampled_from(["encoder", "decoder", "cross"]),
    st.integers(0, 50),
    st.sampled_from([*ALIGNMENTS, "random"]),
    st.booleans(),
    st.sampled_from([torch.float32, torch.float16]),  # they take different kernels
    st.integers(0, 1000),
)
def test_any_shape(
    lengths: list[tuple[list[int], list[int]]],
    kind: str,
    window: int,
    centers: str,
    relative: bool,
    dtype: torch.dtype,
    seed: int,
) -> None:
    source = Layout.from_sentence_lengths([(s * 9)[: len(t)] for s, t in lengths], DEVICE)
    target = Layout.from_sentence_lengths([t for _, t in lengths], DEVICE)
    mask = make_mask(kind, source, target, window, centers, seed)
    assert_near(mask, draw(mask, relative and kind != "cross", seed=seed), dtype)


def test_queries_that_keep_to_their_sentence() -> None:
    source = Layout.from_sentence_lengths([[9, 30, 7, 12], [5, 4]], DEVICE)
    target = Layout.from_sentence_lengths([[11, 25, 8, 10], [6, 3]], DEVICE)
    mask = make_mask("cross", source, target, 20, "random", 3)
    focused = torch.arange(target.tokens, device=DEVICE) % 3 > 0
    assert_near(replace(mask, focused=focused), draw(mask, relative=False))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "source", "target", "window", "centers"),
    [
        ("encoder", [[130], [1], [40]], [[1]], 20, ""),  # several tiles, ragged
        ("decoder", [[1]], [[131], [7]], 20, ""),
        ("encoder", [[140], [33]], [[1]], 31, ""),  # as wide as waves can be
        ("decoder", [[1]], [[90], [50]], 32, ""),  # and one more
        ("encoder", [[150]], [[1]], 70, ""),  # a table wider than a tile
        ("decoder", [[1]], [[150]], 70, ""),
        ("encoder", [[90]], [[1]], 200, ""),  # wider than the sequence
        ("encoder", [[70]], [[1]], 0, ""),
        ("cross", [[200]], [[20]], 5, "linear"),  # a far longer source
        ("cross", [[3]], [[150]], 20, "linear"),  # a far shorter one
        ("cross", [[140], [30]], [[130], [45]], 6, "random"),  # jumps everywhere
        ("cross", [[1]], [[1]], 20, "linear"),
    ],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_edges(
    kind: str, source: list[list[int]], target: list[list[int]], window: int, centers: str, dtype: torch.dtype
) -> None:
    left, right = (Layout.from_sentence_lengths(side, DEVICE) for side in (source, target))
    mask = make_mask(kind, left, right, window, centers, 1)
    for relative in {False, kind != "cross"}:
        assert_near(mask, draw(mask, relative, heads=1), dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("size", [32, 64, 128])
def test_types_and_head_sizes(dtype: torch.dtype, size: int) -> None:
    if dtype == torch.bfloat16 and DEVICE == "cpu":
        pytest.skip("Triton's interpreter multiplies bfloat16 as if its bits were integers; needs a GPU")
    side = Layout.from_sentence_lengths([[75], [20]], DEVICE)
    mask = AttentionMask(side, side, causal=True, window=20)
    assert_near(mask, draw(mask, True, size=size, heads=1), dtype)


@pytest.mark.parametrize(("dtype", "room"), [(torch.float32, 0), (torch.float16, 0), (torch.float16, 1)])
def test_inputs_may_be_slices_of_one_projection(dtype: torch.dtype, room: int) -> None:
    """The model hands over views into [tokens, 3 * width]; nothing may assume dense rows, or addresses that are
    multiples of 16 bytes."""
    side = Layout.from_sentence_lengths([[60]], DEVICE)
    mask = AttentionMask(side, side, window=7)
    drawn = torch.randn(60, 3 * (32 + room), generator=torch.Generator().manual_seed(0)).to(DEVICE, dtype)

    def through(compute: Attend, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
        joined = drawn.to(dtype).requires_grad_()
        q, k, v = (x[:, room:].view(60, 2, 16) for x in joined.chunk(3, -1))
        assert not k.is_contiguous()
        out = compute(q, k, v, mask, None)
        return out.detach(), torch.autograd.grad(out.square().sum(), joined)[0]

    for found, wanted in zip(
        through(window_gpu_attention, dtype), through(reference_attention, torch.float32), strict=True
    ):
        assert float((found.float() - wanted).norm()) < TOLERANCE[dtype] * float(wanted.norm())


def test_gradients_may_be_one_row_for_all() -> None:
    """As those of a sum over tokens, which autograd hands over with a stride of 0."""
    side = Layout.from_sentence_lengths([[60]], DEVICE)
    mask = AttentionMask(side, side, window=7)
    inputs = draw(mask, False)

    def gradients(compute: Any, dtype: torch.dtype) -> Any:
        q, k, v = (x.to(dtype).requires_grad_() for x in inputs)
        return torch.autograd.grad(compute(q, k, v, mask, None).sum(0).square().sum(), (q, k, v))

    for found, wanted in zip(
        gradients(window_gpu_attention, torch.float16), gradients(reference_attention, torch.float32), strict=True
    ):
        assert float((found.float() - wanted).norm()) < 5 * TOLERANCE[torch.float16] * float(wanted.norm())


def test_several_programs_share_the_tables_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(band_gpu, "programs", lambda device, heads, each: 3)
    side = Layout.from_sentence_lengths([[300]], DEVICE)
    mask = AttentionMask(side, side, window=9)
    for dtype in (torch.float32, torch.float16):
        assert_near(mask, draw(mask, True, heads=1), dtype)


def test_a_table_of_any_layout() -> None:
    side = Layout.from_sentence_lengths([[40]], DEVICE)
    mask = AttentionMask(side, side, window=3)
    q, k, v = draw(mask, False)
    table = torch.randn(7, 16, 2, generator=torch.Generator().manual_seed(1)).to(DEVICE).transpose(1, 2)
    found, wanted = (
        compute(q, k, v, mask, Relative(table)) for compute in (window_gpu_attention, reference_attention)
    )
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


def test_a_table_of_another_reach() -> None:
    side = Layout.from_sentence_lengths([[40]], DEVICE)
    mask = AttentionMask(side, side, window=9)
    q, k, v = draw(mask, False)
    table = torch.randn(7, 2, 16, generator=torch.Generator().manual_seed(1)).to(DEVICE)
    found, wanted = (
        compute(q, k, v, mask, Relative(table)) for compute in (window_gpu_attention, reference_attention)
    )
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_the_same_every_time() -> None:
    side = Layout.from_sentence_lengths([[100]], DEVICE)
    mask = AttentionMask(side, side, window=12)
    inputs = draw(mask, True)
    first, again = (values_and_gradients(window_gpu_attention, mask, inputs) for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))


def test_the_operators_are_well_formed() -> None:
    """torch's own check of schema, fake tensors and autograd registration."""
    side = Layout.from_sentence_lengths([[20]], DEVICE)
    mask = AttentionMask(side, side, window=3)
    q, k, v, table = (x.requires_grad_() for x in draw(mask, True))
    arguments: tuple[Any, ...] = (q, k, v, table, *mask.interval_int32, None, None, 3, 3)
    torch.library.opcheck(torch.ops.fenster.window_attention.default, arguments)


@pytest.mark.slow
def test_under_torch_compile() -> None:
    """Whole graph, forward and backward; on a GPU through Inductor, here through the same tracing without it."""
    side = Layout.from_sentence_lengths([[40], [9]], DEVICE)
    inputs = draw(AttentionMask(side, side, causal=True, window=6), True)

    def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
        mask = AttentionMask(side, side, causal=True, window=6)  # new in every batch, so nothing is computed before
        return window_gpu_attention(2 * q, k, v, mask, Relative(table)).tanh()

    backend = "inductor" if DEVICE == "cuda" else "aot_eager"
    compiled = torch.compile(attend, fullgraph=True, backend=backend)
    results = []
    for function in (compiled, attend):
        leaves = [x.clone().requires_grad_() for x in inputs]
        out = function(*leaves)
        results.append([out, *torch.autograd.grad(out.sum(), leaves)])
    for a, b in zip(*results, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_one_compilation_serves_all_lengths() -> None:
    """In half precision, where `band` may compute it, as in training."""
    compiled = []

    def backend(graph: Any, inputs: Any) -> Any:
        compiled.append(graph)
        return aot_eager(graph, inputs)

    def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *rest: torch.Tensor) -> torch.Tensor:
        table, first, last = rest
        out: torch.Tensor = _attend(2 * q, k, v, table, first, last, None, None, 6, 0)[0]
        return out.tanh()

    run = torch.compile(attend, fullgraph=True, dynamic=True, backend=backend)
    for length in (40, 50, 130):
        side = Layout.from_sentence_lengths([[length]], DEVICE)
        mask = AttentionMask(side, side, causal=True, window=6)
        leaves = [x.to(torch.float16).requires_grad_() for x in draw(mask, True)]
        run(*leaves, *mask.interval_int32).sum().backward()
        assert all(x.grad is not None for x in leaves)
    assert len(compiled) == 1


@pytest.mark.slow
def test_a_whole_model_runs_on_it() -> None:
    torch.manual_seed(0)
    shape = {"attention": {"kind": "window", "window": 5}, "positions": "relative", "dropout": 0.0}
    source, target = (
        Layout.from_sentence_lengths([[30, 8], [11]], DEVICE),
        Layout.from_sentence_lengths([[25, 9], [14]], DEVICE),
    )
    ids, wanted = (torch.randint(6, 50, (side.tokens,), device=DEVICE) for side in (source, target))
    outputs, gradients = [], []
    for compute in ("window-gpu", "reference"):
        torch.manual_seed(1)
        model = Transformer(preset("tiny", backend=compute, **shape), 50).to(DEVICE)
        out = model(ids, wanted, source, target)
        out.square().sum().backward()
        outputs.append(out.detach())
        gradients.append({name: p.grad for name, p in model.named_parameters()})
    torch.testing.assert_close(outputs[0], outputs[1], rtol=1e-3, atol=1e-4)
    for name, gradient in gradients[0].items():
        torch.testing.assert_close(gradient, gradients[1][name], rtol=2e-3, atol=2e-3, msg=name)


@pytest.mark.slow
def test_under_autocast() -> None:
    """Parameters stay float32 and activations are half: the table must follow the queries.

    Half precision costs every computation about a percent by the time it has gone through the layers, so the kernel
    is held to what the others lose against float32 rather than to a number.
    """
    shape = {"attention": {"kind": "window", "window": 5}, "positions": "relative", "dropout": 0.0}
    side = Layout.from_sentence_lengths([[30, 8], [11]], DEVICE)
    ids = torch.randint(6, 50, (side.tokens,), generator=torch.Generator().manual_seed(0)).to(DEVICE)

    def gradients(compute: str, half: bool) -> list[torch.Tensor]:
        torch.manual_seed(1)
        model = Transformer(preset("tiny", backend=compute, **shape), 50).to(DEVICE)
        model.checkpointing = "layers" if compute == "window-gpu" else "none"
        with torch.autocast(DEVICE, torch.float16, enabled=half):
            hidden = model(ids, ids, side, side)
            loss = smoothed_loss(hidden, model.embedding.weight, ids, 0.1).smoothed
        torch.autograd.backward(loss)
        return [p.grad for p in model.parameters() if p.grad is not None]

    exact = gradients("reference", half=False)

    def errors(compute: str) -> torch.Tensor:
        return torch.stack([(a - b).norm() for a, b in zip(gradients(compute, half=True), exact, strict=True)])

    others = torch.stack([errors("gather"), errors("block")]).amax(0)
    slack = 1e-3 * torch.stack([b.norm() for b in exact])
    assert (errors("window-gpu") <= 2 * others + slack).all()


def test_what_it_does_not_take_is_said() -> None:
    side = Layout.from_sentence_lengths([[4]], DEVICE)
    mask = AttentionMask(side, side, window=2)
    odd = torch.zeros(4, 1, 24, device=DEVICE)
    assert not available(odd)
    with pytest.raises(FensterError, match="head size 24"):
        window_gpu_attention(odd, odd, odd, mask, None)
    fits = torch.zeros(4, 1, 16, device=DEVICE)
    cross = AttentionMask(side, side, window=2, center=torch.arange(4, device=DEVICE))
    with pytest.raises(ValueError, match="self-attention only"):
        window_gpu_attention(fits, fits, fits, cross, Relative(torch.zeros(5, 1, 16, device=DEVICE)))


def test_it_is_the_default_on_a_gpu_only() -> None:
    side = Layout.from_sentence_lengths([[4]], DEVICE)
    chosen = choose("auto", AttentionMask(side, side, window=2), torch.zeros(4, 1, 16, device=DEVICE), True)
    assert (chosen is BACKENDS["window-gpu"]) == (DEVICE == "cuda")


def test_queries_of_keys_covers_every_pair() -> None:
    source, target = (
        Layout.from_sentence_lengths([[90], [33]], DEVICE),
        Layout.from_sentence_lengths([[70], [60]], DEVICE),
    )
    for centers in ("linear", "random"):
        mask = make_mask("cross", source, target, 11, centers, 3)
        allowed = mask.allowed()
        low, high = mask.queries_of_key_blocks(16)
        for block in range(len(low)):
            rows = allowed[:, block * 16 : block * 16 + 16].any(1).nonzero().squeeze(1)
            if len(rows):
                assert (int(low[block]), int(high[block])) == (int(rows.min()), int(rows.max()))
            else:
                assert high[block] < low[block]
