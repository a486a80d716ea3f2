"""Kernels of matrix products against NumPy: odd sizes, tails, transposes, batches, pieces."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from compiled_source import Compiled
from contraction_kernels import assert_close, shape_for, values
from tensor_types import tensor_type

from flowc import dtypes
from flowc.codegen.cpu.blocked import Argument, counts_of_rows
from flowc.codegen.cpu.contractions.cluster import contraction_launches
from flowc.codegen.cpu.packing import (
    pack_gemm_b,
)
from flowc.codegen.cpu.products.gemm import GemmSpec, gemm_source, pack_source
from flowc.codegen.cpu.products.gemm_m_vectorized import (
    block_rows,
    is_m_vectorized,
    m_vectorized_source,
    panel_columns,
)
from flowc.codegen.cpu.products.pixel_tiles import (
    Heights,
    heights_needed,
    is_of_single_pixels,
    is_product_of_pixels,
    pack_pointwise,
    panel_vectors,
    panel_width,
    pixel_shape,
    reads_right_in_place,
    with_even_tiles,
)
from flowc.codegen.cpu.products.pointwise import pointwise_source
from flowc.codegen.cpu.products.row_sums import Stored
from flowc.codegen.cpu.target import cpu_target
from flowc.codegen.cpu.tiles import TileShape, tile_shape
from flowc.codegen.llvm.vector_ir import Routine
from flowc.ir.builder import Builder
from flowc.ir.dims import Dim, evaluate, symbol
from flowc.ir.lowering import Convolution
from flowc.ir.text.dim_parsing import parse_dim
from flowc.options import Options
from flowc.passes.pipeline import run_passes


@lru_cache(maxsize=64)
def gemm_kernel(shape: TileShape, transpose_a: bool) -> Compiled:
    return Compiled(gemm_source(GemmSpec(shape, transpose_a)))


@lru_cache(maxsize=64)
def pack_kernel(shape: TileShape, transpose_b: bool) -> Compiled:
    return Compiled(pack_source(shape, transpose_b=transpose_b))


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
    packed = pack_gemm_b(b, shape).array()
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
def test_products_vectorized_along_m(name: str, bits: int) -> None:
    dtype = dtypes.as_dtype(name)
    shape = shape_for(dtype, bits)
    kernel = Compiled(m_vectorized_source(shape, 300))
    rows = block_rows(shape)
    sizes = [(1, 1, 1), (rows, 300, 300), (2 * rows, 14, 8), (3 * rows - 1, 130, 37), (rows, 17, 0)]
    for m, n, k in sizes:
        a, b = values((m, k), dtype), values((k, n), dtype, 1)
        packed = pack_gemm_b(b, shape, panel_columns(shape)).array()
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
        packed = pack_gemm_b(w, shape).array()
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
    transposed = Compiled(m_vectorized_source(shape, 900, pieces=3))
    rows = block_rows(shape)
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
            for kernel, columns in ((gemm, 0), (transposed, panel_columns(shape))):
                c = np.full((m, n), 77, dtype.numpy)
                packed = pack_gemm_b(b, shape, columns).array()
                more = {} if columns else {"batch": 1, "a_batch": 0, "b_batch": 0}
                kernel(*pieces, packed, c, splits=splits, **sizes, **more)
                assert_close(c, expected.astype(dtype.numpy), k)


def test_which_products_are_vectorized_along_m() -> None:
    shape = shape_for(dtypes.f32, 512)
    for m in (30, 32, 64, 128, 4096):
        assert is_m_vectorized(shape, m, 1024, 512), m
    for m in (1, 16, 33, 100, symbol("m")):
        assert not is_m_vectorized(shape, m, 1024, 512), m
    assert is_m_vectorized(shape, 32, 50_000, 512) and not is_m_vectorized(shape, 64, 50_000, 512)
    assert not is_m_vectorized(shape, 512, 512, 384)  # near
    assert not is_m_vectorized(shape, 512, 1024, 768, in_place=True)
    assert is_m_vectorized(shape, 32, 1024, 768, in_place=True)
    assert not is_m_vectorized(shape, 32, 1024, 64) and not is_m_vectorized(shape, 32, 1024, 10_000)


def test_tasks_of_products_vectorized_along_m_are_panels() -> None:
    """Of 768 columns two threads have 28 and 27 panels of 14, where larger tasks were 4 and 3."""
    source = m_vectorized_source(shape_for(dtypes.f32, 512), 3072)
    assert evaluate(parse_dim(source.tasks, {"m": 32, "n": 768}), {}) == 55
    assert evaluate(parse_dim(source.tasks, {"m": 64, "n": 768}), {}) == 110


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
    for parts in (2, 3, 9, 12):  # 9 and 12 are more than a block has register tiles
        for splits in (8, 3000):
            np.testing.assert_array_equal(whole, run_gemm(a, b, shape, splits=splits, parts=parts))


@pytest.mark.parametrize("transpose_b", [False, True])
def test_packing_at_run_time_equals_packing_when_compiling(transpose_b: bool) -> None:
    shape = shape_for(dtypes.f32, 256)
    for batch, k, n in [(1, 1, 1), (2, 37, 45), (1, 64, 48)]:
        b = values((batch, k, n), dtypes.f32)
        stored = np.ascontiguousarray(b.transpose(0, 2, 1)) if transpose_b else b
        of_pixels = np.stack([pack_pointwise(matrix, shape).array() for matrix in b])
        last = panel_width(shape, n % shape.columns) or shape.columns
        for rest, expected in ((shape.columns, pack_gemm_b(b, shape).array()), (last, of_pixels)):
            found = np.full_like(expected, 77)
            sizes = {"batch": batch, "k": k, "n": n, "rest": rest, "b_batch": k * n}
            pack_kernel(shape, transpose_b)(stored, found, b_stride=stored.shape[-1], **sizes)
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
    kernel(a, pack_gemm_b(b, shape).array(), c, bias, splits=2, **sizes)
    assert_close(c, np.maximum(a @ b + bias, 0), k)


@pytest.mark.parametrize(
    ("bits", "dtype"), [(512, dtypes.f32), (256, dtypes.f64), (128, dtypes.i32)]
)
def test_windows_of_one_pixel(bits: int, dtype: dtypes.DType) -> None:
    shape = shape_for(dtype, bits)
    lanes = shape.lanes
    kernels = lru_cache(lambda rest: Compiled(pointwise_source(shape, rest)))
    for n in sorted({1, 3, lanes, 2 * lanes - 1, 3 * lanes, 4 * lanes, 6 * lanes - 1}):
        kernel = kernels(n % shape.columns)
        for m, channels in [(1, 1), (29, 7), (39, 2), (46, 5), (243, 12), (0, 3), (30, 1025)]:
            x, w = values((m, channels), dtype), values((channels, n), dtype, 1)
            y = np.full((m, n), 77, dtype.numpy)
            packed = pack_pointwise(w, shape).array()
            sizes = {"m": m, "n": n, "channels": channels, "parts": 2, "c_stride": n}
            kernel(
                x,
                packed,
                y,
                splits=3,
                batch=1,
                x_batch=0,
                w_batch=0,
                w_step=channels,
                x_stride=channels,
                **sizes,
            )
            assert_close(y, (x.astype(np.float64) @ w).astype(dtype.numpy), channels)


def test_windows_of_one_pixel_are_products_of_a_batch() -> None:
    shape = shape_for(dtypes.f32, 512)
    x, w = values((3, 29, 7), dtypes.f32), values((3, 7, 64), dtypes.f32, 1)
    y = np.full((3, 29, 64), 77, np.float32)
    packed = np.stack([pack_pointwise(matrix, shape).array() for matrix in w])
    sizes = {"batch": 3, "m": 29, "n": 64, "channels": 7, "parts": 1, "c_stride": 64}
    kernel = Compiled(pointwise_source(shape, 0))
    kernel(x, packed, y, splits=2, x_batch=29 * 7, w_batch=7 * 64, w_step=7, x_stride=7, **sizes)
    assert_close(y, np.matmul(x.astype(np.float64), w).astype(np.float32), 7)


@pytest.mark.parametrize("transposed", [False, True])
def test_operands_are_read_where_they_stand(transposed: bool) -> None:
    """Vectors that end with the columns read nothing behind them."""
    target = shape_for(dtypes.f32, 128)
    lanes = target.lanes
    for n in (lanes + 1, 4 * lanes, 9 * lanes + 5):
        for m, k in ((5, 3), (61, 12)):
            if not reads_right_in_place(target, k, n, m):
                continue
            shape = with_even_tiles(pixel_shape(target, n), m)
            stored = Stored(in_place=True, transposed=transposed)
            kernel = Compiled(pointwise_source(shape, n % shape.columns, stored=stored))
            x, w = values((3, m, k), dtypes.f32), values((3, k, n), dtypes.f32, 1)
            y = np.full((3, m, n), 77, np.float32)
            left = np.ascontiguousarray(x.transpose(0, 2, 1)) if transposed else x
            sizes = {"batch": 3, "m": m, "n": n, "channels": k, "parts": 1, "c_stride": n}
            sizes |= {
                "x_batch": m * k,
                "w_batch": k * n,
                "w_step": 1,
                "x_stride": m if transposed else k,
            }
            kernel(left, w, y, splits=2, **sizes)
            assert_close(y, np.matmul(x.astype(np.float64), w).astype(np.float32), k)
            rest = n % shape.columns
            assert all(a + b <= rest for a, b in panel_vectors(shape, rest, in_place=True))


def test_which_tiles_products_of_pixels_have() -> None:
    wide, narrow = shape_for(dtypes.f32, 512), tile_shape(dtypes.f32, 256)
    size = lambda shape, n: ((x := pixel_shape(shape, n)).rows, x.columns // x.lanes)
    assert size(wide, 64) == size(wide, 1024) == (6, 4)
    assert size(wide, 96) == size(wide, 80) == (9, 3)
    assert size(wide, 16) == size(wide, 32) == (14, 2)
    assert size(narrow, 64) == size(narrow, 8) == size(narrow, 56) == (6, 2)
    assert size(narrow, 24) == size(narrow, 40) == size(narrow, 72) == (4, 3)  # two would leave one
    even = lambda n, rows: with_even_tiles(pixel_shape(wide, n), rows).rows
    assert even(32, 32) == 11  # three tiles of 11, 11 and 10 rows
    assert even(64, 5) == 5 and even(64, 1000) == 6
    assert with_even_tiles(pixel_shape(narrow, 64), 8).rows == 4


def test_which_heights_tiles_of_pixels_have() -> None:
    """Lower tiles have code where they save rows, and single ones where rows are few."""
    needed = lambda high, *counts: heights_needed(high, dict.fromkeys(counts, 1))
    assert needed(6, 42, 48) == Heights(6, 0, False)
    assert needed(6, 49) == Heights(6, 5, False)  # four tiles of 6 rows and five of 5
    assert needed(6, 3136) == Heights(6, 0, False)  # two rows more than there are
    assert needed(14, 49) == Heights(14, 8, False)
    assert needed(14, 5, 28) == Heights(14, 0, True)
    assert heights_needed(6, None) == Heights(6, 5, True)
    assert heights_needed(14, None) == Heights(14, 8, True)
    for tiles, rows, computed in ((Heights(6, 5, False), 49, 49), (Heights(14, 8, True), 49, 50)):
        assert tiles.computed(rows) == computed


def test_blocks_have_the_rows_that_tiles_are_chosen_for() -> None:
    """However a range is cut into calls."""
    shape = shape_for(dtypes.f32, 512)
    source = pointwise_source(shape, 0)
    found: list[int] = []
    names = {"advance": lambda p, n: n, "least": min, "ceil_div": lambda x, y: -(-x // y)}
    names |= {"idiv": lambda x, y: x // y, "call_product": lambda *a: found.append(a[13])}
    space: dict[str, Any] = dict(names)
    exec(source.text, space)
    bound = [x if isinstance(x, int) else 0 for x in source.bound.values()]
    unit, rows = source.bound["tile_rows"], source.bound["block_rows"]
    assert isinstance(unit, int) and isinstance(rows, int)
    for m in (1, 13, 49, 196, 200, 300):
        for parts in (1, 2, 3, 4):
            sizes = {"batch": 1, "m": m, "n": 2 * shape.columns, "parts": parts}
            tasks = eval(source.tasks, sizes)
            for begin, end in itertools.combinations(range(tasks + 1), 2):
                ints = [1, m, sizes["n"], 8, parts, sizes["n"], 0, 0, 8, 8, begin, end]
                space[source.name](*bound, 0, 0, 0, *ints)
            known = counts_of_rows(m, rows, unit, parts, unit)
            assert {*found} - {0} == {*known} - {0}
            found.clear()


def test_columns_that_need_as_many_vectors_share_their_tiles() -> None:
    """With masks; half a vector is one of its own."""
    shape = shape_for(dtypes.f32, 512)
    sizes = {"batch": 1, "m": 12544}

    def tiles(n: int) -> list[str]:
        wide = pixel_shape(shape, n)
        source = pointwise_source(wide, n % wide.columns, sizes={**sizes, "n": n})
        found = (x for x in source.bound.values() if isinstance(x, Routine))
        return [x.name for x in found if x.name.startswith("row_sums")]

    assert tiles(17) == tiles(24) == ["row_sums.f32.14x24.16"]
    assert tiles(25) == tiles(32) == ["row_sums.f32.14x32.16"]
    assert tiles(1) == tiles(8) == ["row_sums.f32.14x8.16"]
    assert tiles(64) == tiles(1024) == ["row_sums.f32.6x64.16"]


def test_the_widest_tiles_have_vectors_of_one_length() -> None:
    """LLVM spills the sums of a tile of 6 x (16 + 16 + 16 + 8)."""
    shape = pixel_shape(shape_for(dtypes.f32, 512), 56)
    assert panel_vectors(shape, 56) == [(0, 16), (16, 16), (32, 16), (48, 16)]
    assert panel_vectors(shape, 40) == [(0, 16), (16, 16), (32, 8)]
    assert panel_vectors(shape_for(dtypes.f32, 256), 24) == [(0, 8), (8, 8), (16, 8)]


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
        (plain, (1, 1, 728, 728), 361, True),
        (plain, (1, 1, 1536, 64), 12544, True),
        (plain, (1, 1, 1024, 64), 12544, True),
        (plain, (1, 1, 1024, 96), 12544, False),  # 9 rows displace each other from the cache
        (plain, (1, 1, 2049, 64), 12544, False),
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
        found = is_of_single_pixels(lowering, weights)
        found = found and is_product_of_pixels(shape, *weights[-2:], rows)
        assert found is expected


def test_which_products_read_their_rows_where_they_are() -> None:
    for m, n, k, entry in [
        (100, 17, 300, "few_columns"),
        (100, 32, 300, "pointwise_conv"),
        (512, 512, 256, "pointwise_conv"),
        (512, 512, 384, "pointwise_conv"),
        (57, 96, 300, "gemm"),  # too many rows computed twice
        (512, 96, 1024, "gemm"),  # rows that displace each other from the cache
        (512, 80, 2049, "gemm"),
        (128, 3072, 768, "gemm_m_vectorized"),  # of weights that are not near
    ]:
        assert product_kernels(m, n, k) == [entry]


def test_which_products_of_a_batch_do_so() -> None:
    packed, gathered = ["pack_panels", "pointwise_conv"], ["pack_panels", "gemm"]
    in_place = ["pointwise_conv"]
    kernels = lambda m, n, k, **transposed: product_kernels(m, n, k, of_run=True, **transposed)
    assert kernels(128, 64, 128) == in_place  # of a right operand that is near
    assert kernels(57, 60, 128) == kernels(128, 66, 64) == kernels(256, 3, 64) == in_place
    assert kernels(24, 512, 512) == in_place  # too few rows to pack it
    assert kernels(300, 50, 768) == in_place  # one panel as it stands
    assert kernels(56, 512, 256) == kernels(57, 130, 256) == packed
    assert kernels(300, 64, 1024) == in_place  # six rows of a tile stay in the first cache
    assert kernels(300, 16, 1024) == gathered  # of 14 rows, one displaces another
    assert kernels(symbol("m"), 64, 128) == gathered
    assert kernels(56, 512, 256, turn=(False, True)) == packed
    assert kernels(128, 64, 128, turn=(True, False)) == in_place
    assert kernels(57, 130, 256, turn=(True, False)) == packed
    assert kernels(512, 64, 128, turn=(True, False)) == ["pack_panels", "gemm_transposed"]


def product_kernels(
    m: Dim, n: int, k: int, *, of_run: bool = False, turn: tuple[bool, bool] = (False, False),
    target: str = "x86-64-v4",
) -> list[str]:  # fmt: skip
    """The names of the kernels of a product, of known weights or those `of_run`.
    `turn`: whether operands are transposed."""
    b = Builder()
    x = b.parameter("x", tensor_type(dtypes.f32, (k, m) if turn[0] else (m, k)))
    dims = (n, k) if turn[1] else (k, n)
    right = b.parameter("w", tensor_type(dtypes.f32, dims))
    right = right if of_run else b.const(np.ones(dims, np.float32))
    product = b.mat_mul(x, right, transpose_a=turn[0], transpose_b=turn[1])
    cluster = run_passes(b.build([product]), Options())
    node = next(node for node in cluster.nodes if node.op.name == "cluster")
    return [launch.kernel.entry for launch in contraction_launches(node, cpu_target(target))]


def test_rows_of_a_right_operand_that_displace_each_other_are_packed() -> None:
    """Of AVX2 tiles, which read one line of each: 64 lines, 512 bytes apart, are in 8 sets."""
    kernels = lambda *sizes: product_kernels(*sizes, of_run=True, target="x86-64-v3")
    assert kernels(128, 128, 64) == kernels(128, 64, 128) == ["pack_panels", "pointwise_conv"]
    for m, n, k in [(60, 128, 64), (128, 128, 32), (128, 96, 64), (128, 16, 256)]:
        assert kernels(m, n, k) == ["pointwise_conv"]


def test_a_dtype_without_vector_arithmetic_is_refused() -> None:
    with pytest.raises(TypeError, match="c64"):
        tile_shape(dtypes.c64, 256)
