import pytest
import torch
import torch.nn.functional as F
from torch import nn

from fenster.model.ops.linear import apply_linear, linear


@pytest.mark.parametrize("rows", [0, 1, 2, 5, 8, 9])
@pytest.mark.parametrize("bias", [True, False])
def test_few_rows_are_mapped_like_many(rows: int, bias: bool) -> None:
    torch.manual_seed(0)
    layer, x = nn.Linear(12, 7, bias=bias).double(), torch.randn(rows, 12, dtype=torch.float64)
    with torch.inference_mode():
        for found in (apply_linear(layer, x), linear(x, layer.weight, layer.bias)):
            torch.testing.assert_close(found, F.linear(x, layer.weight, layer.bias))
            assert found.is_contiguous()


def test_gradients_and_other_layers_go_the_usual_way() -> None:
    layer, x = nn.Linear(12, 7), torch.randn(4, 12)
    heard: list[nn.Module] = []
    layer.register_forward_hook(lambda module, *_: heard.append(module))
    apply_linear(layer, x).sum().backward()
    assert heard == [layer] and layer.weight.grad is not None
    with torch.inference_mode():
        apply_linear(nn.Sequential(layer), x)
    assert len(heard) == 2


def test_compiled_training_takes_any_number_of_rows() -> None:
    layer = nn.Linear(12, 7)
    run = torch.compile(lambda x: apply_linear(layer, x), fullgraph=True, dynamic=True, backend="aot_eager")
    for rows in (3, 5, 20):
        x = torch.randn(rows, 12)
        torch.testing.assert_close(run(x), layer(x))
