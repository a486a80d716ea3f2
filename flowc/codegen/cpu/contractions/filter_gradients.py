"""Gradients of convolutions with respect to their weights as launches: one kernel, which reads both
operands where they stand.

In: a cluster of kind `filter_gradient`. Out: its launch.
"""

from __future__ import annotations

from flowc.codegen.cpu.contractions.launching import BlockFinish, axis_sizes, launch_of
from flowc.codegen.cpu.products.filter_gradients import filter_gradient_source
from flowc.codegen.cpu.tile_shape import TileShape
from flowc.codegen.kernels.kernel import Launch, Operand
from flowc.ir.computation import Node, Value
from flowc.ir.lowering import FilterGradient


def filter_gradient_launch(
    node: Node,
    inner: Node,
    lowering: FilterGradient,
    outer: dict[Value, Value],
    shape: TileShape,
    finish: BlockFinish,
) -> Launch:
    x, dy = (outer[v] for v in inner.inputs)
    *window, rows, columns = inner.output.type.static_dims
    ints = axis_sizes(lowering, x.dims, dy.dims, window)
    ints |= {"channels": x.dims[-1], "outputs": dy.dims[-1]}
    if _has_lines_of_taps(lowering, rows):
        # The taps of a line see neighbours: one tap with the channels of all.
        ints["kernel_w"] = 1
        if lowering.swapped:
            columns *= window[-1]
        else:
            rows *= window[-1]
    source = filter_gradient_source(
        shape, rows, columns, finish.hook, swapped=lowering.swapped, extra=finish.extra
    )
    operands: dict[str, Operand] = {"x": x, "dy": dy, "y": node.outputs[0]}
    return launch_of(node, source, operands, ints, finish)


def _has_lines_of_taps(lowering: FilterGradient, rows: int) -> bool:
    """Whether nothing of a line is padding, and what its taps make is in a row of the result."""
    in_a_row = lowering.dilations[-1] == 1 and lowering.pad[-1][0] == 0
    return in_a_row and (not lowering.swapped or rows == 1)
