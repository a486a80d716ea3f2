"""Matrix products as launches: gemm.py and its like give the kernels.

In: a cluster of kind `matmul`. Out: launches; weights packed where they are known, else a first
launch that packs them into the cluster's workspace.
"""

from __future__ import annotations

import math

import numpy as np

from flowc.codegen.cpu.blocked import LeftOperand
from flowc.codegen.cpu.contractions.launching import ALIGNMENT, BlockFinish, launch_of, pack_launch
from flowc.codegen.cpu.packing import Array, pack_gemm_b
from flowc.codegen.cpu.products.few_rows import few_rows_source, has_few_rows
from flowc.codegen.cpu.products.gemm import GemmSpec, gemm_source
from flowc.codegen.cpu.products.gemm_m_vectorized import is_turned, turned_columns, turned_source
from flowc.codegen.cpu.products.pixel_tiles import (
    is_product_of_pixels,
    pack_pointwise,
    pixel_shape,
    reads_right_in_place,
    with_even_tiles,
)
from flowc.codegen.cpu.products.pointwise import pointwise_source, rows_together
from flowc.codegen.cpu.tile_shape import TileShape
from flowc.codegen.kernels.kernel import SCRATCH, WORKSPACE, Launch, Operand, PackedConstant
from flowc.ir.computation import Node, Value
from flowc.ir.dims import Dim, ceildiv, product
from flowc.ir.lowering import MatMul
from flowc.passes.analysis.products import entries_and_rows


def matmul_launches(
    node: Node,
    inner: Node,
    lowering: MatMul,
    outer: dict[Value, Value],
    shape: TileShape,
    finish: BlockFinish,
    block_rows: int = 0,
) -> tuple[Launch, ...]:
    """`block_rows`: of a block that is not cut into parts, where the run computes the right operand
    (0: what is best for the product alone)."""
    *left, b = (outer[v] for v in inner.inputs)
    *b_batch, b0, b1 = b.dims
    n, k = (b0, b1) if lowering.transpose_b else (b1, b0)
    batch, m = entries_and_rows(lowering, left[0], b, inner.output)
    shared_b = product(b_batch) == 1
    a_step: Dim = 0 if batch == 1 or product(left[0].dims[:-2]) == 1 else m * k
    panels = ceildiv(n, shape.columns) * shape.columns
    ints: dict[str, Dim] = {
        "batch": batch,
        "m": m,
        "n": n,
        "k": k,
        "c_stride": n,
        "a_batch": a_step,
        "b_batch": 0 if shared_b else panels * k,
    }
    if block_rows:
        ints["parts"] = 1
    names = LeftOperand(lowering.pieces)
    ints |= dict(zip(names.sizes, (v.dims[-1] for v in left)))
    source = gemm_source(
        GemmSpec(
            shape,
            transpose_a=lowering.transpose_a,
            pieces=lowering.pieces,
            block_rows=0 if block_rows == shape.block_rows else block_rows,
        ),
        finish.hook,
        name="gemm_transposed" if lowering.transpose_a else "gemm",
        extra=finish.extra,
    )
    operands: dict[str, Operand] = {"c": node.outputs[0], "scratch": SCRATCH}
    operands |= dict(zip(names.pointers.split(), left))
    if b.constant is not None:

        def packed(columns: int = 0) -> PackedConstant:
            return PackedConstant(
                b, lambda found: pack_gemm_b(_matrices(found, lowering), shape, columns)
            )

        is_plain = batch == 1 and not lowering.transpose_a and lowering.pieces == 1
        if is_plain and isinstance(m, int) and has_few_rows(shape, m):
            operands["b"] = packed()
            source = few_rows_source(shape, m, finish.hook, extra=finish.extra)
            return (launch_of(node, source, operands, ints, finish),)
        in_place = is_plain and isinstance(m, int) and is_product_of_pixels(shape, k, n, m)
        may_turn = batch == 1 and not lowering.transpose_a
        if may_turn and is_turned(shape, m, n, k, in_place=in_place):
            assert isinstance(k, int)
            source = turned_source(
                shape, k, finish.hook, pieces=lowering.pieces, extra=finish.extra
            )
            operands["b"] = packed(turned_columns(shape))
            return (launch_of(node, source, operands, ints, finish),)
        if in_place:
            assert isinstance(n, int)
            tiles = pixel_shape(shape, n)
            weights = PackedConstant(
                b, lambda found: pack_pointwise(_matrices(found, lowering)[0], tiles)
            )
            operands = {"x": left[0], "weights": weights}
            operands["y"] = node.outputs[0]
            ints |= {"channels": k, "x_batch": 0, "w_batch": 0, "w_step": k}
            rest = n % tiles.columns
            together = rows_together(tiles, k, n)
            source = pointwise_source(
                tiles, rest, finish.hook, extra=finish.extra, together=together, sizes=ints
            )
            return (launch_of(node, source, operands, ints, finish),)
        return (launch_of(node, source, {**operands, "b": packed()}, ints, finish),)
    is_plain = not (lowering.transpose_a or lowering.transpose_b) and lowering.pieces == 1
    if is_plain and not block_rows and reads_right_in_place(shape, k, n, m):
        assert isinstance(n, int) and isinstance(m, int)
        tiles = with_even_tiles(pixel_shape(shape, n), m)
        operands = {"x": left[0], "weights": b, "y": node.outputs[0]}
        ints |= {"channels": k, "x_batch": ints["a_batch"], "w_batch": 0 if shared_b else k * n}
        ints["w_step"] = 1
        source = pointwise_source(
            tiles,
            n % tiles.columns,
            finish.hook,
            extra=finish.extra,
            in_place=True,
            sizes=ints,
        )
        return (launch_of(node, source, operands, ints, finish),)
    whole_panels = isinstance(n, int) and n % shape.columns == 0
    is_plain = whole_panels and not lowering.transpose_a and lowering.pieces == 1
    is_of_pixels = is_plain and isinstance(m, int) and is_product_of_pixels(shape, k, n, m)
    tiles = shape
    if is_of_pixels and isinstance(n, int) and not block_rows:
        wide = pixel_shape(shape, n)
        tiles = wide if n % wide.columns == 0 else shape
    count = product(b_batch)
    workspace = count * panels * k * shape.dtype.size + ALIGNMENT  # never empty
    pack = pack_launch(
        node, b, tiles, (count, k, n), (b1, k * n), workspace, transposed=lowering.transpose_b
    )
    if is_of_pixels:
        operands = {"x": left[0], "weights": WORKSPACE, "y": node.outputs[0]}
        ints |= {"channels": k, "x_batch": ints["a_batch"], "w_batch": ints["b_batch"]}
        ints["w_step"] = k
        source = pointwise_source(
            tiles,
            0,
            finish.hook,
            extra=finish.extra,
            together=rows_together(tiles, k, n),
            block_rows=block_rows,
            sizes=ints,
        )
        return (pack, launch_of(node, source, operands, ints, finish, workspace))
    return (pack, launch_of(node, source, operands | {"b": WORKSPACE}, ints, finish, workspace))


def _matrices(right: Array, lowering: MatMul) -> Array:
    """A right operand as [entries, k, n]."""
    right = np.swapaxes(right, -1, -2) if lowering.transpose_b else right
    return right.reshape(math.prod(right.shape[:-2]), *right.shape[-2:])
