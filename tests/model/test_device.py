import pytest
import torch

from fenster.model.ops.device import out_of_memory


def test_out_of_memory_is_known_in_all_its_forms() -> None:
    assert out_of_memory(torch.OutOfMemoryError("CUDA out of memory"))
    with pytest.raises(RuntimeError, match="capture") as covered:
        try:
            raise torch.OutOfMemoryError
        finally:
            raise RuntimeError("operation failed during capture")
    assert out_of_memory(covered.value)
    with pytest.raises(RuntimeError) as of_the_cpu:
        torch.empty(1 << 60)
    assert out_of_memory(of_the_cpu.value)
    assert not out_of_memory(RuntimeError("a size mismatch"))
