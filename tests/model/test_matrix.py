"""Products of the compiled library: each row by itself, the same bits whatever computes them."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import numpy.typing as npt
import pytest

from fenster.errors import FensterError
from fenster.io.native_library import library
from fenster.model.compiled.matrix import PackedMatrix, multiply, pack_float32, pack_int8
from fenster.model.int8_storage import quantize_rows
from tests.helpers.native import AVX2, INSTRUCTIONS, PLAIN, instructions

pytestmark = pytest.mark.skipif(library() is None, reason="not compiled: no C++ compiler")
Array = npt.NDArray[np.float32]
close = partial(np.testing.assert_allclose, rtol=1e-5, atol=1e-5)
SHAPES = [(16, 64, 4), (70, 32, 9), (1, 3, 1), (130, 513, 6), (512, 512, 21), (65, 8, 200)]


def normal(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


def with_large_inputs(rows: int, depth: int) -> Array:
    """As networks have them: the same few inputs, far larger than all others, in every row."""
    x = normal(rows, depth, seed=1) * 3
    x[:, depth // 2] *= 40
    return x


def expected(x: Array, weight: npt.NDArray[np.int8], scale: Array, bias: Array, after_relu: bool) -> Array:
    """What an int8 product is: whole numbers, but for the few that are large, in float64."""
    x = np.maximum(x, 0) if after_relu else x
    large = np.zeros_like(x)
    if not after_relu:
        spans = [x[:, k : k + 64] for k in range(0, x.shape[1], 64)]
        usual = np.stack([np.abs(span).max(1) for span in spans]).min(0)
        for row in range(len(x)):
            for at in np.argsort(-np.abs(x[row]), kind="stable")[:4]:
                large[row, at] = x[row, at] * (abs(x[row, at]) > 2 * usual[row])
    rest = x - large
    largest = np.abs(rest).max(1, keepdims=True).clip(1e-30).astype(np.float32)
    whole = np.round(rest * (np.float32(127) / largest)).astype(np.float64)
    columns = weight.astype(np.float64).T
    made: Array = (whole @ columns * (largest / 127.0) + large.astype(np.float64) @ columns) * scale + bias
    return made


@pytest.mark.parametrize(("out", "depth", "rows"), SHAPES)
@pytest.mark.parametrize("after_relu", [False, True])
@pytest.mark.parametrize("kind", INSTRUCTIONS)
def test_int8_products(out: int, depth: int, rows: int, after_relu: bool, kind: int) -> None:
    weight, scale = quantize_rows(normal(out, depth))
    packed, bias, x = pack_int8(weight, scale), normal(out, seed=2), with_large_inputs(rows, depth)
    with instructions(PLAIN):
        plain = multiply(x, packed, bias, after_relu)
    close(plain, expected(x, weight, scale, bias, after_relu))
    with instructions(kind):
        found = multiply(x, packed, bias, after_relu)
        assert np.array_equal(found, plain), "the same bits"
        assert np.array_equal(multiply(x, packed, None), multiply(x, packed, np.zeros(out, np.float32)))
        for row in range(0, rows, 5):
            alone = multiply(x[row : row + 1], packed, bias, after_relu)
            assert np.array_equal(alone[0], plain[row]), "a row does not depend on the others"


@pytest.mark.parametrize("kind", INSTRUCTIONS)
def test_the_largest_sums(kind: int) -> None:
    """All weights and inputs ±127, which 16 bits must hold."""
    signs = np.where(normal(130, 513) > 0, 1, -1)
    extreme = pack_int8((signs * 127).astype(np.int8), np.ones(130, np.float32))
    inputs = np.concatenate([signs[:1], -signs[:1], np.ones((1, 513))]).astype(np.float32)
    with instructions(kind):
        close(multiply(inputs, extreme), inputs.astype(np.float64) @ (signs.T * 127.0))
        assert not multiply(np.full((1, 513), 1e-38, np.float32), extreme).any(), "nothing to divide by"


@pytest.mark.parametrize("kind", INSTRUCTIONS)
def test_a_few_large_inputs_do_not_make_the_others_coarse(kind: int) -> None:
    weight, scale = quantize_rows(normal(64, 512))
    x = normal(8, 512, seed=1)
    x[:, [5, 70, 300]] *= 1000
    x[1, 17] = 3000.0  # and one that a single row has
    columns = (weight * scale[:, None]).T
    with instructions(kind):
        found = multiply(x, pack_int8(weight, scale))
    wanted = x @ columns
    x[:, [5, 70, 300, 17]] = 0
    assert np.linalg.norm(found - wanted) / np.linalg.norm(x @ columns) < 0.02


@pytest.mark.parametrize(("out", "depth", "rows"), SHAPES)
@pytest.mark.parametrize("kind", INSTRUCTIONS)
def test_float32_products(out: int, depth: int, rows: int, kind: int) -> None:
    weight, bias, x = normal(out, depth), normal(out, seed=2), normal(rows, depth, seed=1)
    packed = pack_float32(weight)
    with instructions(kind):
        found = multiply(x, packed, bias)
        alone = multiply(x[-1:], packed, bias)
    close(found, x.astype(np.float64) @ weight.T.astype(np.float64) + bias, atol=1e-4)
    assert np.array_equal(alone[0], found[-1]), "a row does not depend on the others"
    if kind > AVX2:
        with instructions(AVX2):
            assert np.array_equal(multiply(x, packed, bias), found), "the same bits as AVX2"


@pytest.mark.parametrize("fault", [np.nan, np.inf])
@pytest.mark.parametrize("kind", INSTRUCTIONS)
@pytest.mark.parametrize("depth", [24, 512])
def test_nan_is_reported(fault: float, kind: int, depth: int) -> None:
    x = np.ones((2, depth), np.float32)
    x[1, depth // 3] = fault
    packed = pack_int8(*quantize_rows(normal(10, depth)))
    with instructions(kind), pytest.raises(FensterError, match="produced NaN"):
        multiply(x, packed)


@pytest.mark.parametrize("pack", [pack_float32, lambda weight: pack_int8(*quantize_rows(weight))])
def test_threads_change_nothing(pack: type[PackedMatrix]) -> None:
    packed, x = pack(normal(2048, 512)), normal(200, 512, seed=1)  # type: ignore[call-arg,arg-type]
    assert np.array_equal(multiply(x, packed, threads=3), multiply(x, packed, threads=1))


def big_product(threads: int = 3) -> Array:
    return multiply(normal(400, 256, seed=1), pack_int8(*quantize_rows(normal(512, 256))), threads=threads)


def test_threads_of_the_program_share_the_library() -> None:
    wanted = big_product(1)
    with ThreadPoolExecutor(6) as threads:
        assert all(np.array_equal(made, wanted) for made in threads.map(lambda _: big_product(), range(60)))


def forked(compute: Callable[[], Array], wanted: Array) -> bool:
    """True if a forked process ends within a minute and computes the same."""
    child = os.fork()
    if not child:
        os._exit(0 if np.array_equal(compute(), wanted) else 1)
    deadline = time.monotonic() + 60
    while (done := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < deadline:
        time.sleep(0.001)
    if done == (0, 0):
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return done == (child, 0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Python's own, about fork beside threads
def test_a_forked_process_has_threads_of_its_own() -> None:
    assert forked(big_product, big_product()), "the parent's threads are there, and the child has none"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_process_may_fork_while_its_threads_compute() -> None:
    packed, x = pack_int8(*quantize_rows(normal(512, 256))), normal(400, 256, seed=1)
    wanted, ended = multiply(x, packed), threading.Event()

    def work(_: int) -> None:
        while not ended.is_set():
            multiply(x, packed, threads=2)

    with ThreadPoolExecutor(3) as threads:
        working = threads.map(work, range(3))
        try:
            assert all(forked(lambda: multiply(x, packed, threads=2), wanted) for _ in range(40))
        finally:
            ended.set()
        list(working)
