"""Weights are fetched a panel ahead: which cache lines kernels prefetch, counted.

A test has a kernel whose prefetches are calls of a function that keeps their addresses.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest import mock

import compiled_source
import numpy as np
from compiled_source import Compiled
from llvmlite import binding as llvm

from flowc import dtypes
from flowc.codegen.cpu.blocked import ContractionSource
from flowc.codegen.cpu.packing import pack_gemm_b
from flowc.codegen.cpu.products.gemm import GemmSpec, gemm_source
from flowc.codegen.cpu.products.gemm_m_vectorized import m_vectorized_source, panel_columns
from flowc.codegen.cpu.products.pixel_tiles import pack_pointwise
from flowc.codegen.cpu.products.pointwise import NEAR_ROWS, pointwise_source
from flowc.codegen.cpu.tile_shape import AHEAD_BYTES, tile_shape

SHAPE = tile_shape(dtypes.f32, 512, registers=32, fma=True)
LINE = 64  # bytes
SECOND = 2  # the operand of llvm.prefetch that asks for the second cache; 3 for the first
_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *[ctypes.c_int32] * 3)


class Recorded(Compiled):
    """A compiled source; `fetched`: of each prefetch, the address, to read or write (0 or 1), and
    the cache (3 - its level + 1)."""

    def __init__(self, source: ContractionSource) -> None:
        self.fetched: list[tuple[int, int, int]] = []
        self.record = _FUNCTION(
            lambda at, how, cache, _: self.fetched.append((at or 0, how, cache))
        )
        with self._recording():
            super().__init__(source)

    @contextmanager
    def _recording(self) -> Iterator[None]:
        name = "record_prefetch"
        address = ctypes.cast(self.record, ctypes.c_void_p).value
        assert address is not None
        llvm.add_symbol(name, address)
        plain = compiled_source.optimized_module

        def changed(texts: Sequence[str], *arguments: Any, **more: Any) -> llvm.ModuleRef:
            return plain(
                [re.sub(r"llvm\.prefetch\.p0\w*", name, t) for t in texts], *arguments, **more
            )

        with mock.patch.object(compiled_source, "optimized_module", changed):
            yield

    def lines(self, array: np.ndarray, cache: int) -> list[int]:
        """The cache lines of an array that were fetched to be read, in order, its first being 0."""
        start = array.ctypes.data // LINE
        stop = -(-(array.ctypes.data + array.nbytes) // LINE)
        found = [at // LINE for at, how, c in self.fetched if (how, c) == (0, cache)]
        return [line - start for line in found if start <= line < stop]


def aligned(array: np.ndarray) -> np.ndarray:
    """The same numbers from the begin of a cache line."""
    room = np.empty(array.nbytes + LINE, np.uint8)
    start = -room.ctypes.data % LINE
    found = room[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    found[:] = array
    return found


def ones(*shape: int) -> np.ndarray:
    return np.ones(shape, np.float32)


def test_tiles_of_a_product_fetch_the_next_panel_into_the_second_cache() -> None:
    m, n, k = 2 * SHAPE.rows, 3 * SHAPE.columns, 64
    kernel = Recorded(gemm_source(GemmSpec(SHAPE)))
    weights = aligned(pack_gemm_b(ones(1, k, n), SHAPE).array())
    sizes = {"batch": 1, "m": m, "n": n, "k": k, "a_stride": k, "c_stride": n}
    kernel(ones(m, k), weights, ones(m, n), a_batch=0, b_batch=0, **sizes)
    of_panel = k * SHAPE.columns * 4 // LINE
    found = kernel.lines(weights, SECOND)
    # Two tiles, of one line a step each: all lines of the second and of the third panel, once.
    assert sorted(found) == [*range(of_panel, 3 * of_panel)]
    # What is multiplied next comes into the first cache: at each step the lines of one.
    near = kernel.lines(weights, SECOND + 1)
    ahead = AHEAD_BYTES // LINE
    assert near[:of_panel] == [*range(ahead, ahead + of_panel)]
    assert len(near) >= (m // SHAPE.rows) * of_panel


def test_tiles_of_pixels_fetch_the_next_panel_into_the_second_cache() -> None:
    m, n, channels = 2 * SHAPE.rows, 3 * SHAPE.columns, 64
    kernel = Recorded(pointwise_source(SHAPE, 0))
    weights = aligned(pack_pointwise(ones(channels, n), SHAPE).array())
    y = ones(m, n)
    sizes = {"batch": 1, "m": m, "n": n, "channels": channels, "c_stride": n}
    sizes |= {"w_step": channels, "x_stride": channels}
    kernel(ones(m, channels), weights, y, x_batch=0, w_batch=0, **sizes)
    of_panel = channels * SHAPE.columns * 4 // LINE
    assert sorted(kernel.lines(weights, SECOND)) == [*range(of_panel, 3 * of_panel)]
    # Rows of another block read them again, when they are there.
    sizes["m"] = 2 * NEAR_ROWS // SHAPE.rows * SHAPE.rows
    again = Recorded(pointwise_source(SHAPE, 0))
    y = ones(sizes["m"], n)
    again(ones(sizes["m"], channels), weights, y, x_batch=0, w_batch=0, **sizes)
    assert {*again.lines(weights, SECOND)} <= {*range(of_panel, 4 * of_panel)}
    assert len(again.lines(weights, SECOND)) < 2 * 3 * of_panel


def test_the_first_panel_of_later_rows_fetches_the_rows_behind() -> None:
    m, n, channels = 6 * SHAPE.rows, 2 * SHAPE.columns, 64  # two tasks of three tiles each
    kernel = Recorded(pointwise_source(SHAPE, 0))
    weights = aligned(pack_pointwise(ones(channels, n), SHAPE).array())
    x = aligned(ones(m, channels))
    sizes = {"batch": 1, "m": m, "n": n, "channels": channels, "c_stride": n}
    sizes |= {"w_step": channels, "x_stride": channels}
    kernel(x, weights, ones(m, n), x_batch=0, w_batch=0, **sizes)
    of_tile = SHAPE.rows * channels * 4 // LINE
    assert sorted({*kernel.lines(x, SECOND)}) == [*range(4 * of_tile, 6 * of_tile)]


def test_rows_that_fill_vectors_fetch_both_operands_at_an_even_pace() -> None:
    m, n, k = 2 * SHAPE.lanes, 4 * panel_columns(SHAPE), 64
    kernel = Recorded(m_vectorized_source(SHAPE, k))
    weights = aligned(pack_gemm_b(ones(k, n), SHAPE, panel_columns(SHAPE)).array())
    kernel(ones(m, k), weights, ones(m, n), m=m, n=n, k=k, a_stride=k, c_stride=n)
    ahead, lines = 2 * AHEAD_BYTES // LINE, weights.nbytes // LINE
    assert set(kernel.lines(weights, SECOND + 1)) == {*range(ahead, lines)}
