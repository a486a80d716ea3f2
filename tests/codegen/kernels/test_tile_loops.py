"""Tiles of loop kernels against NumPy: transposes, what reads them, what is left beside tiles."""

from __future__ import annotations

import os
import re
from typing import Any

import numpy as np
import pytest
from campaigns.random_moves import random_moves
from loop_checks import arrays, check, compiled, kernels_in_memory

from flowc import dtypes
from flowc.compiler import compile_computation
from flowc.ir.builder import Builder
from flowc.ir.dims import symbol
from flowc.ir.program_spec import spec_of
from flowc.options import Options
from flowc.run.executable import Executable

TRANSPOSES = [
    ((16, 16), (1, 0)), ((64, 80), (1, 0)), ((33, 70), (1, 0)), ((5, 40, 21), (0, 2, 1)),
    ((20, 5, 24), (2, 1, 0)), ((1, 30, 9, 17), (0, 3, 1, 2)), ((2, 3, 9, 9), (0, 2, 3, 1)),
    ((6, 5, 32), (1, 0, 2)),
]  # fmt: skip


@pytest.mark.parametrize(("shape", "order"), TRANSPOSES)
def test_transposes(shape: tuple[int, ...], order: tuple[int, ...]) -> None:
    x = arrays(dtypes.f32, shape)
    check(lambda b, x: b.transpose(x, np.array(order, np.int32)), lambda x: x.transpose(order), x)


@pytest.mark.parametrize("dtype", [dtypes.u8, dtypes.f16, dtypes.f64, dtypes.bool_, dtypes.c64])
def test_tiles_hold_every_kind_of_element(dtype: dtypes.DType) -> None:
    x = arrays(dtype, (37, 50))
    check(lambda b, x: b.transpose(x, np.array([1, 0], np.int32)), lambda x: x.T, x)


def test_what_reads_a_transpose_is_computed_in_its_tiles() -> None:
    x, y = arrays(dtypes.f32, (70, 40), (40, 70))
    source = check(
        lambda b, x, y: b.mul(b.add(b.transpose(x, np.array([1, 0], np.int32)), y), 2.0),
        lambda x, y: (x.T + y) * np.float32(2),
        [x, y],
    )
    assert source.count("def kernel") == 1
    assert "turn_tile" in source


def test_threads_share_tiles() -> None:
    x = arrays(dtypes.f32, (700, 900))
    check(lambda b, x: b.transpose(x, np.array([1, 0], np.int32)), lambda x: x.T, x, threads=3)


@pytest.mark.parametrize("pixels", [2048, 3000, 3001])
@pytest.mark.parametrize("channels", [64, 40])
def test_threads_share_the_columns_of_tiles_in_few_blocks_of_rows(
    channels: int, pixels: int
) -> None:
    x, y = arrays(dtypes.f32, (1, pixels, channels), (1, channels, pixels))
    order = np.array([0, 2, 1], np.int32)
    transposed = lambda b, x: b.transpose(x, order)
    source = check(transposed, lambda x: x.transpose(order), [x], threads=3)
    assert "ending" in source
    emit = lambda b, x, y: b.mul(b.add(b.transpose(x, order), y), 2.0)
    check(emit, lambda x, y: (x.transpose(order) + y) * np.float32(2), [x, y], threads=3)


def test_tiles_of_little_work_are_not_shared() -> None:
    order = np.array([1, 0], np.int32)
    source = check(lambda b, x: b.transpose(x, order), lambda x: x.T, arrays(dtypes.f32, (64, 48)))
    assert "ending" not in source


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("sizes", [(40, 33), (130, 70), (5, 20), (64, 64)])
@pytest.mark.parametrize("pads", [((1, 1), (0, 0)), ((3, 70), (2, 0)), ((0, 64), (0, 1))])
def test_rows_around_which_there_is_padding_are_transposed_too(
    pads: tuple[tuple[int, int], tuple[int, int]], sizes: tuple[int, int], threads: int
) -> None:
    """Padding of an image whose channels are moved last: whatever is inside it is known to be."""
    width, columns = sizes
    widths = ((0, 0), (2, 1), pads[0], (0, 0))
    emit = lambda b, x: b.pad(
        b.transpose(x, np.array([0, 2, 3, 1], np.int32)), np.array(widths, np.int32)
    )
    expected = lambda x: np.pad(x.transpose(0, 2, 3, 1), widths)
    source = check(emit, expected, arrays(dtypes.f32, (2, columns, 3, width)), threads)
    assert ("move_block" in source) == (width + sum(pads[0]) > 8) and " if t" not in source
    assert source.count("fill_block") <= 3  # beside the image, and above and below each block
    given = arrays(dtypes.f32, (columns, width))
    emit = lambda b, x: b.pad(b.transpose(x, np.array([1, 0], np.int32)), np.array(pads, np.int32))
    check(emit, lambda x: np.pad(x.T, pads), given, threads)


@pytest.mark.parametrize("seed", range(int(os.environ.get("FLOWC_FUZZ", "24"))))
def test_fuzz_of_moves(seed: int) -> None:
    c, given, expected = random_moves(seed)
    names = [p.name for p in c.parameters], ["y"]
    program = compile_computation(c, Options(), spec_of(c, *names), kernels=kernels_in_memory())
    found = Executable(program, 1 + seed % 3).run(given)[0]
    np.testing.assert_array_equal(found, expected)


