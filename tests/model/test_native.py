"""The compiled window attention of a CPU equals the reference; and what the machine has to compute with."""

from functools import partial
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fenster.io.machine import _quota, free_cores, usual_threads
from fenster.io.native_library import library
from fenster.model.attention.backends import BACKENDS, choose
from fenster.model.attention.backends.reference import reference_attention
from fenster.model.attention.backends.window_cpu import window_cpu_attention
from fenster.model.attention.mask import AttentionMask, Relative
from fenster.model.layout import Layout
from tests.helpers.attention import window_masks
from tests.helpers.native import INSTRUCTIONS, instructions

compiled = pytest.mark.skipif(library() is None, reason="not compiled: no C++ compiler")
close = partial(torch.testing.assert_close, rtol=1e-5, atol=1e-5)


@compiled
@settings(max_examples=60, deadline=None)
@given(
    window_masks(), st.sampled_from([8, 12, 16, 32, 64, 128]), st.booleans(), st.sampled_from([INSTRUCTIONS[0], 0])
)  # fmt: skip
def test_windows_equal_the_reference(
    drawn: tuple[str, AttentionMask, int], size: int, relative: bool, instruction_set: int
) -> None:
    kind, mask, _ = drawn
    torch.manual_seed(0)
    q = torch.randn(mask.queries.tokens, 3, 2 * size)[:, :, :size] * 3
    k, v = torch.randn(mask.keys.tokens, 2, 3, size).unbind(1)  # parts of a wider projection
    assert mask.window is not None
    table = Relative(torch.randn(2 * mask.window + 1, 3, size)) if relative and kind != "cross" else None
    with torch.no_grad(), instructions(instruction_set):
        made = window_cpu_attention(q, k, v, mask, table)
        close(made, reference_attention(q, k, v, mask, table))


@compiled
def test_it_is_chosen_without_gradients_only() -> None:
    side = Layout.from_sentence_lengths([[4]])
    q, mask = torch.zeros(4, 2, 8), AttentionMask(side, side, window=3)
    with torch.no_grad():
        assert choose("auto", mask, q, True) is BACKENDS["window-cpu"]
        assert choose("auto", mask, q.double(), True) is BACKENDS["block"]
    assert choose("auto", mask, q, True) is BACKENDS["block"]


@compiled
def test_threads_and_vectors_change_nothing() -> None:
    side = Layout.from_sentence_lengths([[400]])
    mask, (q, k, v) = AttentionMask(side, side, window=20), torch.randn(3, 400, 8, 64)
    before, made = torch.get_num_threads(), []
    try:
        for threads, kind in ((1, 0), (4, 0), *((1, kind) for kind in INSTRUCTIONS[1:])):
            torch.set_num_threads(threads)
            with torch.no_grad(), instructions(kind):
                made.append(window_cpu_attention(q, k, v, mask, None))
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(one, made[0]) for one in made)


def test_cores_that_are_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(8)), raising=False)
    monkeypatch.setattr("fenster.io.machine._GROUPS", tmp_path)
    monkeypatch.setattr("os.getloadavg", lambda: (0.4, 0, 0))
    assert free_cores() == 8
    (tmp_path / "cpu.max").write_text("250000 100000\n")
    assert free_cores() == _quota(tmp_path) == 3
    monkeypatch.setattr("os.getloadavg", lambda: (1.2, 0, 0))
    assert free_cores() == 2
    monkeypatch.setattr("os.getloadavg", lambda: (50.0, 0, 0))
    assert free_cores() == 2, "no fewer than half"
    (tmp_path / "cpu.max").write_text("max 100000\n")
    assert _quota(tmp_path) is None
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    assert usual_threads() == 5
    for nonsense in ("", "0", "many"):
        monkeypatch.setenv("OMP_NUM_THREADS", nonsense)
        assert usual_threads() == free_cores()
