"""Matrix products as launches: gemm.py and its like give the kernels.

In: a cluster of kind `matmul`. Out: launches; weights packed where they are known, else a first
launch that packs them into the cluster's workspace.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from flowc.codegen.cpu.blocked import ContractionSource, LeftOperand
from flowc.codegen.cpu.contractions.launching import (
    ALIGNMENT,
    BlockFinish,
    launch_if,
    launch_of,
    pack_launch,
)
from flowc.codegen.cpu.packing import Array, pack_gemm_b
from flowc.codegen.cpu.products.few_columns import (
    few_columns_source,
    is_product_of_few_columns,
    pack_few_columns,
)
from flowc.codegen.cpu.products.few_rows import (
    few_rows_source,
    has_few_rows,
    is_product_of_few_rows,
)
from flowc.codegen.cpu.products.gemm import GemmSpec, gemm_source
from flowc.codegen.cpu.products.gemm_m_vectorized import (
    is_m_vectorized,
    m_vectorized_source,
    panel_columns,
)
from flowc.codegen.cpu.products.pixel_tiles import (
    is_product_of_pixels,
    pack_pointwise,
    panel_width,
    pixel_shape,
    reads_left_in_place,
    reads_right_in_place,
    reads_transposed_left_in_place,
    with_even_tiles,
    with_near_rows,
)
from flowc.codegen.cpu.products.pointwise import NEAR_ROWS, pointwise_source, rows_together
from flowc.codegen.cpu.products.row_sums import IN_PANELS, Stored
from flowc.codegen.cpu.tile_shape import TileShape
from flowc.codegen.kernels.kernel import SCRATCH, WORKSPACE, Launch, Operand, PackedConstant
from flowc.codegen.packed import Packed
from flowc.dataclass import dataclass
from flowc.ir.computation import Node, Value
from flowc.ir.dims import Dim, ceildiv, floordiv, lone_symbol, minimum, product
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
    *left, right = (outer[v] for v in inner.inputs)
    *b_batch, b0, b1 = right.dims
    n, k = (b0, b1) if lowering.transpose_b else (b1, b0)
    batch, m = entries_and_rows(lowering, left[0], right, inner.output)
    found = _Product(
        node, lowering, left, right, shape, finish, block_rows, product(b_batch), (batch, m, n, k)
    )
    if right.constant is not None:
        return found.of_weights()
    return found.of_the_run()


NEAR = 1 << 19  # bytes of weights that stay in a core's own caches


@dataclass(frozen=True, slots=True)
class _Product:
    """A cluster around a product of `left`, the pieces of one operand, with `right`, which has
    `entries`. `sizes`: entries, rows, columns and the inner dimension."""

    node: Node
    lowering: MatMul
    left: Sequence[Value]
    right: Value
    shape: TileShape
    finish: BlockFinish
    block_rows: int
    entries: Dim
    sizes: tuple[Dim, Dim, Dim, Dim]

    def of_weights(self) -> tuple[Launch, ...]:
        """The right operand is known, and packed with the program's weights. Where the run says how
        many rows there are, one alone has a launch of its own, if it waits for its weights."""
        _, m, n, k = self.sizes
        is_plain = self._is_plain
        if is_plain and is_product_of_few_columns(self.shape, n, k):
            packed = self._packed_by(_pack_few_columns, self.shape)
            source = few_columns_source(self.shape, self.finish.hook, extra=self.finish.extra)
            return (self._launch(source, {"b": packed}, {"a_stride": k}),)
        if is_plain and isinstance(m, int) and has_few_rows(self.shape, m):
            return (self._of_few_rows(m),)
        if not is_plain or lone_symbol(m) is None or not self._waits_for_weights():
            return (self._of_many_rows(),)
        are_many = minimum(1, floordiv(m, 2))
        one = launch_if(minimum(1, m) - are_many, self._of_few_rows(1))
        return one, launch_if(are_many, self._of_many_rows())

    @property
    def _is_plain(self) -> bool:
        is_whole = not self.lowering.transpose_a and self.lowering.pieces == 1
        return self.sizes[0] == 1 and is_whole

    def _waits_for_weights(self) -> bool:
        """Whether one row takes as long as its weights take to come from beyond near caches."""
        _, _, n, k = self.sizes
        size = n * k * self.shape.dtype.size
        return is_product_of_few_rows(self.shape, 1, n) and isinstance(size, int) and size > NEAR

    def _of_few_rows(self, rows: int) -> Launch:
        source = few_rows_source(self.shape, rows, self.finish.hook, extra=self.finish.extra)
        return self._launch(source, {"b": self._packed()})

    def _of_many_rows(self) -> Launch:
        batch, m, n, k = self.sizes
        shape, finish, is_plain = self.shape, self.finish, self._is_plain
        in_place = is_plain and isinstance(m, int) and is_product_of_pixels(shape, k, n, m)
        is_single = batch == 1 and not self.lowering.transpose_a
        if is_single and is_m_vectorized(shape, m, n, k, in_place=in_place):
            assert isinstance(k, int)
            pieces = self.lowering.pieces
            source = m_vectorized_source(shape, k, finish.hook, pieces=pieces, extra=finish.extra)
            return self._launch(source, {"b": self._packed(panel_columns(shape))})
        if in_place:
            assert isinstance(n, int)
            tiles = pixel_shape(shape, n)
            weights = self._packed_by(_pack_pointwise, tiles)
            return self._of_pixels(tiles, weights, k, together=rows_together(tiles, k, n))
        return self._gathered(self._packed())

    def of_the_run(self) -> tuple[Launch, ...]:
        """The right operand is read where it stands, or packed by a launch before. Sums are the
        same in blocks of given rows."""
        _, m, n, k = self.sizes
        shape, lowering = self.shape, self.lowering
        transposed = lowering.transpose_a
        reads_left = reads_transposed_left_in_place if transposed else reads_left_in_place
        if lowering.pieces > 1 or not reads_left(shape, k, n, m):
            pack, workspace = self._pack(shape)
            return (pack, self._gathered(WORKSPACE, workspace))
        assert isinstance(n, int) and isinstance(m, int) and isinstance(k, int)
        tiles, stored = pixel_shape(shape, n), Stored(transposed=transposed)
        if self.block_rows:  # whose tasks are panels of so many columns
            tiles = shape if transposed else with_near_rows(shape, k)
        elif not lowering.transpose_b and reads_right_in_place(shape, k, n, m):
            tiles, stored = with_even_tiles(tiles, m), replace(stored, in_place=True)
            return (self._of_pixels(tiles, self.right, 1, stored=stored),)
        elif not is_product_of_pixels(shape, k, n, m):
            tiles = with_even_tiles(tiles, m)
        pack, workspace = self._pack(tiles, panel_width(tiles, n % tiles.columns))
        near = rows_together(tiles, k, n)
        made = self._of_pixels(tiles, WORKSPACE, k, workspace, together=near, stored=stored)
        return (pack, made)

    def _packed(self, columns: int = 0) -> PackedConstant:
        return self._packed_by(_pack_panels, self.shape, columns)

    def _packed_by(self, pack: Callable[..., Array | Packed], *settings: Any) -> PackedConstant:
        return PackedConstant(self.right, pack, (self.lowering.transpose_b, *settings))

    def _pack(self, tiles: TileShape, rest: int = 0) -> tuple[Launch, Dim]:
        """The launch that packs the right operand, and the bytes of its panels. `rest`: columns of
        the last, if not those of others."""
        _, _, n, k = self.sizes
        columns = self._columns_of_panels(tiles, rest)
        workspace = self.entries * columns * k * tiles.dtype.size + ALIGNMENT  # never empty
        sizes, steps = (self.entries, k, n), (self.right.dims[-1], k * n)
        transposed = self.lowering.transpose_b
        pack = pack_launch(
            self.node, self.right, tiles, sizes, steps, workspace, rest=rest, transposed=transposed
        )
        return pack, workspace

    def _columns_of_panels(self, tiles: TileShape, rest: int) -> Dim:
        whole = ceildiv(self.sizes[2], tiles.columns) * tiles.columns
        return whole - (tiles.columns - rest if rest else 0)

    def _of_pixels(
        self, tiles: TileShape, right: Operand, w_step: Dim, workspace: Dim = 0, *,
        together: int = NEAR_ROWS, stored: Stored = IN_PANELS,
    ) -> Launch:  # fmt: skip
        """By tiles that read rows where they stand. `w_step`: as `pointwise_source` has it."""
        _, m, n, k = self.sizes
        assert isinstance(n, int)
        rest = n % tiles.columns
        columns = n if stored.in_place else self._columns_of_panels(tiles, panel_width(tiles, rest))
        ints: dict[str, Dim] = {
            "channels": k,
            "x_batch": self._left_batch,
            "w_batch": 0 if self.entries == 1 else columns * k,
            "w_step": w_step,
            "x_stride": m if stored.transposed else k,
        }
        finish = self.finish
        source = pointwise_source(
            tiles, rest, finish.hook, extra=finish.extra, together=together, stored=stored,
            block_rows=self.block_rows, sizes=self._ints() | ints,
        )  # fmt: skip
        operands: dict[str, Operand] = {"x": self.left[0], "weights": right}
        operands["y"] = self.node.outputs[0]
        return self._launch(source, operands, ints, workspace)

    def _gathered(self, right: Operand, workspace: Dim = 0) -> Launch:
        """By tiles of blocks to which rows are copied."""
        _, _, n, k = self.sizes
        shape, lowering, finish = self.shape, self.lowering, self.finish
        block_rows = 0 if self.block_rows == shape.block_rows else self.block_rows
        transposed = lowering.transpose_a
        source = gemm_source(
            GemmSpec(shape, transposed, pieces=lowering.pieces, block_rows=block_rows),
            finish.hook,
            name="gemm_transposed" if transposed else "gemm",
            extra=finish.extra,
        )
        panels = ceildiv(n, shape.columns) * shape.columns
        ints: dict[str, Dim] = {"a_batch": self._left_batch}
        ints["b_batch"] = 0 if self.entries == 1 else panels * k
        return self._launch(source, {"b": right}, ints, workspace)

    @property
    def _left_batch(self) -> Dim:
        """Elements from one entry of the left operand to the next."""
        batch, m, _, k = self.sizes
        return 0 if batch == 1 or product(self.left[0].dims[:-2]) == 1 else m * k

    def _ints(self) -> dict[str, Dim]:
        ints: dict[str, Dim] = dict(zip(("batch", "m", "n", "k"), self.sizes))
        ints["c_stride"] = self.sizes[2]
        return ints | ({"parts": 1} if self.block_rows else {})

    def _launch(
        self, source: ContractionSource, operands: dict[str, Operand],
        ints: dict[str, Dim] | None = None, workspace: Dim = 0,
    ) -> Launch:  # fmt: skip
        names = LeftOperand(self.lowering.pieces)
        operands = {"c": self.node.outputs[0], "scratch": SCRATCH, **operands}
        operands |= dict(zip(names.pointers.split(), self.left))
        widths = dict(zip(names.sizes, (v.dims[-1] for v in self.left)))
        told = self._ints() | (ints or {}) | widths
        return launch_of(self.node, source, operands, told, self.finish, workspace)


def _matrices(right: Array, is_transposed: bool) -> Array:
    """A right operand as [entries, k, n]."""
    right = np.swapaxes(right, -1, -2) if is_transposed else right
    return right.reshape(math.prod(right.shape[:-2]), *right.shape[-2:])


def _pack_few_columns(right: Array, is_transposed: bool, shape: TileShape) -> Packed:
    return pack_few_columns(_matrices(right, is_transposed)[0], shape)


def _pack_pointwise(right: Array, is_transposed: bool, tiles: TileShape) -> Packed:
    return pack_pointwise(_matrices(right, is_transposed)[0], tiles)


def _pack_panels(right: Array, is_transposed: bool, shape: TileShape, columns: int) -> Packed:
    return pack_gemm_b(_matrices(right, is_transposed), shape, columns)
