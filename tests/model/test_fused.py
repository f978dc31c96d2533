"""The fused element-wise kernels equal PyTorch's functions; in Triton's interpreter without a GPU."""

import pytest
import torch
import torch.nn.functional as F

from fenster.model.ops import fused

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
DTYPES = [torch.float32, torch.float16] + ([torch.bfloat16] if DEVICE == "cuda" else [])
ERROR = {torch.float32: 1e-6, torch.float16: 2e-3, torch.bfloat16: 1e-2}  # relative, of a whole tensor


def close(a: torch.Tensor, b: torch.Tensor, dtype: torch.dtype) -> bool:
    return float((a - b).detach().float().norm() / b.detach().float().norm().clamp(min=1e-9)) < ERROR[dtype]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(1, 64), (9, 48), (37, 512), (200, 32)], ids=str)
def test_the_norm_of_a_residual(shape: tuple[int, int], dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    x, h = (torch.randn(shape, device=DEVICE, dtype=dtype, requires_grad=True) for _ in range(2))
    weight, bias = (torch.randn(shape[1], device=DEVICE, requires_grad=True) for _ in range(2))
    direction = torch.randn(shape, device=DEVICE)
    leaves = (x, h, weight, bias)
    y = fused.residual_norm(x, h, weight, bias, 0.0, 1e-5)
    wanted = F.layer_norm((x + h).float(), (shape[1],), weight, bias, 1e-5)
    assert y.dtype == dtype and close(y, wanted, dtype)
    found = torch.autograd.grad((y.float() * direction).sum(), leaves)
    gradients = torch.autograd.grad((wanted * direction).sum(), leaves)
    assert all(close(a, b, dtype) for a, b in zip(found, gradients, strict=True))


def test_dropout_inside_the_norm() -> None:
    """The share is right, every call draws anew, and the backward pass drops what the forward pass dropped."""
    torch.manual_seed(1)
    x = torch.zeros(400, 64, device=DEVICE)
    h = torch.ones_like(x, requires_grad=True)
    weight, bias = torch.ones(64, device=DEVICE), torch.zeros(64, device=DEVICE)
    masks = []
    for _ in range(2):
        y = fused.residual_norm(x, h, weight, bias, 0.3, 1e-5)
        kept = y > 0  # a row of ones and zeros: kept ones lie above its mean
        (gradient,) = torch.autograd.grad((y * torch.randn_like(y)).sum(), h)
        assert torch.equal(gradient != 0, kept)
        assert abs(float(kept.float().mean()) - 0.7) < 0.015
        masks.append(kept)
    both = (masks[0] & masks[1]).float().mean()
    assert abs(float(both) - 0.49) < 0.015, "two calls are independent"
    neighbours = (masks[0][:, 1:] & masks[0][:, :-1]).float().mean()
    assert abs(float(neighbours) - 0.49) < 0.015, "and so are neighbours"


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("p", [0.0, 0.25])
def test_relu_and_dropout(p: float, dtype: torch.dtype) -> None:
    torch.manual_seed(2)
    x = torch.randn(90, 70, device=DEVICE, dtype=dtype, requires_grad=True)
    y = fused.relu_dropout(x, fused.seed(x, p), p)
    kept = y != 0
    assert not kept[x <= 0].any()
    assert abs(float(kept[x > 0].float().mean()) - (1 - p)) < 0.03
    assert close(y[kept], x[kept] / (1 - p), dtype)
    (gradient,) = torch.autograd.grad(y.sum(), x)
    assert close(gradient, kept / (1 - p), dtype)


def test_the_seed_rules() -> None:
    x = torch.randn(8, 32, device=DEVICE)
    found = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        found.append(fused.relu_dropout(x, fused.seed(x, 0.5), 0.5))
    assert torch.equal(found[0], found[1]) and not torch.equal(found[0], found[2])


@pytest.mark.slow
def test_shape_functions() -> None:
    for p in (0.0, 0.1):
        x = torch.randn(6, 32, device=DEVICE, requires_grad=True)
        seed = torch.zeros(2, device=DEVICE, dtype=torch.int32)
        torch.library.opcheck(torch.ops.fenster.relu_dropout.default, (x, seed, p))
        slanted = torch.randn(32, 6, device=DEVICE).t()
        torch.library.opcheck(torch.ops.fenster.relu_dropout_backward.default, (slanted, x.detach(), p))
        weight = torch.randn(32, device=DEVICE, requires_grad=True)
        torch.library.opcheck(
            torch.ops.fenster.residual_norm.default, (x, x.detach(), weight, weight.detach(), seed, p, 1e-5)
        )


@pytest.mark.slow
def test_under_torch_compile() -> None:
    """Whole graph, forward and backward; on a GPU through Inductor, here through the same tracing without it."""
    torch.manual_seed(3)
    x, h = (torch.randn(12, 32, device=DEVICE) for _ in range(2))
    weight, bias = torch.randn(32, device=DEVICE), torch.randn(32, device=DEVICE)
    seed = torch.tensor([7, 8], device=DEVICE, dtype=torch.int32)

    def part(x: torch.Tensor, h: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        normed = fused.residual_norm(2 * x, h, weight, bias, 0.0, 1e-5)
        return fused.relu_dropout(normed, seed, 0.25).tanh() + fused.relu_dropout(normed, None, 0.0)

    backend = "inductor" if DEVICE == "cuda" else "aot_eager"
    results = []
    for function in (torch.compile(part, fullgraph=True, backend=backend), part):
        leaves = [each.clone().requires_grad_() for each in (x, h, weight, bias)]
        out = function(*leaves)
        results.append([out, *torch.autograd.grad(out.sum(), leaves)])
    for a, b in zip(*results, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


def test_gradients_that_do_not_come() -> None:
    """What follows may have no gradient; a second derivative is refused rather than wrong."""

    class Nothing(torch.autograd.Function):
        @staticmethod
        def forward(ctx: object, x: torch.Tensor) -> torch.Tensor:
            return x.clone()

        @staticmethod
        def backward(ctx: object, *_: torch.Tensor) -> None:
            return None

    x = torch.randn(4, 32, device=DEVICE, requires_grad=True)
    Nothing.apply(fused.relu_dropout(x, None, 0.0)).sum().backward()
    assert x.grad is None
    (once,) = torch.autograd.grad(fused.relu_dropout(x, None, 0.0).square().sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        once.sum().backward()
