"""How the work of products and convolutions is shared: tasks, panels and tiles, counted."""

from __future__ import annotations

import pytest
from contraction_kernels import WIDTHS, shape_for

from flowc import dtypes
from flowc.codegen.cpu.blocked import ContractionSource, parts_of_blocks
from flowc.codegen.cpu.convolution import ConvSpec, conv_source
from flowc.codegen.cpu.products.gemm import GemmSpec, gemm_source
from flowc.codegen.cpu.products.gemm_m_vectorized import (
    m_vectorized_source,
)
from flowc.codegen.cpu.products.pointwise import pointwise_source
from flowc.codegen.cpu.tile_sums import Operands, sums_routine
from flowc.codegen.cpu.tiles import TileSizes, lower_tiles, panels_routine, sizes_needed
from flowc.ir.dims import Symbol, evaluate, symbol
from flowc.ir.text.dim_parsing import parse_dim


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
    # Enough tasks: whole blocks.
    assert parts_of_blocks(source, sizes | {"n": 2048}) == 1
    pointwise = pointwise_source(shape_for(dtypes.f32, 512), 0)
    for m, parts in ((196, 3), (200, 3), (0, 1)):
        assert parts_of_blocks(pointwise, {"batch": 1, "m": m, "n": 64}) == parts
    assert parts_of_blocks(m_vectorized_source(shape_for(dtypes.f32, 512)), {"m": 32, "n": 64}) == 1


def test_task_counts_are_dims() -> None:
    shape = shape_for(dtypes.f32, 512)
    tasks = gemm_source(GemmSpec(shape)).tasks
    known = {"batch": 2, "n": 700, "parts": 3}
    rows = parse_dim(tasks, known | {"m": symbol("m")})
    for m in (0, 1, shape.block_rows, shape.block_rows + 1, 1000):
        assert evaluate(rows, {Symbol("m"): m}) == eval(tasks, known | {"m": m})
    assert evaluate(rows, {Symbol("m"): 0}) == 0


@pytest.mark.parametrize(
    "rows, columns, needed",
    [
        ([112], 64, TileSizes((14,), (), (14,))),
        ([98, 14], 96, TileSizes((14,), (), (14,))),
        ([17], 40, TileSizes((9, 8), (16,), (9, 8))),
        ([7, 5], 32, TileSizes((7, 5), (), (7, 5))),
        ([112, 3], 24, TileSizes((), (24,), (14, 3))),
        ([32], 12, TileSizes((), (16,), (16,))),  # one vector: up to 28 rows
        ([29], 16, TileSizes((), (16,), (15, 14))),
        ([1], 33, TileSizes((1,), (16,), (1,))),
    ],
)
def test_lines_have_the_tiles_that_their_rows_need(
    rows: list[int], columns: int, needed: TileSizes
) -> None:
    shape = shape_for(dtypes.f32, 512)
    assert sizes_needed(shape, rows, columns) == needed
    called = {r.symbol for r in panels_routine(shape, needed, lines=True).code.calls}
    tiles = {(height, shape.columns) for height in needed.heights}
    tiles |= {(height, width) for height in needed.narrow_heights for width in needed.widths}
    of_lines = Operands(1, 0, shape.columns, lines=True)
    assert called == {sums_routine(shape, *tile, of_lines).code.symbol for tile in tiles}


def test_tiles_of_six_rows_and_of_five_share_rows_out_exactly() -> None:
    shape = shape_for(dtypes.f32, 256)
    for rows, heights in ((49, (6, 5)), (9, (5, 4)), (12, (6,)), (7, (4, 3)), (1, (1,))):
        assert sizes_needed(shape, [rows], 64).heights == heights


@pytest.mark.parametrize("bits", [256, 512])
def test_rows_that_are_left_go_to_lower_tiles_where_these_sum_fewer_in_vain(bits: int) -> None:
    shape = shape_for(dtypes.f32, bits)
    highest, lower = shape.heights[0], lower_tiles(shape, shape.heights)

    def summed(left: int) -> int:
        first = lower.get(left, (min(left, highest), 0))[0]
        tile = min(height for height in shape.heights if height >= first)
        return tile + (summed(left - first) if left > first else 0)

    for rows in range(1, 200):
        assert rows <= summed(rows) <= -(-rows // highest) * highest
    known = {512: {72: 72, 81: 81, 9: 11, 24: 24, 100: 100}, 256: {8: 8, 9: 9, 15: 15}}[bits]
    assert {rows: summed(rows) for rows in known} == known
