"""Clusters around a product or a convolution as launches: the cluster's elementwise nodes become
loops over each block of the result while it is in cache.

In: a cluster of kind `matmul`, `convolution` or `filter_gradient`. Out: launches. Invariant: the
contraction's own kernel depends on dtype and target only; what a cluster adds is a small kernel of
its own, which the contraction calls through its address.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from math import ceil, lcm
from typing import TYPE_CHECKING

import numpy as np

from flowc.codegen.cpu.contractions.launching import BlockFinish, product_in
from flowc.codegen.cpu.contractions.matmul import matmul_launches
from flowc.codegen.cpu.tile_shape import TileShape
from flowc.codegen.cpu.vector_interleave import COUNT
from flowc.codegen.kernels.builder import (
    INLINE_SIZES,
    LOCAL,
    NestBuilder,
    int_name,
    int_number,
    int_op,
)
from flowc.codegen.kernels.cluster import ClusterLowering, row_major, unravel
from flowc.codegen.kernels.cost import body_cost
from flowc.codegen.kernels.kernel import Epilogue, Kernel, Launch, Operand, PackedConstant
from flowc.codegen.kernels.nest import IndexSum, Load
from flowc.ir.computation import Computation, Node, Value
from flowc.ir.dims import Dim, product, symbol
from flowc.ir.layout import CHANNELS_LAST, LAYOUTS
from flowc.ir.lowering import Convolution, FilterGradient, MatMul, View

if TYPE_CHECKING:
    from flowc.codegen.cpu.target import CpuTarget

LEAST_COLUMNS, MOST_COLUMNS = 128, 512  # of rows that are several rows of few columns


def contraction_launches(node: Node, target: CpuTarget, block_rows: int = 0) -> tuple[Launch, ...]:
    """The kernels of a cluster around a product or a convolution. `block_rows`: as those of
    `matmul_launches` and of `Convolved.launches`."""
    body: Computation = node.attrs["body"]
    inner = product_in(body)
    outer = {p.output: v for p, v in zip(body.parameters, node.inputs)}
    shape = target.tile_shape(inner.output.type.dtype)
    finish = _finish(node, body, inner, target, shape)
    lowering = inner.lowering
    if isinstance(lowering, MatMul):
        return matmul_launches(node, inner, lowering, outer, shape, finish, block_rows)
    # Of what makes kernels of convolutions, programs without any import nothing.
    if isinstance(lowering, FilterGradient):
        from flowc.codegen.cpu.contractions.filter_gradients import filter_gradient_launch

        return (filter_gradient_launch(node, inner, lowering, outer, shape, finish),)
    from flowc.codegen.cpu.contractions.convolved import Convolved

    return Convolved(node, inner, outer, shape, finish, target).launches(block_rows)


def epilogue_forms(node: Node, target: CpuTarget) -> list[Kernel]:
    """The kernels of what follows the product of a cluster, as there are for few columns and for
    many, whichever this one has."""
    body: Computation = node.attrs["body"]
    inner = product_in(body)
    shape = target.tile_shape(inner.output.type.dtype)
    made = (_finish(node, body, inner, target, shape, few).epilogue for few in (True, False))
    return [x.kernel for x in made if x is not None]


def _finish(
    node: Node, body: Computation, inner: Node, target: CpuTarget, shape: TileShape,
    few: bool | None = None,
) -> BlockFinish:  # fmt: skip
    """The loops that turn a block of the raw result into the cluster's results. `few`: in the form
    for few columns, or in that for many; None: for as many as there are.

    The raw result stands in the buffer of the first result until its element is replaced.
    """
    if body.results == (inner.output,):
        return BlockFinish()
    c = ClusterLowering(body, node.inputs)
    nest = c.nest
    layout = LAYOUTS[inner.attrs.get("layout", CHANNELS_LAST)]
    stored, dims = inner.output.dims, layout.logical(inner.output.dims)
    row = symbol(f"{LOCAL}row", product(dims[:-1]))
    # Of one column, the rows are the innermost loop.
    is_single = dims[-1] == 1
    column = 0 if is_single else symbol(f"{LOCAL}column", dims[-1])
    index = layout.index((*unravel(row, dims[:-1]), column))
    n, is_dear = dims[-1], body_cost(body).has_compute_bound
    one_panel = _is_one_panel(inner, n, shape) if few is None else few
    together = 1
    if one_panel and isinstance(n, int) and layout == LAYOUTS[CHANNELS_LAST]:
        fits = _can_repeat(body, inner, c.inputs, n)
        together = max(_rows_together(n, shape.lanes, is_dear), 2 if few else 1) if fits else 1

    def element(columns: Dim) -> None:
        """What is done with one element, last in a loop over so many."""
        place = nest.index(row_major(stored, index))
        raw = Load(c.out_names[body.results[0]], place, inner.output.type.dtype)
        c.rows[inner.output] = (index, nest.let(raw))
        for value, x in [(v, c.element(v, index)) for v in body.results]:
            c.store(value, index, x)
        if target.choices.is_interleaved(is_dear, columns):
            nest.invoke("interleave")
        elif not is_single:
            nest.invoke("keep_rolled" if one_panel and together == 1 else "interleave_two")

    if not one_panel or together > 1:
        nest.inline_sizes = 2  # any other number of columns has the same kernel
    if together > 1 and isinstance(n, int):
        _emit_joined_rows(nest, n, together, element)
    else:
        bounds = int_name("first"), int_name("last")
        if one_panel:
            bounds = int_number(0), nest.size(n)
        rows = nest.loop("row", int_name("begin"), int_name("end"))
        with rows, nullcontext() if is_single else nest.loop("column", *bounds):
            element(product(dims) if is_single else n)
    tail = ("begin", "end", "first", "last")
    made = c.launch(target, node.outputs, 1, 1, 0, node, tail)
    operands = tuple(_repeated(x, dims[-1], together) for x in made.operands)
    return BlockFinish(Epilogue(made.kernel, operands, made.ints), made.errors)


def _emit_joined_rows(
    nest: NestBuilder, n: int, together: int, element: Callable[[Dim], None]
) -> None:
    """Loops over rows of `n` columns, so many of which are one row. The last of these may be
    shorter. How long they are the launch says, so that one kernel serves any few columns."""
    columns = together * n
    each, many, whole = nest.parameter(n), nest.own_parameter(together), nest.own_parameter(columns)
    begin, end, row = (int_name(name) for name in ("begin", "end", "row"))
    above = IndexSum(((1, (end.name,)), (-1, (begin.name,)), (1, (many.name,)), (-1, ())))
    blocks = nest.let(int_op("idiv", above, many), "q")
    with nest.loop("block", int_number(0), blocks):
        nest.named(row.name, IndexSum(((1, (begin.name,)), (1, ("block", many.name)))))
        left = IndexSum(((1, (end.name, each.name)), (-1, (row.name, each.name))))
        count = nest.let(int_op("smaller", left, whole), "q")
        with nest.loop("column", int_number(0), count):
            element(columns)


def _rows_together(columns: int, lanes: int, is_dear: bool) -> int:
    """How many rows of few columns are one row that fills vectors; of what takes long, as many
    vectors as are computed at a time, if those are not too many."""
    for vectors in (COUNT, 1) if is_dear else (1,):
        filled = lcm(columns, vectors * lanes)
        if filled <= MOST_COLUMNS:
            return ceil(LEAST_COLUMNS / filled) * filled // columns
    return 1


def _can_repeat(body: Computation, inner: Node, inputs: Sequence[Value], columns: int) -> bool:
    """Whether several rows may be one: what differs between columns is known, and is repeated for
    them. Else what is done with an element needs its column."""
    if columns < 2 or any(isinstance(node.lowering, View) for node in body.nodes):
        return False
    # What the product reads may be read beside it, too.
    read = {v for node in body.nodes if node is not inner for v in node.inputs}
    for parameter, value in zip(body.parameters, inputs):
        seen = parameter.output
        if seen not in read or seen.dims == inner.output.dims or product(seen.dims) == 1:
            continue
        is_row = seen.dims[-1] == columns and product(seen.dims) == columns
        if not is_row or value.constant is None:
            return False
    return True


def _repeated(operand: Operand, columns: Dim, times: int) -> Operand:
    """An operand of rows that are several rows of a result."""
    if times == 1 or not isinstance(operand, Value) or operand.constant is None:
        return operand
    if product(operand.dims) != columns:
        return operand
    return PackedConstant(operand, _tiled, (times,))


def _tiled(row: np.ndarray, times: int) -> np.ndarray:
    return np.tile(row.reshape(-1), times)


def _is_one_panel(inner: Node, columns: Dim, shape: TileShape) -> bool:
    """Whether every block has all columns, so few that their number stands in the kernel: LLVM then
    makes vectors that hold just these."""
    if not isinstance(columns, int) or columns >= min(INLINE_SIZES, shape.columns + 1):
        return False
    lowering = inner.lowering
    if not isinstance(lowering, Convolution) or lowering.groups == 1:
        return True
    from flowc.codegen.cpu.contractions.algorithms import is_depthwise

    return is_depthwise(lowering, inner.inputs[1].dims, columns)
