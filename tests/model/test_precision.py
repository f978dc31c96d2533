"""The precision of a GPU's products is set for a while, and given back."""

import pytest
import torch

from fenster.model.ops.precision import matmul_precision

CUDA, CPU = torch.device("cuda"), torch.device("cpu")  # no GPU is needed to set what one would do


def test_it_is_given_back() -> None:
    matmul = torch.backends.cuda.matmul
    before = matmul.fp32_precision
    with matmul_precision("tf32", CUDA):
        assert matmul.fp32_precision == "tf32"
        with matmul_precision("float32", CUDA):
            assert matmul.fp32_precision == "ieee"
        assert matmul.fp32_precision == "tf32"
    assert matmul.fp32_precision == before
    with pytest.raises(ZeroDivisionError), matmul_precision("tf32", CUDA):
        raise ZeroDivisionError
    assert matmul.fp32_precision == before


def test_a_cpu_has_no_such_thing() -> None:
    before = torch.backends.cuda.matmul.fp32_precision
    with matmul_precision("tf32", CPU):
        assert torch.backends.cuda.matmul.fp32_precision == before
