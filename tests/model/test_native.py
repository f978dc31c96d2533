"""The compiled attention of a CPU equals the reference; threads and company change nothing."""

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fenster.io.native_library import library
from fenster.model.attention.backends import BACKENDS, choose
from fenster.model.attention.backends.decode_step import decode_attention_cpu, decode_attention_torch
from fenster.model.attention.backends.reference import reference_attention
from fenster.model.attention.backends.window_cpu import window_cpu_attention
from fenster.model.attention.cache import CacheView
from fenster.model.attention.mask import AttentionMask, Relative
from fenster.model.layout import Layout
from fenster.model.ops import native
from fenster.model.ops.int8_kernel import int8_linear, int8_pack
from fenster.model.ops.threads import _quota, free_cores, native_threads
from tests.helpers.attention import window_masks
from tests.helpers.cache_views import VIEWS, some_view

pytestmark = pytest.mark.skipif(library() is None, reason="not compiled: no C++ compiler")
close = partial(torch.testing.assert_close, rtol=1e-5, atol=1e-5)


@settings(max_examples=60, deadline=None)
@given(window_masks(), st.sampled_from([8, 12, 16, 32, 64]), st.booleans(), st.booleans())
def test_windows_equal_the_reference(
    drawn: tuple[str, AttentionMask, int], size: int, relative: bool, plain: bool
) -> None:
    kind, mask, _ = drawn
    torch.manual_seed(0)
    q = torch.randn(mask.queries.tokens, 3, 2 * size)[:, :, :size] * 3
    k, v = torch.randn(mask.keys.tokens, 2, 3, size).unbind(1)  # parts of a wider projection
    assert mask.window is not None
    table = Relative(torch.randn(2 * mask.window + 1, 3, size)) if relative and kind != "cross" else None
    with torch.no_grad():
        made = window_cpu_attention(q, k, v, mask, table, plain=plain)
        close(made, reference_attention(q, k, v, mask, table))


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize(*VIEWS)
def test_a_step_equals_plain_attention(
    groups: int, each: int, slots: int, shared: bool, distances: int | None, rows: bool, plain: bool
) -> None:
    torch.manual_seed(0)
    heads, size = 3, 16
    view = some_view(groups, each, slots, shared, distances, rows)
    q = torch.randn(groups * each, 3 * heads * size)[:, : heads * size].unflatten(1, (heads, size))
    kv = torch.randn(groups, slots + 5, 2, heads, size)[:, :slots]
    kv = kv.reshape(-1, 2, heads, size) if rows else kv
    table = None if distances is None else torch.randn(distances, heads, size)
    with torch.no_grad():
        made = decode_attention_cpu(q, kv, view, table, plain=plain)
        for found, wanted in zip(made, decode_attention_torch(q, kv, view, table), strict=True):
            close(found, wanted)
        first = CacheView(
            tuple(mask[: len(mask) // groups] for mask in view.allowed),
            None if view.relative is None else view.relative[:each],
            None if view.rows is None else view.rows[:1],
        )
        alone = decode_attention_cpu(q[:each], kv if rows else kv[:1], first, table, plain=plain)
        assert torch.equal(alone[0], made[0][:each]), "a group does not depend on the others"


def test_it_is_chosen_without_gradients_only() -> None:
    side = Layout.from_sentence_lengths([[4]])
    q, mask = torch.zeros(4, 2, 8), AttentionMask(side, side, window=3)
    with torch.no_grad():
        assert choose("auto", mask, q, True) is BACKENDS["window-cpu"]
        assert choose("auto", mask, q.double(), True) is BACKENDS["block"]
    assert choose("auto", mask, q, True) is BACKENDS["block"]


def test_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    side = Layout.from_sentence_lengths([[400]])
    mask, (q, k, v) = AttentionMask(side, side, window=20), torch.randn(3, 400, 8, 64)
    with torch.no_grad():
        monkeypatch.setattr(native, "threads", 1)
        one = window_cpu_attention(q, k, v, mask, None)
        monkeypatch.setattr(native, "threads", 4)
        assert torch.equal(window_cpu_attention(q, k, v, mask, None), one)


def big_product() -> torch.Tensor:
    generator = torch.Generator().manual_seed(1)
    weight = torch.randint(-127, 128, (512, 256), dtype=torch.int8, generator=generator)
    return int8_linear(
        torch.randn(400, 256, generator=generator), int8_pack(weight, torch.rand(512, generator=generator)), None
    )


def test_threads_of_the_program_share_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "threads", 3)
    wanted = big_product()
    with ThreadPoolExecutor(6) as threads:
        assert all(torch.equal(made, wanted) for made in threads.map(lambda _: big_product(), range(60)))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Python's own, about fork beside threads
def test_a_forked_process_has_threads_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "threads", 3)
    wanted = big_product()  # the parent's threads are there
    child = os.fork()
    if not child:
        os._exit(0 if torch.equal(big_product(), wanted) else 1)
    deadline = time.monotonic() + 60
    while (done := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < deadline:
        time.sleep(0.01)
    if done == (0, 0):
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert done == (child, 0), "it hangs, or computes something else"


def test_pytorch_has_one_thread_while_the_library_has_all() -> None:
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        with native_threads():
            assert (torch.get_num_threads(), native.thread_count()) == (1, 3)
        assert (torch.get_num_threads(), native.thread_count()) == (3, 3)
        with native_threads():
            first = native_threads()
            first.__enter__()
        assert (torch.get_num_threads(), native.thread_count()) == (1, 3), "another search is still running"
        first.__exit__(None, None, None)
        assert (torch.get_num_threads(), native.thread_count()) == (3, 3)
    finally:
        torch.set_num_threads(before)


def test_cores_that_are_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(8)), raising=False)
    monkeypatch.setattr("fenster.model.ops.threads._GROUPS", tmp_path)
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
