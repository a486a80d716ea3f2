"""Contraction kernels against NumPy: odd sizes, tails, strides, paddings, groups, transposes."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import compiled_ir
import numpy as np
import pytest
from compiled_source import Compiled

from flowc import dtypes
from flowc.codegen.cpu.blocked import Argument, ContractionSource, parts_of_blocks
from flowc.codegen.cpu.contractions.cluster import contraction_launches
from flowc.codegen.cpu.conv_transpose import conv_transpose_source, pack_conv_transpose_weights
from flowc.codegen.cpu.convolution import ConvSpec, conv_source
from flowc.codegen.cpu.depthwise import (
    DepthwiseSpec,
    channel_block,
    depthwise_source,
    fitted_to_image,
    pack_depthwise,
)
from flowc.codegen.cpu.packing import (
    pack_conv_weights,
    pack_gemm_b,
)
from flowc.codegen.cpu.products.gemm import GemmSpec, gemm_source, pack_source
from flowc.codegen.cpu.products.gemm_m_vectorized import (
    is_turned,
    turned_columns,
    turned_rows,
    turned_source,
)
from flowc.codegen.cpu.products.pointwise import is_pointwise, pack_pointwise, pointwise_source
from flowc.codegen.cpu.target import cpu_target
from flowc.codegen.cpu.tiles import TileShape, TileSizes, panels_routine, sizes_needed, tile_shape
from flowc.ir.builder import Builder
from flowc.ir.dims import Dim, Symbol, evaluate, parse_dim, symbol
from flowc.ir.lowering import Convolution
from flowc.ir.types import tensor_type
from flowc.options import Options
from flowc.passes.pipeline import run_passes

WIDTHS = {512: (32, True), 256: (16, True), 128: (16, False)}  # bits: registers, fused multiply-add


def shape_for(dtype: dtypes.DType, bits: int) -> TileShape:
    registers, fma = WIDTHS[bits]
    return tile_shape(dtype, bits, registers=registers, fma=fma)


@lru_cache(maxsize=64)
def gemm_kernel(shape: TileShape, transpose_a: bool) -> Compiled:
    return Compiled(gemm_source(GemmSpec(shape, transpose_a)))


@lru_cache(maxsize=64)
def pack_kernel(shape: TileShape, transpose_b: bool) -> Compiled:
    return Compiled(pack_source(shape, transpose_b=transpose_b))


@lru_cache(maxsize=64)
def conv_kernel(shape: TileShape, rank: int) -> Compiled:
    return Compiled(conv_source(ConvSpec(shape, rank)))


@lru_cache(maxsize=64)
def transpose_kernel(shape: TileShape, rank: int) -> Compiled:
    return Compiled(conv_transpose_source(ConvSpec(shape, rank)))


@lru_cache(maxsize=64)
def depthwise_kernel(spec: DepthwiseSpec) -> Compiled:
    return Compiled(depthwise_source(spec))


def values(shape: Sequence[int], dtype: dtypes.DType, seed: int = 0) -> np.ndarray:
    draw = np.random.default_rng([seed, *shape])
    if dtype.is_integer:
        return draw.integers(-99, 99, shape).astype(dtype.numpy)
    return draw.uniform(-1, 1, shape).astype(dtype.numpy)


def assert_close(found: np.ndarray, expected: np.ndarray, terms: int) -> None:
    """Within the rounding of `terms` products of numbers of size 1; integers exactly."""
    if found.dtype.kind == "i":
        np.testing.assert_array_equal(found, expected)
    else:
        bound = (32 + terms) * np.finfo(found.dtype).eps
        np.testing.assert_allclose(found, expected, rtol=0, atol=bound)


def run_gemm(
    a: np.ndarray,
    b: np.ndarray,
    shape: TileShape,
    *,
    transpose_a: bool = False,
    splits: int = 1,
    parts: int = 1,
) -> np.ndarray:
    batch, m, k = a.shape
    n = b.shape[-1]
    c = np.full((batch, m, n), 77, shape.dtype.numpy)
    stored = np.ascontiguousarray(a.transpose(0, 2, 1)) if transpose_a else a
    packed = pack_gemm_b(b, shape)
    gemm_kernel(shape, transpose_a)(
        stored,
        packed,
        c,
        splits=splits,
        batch=batch,
        m=m,
        n=n,
        k=k,
        a_stride=stored.shape[-1],
        parts=parts,
        c_stride=n,
        a_batch=m * k,
        b_batch=packed[0].size if len(b) > 1 else 0,
    )
    return c


SIZES = [
    (1, 1, 1),
    (14, 32, 8),
    (13, 31, 7),
    (5, 50, 300),
    (225, 270, 33),
    (7, 16, 513),
    (32, 40, 20),
    (75, 33, 400),
    (3, 17, 0),
]


@pytest.mark.parametrize(
    ("name", "bits", "transpose_a"),
    [
        ("f32", 512, False),
        ("f32", 512, True),
        ("f32", 256, False),
        ("f32", 128, False),
        ("f64", 256, True),
        ("i32", 256, False),
        ("i64", 512, False),
    ],
)
def test_gemm(name: str, bits: int, transpose_a: bool) -> None:
    dtype = dtypes.as_dtype(name)
    for m, n, k in SIZES:
        a, b = values((1, m, k), dtype), values((1, k, n), dtype, 1)
        expected = a.astype(np.float64) @ b.astype(np.float64)
        found = run_gemm(a, b, shape_for(dtype, bits), transpose_a=transpose_a)
        assert_close(found, expected.astype(dtype.numpy), k)


@pytest.mark.parametrize(
    ("name", "bits"),
    [("f32", 512), ("f32", 256), ("f32", 128), ("f64", 512), ("i32", 512), ("i64", 256)],
)
def test_turned_products(name: str, bits: int) -> None:
    dtype = dtypes.as_dtype(name)
    shape = shape_for(dtype, bits)
    kernel = Compiled(turned_source(shape, 300))
    rows = turned_rows(shape)
    sizes = [(1, 1, 1), (rows, 300, 300), (2 * rows, 14, 8), (3 * rows - 1, 130, 37), (rows, 17, 0)]
    for m, n, k in sizes:
        a, b = values((m, k), dtype), values((k, n), dtype, 1)
        packed = pack_gemm_b(b, shape, turned_columns(shape))
        expected = (a.astype(np.float64) @ b.astype(np.float64)).astype(dtype.numpy)
        for splits in (1, 3):
            c = np.full((m, n), 77, dtype.numpy)
            kernel(a, packed, c, splits=splits, m=m, n=n, k=k, a_stride=k, c_stride=n)
            assert_close(c, expected, k)


def test_tiles_read_no_rows_that_memory_held_before() -> None:
    """What fills the last tile of a block is zeros: sums of subnormal numbers take long."""
    shape = shape_for(dtypes.f32, 512)
    for m, n, read in [(1, 32, 1), (1, 10, 1), (5, 32, 7), (5, 10, 14), (18, 64, 18), (23, 42, 28)]:
        kernel = Compiled(gemm_source(GemmSpec(shape)))  # scratch is NaN
        x, w = values((m, 40), dtypes.f32), values((40, n), dtypes.f32, 1)
        sizes = {"batch": 1, "m": m, "n": n, "k": 40, "a_stride": 40, "parts": 1, "c_stride": n}
        packed = pack_gemm_b(w, shape)
        kernel(x, packed, np.zeros((m, n), np.float32), a_batch=0, b_batch=0, **sizes)
        start = -kernel.scratch.ctypes.data % 64 // 4
        rows = kernel.scratch[start:].view(np.float32)[: 28 * shape.row_stride].reshape(28, -1)
        assert not rows[m:read].any()
        assert np.isnan(rows[read:]).all()


@pytest.mark.parametrize(("name", "bits"), [("f32", 512), ("f32", 256), ("f32", 128), ("f64", 512)])
def test_products_of_pieces(name: str, bits: int) -> None:
    dtype = dtypes.as_dtype(name)
    shape = shape_for(dtype, bits)
    gemm = Compiled(gemm_source(GemmSpec(shape, pieces=3)))
    turned = Compiled(turned_source(shape, 900, pieces=3))
    rows = turned_rows(shape)
    for m, n, widths in [
        (rows, 130, (300, 1, 500)),
        (2 * rows - 1, 37, (0, 70, 384)),
        (5, 20, (384, 16, 0)),
        (shape.block_rows + 3, 9, (1, 0, 2)),
        (rows, 14, (0, 0, 0)),
    ]:
        pieces = [values((m, w), dtype, i) for i, w in enumerate(widths)]
        k = sum(widths)
        b = values((k, n), dtype, 5)
        expected = np.concatenate(pieces, 1).astype(np.float64) @ b.astype(np.float64)
        sizes = {"m": m, "n": n, "k": k, "c_stride": n}
        sizes |= {f"k{i}": w for i, w in enumerate(widths)}
        for splits in (1, 3):
            for kernel, columns in ((gemm, 0), (turned, turned_columns(shape))):
                c = np.full((m, n), 77, dtype.numpy)
                packed = pack_gemm_b(b, shape, columns)
                more = {} if columns else {"batch": 1, "a_batch": 0, "b_batch": 0}
                kernel(*pieces, packed, c, splits=splits, **sizes, **more)
                assert_close(c, expected.astype(dtype.numpy), k)


def test_which_products_are_turned() -> None:
    shape = shape_for(dtypes.f32, 512)
    for m in (30, 32, 64, 128, 4096):
        assert is_turned(shape, m, 1024, 512), m
    for m in (1, 16, 33, 100, symbol("m")):
        assert not is_turned(shape, m, 1024, 512), m
    assert is_turned(shape, 32, 50_000, 512) and not is_turned(shape, 64, 50_000, 512)
    assert not is_turned(shape, 512, 512, 512)  # near
    assert not is_turned(shape, 32, 1024, 64) and not is_turned(shape, 32, 1024, 10_000)


def test_gemm_batch_and_broadcast() -> None:
    shape = shape_for(dtypes.f32, 256)
    a = values((3, 20, 9), dtypes.f32)
    for batch in (1, 3):
        b = values((batch, 9, 21), dtypes.f32, 1)
        assert_close(run_gemm(a, b, shape), a @ b, 9)


def test_results_do_not_depend_on_how_tasks_are_split() -> None:
    shape = shape_for(dtypes.f32, 512)
    a, b = values((1, 260, 300), dtypes.f32), values((1, 300, 600), dtypes.f32, 1)
    whole = run_gemm(a, b, shape)
    np.testing.assert_array_equal(whole, run_gemm(a, b, shape, splits=5))
    for parts in (2, 3, 9):  # the last of them of more parts than a block has register tiles
        np.testing.assert_array_equal(whole, run_gemm(a, b, shape, splits=8, parts=parts))


def work_of_tasks(source: ContractionSource, sizes: dict[str, int]) -> list[int]:
    """The rows of each task of a convolution whose tasks have as many columns."""
    cut = source.cut
    assert cut is not None
    given = sizes | {"parts": parts_of_blocks(source, sizes)}
    rows, tasks = (parse_dim(text, given) for text in (cut.rows, source.tasks))
    assert isinstance(rows, int)
    assert isinstance(tasks, int)
    of_block = -(-rows // -(-rows // cut.block_rows))
    of_block = -(-of_block // cut.part_rows) * cut.part_rows
    of_part = -(-of_block // given["parts"] // cut.part_rows) * cut.part_rows
    blocks = [range(first, min(first + of_block, rows)) for first in range(0, rows, of_block)]
    found = [len(b[i * of_part :][:of_part]) for b in blocks for i in range(given["parts"])]
    assert tasks % len(found) == 0
    return found * (tasks // len(found))


def critical_path(work: list[int], threads: int) -> float:
    """The work of the thread that has most, where each has as many tasks, beside that of one if all
    had as much."""
    shares = [
        sum(work[i * len(work) // threads :][: -(-len(work) // threads)]) for i in range(threads)
    ]
    return threads * max(shares) / sum(work)


@pytest.mark.parametrize("bits", WIDTHS)
def test_sixteen_threads_share_every_convolution_of_resnet_50_evenly(bits: int) -> None:
    """Counted: the critical path of the tasks of each on 16 threads, beside a sixteenth of them."""
    layers = {(112, 64), (56, 64), (56, 256), (28, 128), (28, 512), (14, 256), (14, 1024)}
    for side, n in layers | {(7, 512), (7, 2048), (56, 128), (28, 256), (14, 512)}:
        source = conv_source(ConvSpec(shape_for(dtypes.f32, bits)))
        sizes = {"batch": 1, "groups": 1, "out_h": side, "out_w": side, "n": n}
        work = work_of_tasks(source, sizes)
        assert len(work) >= 16, (side, n)
        assert -(-len(work) // 16) * 16 <= 1.25 * len(work), (side, n)


def test_few_panels_are_shared_evenly() -> None:
    """The products of 7 x 7 pixels in MobileNetV2 have five panels of columns and one of rows."""
    source = conv_source(ConvSpec(shape_for(dtypes.f32, 512)))
    sizes = {"batch": 1, "groups": 1, "out_h": 7, "out_w": 7, "n": 160}
    work = work_of_tasks(source, sizes)
    assert work == [14, 14, 14, 7] * 5
    assert critical_path(work, 2) < 1.05
    assert critical_path([49] * 5, 2) == 1.2
    assert critical_path(work, 4) < 1.15
    # Enough tasks: whole blocks; pixels read where they stand: only if each part fills its tiles.
    assert parts_of_blocks(source, sizes | {"n": 2048}) == 1
    pointwise = pointwise_source(shape_for(dtypes.f32, 512), 0)
    for m, parts in ((196, 3), (200, 1), (0, 1)):
        assert parts_of_blocks(pointwise, {"batch": 1, "m": m, "n": 64}) == parts
    assert parts_of_blocks(turned_source(shape_for(dtypes.f32, 512)), {"m": 32, "n": 64}) == 1


def test_task_counts_are_dims() -> None:
    shape = shape_for(dtypes.f32, 512)
    tasks = gemm_source(GemmSpec(shape)).tasks
    known = {"batch": 2, "n": 700, "parts": 3}
    rows = parse_dim(tasks, known | {"m": symbol("m")})
    for m in (0, 1, shape.block_rows, shape.block_rows + 1, 1000):
        assert evaluate(rows, {Symbol("m"): m}) == eval(tasks, known | {"m": m})
    assert evaluate(rows, {Symbol("m"): 0}) == 0


@pytest.mark.parametrize("transpose_b", [False, True])
def test_packing_at_run_time_equals_packing_when_compiling(transpose_b: bool) -> None:
    shape = shape_for(dtypes.f32, 256)
    for batch, k, n in [(1, 1, 1), (2, 37, 45), (1, 64, 48)]:
        b = values((batch, k, n), dtypes.f32)
        stored = np.ascontiguousarray(b.transpose(0, 2, 1)) if transpose_b else b
        expected = pack_gemm_b(b, shape)
        found = np.full_like(expected, 77)
        pack_kernel(shape, transpose_b)(
            stored, found, batch=batch, k=k, n=n, b_stride=stored.shape[-1], b_batch=k * n
        )
        np.testing.assert_array_equal(found, expected)


def test_epilogue_runs_once_over_every_element() -> None:
    def bias_relu(indent: int, rows: tuple[str, str], columns: tuple[str, str]) -> Sequence[str]:
        lines = [
            f"for i in range({rows[0]}, {rows[1]}):",
            f"    for j in range({columns[0]}, {columns[1]}):",
            "        t = c[i * c_stride + j] + bias[j]",
            "        c[i * c_stride + j] = t if t > 0 else t - t",
        ]
        return [" " * indent + line for line in lines]

    shape = shape_for(dtypes.f32, 256)
    kernel = Compiled(
        gemm_source(GemmSpec(shape), bias_relu, extra=(Argument("bias", dtypes.f32),), name="dense")
    )
    m, n, k = 130, 290, 300
    a, b, bias = (values(s, dtypes.f32, 2) for s in ((m, k), (k, n), (n,)))
    c = np.full((m, n), np.nan, np.float32)
    sizes = dict(batch=1, m=m, n=n, k=k, a_stride=k, c_stride=n, a_batch=0, b_batch=0)
    kernel(a, pack_gemm_b(b, shape), c, bias, splits=2, **sizes)
    assert_close(c, np.maximum(a @ b + bias, 0), k)


# --- convolutions ---------------------------------------------------------------------------------

Window = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]  # strides, dilations, pads


def spatial(array: np.ndarray, window: Window, kernel: Sequence[int], back: bool) -> list[int]:
    """Output sizes along the spatial axes."""
    sizes = []
    for size, taps, stride, dilation, pad in zip(array.shape[1:-1], kernel, *window):
        reach = (taps - 1) * dilation + 1
        if back:
            sizes.append((size - 1) * stride + reach - 2 * pad)
        else:
            sizes.append((size + 2 * pad - reach) // stride + 1)
    return sizes


def taps_of(small: Sequence[int], big: Sequence[int], kernel: Sequence[int], window: Window) -> Any:
    """(tap, index into the small map, index into the big map) where a tap joins them."""
    for tap in np.ndindex(*kernel):
        places = []
        for axis, (stride, dilation, pad) in enumerate(zip(*window)):
            at = np.arange(small[axis]) * stride - pad + tap[axis] * dilation
            keep = (at >= 0) & (at < big[axis])
            places.append((np.arange(small[axis])[keep], at[keep]))
        yield tap, np.ix_(*(p[0] for p in places)), np.ix_(*(p[1] for p in places))


def reference_conv(x: np.ndarray, w: np.ndarray, window: Window, groups: int) -> np.ndarray:
    kernel = w.shape[:-2]
    out = spatial(x, window, kernel, back=False)
    y = np.zeros((len(x), *out, w.shape[-1]))
    channels, n = w.shape[-2], w.shape[-1] // groups
    for tap, small, big in taps_of(out, x.shape[1:-1], kernel, window):
        for g in range(groups):
            part = x[(slice(None), *big)][..., g * channels : (g + 1) * channels]
            y[(slice(None), *small, slice(g * n, (g + 1) * n))] += (
                part.astype(np.float64) @ w[tap][:, g * n : (g + 1) * n]
            )
    return y


def axis_sizes(**by_name: Sequence[int]) -> dict[str, int]:
    return {
        f"{name}_{axis}": int(size)
        for name, sizes in by_name.items()
        for axis, size in zip("dhw"[-len(sizes) :], sizes)
    }


CONVOLUTIONS: list[tuple[tuple[int, ...], tuple[int, ...], int, Window]] = [
    # x, weights, groups, (strides, dilations, pads)
    ((1, 5, 6, 3), (3, 3, 3, 4), 1, ((1, 1), (1, 1), (1, 1))),
    ((2, 9, 7, 8), (3, 2, 8, 40), 1, ((2, 1), (1, 2), (1, 0))),
    ((1, 9, 9, 300), (3, 3, 300, 20), 1, ((1, 1), (1, 1), (1, 1))),
    ((2, 8, 8, 12), (3, 3, 4, 24), 3, ((1, 2), (2, 1), (2, 1))),
    ((1, 20, 17, 4), (7, 7, 4, 7), 1, ((2, 2), (1, 1), (3, 3))),
    ((1, 12, 13, 5), (1, 1, 5, 33), 1, ((1, 1), (1, 1), (0, 0))),
    ((1, 4, 4, 6), (1, 1, 1, 12), 6, ((1, 1), (1, 1), (0, 0))),
    ((1, 3, 3, 2), (5, 5, 2, 3), 1, ((1, 1), (1, 1), (4, 4))),
    ((2, 3, 5, 4, 3), (2, 3, 1, 3, 5), 1, ((1, 2, 1), (1, 1, 2), (1, 1, 0))),
]


@pytest.mark.parametrize(("name", "bits"), [("f32", 512), ("f64", 128)])
def test_conv(name: str, bits: int) -> None:
    dtype = dtypes.as_dtype(name)
    shape = shape_for(dtype, bits)
    for x_shape, w_shape, groups, window in CONVOLUTIONS:
        if bits == 128 and len(x_shape) == 5:
            continue
        x, w = values(x_shape, dtype), values(w_shape, dtype, 1)
        expected = reference_conv(x, w, window, groups)
        y = np.full(expected.shape, 77, dtype.numpy)
        strides, dilations, pads = window
        sizes = axis_sizes(
            **{"in": x_shape[1:-1], "out": y.shape[1:-1], "kernel": w_shape[:-2]},
            stride=strides,
            dilation=dilations,
            pad=pads,
        )
        conv_kernel(shape, len(x_shape) - 2)(
            x,
            pack_conv_weights(w, shape, groups=groups),
            y,
            splits=2,
            batch=len(x),
            channels=w_shape[-2],
            n=w_shape[-1] // groups,
            groups=groups,
            parts=3,
            x_stride=x_shape[-1],
            c_stride=w_shape[-1],
            **sizes,
        )
        assert_close(y, expected.astype(dtype.numpy), int(np.prod(w_shape[:-1])))


@pytest.mark.parametrize(
    ("bits", "dtype"), [(512, dtypes.f32), (256, dtypes.f64), (128, dtypes.i32)]
)
def test_windows_of_one_pixel(bits: int, dtype: dtypes.DType) -> None:
    shape = shape_for(dtype, bits)
    lanes = shape.lanes
    kernels = lru_cache(lambda rest: Compiled(pointwise_source(shape, rest)))
    for n in sorted({1, 3, lanes, 2 * lanes - 1, 3 * lanes, 4 * lanes, 6 * lanes - 1}):
        kernel = kernels(n % shape.columns)
        for m, channels in [(1, 1), (29, 7), (39, 2), (46, 5), (243, 12), (0, 3)]:
            x, w = values((m, channels), dtype), values((channels, n), dtype, 1)
            y = np.full((m, n), 77, dtype.numpy)
            packed = pack_pointwise(w, shape)
            sizes = {"m": m, "n": n, "channels": channels, "parts": 2, "c_stride": n}
            kernel(x, packed, y, splits=3, batch=1, x_batch=0, w_batch=0, **sizes)
            assert_close(y, (x.astype(np.float64) @ w).astype(dtype.numpy), channels)


def test_windows_of_one_pixel_are_products_of_a_batch() -> None:
    shape = shape_for(dtypes.f32, 512)
    x, w = values((3, 29, 7), dtypes.f32), values((3, 7, 64), dtypes.f32, 1)
    y = np.full((3, 29, 64), 77, np.float32)
    packed = np.stack([pack_pointwise(matrix, shape) for matrix in w])
    sizes = {"batch": 3, "m": 29, "n": 64, "channels": 7, "parts": 1, "c_stride": 64}
    kernel = Compiled(pointwise_source(shape, 0))
    kernel(x, packed, y, splits=2, x_batch=29 * 7, w_batch=7 * 64, **sizes)
    assert_close(y, np.matmul(x.astype(np.float64), w).astype(np.float32), 7)


def test_rows_that_fill_no_tile_have_no_block_of_their_own() -> None:
    """Four rows behind six blocks would be computed one by one."""
    source = pointwise_source(shape_for(dtypes.f32, 512), 0)
    tasks = lambda m: eval(source.tasks, {"m": m, "batch": 1, "n": 32, "parts": 1})
    assert [tasks(m) for m in (0, 5, 252, 256, 266)] == [0, 1, 6, 6, 7]


def test_which_convolutions_read_pixels_where_they_are() -> None:
    shape = shape_for(dtypes.f32, 512)
    plain = Convolution((1, 1), (1, 1), ((0, 0), (0, 0)))
    for lowering, weights, rows, expected in [
        (plain, (1, 1, 48, 48), 12544, True),
        (plain, (1, 1, 24, 49), symbol("m"), True),
        (plain, (1, 1, 1024, 8), 12544, True),
        (plain, (1, 1, 1025, 8), 12544, False),
        (plain, (1, 1, 256, 64), 12544, True),
        (plain, (1, 1, 257, 64), 12544, False),
        (plain, (1, 1, 24, 8), 49, True),
        (plain, (1, 1, 24, 8), 32, True),
        (plain, (1, 1, 24, 8), 13, False),
        (plain, (1, 1, 24, 8), 15, False),
        (plain, (1, 1, 24, 64), 57, False),
        (plain, (1, 1, 24, 8), 0, True),
        (plain, (1, 3, 24, 8), 12544, False),
        (plain, (1, 1, symbol("c"), 8), 12544, False),
        (replace(plain, strides=(1, 2)), (1, 1, 24, 8), 12544, False),
        (replace(plain, pad=((0, 0), (0, 1))), (1, 1, 24, 8), 12544, False),
        (replace(plain, groups=2), (1, 1, 24, 8), 12544, False),
    ]:
        assert is_pointwise(shape, lowering, weights, rows) is expected


def test_which_products_read_their_rows_where_they_are() -> None:
    for m, n, k, entry in [
        (100, 17, 300, "pointwise_conv"),
        (512, 512, 256, "pointwise_conv"),
        (512, 512, 512, "gemm"),
        (57, 96, 300, "gemm"),  # too many rows computed twice
        (512, 96, 1025, "gemm"),
        (128, 3072, 768, "turned_gemm"),  # of weights that are not near
    ]:
        assert product_kernels(m, n, k) == [entry]


def test_which_products_of_a_batch_do_so() -> None:
    in_place, gathered = ["pack_panels", "pointwise_conv"], ["pack_panels", "gemm"]
    assert product_kernels(128, 64, 128, of_run=True) == in_place
    assert product_kernels(128, 60, 128, of_run=True) == gathered  # the last panel is not whole
    assert product_kernels(57, 64, 128, of_run=True) == gathered
    assert product_kernels(symbol("m"), 64, 128, of_run=True) == gathered


def product_kernels(m: Dim, n: int, k: int, *, of_run: bool = False) -> list[str]:
    """The names of the kernels of a product, of known weights or those `of_run`, for AVX-512."""
    b = Builder()
    x = b.parameter("x", tensor_type(dtypes.f32, (m, k)))
    w = b.parameter("w", tensor_type(dtypes.f32, (k, n))) if of_run else None
    right = b.const(np.ones((k, n), np.float32)) if w is None else w
    cluster = run_passes(b.build([b.mat_mul(x, right)]), Options())
    node = next(node for node in cluster.nodes if node.op.name == "cluster")
    return [launch.kernel.entry for launch in contraction_launches(node, cpu_target("x86-64-v4"))]


TRANSPOSED: list[tuple[tuple[int, ...], tuple[int, ...], int, Window]] = [
    # x, weights, rows of output beyond what the input reaches, (strides, dilations, pads)
    ((1, 5, 6, 3), (3, 3, 4, 3), 0, ((1, 1), (1, 1), (1, 1))),
    ((2, 5, 4, 8), (3, 2, 40, 8), 1, ((2, 1), (1, 2), (1, 0))),
    ((1, 7, 7, 300), (4, 4, 20, 300), 0, ((2, 2), (1, 1), (1, 1))),
    ((2, 4, 5, 12), (3, 3, 24, 12), 0, ((2, 3), (2, 2), (2, 1))),
    ((1, 4, 4, 5), (1, 1, 7, 5), 1, ((2, 2), (1, 1), (0, 0))),
    ((1, 3, 3, 5), (2, 2, 270, 5), 0, ((3, 3), (1, 1), (0, 0))),
]


def test_conv_transpose() -> None:
    shape = shape_for(dtypes.f32, 512)
    for x_shape, w_shape, more, window in TRANSPOSED:
        x, w = values(x_shape, dtypes.f32), values(w_shape, dtypes.f32, 1)
        strides, dilations, pads = window
        out = spatial(x, window, w_shape[:-2], back=True)
        out[0] += more
        expected = np.zeros((len(x), *out, w_shape[-2]))
        for tap, small, big in taps_of(x_shape[1:-1], out, w_shape[:-2], window):
            expected[(slice(None), *big)] += x[(slice(None), *small)] @ w[tap].T
        y = np.full(expected.shape, 77, np.float32)
        sizes = axis_sizes(
            **{"in": x_shape[1:-1], "out": out, "kernel": w_shape[:-2]},
            stride=strides,
            dilation=dilations,
            pad=pads,
        )
        transpose_kernel(shape, 2)(
            x,
            pack_conv_transpose_weights(w, shape, strides, dilations),
            y,
            splits=3,
            batch=len(x),
            channels=x_shape[-1],
            n=w_shape[-2],
            parts=2,
            x_stride=x_shape[-1],
            y_stride=w_shape[-2],
            **sizes,
        )
        assert_close(y, expected.astype(np.float32), int(np.prod(w.shape)) // w_shape[-2])


DEPTHWISE: list[tuple[tuple[int, ...], tuple[int, int], Window]] = [
    ((1, 5, 6, 3), (3, 3), ((1, 1), (1, 1), (1, 1))),
    ((2, 9, 13, 24), (3, 2), ((2, 1), (1, 2), (1, 0))),
    ((1, 14, 14, 70), (5, 5), ((2, 2), (1, 1), (2, 2))),
    ((1, 12, 12, 33), (3, 3), ((1, 1), (2, 2), (2, 2))),
    ((1, 2, 2, 16), (5, 5), ((1, 1), (1, 1), (2, 2))),
    ((1, 3, 90, 19), (2, 40), ((1, 1), (1, 1), (0, 3))),
    ((1, 2, 80, 16), (1, 67), ((1, 1), (1, 1), (0, 0))),
    ((2, 6, 31, 8), (5, 5), ((1, 1), (1, 1), (2, 2))),
    ((1, 7, 20, 8), (3, 3), ((1, 2), (1, 1), (1, 1))),
    ((1, 7, 40, 1), (3, 7), ((2, 1), (1, 3), (1, 9))),
    ((1, 4, 25, 12), (1, 3), ((1, 1), (2, 4), (0, 4))),
    ((1, 9, 11, 23), (7, 7), ((1, 1), (1, 1), (3, 3))),
    ((1, 5, 9, 5), (3, 3), ((1, 3), (1, 1), (0, 1))),
    ((1, 0, 9, 5), (3, 3), ((1, 1), (1, 1), (2, 1))),
    ((2, 4, 7, 210), (5, 5), ((1, 1), (1, 1), (2, 2))),
    ((1, 5, 9, 24), (3, 5), ((1, 1), (1, 2), (1, 4))),
]


@pytest.mark.parametrize("bits", [128, 256, 512])
def test_depthwise(bits: int) -> None:
    for x_shape, kernel, window in DEPTHWISE[bits == 128 :: 2 if bits < 512 else 1]:
        assert_depthwise(shape_for(dtypes.f32, bits), x_shape, kernel, window, is_known=bits > 128)


@pytest.mark.parametrize("dtype", [dtypes.f64, dtypes.i32], ids=str)
def test_depthwise_of_other_dtypes(dtype: dtypes.DType) -> None:
    for x_shape, kernel, window in DEPTHWISE[:2]:
        assert_depthwise(shape_for(dtype, 256), x_shape, kernel, window, is_known=True)


@pytest.mark.skipif("FLOWC_FUZZ" not in os.environ, reason="a campaign, which takes minutes")
@pytest.mark.parametrize("channels", [1, 2, 3, 7, 8, 13, 16, 20, 24, 40, 72, 97])
def test_fuzz_depthwise(channels: int) -> None:
    for size, stride, dilation in itertools.product((3, 5, 7), (1, 2), (1, 2)):
        for width, bits in ((size, 512), (33, 512), (20, 256)):
            window = (stride, stride), (dilation, dilation), (size // 2, size // 2)
            shape = shape_for(dtypes.f32, bits)
            assert_depthwise(shape, (1, 9, width, channels), (size, size), window, is_known=True)


def assert_depthwise(
    shape: TileShape,
    x_shape: tuple[int, ...],
    kernel: tuple[int, int],
    window: Window,
    *,
    is_known: bool,
) -> None:
    """`is_known`: sizes are, when the kernel is made."""
    channels, dtype = x_shape[-1], shape.dtype
    x, w = values(x_shape, dtype), values((*kernel, channels, 1), dtype, 1)
    expected = reference_conv(x, w.reshape(*kernel, 1, channels), window, channels)
    y = np.full(expected.shape, 77, dtype.numpy)
    strides, dilations, pads = window
    sizes = axis_sizes(
        **{"in": x_shape[1:-1], "out": y.shape[1:-1], "kernel": kernel},
        stride=strides,
        dilation=dilations,
        pad=pads,
    )
    spec = DepthwiseSpec(shape, kernel if is_known else None, strides[1], dilations[1])
    if is_known:
        inside = x_shape[2] - (kernel[1] - 1) * dilations[1]
        spec = fitted_to_image(spec, channels, len(y[0, 0]), inside, wide=True)
    block = channel_block(spec, channels, x_shape[2])
    assert isinstance(block, int)
    sizes |= {"channels": channels, "block": block}
    depthwise_kernel(spec)(x, pack_depthwise(w, spec), y, splits=2, batch=len(x), **sizes)
    assert_close(y, expected.astype(dtype.numpy), kernel[0] * kernel[1])


def depthwise_calls(side: int, channels: int, taps: int, stride: int = 1) -> list[tuple]:
    """What the kernel of a square map calls: the routine, and of a group its channels."""
    out = -(-side // stride)
    spec = DepthwiseSpec(shape_for(dtypes.f32, 512), (taps, taps), stride)
    spec = fitted_to_image(spec, channels, out, side + 1 - taps, wide=True)
    source = depthwise_source(spec)
    found: list[tuple] = []
    known: dict = {"idiv": lambda a, b: a // b, "least": min, "ceil_div": lambda a, b: -(-a // b)}
    known |= {"advance": lambda p, n: p + n}
    known |= {"first_tap": lambda position, step: -(min(0, position) // step)}
    for name in source.symbols.keys() - known:
        known[name] = lambda kind, *a: found.append((kind, a[8] if kind != "single" else 1))
    bound = [x if isinstance(x, int) else name for name, x in source.bound.items()]
    exec(source.text, known)
    sizes = axis_sizes(
        **{"in": (side, side), "out": (out, out), "kernel": (taps, taps)},
        stride=(stride, stride),
        dilation=(1, 1),
        pad=(taps // 2, taps // 2),
    )
    sizes |= {"channels": channels, "block": channel_block(spec, channels, side), "batch": 1}
    ints = [sizes.get(a.name, 0) for a in source.arguments[:-2]]
    given = {a.name: i for a, i in zip(source.arguments, ints)}
    tasks = parse_dim(source.tasks, given)
    known[source.name](*bound, *ints, 0, tasks)
    return found


def test_no_pixel_of_a_short_depthwise_row_is_computed_by_itself() -> None:
    assert depthwise_calls(7, 32, 5) == [("edge", 32)] * 7
    assert depthwise_calls(14, 32, 5, stride=2) == [("edge", 32)] * 7
    assert [kind for kind, _ in depthwise_calls(2, 32, 3)] == ["edge"] * 2
    assert depthwise_calls(28, 32, 5)[:4] == [("edge", 32), *[("group", 32)] * 2, ("edge", 32)]
    assert [kind for kind, _ in depthwise_calls(28, 32, 3)].count("single") == 2 * 28


def test_depthwise_rows_share_the_taps_of_a_block_of_channels() -> None:
    assert depthwise_calls(7, 200, 3) == [("edge", 96)] * 7 + [("edge", 104)] * 7
    assert {count for kind, count in depthwise_calls(40, 200, 3) if kind == "group"} == {200}
    assert depthwise_calls(40, 200, 5)[-1] == ("edge", 104)
    assert depthwise_calls(7, 1152, 3) == [("edge", 96)] * (7 * 12)  # 84 tasks for threads


@pytest.mark.parametrize(
    ("name", "absent"), [("x86-64-v2", "ymm"), ("x86-64-v3", "zmm"), ("x86-64-v4", "nothing")]
)
def test_a_target_gets_its_own_vectors_and_calls_nothing_but_memset(name: str, absent: str) -> None:
    target = cpu_target(name)
    shape = tile_shape(
        dtypes.f32, target.vector_bits, registers=target.registers, fma=target.has_fma
    )
    for source in (conv_source(ConvSpec(shape)), depthwise_source(DepthwiseSpec(shape, (3, 3)))):
        assembly = target.kernel_text(source.kernel, "asm")
        assert "xmm" in assembly
        assert absent not in assembly
        own = set(re.findall(r"^(r_\w+):", assembly, re.MULTILINE))  # routines that kernels share
        called = re.findall(r"call\S*\s+(mem\w+|\S+@PLT)", assembly)
        assert {name.removesuffix("@PLT") for name in called} <= {"memset", *own}


@pytest.mark.parametrize(
    "rows, columns, needed",
    [
        ([112], 64, TileSizes((14,), (), (14,))),
        ([98, 14], 96, TileSizes((14,), (), (14,))),
        # 9 rows of 17 go into a tile of 14, as do none less
        ([17], 40, TileSizes((14, 4), (16,), (14,))),
        ([7, 5], 32, TileSizes((7,), (), (14,))),
        ([112, 3], 24, TileSizes((), (24,), (14,))),
        ([1], 33, TileSizes((1,), (16,), (14,))),
    ],
)
def test_lines_have_the_tiles_that_their_rows_need(
    rows: list[int], columns: int, needed: TileSizes
) -> None:
    shape = shape_for(dtypes.f32, 512)
    assert sizes_needed(shape, rows, columns) == needed
    text = panels_routine(shape, 6, needed).code.text
    sums = set(re.findall(r'define internal void @"flowc.line_sums.f32.(\d+x\d+)', text))
    whole = {f"{height}x{shape.columns}" for height in needed.heights}
    assert sums == whole | {f"{shape.rows}x{width}" for width in needed.widths}


def test_a_dtype_without_vector_arithmetic_is_refused() -> None:
    with pytest.raises(TypeError, match="c64"):
        tile_shape(dtypes.c64, 256)


def test_what_follows_a_depthwise_convolution_has_every_block_of_channels_once() -> None:
    b = Builder()
    image = b.parameter("x", tensor_type(dtypes.f32, (1, 6, 7, 200)))
    attrs = {"strides": (1, 1, 1, 1), "padding": "SAME"}
    y = b.depthwise_conv2d(image, b.const(values((3, 3, 200, 1), dtypes.f32)), **attrs)
    y = b.add(b.add(y, y), b.const(values((200,), dtypes.f32)))
    compiled = compiled_ir.Compiled(b.build([y]))
    assert len(compiled.plan.steps) == 1
    compiled.check(values((1, 6, 7, 200), dtypes.f32, 1))