def test_sizes_of_the_run_in_tiles() -> None:
    n, m = symbol("n"), symbol("m")
    program, source = compiled(
        lambda b, x: b.transpose(x, np.array([1, 0], np.int32)), [(dtypes.f32, (n, m))]
    )
    assert "move_block" in source
    for shape in [(1, 1), (16, 16), (100, 35), (0, 4), (15, 200)]:
        (x,) = arrays(dtypes.f32, shape)
        np.testing.assert_array_equal(program.run([x])[0], x.T)


@pytest.mark.parametrize("dtype", [dtypes.u8, dtypes.f16, dtypes.f32, dtypes.f64])
@pytest.mark.parametrize("columns", [8, 12, 15, 16, 28])
def test_what_is_left_beside_whole_tiles_is_transposed_too(
    columns: int, dtype: dtypes.DType
) -> None:
    """Where nothing is computed, no loop stores the elements of a tile."""
    (x,) = arrays(dtype, (columns, 70))
    transposed = check(lambda b, x: b.transpose(x, np.array([1, 0], np.int32)), lambda x: x.T, [x])
    assert re.findall(r"(\w+)\(offset", transposed) == ["move_block"] and "x0[" not in transposed
    if dtype is dtypes.f32:
        given = [x, *arrays(dtype, (70, columns))]
        emit = lambda b, x, y: b.add(b.transpose(x, np.array([1, 0], np.int32)), y)
        computed = check(emit, lambda x, y: x.T + y, given)
        assert "turn_tile_" in computed and "x0[" not in computed


@pytest.mark.parametrize(
    ("shape", "has_edges"),
    [((64, 48), False), ((12, 80), False), ((28, 32), False), ((64, 50), False), ((20, 64), True)],
)
def test_tiles_of_known_widths_have_no_code_for_edges(
    shape: tuple[int, int], has_edges: bool
) -> None:
    """Lower tiles go through the loop over rows of whole ones."""
    given = arrays(dtypes.f32, shape, shape[::-1])
    emit = lambda b, x, y: b.add(b.transpose(x, np.array([1, 0], np.int32)), y)
    source = check(emit, lambda x, y: x.T + y, given)
    assert ("x0[" in source) == has_edges
    assert ("move_block" in source) == (shape[1] % 16 != 0)


@pytest.mark.parametrize("dtype", [dtypes.u8, dtypes.f16, dtypes.f32, dtypes.f64])
@pytest.mark.parametrize("rows", [1, 3, 4, 7, 8, 9, 15, 16, 17, 24, 25, 31])
def test_blocks_of_any_size_are_transposed(rows: int, dtype: dtypes.DType) -> None:
    """Squares of 16, 8 and 4 that overlap at the ends, single elements of less."""
    n, m = symbol("n"), symbol("m")
    transposed = lambda b, x: b.transpose(x, np.array([1, 0], np.int32))
    program, source = compiled(transposed, [(dtype, (n, m))])
    assert "move_block" in source and "x0[" not in source
    for columns in (1, 3, 4, 8, 11, 16, 21):
        (x,) = arrays(dtype, (rows, columns))
        np.testing.assert_array_equal(program.run([x])[0], x.T)


@pytest.mark.parametrize("number", [0.0, -0.0, -np.inf, np.nan, 3.5])
@pytest.mark.parametrize("dtype", [dtypes.i8, dtypes.i32, dtypes.f32, dtypes.f64, dtypes.f16])
def test_both_sides_of_what_is_padded_are_one_branch(dtype: dtypes.DType, number: float) -> None:
    if dtype.is_integer and not float(number).is_integer():
        return
    (x,) = arrays(dtype, (5, 6, 40))
    widths, value = ((1, 2), (2, 1), (0, 0)), np.asarray(number, dtype.numpy)
    emit = lambda b, x: b.pad_v2(x, np.array(widths, np.int32), value)
    source = check(emit, lambda x: np.pad(x, widths, constant_values=value), [x])
    if dtype is not dtypes.f16:  # these are converted where they are stored
        assert source.count("fill_block(") == 2 and source.count(" if ") == 2


@pytest.mark.parametrize("count", [(), (7,), (1,)])
def test_rows_that_the_run_chooses_are_transposed_or_folded(count: tuple[int, ...]) -> None:
    """Where they are is computed with each element: no tile is read before."""
    rows = arrays(dtypes.f32, (5, 64, 24))[0]
    chosen = np.resize(np.array([3, 0, 4], np.int32), count)
    order = np.roll(np.arange(2 + len(count)), 1).astype(np.int32)
    last = np.array([1 + len(count)], np.int32)

    def taken(b: Builder, x: Any, k: Any) -> Any:
        return b.gather(x, k, np.int32(0))

    def largest(b: Builder, x: Any, k: Any) -> Any:
        found = taken(b, x, k)
        return b.sub(found, b.max(found, last, keep_dims=True))

    check(
        lambda b, x, k: b.neg(b.transpose(taken(b, x, k), order)),
        lambda x, k: -x[k].transpose(order),
        [rows, chosen],
    )
    check(largest, lambda x, k: x[k] - x[k].max(-1, keepdims=True), [rows, chosen])
